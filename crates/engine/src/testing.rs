//! Small indexes for tests. The tests of the server include this file, too, so that it is compiled
//! into no product; each of the crates uses a part of it.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Import, Table};
use liken::features::Preparation;
use liken::matchers::{Mixture, Params};
use liken::training::train;
use liken_engine::{Engine, IndexBuilder, Settings};
use serde_json::json;

/// Documents of the fixture: a few topics, with fields to filter by.
pub const DOCUMENTS: [(&str, &str, &str, i32); 10] = [
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
pub const CLICKS: [(&str, &str, u32); 16] = [
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
    train_on(folder, &clicks, &documents, &models);
}

/// Writes a dataset of lines of `clicks` and of `documents` to `folder/data`, and models with name,
/// method and number of dimensions to `folder`.
#[allow(clippy::disallowed_methods)]
pub fn train_on(
    folder: &Path,
    clicks: &str,
    documents: &str,
    models: &[(&str, &str, Option<usize>)],
) {
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
}

/// The fixture's dataset and models, made once.
pub fn made() -> &'static Path {
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
    building(made(), models, &path).run(&Run::silent()).unwrap();
    (folder, path)
}

/// The build of an index at `path` from the dataset and `models` in `folder`.
pub fn building(folder: &Path, models: &[&str], path: &Path) -> IndexBuilder {
    IndexBuilder {
        dataset: folder.join("data"),
        models: models.iter().map(|&m| (Some(m.to_owned()), folder.join(m))).collect(),
        output: path.to_owned(),
        ..IndexBuilder::default()
    }
}

/// An open index with the models `bm25` and `pls`.
pub fn small() -> Arc<Engine> {
    small_with(Settings::default())
}

/// The same with settings.
pub fn small_with(settings: Settings) -> Arc<Engine> {
    let (folder, path) = index(&["bm25", "pls"]);
    let engine = Engine::open(&path, settings).unwrap();
    // The folder stays for as long as the process.
    std::mem::forget(folder);
    engine
}
