//! Clients that take their time.

use super::*;

fn quick() -> Limits {
    Limits { request_seconds: 1.0, header_seconds: 0.5, write_seconds: 0.5, ..Limits::default() }
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
    let server = Server::start(Limits { connections: 1, ..quick() });
    let mut stream = server.connect();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    // There is one place only: once it is free again, the client that did not read is gone.
    while !server
        .raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .starts_with(b"HTTP/1.1 200")
    {
        std::thread::sleep(Duration::from_millis(20));
    }
}
