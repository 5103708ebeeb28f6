//! Errors of the database.

use rusqlite::ErrorCode;

use crate::Error;

/// The result of a call to the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// An error of the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The request is invalid.
    #[error("{0}")]
    Bad(String),
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// There is no disk space to write. Reads go on.
    #[error("{0}")]
    Full(String),
    /// Not possible now: another process writes to the database, or the system gives no files, memory
    /// or random numbers.
    #[error("{0}")]
    Unavailable(String),
    /// Reading or writing failed.
    #[error("{0}")]
    Disk(String),
    /// The database is damaged, unfinished, too new or no database.
    #[error("{0}")]
    Unusable(String),
}

impl StoreError {
    /// The error of a write: a disk that fails is treated like a full one.
    pub(super) fn on_write(self) -> Self {
        match self {
            StoreError::Disk(why) => StoreError::Full(format!(
                "nothing could be written ({why}); searching goes on. Check the disk, and write \
                 again"
            )),
            other => other,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full(
                "the disk has no space for this; searching goes on. Free some space, and write \
                 again"
                    .into(),
            ),
            Some(ErrorCode::SystemIoFailure | ErrorCode::ReadOnly) => {
                StoreError::Disk(format!("the database cannot be reached: {error}"))
            }
            // The database itself may be fine.
            Some(ErrorCode::CannotOpen) => StoreError::Unavailable(format!(
                "the database cannot be opened now ({error}): the server may have too many files \
                 open (ulimit -n), or may not read the folder; see to that, and try again"
            )),
            Some(ErrorCode::OutOfMemory) => {
                StoreError::Unavailable("the server is short of memory; try again later".into())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Unavailable(
                "another program keeps the database locked for too long; stop it, and try again"
                    .into(),
            ),
            _ => StoreError::Unusable(format!("the database reports: {error}")),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        match error {
            StoreError::Bad(_) => Error::invalid(detail),
            StoreError::Missing(_) => Error::not_found(detail),
            StoreError::Full(_) => Error::full(detail),
            StoreError::Unavailable(_) => Error::unavailable(detail),
            StoreError::Disk(_) | StoreError::Unusable(_) => Error::internal(detail),
        }
    }
}
