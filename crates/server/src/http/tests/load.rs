//! Many at a time, and what is written down of them.

use std::sync::{Condvar, Mutex};

use super::*;
use crate::http::LogFormat;

static OPEN: Mutex<bool> = Mutex::new(false);
static OPENED: Condvar = Condvar::new();

/// A page that takes a thread until the test lets it go.
pub(super) async fn blocks(state: axum::extract::State<AppState>) -> Result<&'static str, Problem> {
    let wait = |_: &Engine| {
        let open = OPEN.lock().unwrap();
        let _open = OPENED.wait_while(open, |open| !*open).unwrap();
        Ok("done")
    };
    state.run(WorkerPool::Search, wait).await
}

#[test]
fn more_than_may_wait_are_told_to_come_back() {
    let limits =
        HttpLimits { threads: 1, waiting: 2, request_seconds: 600.0, ..HttpLimits::default() };
    let server = Server::start(limits);
    let full = |server: &Server| {
        let text = String::from_utf8(server.get("/metrics").body).unwrap();
        text.contains("liken_requests_waiting 2\n")
    };
    std::thread::scope(|scope| {
        let server = &server;
        let first: Vec<_> = (0..3).map(|_| scope.spawn(|| server.get("/blocks"))).collect();
        until("two wait", || full(server));
        for _ in 0..3 {
            let answer = server.get("/blocks");
            assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (503, "1"));
            assert!(answer.detail().contains("2 requests wait"), "{}", answer.detail());
            // Who does not search is not held up.
            server.lives();
        }
        *OPEN.lock().unwrap() = true;
        OPENED.notify_all();
        for answer in first {
            assert_eq!(answer.join().unwrap().status, 200);
        }
    });
    assert_eq!(server.get("/blocks").status, 200);
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The log of a few requests.
fn logged(queries: bool) -> Vec<Value> {
    let sink = Sink::default();
    let log = Log::new(LogFormat::Json, queries, sink.clone()).unwrap();
    let options = ServeOptions { log, ..ServeOptions::default() };
    let server = Server::with(options, Box::new(|_, _| Ok(true)));
    server.ask("GET", "/searched?q=secret+words", "x-request-id: one\r\n", b"");
    server.ask("GET", "/nowhere", "x-request-id: two\r\n", b"");
    let json = "content-type: application/json\r\nx-request-id: three\r\n";
    server.ask("POST", "/search", json, b"{\"query\": \"secret words\", \"k\": 0}");
    server.stop().unwrap();
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.contains("secret"), queries, "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_request_is_logged_once_and_its_query_only_if_asked_for() {
    for queries in [false, true] {
        let lines = logged(queries);
        let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
        assert_eq!(ids, ["one", "two", "three"]);
        let statuses: Vec<&Value> = lines.iter().map(|line| &line["status"]).collect();
        assert_eq!(statuses, [200, 404, 400]);
        assert_eq!(lines[0]["path"], "/searched");
        assert_eq!(lines[0].get("query").is_some(), queries);
        assert!(lines[2]["problem"].as_str().unwrap().contains("k is 0"));
        assert_eq!(lines[1]["peer"], "127.0.0.1");
    }
}

#[test]
fn requests_are_counted_by_route_and_not_by_what_clients_write() {
    let server = Server::start(HttpLimits::default());
    for n in 0..5 {
        server.get(&format!("/made-up/{n}"));
        server.get(&format!("/documents/{n}"));
        server.ask(&format!("M{n}"), "/search", "", b"");
    }
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    let count = |labels: &str| {
        let name = format!("liken_requests_total{{{labels}");
        let lines = text.lines().filter(|line| line.starts_with(&name));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>()
    };
    assert_eq!(count("route=\"other\",method=\"GET\",status=\"404\""), 5);
    assert_eq!(count("route=\"/documents/{*id}\",method=\"GET\""), 5);
    assert_eq!(count("route=\"/search\",method=\"other\",status=\"405\""), 5);
    assert!(!text.contains("made-up") && !text.contains("M1"), "{text}");
    if cfg!(target_os = "linux") {
        assert!(text.contains("\nprocess_resident_memory_bytes "));
    }
}
