//! Synthetic logs, and what `stats` says of them.

use std::fs;

use crate::place::Place;
use crate::shared::{at, shared};

fn identity(place: &Place, name: &str) -> String {
    place.dataset(name).folder.identity()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for (kind, scale) in [("demo", "0.2"), ("one-week", "0.01"), ("half-year", "0.001")] {
        let place = Place::new();
        for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
            place.run(&format!("synth {kind} --scale {scale} --seed {seed} -o {name}")).silent();
        }
        assert_eq!(identity(&place, "a"), identity(&place, "b"), "{kind}");
        assert_ne!(identity(&place, "a"), identity(&place, "c"), "{kind}");
    }
}

#[test]
fn raw_files_import_to_what_synth_itself_writes() {
    for (kind, scale, files) in [("demo", "0.2", 6), ("one-week", "0.01", 3)] {
        let place = Place::new();
        place.run(&format!("synth {kind} --scale {scale} -o made")).silent();
        let said = place.run(&format!("synth {kind} --scale {scale} --raw -o raw")).silent();
        assert_eq!(fs::read_dir(place.path("raw")).unwrap().count(), files);
        // The line it advises is the line that works.
        let next = said.out.lines().find_map(|line| line.strip_prefix("next: liken ")).unwrap();
        place.run(next).silent();
        assert_eq!(identity(&place, "data"), identity(&place, "made"), "{kind}");
    }
}

#[test]
fn a_corpus_with_planted_topics_is_documents_and_topics() {
    let place = Place::new();
    let shape = "--documents 300 --terms 400 --topics 10 --classes 3 --length 20";
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        let line = format!("synth topics {shape} --seed {seed} -o {name}");
        place.run(&line).silent().shows(&["300 documents", "topics.jsonl", "liken train rlsi"]);
    }
    assert_eq!(identity(&place, "a"), identity(&place, "b"));
    assert_ne!(identity(&place, "a"), identity(&place, "c"));
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(read("a/topics.jsonl").lines().count(), 10);
    // The line that the raw files advise makes the same documents.
    let said = place.run(&format!("synth topics {shape} --raw -o raw")).silent();
    let next = said.out.lines().find_map(|line| line.strip_prefix("next: liken ")).unwrap();
    place.run(next).silent();
    assert_eq!(read("data/documents.jsonl"), read("a/documents.jsonl"));
    assert_eq!(read("raw/topics.jsonl"), read("a/topics.jsonl"));
    place.run(&format!("synth topics -o half {shape} --scale 0.5")).silent();
    assert_eq!(place.dataset("half").documents.len(), 150);
}

#[test]
fn a_corpus_that_makes_no_sense_is_refused() {
    let place = Place::new();
    for (flags, words) in [
        ("--topics 0", "--topics 0"),
        ("--topics 2000", "terms = 10000"),
        ("--classes 101", "the number of topics"),
        ("--documents 0", "--documents 0"),
        ("--length 0", "--length 0"),
        ("--scale 0", "--scale 0"),
        ("--scale 1e300", "documents = "),
        ("--events", "no clicks"),
        ("--bias 1", "applies only to log = \"demo\""),
    ] {
        place.run(&format!("synth topics -o out {flags}")).refused(2, &[words, "expected"]);
    }
    place
        .run("synth demo --topics 3 -o out")
        .refused(2, &["--topics 3", "only to log = \"topics\""]);
    place.run("synth one-week --terms 300 -o out").refused(2, &["--terms 300", "log = \"topics\""]);
    assert!(place.names().is_empty());
}

#[test]
fn an_existing_folder_is_refused_before_any_work() {
    let place = Place::with(&[("mine/letter.txt", "dear"), ("file", "")]);
    for raw in ["", "--raw"] {
        let line = format!("synth demo --scale 0.2 {raw} -o out{raw}");
        place.run(&line).silent();
        place.run(&line).refused(1, &["already exists", "--force"]);
        place.run(&format!("{line} --seed 2 --force")).silent();
        place
            .run(&format!("synth demo --scale 0.2 {raw} -o mine --force"))
            .refused(1, &["mine: is not a folder written by liken"]);
        place
            .run(&format!("synth demo --scale 0.2 {raw} -o file/out"))
            .refused(1, &["file: cannot create"]);
    }
    place.run("synth one-week --scale 0.01 -o out").refused(1, &["out: already exists"]);
    assert_eq!(place.names(), ["file", "mine", "out", "out--raw"]);
    assert_eq!(fs::read_dir(place.path("mine")).unwrap().count(), 1);
}

#[test]
fn a_scale_that_makes_no_sense_is_refused() {
    let place = Place::new();
    for kind in ["demo", "one-week", "half-year"] {
        for scale in ["0", "-1", "nan", "inf", "1e300"] {
            let said = place.run(&format!("synth {kind} --scale={scale} -o out"));
            said.refused(2, &["scale", "expected"]);
        }
        place.run(&format!("synth {kind} --scale much -o out")).refused(2, &["--scale", "much"]);
    }
    place.run("synth one-week --scale 0.0001 -o out").refused(2, &["expected at least 0.00"]);
    place.run("synth other -o out").refused(2, &["demo, one-week, half-year, topics"]);
    place.run("synth demo").refused(2, &["--output"]);
    place.run("synth demo --scale 0.1 -o out").refused(2, &["from 0.17 to 100"]);
    assert!(place.names().is_empty());
    place.run("synth demo --scale 0.17 -o least").shows(&["660 documents"]);
}

#[test]
fn a_full_disk_leaves_nothing() {
    let place = Place::new();
    for (line, file) in [
        // The demo log is ranked by way of a dataset in the folder for temporary files.
        ("synth demo --scale 0.2 -o out", ""),
        ("synth demo --scale 0.2 --raw -o out", ""),
        ("synth one-week --scale 0.05 --raw -o out", ".tsv"),
        ("synth one-week --scale 0.05 -o out", ".jsonl"),
    ] {
        let said = place.bash(&format!("ulimit -f 32; liken {line}"));
        said.refused(
            1,
            &[file, "cannot write", "the disk or the quota is full; nothing was written"],
        );
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
}

#[test]
fn stats_are_the_papers_table_and_a_histogram() {
    let place = Place::new();
    place.run("synth one-week --scale 0.02 -o week").silent();
    place.run("stats week").silent().shows(&[
        "n_x", "n_y", "d_x", "d_y", "c_x", "c_y", "ñ^y", "ñ^x", "N_x", "N_y", "W_x", "W_y",
        "clicks", "≤ 3", "> 1000",
    ]);
    let json = place.run("stats week --format json").silent().json();
    let data = place.dataset("week");
    let counts = &data.about().counts;
    let (n_x, n_y) = (json["table"]["n_x"].as_u64().unwrap(), &json["table"]["n_y"]);
    assert_eq!(n_y.as_u64().unwrap(), counts.documents as u64);
    // ñ^y · n_x is the number of pairs.
    let per_query = json["table"]["docs_per_query"].as_f64().unwrap();
    assert!((per_query * n_x as f64 - counts.pairs as f64).abs() < 1e-6);
    assert!((per_query - 1.74).abs() < 0.02, "{per_query}");
    let bins = json["histogram"].as_array().unwrap();
    let of = |column: usize| bins.iter().map(|bin| bin[column].as_u64().unwrap()).sum::<u64>();
    assert_eq!((of(1), of(2)), (n_x, counts.pairs as u64));
}

#[test]
fn stats_count_terms_as_the_flags_say() {
    let words = |flags: &str| {
        let said = shared().run(&format!("stats data --format json {flags}"));
        said.silent().json()["table"]["words"].as_u64().unwrap()
    };
    let plain = words("");
    assert!(words("--language none") > plain);
    assert!(words("--min-df 2") < plain);
    assert!(words("--fields title") < plain);
    assert!(words("--char-ngrams 3-5") > plain);
    assert!(words("--word-ngrams 2") > plain);
    let place = Place::new();
    let data = at("data");
    place.run(&format!("stats {}", at("mix"))).refused(1, &["is a model, not a dataset"]);
    place
        .run(&format!("stats {data} --min-df 100000"))
        .refused(1, &["the vocabulary is empty", "--min-df"]);
    place.run(&format!("stats {data} --char-ngrams 5-3")).refused(2, &["char_ngrams", "5"]);
    place.run(&format!("stats {data} --char-ngrams x")).refused(2, &["--char-ngrams x", "3-5"]);
    place.run(&format!("stats {data} --language xx")).refused(2, &["--language", "xx", "en, ar"]);
}
