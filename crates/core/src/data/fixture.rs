//! Data for tests: small datasets made on the spot, and the way to real ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::impressions::ImpressionsWriter;
use super::{
    Dataset, DatasetAbout, DatasetWriter, Document, ImpressionsAt, Query, RelevanceSource, SplitBy,
};
use crate::random::Random;
use crate::sparse::Csr;

/// Documents (id, fields), queries (each its own id) and training pairs (query, document,
/// clicks).
pub(crate) struct Fixture<'a> {
    pub documents: &'a [(&'a str, Value)],
    pub queries: &'a [&'a str],
    pub clicks: &'a [(u32, u32, f32)],
    /// Documents that training must not count.
    pub held_out: &'a [u32],
}

impl Fixture<'_> {
    /// Writes the dataset at `path` and opens it; every pair is also a judgment of grade 1 in
    /// validation and in test.
    pub(crate) fn open(&self, path: &Path) -> Dataset {
        let judged: Vec<(u32, u32, f32)> =
            self.clicks.iter().map(|&(query, doc, _)| (query, doc, 1.0)).collect();
        self.open_split(path, SplitBy::Given, &judged, &judged)
    }

    /// Writes the dataset at `path`, split `by`, and opens it; `validation` and `test` are
    /// judgments (query, document, grade).
    pub(crate) fn open_split(
        &self,
        path: &Path,
        by: SplitBy,
        validation: &[(u32, u32, f32)],
        test: &[(u32, u32, f32)],
    ) -> Dataset {
        let mut writer = DatasetWriter::create(path, false).unwrap();
        for query in self.queries {
            writer
                .query(&Query { id: (*query).into(), text: (*query).into(), clicks: 1.0 })
                .unwrap();
        }
        for (id, fields) in self.documents {
            let fields = fields.as_object().unwrap().clone();
            writer.document(&Document { id: (*id).into(), fields }).unwrap();
        }
        let shape = (self.queries.len(), self.documents.len());
        let matrix = |pairs: &[(u32, u32, f32)]| {
            Csr::from_triplets(shape.0, shape.1, pairs.to_vec()).unwrap()
        };
        let [clicks, validation, test] = [self.clicks, validation, test].map(matrix);
        let mut about = DatasetAbout::as_given(RelevanceSource::Judgments);
        about.split.by = by;
        writer.finish(&clicks, &validation, &test, self.held_out, about).unwrap();
        Dataset::open(path).unwrap()
    }
}

/// The words of [`contradiction`], one for each document.
const WORDS: [&str; 8] =
    ["apple", "bread", "candle", "desk", "engine", "flute", "garden", "harbor"];

/// A log whose clicks contradict its words: queries with the word of one document clicked the
/// next. In validation the documents with the words are relevant, in test the clicked ones, so that selection
/// by validation favours words, and selection by test favours clicks.
pub(crate) fn contradiction(path: &Path) -> Dataset {
    let documents = WORDS.map(|word| (word, serde_json::json!({ "title": word })));
    let ending = |end: &'static str| WORDS.map(|word| format!("{word} {end}"));
    let queries = ["asked", "validated", "tested"].map(ending).concat();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let n = WORDS.len() as u32;
    let next = |doc: u32| (doc + 1) % n;
    let clicks: Vec<_> = (0..n).map(|word| (word, next(word), 5.0)).collect();
    let words: Vec<_> = (0..n).map(|word| (n + word, word, 1.0)).collect();
    let clicked: Vec<_> = (0..n).map(|word| (2 * n + word, next(word), 1.0)).collect();
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }.open_split(
        path,
        SplitBy::Given,
        &words,
        &clicked,
    )
}

/// `n` documents (a few words in `title`, more in `body`) and as many queries of words that are
/// drawn, each with two clicks; 40 queries are judged. Where `n` is some thousands, whatever is
/// done in blocks is done in several.
pub(crate) fn many(path: &Path, n: usize) -> Dataset {
    let mut random = Random::new(5, 0);
    // Some words are frequent, most are not.
    let mut text = |words: usize| -> String {
        let draw = |_| format!("w{}x", (1500.0 * random.uniform().powi(3)) as u32);
        (0..words).map(draw).collect::<Vec<_>>().join(" ")
    };
    let documents: Vec<(String, Value)> = (0..n)
        .map(|j| {
            let fields = serde_json::json!({ "title": text(1 + j % 3), "body": text(4 + j % 5) });
            (format!("d{j}"), fields)
        })
        .collect();
    let queries: Vec<String> = (0..n).map(|i| format!("{} q{i}x", text(1 + i % 3))).collect();
    let documents: Vec<_> =
        documents.iter().map(|(id, fields)| (id.as_str(), fields.clone())).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let doc = |i: usize, k: usize| ((7 * i + (n / 2 + 1) * k) % n) as u32;
    let clicks: Vec<_> = (0..n)
        .flat_map(|i| [0, 1].map(|k| (i as u32, doc(i, k), (1 + i % 7 + k) as f32)))
        .collect();
    let judged: Vec<_> = (0..40.min(n)).map(|i| (i as u32, doc(i, 0), 1.0)).collect();
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }.open_split(
        path,
        SplitBy::Given,
        &judged,
        &judged,
    )
}

/// Impressions: query, count, and for every result document, rank and whether clicked.
pub(crate) type Page<'a> = (u32, u32, &'a [(u32, u32, bool)]);

/// The impressions of `n_queries` queries and `n_documents` documents, in a file in `dir`.
pub(crate) fn impressions(
    dir: &Path,
    (n_queries, n_documents): (usize, usize),
    lists: &[Page<'_>],
) -> ImpressionsAt {
    let path = dir.join("lists");
    let mut writer = ImpressionsWriter::create(dir).unwrap();
    for (query, count, list) in lists {
        writer.push(*query, *count, list.iter().copied()).unwrap();
    }
    writer.finish(&path).unwrap();
    ImpressionsAt::new(path, n_queries, n_documents)
}

/// The folder `name` of real data, below `LIKEN_DATA` or beside the project. Where it is
/// absent, or `LIKEN_NO_DATA=1` asks to do without, the test is skipped; `LIKEN_SKIP_LOG` names a
/// file that counts the skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn real_data(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("LIKEN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = data.join(name);
    let unwanted = std::env::var_os("LIKEN_NO_DATA").is_some_and(|value| value == "1");
    if folder.is_dir() && !unwanted {
        return Some(folder);
    }
    let why = if unwanted { "LIKEN_NO_DATA" } else { "is not there" };
    eprintln!("skipped: {} ({why}); LIKEN_DATA names the folder with the data", folder.display());
    if let Some(log) = std::env::var_os("LIKEN_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log);
        writeln!(log.unwrap(), "data {name} ({why})").unwrap();
    }
    None
}
