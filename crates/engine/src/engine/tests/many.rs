//! An index above `exact_below`: the text index, inverted lists of embeddings and inverted indexes of
//! sparse vectors find the candidates.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use liken::features::{Counts, QueryTerms};
use liken::matchers::{Model, SparseVectors};
use liken::random::Random;
use liken::sparse::Csr;

use super::postings::Postings;
use super::served::Retrieval;
use super::*;

/// Half of them, of which a third is deleted, are still more than an inverted index is passed over for.
const DOCUMENTS: usize = 14_000;
const TOPICS: usize = 40;
const WORDS: usize = 12;
/// Methods with an inverted index of their own.
const SPARSE: [&str; 5] = ["association", "ridge", "clicked", "translation", "feedback"];

/// Writes dataset and models: documents of a few topics, each with words of its own, and queries with
/// other words.
fn many(folder: &Path) {
    let mut random = Random::new(5, 0);
    let mut word = |kind: char, topic: usize| {
        // Letters only, and no ending that a stemmer would take away.
        let letter = |n: usize| char::from(b'a' + (n % 20) as u8);
        let at = random.below(WORDS as u64) as usize;
        format!("{kind}{}{}{}x", letter(topic), letter(topic / 20), letter(at))
    };
    let mut documents = String::new();
    for no in 0..DOCUMENTS {
        let title: Vec<String> = (0..6).map(|_| word('w', no % TOPICS)).collect();
        let fields = json!({"id": format!("d{no}"), "title": title.join(" "), "even": no % 2 == 0});
        documents += &format!("{fields}\n");
    }
    let mut clicks = String::new();
    for no in 0..4000 {
        let query = format!("{} {}", word('q', no % TOPICS), word('q', no % TOPICS));
        let doc = (no * 17) % DOCUMENTS / TOPICS * TOPICS + no % TOPICS;
        clicks += &format!("{query}\td{doc}\t{}\n", 5 + no % 3);
    }
    let sparse = SPARSE.map(|name| (name, name, None));
    let models = [&[("bm25", "bm25", None), ("pls", "pls", Some(32))][..], &sparse].concat();
    train_on(folder, &clicks, &documents, &models);
}

#[test]
fn many_documents_are_found_as_if_all_were_scored() {
    let folder = tempfile::tempdir().unwrap();
    many(folder.path());
    let [exact, lists] = [None, Some(1000)].map(|exact_below| {
        let output = folder.path().join(format!("index-{exact_below:?}"));
        let models = [&["bm25", "pls"][..], &SPARSE].concat();
        let building = building(folder.path(), &models, &output);
        let built = IndexBuilder { exact_below, ..building }.run(&Run::silent()).unwrap();
        let neighbours = built.models[1].neighbours.clone().unwrap();
        assert_eq!(neighbours == "exact", exact_below.is_none(), "{neighbours}");
        for model in &built.models[2..] {
            let described = model.neighbours.as_deref();
            let measured = described.is_some_and(|text| text.contains("postings read"));
            assert_eq!(measured, exact_below.is_some(), "{}: {described:?}", model.name);
        }
        Engine::open(&output, Settings::default()).unwrap()
    });
    let new: Vec<Document> =
        (0..50).map(|n| document(&format!("n{n}"), "waaax waabx waacx waadx")).collect();
    let gone: Vec<String> = (0..DOCUMENTS).step_by(3).map(|no| format!("d{no}")).collect();
    for engine in [&exact, &lists] {
        seen(engine, engine.upsert(new.clone()).unwrap());
        seen(engine, engine.delete(&gone).unwrap());
    }
    let gone: HashSet<&str> = gone.iter().map(String::as_str).collect();
    let state = lists.state();
    for (view, name) in state.models[2..].iter().zip(SPARSE) {
        let retrieval = lists.retrieval(&state, view);
        assert!(matches!(retrieval, Retrieval::Postings(..)), "{name} scores all documents");
    }
    let queries = ["qaaax qaabx", "waaax waacx", "qcaax wcabx", "qdbax", "wtaax wtacx wtadx"];
    let (mut found, mut wanted) = (0, 0);
    for query in queries {
        let alone = ["bm25", "pls"].iter().chain(&SPARSE).map(std::slice::from_ref);
        for models in alone.chain([&["bm25", "pls"][..], &["bm25", "association"]]) {
            for filter in [None, Some(json!({"even": true}))] {
                let mut request = ask(query, models);
                request.filter = filter.clone();
                request.exclude_ids = vec!["d1".into(), "d41".into()];
                let best = exact.search(&request).unwrap();
                let shown = lists.search(&request).unwrap();
                let scores: HashMap<&str, &std::collections::BTreeMap<String, f64>> =
                    best.hits.iter().map(|hit| (hit.id.as_str(), &hit.scores)).collect();
                for hit in &shown.hits {
                    assert!(!gone.contains(hit.id.as_str()), "{} is gone", hit.id);
                    assert!(!request.exclude_ids.contains(&hit.id));
                    if filter.is_some() {
                        assert_eq!(hit.document["even"], true, "{}", hit.id);
                    }
                    // Scores are the same bits, however the document was found.
                    if let Some(&exact) = scores.get(hit.id.as_str()) {
                        assert_eq!(&hit.scores, exact);
                    }
                }
                // Of equal scores others may be shown.
                let floor = best.hits.last().map_or(f64::NEG_INFINITY, |last| last.score);
                wanted += best.hits.len();
                found += match models {
                    [_] => shown.hits.iter().filter(|hit| hit.score >= floor).count(),
                    _ => shown.hits.len().min(best.hits.len()),
                };
            }
        }
    }
    assert!(wanted > 100 && found as f64 >= 0.95 * wanted as f64, "{found} of {wanted}");
    // New documents stand among the others.
    let fresh = lists.search(&ask("waaax waabx waacx waadx", &["bm25"])).unwrap();
    assert!(fresh.hits.iter().all(|hit| hit.id.starts_with('n')), "{:?}", ids(&fresh));
}

/// Sparse vectors that say nothing of the scores.
struct Unrelated;

impl SparseVectors for Unrelated {
    fn lists(&self, counts: &Counts) -> liken::Result<Cow<'_, Csr>> {
        Ok(Cow::Owned(Csr::empty(1, counts.n_docs())))
    }

    fn weights(&self, _: &Counts, _: &QueryTerms) -> (Vec<u32>, Vec<f32>) {
        (vec![0], vec![1.0])
    }
}

#[test]
fn an_inverted_index_that_misses_the_best_documents_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    many(folder.path());
    let model = Model::open(&folder.path().join("association")).unwrap();
    let run = Run::silent();
    let described = Postings::measure(folder.path(), &model, &Unrelated, &run).unwrap();
    assert!(
        described.contains("all documents are scored: the inverted index finds 0.0"),
        "{described}"
    );
    assert!(Postings::open(folder.path(), &model, &Unrelated).unwrap().is_none());
}
