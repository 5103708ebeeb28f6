//! Errors of the engine. They know nothing of HTTP: the server gives them a status.

use std::io;

/// An error of the engine; the message says what was expected, what came, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// Not possible now; may work later.
    #[error("{0}")]
    Unavailable(String),
    /// The disk is full: reads go on, writes do not.
    #[error("{0}")]
    Full(String),
    /// A fault of the engine or its files, not of the caller.
    #[error("{0}")]
    Internal(String),
}

/// The result of a call to the engine.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An [`Error::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::Invalid(message.into())
    }

    /// An [`Error::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::NotFound(message.into())
    }

    /// An [`Error::Unavailable`].
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::Unavailable(message.into())
    }

    /// An [`Error::Full`].
    pub fn full(message: impl Into<String>) -> Self {
        Error::Full(message.into())
    }

    /// An [`Error::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Error::Internal(message.into())
    }

    /// The error of a system call; `doing` says what failed, such as "the model cannot be copied". A
    /// full disk and too many open files are temporary.
    pub fn io(doing: &str, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Error::full(format!(
                "{doing}: the disk or its quota is full; searching goes on. Free some space on the \
                 disk of the server, and try again"
            )),
            _ if too_many_files(error) => Error::unavailable(format!(
                "{doing}: the server has too many open files ({error}); try again later, or raise \
                 its limit (ulimit -n)"
            )),
            _ => Error::internal(format!("{doing}: {error}")),
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
                    // Core's message has its own advice.
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
            assert!(of_core.to_string().starts_with("images.bin: cannot write: "));
            assert!(!of_core.to_string().contains("again with"), "nothing is to be built again");
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
