//! What is counted, where, and what is left out.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::Run;
use crate::data::Dataset;
use crate::data::fixture::Fixture;

/// Documents are numbered d0, d1, …; the first `n_training` queries have a click on d0.
fn dataset(
    path: &Path,
    docs: &[Value],
    queries: &[&str],
    n_training: u32,
    held_out: &[u32],
) -> Dataset {
    let ids: Vec<String> = (0..docs.len()).map(|j| format!("d{j}")).collect();
    let documents: Vec<_> = ids.iter().map(String::as_str).zip(docs.iter().cloned()).collect();
    let clicks: Vec<_> = (0..n_training).map(|i| (i, 0, 5.0)).collect();
    Fixture { documents: &documents, queries, clicks: &clicks, held_out }.open(path)
}

fn terms(counts: &Counts, row: crate::sparse::Row<'_>) -> Vec<(String, f32)> {
    row.iter().map(|(term, count)| (counts.vocabulary.term(term).to_owned(), count)).collect()
}

fn named(pairs: &[(&str, f32)]) -> Vec<(String, f32)> {
    pairs.iter().map(|&(term, count)| (term.to_owned(), count)).collect()
}

#[test]
fn fields_are_counted_apart_and_together() {
    let dir = tempfile::tempdir().unwrap();
    let doc = json!({ "title": "Red apples", "body": ["An apple a day", "red"], "url": "https://www.fruit.com/red.html", "class": "x", "price": 3 });
    let data = dataset(&dir.path().join("d"), &[doc], &["apple"], 1, &[]);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    assert_eq!(terms(&counts, counts.fields[0].docs.row(0)), named(&[("appl", 1.0), ("red", 1.0)]));
    assert_eq!(
        terms(&counts, counts.fields[1].docs.row(0)),
        named(&[("appl", 1.0), ("day", 1.0), ("red", 1.0)])
    );
    assert_eq!(
        terms(&counts, counts.fields[2].docs.row(0)),
        named(&[("fruit", 1.0), ("red", 1.0)])
    );
    assert_eq!(
        terms(&counts, counts.docs.row(0)),
        named(&[("appl", 2.0), ("day", 1.0), ("fruit", 1.0), ("red", 3.0)])
    );
}

#[test]
fn a_document_may_be_a_bag_of_counts() {
    let dir = tempfile::tempdir().unwrap();
    let bag = json!({ "body": { "apples": 3, "apple": 2, "the": 9, "plum": 0, "pear": 0.5 } });
    let data = dataset(&dir.path().join("d"), &[bag], &["apple"], 1, &[]);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    assert_eq!(terms(&counts, counts.docs.row(0)), named(&[("appl", 5.0), ("pear", 0.5)]));
}

#[test]
fn only_training_texts_make_the_vocabulary() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [json!({ "title": "red apple" }), json!({ "title": "green apple" })];
    let data = dataset(&dir.path().join("d"), &docs, &["fruit", "zebra apple"], 1, &[1]);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    // "green" is only in a held-out document, "zebra" only in a query without clicks.
    assert_eq!(counts.vocabulary.iter().collect::<Vec<_>>(), ["appl", "fruit", "red"]);
    assert_eq!(counts.n_training_docs, 1);
    assert_eq!(counts.document_frequency, [1, 0, 1]);
    // The held-out document is still there to be found by what it shares.
    assert_eq!(terms(&counts, counts.docs.row(1)), named(&[("appl", 1.0)]));
    let read = counts.read_query("Zebra  APPLE");
    assert_eq!((read.known, read.unknown), (Some(1), vec!["zebra".to_owned()]));
}

#[test]
fn rare_terms_go_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [json!({ "title": "red apple" }), json!({ "title": "green apple" })];
    let data = dataset(&dir.path().join("d"), &docs, &["red"], 1, &[]);
    let twice = Preparation { min_df: 2, ..Preparation::default() };
    let counts = Counts::of(&data, &twice, &Run::silent()).unwrap();
    assert_eq!(counts.vocabulary.iter().collect::<Vec<_>>(), ["appl", "red"]);
    let never = Preparation { min_df: 3, ..Preparation::default() };
    let message = Counts::of(&data, &never, &Run::silent()).err().unwrap().to_string();
    assert!(
        message.contains("the vocabulary is empty") && message.contains("3 or more"),
        "{message}"
    );
}

#[test]
fn the_most_frequent_terms_stay_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let titles = ["red apple pear", "green apple pear", "blue apple", "blue zebra zebra zebra"];
    let docs = titles.map(|title| json!({ "title": title }));
    // Queries do not count, nor does the held-out document, nor how often a document says it.
    let data = dataset(&dir.path().join("d"), &docs, &["red", "red red"], 2, &[3]);
    for (most, expected) in [
        (1, &["appl"][..]),
        (2, &["appl", "pear"]),
        (4, &["appl", "blue", "green", "pear"]),
        (99, &["appl", "blue", "green", "pear", "red"]),
        (0, &["appl", "blue", "green", "pear", "red"]),
    ] {
        let preparation = Preparation { max_terms: most, ..Preparation::default() };
        let counts = Counts::of(&data, &preparation, &Run::silent()).unwrap();
        assert_eq!(counts.vocabulary.iter().collect::<Vec<_>>(), expected, "{most}");
    }
}

#[test]
fn texts_that_analyse_to_nothing_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let docs =
        [json!({ "title": "the of" }), json!({ "title": "apple" }), json!({ "colour": "red" })];
    let data = dataset(&dir.path().join("d"), &docs, &["apple", "?!"], 2, &[]);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    assert_eq!(counts.unread, Unread { queries: 1, documents: 2 });
}

#[test]
fn a_new_document_is_featurised_like_a_known_one_without_clicks() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [json!({ "title": "red apple" }), json!({ "title": "green apple" })];
    let data = dataset(&dir.path().join("d"), &docs, &["red"], 1, &[]);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    let featurizer = Featurizer::new(&counts, &Features::default()).unwrap();
    let y = featurizer.docs(&counts).unwrap();
    let (indices, values) = featurizer.doc(counts.docs.row(1), None);
    assert_eq!(y.row(1), crate::sparse::Row { indices: &indices, values: &values });
    let wrong = Features { doc_words: -1.0, ..Features::default() };
    assert!(Featurizer::new(&counts, &wrong).is_err());
    let nothing = Features { query_words: 0.0, query_clicks: 0.0, ..Features::default() };
    assert!(Featurizer::new(&counts, &nothing).is_err());
}

#[test]
fn table_one_counts_a_small_log_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let docs = [json!({ "title": "red apple" }), json!({ "title": "green" })];
    let data = dataset(&dir.path().join("d"), &docs, &["fruit", "crimson"], 2, &[]);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    let features = Features { query_clicks: 1.0, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features).unwrap();
    let data = Weighted::of(&counts, &featurizer, Weighting::Sum, Response::Raw).unwrap();
    let table = TableOne::of(&counts, &data);
    assert_eq!((table.n_x, table.n_y, table.words, table.d_x, table.d_y), (2, 1, 5, 7, 7));
    // Each query: one word and one clicked document. Document 0: two words and two queries.
    assert_eq!(
        (table.c_x, table.c_y, table.docs_per_query, table.queries_per_doc),
        (2.0, 2.5, 1.0, 2.0)
    );
    // C has rows fruit, crimson and document 0; each meets the four features of document 0.
    assert_eq!((table.w_x, table.w_y), (12.0 / 7.0, 12.0 / 7.0));
    assert_eq!(ClickHistogram::of(&counts).bins[1], (Some(10.0), 2, 2));
}

#[test]
fn of_queries_that_share_a_text_the_one_with_the_id_is_meant_or_one_that_was_clicked() {
    let dir = tempfile::tempdir().unwrap();
    // The ids of a fixture are the texts as written; the identity is the same for all three.
    let queries = ["Apple pie", "apple pie", "APPLE PIE", "tart"];
    let documents = [("d", json!({ "title": "apple" }))];
    let fixture = Fixture {
        documents: &documents,
        queries: &queries,
        clicks: &[(1, 0, 5.0), (3, 0, 5.0)],
        held_out: &[],
    };
    let counts =
        Counts::of(&fixture.open(&dir.path().join("d")), &Preparation::default(), &Run::silent())
            .unwrap();
    assert_eq!(counts.read_query("aPPle pie").known, Some(1));
    assert_eq!(counts.read_query_of("APPLE PIE", "apple pie").known, Some(2));
    assert_eq!(counts.read_query_of("17", "apple pie").known, Some(1));
    assert_eq!(counts.read_query_of("tart", "apple pie").known, Some(1));
}

#[test]
fn a_dislike_is_a_response_but_no_click_feature() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [("d0", json!({ "title": "red" })), ("d1", json!({ "title": "green" }))];
    let fixture = Fixture {
        documents: &documents,
        queries: &["fruit", "crimson"],
        clicks: &[(0, 0, 3.0), (0, 1, -1.0), (1, 1, -2.0)],
        held_out: &[],
    };
    let data = fixture.open(&dir.path().join("d"));
    assert_eq!(data.about().counts.clicks, 3.0);
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    let features = Features { query_clicks: 1.0, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features).unwrap();
    let data = Weighted::of(&counts, &featurizer, Weighting::Mean, Response::Binary).unwrap();
    // Both queries are learnt from, and n_i counts what is disliked, too.
    assert_eq!(data.r.row(0).values, [0.25, -0.25]);
    assert_eq!(data.r.row(1).values, [-0.5]);
    // Query 0 has the feature d0, not d1; d1 has no feature beside its word.
    assert_eq!((data.x.row(0).len(), data.x.row(1).len()), (2, 1));
    assert!(data.x.row(0).contains(counts.n_terms() as u32));
    assert_eq!((data.y.row(0).len(), data.y.row(1).len()), (2, 1));
    let histogram = ClickHistogram::of(&counts);
    assert_eq!((histogram.negative, histogram.bins[0]), (2, (Some(3.0), 2, 1)));
    // C = M_S − M_D, entry by entry.
    let c = crate::sparse::explicit_c(&data.x, &data.r, &data.y).unwrap();
    let term = |text: &str| counts.vocabulary.id(text).unwrap();
    let (fruit, crimson) = (term("fruit"), term("crimson"));
    let half = 0.5f32.sqrt();
    let close = |found: f32, expected: f32| assert!((found - expected).abs() < 1e-6, "{found}");
    close(c.row(fruit as usize).get(term("red")), 0.25 * half * half);
    close(c.row(fruit as usize).get(term("green")), -0.25 * half);
    close(c.row(crimson as usize).get(term("green")), -0.5);
}
