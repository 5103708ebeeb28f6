//! What comes out of liken again.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;

use crate::place::Place;
use crate::shared::{at, shared};

/// The vectors of a file of JSON lines, by id.
fn vectors(place: &Place, name: &str) -> HashMap<String, Vec<f64>> {
    let text = fs::read_to_string(place.path(name)).unwrap();
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let numbers = line["vector"].as_array().unwrap().iter();
        let id = line["id"].as_str().unwrap().to_owned();
        (id, numbers.map(|number| number.as_f64().unwrap()).collect())
    };
    text.lines().map(read).collect()
}

#[test]
fn dot_products_of_vectors_are_the_scores_of_search() {
    let place = Place::with(&[("q.tsv", "q1\theart attack\nq2\tcheap zyxwv flights\n")]);
    let model = at("rmls");
    place.run(&format!("export {model} --vectors jsonl --queries q.tsv -o out")).silent().shows(&[
        "documents    660   40",
        "queries        2   40",
        "dot(query vector",
        "wrote out: ",
    ]);
    let (documents, queries) =
        (vectors(&place, "out/documents.jsonl"), vectors(&place, "out/queries.jsonl"));
    for (id, text) in [("q1", "heart attack"), ("q2", "cheap zyxwv flights")] {
        let found = place.ask(&format!("search {model} -k 660 --format json"), &[text]).json();
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(hits.len(), documents.len());
        for hit in hits {
            let document = &documents[hit["id"].as_str().unwrap()];
            let score: f64 = queries[id].iter().zip(document).map(|(a, b)| a * b).sum();
            assert!((score - hit["score"].as_f64().unwrap()).abs() < 1e-5, "{hit}");
        }
    }
    let about: Value =
        serde_json::from_slice(&fs::read(place.path("out/about.json")).unwrap()).unwrap();
    assert_eq!((&about["model"], &about["sets"][0]["dim"]), (&"rmls".into(), &40.into()));
    assert_eq!(about["files"][0]["name"], "documents.jsonl");
}

#[test]
fn vectors_come_as_npy_and_safetensors_too() {
    let place = Place::new();
    let said =
        place.run(&format!("export {} --vectors npy --of documents,words -o npy", at("mix")));
    let said = said.fine();
    assert!(said.err.contains("warning: bm25 is lexical"), "{}", said.err);
    assert!(fs::read(place.path("npy/documents.npy")).unwrap().starts_with(b"\x93NUMPY"));
    let ids = fs::read_to_string(place.path("npy/documents.ids.txt")).unwrap();
    assert_eq!(ids.lines().count(), 660);
    assert!(place.path("npy/words-query.npy").exists() && !place.path("npy/queries.npy").exists());
    place.run(&format!("export {} --vectors safetensors -o st", at("rmls"))).fine();
    assert!(place.path("st/vectors.safetensors").exists());
    // All or nothing, and only our own is replaced.
    place
        .run(&format!("export {} --vectors npy -o st", at("rmls")))
        .refused(1, &["already exists"]);
    place.run(&format!("export {} --vectors npy -o st --force", at("rmls"))).fine();
    assert!(!place.path("st/vectors.safetensors").exists());
    place.file("st/mine.txt", "");
    place
        .run(&format!("export {} --vectors npy -o st --force", at("rmls")))
        .refused(1, &["st: holds something else than an export of liken"]);
}

#[test]
fn what_cannot_be_meant_is_wrong_usage() {
    let place = Place::with(&[("q.tsv", "q1\theart\n")]);
    let (data, model) = (at("data"), at("rmls"));
    for what in [format!("{model} --vectors npy"), format!("{data} --format beir")] {
        place.run(&format!("export {what} -o -")).refused(2, &["-o -", "folders"]);
    }
    for (line, words) in [
        (format!("export {data} --vectors npy -o x"), &["is a dataset", "name a model"][..]),
        (format!("export {data} --synonyms solr -o x"), &["is a dataset"]),
        (format!("export {model} --format beir -o x"), &["is a model", "--vectors"]),
        (format!("export {model} -o x"), &["--vectors", "--synonyms", "--format"]),
        (format!("export {model} --vectors npy --synonyms solr -o x"), &["cannot be used with"]),
        (format!("export {model} --vectors npy"), &["--output"]),
        (format!("export {model} --synonyms solr --of words -o x"), &["cannot be used with"]),
        (format!("export {model} --vectors npy --min-score 0.5 -o x"), &["cannot be used with"]),
        (
            format!("export {model} --vectors npy --of words --queries q.tsv -o x"),
            &["add queries to --of"],
        ),
        (format!("export {model} --synonyms solr --min-score 1.5 -o x"), &["--min-score 1.5"]),
    ] {
        place.run(&line).refused(2, words);
    }
    for what in ["--vectors npy", "--synonyms solr"] {
        let said = place.run(&format!("export {} {what} -o x", at("bm25")));
        said.refused(1, &["bm25 has ", "rmls, pls", "liken train --set biases=false"]);
    }
    place.run("export q.tsv --vectors npy -o x").refused(1, &["has no manifest.json"]);
    assert_eq!(place.names(), ["q.tsv"]);
}

#[test]
fn synonyms_are_rules_for_an_engine() {
    let place = Place::new();
    // Words of documents are scattered at random in a model that keeps half a sweep of a random start.
    let spectral = "--dim 40 --set start=spectral --set sweeps=0";
    place.run(&format!("train rmls {} -o spectral {spectral}", at("data"))).fine();
    let line = |more: &str| format!("export spectral --min-count 2 --min-score 0.7 {more}");
    place
        .run(&line("--synonyms solr -o synonyms.txt"))
        .silent()
        .shows(&["score  word of queries", "wrote synonyms.txt: "]);
    let solr = fs::read_to_string(place.path("synonyms.txt")).unwrap();
    let rules: Vec<&str> = solr.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rules.len() > 20, "{solr}");
    for rule in &rules {
        let (word, synonyms) = rule.split_once(" => ").unwrap();
        assert!(synonyms.starts_with(&format!("{word}, ")), "{rule}");
    }
    let json = place.run(&line("--synonyms elasticsearch -o -")).silent().json();
    let listed: Vec<&str> = json["synonyms_set"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["synonyms"].as_str().unwrap())
        .collect();
    assert_eq!(listed, rules);
    let stems = place.run(&line("--synonyms solr --stems -o -")).silent().out;
    assert_ne!(stems, solr);
    place.run(&line("--synonyms solr -o synonyms.txt")).refused(1, &["already exists"]);
    let elsewhere = line("--synonyms solr --dataset nowhere -o x");
    place.run(&elsewhere).refused(1, &["stems only", "nowhere", "--dataset DIR", "--stems"]);
    place
        .run(&format!("export {} --synonyms solr --min-count 9999 -o x", at("rmls")))
        .refused(1, &["no two words are near enough", "--min-count"]);
}

/// Runs the line that the export prints, and compares what comes back.
fn comes_back(place: &Place, format: &str) {
    let said = place.run(&format!("export {} --format {format} -o {format}", at("data"))).silent();
    let line = said.out.lines().find_map(|line| line.strip_prefix("to import it: liken "));
    let line = line.unwrap().replace("-o data", &format!("-o {format}-back"));
    place.run(&line).fine();
    let (a, b) = (shared().dataset("data"), place.dataset(&format!("{format}-back")));
    assert_eq!((&a.clicks, &a.validation, &a.test), (&b.clicks, &b.validation, &b.test));
    for (a, b) in a.documents.iter().zip(b.documents.iter()) {
        assert_eq!(a.unwrap(), b.unwrap());
    }
    for (a, b) in a.queries.iter().zip(b.queries.iter()) {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!((a.id, a.text), (b.id, b.text));
    }
}

#[test]
fn exported_datasets_come_back_by_the_line_that_is_printed() {
    let place = Place::new();
    for format in ["beir", "tsv"] {
        comes_back(&place, format);
    }
    let trec = format!("export {} --format trec -o trec", at("data"));
    place.run(&trec).refused(1, &["the query id", "without white space", "--number-queries"]);
    place.run(&format!("{trec} --number-queries")).silent();
    let topics = fs::read_to_string(place.path("trec/topics.trec")).unwrap();
    assert!(topics.starts_with("<top>\n<num> Number: q1\n<title> "), "{topics}");
}

#[test]
fn parquet_goes_out_and_comes_in() {
    let place = Place::new();
    comes_back(&place, "parquet");
    let bytes = fs::read(place.path("parquet/clicks.parquet")).unwrap();
    let info = place.run("info parquet-back").silent().out;
    assert!(info.contains(&format!("clicks.parquet (clicks, {} bytes", bytes.len())), "{info}");
    // A column can be another's, and the row is named where something is wrong.
    place
        .run("import --clicks parquet/clicks.parquet --columns clicks=split -o x")
        .refused(1, &["clicks.parquet:1: expected a number as clicks", "\"train\""]);
    place
        .run("import --clicks parquet/judgments.parquet -o x --columns clicks=n")
        .refused(1, &["a column called n", "query, doc, grade, split"]);
    let said = place
        .run("import --clicks parquet/clicks.parquet --min-clicks 1 --encoding gbk -o gbk")
        .fine();
    assert!(
        said.out.contains("not read as gbk: the text in Parquet is always utf-8"),
        "{}",
        said.out
    );
    place.file("cut.parquet", &bytes[..bytes.len() / 2]);
    place
        .run("import --clicks cut.parquet -o x")
        .refused(1, &["cut.parquet: not readable as Parquet"]);
    place.file("no.parquet", "query\tdoc\n");
    place
        .run("import --clicks no.parquet -o x")
        .refused(1, &["no.parquet: not readable as Parquet"]);
    place
        .pipe("import --clicks - --input-format parquet -o x", &bytes)
        .refused(1, &["stdin: cannot be read as Parquet", "write it to a file first"]);
    place.file("packed.parquet.gz", b"\x1f\x8b");
    place.run("import --clicks packed.parquet.gz -o x").refused(1, &["decompress it first"]);
    assert!(!place.path("x").exists());
}

#[test]
fn ids_of_queries_to_embed_may_hold_anything() {
    let place = Place::with(&[("q.tsv", "new query\theart attack\n#2\tflights\n")]);
    let of = "--vectors jsonl --of queries --queries q.tsv";
    place.run(&format!("export {} {of} -o out", at("rmls"))).fine();
    let written = fs::read_to_string(place.path("out/queries.jsonl")).unwrap();
    assert!(written.starts_with("{\"id\":\"new query\""), "{written}");
    assert!(written.contains("\n{\"id\":\"#2\""), "{written}");
    place.run(&format!("run {} --queries q.tsv -o -", at("rmls"))).refused(1, &["white space"]);
}

#[test]
fn about_json_has_the_weights_of_all_parts() {
    let place = Place::new();
    place.run(&format!("export {} --vectors npy -o out", at("mix"))).fine();
    let about: Value =
        serde_json::from_slice(&fs::read(place.path("out/about.json")).unwrap()).unwrap();
    let parts = about["parts"].as_array().unwrap();
    let methods: Vec<&str> = parts.iter().map(|part| part["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["rmls", "bm25"]);
    assert!(parts.iter().all(|part| part["weight"].is_number()), "{about}");
    assert!(parts[0]["dim"].is_number() && parts[1]["dim"].is_null(), "{about}");
}
