//! From a dataset to a model folder.

use std::fs;
use std::process::{Command, Stdio};

use liken::matchers::{Params, methods, preparation_docs};
use serde_json::Value;

use crate::place::{Place, Said};
use crate::shared::{at, shared};

/// The parameters of part `part` of a model, as `info` shows them.
fn params(place: &Place, model: &str, part: usize) -> Value {
    let json = place.run(&format!("info {model} --format json")).silent().json();
    json["manifest"]["about"]["parts"][part]["params"].clone()
}

#[test]
fn help_lists_the_methods_and_every_parameter_with_its_default() {
    let place = Place::new();
    let said = place.run("train --help").silent();
    for (name, about) in methods() {
        assert!(said.out.contains(&format!("  {name:<13} {about}")), "{name}");
        let said = place.run(&format!("train {name} --help")).silent();
        for doc in Params::named(name).unwrap().docs().iter().chain(&preparation_docs()) {
            let line = format!("\n  {} [default: {}]\n", doc.key, doc.default);
            assert!(said.out.contains(&line), "{name}: no {line:?}");
        }
    }
    let said = place.run("train rmls+bm25 -h").silent();
    said.shows(&["Parameters of rmls", "rho_x [default: 0.1]", "Parameters of bm25"]);
    let said = place.run("train bm25+bm26 --help");
    assert_eq!(said.out, "");
    said.refused(2, &["no method is called \"bm26\"", "bm25, vsm, lm"]);
}

#[test]
fn published_settings_yield_to_every_other_way_to_set_a_parameter() {
    let file = "response = \"log\"\nweighting = \"sum\"\n";
    let place = Place::with(&[("file.toml", file)]);
    let data = at("data");
    place.run("train rmls --help").silent().shows(&["(--published):\n  start = random\n"]);
    let more = "--params file.toml --set weighting=mean --set by_words=auto";
    place.run(&format!("train rmls {data} -o a --dim 5 --published {more}")).fine();
    let set = params(&place, "a", 0);
    assert_eq!((&set["start"], &set["dim"]), (&"random".into(), &5.into()));
    assert_eq!((&set["response"], &set["weighting"]), (&"log".into(), &"mean".into()));
    assert_eq!(set["by_words"], "auto");
    // A model without a published setting keeps its defaults.
    place.run(&format!("train 0.5*pls+0.5*bm25 {data} -o b --published --dim 5")).fine();
    assert_eq!(params(&place, "b", 0)["features"]["query_clicks"], 1.0);
    place
        .run(&format!("train bm25 {data} -o c --published"))
        .refused(2, &["--published: expected a model with a published setting: pls, rmls"]);
    place.run("plan --methods bm25 --published").refused(2, &["--published"]);
}

#[test]
fn wrong_usage_names_the_culprit_and_what_is_allowed() {
    let place = Place::new();
    let data = at("data");
    place.run("train").refused(2, &["<METHOD>", "<DATASET>", "--output"]);
    place.run(&format!("train rmls {data}")).refused(2, &["--output"]);
    for (more, words) in [
        ("--dim many", ["--dim", "many"]),
        ("--seed x", ["--seed", "x"]),
        ("--seed=-1", ["--seed", "-1"]),
        ("--language klingon", ["klingon", "one of en, ar, da"]),
        ("--set", ["--set", "a value is required"]),
        ("--shout", ["--shout", "unexpected argument"]),
    ] {
        place.run(&format!("train rmls {data} -o out {more}")).refused(2, &words);
    }
    for (more, words) in [
        ("--set dim", ["--set dim: expected KEY=VALUE", "response=log"]),
        ("--set colour=red", ["--set colour=red: unknown field", "`start`"]),
        ("--set features.colour=1", ["--set features.colour=1: ", "`query_words`"]),
        ("--set dim=many", ["--set dim=many: ", "train METHOD --help"]),
        ("--set dim=-3", ["--set dim=-3: ", "train METHOD --help"]),
        ("--set dim=0", ["--set dim=0", "1 or more"]),
        ("--set dim.x=1", ["--set dim.x=1", "a single parameter"]),
        ("--set start=warm", ["--set start=warm: ", "`random`, `spectral`"]),
        ("--set rho_x=1.5", ["--set rho_x=1.5", "below 1"]),
        ("--set theta_x=nan", ["--set theta_x=nan: ", "train METHOD --help"]),
        ("--set theta_x=0", ["--set theta_x=0", "a finite number above 0"]),
        ("--set rho_x=0.3", ["--set rho_x=0.3", "penalty = \"relative\""]),
        ("--set tolerance=-1 --set start=random", ["--set tolerance=-1", "above 0"]),
        ("--dim 18446744073709551615", ["--dim 18446744073709551615", "at most 1000000"]),
        ("--set pls.dim=3", ["--set pls.dim=3: unknown field `pls`", "`dim`"]),
        ("--set preparation.x=1", ["--set preparation.x=1: unknown field", "`min_df`"]),
        ("--set preparation.min_df=x", ["--set preparation.min_df=x: ", "train METHOD --help"]),
        ("--word-ngrams 9", ["--word-ngrams 9", "1 to 5"]),
    ] {
        place.run(&format!("train rmls {data} -o out {more}")).refused(2, &words);
    }
    place
        .run(&format!("train rmls {data} -o out --min-df 100000"))
        .refused(1, &["the vocabulary is empty", "lower `--min-df`"]);
    for (method, words) in [
        ("rml", ["no method is called \"rml\"", "bm25, vsm, lm"]),
        ("rmls+", ["models = rmls+", "names joined by +"]),
        ("0.5*rmls+bm25", ["models = 0.5*rmls+bm25", "all of them or none"]),
        ("nan*rmls+1*bm25", ["models = nan*rmls", "names joined by +"]),
    ] {
        place.run(&format!("train {method} {data} -o out")).refused(2, &words);
    }
    place
        .run(&format!("train rmls+bm25 {data} -o out --set dim=3"))
        .refused(2, &["--set dim=3: expected the name of a model", "--set rmls.dim=3"]);
    place
        .run(&format!("train rmls+bm25 {data} -o out --set bm25.dim=3"))
        .refused(2, &["--set bm25.dim=3: unknown field `dim`", "`k1`"]);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_parameter_file_that_is_wrong_is_named_with_the_place() {
    let place = Place::new();
    for (text, words) in [
        ("dim = \n", &["p.toml: not TOML", "line 1", "dim = "][..]),
        ("colour = 3\n", &["p.toml: unknown field `colour`", "`dim`"]),
        ("[rmls]\ncolour = 3\n", &["p.toml: [rmls]: unknown field `colour`"]),
        ("dim = 0\n", &["p.toml: dim = 0", "1 or more"]),
        ("rmls = 3\n", &["p.toml: rmls = 3: expected a table, [rmls]"]),
        ("preparation = 3\n", &["p.toml: preparation = 3: expected a table"]),
        ("[preparation]\ncolour = 3\n", &["p.toml: [preparation]: unknown field `colour`"]),
        ("[pls]\ndim = 3\n", &["p.toml: unknown field `pls`"]),
    ] {
        place.file("p.toml", text);
        place.run(&format!("train rmls {} -o out --params p.toml", at("data"))).refused(1, words);
    }
    place
        .run(&format!("train rmls {} -o out --params none.toml", at("data")))
        .refused(1, &["none.toml: cannot read", "check the path"]);
    place.file("p.toml", "[pls]\ndim = 3\n");
    place
        .run(&format!("train rmls+bm25 {} -o out --params p.toml", at("data")))
        .refused(1, &["p.toml: [pls] is none of the models"]);
    assert_eq!(place.names(), ["p.toml"]);
}

#[test]
fn a_file_yields_to_flags_and_flags_to_set() {
    let place = Place::with(&[
        ("one.toml", "dim = 4\nseed = 4\nsweeps = 2\n[preparation]\nmin_df = 2\n"),
        ("two.toml", "[rmls]\ndim = 4\n[bm25]\nk1 = 0.9\n"),
    ]);
    let data = at("data");
    place.run(&format!("train rmls {data} -o a --params one.toml")).fine();
    let of = |model: &str, key: &str| params(&place, model, 0)[key].clone();
    assert_eq!(
        (of("a", "dim"), of("a", "seed"), of("a", "sweeps")),
        (4.into(), 4.into(), 2.into())
    );
    let preparation = fs::read_to_string(place.path("a/preparation.json")).unwrap();
    assert!(preparation.contains("\"min_df\": 2"), "{preparation}");
    let flags = "--dim 5 --seed 5 --set sweeps=1 --set features.doc_clicks=0.5 --set response=raw";
    place.run(&format!("train rmls {data} -o b --params one.toml {flags}")).fine();
    assert_eq!(
        (of("b", "dim"), of("b", "seed"), of("b", "sweeps")),
        (5.into(), 5.into(), 1.into())
    );
    assert_eq!(
        (of("b", "response"), &of("b", "features")["doc_clicks"]),
        ("raw".into(), &0.5.into())
    );
    place.run(&format!("train rmls {data} -o c --dim 5 --set dim=6 --set rmls.seed=7")).fine();
    assert_eq!((of("c", "dim"), of("c", "seed")), (6.into(), 7.into()));
    let mix = "--params two.toml --set bm25.b=0.3";
    place.run(&format!("train 0.75*rmls+0.25*bm25 {data} -o d {mix}")).fine();
    assert_eq!(of("d", "dim"), 4);
    assert_eq!(params(&place, "d", 1), serde_json::json!({ "k1": 0.9, "b": 0.3, "fields": {} }));
}

#[test]
fn every_method_trains_and_searches() {
    let place = Place::new();
    for (name, _) in methods() {
        let dim = if Params::named(name).unwrap().has_dim() { "--dim 10" } else { "" };
        place.run(&format!("train {name} {} -o {name} {dim}", at("data"))).shows(&[
            &format!("{name} written"),
            &format!("next: liken search {name} \"your query\""),
        ]);
        let said = place.run(&format!("search {name} heart"));
        // Two know clicks alone, and nobody asked for this.
        match name {
            "lsi_qd" => assert!(said.fine().err.contains("every document scores 0")),
            "walk" => assert!(said.fine().err.contains("queries with clicks in the log")),
            _ => drop(said.silent()),
        }
    }
    let json = place.run(&format!("train pls {} -o j --dim 10 --format json", at("data")));
    let json = json.silent().json();
    assert_eq!((&json["model"], &json["about"]["name"]), (&"j".into(), &"pls".into()));
    assert_eq!(json["reports"][0]["kind"], "pls");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let place = Place::new();
    let read = |name: &str| -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(place.path(name)).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
            .filter(|(name, _)| name != "times.json")
            .map(|(name, path)| (name, fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    for method in ["pls+rmls+bm25", "rmls"] {
        let random = if method == "rmls" { "--set start=random" } else { "" };
        for threads in [1, 2, 7] {
            let line = format!("train {method} {} -o m{threads} --dim 30 --force", at("data"));
            place.run(&format!("--threads {threads} {line} {random}")).fine();
        }
        let one = read("m1");
        assert!(one.len() >= 12);
        for other in ["m2", "m7"] {
            for (a, b) in one.iter().zip(read(other)) {
                assert!(*a == b, "{method} in {other}: {} differs", a.0);
            }
        }
    }
    place.run("search m1 heart --threads 100000").refused(2, &["--threads", "100000", "512"]);
}

#[test]
fn the_published_rmls_warns_of_its_collapse() {
    let place = Place::new();
    let line = format!("train rmls {} -o out --dim 100", at("data"));
    let said = place
        .run(&format!(
            "{line} --set start=random --set centring=none --set sweeps=20 --set patience=20"
        ))
        .fine();
    assert!(said.err.starts_with("warning: rmls: RMLS collapses: at sweep"), "{}", said.err);
    assert!(said.err.contains("effective rank") && said.err.contains("auto"), "{}", said.err);
    said.shows(&["(kept)", "effective rank", "out written"]);
}

#[test]
fn texts_that_analyse_to_nothing_are_counted_and_missing_fields_refused() {
    let place = Place::new();
    let none = place.run(&format!("train vsm {} -o out --fields nothing", at("data")));
    none.refused(1, &["no field of the documents is called \"nothing\"", "they have ", "title"]);
    let some = place.run(&format!("train vsm {} -o out --fields class,nothing", at("data")));
    some.refused(1, &["no field of the documents is called \"nothing\"", "class"]);
    // Of those read by default, documents may lack some.
    let said = place.run(&format!("train vsm {} -o out --fields class,url,abstract", at("data")));
    said.refused(1, &["\"abstract\""]);
    place.file("c.tsv", "query\tdoc\n?!\ta\nred\ta\nred apple\tb\ngreen\tb\n");
    place.file("d.tsv", "id\ttitle\na\tthe of\nb\tapple\n");
    place.run("import --clicks c.tsv --documents d.tsv --validation 0 --test 0.2 -o d").fine();
    let said = place.run("train vsm d -o model").fine();
    assert!(said.err.contains("analysed to nothing: 1 of 2 documents"), "{}", said.err);
}

#[test]
fn an_output_folder_that_cannot_be_is_refused_before_any_work() {
    let place = Place::with(&[("file", ""), ("mine/letter.txt", "dear")]);
    // It would take days.
    let slow = format!(
        "train rmls {} --set sweeps=100000000 --set patience=0 --set min_change=0",
        at("data")
    );
    place.run(&format!("train bm25 {} -o model", at("data"))).silent();
    let before = place.run("info model").out;
    place.run(&format!("{slow} -o model")).refused(1, &["model: already exists", "--force"]);
    place.run(&format!("{slow} -o file")).refused(1, &["file: already exists"]);
    place.run(&format!("{slow} -o file/model")).refused(1, &["file: cannot create"]);
    place.run(&format!("{slow} -o file --force")).refused(1, &["not a folder written by liken"]);
    place
        .run(&format!("{slow} -o mine --force"))
        .refused(1, &["mine: is not a folder written by liken", "remove it by hand"]);
    assert_eq!(place.run("info model").out, before);
    assert_eq!(place.names(), ["file", "mine", "model"]);
    place.run(&format!("train vsm {} -o model --force", at("data"))).silent();
    place.run("info model").shows(&["method      vsm"]);
}

#[test]
fn a_full_disk_leaves_nothing_or_what_was_there() {
    let place = Place::new();
    let line = format!("liken train rmls {} --dim 40", at("data"));
    for limit in [8, 64, 256] {
        let said = place.bash(&format!("ulimit -f {limit}; {line} -o model"));
        said.refused(1, &["cannot write", "the disk or the quota is full; nothing was written"]);
        assert!(place.names().is_empty(), "{limit}: {:?}", place.names());
    }
    place.run(&format!("train bm25 {} -o model", at("data"))).silent();
    let before = place.run("info model").out;
    place.bash(&format!("ulimit -f 64; {line} -o model --force")).refused(1, &["cannot write"]);
    assert_eq!(place.run("info model").out, before);
    assert_eq!(place.names(), ["model"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_training_leaves_nothing_or_what_was_there() {
    let place = Place::new();
    place.run(&format!("train bm25 {} -o model", at("data"))).silent();
    let before = place.run("info model").out;
    for signal in ["-INT", "-TERM"] {
        let endless = "--set sweeps=100000000 --set patience=0 --set min_change=0 --force -o model";
        let mut command = place.command(&format!("train rmls {} {endless}", at("data")));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        crate::place::wait_until("work has begun", || place.names().len() > 1);
        assert_eq!(place.names().len(), 2, "the temporary folder shows that work has begun");
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let said = Said::of(child.wait_with_output().unwrap());
        assert_eq!(said.out, "");
        said.refused(130, &["stopped; nothing was written"]);
        assert_eq!(place.names(), ["model"]);
    }
    assert_eq!(place.run("info model").out, before);
}

#[test]
fn a_mix_without_validation_needs_its_weights() {
    let place = Place::new();
    let raw = at("raw");
    let tables = format!("--clicks {raw}/clicks.tsv --documents {raw}/documents.jsonl");
    place.run(&format!("import {tables} --validation 0 -o data")).fine();
    place
        .run("train pls+bm25 data -o model --dim 5")
        .refused(1, &["no validation queries", "0.5*pls+0.5*bm25"]);
    place.run("train 0.5*pls+0.5*bm25 data -o model --dim 5").silent();
    assert_eq!(place.names(), ["data", "model"]);
    assert!(shared().path("raw/clicks.tsv").exists());
}

#[test]
fn validation_without_relevant_documents_is_refused_where_it_would_choose() {
    let place = Place::with(&[
        ("clicks.tsv", "query\tdoc\tclicks\nred fruit\ta\t5\ngreen fruit\tb\t4\n"),
        (
            "documents.jsonl",
            "{\"id\": \"a\", \"title\": \"red apple\"}\n{\"id\": \"b\", \"title\": \"green pear\"}\n",
        ),
        (
            "judgments.tsv",
            "query\tdoc\tgrade\tsplit\nred fruit\tb\t0\tvalidation\ngreen fruit\tb\t1\ttest\n",
        ),
    ]);
    let tables = "--clicks clicks.tsv --documents documents.jsonl --judgments judgments.tsv";
    place.run(&format!("import {tables} -o data")).fine();
    for (method, what) in [
        ("rmls --set start=random", "for rmls to choose by"),
        ("mpls --set alpha=tuned", "for mpls to choose by"),
        ("pls+bm25", "to tune the weights of a mix by"),
    ] {
        place.run(&format!("train {method} data -o model --dim 1")).refused(
            1,
            &["no validation query of data has a relevant document", what, "import again with"],
        );
    }
    place
        .run("compare data --models bm25,pls+bm25 --dim 1")
        .refused(1, &["no validation query", "0.5*pls+0.5*bm25"]);
    place
        .run("tune pls data --budget 3 -o tuning")
        .refused(1, &["no validation query of data", "every trial would score the same"]);
    let models = "[compare]\nrows = [\"rmls\"]\nmeasures = [\"AP\"]\n";
    let tables = ["clicks.tsv", "documents.jsonl", "judgments.tsv"]
        .map(|file| format!("{} = {{ path = \"{file}\" }}\n", file.split_once('.').unwrap().0));
    place.file("exp.toml", format!("name = \"x\"\n[data]\n{}{models}", tables.concat()));
    place.run("experiment exp.toml").refused(1, &["no validation query", "for rmls to choose by"]);
    place.run("train bm25 data -o model").silent();
}

#[test]
fn training_goes_on_from_a_model_when_the_log_has_grown() {
    let place = Place::new();
    place.run("synth demo --scale 0.3 -o grown").silent();
    let rmls = at("rmls");
    let said = place.run(&format!("train rmls grown -o model --dim 40 --init {rmls}")).fine();
    said.shows(&["rmls starts from", "which has weights for", "query features", "earlier maps"]);
    let said =
        place.run(&format!("train rmls grown -o again --dim 40 --init {rmls} --format json"));
    let json = said.fine().json();
    let known = &json["init"][0]["query_features"];
    assert!(known[0].as_u64().unwrap() < known[1].as_u64().unwrap(), "{known}");
    place
        .run(&format!("train rmls grown -o x --init {rmls}"))
        .refused(1, &["its dim is 40", "but expected 300", "--dim 40"]);
    place
        .run(&format!("train pls grown -o x --dim 40 --init {rmls}"))
        .refused(1, &["its method is rmls", "but expected pls"]);
    place.run("train rmls grown -o x --init nowhere").refused(1, &["nowhere"]);
    assert_eq!(place.names(), ["again", "grown", "model"]);
}
