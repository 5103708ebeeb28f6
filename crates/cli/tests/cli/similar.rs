//! What lies near, and why a score is what it is.

use serde_json::Value;

use crate::place::Place;
use crate::shared::{at, shared};

#[test]
fn similar_wants_exactly_one_of_query_doc_and_word() {
    let place = shared();
    place.run("similar mix").refused(2, &["--query", "--doc", "--word"]);
    place.run("similar mix --query a --doc b").refused(2, &["cannot be used with"]);
    place.run("similar mix --word a --doc b").refused(2, &["cannot be used with"]);
    place.run("similar mix --word a --word b").refused(2, &["multiple times"]);
}

#[test]
fn similar_shows_queries_documents_and_words_by_cosine() {
    let place = shared();
    let cosines = |list: &Value| -> Vec<f64> {
        let list = list.as_array().unwrap();
        list.iter().map(|near| near["cosine"].as_f64().unwrap()).collect()
    };
    let check = |list: &Value, n: usize| {
        let cosines = cosines(list);
        assert_eq!(cosines.len(), n);
        assert!(cosines.is_sorted_by(|a, b| a >= b), "{cosines:?}");
        assert!(cosines.iter().all(|c| c.abs() <= 1.0 + 1e-6), "{cosines:?}");
    };
    let json = place.ask("similar mix --format json --query", &["heart attack"]).silent().json();
    check(&json["queries"], 10);
    let json = place.run("similar mix --format json --doc d0001 -k 4").silent().json();
    check(&json["documents"], 4);
    assert!(json["documents"].as_array().unwrap().iter().all(|near| near["name"] != "d0001"));
    let json = place.run("similar mix --format json --word heart -k 3").silent().json();
    check(&json["queries"], 3);
    check(&json["documents"], 3);
    place.ask("similar mix --query", &["heart attack"]).silent().shows(&["cosine  query"]);
    place.run("similar mix --doc d0001").silent().shows(&["cosine  document", "d0"]);
    place.run("similar mix --word heart").silent().shows(&["word of queries", "word of documents"]);
    assert_eq!(
        place.run("similar mix --word heart -k 0 --format json").silent().json()["queries"],
        Value::Array(vec![])
    );
    assert_eq!(place.run("similar mix --doc d0001 -k 100000").silent().out.lines().count(), 660);
}

#[test]
fn similar_says_what_it_cannot_find() {
    let place = shared();
    place.run("similar mix --doc d9999").refused(1, &["no document is called \"d9999\""]);
    place.run("similar mix --word zyxwv").refused(1, &["the word \"zyxwv\"", "does not occur"]);
    place.run("similar mix --word the").refused(1, &["the word \"the\"", "stop word"]);
    place.ask("similar mix --word", &["heart attack"]).refused(1, &["one word", "`--query`"]);
    place.ask("similar mix --word", &[""]).refused(1, &["one word"]);
    place.run("similar mix --query zyxwv").refused(1, &["analyses to nothing", "zyxwv"]);
    let said = place.ask("similar mix --query", &["heart zyxwv"]).fine();
    assert_eq!(said.err, "warning: the model does not know zyxwv\n");
    // lsi_qd knows queries and documents by their clicks alone.
    let own = Place::new();
    own.run(&format!("train lsi_qd {} -o clicks --dim 8", at("data"))).fine();
    let nothing = own.run("similar clicks --query heart").fine();
    assert!(
        nothing.err.contains("has no embedding for it, so that it has no neighbours"),
        "{}",
        nothing.err
    );
    for what in ["--query heart", "--doc d0001", "--word heart"] {
        place
            .run(&format!("similar bm25 {what}"))
            .refused(1, &["bm25 has no latent space", "rmls, pls"]);
    }
}

/// Contributions and rest sum to the part's score, contributions of the parts to the whole.
fn adds_up(explanation: &Value) {
    let number = |value: &Value| value.as_f64().unwrap();
    let parts = explanation["parts"].as_array().unwrap();
    let mut whole = 0.0;
    for part in parts {
        let lines = part["contributions"].as_array().unwrap();
        let sum: f64 = lines.iter().map(|line| number(&line["value"])).sum();
        assert!((sum + number(&part["rest"]) - number(&part["score"])).abs() < 1e-4, "{part}");
        let contribution = number(&part["contribution"]);
        if parts.len() > 1 {
            let (mean, deviation) = (number(&part["standard"][0]), number(&part["standard"][1]));
            let standard =
                if deviation > 0.0 { (number(&part["score"]) - mean) / deviation } else { 0.0 };
            assert!((contribution - number(&part["weight"]) * standard).abs() < 1e-4, "{part}");
        }
        whole += contribution;
    }
    assert!((whole - number(&explanation["score"])).abs() < 1e-4, "{explanation}");
}

#[test]
fn contributions_add_up_to_the_score_that_search_shows() {
    let place = shared();
    for model in ["bm25", "rmls", "mix"] {
        for query in ["heart attack", "heart failure symptoms", "heart zyxwv"] {
            let found = place.ask(&format!("search {model} -k 660 --format json"), &[query]).json();
            let hits = found["hits"].as_array().unwrap();
            for hit in [&hits[0], &hits[hits.len() / 2], &hits[hits.len() - 1]] {
                let id = hit["id"].as_str().unwrap();
                for n in [0, 3, 100000] {
                    let line = format!("explain {model} --doc {id} -n {n} --format json --query");
                    let json = place.ask(&line, &[query]).silent().json();
                    assert_eq!((&json["score"], &json["doc"]), (&hit["score"], &hit["id"]));
                    adds_up(&json);
                    for part in json["parts"].as_array().unwrap() {
                        let lines = part["contributions"].as_array().unwrap();
                        assert!(lines.len() <= n);
                        // With all lines shown, the rest is rounding.
                        if n == 100000 {
                            assert_eq!(part["n_rest"], 0);
                            assert!(part["rest"].as_f64().unwrap().abs() < 1e-4, "{part}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn an_explanation_for_people_names_words_shared_and_unknown() {
    let place = shared();
    let best = |query: &str| {
        let json = place.ask("search bm25 -k 1 --format json", &[query]).json();
        json["hits"][0]["id"].as_str().unwrap().to_owned()
    };
    let id = best("heart");
    place.ask(&format!("explain mix --doc {id} -n 2 --query"), &["heart zyxwv"]).silent().shows(&[
        &format!("“heart zyxwv” and {id}: score "),
        "They share: heart.",
        "Unknown to the model: zyxwv.",
        "rmls contributes",
        "bm25 contributes",
        " more)",
    ]);
    // None of three contributions shown is not the same as none at all.
    place.run(&format!("explain bm25 --doc {id} --query heart -n 0")).shows(&["(1 more)"]);
    let worst = place.run("search mix heart -k 660 --format json").json();
    let worst = worst["hits"][659]["id"].as_str().unwrap();
    place
        .run(&format!("explain bm25 --doc {worst} --query heart"))
        .shows(&["They share no word.", "no term contributes"]);
}

#[test]
fn explain_says_what_it_cannot_find() {
    let place = shared();
    place
        .run("explain mix --query heart --doc d9999")
        .refused(1, &["no document is called \"d9999\""]);
    place.run("explain mix --query the --doc d0001").refused(1, &["analyses to nothing"]);
    place.run("explain mix --query heart").refused(2, &["--doc"]);
    place.run("explain mix --doc d0001").refused(2, &["--query"]);
}
