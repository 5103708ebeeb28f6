//! The processes behind a browser: chromedriver, the Chromium that it starts, and their end.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// What to do where there is no browser.
pub const ADVICE: &str = "run scripts/setup-browser.sh, or set LIKEN_NO_BROWSER=1 to skip the tests \
                      in a browser";

/// Whether tests in a browser are to be skipped; `LIKEN_SKIP_LOG` names a file that counts them.
pub fn skipped(name: &str) -> bool {
    if std::env::var_os("LIKEN_NO_BROWSER").is_none_or(|v| v != "1") {
        return false;
    }
    if let Some(log) = std::env::var_os("LIKEN_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log);
        writeln!(log.unwrap(), "browser {name} (LIKEN_NO_BROWSER)").unwrap();
    }
    true
}

/// chromedriver on a port that the system chose.
pub fn start_driver() -> (Child, u16) {
    let child = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .spawn();
    let mut child = child.unwrap_or_else(|e| panic!("chromedriver does not start: {e}; {ADVICE}"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.by_ref().find_map(|line| {
        let line = line.ok()?;
        line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok()
    });
    let Some(port) = port else {
        let _ = child.kill();
        let _ = child.wait();
        panic!("chromedriver did not say its port; {ADVICE}");
    };
    // What else it says is read and forgotten, so that it never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    (child, port)
}

/// What a new session asks for: no window, a profile of its own, nothing but what the test does on
/// the network, and all that the console says.
pub fn capabilities(profile: &Path) -> Value {
    let mut options = json!({
        "args": [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-proxy-server",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,900",
            format!("--user-data-dir={}", profile.display()),
        ],
    });
    // The driver knows where its own distribution puts the browser, but not all the names.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut places =
        names.iter().flat_map(|n| std::env::split_paths(&path).map(move |p| p.join(n)));
    if let Some(binary) = places.find(|p| p.is_file()) {
        options["binary"] = json!(binary);
    }
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": options,
        "timeouts": {"script": 60_000, "pageLoad": 60_000, "implicit": 0},
    }}})
}

/// Ends the browser that a driver left behind: the lock in its profile names its process, whose
/// command line names the profile.
pub fn end_process_of(profile: &Path) {
    let Ok(lock) = std::fs::read_link(profile.join("SingletonLock")) else { return };
    let lock = lock.to_string_lossy();
    let Some((_, process)) = lock.rsplit_once('-') else { return };
    let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    if String::from_utf8_lossy(&command).contains(&*profile.to_string_lossy()) {
        let _ = Command::new("kill").args(["-9", process]).stderr(Stdio::null()).status();
    }
}
