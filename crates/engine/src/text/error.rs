//! What can go wrong with a text index.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError};

use crate::Error;

/// What went wrong with a text index.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// There is none.
    #[error("{folder}: there is no text index here; build the index again", folder = .folder.display())]
    Missing {
        /// Where it was expected.
        folder: PathBuf,
    },
    /// There is one where a new one was to be made.
    #[error("{folder}: there is a text index here already; give another folder, or remove this one", folder = .folder.display())]
    Exists {
        /// Where.
        folder: PathBuf,
    },
    /// Its files are not what they should be.
    #[error("{folder}: the text index cannot be read ({reason}); build the index again", folder = .folder.display())]
    Broken {
        /// Where it is.
        folder: PathBuf,
        /// What was found.
        reason: String,
    },
    /// Somebody else writes to it.
    #[error("{folder}: another process writes to this text index; stop it first", folder = .folder.display())]
    Locked {
        /// Where it is.
        folder: PathBuf,
    },
    /// The system refused to read or write, as on a full disk: nothing is wrong with the index.
    #[error("{folder}: the text index: {error}", folder = .folder.display())]
    Io {
        /// Where it is.
        folder: PathBuf,
        /// What it said.
        error: Arc<io::Error>,
    },
    /// It was asked for something it cannot do, or reading or writing failed.
    #[error("the text index: {0}")]
    Failed(String),
}

impl TextError {
    /// What tantivy says about the index in `folder`.
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

    /// Files that make no sense, unless the system did not let us read them.
    pub(super) fn broken(folder: &Path, error: &TantivyError) -> Self {
        match io_error(error) {
            Some(error) => TextError::Io { folder: folder.into(), error },
            None => TextError::Broken { folder: folder.into(), reason: error.to_string() },
        }
    }
}

/// What the system said, if it was the system: tantivy calls damaged files by the same name.
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
