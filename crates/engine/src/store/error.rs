//! What can go wrong with the database.

use rusqlite::ErrorCode;

use crate::Error;

/// Why the store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// What was asked makes no sense.
    #[error("{0}")]
    Bad(String),
    /// Something that is not there.
    #[error("{0}")]
    Missing(String),
    /// There is no room to write. Reads go on.
    #[error("{0}")]
    Full(String),
    /// It cannot be had now: another process writes to it, or no more files can be opened.
    #[error("{0}")]
    Held(String),
    /// The disk does not do what it should.
    #[error("{0}")]
    Disk(String),
    /// The database is damaged, unfinished, too new or no database.
    #[error("{0}")]
    Unusable(String),
}

impl StoreError {
    /// The error as it is for whoever wanted to write: a disk that fails is one that takes no
    /// more for now.
    pub(super) fn on_write(self) -> Self {
        match self {
            StoreError::Disk(why) => StoreError::Full(format!(
                "nothing could be written ({why}); searching goes on. See what is wrong with the \
                 disk, and write again"
            )),
            other => other,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full(
                "there is no room for this on the disk; searching goes on. Make room, and write \
                 again"
                    .into(),
            ),
            Some(ErrorCode::SystemIoFailure | ErrorCode::ReadOnly) => {
                StoreError::Disk(format!("the database cannot be reached: {error}"))
            }
            // Nothing is wrong with what is in it.
            Some(ErrorCode::CannotOpen) => StoreError::Held(format!(
                "the database cannot be opened now ({error}): the server may have too many files \
                 open (ulimit -n), or may not read the folder; see to that, and try again"
            )),
            Some(ErrorCode::OutOfMemory) => {
                StoreError::Held("the server is short of memory; try again later".into())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Held(
                "another program has kept the database busy for too long; end it, and try again"
                    .into(),
            ),
            _ => StoreError::Unusable(format!("the database says: {error}")),
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
            StoreError::Held(_) => Error::unavailable(detail),
            StoreError::Disk(_) | StoreError::Unusable(_) => Error::internal(detail),
        }
    }
}
