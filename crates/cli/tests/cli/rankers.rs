//! Rankers over the features of matchers, among the rows of comparisons and experiments.

use crate::place::Place;
use crate::shared::at;

#[test]
fn a_table_of_models_and_rankers_has_tests_of_what_a_model_adds() {
    let place = Place::new();
    let line = format!(
        "compare {} --models bm25,pls --dim 20 --measures nDCG@10 --rankers regression:-pls,regression --baseline regression:-pls",
        at("data")
    );
    let said = place.run(&line).fine();
    for part in
        ["regression:-pls", "rankers; figures are means", "on held-out folds", "most used: "]
    {
        assert!(said.out.contains(part), "no {part:?} in:\n{}", said.out);
    }
    let json = place.run(&format!("{line} --format json")).fine().json();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bm25", "pls", "regression:-pls", "regression"]);
    assert!(rows[3]["cells"][0]["against"]["t_holm"].as_f64().is_some());
    assert_eq!(json["rankers"]["regression"]["steps"].as_array().unwrap().len(), 5);
    let mean = |row: usize| rows[row]["cells"][0]["mean"].as_f64().unwrap();
    assert!(mean(3) > mean(0), "{} {}", mean(3), mean(0));
}

#[test]
fn trees_learn_from_training_queries_too() {
    let place = Place::new();
    let line = format!(
        "compare {} --models bm25,clicked --measures nDCG@10 --rankers lambdamart --learn-from both --depth 20 --ranker-set lambdamart.trees=20",
        at("data")
    );
    place.run(&line).shows(&["lambdamart", "rows of"]);
}

#[test]
fn rankers_that_make_no_sense_are_refused() {
    let place = Place::new();
    let data = at("data");
    let refused = |more: &str, words: &[&str]| {
        place.run(&format!("compare {data} --models bm25 {more}")).refused(2, words);
    };
    refused("--rankers bm25:all", &["bm25", "mart"]);
    refused("--rankers mart:-plz", &["plz"]);
    refused("--rankers mart --ranker-set leafs=3", &["leafs"]);
    refused(
        "--rankers mart --ranker-set lambdamart.trees=3",
        &["names no ranker of the method lambdamart"],
    );
    refused("--rankers mart,mart", &["twice"]);
    refused("--rankers mart --depth 0", &["depth"]);
}

#[test]
fn an_experiment_has_rankers_as_rows() {
    let place = Place::with(&[(
        "e.toml",
        r#"
name = "rankers"
synthetic = { log = "demo", scale = 0.2 }
[models.pls]
dim = 10
[rankers.Baseline]
method = "mart"
trees = 20
features = ["bm25", "length"]
[rankers.All]
method = "mart"
trees = 20
features = ["bm25", "length", "pls"]
[compare]
rows = ["bm25", "Baseline", "All", "All+bm25"]
baseline = "Baseline"
measures = ["nDCG@10"]
[[expected]]
model = "All"
measure = "nDCG@10"
at_least = 0.3
"#,
    )]);
    place.run("experiment e.toml").shows(&[
        "ok    All nDCG@10 at least 0.3",
        "All+bm25",
        "Baseline: ",
    ]);
    let wrong = |from: &str, to: &str, words: &[&str]| {
        let text = std::fs::read_to_string(place.path("e.toml")).unwrap();
        assert!(text.contains(from));
        place.file("wrong.toml", text.replace(from, to));
        place.run("experiment wrong.toml").refused(1, words);
    };
    wrong(
        "method = \"mart\"\ntrees = 20\nfeatures = [\"bm25\", \"length\"]",
        "method = \"mars\"",
        &["[rankers.Baseline]", "mars"],
    );
    wrong("\"length\", \"pls\"", "\"length\", \"pls\", \"plz\"", &["plz"]);
    wrong("rankers.Baseline", "rankers.bm25", &["[rankers.bm25]"]);
    wrong("\"All\", \"All+bm25\"", "\"pls\"", &["All"]);
    wrong("[compare]", "[stacking]\nfolds = 1\n[compare]", &["folds"]);
}
