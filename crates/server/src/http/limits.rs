//! How much a client may send, and keep us waiting. How much it may ask of the engine is in
//! [`liken_engine::Limits`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What requests are held to. Each refusal names the limit that was met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The longest body of a request, in bytes.
    pub body_bytes: usize,
    /// The longest body of a request that only asks, and brings no documents.
    pub question_bytes: usize,
    /// The longest body of a request that brings many documents, events or judgments.
    pub bulk_bytes: usize,
    /// What all bodies that are being received may take together, in bytes.
    pub bodies_bytes: usize,
    /// The largest document, in bytes as JSON.
    pub document_bytes: usize,
    /// The most documents, events or judgments of one request.
    pub documents: usize,
    /// The most events of one export.
    pub events: usize,
    /// Seconds from a request's head to its answer.
    pub request_seconds: f64,
    /// The same for requests that bring much or load a model; their bodies must still make
    /// progress within `request_seconds`.
    pub long_seconds: f64,
    /// Seconds that a client may take to send a request's head, and that a connection may lie
    /// idle between requests.
    pub header_seconds: f64,
    /// Seconds that a write may be blocked because the client does not read.
    pub write_seconds: f64,
    /// The longest head of a request, in bytes.
    pub header_bytes: usize,
    /// The most open connections, and no more than half of the files that the process may open;
    /// further ones are rejected.
    pub connections: usize,
    /// Searches that run at a time; as many as there are cores if 0.
    pub threads: usize,
    /// Requests that may be queued for a thread; further ones are refused.
    pub waiting: usize,
    /// Seconds that running requests have at the end.
    pub grace_seconds: f64,
    /// Seconds without progress after which changes that search does not see make the service
    /// unready.
    pub stuck_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes: 8 << 20,
            question_bytes: 1 << 20,
            bulk_bytes: 64 << 20,
            bodies_bytes: 512 << 20,
            document_bytes: 4 << 20,
            documents: 100_000,
            events: 100_000,
            request_seconds: 10.0,
            long_seconds: 600.0,
            header_seconds: 10.0,
            write_seconds: 30.0,
            header_bytes: 32 << 10,
            connections: 1024,
            threads: 0,
            waiting: 512,
            grace_seconds: 10.0,
            stuck_seconds: 30.0,
        }
    }
}

impl Limits {
    /// What is wrong with them, if they cannot be kept.
    pub fn check(&self) -> Result<(), String> {
        let seconds = [
            ("request_seconds", self.request_seconds),
            ("long_seconds", self.long_seconds),
            ("header_seconds", self.header_seconds),
            ("write_seconds", self.write_seconds),
            ("stuck_seconds", self.stuck_seconds),
        ];
        // An hour is more than any of them needs; far above, times overflow.
        for (name, value) in seconds {
            if !(value > 0.0 && value <= 3600.0) {
                return Err(format!("{name} is {value}: expected more than 0, at most 3600"));
            }
        }
        if !(0.0..=3600.0).contains(&self.grace_seconds) {
            let value = self.grace_seconds;
            return Err(format!("grace_seconds is {value}: expected 0 to 3600"));
        }
        let counts = [
            ("body_bytes", self.body_bytes, 1),
            ("question_bytes", self.question_bytes, 1),
            ("bulk_bytes", self.bulk_bytes, 1),
            ("connections", self.connections, 1),
            // Less does not hold the heads that browsers send.
            ("header_bytes", self.header_bytes, 8192),
        ];
        for (name, value, least) in counts {
            if value < least {
                return Err(format!("{name} is {value}: expected {least} or more"));
            }
        }
        Ok(())
    }

    /// From a request's head to its answer.
    pub fn request(&self) -> Duration {
        Duration::from_secs_f64(self.request_seconds)
    }

    /// The same for requests that take long.
    pub fn long(&self) -> Duration {
        Duration::from_secs_f64(self.long_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_cannot_be_kept_are_named() {
        assert_eq!(Limits::default().check(), Ok(()));
        let wrong = |limits: Limits, name: &str| {
            let reason = limits.check().unwrap_err();
            assert!(reason.starts_with(name), "{reason}");
        };
        wrong(Limits { request_seconds: f64::NAN, ..Limits::default() }, "request_seconds");
        wrong(Limits { long_seconds: 1e300, ..Limits::default() }, "long_seconds");
        wrong(Limits { grace_seconds: -1.0, ..Limits::default() }, "grace_seconds");
        wrong(Limits { connections: 0, ..Limits::default() }, "connections");
        wrong(Limits { header_bytes: 10, ..Limits::default() }, "header_bytes");
    }

    #[test]
    fn limits_may_be_given_in_part_and_must_be_spelt_right() {
        let read: Limits = serde_json::from_str(r#"{"events": 50}"#).unwrap();
        assert_eq!(read, Limits { events: 50, ..Limits::default() });
        assert!(serde_json::from_str::<Limits>(r#"{"event": 50}"#).is_err());
    }
}
