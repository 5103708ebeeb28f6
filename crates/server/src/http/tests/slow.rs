//! Clients that take their time, and work that does.

use std::sync::{Condvar, Mutex};

use super::*;

static LET_GO: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

/// A page with a thread of its own, which the test lets go.
pub(super) async fn holds() -> &'static str {
    let wait = || drop(CHANGED.wait_while(LET_GO.lock().unwrap(), |go| !*go).unwrap());
    tokio::task::spawn_blocking(wait).await.unwrap();
    "done"
}

fn quick() -> HttpLimits {
    HttpLimits {
        request_seconds: 1.0,
        header_seconds: 0.5,
        write_seconds: 0.5,
        ..HttpLimits::default()
    }
}

#[test]
fn slow_heads_are_cut_off() {
    let server = Server::start(quick());
    let silent = server.connect();
    let mut slow = server.connect();
    slow.write_all(b"GET /health HTTP/1.1\r\nhost: loc").unwrap();
    for mut stream in [silent, slow] {
        let mut answer = Vec::new();
        // Closed, and not left open until the client's own patience ends.
        let read = stream.read_to_end(&mut answer);
        assert!(read.is_ok() || read.unwrap_err().kind() == std::io::ErrorKind::ConnectionReset);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"));
    }
    server.lives();
}

#[test]
fn slow_bodies_are_told_so() {
    let server = Server::start(quick());
    let mut stream = server.connect();
    let head = "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 100\r\n\r\n{\"query\"";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = Answer::read(&answer);
    assert_eq!(answer.status, 408);
    assert!(answer.detail().contains("8 bytes did"), "{}", answer.detail());
    server.lives();
}

#[test]
fn a_body_that_trickles_is_not_waited_for_either() {
    let server = Server::start(quick());
    let mut stream = server.connect();
    let head = "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 1000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut answer = [0; 12];
    reader.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    drop(reader);
    trickle.join().unwrap();
    server.lives();
}

#[test]
fn idle_connections_are_closed() {
    let server = Server::start(quick());
    let mut stream = server.connect();
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn pages_that_never_end_are_given_up() {
    let server = Server::start(quick());
    let answer = server.get("/never");
    assert_eq!(answer.status, 503);
    assert!(answer.headers.contains_key("retry-after"));
    server.lives();
}

#[test]
fn clients_that_do_not_read_are_given_up() {
    let server = Server::start(HttpLimits { connections: 1, ..quick() });
    let mut stream = server.connect();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    // There is one place only: once it is free again, the client that did not read is gone.
    let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    until("the place is free", || server.raw(request).starts_with(b"HTTP/1.1 200"));
}

#[test]
fn pages_that_take_too_long_keep_their_places_until_they_end() {
    let server = Server::start(HttpLimits { threads: 1, ..quick() });
    // There are two places.
    for _ in 0..2 {
        let answer = server.get("/holds");
        assert_eq!(answer.status, 503);
        assert!(answer.detail().contains("no answer within"), "{}", answer.detail());
    }
    for _ in 0..2 {
        let answer = server.get("/");
        assert_eq!(answer.status, 503);
        assert!(answer.detail().contains("no thread became free"), "{}", answer.detail());
    }
    server.lives();
    *LET_GO.lock().unwrap() = true;
    CHANGED.notify_all();
    until("the places are free", || server.get("/").status == 200);
    assert_eq!(server.get("/holds").status, 200);
}

#[test]
fn what_is_sent_to_pages_counts_among_all_bodies() {
    let server = Server::start(HttpLimits { bodies_bytes: 1 << 20, ..HttpLimits::default() });
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    assert_eq!(server.ask("POST", "/", form, &[b'x'; 1 << 19]).status, 200);
    let answer = server.ask("POST", "/", form, &[b'x'; 3 << 19]);
    assert_eq!(answer.status, 503);
    assert!(answer.detail().contains("send too much at the same time"), "{}", answer.detail());
    // Its slot is free again.
    assert_eq!(server.ask("POST", "/", form, &[b'x'; 1 << 19]).status, 200);
}

#[test]
fn who_makes_no_progress_is_not_ready() {
    let limits = HttpLimits { stuck_seconds: 0.05, ..HttpLimits::default() };
    let options = ServeOptions { limits, ..ServeOptions::default() };
    let incidents = options.incidents.clone();
    let server = Server::with(options, Box::new(|_, _| Ok(true)));
    assert_eq!(server.get("/ready").status, 200);
    // What is written behind the engine's back, nobody applies.
    assert_eq!(server.get("/sneaks").status, 200);
    let mut answer = server.get("/ready");
    until("it is not ready", || {
        answer = server.get("/ready");
        assert!(answer.status != 200 || answer.json().get("reason").is_none(), "{answer:?}");
        answer.status != 200
    });
    assert_eq!(answer.status, 503);
    let (written, applied) = (&answer.json()["written"], &answer.json()["applied"]);
    assert!(written.as_u64() > applied.as_u64());
    let reason = answer.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("second: 1;"), "{reason}");
    server.lives();
    incidents.report("the dog ate it");
    let answer = server.get("/ready");
    assert_eq!(answer.status, 503);
    let reason = answer.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.ends_with("; the dog ate it"), "{reason}");
    // The next change takes it along.
    let json = "content-type: application/json\r\n";
    assert_eq!(server.ask("PUT", "/documents/b?wait=true", json, b"{}").status, 200);
    assert_eq!(server.get("/ready").status, 200);
}
