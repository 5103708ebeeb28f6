//! What a client did wrong, or what the service cannot do now: a status, and a reason that helps
//! (RFC 9457).

use std::io;

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

    /// What the system said to somebody who was `doing` something, such as "the model cannot be
    /// copied": a full disk takes no more for now, and a file too many can be opened later.
    pub fn io(doing: &str, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Problem::full(format!(
                "{doing}: the disk or its quota is full; searching goes on. Make room on the disk \
                 of the server, and try again"
            )),
            _ if too_many_files(error) => Problem::unavailable(format!(
                "{doing}: the server has too many files open ({error}); try again later, or let \
                 it open more (ulimit -n)"
            )),
            _ => Problem::internal(format!("{doing}: {error}")),
        }
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

/// Whether neither the process nor the system may open one more file.
#[cfg(unix)]
fn too_many_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(not(unix))]
fn too_many_files(_: &io::Error) -> bool {
    false
}

impl From<liken::Error> for Problem {
    fn from(error: liken::Error) -> Self {
        use liken::Error;
        match error {
            Error::Parameter { .. } | Error::Setting { .. } | Error::Empty { .. } => {
                Problem::bad(error.to_string())
            }
            Error::Unknown { .. } => Problem::missing(error.to_string()),
            Error::Io { ref path, doing, ref source } => {
                let problem = Problem::io(&format!("{}: cannot {doing}", path.display()), source);
                match problem.status {
                    // With advice of its own.
                    500 => Problem::internal(error.to_string()),
                    _ => problem,
                }
            }
            other => Problem::internal(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_is_broken() {
        let status = |error: io::Error| {
            let path = std::path::Path::new("images.bin");
            let problem = Problem::io("the model cannot be copied", &error);
            let of_core = Problem::from(liken::Error::io("write", path)(error));
            assert_eq!(problem.status, of_core.status);
            assert!(of_core.detail.starts_with("images.bin: cannot write: "));
            assert!(!of_core.detail.contains("again with"), "nothing is to be built again");
            problem.status
        };
        assert_eq!(status(io::ErrorKind::StorageFull.into()), 507);
        assert_eq!(status(io::ErrorKind::QuotaExceeded.into()), 507);
        assert_eq!(status(io::ErrorKind::InvalidData.into()), 500);
        #[cfg(unix)]
        for number in [libc::EMFILE, libc::ENFILE] {
            assert_eq!(status(io::Error::from_raw_os_error(number)), 503);
        }
        #[cfg(unix)]
        assert_eq!(status(io::Error::from_raw_os_error(libc::EDQUOT)), 507);
    }
}
