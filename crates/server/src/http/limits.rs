//! Limits on the size and the duration of requests; [`liken_engine::Limits`] has those on their
//! contents.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of requests, connections and worker pools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpLimits {
    /// The longest body of a request, in bytes.
    pub body_bytes: usize,
    /// The longest body of a query, in bytes.
    pub question_bytes: usize,
    /// The longest body with many documents, events or judgments, in bytes.
    pub bulk_bytes: usize,
    /// The memory of all request bodies together, in bytes.
    pub bodies_bytes: usize,
    /// The largest document, in bytes as JSON.
    pub document_bytes: usize,
    /// The most documents, events or judgments of one request.
    pub documents: usize,
    /// The most events of one export.
    pub events: usize,
    /// Seconds from a request's head to its response.
    pub request_seconds: f64,
    /// The same for bulk requests and for loading models; their bodies must still make progress
    /// within `request_seconds`.
    pub long_seconds: f64,
    /// Seconds in which a client must send a request's head; also the longest idle time of a
    /// connection between requests.
    pub header_seconds: f64,
    /// Seconds that a write may be blocked because the client does not read.
    pub write_seconds: f64,
    /// The longest head of a request, in bytes.
    pub header_bytes: usize,
    /// The most open connections, but at most half of the files that the process may open; further
    /// ones are rejected.
    pub connections: usize,
    /// The most concurrent searches; the number of cores if 0.
    pub threads: usize,
    /// The most requests that wait for a thread; further ones are refused.
    pub waiting: usize,
    /// Seconds that running requests have to finish at shutdown.
    pub grace_seconds: f64,
    /// Seconds without progress after which pending changes make the service unready.
    pub stuck_seconds: f64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
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

impl HttpLimits {
    /// Checks that all limits can be enforced.
    pub fn check(&self) -> Result<(), String> {
        let seconds = [
            ("request_seconds", self.request_seconds),
            ("long_seconds", self.long_seconds),
            ("header_seconds", self.header_seconds),
            ("write_seconds", self.write_seconds),
            ("stuck_seconds", self.stuck_seconds),
        ];
        // An hour is more than any of them needs; much larger values overflow.
        for (name, value) in seconds {
            if !(value > 0.0 && value <= 3600.0) {
                return Err(format!("{name} is {value}: expected more than 0, at most 3600"));
            }
        }
        let value = self.grace_seconds;
        if !(0.0..=3600.0).contains(&value) {
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

    /// [`HttpLimits::request_seconds`] as a duration.
    pub fn request(&self) -> Duration {
        Duration::from_secs_f64(self.request_seconds)
    }

    /// [`HttpLimits::long_seconds`] as a duration.
    pub fn long(&self) -> Duration {
        Duration::from_secs_f64(self.long_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_cannot_be_kept_are_named() {
        assert_eq!(HttpLimits::default().check(), Ok(()));
        let wrong = |limits: HttpLimits, name: &str| {
            let reason = limits.check().unwrap_err();
            assert!(reason.starts_with(name), "{reason}");
        };
        wrong(HttpLimits { request_seconds: f64::NAN, ..HttpLimits::default() }, "request_seconds");
        wrong(HttpLimits { long_seconds: 1e300, ..HttpLimits::default() }, "long_seconds");
        wrong(HttpLimits { grace_seconds: -1.0, ..HttpLimits::default() }, "grace_seconds");
        wrong(HttpLimits { connections: 0, ..HttpLimits::default() }, "connections");
        wrong(HttpLimits { header_bytes: 10, ..HttpLimits::default() }, "header_bytes");
    }

    #[test]
    fn limits_may_be_given_in_part_and_must_be_spelt_right() {
        let read: HttpLimits = serde_json::from_str(r#"{"events": 50}"#).unwrap();
        assert_eq!(read, HttpLimits { events: 50, ..HttpLimits::default() });
        assert!(serde_json::from_str::<HttpLimits>(r#"{"event": 50}"#).is_err());
    }
}
