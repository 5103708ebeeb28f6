//! What lies near: by hand, with every embedding compared with every other.

use serde_json::{Value, json};

use crate::world::{DOCUMENTS, QUERIES, Service, texts};

/// The numbers of embeddings in an answer.
pub fn embeddings(list: &Value) -> Vec<Vec<f64>> {
    let embedding = |embedding: &Value| -> Vec<f64> {
        embedding.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    list.as_array().unwrap().iter().map(embedding).collect()
}

pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length == 0.0 { 0.0 } else { dot(a, b) / length }
}

/// Names with their cosines to `of`, the nearest first.
fn nearest(of: &[f64], others: Vec<(String, Vec<f64>)>) -> Vec<(String, f64)> {
    let mut near: Vec<(String, f64)> =
        others.into_iter().map(|(name, embedding)| (name, cosine(of, &embedding))).collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1));
    near
}

/// The same names in the same order with the same cosines; equally near ones in any order.
fn same(found: &Value, expected: &[(String, f64)]) {
    let names = texts(found, "name");
    assert_eq!(names.len(), expected.len(), "{found}\n{expected:?}");
    for (at, name) in names.iter().enumerate() {
        let cosine = found[at]["cosine"].as_f64().unwrap();
        assert!((cosine - expected[at].1).abs() < 1e-5, "{at}: {found}\n{expected:?}");
        let (_, own) = expected.iter().find(|(other, _)| other == name).unwrap();
        assert!((cosine - own).abs() < 1e-5, "{name}: {cosine} {own}");
    }
}

#[test]
fn near_documents_are_those_with_the_largest_cosines() {
    let service = Service::start();
    let new = json!([{ "id": "new", "title": "waax wabx wacx wadx" },
        { "id": "d06", "title": "wfax wfbx wfcx wfdx" }]);
    service.ask("PUT", "/documents?wait=true", &new);
    let gone = ["d12", "d18", "d01"];
    service.post("/documents/delete?wait=true", &json!({ "ids": gone }));
    let ids: Vec<String> = (0..DOCUMENTS)
        .map(|no| format!("d{no:02}"))
        .chain(["new".to_owned()])
        .filter(|id| !gone.contains(&id.as_str()))
        .collect();
    let embedded = service.post("/embed", &json!({ "ids": ids }));
    let embeddings = embeddings(&embedded["ids"]);
    for id in ["d00", "d06", "new", "d35"] {
        let of = &embeddings[ids.iter().position(|other| other == id).unwrap()];
        let others = ids.iter().cloned().zip(embeddings.iter().cloned());
        let mut expected = nearest(of, others.filter(|(other, _)| other != id).collect());
        // Documents on the other side are not near.
        expected.retain(|(_, cosine)| *cosine > 1e-9);
        assert!(expected.len() > 5 && expected[0].1 > expected[4].1 + 1e-3, "{expected:?}");
        let all = service.post("/similar", &json!({ "id": id, "k": 1000 }));
        same(&all["documents"], &expected);
        assert_eq!(all["queries"], json!([]));
        let names = texts(&all["documents"], "name");
        assert!(gone.iter().all(|gone| !names.iter().any(|name| name == gone)));
        // The first of all are those that are asked for, ten if nobody says.
        let few = service.post("/similar", &json!({ "id": id, "k": 3 }));
        assert_eq!(texts(&few["documents"], "name"), names[..3]);
        let ten = service.post("/similar", &json!({ "id": id }));
        assert_eq!(texts(&ten["documents"], "name"), names[..names.len().min(10)]);
        for near in all["documents"].as_array().unwrap() {
            let path = format!("/documents/{}", near["name"].as_str().unwrap());
            let document = service.send("GET", &path, None, None).json();
            assert_eq!(near["title"], document["title"]);
        }
    }
    // What is new is near others, too, under its new text.
    let near = service.post("/similar", &json!({ "id": "new", "k": 5 }));
    assert!(!texts(&near["documents"], "name").contains(&"d06".to_owned()), "{near}");
    let asked = r#"{"id": "d12"}"#;
    let answer = service.send("POST", "/similar", None, Some(("application/json", asked)));
    assert_eq!(answer.status, 404, "what is gone is near nothing");
}

#[test]
fn near_queries_are_those_with_the_largest_cosines() {
    let service = Service::start();
    let clicks = std::fs::read_to_string(service.path("clicks.tsv")).unwrap();
    let mut log: Vec<String> =
        clicks.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    log.sort();
    log.dedup();
    let own = log[0].clone();
    let asked: Vec<&str> = QUERIES.iter().copied().chain([own.as_str()]).collect();
    let embedded = service.post("/embed", &json!({ "queries": asked }));
    let ours = embeddings(&embedded["queries"]);
    let theirs = embeddings(&service.post("/embed", &json!({ "queries": log }))["queries"]);
    for (query, embedding) in asked.iter().zip(&ours) {
        let others = log.iter().cloned().zip(theirs.iter().cloned());
        let expected = nearest(embedding, others.filter(|(other, _)| other != query).collect());
        assert!(expected.len() > 5, "{expected:?}");
        let all = service.post("/similar", &json!({ "query": query, "k": 1000 }));
        same(&all["queries"], &expected);
        assert_eq!(all["documents"], json!([]));
        let few = service.post("/similar", &json!({ "query": query, "k": 2 }));
        assert_eq!(texts(&few["queries"], "name"), texts(&all["queries"], "name")[..2]);
    }
}

#[test]
fn near_words_come_nearest_first_and_without_the_word_itself() {
    let service = Service::start();
    let near = service.post("/similar", &json!({ "word": "qaax", "k": 6 }));
    for side in ["queries", "documents"] {
        let list = near[side].as_array().unwrap();
        assert_eq!(list.len(), 6, "{near}");
        let cosines: Vec<f64> = list.iter().map(|word| word["cosine"].as_f64().unwrap()).collect();
        assert!(cosines.windows(2).all(|two| two[0] >= two[1]), "{near}");
        assert!(cosines[0] > cosines[5] && cosines[5] > 0.0, "{near}");
        // Words of a topic were clicked together.
        let names = texts(&near[side], "name");
        let of_topic = names.iter().filter(|name| &name[1..2] == "a").count();
        assert!(of_topic >= 4 && !names.contains(&"qaax".to_owned()), "{near}");
    }
}
