use std::path::Path;

use crate::Run;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Matcher, Params, StepsReport};

/// Two kinds of documents, one without words and one that is held out.
fn two_kinds(path: &Path, held_out: &[u32]) -> Dataset {
    let text = |words: [&str; 4], i: usize| {
        let all: Vec<&str> = (0..6).map(|k| words[(i * (k + 1) + k) % 4]).collect();
        all.join(" ")
    };
    let mut documents = Vec::new();
    for i in 0..12 {
        let words = match i % 2 {
            0 => ["planet", "orbit", "comet", "telescope"],
            _ => ["engine", "gearbox", "clutch", "brake"],
        };
        documents.push((format!("d{i:02}"), serde_json::json!({ "title": text(words, i) })));
    }
    documents.push(("empty".into(), serde_json::json!({ "title": "" })));
    documents.push(("last".into(), serde_json::json!({ "title": "orbit comet quasar" })));
    let documents: Vec<(&str, serde_json::Value)> =
        documents.iter().map(|(id, fields)| (&id[..], fields.clone())).collect();
    let (queries, clicks) = (["comet", "clutch"], [(0, 0, 1.0), (1, 1, 1.0)]);
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out }.open(path)
}

fn fit(method: &str, counts: &Counts) -> (Box<dyn Matcher>, StepsReport) {
    let mut params = Params::named(method).unwrap();
    params.set("dim", "2").unwrap();
    let (matcher, report) = params.fit(counts, None, &Run::silent()).unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    (matcher, report)
}

#[test]
fn texts_of_a_kind_match_and_topics_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = two_kinds(&dir.path().join("d"), &[]);
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    for method in ["plsi", "lda"] {
        let (matcher, report) = fit(method, &counts);
        let steps = &report.steps;
        assert!(steps.is_sorted_by(|a, b| a[0] <= b[0] + 1e-5), "{method} {steps:?}");
        assert!(report.notes.iter().any(|note| note.contains("uniform: 1")));
        let query = counts.read_query("telescope");
        let scores = matcher.scores(&counts, &query, None);
        for doc in 0..12 {
            assert_eq!(scores[doc] > 0.7, doc % 2 == 0, "{method} {scores:?}");
        }
        let view = matcher.topics().unwrap();
        assert_eq!((view.n_topics(), view.non_negative), (2, true));
        for k in 0..2 {
            let sum: f32 = (0..counts.n_terms()).map(|w| view.weights.row(w)[k]).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{method}");
        }
        assert_eq!(view.documents.row(12), [0.5, 0.5]);
        let (class, shares) = matcher.topics_of(&counts, &query).unwrap();
        let near = shares.iter().zip(view.documents.row(0)).all(|(a, b)| (a - b).abs() < 0.3);
        assert!(class.is_none() && near, "{method} {shares:?} {:?}", view.documents.row(0));
        let lines = matcher.contributions(&counts, &query, 0);
        assert!(lines.iter().any(|line| line.doc.contains("orbit")), "{method} {lines:?}");
        let sum: f64 = lines.iter().map(|line| line.value).sum();
        assert!((sum - f64::from(scores[0])).abs() < 1e-5);
        let nothing = counts.read_query("zebra");
        assert!(matcher.scores(&counts, &nothing, None).iter().all(|&score| score == 0.0));
        assert_eq!(matcher.topics_of(&counts, &nothing).unwrap().1, [0.0, 0.0]);
    }
}

#[test]
fn held_out_documents_teach_nothing_and_are_folded_in() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = two_kinds(&dir.path().join("d"), &[13]);
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    for method in ["plsi", "lda"] {
        let (matcher, report) = fit(method, &counts);
        let note = report.notes.iter().find(|note| note.contains("perplexity"));
        assert!(note.is_some_and(|note| note.contains("held-out documents: 1,")), "{report:?}");
        assert!(report.notes[0].starts_with("2 topics of 13 documents"), "{report:?}");
        let scores = matcher.scores(&counts, &counts.read_query("planet"), None);
        assert!(scores[13] > 0.7, "{method} {scores:?}");
    }
}

#[test]
fn one_field_is_read_where_it_is_asked_for_and_values_out_of_range_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = two_kinds(&dir.path().join("d"), &[]);
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    for method in ["plsi", "lda"] {
        let mut params = Params::named(method).unwrap();
        params.set("dim", "2").unwrap();
        params.set("field", "title").unwrap();
        assert!(params.fit(&counts, None, &Run::silent()).is_ok());
        params.set("field", "nowhere").unwrap();
        assert!(params.fit(&counts, None, &Run::silent()).is_err());
    }
    for (method, key, value) in [
        ("plsi", "dim", "0"),
        ("plsi", "iterations", "0"),
        ("plsi", "tempering", "0"),
        ("plsi", "tempering", "1.5"),
        ("plsi", "tolerance", "-1"),
        ("lda", "alpha", "0"),
        ("lda", "eta", "1e-9"),
        ("lda", "decay", "2"),
        ("lda", "offset", "-1"),
        ("lda", "inner", "0"),
    ] {
        let mut params = Params::named(method).unwrap();
        params.set(key, value).unwrap();
        assert!(params.check().is_err(), "{method} {key}={value}");
    }
}
