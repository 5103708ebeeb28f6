//! Feedback by dense loops.

use super::*;
use crate::Run;
use crate::data::fixture::Fixture;
use crate::features::Preparation;
use crate::matchers::{Expansion, Params};
use crate::sparse::Row;

fn counts(held_out: &[u32]) -> Counts {
    let titles = ["red apple pie", "apple tree", "pear tree garden", "sky blue", "blue apple sky"];
    let ids = ["a", "b", "c", "d", "e"];
    let documents: Vec<_> =
        ids.iter().zip(titles).map(|(&id, t)| (id, serde_json::json!({ "title": t }))).collect();
    let clicks = [(0, 0, 5.0), (0, 1, 2.0), (1, 2, 4.0), (1, 1, 1.0), (2, 3, 3.0), (2, 0, -1.0)];
    let queries = ["fruit", "garden plants", "heaven"];
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out };
    let data = fixture.open(&dir.path().join("d"));
    Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap()
}

fn scores(counts: &Counts, params: &Params, text: &str) -> Vec<f32> {
    let (matcher, _) = params.fit(counts, None, &Run::silent()).unwrap();
    matcher.scores(counts, &counts.read_query(text), None)
}

#[test]
fn it_is_the_mean_of_the_best_documents_by_dense_loops() {
    for (held_out, k) in [(&[][..], 2), (&[], 20), (&[1], 2)] {
        let counts = counts(held_out);
        for weights in [FeedbackWeighting::Even, FeedbackWeighting::Score] {
            let params = Feedback {
                first: FirstRanking::Bm25,
                k,
                weights,
                query_weight: 0.7,
                ..Feedback::default()
            };
            let text = "apple tree";
            let found = scores(&counts, &Params::Feedback(params), text);
            let bm25 = scores(&counts, &Params::named("bm25").unwrap(), text);
            let features = Features { query_clicks: 0.0, doc_clicks: 2.0, ..Features::default() };
            let featurizer = Featurizer::new(&counts, &features).unwrap();
            let y = featurizer.docs(&counts).unwrap();
            let mut best: Vec<usize> = (0..5).filter(|&j| bm25[j] > 0.0).collect();
            best.retain(|&j| !held_out.contains(&(j as u32)));
            best.sort_by(|&a, &b| bm25[b].total_cmp(&bm25[a]).then(b.cmp(&a)));
            best.truncate(k);
            let weight = |j: usize| match weights {
                FeedbackWeighting::Even => 1.0,
                FeedbackWeighting::Score => f64::from(bm25[j]),
            };
            let total: f64 = best.iter().map(|&j| weight(j)).sum();
            let (indices, values) = featurizer.query(counts.read_query(text).row(), None);
            let own = Row { indices: &indices, values: &values };
            for j in 0..5 {
                let mut expected = 0.0;
                for v in 0..y.n_cols() as u32 {
                    let mut centre = 0.7 * f64::from(own.get(v));
                    for &d in &best {
                        centre += weight(d) / total * f64::from(y.row(d).get(v));
                    }
                    expected += centre * f64::from(y.row(j).get(v));
                }
                let found = f64::from(found[j]);
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
    }
}

#[test]
fn without_clicks_and_from_the_vector_space_it_is_query_expansion() {
    let counts = counts(&[]);
    let feedback = Feedback {
        first: FirstRanking::Vsm,
        k: 3,
        weights: FeedbackWeighting::Even,
        query_weight: 2.0,
        doc_clicks: 0.0,
        ..Feedback::default()
    };
    let expansion = Expansion { documents: 3, weight: 0.5 };
    for text in ["apple", "blue tree", "garden pie"] {
        let a = scores(&counts, &Params::Feedback(feedback.clone()), text);
        let b = scores(&counts, &Params::Expansion(expansion.clone()), text);
        for (a, b) in a.iter().zip(b) {
            assert!((a / 2.0 - b).abs() < 1e-6, "{text}: {a} {b}");
        }
    }
}

#[test]
fn a_document_without_a_shared_word_is_found_through_clicks() {
    let counts = counts(&[]);
    // "pie" is in document a alone; b was clicked for the same query, c shares no word with a.
    let params =
        Feedback { first: FirstRanking::Bm25, k: 1, query_weight: 0.0, ..Feedback::default() };
    let joint = scores(&counts, &Params::Feedback(params.clone()), "pie");
    let words = Feedback { doc_clicks: 0.0, ..params };
    let alone = scores(&counts, &Params::Feedback(words), "pie");
    assert!(joint[1] / joint[0] > alone[1] / alone[0] && alone[1] > 0.0, "{joint:?} {alone:?}");
}
