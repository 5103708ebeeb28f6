//! The engine over a small index: what is found, in which order, and why.

mod rankers;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Document, Import, Table};
use liken::features::Preparation;
use liken::matchers::{Mixture, Model, Params};
use liken::training::train;
use serde_json::{Map, Value, json};

use super::*;
use crate::api::types::*;

/// Documents of the fixture: a few topics, with fields to filter by.
const DOCUMENTS: [(&str, &str, &str, i32); 10] = [
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
const CLICKS: [(&str, &str, u32); 16] = [
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

/// Writes the fixture's dataset and models `bm25`, `pls`, `pls-wide` and `walk` into `folder`.
#[allow(clippy::disallowed_methods)]
fn make(folder: &Path) {
    let mut clicks = String::from("query\tdoc\tclicks\n");
    for (query, doc, n) in CLICKS {
        clicks += &format!("{query}\t{doc}\t{n}\n");
    }
    let mut documents = String::new();
    for (id, title, topic, year) in DOCUMENTS {
        documents += &json!({"id": id, "title": title, "topic": topic, "year": year}).to_string();
        documents += "\n";
    }
    let (c, d) = (folder.join("clicks.tsv"), folder.join("documents.jsonl"));
    std::fs::write(&c, clicks).unwrap();
    std::fs::write(&d, documents).unwrap();
    let import = Import {
        clicks: Some(Table::new(&c)),
        documents: Some(Table::new(&d)),
        ..Import::default()
    };
    let (data, run) = (folder.join("data"), Run::silent());
    import.run(&data, false, &run).unwrap();
    let dataset = Dataset::open(&data).unwrap();
    for (name, method, dim) in [
        ("bm25", "bm25", None),
        ("pls", "pls", Some("6")),
        ("wide", "pls", Some("8")),
        ("walk", "walk", None),
    ] {
        let mut params = Params::named(method).unwrap();
        if let Some(dim) = dim {
            params.set("dim", dim).unwrap();
        }
        let mixture = Mixture::parse(method).unwrap();
        let trained = train(&dataset, &Preparation::default(), &mixture, &[params], &run).unwrap();
        trained.save(&folder.join(name), false, Duration::ZERO).unwrap();
    }
}

/// Dataset and models, made once.
fn made() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        folder
    })
    .path()
}

/// A new index with `models`, in a folder that ends with the test.
pub(crate) fn index(models: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    building(models, &path).run(&Run::silent()).unwrap();
    (folder, path)
}

/// What an index with `models` at `path` is made of.
fn building(models: &[&str], path: &Path) -> Building {
    Building {
        dataset: made().join("data"),
        models: models.iter().map(|&m| (Some(m.to_owned()), made().join(m))).collect(),
        rankers: Vec::new(),
        output: path.to_owned(),
        force: false,
    }
}

/// An open index for tests of what stands around the engine.
pub(crate) fn small() -> Arc<Engine> {
    let (folder, path) = index(&["bm25", "pls"]);
    let engine = Engine::open(&path, Settings::default()).unwrap();
    // It lives as long as the test binary.
    std::mem::forget(folder);
    engine
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

#[test]
fn scores_are_those_of_the_model() {
    let (_folder, path) = index(&["bm25", "pls", "walk"]);
    let engine = Engine::open(&path, Settings::default()).unwrap();
    for name in ["bm25", "pls", "walk"] {
        let model = Model::open(&made().join(name)).unwrap();
        for text in ["car insurance", "heart attack", "far sun", "cheap house"] {
            let found = engine.search(&ask(text, &[name])).unwrap();
            let query = model.read_query(text).unwrap();
            let expected: Vec<(String, f64)> = model
                .search(&query, 10)
                .into_iter()
                .filter(|hit| hit.score != 0.0)
                .map(|hit| (model.counts.doc_ids[hit.doc as usize].clone(), f64::from(hit.score)))
                .collect();
            let shown: Vec<(String, f64)> =
                found.hits.iter().map(|hit| (hit.id.clone(), hit.score)).collect();
            let shown: Vec<_> = shown.into_iter().filter(|(_, score)| *score != 0.0).collect();
            assert_eq!(shown, expected, "{name}: {text}");
            assert_eq!(found.models[0].name, name);
        }
    }
}

#[test]
fn pages_are_parts_of_one_order_and_explanations_add_up() {
    let engine = small();
    for method in [FusionMethod::ZScore, FusionMethod::MinMax, FusionMethod::Rrf] {
        let mut request = ask("car insurance far", &["bm25", "pls"]);
        request.fusion = Some(FusionSpec { method, ..FusionSpec::default() });
        request.explain = true;
        let whole = engine.search(&request).unwrap();
        assert!(whole.hits.len() > 4);
        for hit in &whole.hits {
            let why = hit.explanation.as_ref().unwrap();
            assert!((why.score - hit.score).abs() < 1e-12, "{why:?}");
            let adds: f64 = why.models.iter().map(|model| model.adds).sum();
            assert!((adds - hit.score).abs() < 1e-12);
            for model in &why.models {
                assert_eq!(hit.scores[&model.model.name], model.score);
                for part in &model.parts {
                    let lines: f64 = part.lines.iter().map(|line| line.value).sum();
                    assert!((lines + part.rest - part.score).abs() < 1e-9);
                }
            }
        }
        for offset in 0..whole.hits.len() {
            let page = SearchRequest { offset, k: Some(2), ..request.clone() };
            let page = engine.search(&page).unwrap();
            assert_eq!(page.hits[..], whole.hits[offset..(offset + 2).min(whole.hits.len())]);
        }
    }
}

#[test]
fn filters_phrases_and_exclusions_hold_for_every_model() {
    let engine = small();
    for models in [&["bm25"][..], &["pls"], &["bm25", "pls"]] {
        let mut request = ask("car insurance", models);
        request.filter = Some(json!({"topic": "money", "year": {"gte": 2000}}));
        let found = engine.search(&request).unwrap();
        assert!(!found.hits.is_empty());
        assert!(ids(&found).iter().all(|id| ["home", "loan"].contains(id)), "{found:?}");
        request.exclude_ids = vec!["home".into(), "nobody".into()];
        assert_eq!(ids(&engine.search(&request).unwrap()), ["loan"]);
        let found = engine.search(&ask("\"automobile policies\" insurance", models)).unwrap();
        assert_eq!(ids(&found), ["cars"], "{models:?}: {found:?}");
        let nothing = engine.search(&ask("\"houses of insurance\"", models)).unwrap();
        assert!(nothing.hits.is_empty() && !nothing.notes.is_empty());
    }
}

#[test]
fn bad_requests_say_what_is_wrong() {
    let engine = small();
    let good = ask("car", &["bm25", "pls"]);
    let weights = |weight: f64| {
        let weights = [("pls".to_owned(), weight)].into();
        Some(FusionSpec { weights, ..FusionSpec::default() })
    };
    for (wrong, says) in [
        (SearchRequest { query: "  ".into(), ..good.clone() }, "query"),
        (SearchRequest { query: "a".repeat(5000), ..good.clone() }, "4096"),
        (SearchRequest { k: Some(0), ..good.clone() }, "k = 0"),
        (SearchRequest { k: Some(1_000_000_000), ..good.clone() }, "10000"),
        (SearchRequest { offset: usize::MAX, ..good.clone() }, "offset"),
        (SearchRequest { candidate_depth: Some(0), ..good.clone() }, "candidate_depth"),
        (SearchRequest { models: vec!["nobody".into()], ..good.clone() }, "bm25, pls"),
        (SearchRequest { models: vec!["pls".into(), "pls".into()], ..good.clone() }, "twice"),
        (SearchRequest { fusion: weights(f64::NAN), ..good.clone() }, "finite"),
        (SearchRequest { fusion: weights(-1.0), ..good.clone() }, "0 or more"),
        (SearchRequest { diversify: Some(DiversifySpec { lambda: 2.0 }), ..good.clone() }, "share"),
        (SearchRequest { filter: Some(json!({"year": {"above": 3}})), ..good.clone() }, "filter"),
    ] {
        let problem = engine.search(&wrong).unwrap_err();
        assert_eq!(problem.status, 400, "{problem}");
        assert!(problem.detail.contains(says), "{says}: {problem}");
    }
}

#[test]
fn documents_come_and_go_under_every_model() {
    let (_folder, path) = index(&["bm25", "pls", "walk"]);
    let wait = |engine: &Engine, written: Written| {
        assert!(engine.wait_for(written.sequence, Duration::from_secs(20)));
    };
    let check = |engine: &Engine| {
        for models in [&["bm25"][..], &["pls"], &["bm25", "pls"]] {
            let found = engine.search(&ask("car insurance", models)).unwrap();
            assert!(ids(&found).contains(&"fresh"), "{models:?}: {found:?}");
            assert!(!ids(&found).contains(&"cars"), "{models:?}: {found:?}");
        }
        let status = engine.status();
        assert_eq!((status.documents, status.status.as_str()), (10, "ok"));
        assert_eq!(engine.document("fresh").unwrap().fields["title"], "insurance of a fast car");
        assert_eq!(engine.document("cars").unwrap_err().status, 404);
    };
    {
        let engine = Engine::open(&path, Settings::default()).unwrap();
        let first = engine.upsert(vec![document("fresh", "nothing yet")]).unwrap();
        assert_eq!((first.written, first.replaced), (1, 0));
        wait(&engine, engine.upsert(vec![document("fresh", "insurance of a fast car")]).unwrap());
        wait(&engine, engine.delete(&["cars".into()]).unwrap());
        check(&engine);
        let scores = engine.search(&ask("car insurance", &["pls"])).unwrap();
        // The same as where the model is made anew with the document.
        let model = Model::open(&made().join("pls")).unwrap();
        let model = model.with_documents(&[document("fresh", "insurance of a fast car")]).unwrap();
        let query = model.read_query("car insurance").unwrap();
        let expected = model.scores(&query)[10];
        let fresh = scores.hits.iter().find(|hit| hit.id == "fresh").unwrap();
        assert_eq!(fresh.score, f64::from(expected));
        let why = engine
            .explain(&ExplainRequest {
                search: ask("car insurance", &["bm25", "pls"]),
                id: "fresh".into(),
                most: None,
            })
            .unwrap();
        assert_eq!(why.shared_words, ["car", "insur"]);
    }
    // After a restart all is as it was.
    check(&reopened(&path));
}

#[test]
fn words_that_training_did_not_know_are_found_in_new_documents() {
    let engine = small();
    let new = vec![document("z1", "zebra"), document("z2", "zebra zebra insurance of a car")];
    let written = engine.upsert(new).unwrap();
    assert!(engine.wait_for(written.sequence, Duration::from_secs(20)));
    for models in [&["bm25"][..], &["bm25", "pls"]] {
        let found = engine.search(&ask("zebra", models)).unwrap();
        assert_eq!(found.hits.len(), 2, "{found:?}");
        assert!(found.hits.iter().all(|hit| hit.score == 0.0));
        assert_eq!(found.unknown_words, ["zebra"]);
        assert!(found.notes.iter().any(|note| note.contains("zebra")), "{:?}", found.notes);
        let both = engine.search(&ask("zebra insurance", models)).unwrap();
        assert!(ids(&both).contains(&"z1") && ids(&both).contains(&"home"), "{both:?}");
    }
    // What has learnt from clicks alone says nothing of it.
    assert!(engine.search(&ask("zebra", &["pls"])).unwrap().hits.is_empty());
}

#[test]
fn a_text_index_that_missed_changes_catches_up() {
    let (folder, path) = index(&["bm25"]);
    let text = Layout::new(&path).text();
    let before = folder.path().join("text-before");
    copy(&text, &before);
    {
        let engine = Engine::open(&path, Settings::default()).unwrap();
        let written = engine.upsert(vec![document("fresh", "insurance of a fast car")]).unwrap();
        assert!(engine.wait_for(written.sequence, Duration::from_secs(20)));
    }
    std::fs::remove_dir_all(&text).unwrap();
    std::fs::rename(&before, &text).unwrap();
    let engine = reopened(&path);
    let found = engine.search(&ask("\"fast car\"", &[])).unwrap();
    assert_eq!(ids(&found), ["fresh"]);
}

/// Opens an index that was open before: the thread that applies changes may hold it a moment longer
/// than its last user.
fn reopened(path: &Path) -> Arc<Engine> {
    let started = Instant::now();
    loop {
        match Engine::open(path, Settings::default()) {
            Ok(engine) => return engine,
            Err(problem) if problem.status == 503 && started.elapsed().as_secs() < 20 => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn models_are_exchanged_and_taken_back() {
    let (_folder, path) = index(&["bm25", "pls"]);
    let engine = Engine::open(&path, Settings::default()).unwrap();
    let version =
        |engine: &Engine| engine.search(&ask("car", &["pls"])).unwrap().models[0].version.clone();
    let first = version(&engine);
    let path_of = |name: &str| made().join(name).display().to_string();
    let load = LoadRequest { name: "pls".into(), path: path_of("wide"), activate: false };
    let second = engine.load(&load).unwrap();
    assert_eq!(version(&engine), first);
    assert_ne!(second.model.version, first);
    engine.activate("pls", &second.model.version).unwrap();
    assert_eq!(version(&engine), second.model.version);
    assert_eq!(engine.roll_back("pls").unwrap().model.version, first);
    assert_eq!(version(&engine), first);
    let more = LoadRequest { name: "walk".into(), path: path_of("walk"), activate: true };
    engine.load(&more).unwrap();
    assert_eq!(engine.active().len(), 3);
    assert_eq!(engine.activate("pls", "none").unwrap_err().status, 404);
    assert_eq!(engine.roll_back("bm25").unwrap_err().status, 404);
    for (name, path) in [("../x", path_of("pls")), ("x", "/nowhere".into()), ("", path_of("pls"))] {
        let load = LoadRequest { name: name.into(), path, activate: false };
        assert_eq!(engine.load(&load).unwrap_err().status, 400);
    }
}

#[test]
fn given_documents_are_put_in_order_as_those_of_the_index() {
    let engine = small();
    let given = json!({"id": "given", "title": "Automobile policies compared"});
    let Value::Object(given) = given else { unreachable!() };
    let request = RerankRequest {
        query: "car insurance".into(),
        models: vec!["bm25".into(), "pls".into()],
        ids: vec!["sun".into(), "cars".into(), "nobody".into()],
        documents: vec![given],
        ..RerankRequest::default()
    };
    let response = engine.rerank(&request).unwrap();
    assert_eq!(response.unknown_ids, ["nobody"]);
    assert_eq!(response.hits.len(), 3);
    assert_eq!(response.hits.last().unwrap().id, "sun");
    let scores = |id: &str| response.hits.iter().find(|hit| hit.id == id).unwrap().scores["bm25"];
    assert_eq!(scores("given"), scores("cars"));
}

#[test]
fn images_of_the_service_give_its_scores() {
    let engine = small();
    let request = EmbedRequest {
        queries: vec!["car insurance".into()],
        ids: vec!["cars".into()],
        documents: vec![document("x", "Influenza in winter").fields],
        ..EmbedRequest::default()
    };
    let images = engine.embed(&request).unwrap();
    assert_eq!((images.model.name.as_str(), images.dim), ("pls", 6));
    let score = liken::linalg::dot(&images.queries[0], &images.ids[0]);
    let found = engine.search(&ask("car insurance", &["pls"])).unwrap();
    let cars = found.hits.iter().find(|hit| hit.id == "cars").unwrap();
    assert_eq!(cars.score, f64::from(score));
    let near = SimilarRequest { word: Some("car".into()), k: Some(3), ..Default::default() };
    assert!(!engine.similar(&near).unwrap().queries.is_empty());
    let near = SimilarRequest { id: Some("cars".into()), k: Some(3), ..Default::default() };
    let near = engine.similar(&near).unwrap();
    assert!(near.documents.iter().all(|near| near.title.is_some()), "{near:?}");
    assert_eq!(engine.similar(&SimilarRequest::default()).unwrap_err().status, 400);
}
