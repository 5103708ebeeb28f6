//! Why the engine did not do what it was asked, without a word about HTTP: whoever offers the
//! engine to others says it in its own way.

use std::io;

/// An error of the engine; the message says what was expected, what came, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A request that makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// Something that is not there.
    #[error("{0}")]
    NotFound(String),
    /// Something that cannot be done now.
    #[error("{0}")]
    Unavailable(String),
    /// The disk is full: reads go on, writes do not.
    #[error("{0}")]
    Full(String),
    /// The fault of the engine or its files, not of whoever asked.
    #[error("{0}")]
    Internal(String),
}

/// What a call to the engine returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A request that makes no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::Invalid(message.into())
    }

    /// Something that is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::NotFound(message.into())
    }

    /// Something that cannot be done now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::Unavailable(message.into())
    }

    /// The disk is full.
    pub fn full(message: impl Into<String>) -> Self {
        Error::Full(message.into())
    }

    /// Our own fault.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::Internal(message.into())
    }

    /// What the system said to somebody who was `doing` something, such as "the model cannot be
    /// copied": a full disk takes no more for now, and a file too many can be opened later.
    pub fn io(doing: &str, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Error::full(format!(
                "{doing}: the disk or its quota is full; searching goes on. Make room on the disk \
                 of the server, and try again"
            )),
            _ if too_many_files(error) => Error::unavailable(format!(
                "{doing}: the server has too many files open ({error}); try again later, or let \
                 it open more (ulimit -n)"
            )),
            _ => Error::internal(format!("{doing}: {error}")),
        }
    }

    /// What was expected, what came, and what to do.
    pub fn message(&self) -> &str {
        match self {
            Error::Invalid(message)
            | Error::NotFound(message)
            | Error::Unavailable(message)
            | Error::Full(message)
            | Error::Internal(message) => message,
        }
    }
}

/// Whether neither the process nor the system may open one more file.
#[cfg(unix)]
fn too_many_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(not(unix))]
fn too_many_files(_: &io::Error) -> bool {
    false
}

impl From<liken::Error> for Error {
    fn from(error: liken::Error) -> Self {
        use liken::Error as Core;
        match error {
            Core::Parameter { .. } | Core::Setting { .. } | Core::Empty { .. } => {
                Error::invalid(error.to_string())
            }
            Core::Unknown { .. } => Error::not_found(error.to_string()),
            Core::Io { ref path, doing, ref source } => {
                match Error::io(&format!("{}: cannot {doing}", path.display()), source) {
                    // With advice of its own.
                    Error::Internal(_) => Error::internal(error.to_string()),
                    other => other,
                }
            }
            other => Error::internal(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_told_from_what_is_broken() {
        let of = |error: io::Error| {
            let path = std::path::Path::new("images.bin");
            let ours = Error::io("the model cannot be copied", &error);
            let of_core = Error::from(liken::Error::io("write", path)(error));
            let kind = |error: &Error| std::mem::discriminant(error);
            assert_eq!(kind(&ours), kind(&of_core));
            assert!(of_core.message().starts_with("images.bin: cannot write: "));
            assert!(!of_core.message().contains("again with"), "nothing is to be built again");
            ours
        };
        assert!(matches!(of(io::ErrorKind::StorageFull.into()), Error::Full(_)));
        assert!(matches!(of(io::ErrorKind::QuotaExceeded.into()), Error::Full(_)));
        assert!(matches!(of(io::ErrorKind::InvalidData.into()), Error::Internal(_)));
        #[cfg(unix)]
        for number in [libc::EMFILE, libc::ENFILE] {
            assert!(matches!(of(io::Error::from_raw_os_error(number)), Error::Unavailable(_)));
        }
        #[cfg(unix)]
        assert!(matches!(of(io::Error::from_raw_os_error(libc::EDQUOT)), Error::Full(_)));
    }
}
