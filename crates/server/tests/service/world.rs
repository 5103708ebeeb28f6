//! A made-up index, the service over it, and somebody who asks.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use liken::Run;
use liken::random::Random;
use liken_engine::store::Store;
use liken_engine::types::Scope;
use liken_engine::{Engine, IndexBuilder, Layout, Settings};
use liken_server::http::ServeOptions;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::declared;
use crate::testing::{building, train_on};

pub const DOCUMENTS: usize = 60;
const TOPICS: usize = 6;
const WORDS: u64 = 8;

/// How long anything may take before a test gives up; nothing depends on how fast it is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Queries of one topic and of two, with words of documents and words that only queries have.
pub const QUERIES: [&str; 6] =
    ["waax wabx", "waax qabx qacx", "wbax wcax", "qdax wdbx weax", "wfax wfbx wfcx", "wcbx qcax"];

/// A service that ends when it is dropped.
pub struct Service {
    pub url: String,
    folder: TempDir,
    agent: ureq::Agent,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
    document: Value,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub text: String,
}

/// A word that no stemmer changes: who uses it, its topic, its number.
fn word(kind: char, topic: usize, at: u64) -> String {
    let letter = |n: u64| char::from(b'a' + n as u8);
    format!("{kind}{}{}x", letter(topic as u64), letter(at))
}

/// Dataset and the models `bm25`, `pls` and `other` in `folder`.
fn make(folder: &Path) {
    let mut random = Random::new(7, 0);
    let mut documents = String::new();
    for no in 0..DOCUMENTS {
        let topic = no % TOPICS;
        let mut title: Vec<String> =
            (0..5).map(|_| word('w', topic, random.below(WORDS))).collect();
        let other = random.below(TOPICS as u64) as usize;
        title.push(word('w', other, random.below(WORDS)));
        let fields = json!({ "id": format!("d{no:02}"), "title": title.join(" "), "topic": topic });
        documents += &format!("{fields}\n");
    }
    let mut clicks = String::new();
    for no in 0..240 {
        let topic = no % TOPICS;
        let first = word('q', topic, random.below(WORDS));
        let second = word(['q', 'w'][no / TOPICS % 2], topic, random.below(WORDS));
        let doc = random.below((DOCUMENTS / TOPICS) as u64) as usize * TOPICS + topic;
        clicks += &format!("{first} {second}\td{doc:02}\t{}\n", 5 + random.below(20));
    }
    let models = [("bm25", "bm25", None), ("pls", "pls", Some(8)), ("other", "pls", Some(5))];
    train_on(folder, &clicks, &documents, &models);
}

impl Service {
    /// Without keys; every model scores every document.
    pub fn start() -> Self {
        Service::with(None)
    }

    /// Every model scores every document up to so many of them.
    pub fn with(exact_below: Option<usize>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let output = folder.path().join("index");
        let building =
            IndexBuilder { exact_below, ..building(folder.path(), &["bm25", "pls"], &output) };
        building.run(&Run::silent()).unwrap();
        let engine = Engine::open(&output, Settings::default()).unwrap();
        let (told, hears) = mpsc::channel();
        let options = ServeOptions {
            addr: ([127, 0, 0, 1], 0).into(),
            listening: Some(Box::new(move |addr| told.send(addr).unwrap())),
            ..ServeOptions::default()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            liken_server::run(engine, options, move || stopped.load(Ordering::Relaxed))
        });
        let addr = hears.recv_timeout(PATIENCE).unwrap();
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE));
        Service {
            url: format!("http://{addr}"),
            folder,
            agent: config.build().into(),
            stop,
            thread: Some(thread),
            document: liken_server::api::openapi_document(),
        }
    }

    /// The path of something beside the index, such as a model.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The database beside the one that serves, as `liken key` opens it.
    pub fn keys(&self) -> Store {
        Store::open_for_keys(&Layout::new(self.path("index")).store()).unwrap()
    }

    /// A new key.
    pub fn key(&self, scope: Scope) -> String {
        self.keys().add_key(&format!("{scope:?}"), scope).unwrap()
    }

    /// Asks; what is answered must be as the OpenAPI document says. `body` is a media type and a
    /// text.
    #[track_caller]
    pub fn send(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Option<(&str, &str)>,
    ) -> Answer {
        let mut request = ureq::http::Request::builder().method(method);
        request = request.uri(format!("{}{path}", self.url));
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let answer = match body {
            None => self.agent.run(request.body(()).unwrap()),
            Some((media, text)) => {
                let request = request.header("content-type", media);
                self.agent.run(request.body(text.to_owned()).unwrap())
            }
        };
        let mut answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let headers = answer.headers().iter();
        let headers = headers.map(|(name, value)| (name.to_string(), text(value))).collect();
        let status = answer.status().as_u16();
        let answer = Answer { status, headers, text: answer.body_mut().read_to_string().unwrap() };
        declared::check(&self.document, method, path, &answer);
        answer
    }

    /// Asks with JSON, which must work.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        self.send(method, path, None, Some(("application/json", &body))).json()
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, body)
    }
}

fn text(value: &ureq::http::HeaderValue) -> String {
    value.to_str().unwrap().to_owned()
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

impl Answer {
    /// It must have worked.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.text).unwrap()
    }

    pub fn media(&self) -> &str {
        self.headers.get("content-type").map_or("", String::as_str)
    }

    /// Why it was refused.
    #[track_caller]
    pub fn detail(&self) -> String {
        let problem: Value = serde_json::from_str(&self.text).unwrap();
        problem["detail"].as_str().unwrap().to_owned()
    }
}

/// Waits until `there` says so.
#[track_caller]
pub fn until(what: &str, mut there: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !there() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The text of a field of every object in a list.
pub fn texts(list: &Value, field: &str) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|object| object[field].as_str().unwrap().to_owned()).collect()
}
