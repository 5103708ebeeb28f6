//! Who may ask for what.

use super::*;
use crate::http::origin::Callers;

fn status(server: &Server, method: &str, path: &str, headers: &str) -> u16 {
    server.ask(method, path, headers, b"").status
}

#[test]
fn keys_open_what_their_scope_allows() {
    let server = Server::with_keys();
    for (method, path, scope) in [
        ("POST", "/search", 0),
        ("GET", "/documents/a", 0),
        ("GET", "/metrics", 0),
        ("PUT", "/documents", 1),
        ("DELETE", "/documents/a", 1),
        ("POST", "/events", 1),
        ("POST", "/models", 2),
        ("POST", "/models/a/rollback", 2),
    ] {
        let none = server.ask(method, path, "", b"");
        assert_eq!(none.status, 401, "{method} {path}");
        assert!(none.headers["www-authenticate"].starts_with("Bearer"));
        assert_eq!(status(&server, method, path, "x-api-key: wrong\r\n"), 401);
        assert_eq!(status(&server, method, path, "authorization: Basic cmVhZA==\r\n"), 401);
        for (rank, key) in ["read", "write", "admin/1"].into_iter().enumerate() {
            let cookie = key.replace('/', "%2F");
            for header in [
                format!("authorization: Bearer {key}\r\n"),
                format!("x-api-key: {key}\r\n"),
                format!("cookie: a=b; liken_key={cookie}\r\n"),
            ] {
                let status = status(&server, method, path, &header);
                assert_eq!(status == 403, rank < scope, "{method} {path} {header}: {status}");
                assert_ne!(status, 401);
            }
        }
    }
    for open in ["/health", "/ready", "/openapi.json", "/login"] {
        assert!([200, 503].contains(&server.get(open).status), "{open}");
    }
}

#[test]
fn a_key_is_asked_for_before_the_body() {
    let server = Server::with_keys();
    let head = "PUT /documents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 1000\r\nexpect: 100-continue\r\n\r\n";
    assert_eq!(Answer::read(&server.raw(head.as_bytes())).status, 401);
}

#[test]
fn people_log_in_with_a_form() {
    let server = Server::with_keys();
    let to_login = server.ask("GET", "/?q=a%20b", "accept: text/html\r\n", b"");
    assert_eq!(to_login.status, 303);
    assert_eq!(to_login.headers["location"], "/login?next=%2F%3Fq%3Da%2520b");
    assert_eq!(server.get("/").status, 401);
    let form = server.get("/login?next=%2F%3Fq%3D%22%3E%3Cscript%3E");
    let html = String::from_utf8(form.body).unwrap();
    assert!(html.contains("<form") && !html.contains("<script>"), "{html}");
    let media = "content-type: application/x-www-form-urlencoded\r\n";
    let wrong = server.ask("POST", "/login", media, b"key=wrong");
    assert_eq!((wrong.status, wrong.headers.contains_key("set-cookie")), (403, false));
    let right = server.ask("POST", "/login", media, b"key=admin%2F1&next=/compare");
    assert_eq!((right.status, right.headers["location"].as_str()), (303, "/compare"));
    let cookie = &right.headers["set-cookie"];
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let (pair, _) = cookie.split_once(';').unwrap();
    assert_eq!(status(&server, "GET", "/", &format!("cookie: {pair}\r\n")), 200);
    let out = server.ask("POST", "/logout", "", b"");
    assert!(out.headers["set-cookie"].contains("Max-Age=0"));
    assert_eq!(server.ask("POST", "/login", "", b"key=read").status, 415);
    let foreign = format!("{media}origin: https://evil.example\r\n");
    assert_eq!(server.ask("POST", "/login", &foreign, b"key=read").status, 403);
}

#[test]
fn pages_that_change_something_need_more_than_reading() {
    let server = Server::with_keys();
    assert_eq!(status(&server, "GET", "/", "x-api-key: read\r\n"), 200);
    assert_eq!(status(&server, "POST", "/", "x-api-key: read\r\n"), 403);
    assert_eq!(status(&server, "POST", "/", "x-api-key: write\r\n"), 200);
}

#[test]
fn other_names_and_other_sites_are_turned_away() {
    let options = ServeOptions {
        host_names: vec!["Search.example".into()],
        cors_origins: vec!["https://shop.example".into()],
        ..ServeOptions::default()
    };
    let server = Server::with(options, Box::new(|_, _| Ok(true)));
    assert_eq!(status(&server, "GET", "/health", "host: evil.example\r\n"), 421);
    assert_eq!(status(&server, "GET", "/health", "host: search.example\r\n"), 200);
    assert_eq!(status(&server, "GET", "http://evil.example/health", ""), 421);
    let post = |origin: &str| {
        let headers = format!("content-type: application/json\r\norigin: {origin}\r\n");
        server.ask("POST", "/search", &headers, b"{}")
    };
    let evil = post("https://evil.example");
    assert_eq!(
        (evil.status, evil.headers.contains_key("access-control-allow-origin")),
        (403, false)
    );
    let shop = post("https://shop.example");
    assert_eq!(shop.status, 400);
    assert_eq!(shop.headers["access-control-allow-origin"], "https://shop.example");
    assert_eq!(post("http://localhost").status, 400);
    let preflight = |origin: &str| {
        let headers = format!(
            "origin: {origin}\r\naccess-control-request-method: POST\r\n\
             access-control-request-headers: content-type\r\n"
        );
        let answer = server.ask("OPTIONS", "/search", &headers, b"");
        answer.headers.get("access-control-allow-origin").cloned()
    };
    assert_eq!(preflight("https://shop.example").as_deref(), Some("https://shop.example"));
    assert_eq!(preflight("https://evil.example"), None);
}

#[test]
fn without_listed_origins_there_is_no_cors() {
    let server = Server::start(HttpLimits::default());
    let answer = server.ask("GET", "/health", "origin: https://shop.example\r\n", b"");
    assert!(!answer.headers.keys().any(|name| name.starts_with("access-control")));
    let answer = server.ask("OPTIONS", "/search", "origin: https://shop.example\r\n", b"");
    assert_eq!(answer.status, 405);
}

#[test]
fn a_request_keeps_its_id() {
    let server = Server::start(HttpLimits::default());
    let id =
        |headers: &str| server.ask("GET", "/nowhere", headers, b"").headers["x-request-id"].clone();
    assert_eq!(id("x-request-id: trace-1.A_b\r\n"), "trace-1.A_b");
    assert_ne!(id("x-request-id: <b>\r\n"), "<b>");
    assert_ne!(id(""), id(""));
}

#[tokio::test]
async fn a_page_and_the_api_may_share_a_path() {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    let engine = small();
    let allows: Box<Allows> = Box::new(three_keys);
    let state = AppState::with_keys(engine, HttpLimits::default(), Log::none(), allows);
    let pages = Router::new().route("/search", get(|| async { "a page" }));
    let open = Router::new().route("/style.css", get(|| async { "body {}" }));
    let routes = Routes { api: crate::api::router(), pages, open };
    let router = crate::http::router::build(state, routes, Callers::default(), None);
    let status = |method: &str, path: &str, key: &str| {
        let request = Request::builder().method(method).uri(path).header("x-api-key", key);
        let answer = router.clone().oneshot(request.body(Body::empty()).unwrap());
        async { answer.await.unwrap().status().as_u16() }
    };
    assert_eq!(status("GET", "/search", "read").await, 200);
    assert_eq!(status("GET", "/search", "wrong").await, 401);
    assert_eq!(status("POST", "/search", "read").await, 415);
    assert_eq!(status("POST", "/search", "wrong").await, 401);
    assert_eq!(status("PUT", "/search", "wrong").await, 405);
    assert_eq!(status("GET", "/style.css", "wrong").await, 200);
    assert_eq!(status("GET", "/nowhere", "wrong").await, 404);
}
