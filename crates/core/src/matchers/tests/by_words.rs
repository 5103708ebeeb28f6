//! Documents that are scored by their words alone because validation says so.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::data::Document;

/// A model of `name` whose validation scores alternate: those by all features, or those by words
/// alone, are better.
fn model(dataset: &Dataset, name: &str, depth: Option<&str>, words_win: bool) -> Model {
    let (run, mut params) = (Run::silent(), small(name));
    if let Some(depth) = depth {
        params.set("depth", depth).unwrap();
    }
    let counts = Counts::of(dataset, &Preparation::default(), &run).unwrap();
    let calls = AtomicUsize::new(0);
    // `rmls` asks for all features first, `association` for words, at a depth of one sweep after it has
    // asked which queries there are.
    let words_first = usize::from(name == "association" && depth != Some("one"));
    let scorer: &ValidationScorer<'_> = &|score| {
        score(0, Some(&[1]));
        let is_words = (calls.fetch_add(1, Ordering::Relaxed) + words_first) % 2 == 1;
        if is_words == words_win { 0.5 } else { 0.25 }
    };
    let (matcher, report) = params.fit(&counts, Some(scorer), &run).unwrap();
    let remarks = match &report {
        FitReport::Rmls(report) => report.remarks(),
        FitReport::Steps(report) => report.notes.clone(),
        _ => panic!("{name} has another report"),
    };
    let told = remarks.iter().any(|remark| remark.contains("by their words alone"));
    assert_eq!(told, words_win, "{name}: {remarks:?}");
    let mixture = Mixture::parse(name).unwrap();
    let part = Part { weight: 1.0, params, matcher: matcher.into() };
    Model::assemble(&mixture, dataset, counts, vec![part])
}

#[test]
fn a_clicked_document_scores_as_an_unseen_one_with_the_same_words() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for (name, depth) in [("rmls", None), ("association", None), ("association", Some("one"))] {
        for words_win in [false, true] {
            let model = model(&dataset, name, depth, words_win);
            let mut fields = serde_json::Map::new();
            fields.insert("title".into(), "automobile insurance policy".into());
            let copy = Document { id: "copy of car-1".into(), fields };
            let unseen = model.unseen(std::slice::from_ref(&copy)).unwrap().unwrap();
            let query = model.read_query("cheap cover").unwrap();
            let (own, new) = model.scores_with_unseen(&query, None, &[&unseen]);
            assert!(own[3] != 0.0, "{name}");
            assert_eq!(own[3] == new[0], words_win, "{name}: {} {}", own[3], new[0]);

            // It stays so in the model folder, and with more documents.
            let path = dir.path().join(format!("{name}-{depth:?}-{words_win}"));
            let trained =
                Trained { model, reports: Vec::new(), validation: None, known: Vec::new() };
            trained.save(&path, false, std::time::Duration::ZERO).unwrap();
            let loaded = Model::open(&path).unwrap();
            assert_eq!(loaded.scores(&query), own, "{name}");
            let more = loaded.with_documents(&[copy]).unwrap();
            assert_eq!(more.scores(&query), [&own[..], &new].concat(), "{name}");
            let explained = more.explain("cheap cover", 3, usize::MAX).unwrap();
            let clicked = explained.parts[0]
                .contributions
                .iter()
                .any(|pair| pair.doc.starts_with("clicked for"));
            assert_eq!(clicked, !words_win, "{name}");
        }
    }
}

/// The scores of `car-1`, which was clicked, and of an unseen document with the same words.
fn clicked_and_unseen(
    dataset: &Dataset,
    name: &str,
    by_words: &str,
    validated: bool,
) -> (f32, f32) {
    let (run, mut params) = (Run::silent(), small(name));
    params.set("by_words", by_words).unwrap();
    let counts = Counts::of(dataset, &Preparation::default(), &run).unwrap();
    // Whatever is scored last is best.
    let calls = AtomicUsize::new(0);
    let scorer: &ValidationScorer<'_> = &|score| {
        score(0, Some(&[1]));
        calls.fetch_add(1, Ordering::Relaxed) as f64
    };
    let (matcher, _) = params.fit(&counts, validated.then_some(scorer), &run).unwrap();
    let part = Part { weight: 1.0, params, matcher: matcher.into() };
    let model = Model::assemble(&Mixture::parse(name).unwrap(), dataset, counts, vec![part]);
    let mut fields = serde_json::Map::new();
    fields.insert("title".into(), "automobile insurance policy".into());
    let copy = Document { id: "copy of car-1".into(), fields };
    let unseen = model.unseen(std::slice::from_ref(&copy)).unwrap().unwrap();
    let query = model.read_query("cheap cover").unwrap();
    let (own, new) = model.scores_with_unseen(&query, None, &[&unseen]);
    (own[3], new[0])
}

#[test]
fn never_and_always_ask_no_validation() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in ["rmls", "association"] {
        for validated in [false, true] {
            let (own, new) = clicked_and_unseen(&dataset, name, "never", validated);
            assert!(own != 0.0 && own != new, "{name} {validated}: {own} {new}");
            let (own, new) = clicked_and_unseen(&dataset, name, "always", validated);
            assert!(own != 0.0 && own == new, "{name} {validated}: {own} {new}");
        }
        let mut params = small(name);
        params.set("by_words", "always").unwrap();
        params.check().unwrap();
        params.set("features.doc_words", "0").unwrap();
        let message = params.check().unwrap_err().to_string();
        assert!(message.contains("by_words = always"), "{message}");
    }
}

/// Without validation data the split decides.
#[test]
fn held_out_documents_are_scored_by_words_where_nothing_else_says() {
    let dir = tempfile::tempdir().unwrap();
    let mut dataset = checkerboard(&dir.path().join("d"));
    let run = Run::silent();
    for name in ["rmls", "association"] {
        for (held_out, by_words) in [(false, "auto"), (true, "auto"), (true, "never")] {
            let mut params = small(name);
            params.set("by_words", by_words).unwrap();
            dataset.held_out_documents = if held_out { vec![0] } else { Vec::new() };
            let counts = Counts::of(&dataset, &Preparation::default(), &run).unwrap();
            let (matcher, report) = params.fit(&counts, None, &run).unwrap();
            let remarks = match &report {
                FitReport::Rmls(report) => report.remarks(),
                FitReport::Steps(report) => report.notes.clone(),
                _ => panic!("{name} has another report"),
            };
            let expected = held_out && by_words == "auto";
            let told = remarks.iter().any(|remark| remark.contains("held out"));
            assert_eq!(told, expected, "{name} {held_out} {by_words}: {remarks:?}");
            let query = counts.read_query("cheap cover");
            let clicked = matcher
                .contributions(&counts, &query, 3)
                .iter()
                .any(|pair| pair.doc.starts_with("clicked for"));
            assert_eq!(clicked, !expected, "{name} {held_out} {by_words}");
        }
    }
}
