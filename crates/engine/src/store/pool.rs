//! A pool of connections that read.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::Result;
use super::schema::{Access, connect};

/// Idle connections beyond these are closed; each holds a few pages and prepared statements.
const MOST_IDLE: usize = 32;

/// Idle connections.
pub(super) struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(path: &Path) -> Self {
        Pool { path: path.to_owned(), idle: Mutex::new(Vec::new()) }
    }

    /// Runs `work` on a connection of its own, in one read transaction, so that it sees one state of
    /// the database.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, Access::Read)?,
        };
        connection.prepare_cached("BEGIN")?.execute([])?;
        let read = work(&connection);
        // A connection that cannot end its transaction would keep reading an old state.
        if connection.prepare_cached("COMMIT")?.execute([]).is_ok() {
            self.give_back(connection);
        }
        read
    }

    /// Makes a connection idle, or closes it if there are enough.
    pub(super) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}
