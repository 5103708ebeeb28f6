//! Parameters chosen on validation.

use std::fs;
use std::process::{Command, Stdio};

use liken::matchers::{Params, methods};
use liken::tuning::{Setting, Space};
use serde_json::Value;

use crate::place::{Place, Said};
use crate::shared::at;

/// A grid of six settings of RMLS.
const GRID: &str = "dim = [5, 12]\nfeatures.doc_clicks = [0.0, 0.3, 1.0]\n";

/// The table of a tuning without its times.
fn table(place: &Place, folder: &str) -> Value {
    let text = fs::read_to_string(place.path(folder).join("table.json")).unwrap();
    let mut table: Value = serde_json::from_str(&text).unwrap();
    for row in table["trials"].as_array_mut().unwrap() {
        row["seconds"] = 0.into();
    }
    table
}

#[test]
fn help_names_everything_that_varies_by_itself() {
    let help = Place::new().run("tune --help").silent().out;
    for (name, _) in methods() {
        let models = vec![(name.to_owned(), Params::named(name).unwrap())];
        let base = Setting { preparation: Default::default(), models };
        for (key, _) in Space::built_in(&base).unwrap().keys {
            assert!(help.contains(&key), "{key} of {name} is not in the help");
        }
    }
}

#[test]
fn a_grid_is_written_as_tables_a_plot_a_page_and_parameters() {
    let place = Place::with(&[("grid.toml", GRID)]);
    let line = format!("tune rmls {} --grid grid.toml -o tuning --dim 12", at("data"));
    place.run(&line).shows(&[
        "nDCG@10",
        "validation queries; 6 trials",
        "features.doc_clicks",
        "defaults",
        "kept",
        "tuning written",
        "next: liken train rmls ",
        "--params tuning/best.toml",
    ]);
    let names = Command::new("ls").arg(place.path("tuning")).output().unwrap();
    assert_eq!(
        String::from_utf8(names.stdout).unwrap(),
        "best.toml\nindex.html\njournal.jsonl\nplot.svg\ntable.json\ntable.md\ntable.tsv\n"
    );
    let read = |name: &str| fs::read_to_string(place.path("tuning").join(name)).unwrap();
    let found = table(&place, "tuning");
    let trials = found["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6);
    let scores: Vec<f64> = trials.iter().map(|row| row["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(read("table.tsv").lines().count(), 7);
    assert_eq!(read("table.md").lines().filter(|line| line.starts_with('|')).count(), 8);
    // Three panels with six trials each, every one with its tooltip; the page has the same.
    let plot = read("plot.svg");
    assert_eq!(plot.matches("class=\"panel\"").count(), 3);
    // What is both the best and the defaults has both marks.
    let marks = if found["defaults_are_best"] == true { 7 } else { 6 };
    assert_eq!(plot.matches("features.doc_clicks = ").count(), 3 * marks);
    assert!(read("index.html").contains(&plot) && read("index.html").contains("</table>"));
    // Training with the file gives what was found; the defaults of --dim are in it, too.
    let best = read("best.toml");
    assert!(best.starts_with("# liken train rmls "), "{best}");
    let compare =
        format!("compare {} --models rmls --on validation --measures nDCG@10", at("data"));
    let params = "--params tuning/best.toml --format json";
    let again = place.run(&format!("{compare} {params}")).fine().json();
    assert_eq!(again["rows"][0]["cells"][0]["mean"], trials[0]["score"]);
    place.run(&format!("train rmls {} -o model --params tuning/best.toml", at("data"))).fine();
    // Again: nothing is left to do. As JSON it is the same table.
    let journal = read("journal.jsonl");
    place.run(&line).shows(&["6 earlier trials, 0 new"]);
    let mut json = place.run(&format!("{line} --format json")).fine().json();
    for row in json["trials"].as_array_mut().unwrap() {
        row["seconds"] = 0.into();
    }
    assert_eq!(json, found);
    assert_eq!(read("journal.jsonl"), journal);
}

#[test]
fn a_budget_halves_and_a_larger_one_goes_on() {
    let place = Place::with(&[(
        "space.toml",
        "pls.dim = { min = 3, max = 20, int = true }\nbm25.k1 = { min = 0.4, max = 3 }\n\
         preparation.min_df = [1, 2]\n",
    )]);
    let line = format!("tune pls+bm25 {} --space space.toml --dim 10 -o t", at("data"));
    place.run(&format!("{line} --budget 3")).shows(&[
        "; 5 trials, 3 of them with a third of the training data",
        "weights",
        "95 % interval",
    ]);
    place.run(&format!("{line} --budget 4")).shows(&[
        "5 earlier trials",
        "9 of them with a ninth of the training data, 5 of them with a third",
    ]);
    for threads in [1, 2, 7] {
        let line = line.replace("-o t", &format!("-o t{threads}"));
        place.run(&format!("--threads {threads} {line} --budget 4")).fine();
        assert_eq!(table(&place, &format!("t{threads}")), table(&place, "t1"), "{threads} threads");
    }
    // What the smaller budget found is in the table of the larger one.
    let (all, alone) = (table(&place, "t"), table(&place, "t1"));
    let trials = |table: &Value| table["trials"].as_array().unwrap().clone();
    assert_eq!((trials(&all).len(), trials(&alone).len()), (17, 14));
    assert!(trials(&alone).iter().all(|row| trials(&all).contains(row)));
    // Another seed draws others.
    place.run(&format!("{line} --budget 4")).shows(&["17 earlier trials, 0 new"]);
    place.run(&format!("{line} --budget 4 --seed 2")).refused(
        1,
        &["t/journal.jsonl: holds trials with another", "seed", "choose another folder", "--force"],
    );
    place.run(&format!("{line} --budget 3 --seed 2 --force")).fine();
    assert_eq!(table(&place, "t")["trials"].as_array().unwrap().len(), 5);
    let best = fs::read_to_string(place.path("t/best.toml")).unwrap();
    assert!(best.contains("[pls]"), "{best}");
}

#[test]
fn the_built_in_space_serves_lexical_methods() {
    let place = Place::new();
    let said = place.run(&format!("tune bm25 {} --budget 6 -o t", at("data"))).fine();
    said.shows(&["; 6 trials\n", " k1 ", " b "]);
    place
        .run(&format!("tune vsm {} --budget 6 -o v", at("data")))
        .refused(2, &["vsm has none by default", "`--grid` or `--space`"]);
    place.file("grid.toml", "preparation.analyzer.stem = [true, false]\n");
    place
        .run(&format!("tune vsm {} --grid grid.toml -o v", at("data")))
        .shows(&["preparation.analyzer.stem", "; 2 trials"]);
}

#[test]
fn failed_tries_and_good_defaults_are_told() {
    let grid = "penalty = [\"none\", \"absolute\"]\nbeta = [0.0, 1e9]\n";
    let place = Place::with(&[("grid.toml", grid), ("low.toml", "dim = [1]\n")]);
    let line = format!("tune rmls {} --dim 10 -o t", at("data"));
    let said = place.run(&format!("{line} --grid grid.toml")).fine();
    assert!(said.err.contains("warning: 3 of 4 trials failed"), "{}", said.err);
    let said = said.shows(&["failed: beta = ", "best, defaults", "the defaults are best here: 0."]);
    assert!(said.out.contains("penalty empties") || said.out.contains("largest"), "{}", said.out);
    let best = fs::read_to_string(place.path("t/best.toml")).unwrap();
    assert!(best.ends_with("\ndim = 10\n"), "{best}");
    place.run(&format!("{line} --grid low.toml --force")).shows(&["the defaults are best here"]);
}

#[test]
fn wrong_usage_is_refused_before_any_work() {
    let place = Place::with(&[
        ("ok.toml", "dim = [5]\n"),
        ("range.toml", "dim = { min = 1, max = 9, int = true }\n"),
        ("half.toml", "dim = { min = 1, max = 9 }\n"),
        ("colour.toml", "colour = [5]\n"),
        ("value.toml", "dim = [\"many\"]\n"),
        ("broken.toml", "dim = \n"),
        ("k1.toml", "k1 = [1]\n"),
    ]);
    let data = at("data");
    for (line, code, words) in [
        ("tune", 2, ["<METHOD>", "--output"]),
        ("tune rmls DATA -o t", 2, ["--grid <FILE>", "--budget <N>"]),
        ("tune rmls DATA --budget 5", 2, ["--output", "required"]),
        ("tune rmls DATA -o t --budget 5 --grid ok.toml", 2, ["--budget", "cannot be used with"]),
        ("tune rmls DATA -o t --grid ok.toml --space ok.toml", 2, ["--space", "cannot be used"]),
        ("tune rmls DATA -o t --budget few", 2, ["--budget", "few"]),
        ("tune rmls DATA -o t --budget 1", 2, ["--budget 1", "2 or more"]),
        ("tune pls DATA -o t --budget 4000000000000000000", 2, ["--budget 4", "at most 10000"]),
        ("tune bm25 DATA -o t --budget 18446744073709551615", 2, ["--budget 1", "at most 10000"]),
        ("tune magic DATA -o t --budget 5", 2, ["no method is called \"magic\"", "bm25"]),
        ("tune rmls DATA -o t --budget 5 --measure magic", 2, ["no measure is called", "nDCG@k"]),
        ("tune rmls DATA -o t --grid none.toml", 1, ["none.toml: cannot read", "check the path"]),
        ("tune rmls DATA -o t --grid range.toml", 1, ["range.toml: dim: ", "needs a list"]),
        ("tune rmls DATA -o t --budget 9 --space half.toml", 1, ["half.toml: dim", "int = true"]),
        ("tune rmls DATA -o t --grid colour.toml", 1, ["colour.toml: colour = 5", "`dim`"]),
        ("tune rmls DATA -o t --grid value.toml", 1, ["value.toml: dim = \"many\"", "usize"]),
        ("tune rmls DATA -o t --grid broken.toml", 1, ["broken.toml: not TOML", "line 1"]),
        ("tune rmls+bm25 DATA -o t --grid k1.toml", 1, ["k1.toml: k1", "rmls.k1"]),
        ("tune rmls nowhere -o t --budget 5", 1, ["nowhere", "cannot read"]),
        ("tune rmls DATA -o ok.toml --budget 5", 1, ["ok.toml: is not a folder", "another"]),
        (
            "tune rmls DATA -o t --budget 5 --measure AP --relevant-from 99",
            1,
            ["no validation query of ", "a grade of 99 or more"],
        ),
    ] {
        place.run(&line.replace("DATA", &data)).refused(code, &words);
    }
    assert!(!place.names().contains(&"t".to_owned()), "{:?}", place.names());
    let raw = at("raw");
    let tables = format!("--clicks {raw}/clicks.tsv --documents {raw}/documents.jsonl");
    place.run(&format!("import {tables} --validation 0 -o untuned")).fine();
    place
        .run("tune rmls untuned --budget 5 -o t")
        .refused(1, &["untuned has no validation queries to measure on", "--validation 0.1"]);
}

#[test]
fn too_little_memory_stops_and_more_goes_on() {
    let place = Place::with(&[("grid.toml", "dim = [4]\n")]);
    let line = format!("tune pls {} --grid grid.toml --dim 5 -o t", at("data"));
    place.run(&format!("{line} --max-memory 10MiB")).refused(1, &["not enough memory"]);
    place.run(&format!("{line} --max-memory 2GiB")).fine();
    assert_eq!(table(&place, "t")["trials"].as_array().unwrap().len(), 2);
}

#[test]
fn a_folder_with_something_else_is_left_alone() {
    let place = Place::with(&[("grid.toml", "k1 = [1.0]\n"), ("mine/letter.txt", "dear")]);
    let line = format!("tune bm25 {} --grid grid.toml", at("data"));
    for force in ["", " --force"] {
        place
            .run(&format!("{line} -o mine{force}"))
            .refused(1, &["mine: exists and holds no tuning", "another name"]);
    }
    fs::create_dir(place.path("empty")).unwrap();
    place.run(&format!("{line} -o empty")).fine();
    place.file("empty/notes.txt", "mine");
    // What is beside it does not hinder it from going on, but from beginning anew.
    place.run(&format!("{line} -o empty")).fine();
    place
        .run(&format!("{line} -o empty --force"))
        .refused(1, &["empty: holds other files than those of a tuning", "by hand"]);
    assert!(place.path("empty/journal.jsonl").exists());
    assert_eq!(fs::read_to_string(place.path("empty/notes.txt")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn an_interrupted_tuning_goes_on() {
    let dims: Vec<String> = (5..45).map(|dim| dim.to_string()).collect();
    let grid = format!("dim = [{}]\n", dims.join(", "));
    let place = Place::with(&[("grid.toml", &grid)]);
    let line = format!("tune rmls {} --grid grid.toml --dim 30", at("data"));
    for (signal, folder) in [("-INT", "a"), ("-KILL", "b")] {
        let mut command = place.command(&format!("{line} -o {folder}"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let journal = place.path(folder).join("journal.jsonl");
        let lines = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
        crate::place::wait_until("three trials are written", || lines() >= 3);
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let said = Said::of(child.wait_with_output().unwrap());
        let (before, kept) = (fs::read(&journal).unwrap(), lines() - 1);
        assert!((2..40).contains(&kept), "{kept}");
        if signal == "-INT" {
            let trials = format!("{kept} trials are saved in a");
            said.refused(130, &["stopped; ", &trials, "the same command resumes"]);
            assert!(!place.path("a/table.json").exists());
        }
        place.run(&format!("{line} -o {folder}")).shows(&["earlier trial"]);
        assert!(fs::read(&journal).unwrap().starts_with(&before));
    }
    place.run(&format!("{line} -o whole")).fine();
    assert_eq!(table(&place, "a"), table(&place, "whole"));
    assert_eq!(table(&place, "b"), table(&place, "whole"));
}
