//! Starting, being full, stopping.

use super::*;

static FINISH: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// A page that is done when the test says so.
pub(super) async fn slowly() -> &'static str {
    FINISH.notified().await;
    "done"
}

fn serve_with(options: ServeOptions, open: bool) -> std::io::Error {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = small();
    let allows: Box<Allows> = Box::new(move |_, _| Ok(open));
    let state = AppState::with_keys(engine, options.limits.clone(), Log::none(), allows);
    // Were it to listen, it would stop at once.
    runtime.block_on(serve_state(state, options, async {})).unwrap_err()
}

#[test]
fn an_address_in_use_is_named() {
    let server = Server::start(HttpLimits::default());
    let options = ServeOptions { addr: server.addr, ..ServeOptions::default() };
    let error = serve_with(options, true);
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(error.to_string().contains(&server.addr.to_string()), "{error}");
}

#[test]
fn an_open_index_is_not_offered_to_others_by_accident() {
    let everywhere =
        || ServeOptions { addr: SocketAddr::from(([0, 0, 0, 0], 0)), ..ServeOptions::default() };
    let error = serve_with(everywhere(), true);
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("API key"), "{error}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (open, allow_open) in [(false, false), (true, true)] {
        let allows: Box<Allows> = Box::new(move |_, _| Ok(open));
        let engine = small();
        let state = AppState::with_keys(engine, HttpLimits::default(), Log::none(), allows);
        let options = ServeOptions { allow_open, ..everywhere() };
        assert!(runtime.block_on(serve_state(state, options, async {})).is_ok());
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let limits = HttpLimits { request_seconds: -1.0, ..HttpLimits::default() };
    let error = serve_with(ServeOptions { limits, ..ServeOptions::default() }, true);
    assert!(error.to_string().contains("request_seconds"), "{error}");
    for origin in ["*", "shop.example", "https://shop.example/path", "https://", "a\nb://c"] {
        let cors_origins = vec![origin.to_owned()];
        let error = serve_with(ServeOptions { cors_origins, ..ServeOptions::default() }, true);
        assert!(error.to_string().contains("is no origin"), "{origin}: {error}");
    }
}

#[test]
fn a_full_house_says_so_and_has_room_again_later() {
    let server = Server::start(HttpLimits { connections: 4, ..HttpLimits::default() });
    let mut guests: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    for guest in &mut guests {
        guest.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        guest.read_exact(&mut [0; 12]).unwrap();
    }
    let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answer = String::from_utf8(server.raw(request)).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("retry-after") && answer.contains("too many connections"), "{answer}");
    drop(guests);
    until("a place is free", || server.raw(request).starts_with(b"HTTP/1.1 200"));
}

#[test]
fn what_runs_is_finished_and_nothing_new_begins() {
    let server = Server::start(HttpLimits::default());
    let addr = server.addr;
    let mut running = server.connect();
    let mut idle = server.connect();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    idle.read_exact(&mut [0; 12]).unwrap();
    running.write_all(b"GET /slowly HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    // The request has begun once the service counts it.
    server.until_in_flight(2);
    let stopping = std::thread::spawn(move || server.stop());
    until("nobody is let in", || TcpStream::connect(addr).is_err());
    FINISH.notify_one();
    let mut answer = String::new();
    running.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");
    stopping.join().unwrap().unwrap();
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn what_does_not_end_is_cut_off() {
    let limits =
        HttpLimits { grace_seconds: 0.1, request_seconds: 3600.0, ..HttpLimits::default() };
    let server = Server::start(limits);
    let mut running = server.connect();
    running.write_all(b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    server.until_in_flight(2);
    server.stop().unwrap();
    let mut answer = Vec::new();
    let _ = running.read_to_end(&mut answer);
    assert!(answer.is_empty());
}
