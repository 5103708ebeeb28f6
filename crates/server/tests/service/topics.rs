//! The page of topics over HTTP, before and after there is a model that has some.

use std::time::Duration;

use liken::Run;
use liken::data::Dataset;
use liken::features::Preparation;
use liken::matchers::{Mixture, Params};
use serde_json::json;

use crate::world::{Service, until};

#[test]
fn topics_are_shown_once_there_is_a_topic_model() {
    let service = Service::start();
    let page = |path: &str| {
        let answer = service.send("GET", path, None, None);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.text
    };
    let none = page("/topics");
    for words in ["No active model has topics", "/models", "lda"] {
        assert!(none.contains(words), "no {words:?} in {none}");
    }
    assert!(!none.contains("topic-1") && !none.contains("<svg"), "{none}");

    let mut params = Params::named("lsi").unwrap();
    params.set("dim", "4").unwrap();
    let dataset = Dataset::open(&service.path("data")).unwrap();
    let mixture = Mixture::parse("lsi").unwrap();
    let (preparation, run) = (Preparation::default(), Run::silent());
    let trained = liken::training::train(&dataset, &preparation, &mixture, &[params], &run);
    trained.unwrap().save(&service.path("lsi"), false, Duration::ZERO).unwrap();
    let path = service.path("lsi").display().to_string();
    service.post("/models", &json!({ "name": "themes", "path": path, "activate": true }));
    let mut shown = String::new();
    until("the topics are summed up", || {
        shown = page("/topics");
        !shown.contains("data-reload")
    });
    for words in ["id=\"topic-1\"", "id=\"topic-4\"", "<svg", "themes"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    assert!(!shown.contains("topic-5") && !shown.contains("No active model has topics"), "{shown}");
    let other = page("/topics?name=bm25");
    assert!(other.contains("bm25 has no topics") && other.contains("name=themes"), "{other}");
}
