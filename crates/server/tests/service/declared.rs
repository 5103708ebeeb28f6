//! Answers are what the OpenAPI document says, refusals among them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::world::{Answer, QUERIES, Service};

/// What the document says of a method on a path that was asked for.
fn operation<'a>(document: &'a Value, method: &str, path: &str) -> Option<&'a Value> {
    let path = path.split('?').next().unwrap();
    let fits = |template: &str| {
        let (mut names, mut pieces) = (template.split('/'), path.split('/'));
        loop {
            match (names.next(), pieces.next()) {
                (None, None) => return true,
                // An id may hold slashes.
                (Some("{id}"), Some(_)) => return true,
                (Some(name), Some(piece)) if name == piece || name.starts_with('{') => {}
                _ => return false,
            }
        }
    };
    let paths = document["paths"].as_object().unwrap();
    let method = method.to_lowercase();
    // A path without names is meant before one with names.
    let mut found: Vec<(&String, &Value)> =
        paths.iter().filter(|(path, on)| fits(path) && on.get(&method).is_some()).collect();
    found.sort_by_key(|(path, _)| path.contains('{'));
    found.first().map(|(_, on)| &on[&method])
}

/// Panics unless `answer` is what the document says.
#[track_caller]
pub fn check(document: &Value, method: &str, path: &str, answer: &Answer) {
    let Some(operation) = operation(document, method, path) else {
        // Pages are not described, but their refusals look like all others.
        if answer.media() == "application/problem+json" {
            let problem = &document["components"]["responses"]["Problem"];
            content(document, &format!("{method} {path}"), problem, answer);
        }
        return;
    };
    let responses = &operation["responses"];
    let response = responses.get(answer.status.to_string()).unwrap_or(&responses["default"]);
    content(document, &format!("{method} {path}"), response, answer);
}

#[track_caller]
fn content(document: &Value, named: &str, response: &Value, answer: &Answer) {
    let response = resolved(document, response);
    let described = response["content"].get(answer.media());
    let described = described.unwrap_or_else(|| panic!("{named}: media type of {answer:?}"));
    let read = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{named}: {error} in {text}"))
    };
    let checked = match answer.media() {
        "application/x-ndjson" => {
            let mut lines = answer.text.lines();
            lines.try_for_each(|line| fits(document, &described["x-line-schema"], &read(line)))
        }
        media if media.ends_with("json") => {
            fits(document, &described["schema"], &read(&answer.text))
        }
        _ => Ok(()),
    };
    if let Err(problem) = checked {
        panic!("{named}: {problem} in {}", answer.text);
    }
}

fn resolved<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    while let Some(reference) = value.get("$ref") {
        value = document.pointer(reference.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
    }
    value
}

/// Whether `value` is what `schema` describes. Fields that it does not name are a mistake, too:
/// nobody would know of them.
fn fits(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let schema = resolved(document, schema);
    if let Some(any) = schema.as_bool() {
        return if any { Ok(()) } else { Err(format!("{value}: nothing is allowed")) };
    }
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    if let Some(ways) = list("anyOf").or_else(|| list("oneOf")) {
        let mut tried = ways.iter().map(|way| fits(document, way, value));
        if !tried.any(|fit| fit.is_ok()) {
            return Err(format!("{value} is none of {ways:?}"));
        }
    }
    for part in list("allOf").into_iter().flatten() {
        fits(document, part, value)?;
    }
    if let Some(values) = list("enum")
        && !values.contains(value)
    {
        return Err(format!("{value} is none of {values:?}"));
    }
    if let Some(kind) = schema.get("type") {
        let kinds: Vec<&str> = match kind {
            Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
            kind => vec![kind.as_str().unwrap()],
        };
        let is = match value {
            Value::Null => &["null"][..],
            Value::Bool(_) => &["boolean"],
            Value::Number(number) if number.is_f64() => &["number"],
            Value::Number(_) => &["integer", "number"],
            Value::String(_) => &["string"],
            Value::Array(_) => &["array"],
            Value::Object(_) => &["object"],
        };
        if !is.iter().any(|kind| kinds.contains(kind)) {
            return Err(format!("{value}: expected {kinds:?}"));
        }
    }
    match value {
        Value::Array(values) => {
            let Some(items) = schema.get("items") else { return Ok(()) };
            values.iter().try_for_each(|value| fits(document, items, value))
        }
        Value::Object(fields) => fields_fit(document, schema, fields),
        _ => Ok(()),
    }
}

fn fields_fit(document: &Value, schema: &Value, fields: &Map<String, Value>) -> Result<(), String> {
    let (known, others) = (schema.get("properties"), schema.get("additionalProperties"));
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !fields.contains_key(name.as_str().unwrap()) {
            return Err(format!("{name} is missing"));
        }
    }
    for (name, value) in fields {
        match (known.and_then(|known| known.get(name)), others) {
            (Some(schema), _) | (None, Some(schema)) => {
                fits(document, schema, value).map_err(|problem| format!("{name}: {problem}"))?;
            }
            (None, None) if known.is_some() => return Err(format!("{name} is not described")),
            (None, None) => {}
        }
    }
    Ok(())
}

#[test]
fn every_route_answers_as_the_document_says() {
    let service = Service::start();
    let other = service.path("other").display().to_string();
    let version = |name: &str| -> Vec<String> {
        let models = service.send("GET", "/models", None, None).json();
        let named = models.as_array().unwrap().iter().filter(|model| model["name"] == name);
        named.map(|model| model["version"].as_str().unwrap().to_owned()).collect()
    };
    let first = version("pls").remove(0);
    let event = json!({ "kind": "click", "query": "waax", "id": "d00", "rank": 1,
        "shown": ["d00", "d06"], "session": "s", "time": 1.5 });
    let search = json!({ "query": QUERIES[1], "models": ["bm25", "pls"], "explain": true,
        "highlight": true, "diversify": { "lambda": 0.5 } });
    let search_lines = json!({ "query": QUERIES[0], "filter": { "topic": 0 }, "fields": [] });
    let asked = [
        ("POST", "/search", search),
        ("POST", "/search", search_lines),
        (
            "POST",
            "/rerank",
            json!({ "query": QUERIES[1], "models": ["pls", "bm25"], "ids": ["d00", "d01", "no"],
                "documents": [{ "id": "mine", "title": "waax wabx" }] }),
        ),
        (
            "POST",
            "/embed",
            json!({ "queries": [QUERIES[1]], "ids": ["d00"], "documents": [{ "title": "waax" }] }),
        ),
        ("POST", "/similar", json!({ "id": "d00" })),
        ("POST", "/similar", json!({ "query": QUERIES[1] })),
        ("POST", "/similar", json!({ "word": "waax" })),
        (
            "POST",
            "/explain",
            json!({ "search": { "query": QUERIES[0], "models": ["bm25", "pls"] }, "id": "d00" }),
        ),
        ("PUT", "/documents?wait=true", json!([{ "id": "n/1", "title": "waax" }, { "id": "n2" }])),
        ("POST", "/documents", json!({ "id": "n3", "title": "waax" })),
        ("GET", "/documents/n/1", Value::Null),
        ("PUT", "/documents/n2", json!({ "title": "wabx", "tags": ["a"], "n": null })),
        ("DELETE", "/documents/n2", Value::Null),
        ("POST", "/documents/delete", json!({ "ids": ["n3", "nobody"] })),
        ("POST", "/events", json!([event, { "kind": "click", "query": "q", "id": "d01" }])),
        ("GET", "/events", Value::Null),
        (
            "POST",
            "/judgments",
            json!([{ "query": "waax", "id": "d00", "grade": 2, "judge": "ann" },
                { "query": "waax", "id": "d01", "grade": 0 }]),
        ),
        ("GET", "/judgments", Value::Null),
        ("GET", "/judgments.qrels", Value::Null),
        ("GET", "/judgments.queries", Value::Null),
        ("POST", "/models", json!({ "name": "pls", "path": other, "activate": true })),
        ("GET", "/models", Value::Null),
        ("POST", "/models/pls/rollback", Value::Null),
        ("POST", "/models/pls/activate", json!({ "version": first })),
        ("GET", "/health", Value::Null),
        ("GET", "/ready", Value::Null),
        ("GET", "/metrics", Value::Null),
        ("GET", "/openapi.json", Value::Null),
    ];
    let document = liken_server::api::openapi_document();
    let mut seen = BTreeSet::new();
    for (method, path, body) in asked {
        let text = body.to_string();
        let body = (!body.is_null()).then_some(("application/json", text.as_str()));
        let answer = service.send(method, path, None, body);
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        assert!(!answer.text.is_empty(), "{method} {path}");
        let operation = operation(&document, method, path).unwrap();
        seen.insert(operation["operationId"].as_str().unwrap());
    }
    let paths = document["paths"].as_object().unwrap().values();
    let all: BTreeSet<&str> = paths
        .flat_map(|methods| methods.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(seen, all, "every route is asked once here");
    assert_eq!(version("pls").len(), 2);
}

#[test]
fn refusals_are_described_problems() {
    let service = Service::start();
    let json = Some(("application/json", r#"{"query": "waax", "kk": 1}"#));
    let long = format!(r#"{{"query": "{}"}}"#, "x".repeat(2 << 20));
    for (status, kind, method, path, body) in [
        (400, "bad-request", "POST", "/search", json),
        (400, "bad-request", "GET", "/events?limit=0", None),
        (404, "not-found", "GET", "/documents/nobody", None),
        (404, "not-found", "GET", "/nowhere", None),
        (404, "not-found", "POST", "/models/nobody/rollback", None),
        (405, "method-not-allowed", "DELETE", "/search", None),
        (413, "too-large", "POST", "/search", Some(("application/json", long.as_str()))),
        (415, "unsupported-media-type", "POST", "/search", Some(("text/plain", "{}"))),
    ] {
        let answer = service.send(method, path, None, body);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(answer.media(), "application/problem+json");
        let problem: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:liken:problem:{kind}"), "{problem}");
        assert_eq!(problem["instance"], answer.headers["x-request-id"]);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
}

#[test]
fn what_is_not_described_is_noticed() {
    let document = json!({ "components": { "schemas": { "Neighbour": {
        "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string" }, "cosine": { "type": ["number", "null"] } },
    } } } });
    let schema = json!({ "type": "array", "items": { "$ref": "#/components/schemas/Neighbour" } });
    let check = |value: Value| fits(&document, &schema, &value).is_ok();
    assert!(check(json!([{ "name": "a", "cosine": 0.5 }, { "name": "b", "cosine": null }])));
    assert!(!check(json!([{ "cosine": 0.5 }])), "a field is missing");
    assert!(!check(json!([{ "name": "a", "more": 1 }])), "nobody knows of it");
    assert!(!check(json!([{ "name": 3 }])));
    assert!(!check(json!({ "name": "a" })));
}
