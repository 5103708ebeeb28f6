//! The papers' Table 1 of a dataset folder, counted from the text as it stands in the files.

use std::collections::HashMap;

use crate::data::Dataset;

/// Statistics of the features of queries and documents.
#[derive(Debug)]
pub struct TableOne {
    pub queries: usize,
    pub documents: usize,
    pub words: usize,
    pub d_x: f64,
    pub d_y: f64,
    pub c_x: f64,
    pub c_y: f64,
    /// Clicked documents per query, ñ^y.
    pub docs_per_query: f64,
    /// Queries per document, ñ^x.
    pub queries_per_doc: f64,
    pub n_x: f64,
    pub n_y: f64,
    pub w_x: f64,
    pub w_y: f64,
}

/// Lists of numbers, one after the other.
pub struct Lists {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Lists {
    fn new() -> Self {
        Lists { starts: vec![0], items: Vec::new() }
    }

    fn push(&mut self, items: impl IntoIterator<Item = u32>) {
        self.items.extend(items);
        self.starts.push(self.items.len());
    }

    pub fn get(&self, i: usize) -> &[u32] {
        &self.items[self.starts[i]..self.starts[i + 1]]
    }

    fn transpose(&self, n: usize) -> Lists {
        let mut starts = vec![0usize; n + 1];
        for &item in &self.items {
            starts[item as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = vec![0u32; self.items.len()];
        for i in 0..self.starts.len() - 1 {
            for &item in self.get(i) {
                items[next[item as usize]] = i as u32;
                next[item as usize] += 1;
            }
        }
        Lists { starts, items }
    }
}

/// The words of the queries of the log, of all judged queries, and of the documents.
pub struct Texts {
    pub n_words: usize,
    pub queries: Lists,
    pub documents: Lists,
}

impl Texts {
    /// Reads and splits all text; words are counted in the log and in documents only.
    pub fn read(dataset: &Dataset) -> Self {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut words = |text: &str| {
            let mut found: Vec<u32> = text
                .split(|letter: char| !letter.is_ascii_lowercase())
                .filter(|word| !["", "https", "www", "com"].contains(word))
                .map(|word| {
                    let next = numbers.len() as u32;
                    *numbers.entry(word.to_owned()).or_insert(next)
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let (mut queries, mut documents) = (Lists::new(), Lists::new());
        for document in dataset.documents.iter() {
            let fields = document.unwrap().fields;
            let text = |name: &str| fields[name].as_str().unwrap().to_owned();
            documents.push(words(&format!("{} {}", text("title"), text("url"))));
        }
        for query in dataset.queries.iter() {
            queries.push(words(&query.unwrap().text));
        }
        Texts { n_words: numbers.len(), queries, documents }
    }
}

impl TableOne {
    /// Counts everything; nnz(C) exactly, row by row.
    pub fn of(dataset: &Dataset, texts: &Texts) -> Self {
        let clicks = &dataset.clicks;
        let n_queries = clicks.rows().filter(|row| !row.is_empty()).count();
        let n_documents = clicks.n_cols();
        let n_words = texts.n_words;
        let mut clicked = Lists::new();
        for row in clicks.rows().take(n_queries) {
            assert!(!row.is_empty(), "a query of the log without clicks");
            clicked.push(row.indices.iter().copied());
        }
        let asked = clicked.transpose(n_documents);
        assert!((0..n_documents).all(|doc| !asked.get(doc).is_empty()), "a document never clicked");

        let mut x = Lists::new();
        for query in 0..n_queries {
            let docs = clicked.get(query).iter().map(|doc| n_words as u32 + doc);
            x.push(texts.queries.get(query).iter().copied().chain(docs));
        }
        let mut y = Lists::new();
        for doc in 0..n_documents {
            let queries = asked.get(doc).iter().map(|query| n_words as u32 + query);
            y.push(texts.documents.get(doc).iter().copied().chain(queries));
        }
        let (d_x, d_y) = (n_words + n_documents, n_words + n_queries);
        let nnz = nnz_of_c(&x, &y, &clicked, d_x, d_y) as f64;
        let per = |sum: usize, n: usize| sum as f64 / n as f64;
        TableOne {
            queries: n_queries,
            documents: n_documents,
            words: n_words,
            d_x: d_x as f64,
            d_y: d_y as f64,
            c_x: per(x.items.len(), n_queries),
            c_y: per(y.items.len(), n_documents),
            docs_per_query: per(clicks.nnz(), n_queries),
            queries_per_doc: per(clicks.nnz(), n_documents),
            n_x: per(x.items.len(), d_x),
            n_y: per(y.items.len(), d_y),
            w_x: nnz / d_x as f64,
            w_y: nnz / d_y as f64,
        }
    }
}

fn nnz_of_c(x: &Lists, y: &Lists, clicked: &Lists, d_x: usize, d_y: usize) -> u64 {
    let rows = x.transpose(d_x);
    let mut marked = vec![u32::MAX; d_y];
    let mut nnz = 0;
    for u in 0..d_x {
        for &query in rows.get(u) {
            for &doc in clicked.get(query as usize) {
                for &v in y.get(doc as usize) {
                    nnz += u64::from(marked[v as usize] != u as u32);
                    marked[v as usize] = u as u32;
                }
            }
        }
    }
    nnz
}
