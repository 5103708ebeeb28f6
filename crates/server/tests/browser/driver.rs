//! A browser under remote control: chromedriver as a child process, one headless Chromium with a
//! fresh profile, and the W3C WebDriver protocol as JSON over HTTP. What goes wrong ends the test
//! with a message that says what was asked and what came.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chromium::{ADVICE, capabilities, end_process_of, skipped, start_driver};

/// How long a page may take to become what a test waits for. Far more than it needs: the machine
/// may be busy, and only a failing test waits this long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// One browser with one window. It is closed, and its processes are ended, on drop.
pub struct Browser {
    driver: Child,
    // Chromium's profile, and with it cookies, storage and cache, is of this browser alone.
    profile: TempDir,
    agent: ureq::Agent,
    session: String,
    name: String,
}

/// Why a command failed: the protocol's own code, e.g. `no such element`, and its explanation.
#[derive(Debug)]
pub struct Refused {
    pub code: String,
    pub message: String,
}

impl Browser {
    /// A browser whose screenshots are called after `name`; nothing where the tests in a browser
    /// are to be skipped.
    pub fn open(name: &str) -> Option<Browser> {
        if skipped(name) {
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = start_driver();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(90)))
            .build()
            .new_agent();
        let base = format!("http://127.0.0.1:{port}/session");
        // From here on the driver is ended by drop, whatever happens.
        let mut browser =
            Browser { driver, profile, agent, session: String::new(), name: name.into() };
        let answer = browser.call("POST", &base, Some(capabilities(browser.profile.path())));
        let answer = answer.unwrap_or_else(|e| {
            panic!("no browser for {name}: {}: {}; {ADVICE}", e.code, e.message)
        });
        browser.session = format!("{base}/{}", answer["sessionId"].as_str().unwrap());
        Some(browser)
    }

    fn call(&self, method: &str, url: &str, body: Option<Value>) -> Result<Value, Refused> {
        let broken = |e: ureq::Error| Refused {
            code: "no answer from chromedriver".into(),
            message: e.to_string(),
        };
        let mut answer = match (method, body) {
            ("GET", _) => self.agent.get(url).call(),
            ("DELETE", _) => self.agent.delete(url).call(),
            (_, body) => self.agent.post(url).send_json(body.unwrap_or(json!({}))),
        }
        .map_err(broken)?;
        let status = answer.status();
        // Screenshots are large.
        let mut body: Value =
            answer.body_mut().with_config().limit(64 << 20).read_json().map_err(broken)?;
        let value = body["value"].take();
        if status.is_success() {
            return Ok(value);
        }
        Err(Refused {
            code: value["error"].as_str().unwrap_or("unknown error").into(),
            message: value["message"].as_str().unwrap_or_default().into(),
        })
    }

    /// A command of the session that may be refused: `path` begins with a slash.
    pub fn attempt(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, Refused> {
        self.call(method, &format!("{}{path}", self.session), body)
    }

    /// A command of the session that must succeed.
    #[track_caller]
    pub fn command(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        self.attempt(method, path, body)
            .unwrap_or_else(|e| panic!("{}: {method} {path}: {}: {}", self.name, e.code, e.message))
    }

    /// A command of Chromium's own DevTools protocol.
    #[track_caller]
    pub fn devtools(&self, command: &str, params: Value) -> Value {
        let body = json!({"cmd": command, "params": params});
        self.command("POST", "/goog/cdp/execute", Some(body))
    }

    /// Opens a page and waits until it is loaded.
    #[track_caller]
    pub fn goto(&self, url: &str) {
        self.command("POST", "/url", Some(json!({"url": url})));
    }

    /// The address of the page.
    #[track_caller]
    pub fn url(&self) -> String {
        self.command("GET", "/url", None).as_str().unwrap().into()
    }

    /// What `script`, the body of a function, returns. Scripts of the driver are not subject to
    /// the page's content security policy.
    #[track_caller]
    pub fn run(&self, script: &str, args: Value) -> Value {
        self.command("POST", "/execute/sync", Some(json!({"script": script, "args": args})))
    }

    /// What `script` hands to the function that is its last argument.
    #[track_caller]
    pub fn run_async(&self, script: &str, args: Value) -> Value {
        self.command("POST", "/execute/async", Some(json!({"script": script, "args": args})))
    }

    /// The first `Some` of `look`, which is called again and again; `what` names it if it does not
    /// come.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            if start.elapsed() > PATIENCE {
                panic!("{}: waited in vain for {what} on {}", self.name, self.url());
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// Waits until `script` returns something true.
    #[track_caller]
    pub fn wait_until(&self, what: &str, script: &str) {
        // A page that is just being left has nobody to answer; the next one will.
        let body = json!({"script": script, "args": []});
        self.wait_for(what, || {
            let said = self.attempt("POST", "/execute/sync", Some(body.clone()));
            matches!(said, Ok(Value::Bool(true))).then_some(())
        });
    }

    /// The size of the window, browser's own bars included.
    #[track_caller]
    pub fn window(&self, width: u32, height: u32) {
        self.command("POST", "/window/rect", Some(json!({"width": width, "height": height})));
    }

    /// Pretends to be a telephone of that many CSS pixels: the viewport obeys the page's `meta`.
    #[track_caller]
    pub fn phone(&self, width: u32, height: u32) {
        let params =
            json!({"width": width, "height": height, "deviceScaleFactor": 2, "mobile": true});
        self.devtools("Emulation.setDeviceMetricsOverride", params);
    }

    /// A user who asked their system for dark, or for light, colours. Nothing moves, so that
    /// colours can be read off at once.
    #[track_caller]
    pub fn colours(&self, scheme: &str) {
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.devtools("Emulation.setEmulatedMedia", json!({"media": "", "features": features}));
    }

    /// What the console said since the last call: level, source and message.
    #[track_caller]
    pub fn console(&self) -> Vec<[String; 3]> {
        let entries = self.command("POST", "/se/log", Some(json!({"type": "browser"})));
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let entries = entries.as_array().unwrap().iter();
        entries.map(|e| ["level", "source", "message"].map(|key| text(e, key))).collect()
    }

    /// Keeps a picture of the window in `target/screenshots`, as `NAME-what.png`.
    #[track_caller]
    pub fn screenshot(&self, what: &str) -> PathBuf {
        let picture = self.command("GET", "/screenshot", None);
        self.keep(what, picture.as_str().unwrap()).unwrap()
    }

    fn keep(&self, what: &str, base64: &str) -> std::io::Result<PathBuf> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let folder = target.join("screenshots");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}-{what}.png", self.name));
        std::fs::File::create(&path)?.write_all(&decode_base64(base64))?;
        Ok(path)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let mut closed = false;
        if !self.session.is_empty() {
            if std::thread::panicking()
                && let Ok(Value::String(picture)) = self.attempt("GET", "/screenshot", None)
            {
                let _ = self.keep("failed", &picture);
            }
            closed = self.attempt("DELETE", "", None).is_ok();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        if !closed {
            end_process_of(self.profile.path());
        }
        // Processes that are about to end may still write into the profile.
        for _ in 0..100 {
            if std::fs::remove_dir_all(self.profile.path()).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }
}

/// The bytes that a base64 text stands for; whatever is not a digit of it is passed over.
pub fn decode_base64(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter_map(|c| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    });
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0u32);
    for digit in digits {
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn no_browser_outlives_its_driver() {
    let Some(mut browser) = Browser::open("harness-end") else { return };
    let profile = browser.profile.path().to_owned();
    let lock = std::fs::read_link(profile.join("SingletonLock")).unwrap();
    let (_, process) = lock.to_str().unwrap().rsplit_once('-').unwrap();
    let lives = || {
        let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(profile.to_str().unwrap())
    };
    assert!(lives(), "{process} is not the browser");
    browser.driver.kill().unwrap();
    drop(browser);
    let start = Instant::now();
    while lives() {
        assert!(start.elapsed() < PATIENCE, "{process} still runs");
        std::thread::sleep(Duration::from_millis(25));
    }
    assert!(!profile.exists(), "the profile was left behind");
}
