//! A small index for tests, of this crate and of those that build on it: no part of what the engine
//! offers.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Import, Table};
use liken::features::Preparation;
use liken::matchers::{Mixture, Params};
use liken::training::train;
use serde_json::json;

use crate::{Building, Engine, Settings};

/// Documents of the fixture: a few topics, with fields to filter by.
pub(crate) const DOCUMENTS: [(&str, &str, &str, i32); 10] = [
    ("sun", "Distance between Earth and its star", "space", 2001),
    ("moon", "How far the Moon is from Earth", "space", 2005),
    ("mars", "A journey to the red planet", "space", 2012),
    ("cars", "Automobile policies compared", "money", 1999),
    ("home", "Insurance of houses", "money", 2003),
    ("loan", "Cheap loans for a car", "money", 2010),
    ("heart", "Cardiac arrest and what to do", "health", 2015),
    ("blood", "High pressure in arteries", "health", 2018),
    ("flu", "Influenza in winter", "health", 2020),
    ("soup", "Chicken soup against a cold", "health", 2021),
];
pub(crate) const CLICKS: [(&str, &str, u32); 16] = [
    ("how far is the sun", "sun", 40),
    ("how far away is the sun", "sun", 9),
    ("miles to the sun", "sun", 7),
    ("moon distance", "moon", 12),
    ("travel to mars", "mars", 11),
    ("red planet", "mars", 8),
    ("car insurance", "cars", 30),
    ("cheap car insurance", "cars", 8),
    ("insure my car", "cars", 5),
    ("house insurance", "home", 14),
    ("car loan", "loan", 9),
    ("heart attack", "heart", 25),
    ("heart stops", "heart", 6),
    ("blood pressure", "blood", 16),
    ("flu season", "flu", 10),
    ("cold remedy", "soup", 7),
];

/// Writes the fixture's dataset and models `bm25`, `pls`, `wide` and `walk` into `folder`.
fn make(folder: &Path) {
    let mut clicks = String::new();
    for (query, doc, n) in CLICKS {
        clicks += &format!("{query}\t{doc}\t{n}\n");
    }
    let mut documents = String::new();
    for (id, title, topic, year) in DOCUMENTS {
        documents += &json!({"id": id, "title": title, "topic": topic, "year": year}).to_string();
        documents += "\n";
    }
    let models = [
        ("bm25", "bm25", None),
        ("pls", "pls", Some(6)),
        ("wide", "pls", Some(8)),
        ("walk", "walk", None),
    ];
    make_of(folder, &clicks, &documents, &models);
}

/// Writes a dataset of lines of `clicks` and of `documents` into `folder`, and models: name, method
/// and number of dimensions.
#[allow(clippy::disallowed_methods)]
pub(crate) fn make_of(
    folder: &Path,
    clicks: &str,
    documents: &str,
    models: &[(&str, &str, Option<usize>)],
) -> PathBuf {
    let (c, d) = (folder.join("clicks.tsv"), folder.join("documents.jsonl"));
    std::fs::write(&c, format!("query\tdoc\tclicks\n{clicks}")).unwrap();
    std::fs::write(&d, documents).unwrap();
    let import = Import {
        clicks: Some(Table::new(&c)),
        documents: Some(Table::new(&d)),
        ..Import::default()
    };
    let (data, run) = (folder.join("data"), Run::silent());
    import.run(&data, false, &run).unwrap();
    let dataset = Dataset::open(&data).unwrap();
    for (name, method, dim) in models {
        let mut params = Params::named(method).unwrap();
        if let Some(dim) = dim {
            params.set("dim", &dim.to_string()).unwrap();
        }
        let mixture = Mixture::parse(method).unwrap();
        let trained = train(&dataset, &Preparation::default(), &mixture, &[params], &run).unwrap();
        trained.save(&folder.join(name), false, Duration::ZERO).unwrap();
    }
    data
}

/// Dataset and models, made once.
pub(crate) fn made() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        folder
    })
    .path()
}

/// A new index with `models`, in a folder that ends with the test.
pub fn index(models: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    building(models, &path).run(&Run::silent()).unwrap();
    (folder, path)
}

/// What an index with `models` at `path` is made of.
pub(crate) fn building(models: &[&str], path: &Path) -> Building {
    Building {
        dataset: made().join("data"),
        models: models.iter().map(|&m| (Some(m.to_owned()), made().join(m))).collect(),
        output: path.to_owned(),
        ..Building::default()
    }
}

/// An open index for tests of what stands around the engine.
pub fn small() -> Arc<Engine> {
    small_with(Settings::default())
}

/// An open index with settings of its own.
pub fn small_with(settings: Settings) -> Arc<Engine> {
    let (folder, path) = index(&["bm25", "pls"]);
    let engine = Engine::open(&path, settings).unwrap();
    // It lives as long as the test binary.
    std::mem::forget(folder);
    engine
}
