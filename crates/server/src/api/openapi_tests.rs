use std::collections::BTreeSet;

use liken_engine::checks;

use super::*;
use crate::api::openapi_document;
use crate::api::routes::ROUTES;
use crate::http::HttpLimits;
use crate::http::tests::{Answer, Server};

/// The path of a route with something in place of its names.
fn path_of(route: &Route) -> String {
    let pieces = route.path.split('/').map(|p| if p.starts_with('{') { "x" } else { p });
    pieces.collect::<Vec<_>>().join("/")
}

/// What is answered is what the document says.
fn as_declared(route: &Route, answer: &Answer) {
    let named = format!("{} {}: {answer:?}", route.method, route.path);
    let also = route.answer.also.iter().any(|(status, _)| *status == answer.status);
    if answer.status != 200 && !also {
        assert!(answer.status >= 400, "{named}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{named}");
        let problem: ProblemBody = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(problem.status, answer.status, "{named}");
        // Nothing is sent that the type does not have.
        assert_eq!(serde_json::to_value(&problem).unwrap(), answer.json(), "{named}");
        return;
    }
    assert_eq!(answer.headers["content-type"], route.answer.media, "{}", route.path);
    let text = std::str::from_utf8(&answer.body).unwrap();
    let Some(of) = &route.answer.of else { return };
    let values: Vec<&str> = match route.answer.media {
        "application/json" => vec![text],
        _ => text.lines().collect(),
    };
    for value in values {
        let read = (of.read)(value);
        assert!(read.is_ok(), "{} {}: {read:?} in {value}", route.method, route.path);
    }
}

#[test]
fn every_route_answers_and_takes_its_example() {
    let server = Server::start(HttpLimits::default());
    for route in ROUTES.iter() {
        let (method, path) = (route.method.as_str(), path_of(route));
        let named = format!("{method} {path}");
        let json = "content-type: application/json\r\n";
        let Some(body) = &route.body else {
            let answer = server.ask(method, &path, "", b"");
            assert!(![405, 415].contains(&answer.status), "{named}: {answer:?}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("nothing is at"), "{named}");
            as_declared(route, &answer);
            continue;
        };
        let answer = server.ask(method, &path, json, body.example.as_bytes());
        assert!(![405, 413, 415].contains(&answer.status), "{named}: {answer:?}");
        as_declared(route, &answer);
        if answer.status >= 400 {
            let detail = answer.detail();
            assert!(!detail.contains("cannot be read"), "{named}: {detail}");
            assert!(!detail.contains("nothing is at"), "{named}: {detail}");
        }
        assert_eq!(server.ask(method, &path, json, b"{\"a\":").status, 400, "{named}");
        assert_eq!(server.ask(method, &path, "", b"{}").status, 415, "{named}");
        let lines = "content-type: application/x-ndjson\r\n";
        let status = server.ask(method, &path, lines, b"[]").status;
        assert_eq!(status == 415, body.size != BodySize::Bulk, "{named}: {status}");
    }
}

#[test]
fn the_document_and_the_router_know_the_same_paths() {
    let server = Server::start(HttpLimits::default());
    let document = server.get("/openapi.json").json();
    assert_eq!(document, openapi_document());
    assert_eq!(document["openapi"], "3.1.0");
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            documented.insert((path.clone(), method.to_uppercase()));
        }
    }
    let routed: BTreeSet<(String, String)> =
        ROUTES.iter().map(|r| (r.path.replace("{*", "{"), r.method.to_string())).collect();
    assert_eq!(documented, routed);
    assert_eq!(routed.len(), ROUTES.len(), "no route twice");
    // A method that no route of a path knows is refused there, with those that it knows.
    for path in document["paths"].as_object().unwrap().keys() {
        let known: BTreeSet<&str> =
            documented.iter().filter(|(p, _)| p == path).map(|(_, m)| m.as_str()).collect();
        let path = path.replace("{id}", "x").replace("{name}", "x");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let answer = server.ask(method, &path, "", b"");
            // An id may be called as one of our paths.
            let also_id = path == "/documents/delete";
            if !also_id {
                assert_eq!(answer.status == 405, !known.contains(method), "{method} {path}");
            }
            if answer.status == 405 {
                let allowed: BTreeSet<&str> = answer.headers["allow"].split(',').collect();
                assert!(known.is_subset(&allowed), "{method} {path}: {allowed:?}");
            }
        }
    }
}

#[test]
fn all_examples_are_what_they_are_examples_of() {
    for route in ROUTES.iter() {
        let named = format!("{} {}", route.method, route.path);
        if let Some(body) = &route.body {
            assert!((body.of.read)(body.example).is_ok(), "{named}: {}", body.example);
        }
        if let Some(of) = &route.answer.of {
            let read = (of.read)(route.answer.example);
            assert!(read.is_ok(), "{named}: {read:?}");
        }
        assert!(!route.summary.is_empty(), "{named}");
        for parameter in route.parameters {
            assert!(!parameter.description.is_empty(), "{named}");
        }
    }
}

#[test]
fn examples_of_questions_are_within_the_limits() {
    fn example<T: serde::de::DeserializeOwned>(path: &str) -> T {
        let post = |route: &&Route| route.path == path && route.method == "POST";
        let route = ROUTES.iter().find(post).unwrap();
        serde_json::from_str(route.body.as_ref().unwrap().example).unwrap()
    }
    let limits = liken_engine::Limits::default();
    assert_eq!(checks::search(&example("/search"), &limits), Ok(()));
    assert_eq!(checks::rerank(&example("/rerank"), &limits), Ok(()));
    assert_eq!(checks::embed(&example("/embed"), &limits), Ok(()));
    assert_eq!(checks::similar(&example("/similar"), &limits), Ok(()));
    assert_eq!(checks::explain(&example("/explain"), &limits), Ok(()));
    assert_eq!(checks::event(&example("/events"), &limits), Ok(()));
    assert_eq!(checks::judgment(&example("/judgments"), &limits), Ok(()));
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_own_name() {
    let document = openapi_document();
    fn walk<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    found.push(reference);
                }
                fields.values().for_each(|value| walk(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let mut references = Vec::new();
    walk(&document, &mut references);
    assert!(references.contains(&"#/components/schemas/SearchRequest"));
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    assert!(!document.to_string().contains("$defs"));
    let mut names = BTreeSet::new();
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name}");
        }
    }
}

#[test]
fn paths_are_taken_apart_as_the_router_does() {
    let route = |path: &str| ROUTES.iter().find(|route| route.path == path).unwrap();
    let id = route("/documents/{*id}");
    assert_eq!(id.captured("/documents/a/b"), Some(vec!["a/b"]));
    assert_eq!(id.captured("/documents//a"), Some(vec!["/a"]));
    assert_eq!(id.captured("/documents/"), None);
    assert_eq!(id.captured("/documents"), None);
    let name = route("/models/{name}/activate");
    assert_eq!(name.captured("/models/a%2Fb/activate"), Some(vec!["a%2Fb"]));
    assert_eq!(name.captured("/models/a/b/activate"), None);
    assert_eq!(name.captured("/models//activate"), None);
    assert_eq!(name.captured("/models/a/activate/b"), None);
    assert_eq!(route("/search").captured("/search"), Some(vec![]));
    assert_eq!(route("/search").captured("/searches"), None);
}
