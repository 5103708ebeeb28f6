//! A `liken serve` of its own for a test, and somebody who asks it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{Place, Said};

/// How long anything may take before a test gives up; nothing depends on how fast it is.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running service, killed when it is dropped. It is its own first client.
pub struct Service {
    child: Child,
    client: Client,
    /// What it said before it listened.
    pub said: String,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

/// Somebody who asks a service, on connections of their own.
#[derive(Clone)]
pub struct Client {
    pub url: String,
    agent: ureq::Agent,
    key: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

impl Service {
    /// Runs `liken LINE`, which is to serve, and waits until it listens. Port 0 is added.
    #[track_caller]
    pub fn start(place: &Place, line: &str) -> Self {
        Service::begin(place, line).unwrap_or_else(|said| panic!("{}{}", said.out, said.err))
    }

    /// The same, or what was said by one that did not get so far.
    pub fn begin(place: &Place, line: &str) -> Result<Self, Said> {
        Service::begin_with(place, line, |_| {})
    }

    /// The same with a command that is changed before it runs.
    pub fn begin_with(
        place: &Place,
        line: &str,
        change: impl FnOnce(&mut Command),
    ) -> Result<Self, Said> {
        let (mut child, stderr) = Service::spawn_with(place, line, change);
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let start = said.len();
            if stdout.read_line(&mut said).unwrap() == 0 {
                let code = child.wait().unwrap().code();
                return Err(Said { code, out: said, err: fs::read_to_string(stderr).unwrap() });
            }
            if let Some(rest) = said[start..].strip_prefix("serving at ") {
                break rest.split(' ').next().unwrap().trim_end_matches('/').to_owned();
            }
        };
        Ok(Service { child, client: Client::new(&url), said, stdout, stderr })
    }

    /// The process alone, and where its stderr goes.
    pub fn spawn(place: &Place, line: &str) -> (Child, PathBuf) {
        Service::spawn_with(place, line, |_| {})
    }

    fn spawn_with(
        place: &Place,
        line: &str,
        change: impl FnOnce(&mut Command),
    ) -> (Child, PathBuf) {
        static N: AtomicUsize = AtomicUsize::new(0);
        let stderr = place.path(&format!("stderr-{}", N.fetch_add(1, Ordering::Relaxed)));
        let mut command = place.command(&format!("{line} --port 0"));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        // Without programs there is no browser that it could open.
        command.env("PATH", "");
        command.stderr(File::create(&stderr).unwrap());
        change(&mut command);
        (command.spawn().unwrap(), stderr)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: i32) {
        // SAFETY: the process is our child and not waited for yet, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.id() as i32, signal) }, 0);
    }

    /// Waits until it has ended, and returns what it said since it listened.
    pub fn wait(mut self) -> Said {
        let mut out = String::new();
        while self.stdout.read_line(&mut out).unwrap() > 0 {}
        let code = self.child.wait().unwrap().code();
        let err = fs::read_to_string(&self.stderr).unwrap();
        assert!(!err.contains("panicked"), "{err}");
        Said { code, out, err }
    }

    /// What it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Asks it to end, and makes sure that it does so as it should.
    #[cfg(unix)]
    #[track_caller]
    pub fn stop(self) -> Said {
        self.signal(libc::SIGTERM);
        self.wait().fine()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Deref for Service {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Client {
    pub fn new(url: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .max_idle_connections_per_host(1);
        Client { url: url.to_owned(), agent: config.build().into(), key: None }
    }

    /// Somebody else, with connections of their own.
    pub fn another(&self) -> Self {
        Client { key: self.key.clone(), ..Client::new(&self.url) }
    }

    /// The same with an API key.
    pub fn with_key(&self, key: &str) -> Self {
        Client { key: Some(key.to_owned()), ..self.another() }
    }

    /// Asks; `None` if the service went away before the whole answer was there.
    pub fn try_ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
        let mut request = ureq::http::Request::builder().method(method);
        request = request.uri(format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let answer = match body {
            None => self.agent.run(request.body(()).unwrap()),
            Some(body) => {
                let request = request.header("content-type", "application/json");
                self.agent.run(request.body(body.to_string()).unwrap())
            }
        };
        let mut answer = answer.ok()?;
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_string().ok()?;
        Some(Answer { status: answer.status().as_u16(), text })
    }

    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.try_ask(method, path, body).unwrap_or_else(|| panic!("{method} {path}: no answer"))
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None)
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(body))
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask("PUT", path, Some(body))
    }

    #[track_caller]
    pub fn search(&self, query: &str, models: &[&str]) -> Value {
        self.post("/search", &json!({ "query": query, "models": models })).json()
    }

    /// Waits until search sees everything that is on disk.
    #[track_caller]
    pub fn settle(&self) -> Value {
        let mut status = Value::Null;
        until("search sees all", || {
            status = self.get("/ready").json();
            status["applied"] == status["written"]
        });
        status
    }
}

/// Waits until `there` says so.
#[track_caller]
pub fn until(what: &str, mut there: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !there() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Answer {
    /// It must have worked.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text);
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}:\n{}", self.text))
    }

    /// It must have been refused with this status, and every word must be in the reason.
    #[track_caller]
    pub fn refused(&self, status: u16, words: &[&str]) {
        assert_eq!(self.status, status, "{}", self.text);
        let problem: Value = serde_json::from_str(&self.text).unwrap();
        assert_eq!(problem["status"], status);
        let detail = problem["detail"].as_str().unwrap();
        for word in words {
            assert!(detail.contains(word), "no {word:?} in: {detail}");
        }
    }
}
