//! Who may call what.

use std::collections::{BTreeMap, BTreeSet};

use liken_engine::types::Scope;
use serde_json::json;

use crate::world::{Service, until};

const ALL: Option<Scope> = None;
const READ: Option<Scope> = Some(Scope::Read);
const WRITE: Option<Scope> = Some(Scope::Write);
const ADMIN: Option<Scope> = Some(Scope::Admin);

/// Every route of the service and the least scope that a key must have for it.
const ROUTES: [(&str, &str, Option<Scope>); 44] = [
    ("POST", "/search", READ),
    ("POST", "/rerank", READ),
    ("POST", "/embed", READ),
    ("POST", "/similar", READ),
    ("POST", "/explain", READ),
    ("PUT", "/documents", WRITE),
    ("POST", "/documents", WRITE),
    ("GET", "/documents/{*id}", READ),
    ("PUT", "/documents/{*id}", WRITE),
    ("DELETE", "/documents/{*id}", WRITE),
    ("POST", "/documents/delete", WRITE),
    // A document may be called "delete".
    ("GET", "/documents/delete", READ),
    ("PUT", "/documents/delete", WRITE),
    ("DELETE", "/documents/delete", WRITE),
    ("POST", "/events", WRITE),
    // What people searched for is not for everybody who may search.
    ("GET", "/events", WRITE),
    ("POST", "/judgments", WRITE),
    ("GET", "/judgments", READ),
    ("GET", "/judgments.qrels", READ),
    ("GET", "/judgments.queries", READ),
    ("GET", "/models", READ),
    ("POST", "/models", ADMIN),
    ("POST", "/models/{name}/activate", ADMIN),
    ("POST", "/models/{name}/rollback", ADMIN),
    ("GET", "/health", ALL),
    ("GET", "/ready", ALL),
    ("GET", "/metrics", READ),
    ("GET", "/openapi.json", ALL),
    ("GET", "/login", ALL),
    ("POST", "/login", ALL),
    ("POST", "/logout", ALL),
    ("GET", "/assets/style.css", ALL),
    ("GET", "/assets/script.js", ALL),
    ("GET", "/", READ),
    ("GET", "/explain", READ),
    ("GET", "/judge", READ),
    ("POST", "/judge", WRITE),
    ("GET", "/compare", READ),
    ("GET", "/model", READ),
    ("GET", "/data", READ),
    ("GET", "/topics", READ),
    ("POST", "/runs", WRITE),
    ("POST", "/runs/delete", WRITE),
    ("GET", "/nowhere", ALL),
];

/// A path with something in place of its names.
fn filled(path: &str) -> String {
    let pieces = path.split('/').map(|piece| if piece.starts_with('{') { "x" } else { piece });
    pieces.collect::<Vec<_>>().join("/")
}

/// The paths of the router that serves. It has no list of them, but it shows them.
fn paths(service: &Service) -> BTreeSet<String> {
    let routes = liken_server::routes(&service.path("index"));
    let shown = format!("{:?}{:?}{:?}", routes.api, routes.pages, routes.open);
    let routes = shown.split("RouteId(").filter_map(|rest| {
        let (_, path) = rest.split_once("): \"")?;
        path.starts_with('/').then(|| path.split('"').next().unwrap().to_owned())
    });
    // The login belongs to what is around the routes.
    let around = ["/login", "/logout"].map(str::to_owned);
    routes.filter(|path| !path.contains("__private__")).chain(around).collect()
}

#[test]
fn the_table_has_every_route() {
    let service = Service::start();
    let mut expected: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (method, path, _) in ROUTES.iter().filter(|(_, path, _)| *path != "/nowhere") {
        assert!(expected.entry((*path).to_owned()).or_default().insert(method), "{path} twice");
    }
    let paths = paths(&service);
    assert_eq!(paths, expected.keys().cloned().collect());
    for path in paths {
        // The service says which methods a path has to those who come with another one.
        let answer = service.send("PATCH", &filled(&path), None, None);
        assert_eq!(answer.status, 405, "{path}");
        let methods: BTreeSet<&str> =
            answer.headers["allow"].split(',').filter(|method| *method != "HEAD").collect();
        assert_eq!(methods, expected[&path], "{path}");
    }
}

#[test]
fn the_document_says_which_scope_is_needed() {
    let document = liken_server::api::openapi_document();
    let mut described = 0;
    for (method, path, scope) in ROUTES {
        let path = path.replace("{*", "{");
        let Some(operation) = document["paths"][&path].get(method.to_lowercase()) else { continue };
        let words = match scope {
            Some(scope) => format!("this needs one with the scope `{}`.", scope.name()),
            None => "No API key is needed.".to_owned(),
        };
        let description = operation["description"].as_str().unwrap();
        assert!(description.ends_with(&words), "{method} {path}: {description}");
        assert_eq!(operation["security"] == json!([]), scope.is_none(), "{method} {path}");
        described += 1;
    }
    let paths = document["paths"].as_object().unwrap().values();
    assert_eq!(described, paths.map(|methods| methods.as_object().unwrap().len()).sum::<usize>());
}

#[test]
fn every_route_asks_for_its_scope() {
    let service = Service::start();
    let keys = [Scope::Read, Scope::Write, Scope::Admin].map(|scope| (scope, service.key(scope)));
    let revoked = service.keys().add_key("revoked", Scope::Admin).unwrap();
    service.keys().revoke_key("revoked").unwrap();
    for (method, path, needed) in ROUTES {
        let status = |key: Option<&str>| service.send(method, &filled(path), key, None).status;
        let unknown_keys = [None, Some("lk_wrong"), Some(revoked.as_str())];
        for key in unknown_keys {
            let status = status(key);
            let named = format!("{method} {path} with {key:?}: {status}");
            match needed {
                Some(_) => assert_eq!(status, 401, "{named}"),
                None => assert!(![401, 403].contains(&status), "{named}"),
            }
        }
        for (scope, key) in &keys {
            let status = status(Some(key));
            let named = format!("{method} {path} with {scope:?}: {status}");
            match needed {
                Some(needed) if *scope < needed => assert_eq!(status, 403, "{named}"),
                _ => assert!(![401, 403, 405].contains(&status), "{named}"),
            }
        }
    }
}

#[test]
fn without_keys_everything_is_open() {
    let service = Service::start();
    for (method, path, _) in ROUTES {
        for key in [None, Some("lk_wrong")] {
            let status = service.send(method, &filled(path), key, None).status;
            assert!(![401, 403, 405].contains(&status), "{method} {path}: {status}");
        }
    }
}

#[test]
fn events_are_not_for_those_who_may_only_read() {
    let service = Service::start();
    let event = json!({ "kind": "click", "query": "secret words", "id": "d00" });
    service.post("/events", &event);
    let [read, write] = [Scope::Read, Scope::Write].map(|scope| service.key(scope));
    until("keys are asked for", || service.send("GET", "/events", None, None).status == 401);
    let refused = service.send("GET", "/events", Some(&read), None);
    assert_eq!(refused.status, 403);
    assert!(refused.detail().contains("write") && !refused.text.contains("secret"), "{refused:?}");
    let events = service.send("GET", "/events", Some(&write), None);
    assert_eq!((events.status, events.text.contains("secret words")), (200, true));
}

#[test]
fn the_first_key_closes_an_open_service() {
    let service = Service::start();
    let search = ("application/json", r#"{"query": "waax"}"#);
    let status = |key: Option<&str>| service.send("POST", "/search", key, Some(search)).status;
    assert_eq!(status(None), 200);
    let key = service.key(Scope::Read);
    // That there is no key may be remembered for a moment.
    until("the key is asked for", || status(None) == 401);
    for (method, path, needed) in ROUTES {
        let status = service.send(method, &filled(path), None, None).status;
        assert_eq!(status == 401, needed.is_some(), "{method} {path}: {status}");
    }
    assert_eq!((status(Some(&key)), status(Some("lk_wrong")), status(None)), (200, 401, 401));
    let put = service.send("PUT", "/documents/x", Some(&key), Some(("application/json", "{}")));
    assert_eq!(put.status, 403);
    // Nor does it open again when the key is gone.
    service.keys().revoke_key("Read").unwrap();
    assert_eq!((status(Some(&key)), status(None)), (401, 401));
}
