//! Whoever chooses while it is fitted chooses by validation, and never by test.

use super::*;
use crate::eval::{Candidates, HeldOut, Measure, Task, Variant};
use crate::random::Random;

/// Documents and queries of words that are drawn, each query with some clicks.
fn drawn(path: &Path) -> Dataset {
    let mut random = Random::new(7, 0);
    let words: Vec<String> = (0..30).map(|w| format!("w{w}x")).collect();
    let mut text = |n: usize| -> String {
        (0..n).map(|_| words[random.below(30) as usize].as_str()).collect::<Vec<_>>().join(" ")
    };
    let docs: Vec<(String, String)> = (0..40).map(|d| (format!("d{d:02}"), text(6))).collect();
    let docs: Vec<(&str, &str)> = docs.iter().map(|(id, text)| (&id[..], &text[..])).collect();
    let queries: Vec<String> = (0..24).map(|q| format!("{} q{q}", text(3))).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let clicks: Vec<(u32, u32, f32)> = (0..24u32)
        .flat_map(|q| (0..4).map(move |k| (q, (7 * q + 11 * k) % 40, (1 + k) as f32)))
        .collect();
    dataset(path, &docs, &queries, &clicks)
}

/// Everything that chooses by validation: how it chooses, and two fits without choice that differ.
const CHOOSERS: &[[&str; 3]] = &[
    ["rmls start=random sweeps=6", "rmls start=random sweeps=1", "rmls start=random sweeps=6"],
    ["rmls sweeps=1", "rmls start=random sweeps=1", "rmls start=spectral sweeps=0"],
    ["ssi epochs=8 patience=9 rate=0.3", "ssi epochs=1 rate=0.3", "ssi epochs=8 rate=0.3"],
    ["svdfeature epochs=8 patience=9", "svdfeature epochs=1", "svdfeature epochs=8"],
    ["rlsi validate=true sweeps=6", "rlsi sweeps=1", "rlsi sweeps=6"],
    ["nmf validate=true sweeps=6", "nmf sweeps=1", "nmf sweeps=6"],
    ["grlsi validate=true sweeps=6", "grlsi sweeps=1", "grlsi sweeps=6"],
    ["crlsi validate=true sweeps=6", "crlsi sweeps=1", "crlsi sweeps=6"],
    ["lsi_dt tfidf=tuned", "lsi_dt tfidf=0.0", "lsi_dt tfidf=1.0"],
    ["mpls alpha=tuned", "mpls kinds=word", "mpls kinds=bipar"],
];

/// The document that scores best for every query.
fn best(model: &Model) -> Vec<u32> {
    let queries = 0..model.counts.n_queries();
    queries.map(|q| model.search(&model.counts.query(q), 1)[0].doc).collect()
}

#[test]
fn what_is_kept_is_the_best_on_validation_and_not_on_test() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = drawn(&dir.path().join("d"));
    let nothing = Csr::empty(data.test.n_rows(), data.test.n_cols());
    for &[choosing, one, other] in CHOOSERS {
        assert!(small(choosing).validated(), "{choosing}");
        (data.validation, data.test) = (nothing.clone(), nothing.clone());
        let found = [one, other].map(|form| best(&train(&data, form).model));
        let differ: Vec<usize> =
            (0..data.queries.len()).filter(|&q| found[0][q] != found[1][q]).collect();
        assert!(differ.len() > 2, "{choosing}: {differ:?}");
        // One part says that one fit is right, the other part says that the other is.
        let [first, second] = [0, 1].map(|fit| {
            let judged = differ.iter().map(|&q| (q as u32, found[fit][q], 1.0));
            Csr::from_triplets(nothing.n_rows(), nothing.n_cols(), judged.collect()).unwrap()
        });
        (data.validation, data.test) = (first, second);
        for _ in 0..2 {
            let model = train(&data, choosing).model;
            let measured = |on: HeldOut| {
                let task = Task::new(&data, on, &model.counts, Candidates::All, Variant::default());
                let scorer = task.validation_scorer(Measure::Ndcg { k: Some(10) }).unwrap();
                let scores = |query: u32, docs: Option<&[u32]>| {
                    let query = model.counts.query(query as usize);
                    model.parts[0].matcher.scores(&model.counts, &query, docs)
                };
                scorer(&scores)
            };
            assert_eq!(measured(HeldOut::Validation), 1.0, "{choosing}");
            assert!(measured(HeldOut::Test) < 1.0, "{choosing}");
            std::mem::swap(&mut data.validation, &mut data.test);
        }
    }
}

#[test]
fn nobody_else_looks_at_validation_and_nobody_at_test() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = drawn(&dir.path().join("d"));
    let scores = |data: &Dataset, name: &str| {
        let model = train(data, name).model;
        let of =
            |q: usize| model.parts[0].matcher.scores(&model.counts, &model.counts.query(q), None);
        (0..4).flat_map(of).collect::<Vec<f32>>()
    };
    let turned: Vec<(u32, u32, f32)> = (0..24).map(|q| (q, 39 - q, 1.0)).collect();
    let turned = Csr::from_triplets(data.test.n_rows(), data.test.n_cols(), turned).unwrap();
    let choosers = CHOOSERS.iter().map(|&[choosing, ..]| choosing);
    for name in methods().map(|(name, _)| name).chain(choosers) {
        let plain = scores(&data, name);
        let test = std::mem::replace(&mut data.test, turned.clone());
        assert!(scores(&data, name) == plain, "{name} looks at test");
        data.test = test;
        if !small(name).validated() {
            let validation = std::mem::replace(&mut data.validation, turned.clone());
            assert!(scores(&data, name) == plain, "{name} looks at validation");
            data.validation = validation;
        }
    }
}
