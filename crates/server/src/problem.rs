//! Errors for clients, with an HTTP status (RFC 9457).

use liken_engine::Error;
use liken_engine::store::StoreError;
use serde::Serialize;

/// An error for a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem, in a few words.
    pub title: &'static str,
    /// The message: what was expected, what came, and what to do.
    pub detail: String,
}

impl Problem {
    /// 400: the request is invalid.
    pub fn bad(detail: impl Into<String>) -> Self {
        Problem { status: 400, title: "Bad request", detail: detail.into() }
    }

    /// 404: something in the request does not exist.
    pub fn missing(detail: impl Into<String>) -> Self {
        Problem { status: 404, title: "Not found", detail: detail.into() }
    }

    /// 503: the service is busy or degraded; the client may retry.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Problem { status: 503, title: "Not available now", detail: detail.into() }
    }

    /// 507: the disk is full, so that the index is read only.
    pub fn full(detail: impl Into<String>) -> Self {
        Problem { status: 507, title: "No space to write", detail: detail.into() }
    }

    /// 500: the service failed.
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

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        // Advice of the libraries is a second line; a detail is one.
        let one_line = |text: String| text.replace("\n  ", ": ");
        match error {
            Error::Invalid(detail) => Problem::bad(one_line(detail)),
            Error::NotFound(detail) => Problem::missing(one_line(detail)),
            Error::Unavailable(detail) => Problem::unavailable(one_line(detail)),
            Error::Full(detail) => Problem::full(one_line(detail)),
            Error::Internal(detail) => Problem::internal(one_line(detail)),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<liken::Error> for Problem {
    fn from(error: liken::Error) -> Self {
        Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_engine_has_a_status_and_keeps_its_words() {
        for (error, status) in [
            (Error::invalid("k is 0"), 400),
            (Error::not_found("k is 0"), 404),
            (Error::unavailable("k is 0"), 503),
            (Error::full("k is 0"), 507),
            (Error::internal("k is 0"), 500),
        ] {
            let problem = Problem::from(error);
            assert_eq!((problem.status, problem.detail.as_str()), (status, "k is 0"));
        }
    }
}
