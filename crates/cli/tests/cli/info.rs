//! What a folder or a file is.

use crate::place::Place;
use crate::shared::{at, shared};

#[test]
fn info_describes_a_dataset() {
    let said = shared().run("info data").silent().shows(&[
        "dataset     data",
        "identity",
        "format 1",
        "documents   660",
        "validation",
        "split       by judgments",
        "fewer than 4 clicks",
        "source      clicks.tsv",
        "sha256",
        "report",
    ]);
    let json = shared().run("info data --format json").silent().json();
    assert_eq!(json["manifest"]["kind"], "dataset");
    assert_eq!(json["manifest"]["about"]["counts"]["documents"], 660);
    assert!(said.out.contains(json["identity"].as_str().unwrap()));
}

#[test]
fn info_describes_a_model() {
    shared().run("info mix").silent().shows(&[
        "model       mix",
        "method      rmls+bm25",
        "660 documents",
        &format!("dataset     {}", at("data")),
        "× rmls",
        "× bm25",
        "            dim = 40\n",
        "            k1 = 1.2\n",
        "            rho_x = 0.1\n",
        "trained     in",
    ]);
    let json = shared().run("info mix --format json").silent().json();
    let parts = &json["manifest"]["about"]["parts"];
    assert_eq!((&parts[0]["method"], &parts[1]["method"]), (&"rmls".into(), &"bm25".into()));
    assert_eq!(parts[0]["params"]["rho_x"].to_string(), "0.1");
    let data = shared().run("info data --format json").silent().json();
    assert_eq!(json["manifest"]["about"]["dataset"]["identity"], data["identity"]);
}

#[test]
fn info_describes_a_run() {
    let place =
        Place::with(&[("run.trec", "q1 Q0 d1 1 2.5 a\nq1 Q0 d2 2 1e-3 a\nq2 Q0 d1 1 1 b\n")]);
    place.run("info run.trec").silent().shows(&["queries     2", "lines       3", "a, b"]);
    let json = place.run("info run.trec --format json").silent().json();
    assert_eq!(
        json,
        serde_json::json!({
            "kind": "run", "lines": 3, "queries": 2, "most": 2, "tags": ["a", "b"]
        })
    );
    place.file("bad.trec", "q1 Q0 d1 1 high a\n");
    place.run("info bad.trec").refused(1, &["bad.trec:1", "a number as score", "high"]);
}

#[test]
fn info_says_what_something_else_is_not() {
    let place = Place::with(&[("table.tsv", "query\tdoc\nq\td\n"), ("folder/file", "x")]);
    place
        .run("info table.tsv")
        .refused(1, &["table.tsv:1", "six columns of a TREC run", "or a run file"]);
    place
        .run("info folder")
        .refused(1, &["folder: has no manifest.json", "`liken import` makes a dataset"]);
    place.run("info nothing").refused(1, &["nothing: cannot read", "check the path"]);
    place.run("info").refused(2, &["<PATH>"]);
}
