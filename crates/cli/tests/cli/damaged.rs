//! Folders that are not what they were: each damage has its own message.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::Value;

use crate::place::Place;
use crate::shared::{at, shared};

/// A place with a copy of the shared folder `name`.
fn copy(name: &str) -> Place {
    let place = Place::new();
    for entry in fs::read_dir(shared().path(name)).unwrap() {
        let entry = entry.unwrap();
        let file = format!("{name}/{}", entry.file_name().into_string().unwrap());
        place.file(&file, fs::read(entry.path()).unwrap());
    }
    place
}

fn flip_a_byte(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(middle as u64)).unwrap();
    file.write_all(&[bytes[middle] ^ 1]).unwrap();
}

fn edit_manifest(place: &Place, edit: impl FnOnce(&mut Value)) {
    let path = place.path("mix/manifest.json");
    let mut manifest = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    edit(&mut manifest);
    place.file("mix/manifest.json", manifest.to_string());
}

/// Every verb that reads a model refuses it with the same words.
#[track_caller]
fn model_refused(place: &Place, words: &[&str]) {
    place.file("q.tsv", "q1\theart\n");
    for line in [
        "search mix heart",
        "similar mix --word heart",
        "explain mix --query heart --doc d0001",
        "run mix --queries q.tsv -o run.trec",
        "info mix",
    ] {
        place.run(line).refused(1, words);
    }
    assert_eq!(place.names(), ["mix", "q.tsv"]);
}

const ANEW: &str = "copy it again from its source, or create it again";

#[test]
fn a_truncated_file() {
    for name in ["part-0.safetensors", "counts.safetensors", "queries.jsonl", "vocabulary.jsonl"] {
        let place = copy("mix");
        let path = place.path("mix").join(name);
        OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap();
        let file = format!("mix/{name}: damaged: 100 bytes long instead of");
        model_refused(&place, &[&file, ANEW]);
    }
}

#[test]
fn a_flipped_bit() {
    let names: Vec<String> = fs::read_dir(shared().path("mix"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "manifest.json" && name != "times.json")
        .collect();
    assert_eq!(names.len(), 12);
    let place = copy("mix");
    for name in names {
        let path = place.path("mix").join(&name);
        flip_a_byte(&path);
        let file = format!("mix/{name}: damaged: its checksum differs from the manifest's");
        place.run("search mix heart").refused(1, &[&file, ANEW]);
        flip_a_byte(&path);
    }
    place.run("search mix heart").fine();
}

#[test]
fn a_missing_file() {
    let place = copy("mix");
    fs::remove_file(place.path("mix/part-0.safetensors")).unwrap();
    model_refused(&place, &["mix/part-0.safetensors: damaged: it is missing", ANEW]);
    let place = copy("mix");
    fs::remove_file(place.path("mix/manifest.json")).unwrap();
    model_refused(&place, &["mix: has no manifest.json", "`liken train` a model"]);
    // Times are not part of what a model is.
    let place = copy("mix");
    fs::remove_file(place.path("mix/times.json")).unwrap();
    place.run("info mix").fine();
    place.run("search mix heart").fine();
}

#[test]
fn a_manifest_from_the_future() {
    let place = copy("mix");
    edit_manifest(&place, |manifest| manifest["format"] = 999.into());
    model_refused(
        &place,
        &["mix/manifest.json: written in format 999", "up to 1", "use a newer liken"],
    );
}

#[test]
fn a_manifest_that_is_none() {
    for text in ["", "{", "not JSON", "[]", "{\"kind\": \"ship\", \"format\": 1}"] {
        let place = copy("mix");
        place.file("mix/manifest.json", text);
        model_refused(&place, &["mix/manifest.json: damaged: ", "line", ANEW]);
    }
    let place = copy("mix");
    edit_manifest(&place, |manifest| manifest["about"]["parts"][0]["method"] = "magic".into());
    model_refused(&place, &["mix/manifest.json: damaged: ", "`magic`", "`rmls`"]);
}

#[test]
fn tensors_that_do_not_fit_the_counts() {
    let place = copy("mix");
    let other = Place::new();
    other.run(&format!("train rmls {} -o rmls --dim 40 --min-df 2", at("data"))).fine();
    place.file("mix/part-0.safetensors", fs::read(other.path("rmls/part-0.safetensors")).unwrap());
    let entry = other.path("rmls/manifest.json");
    let theirs: Value = serde_json::from_str(&fs::read_to_string(entry).unwrap()).unwrap();
    edit_manifest(&place, |manifest| {
        let name = "part-0.safetensors";
        manifest["files"][name] = theirs["files"][name].clone();
    });
    place
        .run("search mix heart")
        .refused(1, &["mix/part-0.safetensors: damaged: ", "the maps are", "query features"]);
}

#[test]
fn a_damaged_dataset() {
    let place = copy("data");
    flip_a_byte(&place.path("data/matrices.safetensors"));
    for line in ["stats data", "train bm25 data -o out", "compare data", "info data"] {
        place.run(line).refused(1, &["data/matrices.safetensors: damaged: ", ANEW]);
    }
    assert_eq!(place.names(), ["data"]);
}

#[test]
fn a_dataset_where_a_model_is_expected_and_the_other_way_round() {
    let place = shared();
    for line in [
        "search data heart",
        "similar data --word heart",
        "explain data --query heart --doc d0001",
        "run data --queries raw/clicks.tsv -o -",
    ] {
        place.run(line).refused(1, &["data: is a dataset, not a model", "`liken info`"]);
    }
    for line in ["stats mix", "train bm25 mix -o never", "compare mix"] {
        place.run(line).refused(1, &["mix: is a model, not a dataset", "`liken info`"]);
    }
    for line in ["search raw heart", "stats raw", "train bm25 raw -o never"] {
        place.run(line).refused(1, &["raw: has no manifest.json"]);
    }
    place.run("search raw/clicks.tsv heart").refused(1, &["clicks.tsv: has no manifest.json"]);
    for line in ["search none heart", "stats none", "train bm25 none -o never"] {
        place.run(line).refused(1, &["none: cannot read", "check the path"]);
    }
    assert!(!place.path("never").exists());
}
