//! Tables of features.

use std::fs;

use crate::place::Place;
use crate::shared::{at, shared};

#[test]
fn a_table_has_a_row_for_every_judged_document_and_a_column_for_every_feature() {
    let place = Place::new();
    let line = format!("features {} --models bm25,pls --dim 20 -o out/rows.csv", at("data"));
    let said = place.run(&line).fine();
    assert!(said.out.contains("model(pls)") && said.out.contains("written"), "{}", said.out);
    let text = fs::read_to_string(place.path("out/rows.csv")).unwrap();
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(heading[..3], ["query", "doc", "grade"]);
    for name in [
        "bm25(title)",
        "bm25(all)",
        "vsm(title)",
        "lm(all)",
        "span(all)",
        "length(title)",
        "clicks",
        "model(pls)",
    ] {
        assert!(heading.contains(&name), "no {name} in {heading:?}");
    }
    let data = shared().dataset("data");
    assert_eq!(lines.count(), data.validation.nnz());
    place.run(&line).refused(1, &["already exists", "--force"]);
}

#[test]
fn the_best_documents_of_a_model_that_is_there_have_its_scores() {
    let place = Place::new();
    let line = format!(
        "features {} --model {} --on test --candidates top:20 --groups bm25,models --format json -o",
        at("data"),
        at("rmls")
    );
    let json = place.run(&format!("{line} t.tsv")).fine().json();
    let text = fs::read_to_string(place.path("t.tsv")).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let heading = lines.next().unwrap();
    assert!(heading.contains(&"bm25(all)") && !heading.contains(&"clicks"), "{heading:?}");
    let column = heading.iter().position(|&name| name == "model(rmls)").unwrap();
    let first = lines.next().unwrap();
    assert_eq!(lines.count() as u64 + 1, json["rows"].as_u64().unwrap());
    // Queries of this log are called by their texts.
    let hits = shared().ask("search rmls -k 100000 --format json", &[first[0]]).json();
    let hit = hits["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == first[1]).unwrap();
    let score: f32 = first[column].parse().unwrap();
    assert_eq!(hit["score"].as_f64().unwrap() as f32, score);
    // LETOR has no place for such names, which is said before the work.
    place.run(&format!("{line} t.txt")).refused(2, &["LETOR", ".csv"]);
}

#[test]
fn training_queries_are_cross_fitted() {
    let place = Place::new();
    let line = format!(
        "features {} --models walk,clicked --on train --folds 2 --queries 40 --candidates top:10 --groups models,clicks -o t.csv",
        at("data")
    );
    let json = place.run(&format!("{line} --format json")).fine().json();
    // Some have no row: without their clicks no matcher finds a document.
    let queries = json["queries"].as_u64().unwrap();
    assert_eq!(queries + json["queries_without_rows"].as_u64().unwrap(), 40);
    assert!(queries > 20, "{queries}");
    // Without their own clicks, the click graph does not know these queries.
    let walk = json["features"].as_array().unwrap().iter().find(|f| f["name"] == "model(walk)");
    assert_eq!((&walk.unwrap()["least"], &walk.unwrap()["most"]), (&0.0.into(), &0.0.into()));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    let data = at("data");
    let refused = |more: &str, words: &[&str]| {
        place.run(&format!("features {data} -o t.csv {more}")).refused(2, words);
    };
    refused("--groups bm26", &["bm26", "proximity"]);
    refused("--models pls+bm25", &["one matcher"]);
    refused("--models plz", &["plz"]);
    refused("--candidates all", &["top:100"]);
    refused(&format!("--on train --model {}", at("rmls")), &["--models"]);
    assert!(place.names().is_empty());
}
