//! Similarities of documents from models: the words of all fields and of each field (the cosine of
//! (1 + ln tf)·idf), the embeddings in a latent space (their cosine), and the class.

use std::collections::HashMap;
use std::sync::Arc;

use super::Similarities;
use crate::features::{Classes, Counts, idf};
use crate::matchers::{Bilinear, Model};
use crate::sparse::Csr;

/// The similarities of documents by some models, with their names.
pub struct Relations<'m> {
    /// The documents of every model by id.
    numbers: Vec<HashMap<&'m str, u32>>,
    relations: Vec<Relation<'m>>,
}

struct Relation<'m> {
    name: String,
    model: usize,
    source: Source<'m>,
}

enum Source<'m> {
    Words { rows: &'m Csr, idf: Arc<Vec<f32>> },
    Latent(&'m Bilinear),
    Class(&'m Classes),
}

impl<'m> Relations<'m> {
    /// All similarities by `models`. The names are `words`, those of the fields if there are several,
    /// `latent` and `class`; from the second model on followed by its number. Words that an earlier
    /// model counted the same way are left out.
    pub fn of(models: impl IntoIterator<Item = &'m Model>) -> Self {
        let mut all = Relations { numbers: Vec::new(), relations: Vec::new() };
        let mut counted: Vec<&'m Counts> = Vec::new();
        for (number, model) in models.into_iter().enumerate() {
            let counts = &model.counts;
            let ids = counts.doc_ids.iter().map(String::as_str);
            all.numbers.push(ids.zip(0..).collect());
            let mut add = |name: &str, source: Source<'m>| {
                let name = match number {
                    0 => name.to_owned(),
                    _ => format!("{name}.{}", number + 1),
                };
                all.relations.push(Relation { name, model: number, source });
            };
            if !counted.iter().any(|other| other.docs == counts.docs) {
                let idf = Arc::new(idf(counts));
                let words = |rows: &'m Csr| Source::Words { rows, idf: Arc::clone(&idf) };
                add("words", words(&counts.docs));
                let filled = counts.fields.iter().filter(|field| field.docs.nnz() > 0);
                if filled.clone().count() > 1 {
                    filled.for_each(|field| add(&field.name, words(&field.docs)));
                }
                if let Some(classes) = &counts.classes {
                    add("class", Source::Class(classes));
                }
            }
            if let Some(latent) = model.parts.iter().find_map(|part| part.matcher.bilinear()) {
                add("latent", Source::Latent(latent));
            }
            counted.push(counts);
        }
        all
    }

    /// The names of the similarities.
    pub fn names(&self) -> Vec<String> {
        self.relations.iter().map(|relation| relation.name.clone()).collect()
    }

    /// Whether a model contains the document.
    pub fn knows(&self, doc: &str) -> bool {
        self.numbers.iter().any(|numbers| numbers.contains_key(doc))
    }

    /// The similarities of the documents `docs`. Those by a model that does not contain a document
    /// are 0.
    pub fn between(&self, docs: &[&str]) -> Similarities {
        let mut all = Similarities::new(docs.len());
        for Relation { model, source, .. } in &self.relations {
            let numbers: Vec<Option<u32>> =
                docs.iter().map(|&doc| self.numbers[*model].get(doc).copied()).collect();
            all = match source {
                Source::Words { rows, idf } => {
                    let row = |doc: &Option<u32>| {
                        let Some(doc) = *doc else { return (Vec::new(), Vec::new()) };
                        let weigh = |(term, f): (u32, f32)| {
                            let weight = (1.0 + f64::from(f).ln()).max(0.0);
                            (term, (weight * f64::from(idf[term as usize])) as f32)
                        };
                        rows.row(doc as usize).iter().map(weigh).unzip()
                    };
                    all.with_sparse(numbers.iter().map(row).collect())
                }
                Source::Latent(bilinear) => {
                    let embedding = |doc: &Option<u32>| {
                        doc.map_or(Vec::new(), |doc| bilinear.doc_embedding(doc).into_owned())
                    };
                    all.with_dense(numbers.iter().map(embedding).collect())
                }
                Source::Class(classes) => {
                    // Documents of classes that training did not see share one number.
                    let class = |doc: &Option<u32>| {
                        let class = doc.map(|doc| classes.of[doc as usize]);
                        class.filter(|&class| (class as usize) < classes.names.len())
                    };
                    all.with_same(numbers.iter().map(class).collect())
                }
            };
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Run;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;
    use crate::matchers::{Mixture, Params, Vsm};
    use crate::training::train;

    fn model(name: &str, dir: &std::path::Path) -> Model {
        let documents = [
            ("a", json!({ "title": "sun and moon", "body": "far far away", "kind": "sky" })),
            ("b", json!({ "title": "moon", "body": "near the earth and the sun", "kind": "sky" })),
            ("c", json!({ "title": "insurance", "body": "for cars", "kind": "money" })),
            ("d", json!({ "title": "cars", "body": "far away insurance for the sun" })),
        ];
        let queries = ["sun", "cars"];
        let clicks = [(0, 0, 3.0), (0, 1, 2.0), (1, 2, 2.0), (1, 3, 1.0)];
        let fixture =
            Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] };
        let dataset = fixture.open(dir);
        let preparation = Preparation { class: Some("kind".into()), ..Preparation::default() };
        let mut params = Params::named(name).unwrap();
        if params.has_dim() {
            params.set("dim", "2").unwrap();
        }
        let mixture = Mixture::parse(name).unwrap();
        train(&dataset, &preparation, &mixture, &[params], &Run::silent()).unwrap().model
    }

    #[test]
    fn documents_are_alike_as_the_vector_space_and_the_embeddings_say() {
        let dir = tempfile::tempdir().unwrap();
        let models =
            [model("pls", &dir.path().join("pls")), model("bm25", &dir.path().join("bm25"))];
        let relations = Relations::of(&models);
        // The second model counted the same words.
        assert_eq!(relations.names(), ["words", "title", "body", "class", "latent"]);
        let docs = ["d", "nobody", "b", "a", "c"];
        let between = relations.between(&docs);
        let numbers = [3u32, 9, 1, 0, 2];
        let counts = &models[0].counts;
        let vsm = Vsm::default().fit(counts).unwrap();
        let latent = models[0].parts[0].matcher.bilinear().unwrap();
        for (i, &a) in numbers.iter().enumerate() {
            for (j, &b) in numbers.iter().enumerate() {
                if a == 9 || b == 9 {
                    assert!((0..5).all(|kind| between.of(kind, i, j) == 0.0));
                    continue;
                }
                let row = counts.docs.row(a as usize);
                let query = crate::features::QueryTerms {
                    indices: row.indices.to_vec(),
                    counts: row.values.to_vec(),
                    unknown: vec![],
                    known: None,
                    sequence: vec![],
                };
                use crate::matchers::Matcher;
                let cosine = f64::from(vsm.scores(counts, &query, Some(&[b]))[0]);
                assert!((between.of(0, i, j) - cosine).abs() < 1e-6, "{a} {b}");
                let (x, y) = (latent.doc_embedding(a), latent.doc_embedding(b));
                let dot = |x: &[f32], y: &[f32]| crate::linalg::dot_f64(x, y);
                let cosine = dot(&x, &y) / (dot(&x, &x) * dot(&y, &y)).sqrt();
                assert!((between.of(4, i, j) - cosine).abs() < 1e-6, "{a} {b}");
            }
        }
        // a and b have a class in common, the title of b is in that of a, c and d share no title.
        assert_eq!(between.of(3, 2, 3), 1.0);
        assert_eq!(between.of(3, 2, 4), 0.0);
        assert!(between.of(1, 2, 3) > 0.0 && between.of(1, 0, 4) == 0.0);
        assert!(relations.knows("a") && !relations.knows("nobody"));
    }
}
