//! Experiments as files.

use std::path::{Path, PathBuf};

use crate::place::Place;
use crate::shared::at;

const EXPERIMENT: &str = "\
name = \"../tiny\"
[data]
clicks = { path = \"clicks.tsv\" }
documents = { path = \"documents.jsonl\" }
judgments = { path = \"judgments.tsv\" }
[models.small]
method = \"pls\"
dim = 10
[compare]
rows = [\"bm25\", \"small\", \"small+bm25\"]
measures = [\"nDCG@5\", \"AP\"]
";

fn expect(score: f64, tolerance: f64) -> String {
    format!(
        "[[expected]]\nmodel = \"bm25\"\nmeasure = \"nDCG@5\"\nscore = {score}\n\
         tolerance = {tolerance}\n[[expected]]\nmodel = \"small+bm25\"\nmeasure = \"AP\"\n\
         at_least = 0.1\nat_most = 0.99\n"
    )
}

/// A place with the shared raw tables and the experiment beside them.
fn place(text: &str) -> Place {
    let place = Place::new();
    for name in ["clicks.tsv", "documents.jsonl", "judgments.tsv"] {
        place
            .file(&format!("here/{name}"), std::fs::read(format!("{}/{name}", at("raw"))).unwrap());
    }
    place.file("here/exp.toml", text);
    place
}

/// The folder of the project's own experiments.
pub fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

#[test]
fn the_quick_experiments_on_synthetic_logs_have_not_moved() {
    // What needs tables is left out, so that this test needs nothing and is never skipped.
    let folder = experiments();
    let arguments = ["--quick", folder.to_str().unwrap(), "--data", "nowhere"];
    let said = Place::new().ask("experiment", &arguments);
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    assert!(!said.out.contains("MOVED"), "{}", said.out);
    for name in ["mart-table-4, demo log ", "rmls-table-2, demo log ", "rmls-table-6, demo log "] {
        let line = said.out.lines().find(|line| line.starts_with(name));
        assert!(line.is_some_and(|line| !line.contains("skipped")), "{name}: {}", said.out);
    }
}

#[test]
fn an_experiment_passes_until_a_score_moves() {
    let place = place(EXPERIMENT);
    let json = place.run("experiment here/exp.toml --format json").silent().json();
    let score = json["comparison"]["rows"][0]["cells"][0]["mean"].as_f64().unwrap();
    assert_eq!(json["checks"], serde_json::json!([]));

    place.file("here/exp.toml", format!("{EXPERIMENT}{}", expect(score, 0.0001)));
    let said = place.run("experiment here/exp.toml").silent();
    said.shows(&[
        "paired t-test against bm25",
        "\nok    bm25 nDCG@5 0.",
        "\nok    small+bm25 AP at least 0.1: 0.",
        "\nok    small+bm25 AP at most 0.99: 0.",
    ]);

    place.file("here/exp.toml", format!("{EXPERIMENT}{}", expect(score + 0.01, 0.0001)));
    for format in ["table", "json", "markdown", "latex"] {
        let said = place.run(&format!("experiment here/exp.toml --format {format}"));
        let found = format!("found {score:.4}");
        if format == "json" {
            assert_eq!(said.json()["checks"][0]["passed"], false);
        } else {
            assert!(said.out.contains("MOVED bm25 nDCG@5"), "{}", said.out);
        }
        said.refused(1, &["here/exp.toml: 1 of 3 expectations", "expected bm25 nDCG@5 0.", &found]);
    }
    // Nothing is written, whatever the experiment is called.
    assert_eq!(place.names(), ["here"]);
    assert_eq!(std::fs::read_dir(place.path("here")).unwrap().count(), 4);
}

#[test]
fn an_expected_warning_must_come() {
    let collapse = "[models.published]\nmethod = \"rmls\"\nstart = \"random\"\nsweeps = 20\npatience = 20\ndim = 100\n\
        [compare]\nrows = [\"published\"]\nmeasures = [\"AP\"]\n\
        [[expected]]\nmodel = \"published\"\nwarns = \"collapse\"\n";
    let data = EXPERIMENT.split("[models").next().unwrap();
    let place = place(&format!("{data}{collapse}"));
    let said = place.run("experiment here/exp.toml").fine();
    assert!(said.err.contains("published: RMLS collapses"), "{}", said.err);
    said.shows(&["ok    published warns"]);
    place.file(
        "here/exp.toml",
        format!(
            "{data}{}",
            collapse.replace("random", "spectral").replace("sweeps = 20", "sweeps = 0")
        ),
    );
    place.run("experiment here/exp.toml").refused(1, &["published warns: …collapse…"]);
}

#[test]
fn the_data_may_lie_elsewhere() {
    let place = Place::with(&[("exp.toml", EXPERIMENT)]);
    place.run(&format!("experiment exp.toml --data {}", at("raw"))).silent();
    let mut command = place.command("experiment exp.toml");
    let output = command.env("LIKEN_DATA", at("raw")).output().unwrap();
    crate::place::Said::of(output).silent();
    place
        .run("experiment exp.toml --data nowhere")
        .refused(1, &["exp.toml: there is no nowhere", "--data DIR"]);
    place.run("experiment exp.toml").refused(1, &["exp.toml: there is no", "--data DIR"]);
    place.run("experiment none.toml").refused(1, &["none.toml: cannot read", "check the path"]);
}

#[test]
fn a_broken_experiment_names_the_place() {
    for (from, to, words) in [
        ("[compare]", "[compare", &["exp.toml: ", "line 9"][..]),
        ("measures =", "measure =", &["exp.toml: ", "line 11", "unknown field `measure`"]),
        ("\"AP\"]", "\"magic\"]", &["exp.toml: ", "line 11", "no measure is called \"magic\""]),
        ("clicks = {", "clicks = { rows = 3,", &["exp.toml: ", "line 3", "unknown field `rows`"]),
        ("dim = 10", "dimm = 10", &["exp.toml: [models.small]: unknown field `dimm`"]),
        ("dim = 10", "dim = 0", &["exp.toml: [models.small]: dim = 0", "1 or more"]),
        (
            "dim = 10",
            "published = 1",
            &["exp.toml: [models.small]: published = 1", "true or false"],
        ),
        ("\"pls\"", "\"plz\"", &["exp.toml: [models.small]: ", "\"plz\""]),
        ("\"small+bm25\"", "\"smal+bm25\"", &["exp.toml: the row \"smal+bm25\": ", "\"smal\""]),
        ("rows =", "baseline = \"lm\"\nrows =", &["\"lm\"", "one of the rows"]),
        ("[\"nDCG@5\", \"AP\"]", "[]", &["measures = []", "at least one"]),
        ("\"AP\"]", "\"nDCG@5\"]", &["\"nDCG@5\" twice"]),
        ("[\"bm25\", \"small\", \"small+bm25\"]", "[]", &["exp.toml: [models.small]", "some row"]),
        ("\"small+bm25\"]", "\"small\"]", &["exp.toml: [compare]: ", "\"small\" twice"]),
        (
            "[data]",
            "synthetic = { log = \"demo\" }\n[data]",
            &["exp.toml: [data]: ", "`synthetic`"],
        ),
    ] {
        let text = EXPERIMENT.replacen(from, to, 1);
        assert_ne!(text, EXPERIMENT);
        place(&text).run("experiment here/exp.toml").refused(1, words);
    }
    let score = "measure = \"AP\"\nscore = 0.1\n";
    for (expected, problem) in [
        ("model = \"lm\"\nmeasure = \"AP\"\nat_least = 0.1\n", "\"lm\", which is no row"),
        (&format!("model = \"bm25\"\n{score}"), "needs a `tolerance`"),
        (&format!("model = \"bm25\"\n{score}tolerance = -1\n"), "a `tolerance` of 0 or more"),
        (&format!("model = \"bm25\"\n{score}tolerance = nan\n"), "the number NaN"),
        (&format!("{score}tolerance = 0.1\n"), "no row as its `model`"),
        ("model = \"bm25\"\nat_most = 0.1\n", "which `measure`"),
        ("model = \"bm25\"\n", "is empty: expected"),
        (
            "model = \"bm25\"\nmeasure = \"AP\"\nat_least = 0.5\nat_most = 0.1\n",
            "above its `at_most`",
        ),
        ("model = \"pls\"\nwarns = \"collapse\"\n", "which is in no row"),
        ("model = \"bm25\"\nwarns = \"\"\n", "without a text"),
    ] {
        let text = format!("{EXPERIMENT}[[expected]]\n{expected}");
        place(&text)
            .run("experiment here/exp.toml")
            .refused(1, &["exp.toml: the expectation for", problem, "[[expected]]"]);
    }
}

/// The same table on two logs: the tables beside the file and a synthetic one.
const SETTINGS: &str = "\
name = \"two logs\"
[compare]
rows = [\"bm25\", \"pls\"]
measures = [\"nDCG@5\", \"AP\"]
[[settings]]
name = \"tables\"
quick = true
models = { pls = { dim = 10 } }
data = { clicks = { path = \"clicks.tsv\" }, documents = { path = \"documents.jsonl\" }, judgments = { path = \"judgments.tsv\" } }
[[settings]]
name = \"demo\"
rows = [\"bm25\"]
synthetic = { log = \"demo\", scale = 0.2 }
";

#[test]
fn settings_are_replayed_one_by_one() {
    let place = place(SETTINGS);
    // What came out becomes what is expected.
    let expected = place.run("experiment here/exp.toml --expected").silent().out;
    assert!(expected.contains("setting = \"tables\"\nmeasure = \"nDCG@5\""), "{expected}");
    place.file("here/exp.toml", format!("{SETTINGS}{expected}"));
    let said = place.run("experiment here/exp.toml").silent();
    said.shows(&["two logs, tables\n", "ok    pls AP 0.", "two logs, demo\n", "ok    bm25 AP 0."]);
    let json = place.run("experiment here --format json").silent().json();
    assert_eq!(json[0]["setting"], "tables");
    assert_eq!(json[1]["outcome"]["comparison"]["rows"].as_array().unwrap().len(), 1);
    place
        .run("experiment here")
        .silent()
        .shows(&["two logs, tables  4 of 4", "two logs, demo    2 of 2"]);
    for only in ["--quick", "--setting tables"] {
        let said = place.run(&format!("experiment here/exp.toml {only}")).silent();
        assert!(
            said.out.contains("pls AP") && !said.out.contains("two logs, demo"),
            "{}",
            said.out
        );
    }
    place
        .run("experiment here/exp.toml --setting none")
        .refused(2, &["no setting is called \"none\""]);

    let moved = expected.replacen("\"bm25\" = 0.", "\"bm25\" = 1.", 1);
    place.file("here/exp.toml", format!("{SETTINGS}{moved}"));
    place.run("experiment here/exp.toml").refused(
        1,
        &["here/exp.toml: 1 of 6 expectations", "\n  two logs, tables: expected bm25 nDCG@5 1."],
    );
}

#[test]
fn a_folder_leaves_out_what_has_no_data() {
    let place = Place::with(&[("experiments/exp.toml", SETTINGS)]);
    let said = place.run("experiment --all --data nowhere").fine();
    assert!(said.err.contains("two logs, tables is skipped: there is no nowhere/"), "{}", said.err);
    said.shows(&["two logs, tables  skipped", "two logs, demo    nothing expected"]);
    place.run("experiment --all --data nowhere --quick").fine().shows(&["skipped"]);
    Place::new()
        .run("experiment --all")
        .refused(2, &["experiments, which is not in the current folder"]);
}

#[test]
fn settings_must_have_names_and_data_of_their_own() {
    for (from, to, words) in [
        ("name = \"demo\"", "name = \"tables\"", "two settings are called \"tables\""),
        ("synthetic = { log = \"demo\", scale = 0.2 }", "", "tables to import, or `synthetic`"),
        ("rows = [\"bm25\"]\n", "rows = [\"bm26\"]\n", "the row \"bm26\""),
    ] {
        let text = SETTINGS.replacen(from, to, 1);
        place(&text).run("experiment here/exp.toml").refused(1, &["exp.toml: ", words]);
    }
    for expected in [
        "measure = \"AP\"\ntolerance = 0.1\nscores = { bm25 = 0.1 }\n",
        "setting = \"demo\"\nmeasure = \"AP\"\ntolerance = 0.1\nscores = { pls = 0.1 }\n",
        "setting = \"demo\"\nmeasure = \"AP\"\nscores = { bm25 = 0.1 }\n",
        "setting = \"demo\"\nmeasure = \"AP\"\ntolerance = 0.1\nclicks = \"11\"\nscores = { bm25 = 0.1 }\n",
    ] {
        let text = format!("{SETTINGS}[[expected]]\n{expected}");
        place(&text).run("experiment here/exp.toml").refused(1, &["exp.toml: the expectation for"]);
    }
}
