//! The engine over a small index: what is found, in which order, and why.

mod finding;
mod live;
mod many;
mod models;
mod rankers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Document};
use liken::features::Preparation;
use liken::matchers::Model;
use serde_json::{Map, Value, json};

use super::*;
use crate::testing::{DOCUMENTS, building, index, made, small, train_on};
use crate::types::*;

/// The fixture's index with `models` in every way in which candidates are found: by scoring all
/// documents, and by the text index and neighbours.
fn in_every_way(models: &[&str]) -> [Arc<Engine>; 2] {
    [None, Some(0)].map(|exact_below| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let building = IndexBuilder { exact_below, ..building(made(), models, &path) };
        building.run(&Run::silent()).unwrap();
        let engine = Engine::open(&path, Settings::default()).unwrap();
        // It lives as long as the test binary.
        std::mem::forget(folder);
        engine
    })
}

fn ask(query: &str, models: &[&str]) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        models: models.iter().map(|&m| m.to_owned()).collect(),
        ..SearchRequest::default()
    }
}

fn ids(response: &SearchResponse) -> Vec<&str> {
    response.hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn document(id: &str, title: &str) -> Document {
    let mut fields = Map::new();
    fields.insert("title".into(), Value::from(title));
    Document { id: id.into(), fields }
}

/// Waits until search sees what was written.
fn seen(engine: &Engine, written: Written) {
    assert!(engine.wait_for(written.sequence, Duration::from_secs(20)));
}
