//! What a client did wrong, or what the service cannot do now: a status, and a reason that helps
//! (RFC 9457).

use serde::Serialize;

/// An error for a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem, in a few words.
    pub title: &'static str,
    /// What was expected, what came, and what to do.
    pub detail: String,
}

impl Problem {
    /// A request that makes no sense.
    pub fn bad(detail: impl Into<String>) -> Self {
        Problem { status: 400, title: "Bad request", detail: detail.into() }
    }

    /// Something that is not there.
    pub fn missing(detail: impl Into<String>) -> Self {
        Problem { status: 404, title: "Not found", detail: detail.into() }
    }

    /// Something that cannot be done now.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Problem { status: 503, title: "Not available now", detail: detail.into() }
    }

    /// The disk is full: reads go on, writes do not.
    pub fn full(detail: impl Into<String>) -> Self {
        Problem { status: 507, title: "No room to write", detail: detail.into() }
    }

    /// Our own fault.
    pub fn internal(detail: impl Into<String>) -> Self {
        Problem { status: 500, title: "Internal error", detail: detail.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.title, self.detail)
    }
}

impl std::error::Error for Problem {}

impl From<liken::Error> for Problem {
    fn from(error: liken::Error) -> Self {
        use liken::Error;
        match error {
            Error::Parameter { .. } | Error::Setting { .. } | Error::Empty { .. } => {
                Problem::bad(error.to_string())
            }
            Error::Unknown { .. } => Problem::missing(error.to_string()),
            other => Problem::internal(other.to_string()),
        }
    }
}
