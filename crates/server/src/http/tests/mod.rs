//! A service on a port of its own, asked byte by byte.

mod access;
mod hostile;
mod lifecycle;
mod load;
mod slow;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use liken_engine::types::Scope;
use liken_engine::{Engine, Settings};
use serde_json::Value;

use super::keys::Allows;
use super::serve::serve_state;
use super::{AppState, HttpLimits, Log, Routes, ServeOptions, WorkerPool};
use crate::problem::Problem;
use crate::testing::{small, small_with};

/// Waits until `there` says so; nothing depends on how long that takes.
#[track_caller]
pub(super) fn until(what: &str, mut there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !there() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A service that stops when it is dropped.
pub(crate) struct Server {
    pub addr: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

/// The keys `read`, `write` and `admin`, each with the scope that it is called after.
fn three_keys(key: Option<&str>, scope: Scope) -> Result<bool, Problem> {
    Ok(match key {
        Some("read") => scope == Scope::Read,
        Some("write") => scope <= Scope::Write,
        Some("admin/1") => true,
        _ => false,
    })
}

/// Pages that misbehave.
fn pages() -> Router<AppState> {
    async fn panics() -> &'static str {
        panic!("by intent: the secret is 42")
    }
    async fn panics_on_a_thread(state: axum::extract::State<AppState>) -> Result<(), Problem> {
        state.run(WorkerPool::Search, |_| panic!("by intent")).await
    }
    async fn never() -> &'static str {
        std::future::pending().await
    }
    async fn large() -> Vec<u8> {
        vec![b'x'; 64 << 20]
    }
    async fn searched() -> axum::response::Response {
        let mut response = super::json(&"found");
        response.extensions_mut().insert(super::SearchedFor("secret words".into()));
        response
    }
    async fn sneaks(state: axum::extract::State<AppState>) -> Result<(), Problem> {
        let write = |engine: &Engine| {
            Ok(engine.store().upsert(vec![("sneaked".into(), serde_json::Map::new())])?)
        };
        state.run(WorkerPool::Store, write).await.map(drop)
    }
    Router::new()
        .route("/", get(|| async { "a page" }).post(|| async { "changed" }))
        .route("/panics", get(panics))
        .route("/panics-on-a-thread", get(panics_on_a_thread))
        .route("/never", get(never))
        .route("/large", get(large))
        .route("/slowly", get(lifecycle::slowly))
        .route("/searched", get(searched))
        .route("/blocks", get(load::blocks))
        .route("/holds", get(slow::holds))
        .route("/sneaks", get(sneaks))
}

impl Server {
    /// Without keys.
    pub(crate) fn start(limits: HttpLimits) -> Self {
        Server::start_within(limits, liken_engine::Limits::default())
    }

    /// With an engine that holds requests to `of_engine`.
    fn start_within(limits: HttpLimits, of_engine: liken_engine::Limits) -> Self {
        let options = ServeOptions { limits, ..ServeOptions::default() };
        let engine = move || small_with(Settings { limits: of_engine, ..Settings::default() });
        Server::of(engine, options, Box::new(|_, _| Ok(true)))
    }

    /// With [`three_keys`].
    pub(crate) fn with_keys() -> Self {
        Server::with(ServeOptions::default(), Box::new(three_keys))
    }

    fn with(options: ServeOptions, allows: Box<Allows>) -> Self {
        Server::of(small, options, allows)
    }

    fn of(
        engine: impl FnOnce() -> Arc<Engine> + Send + 'static,
        mut options: ServeOptions,
        allows: Box<Allows>,
    ) -> Self {
        let (told, hears) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            let engine = engine();
            let limits = options.limits.clone();
            let log = std::mem::replace(&mut options.log, Log::none());
            let state = AppState::with_keys(engine, limits, log, allows);
            let options = ServeOptions {
                addr: SocketAddr::from(([127, 0, 0, 1], 0)),
                listening: Some(Box::new(move |addr| told.send(addr).unwrap())),
                routes: Routes { api: crate::api::router(), pages: pages(), ..Routes::default() },
                ..options
            };
            let shutdown = async {
                let _ = stopped.await;
            };
            runtime.block_on(serve_state(state, options, shutdown))
        });
        let addr = hears.recv().unwrap();
        Server { addr, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends bytes and reads until the connection is closed.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // A server that has refused may close before all is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n{headers}");
        if !headers.contains("host:") {
            request.push_str("host: localhost\r\n");
        }
        if !body.is_empty() {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        Answer::read(&self.raw(&bytes))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", b"")
    }

    pub(crate) fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask("POST", path, "content-type: application/json\r\n", body.as_ref())
    }

    /// Waits until so many requests run, the one that asks among them.
    #[track_caller]
    fn until_in_flight(&self, n: usize) {
        let words = format!("liken_requests_in_flight {n}\n");
        until(&words, || String::from_utf8(self.get("/metrics").body).unwrap().contains(&words));
    }

    /// The service is as it should be.
    pub(crate) fn lives(&self) {
        assert_eq!(self.get("/health").status, 200);
    }

    /// Stops it, and what came of it.
    fn stop(mut self) -> std::io::Result<()> {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(bytes)));
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_lowercase(), value.to_owned())
        });
        let answer = Answer { status, headers: headers.collect(), body: bytes[end + 4..].to_vec() };
        answer.is_sound();
        answer
    }

    /// What holds of every answer.
    fn is_sound(&self) {
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        assert!(header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(header("x-content-type-options"), Some("nosniff"));
        assert_eq!(header("cache-control"), Some("no-store"));
        let id = header("x-request-id").unwrap();
        let media = header("content-type").unwrap_or_default();
        let page = media.starts_with("text/html");
        let referrer = if page { "same-origin" } else { "no-referrer" };
        assert_eq!(header("referrer-policy"), Some(referrer));
        if self.status >= 400 && !page && !self.body.is_empty() {
            let ready = media == "application/json" && self.json()["liken"].is_string();
            assert!(ready || media == "application/problem+json", "{self:?}");
            if !ready {
                let problem = self.json();
                assert_eq!(problem["status"], self.status);
                assert_eq!(problem["instance"], id);
                assert!(problem["type"].as_str().unwrap().starts_with("urn:liken:problem:"));
                assert!(!problem["title"].as_str().unwrap().is_empty());
                assert!(!problem["detail"].as_str().unwrap().is_empty());
            }
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Why it was refused.
    pub(crate) fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap_or_default().to_owned()
    }
}
