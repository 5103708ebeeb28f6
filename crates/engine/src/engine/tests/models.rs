//! Versions of models, and what they say of given documents.

use liken::matchers::Neighbours;

use super::*;

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
    assert!(matches!(engine.activate("pls", "none").unwrap_err(), Error::NotFound(_)));
    assert!(matches!(engine.roll_back("bm25").unwrap_err(), Error::NotFound(_)));
    for (name, path) in [("../x", path_of("pls")), ("x", "/nowhere".into()), ("", path_of("pls"))] {
        let load = LoadRequest { name: name.into(), path, activate: false };
        assert!(matches!(engine.load(&load).unwrap_err(), Error::Invalid(_)));
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
fn embeddings_of_the_service_give_its_scores() {
    let engine = small();
    let request = EmbedRequest {
        queries: vec!["car insurance".into()],
        ids: vec!["cars".into()],
        documents: vec![document("x", "Influenza in winter").fields],
        ..EmbedRequest::default()
    };
    let embeddings = engine.embed(&request).unwrap();
    assert_eq!((embeddings.model.name.as_str(), embeddings.dim), ("pls", 6));
    let score = liken::linalg::dot(&embeddings.queries[0], &embeddings.ids[0]);
    let found = engine.search(&ask("car insurance", &["pls"])).unwrap();
    let cars = found.hits.iter().find(|hit| hit.id == "cars").unwrap();
    assert_eq!(cars.score, f64::from(score));
}

#[test]
fn what_lies_near_is_what_the_model_says() {
    let engine = small();
    let model = Model::open(&made().join("pls")).unwrap();
    let pairs = |near: Vec<Neighbour>| -> Vec<(String, f64)> {
        near.into_iter().map(|near| (near.name, near.cosine)).collect()
    };
    let near = SimilarRequest { word: Some("car".into()), k: Some(3), ..Default::default() };
    let near = engine.similar(&near).unwrap();
    let (queries, documents) = Neighbours::of(&model).unwrap().words("car", 3).unwrap();
    assert_eq!((queries.len(), documents.len()), (3, 3));
    assert_eq!((pairs(near.queries), pairs(near.documents)), (queries, documents));
    // Another document about cars is the only one that is near.
    let near = SimilarRequest { id: Some("cars".into()), k: Some(1), ..Default::default() };
    let near = engine.similar(&near).unwrap().documents.remove(0);
    let cars = model.counts.doc_ids.iter().position(|id| id == "cars").unwrap();
    let (doc, cosine) = Neighbours::of(&model).unwrap().docs(cars as u32, 1)[0];
    assert_eq!((near.name.as_str(), &model.counts.doc_ids[doc as usize][..]), ("loan", "loan"));
    assert!((near.cosine - cosine).abs() < 1e-9 && cosine > 0.5, "{} {cosine}", near.cosine);
    assert_eq!(near.title.as_deref(), Some("Cheap loans for a car"));
    assert!(matches!(engine.similar(&SimilarRequest::default()).unwrap_err(), Error::Invalid(_)));
}

#[test]
fn embeddings_of_earlier_versions_are_used_in_place() {
    let (_folder, path) = index(&["pls"]);
    let [now, earlier] = ["embeddings", "images"].map(|name| path.join(name));
    assert!(now.is_dir() && !earlier.exists());
    let best = |engine: &Engine| ids(&engine.search(&ask("car", &[])).unwrap())[0].to_owned();
    let expected = best(&Engine::open(&path, Settings::default()).unwrap());
    let (_folder, path) = index(&["pls"]);
    let [now, earlier] = ["embeddings", "images"].map(|name| path.join(name));
    std::fs::rename(&now, &earlier).unwrap();
    let engine = Engine::open(&path, Settings::default()).unwrap();
    assert_eq!(best(&engine), expected);
    let wide = made().join("wide").display().to_string();
    let load = LoadRequest { name: "pls".into(), path: wide, activate: true };
    let version = engine.load(&load).unwrap().model.version;
    assert!(earlier.join("pls").join(version).is_dir() && !now.exists());
}
