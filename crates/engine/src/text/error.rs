//! Errors of the text index.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError};

use crate::Error;

/// An error of the text index.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// There is no index.
    #[error("{folder}: there is no text index here; build the index again", folder = .folder.display())]
    Missing {
        /// The expected folder.
        folder: PathBuf,
    },
    /// There is an index already.
    #[error("{folder}: there is already a text index here; choose another folder, or remove this one", folder = .folder.display())]
    Exists {
        /// Folder of the text index.
        folder: PathBuf,
    },
    /// Its files are damaged.
    #[error("{folder}: the text index cannot be read ({reason}); build the index again", folder = .folder.display())]
    Broken {
        /// Folder of the text index.
        folder: PathBuf,
        /// Why it cannot be used, in words.
        reason: String,
    },
    /// Another process writes to it.
    #[error("{folder}: another process writes to this text index; stop it first", folder = .folder.display())]
    Locked {
        /// Folder of the text index.
        folder: PathBuf,
    },
    /// Reading or writing failed, as on a full disk; the index itself may be fine.
    #[error("{folder}: the text index: {error}", folder = .folder.display())]
    Io {
        /// Folder of the text index.
        folder: PathBuf,
        /// The error of the system.
        error: Arc<io::Error>,
    },
    /// Any other error of tantivy.
    #[error("the text index: {0}")]
    Failed(String),
}

impl TextError {
    /// An error of tantivy about the index in `folder`.
    pub(super) fn of(folder: &Path, error: TantivyError) -> Self {
        let to_owned = || folder.to_path_buf();
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => {
                TextError::Locked { folder: to_owned() }
            }
            TantivyError::OpenDirectoryError(OpenDirectoryError::DoesNotExist(_)) => {
                TextError::Missing { folder: to_owned() }
            }
            TantivyError::DataCorruption(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::OpenReadError(_) => TextError::broken(folder, &error),
            other => match io_error(&other) {
                Some(error) => TextError::Io { folder: to_owned(), error },
                None => TextError::Failed(other.to_string()),
            },
        }
    }

    /// Damaged files, unless the system failed to read them.
    pub(super) fn broken(folder: &Path, error: &TantivyError) -> Self {
        match io_error(error) {
            Some(error) => TextError::Io { folder: folder.into(), error },
            None => TextError::Broken { folder: folder.into(), reason: error.to_string() },
        }
    }
}

/// The error of the system, if there is one: tantivy reports damaged files by the same variant.
fn io_error(error: &TantivyError) -> Option<Arc<io::Error>> {
    use tantivy::directory::error::{OpenReadError, OpenWriteError};
    match error {
        TantivyError::IoError(error)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: error, .. }) => {
            error.raw_os_error().map(|_| Arc::clone(error))
        }
        _ => None,
    }
}

impl From<TantivyError> for TextError {
    fn from(error: TantivyError) -> Self {
        TextError::Failed(error.to_string())
    }
}

impl From<TextError> for Error {
    fn from(error: TextError) -> Self {
        let detail = error.to_string();
        match error {
            TextError::Io { folder, error } => {
                Error::io(&format!("{}: the text index", folder.display()), &error)
            }
            TextError::Locked { .. } => Error::unavailable(detail),
            _ => Error::internal(detail),
        }
    }
}
