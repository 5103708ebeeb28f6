//! Connections that read.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::Result;
use super::schema::{Access, connect};

/// Idle connections beyond these are closed; each holds a few pages and prepared statements.
const MOST_IDLE: usize = 32;

/// Connections that wait for somebody to read.
pub(super) struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(path: &Path) -> Self {
        Pool { path: path.to_owned(), idle: Mutex::new(Vec::new()) }
    }

    /// Runs `work` on a connection of its own, in one read transaction, so that all it reads is
    /// of one state.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match waiting {
            Some(connection) => connection,
            None => connect(&self.path, Access::Read)?,
        };
        connection.prepare_cached("BEGIN")?.execute([])?;
        let read = work(&connection);
        // A connection that cannot end its transaction would hold on to an old state: it is not
        // used again.
        if connection.prepare_cached("COMMIT")?.execute([]).is_ok() {
            self.give_back(connection);
        }
        read
    }

    /// Takes a connection that nobody uses.
    pub(super) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}
