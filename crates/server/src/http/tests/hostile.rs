//! What a client may try, and what it hears: never a panic, always a reason, and the next one is
//! served.

use super::*;

#[test]
fn bad_searches_are_refused_with_the_reason() {
    let server = Server::start(HttpLimits::default());
    let deep = format!("{{\"filter\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"query\": \"{}\"}}", "x".repeat(5000));
    for (body, expected) in [
        ("", "it is empty"),
        ("{", "breaks off"),
        ("nonsense", "line 1"),
        ("[]", "expected an object"),
        ("[\"a\"]", "expected an object"),
        ("3", "expected an object"),
        ("{}", "query is empty"),
        (r#"{"query": "  "}"#, "query is empty"),
        (r#"{"query": "a", "k": 0}"#, "k is 0: expected a whole number from 1 to 10000"),
        (r#"{"query": "a", "k": 1000000000}"#, "k is 1000000000"),
        (r#"{"query": "a", "k": 99999999999999999999999}"#, "field k"),
        (r#"{"query": "a", "k": -1}"#, "field k"),
        (r#"{"query": "a", "k": 1.5}"#, "field k"),
        (r#"{"query": "a", "k": 10, "offset": 9999}"#, "offset 9999 and k 10"),
        (r#"{"query": "a", "offset": 18446744073709551615}"#, "offset"),
        (r#"{"query": "a", "size": 3}"#, "unknown field `size`"),
        (r#"{"query": "a", "query": "b"}"#, "the field `query` is given twice"),
        (r#"{"query": "a", "filter": {"x": 1, "x": 2}}"#, "the field `x` is given twice"),
        (r#"{"query": "a", "filter": {"x": 9007199254740993}}"#, "9007199254740993"),
        (r#"{"query": "a", "fusion": {"weights": {"m": NaN}}}"#, "field fusion.weights.m"),
        (r#"{"query": "a", "fusion": {"weights": {"m": Infinity}}}"#, "field fusion.weights.m"),
        (r#"{"query": "a", "fusion": {"weights": {"m": 1e999}}}"#, "too large"),
        (r#"{"query": "a", "fusion": {"weights": {"m": -1}}}"#, "fusion.weights.m is -1"),
        (r#"{"query": "a", "diversify": {"lambda": 2}}"#, "lambda is 2"),
        (r#"{"query": "\ud800"}"#, "line 1"),
        (deep.as_str(), "nested too deeply"),
        (long.as_str(), "5000 bytes long"),
    ] {
        let answer = server.post("/search", body);
        assert_eq!(answer.status, 400, "{body:.80}");
        assert!(answer.detail().contains(expected), "{body:.80}: {}", answer.detail());
    }
    let answer = server.post("/search", b"{\"query\": \"\xc3\x28\"}");
    assert_eq!(answer.status, 400);
    assert!(answer.detail().contains("not UTF-8"), "{}", answer.detail());
    server.lives();
}

#[test]
fn other_requests_are_held_to_limits_too() {
    let server = Server::start_within(
        HttpLimits { documents: 3, ..HttpLimits::default() },
        liken_engine::Limits { ids: 3, ..liken_engine::Limits::default() },
    );
    for (path, body, expected) in [
        ("/rerank", r#"{"query": "a"}"#, "no ids and documents"),
        ("/rerank", r#"{"query": "a", "ids": ["1", "2", "3", "4"]}"#, "4 ids"),
        ("/embed", "{}", "at least one"),
        ("/similar", r#"{"word": "a", "query": "b"}"#, "2 of them"),
        ("/explain", r#"{"search": {"query": "a"}}"#, "id is empty"),
        ("/documents", "[]", "holds no documents"),
        ("/documents", r#"{"title": "x"}"#, "number 1: the id is missing"),
        ("/documents", r#"[{"id": "a"}, 3]"#, "number 2: expected an object"),
        ("/documents/delete", r#"{"ids": []}"#, "ids is empty"),
        ("/events", r#"{"kind": "tap", "query": "a"}"#, "number 1: kind is \"tap\""),
        ("/events", r#"{"knd": "click"}"#, "unknown field"),
        ("/events", r#"[["click", "a"]]"#, "number 1: expected an object"),
        ("/judgments", r#"{"query": "a", "id": "b", "grade": 300}"#, "number 1: "),
        ("/models", r#"{"name": "", "path": ""}"#, "a name and a path"),
        ("/models", r#"{"name": "a"}"#, "the field `path` is missing"),
        ("/documents", r#"{"id": "a", "x": {"y": 1, "y": 2}}"#, "the field `y` is given twice"),
        ("/documents", r#"{"id": "a\u0001"}"#, "control character"),
        ("/judgments", r#"{"query": "a", "id": "b"}"#, "the field `grade` is missing"),
        ("/judgments", r#"{"query": "a", "id": "b c", "grade": 1}"#, "white space"),
        ("/judgments", r#"{"query": "a", "id": "b", "grade": 101}"#, "from 0 to 100"),
        ("/models/rmls/activate", r#"{"version": 3}"#, "field version"),
    ] {
        let answer = server.post(path, body);
        assert_eq!(answer.status, 400, "{path} {body}");
        assert!(answer.detail().contains(expected), "{path} {body}: {}", answer.detail());
    }
    let many = server.post("/documents", r#"[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"}]"#);
    assert_eq!((many.status, many.detail().contains("more than 3 documents")), (413, true));
    let lines = "content-type: application/x-ndjson\r\n";
    let answer =
        server.ask("POST", "/documents", lines, b"{\"id\":\"a\"}\n\n{\"id\":\n{\"x\":1}\n");
    assert_eq!(answer.status, 400);
    let detail = answer.detail();
    assert!(
        detail.contains("line 3: it breaks off") && detail.contains("line 4: the id is missing")
    );
    // All bad, and none written: the engine has nothing to do.
    let answer = server.ask("PUT", "/documents?lenient=true", lines, b"x\n{\"x\":1}\n");
    assert_eq!(answer.status, 200);
    let written = answer.json();
    assert_eq!((&written["written"], &written["refused"]), (&0.into(), &2.into()));
    assert_eq!(written["examples"][1]["line"], 2);
    server.lives();
}

#[test]
fn a_document_is_no_longer_than_its_limit_however_it_comes() {
    let server = Server::start(HttpLimits { document_bytes: 40, ..HttpLimits::default() });
    let long = format!(r#"{{"title": "{}"}}"#, "x".repeat(40));
    let with_id = format!(r#"{{"id": "a", "title": "{}"}}"#, "x".repeat(40));
    for (method, path, body) in [("PUT", "/documents/a", &long), ("POST", "/documents", &with_id)] {
        let answer =
            server.ask(method, path, "content-type: application/json\r\n", body.as_bytes());
        assert_eq!(answer.status, 400, "{method}");
        assert!(answer.detail().contains("at most 40"), "{method}: {}", answer.detail());
    }
    server.lives();
}

#[test]
fn parameters_are_checked() {
    let server = Server::start(HttpLimits::default());
    for (path, expected) in [
        ("/events?limit=0", "limit is 0"),
        ("/events?limit=1000000000", "limit is 1000000000"),
        ("/events?limit=ten", "expected a whole number"),
        ("/events?after=-1", "expected a whole number"),
        ("/events?afterwards=1", "unknown parameter \"afterwards\""),
        ("/events?after=1&after=2", "given twice"),
        ("/events?after=%zz", "hexadecimal"),
        ("/judgments?query=%ff", "not UTF-8"),
        ("/health?x=%3Cscript%3E", "unknown parameter"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.detail().contains(expected), "{path}: {}", answer.detail());
    }
    server.lives();
}

#[test]
fn ids_in_paths_are_just_ids() {
    let server = Server::start(HttpLimits::default());
    for path in [
        "/documents/../../etc/passwd",
        "/documents/..%2f..%2fetc%2fpasswd",
        "/documents//",
        "/documents/delete",
        "/documents/a/b/c",
        "/documents/%3Cscript%3E",
        "/documents/.",
        "/documents/C:%5Cx",
    ] {
        // An index that answers does not know them; one that does not says so. Neither is a
        // question of where they lead.
        let answer = server.get(path);
        assert!([404, 503].contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.detail().contains("nothing is at"), "{path}: {answer:?}");
        assert!([404, 503, 200].contains(&server.ask("DELETE", path, "", b"").status), "{path}");
    }
    assert_eq!(server.get("/documents/%00").status, 400);
    assert_eq!(server.get("/documents/%ff").status, 400);
    assert_eq!(server.get("/documents/%").status, 400);
    assert_eq!(server.get(&format!("/documents/{}", "x".repeat(2000))).status, 400);
    assert!(server.get("/documents/").detail().contains("nothing is at"));
    let answer =
        server.ask("PUT", "/documents/a", "content-type: application/json\r\n", b"{\"id\":\"b\"}");
    assert_eq!((answer.status, answer.detail().contains("in the address")), (400, true));
    server.lives();
}

#[test]
fn unknown_paths_and_methods_are_problems() {
    let server = Server::start(HttpLimits::default());
    for path in ["/nowhere", "/search/", "//search", "/models/a/b/c", "/SEARCH", "/%2e%2e/"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    for (method, path, allow) in [
        ("GET", "/search", "POST"),
        ("DELETE", "/documents", "PUT"),
        ("BREW", "/health", "GET"),
        ("POST", "/health", "GET"),
    ] {
        let answer = server.ask(method, path, "", b"");
        assert_eq!(answer.status, 405, "{method} {path}");
        assert!(answer.headers["allow"].contains(allow), "{answer:?}");
    }
    let head = server.ask("HEAD", "/health", "", b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let page = server.ask("GET", "/no%3Cb%3Ewhere", "accept: text/html\r\n", b"");
    assert_eq!(
        (page.status, page.headers["content-type"].as_str()),
        (404, "text/html; charset=utf-8")
    );
    assert!(!String::from_utf8_lossy(&page.body).contains("<b>"));
    server.lives();
}

#[test]
fn bodies_of_other_types_and_sizes_are_refused() {
    let limits = HttpLimits {
        question_bytes: 1000,
        body_bytes: 1500,
        bulk_bytes: 3000,
        ..HttpLimits::default()
    };
    let server = Server::start(limits);
    let body = br#"{"query": "a"}"#;
    for media in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: multipart/form-data; boundary=x\r\n",
        "content-type: application/json; charset=utf-16\r\n",
        "content-type: application/x-ndjson\r\n",
        "content-type: application/json\r\ncontent-encoding: gzip\r\n",
    ] {
        assert_eq!(server.ask("POST", "/search", media, body).status, 415, "{media}");
    }
    let large = format!("{{\"query\": \"{}\"}}", "x".repeat(2000));
    let answer = server.post("/search", &large);
    assert_eq!(answer.status, 413);
    assert!(answer.detail().contains("longer than 1000 bytes"), "{}", answer.detail());
    let answer = server.post("/rerank", &large);
    assert_eq!(answer.status, 413);
    assert!(answer.detail().contains("longer than 1500 bytes"), "{}", answer.detail());
    // The same without a promise of its length.
    let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let chunks = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let request = format!(
        "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{chunked}\r\n{chunks}"
    );
    assert_eq!(Answer::read(&server.raw(request.as_bytes())).status, 413);
    // NDJSON may be longer, but not endless.
    let lines = "content-type: application/x-ndjson\r\n";
    let line = |n: usize| format!("{{\"id\": \"a\", \"text\": \"{}\"}}\n", "x".repeat(n));
    let status = |n: usize| server.ask("POST", "/documents", lines, line(n).as_bytes()).status;
    assert!([200, 503].contains(&status(2000)));
    assert_eq!(status(4000), 413);
    server.lives();
}

#[test]
fn a_huge_body_is_refused_before_it_is_sent() {
    let server = Server::start(HttpLimits::default());
    let head = "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 100000000000\r\n\
        expect: 100-continue\r\n\r\n";
    assert_eq!(Answer::read(&server.raw(head.as_bytes())).status, 413);
    // A client that sends all the same hears it, too.
    let mut bytes = head.replace("expect: 100-continue\r\n", "").into_bytes();
    bytes.resize(bytes.len() + (9 << 20), b' ');
    assert_eq!(Answer::read(&server.raw(&bytes)).status, 413);
    server.lives();
}

#[test]
fn bodies_together_take_no_more_than_allowed() {
    let limits = HttpLimits { bodies_bytes: 256 << 10, ..HttpLimits::default() };
    let server = Server::start(limits);
    let large = vec![b' '; 512 << 10];
    let answer = server.post("/search", &large);
    assert_eq!(answer.status, 503);
    assert!(answer.detail().contains("send too much at the same time"), "{}", answer.detail());
    assert_eq!(answer.headers["retry-after"], "1");
    // What was refused takes nothing any more.
    assert_eq!(server.post("/search", vec![b' '; 200 << 10]).status, 400);
    server.lives();
}

#[test]
fn what_is_not_http_is_refused() {
    let server = Server::start(HttpLimits::default());
    let many: String = (0..500).map(|n| format!("x-{n}: y\r\n")).collect();
    let huge = format!("x: {}\r\n", "y".repeat(1 << 20));
    let request =
        |headers: &str| format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    for garbage in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"\0\0\0\0\r\n\r\n".to_vec(),
        b"HELLO\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET /<script> HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        b"GET * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".to_vec(),
        b"CONNECT evil.example:80 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
            .to_vec(),
        request(&many).into_bytes(),
        request(&huge).into_bytes(),
        request("content-length: 1\r\ncontent-length: 2\r\n").into_bytes(),
        request("content-length: -1\r\n").into_bytes(),
        request("a b: c\r\n").into_bytes(),
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(1 << 20)).into_bytes(),
    ] {
        let answer = server.raw(&garbage);
        let line = String::from_utf8_lossy(&answer[..answer.len().min(20)]).into_owned();
        assert!(answer.is_empty() || line.starts_with("HTTP/1.1 4"), "{line}");
        server.lives();
    }
}

#[test]
fn broken_chunks_are_refused() {
    let server = Server::start(HttpLimits::default());
    let head = "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = Answer::read(&server.raw(format!("{head}zz\r\nxx\r\n").as_bytes()));
    assert_eq!((answer.status, answer.detail().contains("broke off")), (400, true));
    server.lives();
}

#[test]
fn requests_in_one_go_are_answered_in_their_order() {
    let server = Server::start(HttpLimits::default());
    let mut all = String::new();
    for n in 0..20 {
        let path = if n % 2 == 0 { "/health" } else { "/nowhere" };
        let last = if n == 19 { "connection: close\r\n" } else { "" };
        all.push_str(&format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nx-request-id: r{n}\r\n{last}\r\n"
        ));
    }
    let text = String::from_utf8(server.raw(all.as_bytes())).unwrap();
    let ids: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("x-request-id: ")).collect();
    let expected: Vec<String> = (0..20).map(|n| format!("r{n}")).collect();
    assert_eq!(ids, expected);
    assert_eq!(text.matches("HTTP/1.1 200").count(), 10);
    assert_eq!(text.matches("HTTP/1.1 404").count(), 10);
}

#[test]
fn panics_are_problems_and_keep_their_secrets() {
    let server = Server::start(HttpLimits::default());
    for path in ["/panics", "/panics-on-a-thread"] {
        for _ in 0..5 {
            let answer = server.get(path);
            assert_eq!(answer.status, 500);
            assert!(!String::from_utf8_lossy(&answer.body).contains("secret"));
        }
    }
    server.lives();
}
