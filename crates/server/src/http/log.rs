//! The log: one line per request, as text or JSON, written by a thread of its own: a slow terminal
//! never delays a response.

use std::io::Write;
use std::num::NonZeroU8;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Iso8601;
use time::format_description::well_known::iso8601::{Config, EncodedConfig, TimePrecision};

/// The most lines that wait to be written; further ones are dropped and counted.
const WAITING: usize = 4096;

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Plain text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The log; it writes waiting lines before it is dropped.
pub struct Log {
    format: LogFormat,
    queries: bool,
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    lost: Arc<AtomicU64>,
}

/// A line about a request.
pub(super) struct LoggedRequest<'a> {
    pub id: &'a str,
    pub peer: Option<std::net::IpAddr>,
    pub method: &'a str,
    /// Without the parameters, which may hold a query.
    pub path: &'a str,
    pub status: u16,
    pub took: Duration,
    pub bytes: Option<u64>,
    /// The reason of a refusal.
    pub problem: Option<&'a str>,
    /// The text of the search; written only if the log is to have queries.
    pub query: Option<&'a str>,
}

impl Log {
    /// A log that writes to `sink`, with the text of queries if `queries`.
    pub fn new(
        format: LogFormat,
        queries: bool,
        mut sink: impl Write + Send + 'static,
    ) -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counter = lost.clone();
        let writer = std::thread::Builder::new().name("log".into()).spawn(move || {
            for line in waiting {
                let written = sink.write_all(line.as_bytes()).and_then(|()| sink.flush());
                if written.is_err() {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Log { format, queries, lines: Some(lines), writer: Some(writer), lost })
    }

    /// A log that writes nothing.
    pub fn none() -> Self {
        let (format, lost) = (LogFormat::Text, Arc::default());
        Log { format, queries: false, lines: None, writer: None, lost }
    }

    /// The number of lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Logs a message that is not about a request.
    pub fn note(&self, message: &str) {
        let time = timestamp(SystemTime::now());
        self.line(match self.format {
            LogFormat::Text => format!("{time} {message}\n"),
            LogFormat::Json => format!("{}\n", json!({"time": time, "message": message})),
        });
    }

    pub(super) fn request(&self, entry: &LoggedRequest<'_>) {
        if self.lines.is_some() {
            self.line(self.written(entry, SystemTime::now()));
        }
    }

    fn written(&self, entry: &LoggedRequest<'_>, now: SystemTime) -> String {
        let time = timestamp(now);
        let millis = (entry.took.as_secs_f64() * 1e6).round() / 1e3;
        let query = entry.query.filter(|_| self.queries);
        let peer = entry.peer.map(|peer| peer.to_string());
        let LoggedRequest { id, method, path, status, .. } = entry;
        match self.format {
            LogFormat::Json => {
                let mut line = json!({
                    "time": time, "id": id, "peer": peer, "method": method, "path": path,
                    "status": status, "ms": millis, "bytes": entry.bytes,
                    "problem": entry.problem, "query": query,
                });
                if let Value::Object(fields) = &mut line {
                    fields.retain(|_, value| !value.is_null());
                }
                format!("{line}\n")
            }
            LogFormat::Text => {
                let peer = peer.as_deref().unwrap_or("-");
                let path = path.escape_debug();
                let mut line = format!("{time} {peer} {method} {path} {status} {millis} ms");
                if let Some(bytes) = entry.bytes {
                    line.push_str(&format!(" {bytes} bytes"));
                }
                line.push_str(&format!(" id={id}"));
                // Debug escapes line breaks: no client can forge a line of the log.
                if let Some(problem) = entry.problem {
                    line.push_str(&format!(" problem={problem:?}"));
                }
                if let Some(query) = query {
                    line.push_str(&format!(" query={query:?}"));
                }
                line.push('\n');
                line
            }
        }
    }

    fn line(&self, line: String) {
        if let Some(lines) = &self.lines
            && lines.try_send(line).is_err()
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// RFC 3339 to the millisecond.
const TIMESTAMP: EncodedConfig = Config::DEFAULT
    .set_time_precision(TimePrecision::Second { decimal_digits: NonZeroU8::new(3) })
    .encode();

/// `time` in UTC.
fn timestamp(time: SystemTime) -> String {
    OffsetDateTime::from(time).format(&Iso8601::<TIMESTAMP>).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::UNIX_EPOCH;

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, queries: bool) -> String {
        let sink = Sink::default();
        let log = Log::new(format, queries, sink.clone()).unwrap();
        log.request(&LoggedRequest {
            id: "r1",
            peer: None,
            method: "POST",
            path: "/search",
            status: 400,
            took: Duration::from_micros(1500),
            bytes: Some(12),
            problem: Some("no\nsense"),
            query: Some("secret\nwords"),
        });
        drop(log);
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn one_line_per_request_and_queries_only_if_asked_for() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = logged(format, false);
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(!line.contains("secret"), "{line}");
            let line = logged(format, true);
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(line.contains("secret"), "{line}");
        }
        let line: Value = serde_json::from_str(&logged(LogFormat::Json, true)).unwrap();
        assert_eq!(line["query"], "secret\nwords");
        assert_eq!(line["ms"], 1.5);
        assert_eq!(line["status"], 400);
    }

    #[test]
    fn times_have_milliseconds() {
        let time = UNIX_EPOCH + Duration::from_millis(1_000_000_000_123);
        assert_eq!(timestamp(time), "2001-09-09T01:46:40.123Z");
        assert_eq!(timestamp(UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
    }
}
