//! The best documents for a query.

use std::fs;

use crate::place::Place;
use crate::shared::{at, shared};

/// Ids in the order shown by the table.
fn ids(table: &str) -> Vec<String> {
    table.lines().skip(1).map(|line| line.split_whitespace().nth(2).unwrap().to_owned()).collect()
}

/// A query of the training log, and one that is not in it.
fn known_query() -> String {
    let clicks = fs::read_to_string(shared().path("raw/clicks.tsv")).unwrap();
    clicks.lines().nth(1).unwrap().split('\t').next().unwrap().to_owned()
}

#[test]
fn known_and_unseen_queries_find_documents_with_titles() {
    for (query, known) in [(known_query(), true), ("emergency heart surgery".into(), false)] {
        let said = shared().ask("search mix", &[&query]).fine();
        let lines: Vec<&str> = said.out.lines().collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            ["rank", "score", "id", "title"]
        );
        assert_eq!(lines.len(), 11);
        assert!(lines[1..].iter().all(|line| line.split_whitespace().count() > 3), "{}", said.out);
        let json = shared().ask("search mix --format json", &[&query]).json();
        assert_eq!((&json["query"], &json["known"]), (&query.as_str().into(), &known.into()));
        let hits = json["hits"].as_array().unwrap();
        assert_eq!(
            hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect::<Vec<_>>(),
            ids(&said.out)
        );
        for (rank, hit) in (1..).zip(hits) {
            assert_eq!((&hit["rank"], &hit["document"]["id"]), (&rank.into(), &hit["id"]));
            assert!(hit["document"]["title"].is_string() && hit["document"]["body"].is_string());
        }
        let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn spelling_and_spacing_do_not_make_another_query() {
    let query = known_query();
    let json = |text: &str| shared().ask("search mix --format json", &[text]).silent().json();
    let loud = json(&format!("  {}  ", query.to_uppercase().replace(' ', "   ")));
    assert_eq!((&loud["known"], &loud["hits"]), (&true.into(), &json(&query)["hits"]));
}

#[test]
fn what_analyses_to_nothing_is_an_error_that_says_why() {
    for query in ["", "   ", "the of", "?!"] {
        let said = shared().ask("search mix", &[query]);
        said.refused(1, &["analyses to nothing", "stop words, punctuation or space"]);
    }
    let said = shared().ask("search mix", &["zyxwv utsrq"]);
    said.refused(1, &["zyxwv, utsrq", "--char-ngrams 3-5"]);
    let said = shared().ask("search mix", &["heart zyxwv"]).fine();
    assert_eq!(said.err, "warning: the model does not know zyxwv\n");
    let json = shared().ask("search mix --format json", &["heart zyxwv"]).json();
    assert_eq!(json["unknown_words"], serde_json::json!(["zyxwv"]));
}

#[test]
fn character_n_grams_save_a_misspelt_word() {
    let place = Place::new();
    place.run(&format!("train vsm {} -o model --char-ngrams 3-5", at("data"))).silent();
    place.run(&format!("search {} hearrt", at("bm25"))).refused(1, &["hearrt"]);
    let json = place.run("search model hearrt -k 1 --format json").fine().json();
    let found = json["hits"][0]["document"].to_string().to_lowercase();
    assert!(found.contains("heart"), "{found}");
}

#[test]
fn k_is_obeyed() {
    let place = shared();
    assert_eq!(ids(&place.run("search mix heart -k 0").silent().out), [""; 0]);
    let all = ids(&place.run("search mix heart -k 100000").silent().out);
    let mut distinct = all.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!((all.len(), distinct.len()), (660, 660));
    assert_eq!(ids(&place.run("search mix heart -k 3").silent().out), all[..3]);
    place.run("search mix heart -k -1").refused(2, &["-1"]);
    place.run("search mix heart -k few").refused(2, &["few"]);
    place.run("search mix").refused(2, &["<QUERY>"]);
}

#[test]
fn a_model_outlives_its_dataset_without_titles() {
    let place = Place::new();
    place.run("synth demo --scale 0.2 -o data").silent();
    place.run("train pls data -o model --dim 10").silent();
    let before = place.run("search model heart").silent().out;
    fs::rename(place.path("data"), place.path("moved")).unwrap();
    let said = place.run("search model heart").fine();
    assert_eq!(ids(&said.out), ids(&before));
    let missing = format!("warning: no titles: {}: cannot read", place.path("data").display());
    assert!(said.err.starts_with(&missing) && said.err.contains("--dataset DIR"), "{}", said.err);
    assert_eq!(place.run("search model heart --dataset moved").silent().out, before);
    let said = place.run("search model heart --format json").fine();
    assert!(said.err.starts_with("warning: no titles"), "{}", said.err);
    assert!(said.json()["hits"][0]["document"].is_null());
    place.run("synth demo --scale 0.2 --seed 2 -o other").silent();
    let said = place.run("search model heart --dataset other").fine();
    assert!(said.err.contains("other is not the dataset that the model was trained on"));
    let said = place.run("similar model --doc d0001").fine();
    assert!(said.err.starts_with("warning: no titles"), "{}", said.err);
    // A model may move as well.
    fs::rename(place.path("model"), place.path("elsewhere")).unwrap();
    assert_eq!(place.run("search elsewhere heart --dataset moved").silent().out, before);
}

#[test]
fn new_documents_are_found_by_their_words_and_move_no_other_score() {
    let place = Place::new();
    let data = shared().dataset("data");
    let original = data.documents.get(0).unwrap();
    let mut copy = serde_json::to_value(&original).unwrap();
    copy["id"] = "copy".into();
    let text = original.fields["title"].as_str().unwrap().to_owned();
    place.file("new.jsonl", format!("{copy}\n{{\"id\": \"blank\", \"title\": \"zyxwv\"}}\n"));
    for model in ["bm25", "rmls", "mix"] {
        let model = at(model);
        let json = |more: &str| {
            let line = format!("search {model} -k 100000 --format json {more}");
            place.ask(&line, &[&text]).fine().json()
        };
        let scores = |json: &serde_json::Value| {
            let hits = json["hits"].as_array().unwrap().clone();
            let pairs =
                hits.iter().map(|h| (h["id"].as_str().unwrap().to_owned(), h["score"].clone()));
            pairs.collect::<std::collections::BTreeMap<_, _>>()
        };
        let before = scores(&json(""));
        let found = json("--documents new.jsonl");
        let mut after = scores(&found);
        let hit = found["hits"].as_array().unwrap().iter().find(|h| h["id"] == "copy").unwrap();
        assert_eq!(hit["document"]["title"], text.as_str());
        assert!(after.remove("copy").is_some());
        after.remove("blank");
        assert_eq!(before, after);
    }
    let rmls = at("rmls");
    let said = place.ask(&format!("search {rmls} -k 3 --documents new.jsonl"), &[&text]).fine();
    assert!(
        said.err.contains("1 document has no word that the model knows: blank"),
        "{}",
        said.err
    );
    // The same documents for a whole run, for an explanation, and for what is similar.
    place.file("q.tsv", format!("q1\t{text}\n"));
    let said = place.run(&format!("run {rmls} --queries q.tsv --documents new.jsonl -o -")).fine();
    assert!(said.out.contains(" copy "), "{}", said.out);
    let line = format!("explain {rmls} --doc copy --documents new.jsonl --query");
    place.ask(&line, &[&text]).shows(&["and copy: score"]);
    place.run(&format!("similar {rmls} --doc copy --documents new.jsonl")).shows(&["cosine"]);
    place
        .run(&format!("similar {rmls} --doc copy"))
        .refused(1, &["no document is called \"copy\""]);
    place.file("bad.jsonl", "{\"title\": \"x\"}\n");
    place
        .run(&format!("search {rmls} heart --documents bad.jsonl"))
        .refused(1, &["bad.jsonl:1", "an id"]);
}
