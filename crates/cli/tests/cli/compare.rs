//! Several models side by side.

use serde_json::Value;

use crate::place::Place;
use crate::shared::{at, shared};

const SMALL: &str = "compare data --dim 10 --measures nDCG@5,AP";

fn json(more: &str) -> Value {
    shared().run(&format!("{SMALL} --format json {more}")).silent().json()
}

#[test]
fn the_table_has_intervals_tests_weights_and_bins() {
    let said = shared().run(&format!("{SMALL} --models bm25,pls,pls+bm25")).silent();
    let said = said.shows(&[
        "test queries, the judged documents are ranked",
        "95 % bootstrap interval",
        "paired t-test against bm25, Holm-corrected",
        "weights of mixes\npls+bm25: 0.",
        "(validation 0.",
        "difference to bm25 and p-values",
        "randomisation",
        "wins/ties/losses",
        "AP by total clicks of the query",
        "≤10 (",
    ]);
    for row in ["bm25", "pls", "pls+bm25"] {
        assert!(said.out.lines().any(|line| line.starts_with(&format!("{row} "))), "{row}");
    }
}

#[test]
fn all_is_every_method_once_and_help_names_them() {
    let said = shared().run(&format!("{SMALL} --models all,pls+bm25")).fine();
    let help = shared().run("compare --help").silent();
    for (name, _) in liken::matchers::methods() {
        let rows = said.out.lines().filter(|line| line.starts_with(&format!("{name} "))).count();
        // lm-dirichlet is lm under another name, and lsi is lsi_dt.
        assert_eq!(rows > 0, !["lm-dirichlet", "lsi"].contains(&name), "{name}");
        assert!(help.out.contains(&format!("\n  {name} ")), "{name} in:\n{}", help.out);
    }
}

#[test]
fn json_holds_every_number() {
    let json = json("--models bm25,pls,pls+bm25");
    assert_eq!((&json["on"], &json["baseline"]), (&"test".into(), &"bm25".into()));
    assert_eq!(json["measures"], serde_json::json!(["nDCG@5", "AP"]));
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let cells = row["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        for cell in cells {
            let number = |value: &Value| value.as_f64().unwrap();
            let (low, high) = (number(&cell["interval"]["low"]), number(&cell["interval"]["high"]));
            assert!(low <= number(&cell["mean"]) && number(&cell["mean"]) <= high, "{cell}");
            assert_eq!(cell["against"].is_null(), row["name"] == "bm25");
            if let Some(against) = cell["against"].as_object() {
                for test in ["t", "t_holm", "sign", "randomisation"] {
                    assert!((0.0..=1.0).contains(&number(&against[test])), "{test}: {cell}");
                }
                assert!(number(&against["t_holm"]) >= number(&against["t"]));
            }
        }
        let counted: u64 =
            row["bins"].as_array().unwrap().iter().map(|bin| bin[1].as_u64().unwrap()).sum();
        assert_eq!(counted, json["queries"].as_u64().unwrap());
    }
    let weights = &rows[2]["weights"];
    assert!((weights[0][1].as_f64().unwrap() + weights[1][1].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert!(rows[2]["validation"].is_number() && rows[0]["validation"].is_null());
}

#[test]
fn markdown_is_tables_and_paragraphs() {
    let line = format!("{SMALL} --models bm25,0.5*pls+0.5*bm25 --format markdown");
    let out = shared().run(&line).silent().out;
    let blocks: Vec<&str> = out.split("\n\n").map(str::trim).filter(|b| !b.is_empty()).collect();
    let tables: Vec<&&str> = blocks.iter().filter(|block| block.starts_with('|')).collect();
    assert_eq!(tables.len(), 4, "{out}");
    for table in tables {
        let lines: Vec<&str> = table.lines().collect();
        let columns = lines[0].matches('|').count();
        assert!(
            lines.iter().all(|line| line.matches('|').count() == columns && line.ends_with('|'))
        );
        assert!(lines[1].chars().all(|c| "|-:".contains(c)) && lines[1].contains("-:|"), "{table}");
    }
    // A star is a star, not the beginning of emphasis.
    let unescaped = |at: usize| !out[..at].ends_with('\\');
    assert!(!out.match_indices('*').any(|(at, _)| unescaped(at)), "{out}");
    for block in blocks.iter().filter(|block| !block.starts_with('|')) {
        assert_eq!(block.lines().count(), 1, "{block}");
    }
}

#[test]
fn latex_is_tabulars_and_comments() {
    let line = format!("{SMALL} --models bm25,pls,0.5*pls+0.5*bm25 --format latex");
    let out = shared().run(&line).silent().out;
    assert_eq!(out.matches("\\begin{tabular}").count(), 4, "{out}");
    let mut columns = None;
    for line in out.lines().filter(|line| !line.is_empty() && !line.starts_with('%')) {
        if let Some(spec) = line.strip_prefix("\\begin{tabular}{") {
            columns = Some(spec.trim_end_matches('}').len());
        } else if line == "\\end{tabular}" {
            assert!(columns.take().is_some());
        } else if line != "\\hline" {
            let cells = line.strip_suffix(" \\\\").unwrap().split(" & ").count();
            assert_eq!(Some(cells), columns, "{line}");
            // In LaTeX's own encoding a bare < is an inverted exclamation mark.
            assert!(!line.replace("$<$", "").contains(['<', '>', '|', '≤', '–']), "{line}");
        }
    }
    assert!(columns.is_none());
}

#[test]
fn the_baseline_the_part_and_the_weights_are_as_asked() {
    let found = json("--models bm25,0.7*pls+0.3*bm25 --baseline 0.7*pls+0.3*bm25");
    assert_eq!(found["baseline"], "0.7*pls+0.3*bm25");
    assert!(found["rows"][0]["cells"][0]["against"].is_object());
    assert!(found["rows"][1]["cells"][0]["against"].is_null());
    assert_eq!(found["rows"][1]["weights"], serde_json::json!([["pls", 0.7], ["bm25", 0.3]]));
    assert!(found["rows"][1]["validation"].is_null());
    let said = shared().run(&format!("{SMALL} --models bm25 --format json --on validation"));
    let validation = said.fine().json();
    assert_eq!(validation["on"], "validation");
    assert_ne!(validation["rows"][0]["cells"], json("--models bm25")["rows"][0]["cells"]);
    let all = json("--models bm25 --candidates all");
    assert_eq!(all["candidates"], "all");
    let linear = json("--models bm25 --gain linear --empty skip");
    assert_eq!(
        (&linear["variant"]["gain"], &linear["variant"]["empty"]),
        (&"linear".into(), &"skip".into())
    );
    // Parameters reach the models.
    let k1 = json("--models bm25,vsm --set bm25.k1=9 --set bm25.b=0");
    assert_ne!(
        k1["rows"][0]["cells"][0]["mean"],
        json("--models bm25,vsm")["rows"][0]["cells"][0]["mean"]
    );
}

#[test]
fn a_preset_is_named_and_flags_change_it() {
    let table = |more: &str| shared().run(&format!("{SMALL} --models bm25 {more}")).fine();
    table("")
        .shows(&["gain 2^g-1, discount 1/log2(i+1)", "ties: larger id first (preset default)"]);
    table("--preset letor").shows(&["then 1/log2(i), ideal from the candidates", "(preset letor)"]);
    let said = table("--preset letor --gain 0,1,3 --max-grade 2 --ties docno-desc");
    let said = said.shows(&["gain by grade 0,1,3, discount 1 at ranks 1 and 2", "highest grade 2"]);
    assert!(!said.out.contains("preset"), "{}", said.out);
    // Flags that say what a preset says are that preset.
    table("--preset lightgbm --ties docno-desc --ideal judgments --empty zero --gain linear")
        .shows(&["(preset trec)"]);
    let variant = json("--models bm25 --preset lightgbm --relevant-from 2")["variant"].clone();
    assert_eq!(
        variant,
        serde_json::json!({
            "gain": "exp", "discount": "log2", "ideal": "candidates", "relevant_from": 2.0,
            "empty": "one", "max_grade": 4.0, "ties": "stable"
        })
    );
    let measures = "--measures ERR@20,success.5,Rprec,Judged@5";
    shared().run(&format!("compare data --models bm25 {measures}")).shows(&[
        "ERR@20",
        "Success@5",
        "Rprec",
        "Judged@5",
    ]);
}

#[test]
fn the_same_seed_gives_the_same_table_at_any_number_of_threads() {
    let of =
        |more: &str| shared().run(&format!("{SMALL} --models bm25,rmls+bm25 {more}")).fine().out;
    let one = of("--threads 1");
    assert_eq!(of("--threads 2"), one);
    assert_eq!(of("--threads 7"), one);
    assert_ne!(of("--seed 9"), one);
}

#[test]
fn unknown_names_are_refused_before_any_work() {
    let place = shared();
    for (more, code, words) in [
        ("--models bm25,magic", 2, ["no method is called \"magic\"", "bm25, vsm, lm"]),
        ("--models bm25 --baseline pls", 2, ["--baseline pls", "expected one of the models: bm25"]),
        ("--models 0.5*pls+bm25", 2, ["--models 0.5*pls+bm25", "all of them or none"]),
        ("--models bm25,,vsm", 2, ["models = ", "names joined by +"]),
        ("--measures magic", 2, ["no measure is called \"magic\"", "nDCG@k"]),
        ("--measures P", 2, ["measure = P", "as in P@10"]),
        ("--measures nDCG@0", 2, ["nDCG@0", "a whole number from 1 on"]),
        ("--tune-on magic", 2, ["no measure is called \"magic\"", "--tune-on"]),
        ("--on train", 2, ["--on", "test, validation"]),
        ("--candidates some", 2, ["--candidates", "auto, all, judged"]),
        ("--gain none", 2, ["--gain", "exp, linear"]),
        ("--gain 0,3,1", 2, ["--gain", "never falling"]),
        ("--preset bing", 2, ["--preset", "default, trec, letor, lightgbm, web"]),
        ("--discount none", 2, ["--discount", "log2, letor"]),
        ("--max-grade 0", 2, ["--max-grade 0", "the highest possible grade"]),
        ("--format html", 2, ["--format", "table, json, markdown, latex"]),
        ("--models pls,bm25 --set dim=3", 2, ["--set dim=3", "--set pls.dim=3"]),
    ] {
        place.run(&format!("compare data {more}")).refused(code, &words);
    }
}

#[test]
fn a_dataset_without_test_or_validation_says_what_to_do() {
    let place = Place::new();
    let tables = format!("--clicks {0}/clicks.tsv --documents {0}/documents.jsonl", at("raw"));
    place.run(&format!("import {tables} --test 0 -o untested")).fine();
    place.run(&format!("import {tables} --validation 0 -o untuned")).fine();
    let models = "--models bm25,pls+bm25 --dim 5 --measures AP";
    place
        .run(&format!("compare untested {models}"))
        .refused(1, &["untested has no test queries to measure on", "import it again"]);
    place.run(&format!("compare untested {models} --on validation")).fine();
    place
        .run(&format!("compare untuned {models}"))
        .refused(1, &["no validation queries to tune", "0.5*pls+0.5*bm25"]);
    place.run("compare untuned --models bm25,0.5*pls+0.5*bm25 --dim 5 --measures AP").fine();
}

#[test]
fn a_mean_over_no_queries_is_no_number() {
    let place = Place::new();
    let line = format!("compare {} --models bm25,vsm --measures AP,nDCG@5", at("data"));
    let line = format!("{line} --relevant-from 99 --empty skip");
    let said = place.run(&line).fine();
    let row = said.out.lines().find(|row| row.starts_with("vsm")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert!(cells[1] == "–" && cells[2].starts_with("0."), "{}", said.out);
    // Only the other measure is tested.
    assert!(!said.out.contains("vsm    AP "), "{}", said.out);
    let json = place.run(&format!("{line} --format json")).fine().json();
    let cell = &json["rows"][1]["cells"][0];
    assert!(cell["mean"].is_null() && cell["against"].is_null(), "{cell}");
    assert!(json["rows"][1]["cells"][1]["against"]["t"].is_number());
}

#[test]
fn rows_that_know_nothing_of_most_queries_are_named() {
    let place = Place::with(&[
        ("c.tsv", "query\tdoc\tclicks\nred fruit\ta\t5\nblue sky\tb\t5\n"),
        ("d.tsv", "id\ttitle\na\tred apple\nb\tblue sky\nc\tgreen tree\n"),
        ("j.tsv", "query\tdoc\tgrade\nred apple\ta\t1\nred apple\tc\t2\nsky\tb\t1\nsky\ta\t0\n"),
    ]);
    let tables = "--clicks c.tsv --documents d.tsv --judgments j.tsv";
    place.run(&format!("import {tables} --validation 0 --test 1 -o data")).fine();
    let said = place.run("compare data --models bm25,walk --measures AP --format json").fine();
    assert!(
        said.err.contains("warning: walk: for 2 of 2 queries every document has the same score")
    );
    let tied = |row: usize| said.json()["rows"][row]["tied"].clone();
    assert_eq!((tied(0), tied(1)), (0.into(), 2.into()));
}

#[test]
fn a_row_is_what_train_run_and_eval_give() {
    let place = Place::new();
    // Clicks are the judgments, so that all documents are ranked here as there.
    let tables = format!("--clicks {0}/clicks.tsv --documents {0}/documents.jsonl", at("raw"));
    place.run(&format!("import {tables} -o data")).fine();
    let data = place.dataset("data");
    let (mut queries, mut qrels) = (String::new(), String::new());
    for (q, judged) in data.test.rows().enumerate().filter(|(_, row)| !row.is_empty()) {
        let query = data.queries.get(q).unwrap();
        // Ids of queries are their texts here, which a run cannot hold.
        queries += &format!("q{q}\t{}\n", query.text);
        for (doc, grade) in judged.iter() {
            let doc = data.documents.get(doc as usize).unwrap();
            qrels += &format!("q{q} 0 {} {grade}\n", doc.id);
        }
    }
    assert!(queries.lines().count() > 20, "{queries}");
    let all = 0..data.documents.len();
    let ids: Vec<String> = all.map(|doc| data.documents.get(doc).unwrap().id).collect();
    place.file("queries.tsv", &queries);
    place.file("qrels", qrels);
    for mix in ["pls+bm25", "0.3*pls+0.7*bm25", "rrf:pls+bm25"] {
        let line = format!("compare data --models {mix} --dim 20 --measures nDCG@10,AP,P@5");
        let row = &place.run(&format!("{line} --format json")).fine().json()["rows"][0];
        place.run(&format!("train {mix} data -o model --dim 20 --force")).fine();
        place.run("run model --queries queries.tsv -k 1000 -o mix.trec --force").fine();
        let mut run = std::fs::read_to_string(place.path("mix.trec")).unwrap();
        // A run leaves out queries that nothing is known of; in the table their documents are
        // tied, and the ids say the order.
        for (id, _) in queries.lines().map(|line| line.split_once('\t').unwrap()) {
            if !run.contains(&format!("{id} Q0 ")) {
                ids.iter().for_each(|doc| run += &format!("{id} Q0 {doc} 1 0 x\n"));
            }
        }
        place.file("mix.trec", run);
        let line = "eval qrels mix.trec --preset default -m nDCG@10 -m AP -m P@5 --format json";
        let eval = &place.run(line).fine().json()["rows"][0];
        for m in 0..3 {
            let mean = |row: &Value| row["cells"][m]["mean"].as_f64().unwrap();
            assert!((mean(row) - mean(eval)).abs() < 1e-9, "{mix}: {row:#} {eval:#}");
            assert!(mean(row) > 0.05, "{mix}: {row:#}");
        }
    }
}
