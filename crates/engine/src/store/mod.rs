//! Everything of an index that must survive: documents, the order of their changes, events,
//! judgments, keys and the registry of models, in one SQLite database.
//!
//! **The database is the truth.** The text index and the embeddings of documents are derived from
//! it, and what they miss after a crash is replayed from [`Store::changes_after`].
//!
//! # Documents and changes
//!
//! Every version of a document has a number of its own, which is never used again: a number means
//! the same version to an index, however late it learns that this was removed. [`Store::bulk_load`]
//! numbers the documents of a new index from 0 (its *base*); [`Store::upsert`] and
//! [`Store::delete`] record each added and each removed number in `changes`. The current documents
//! are those of the base with the changes applied in order. The body of a removed document stays
//! until [`Store::clear_gone`] deletes it, so that a search which runs during a replacement still
//! gets a whole document.
//!
//! # Writes
//!
//! One thread owns the one connection that writes. It takes all queued requests, applies them in
//! one transaction, each within a savepoint of its own, and answers when the transaction is on disk
//! (`synchronous=FULL`): many small writes share one wait for the disk, a bad request fails alone,
//! and acknowledged writes survive `kill -9`.
//!
//! # Disk space
//!
//! Where less than the reserve would be left on the disk, writes fail with [`StoreError::Full`]
//! before anything is written, and reads go on. A write needs space in the write-ahead log, the
//! database and the text index: three times its size. No restart is needed: the next write tries
//! again. Deletions, keys and the choice of models may use the reserve.
//!
//! # Locking
//!
//! One process serves an index: it holds a lock of the operating system on `….lock` beside the
//! database, which ends with the process in any case. Any process may read, with
//! [`Store::read_only`].
//!
//! # Reads
//!
//! Any number of threads read; each read borrows a connection from a pool and sees one state of the
//! database. Writes do not block reads, nor reads writes.

mod bulk;
mod changes;
mod documents;
mod error;
mod events;
mod export;
mod judgments;
mod keys;
mod limits;
mod lock;
mod models;
mod pool;
mod qrels;
mod schema;
mod space;
mod sql;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use bulk::BulkLoad;
pub use changes::Change;
pub use documents::Body;
pub use error::{Result, StoreError};
pub use export::ExportReport;
pub use keys::KeyAbout;
pub(crate) use limits::{
    IMPRESSION, fault_of_event, fault_of_id, fault_of_ids, fault_of_judgment, fault_of_query,
};
pub use limits::{LONGEST_ID, LONGEST_QUERY};
pub use models::ModelEntry;
pub use qrels::median;

use lock::Lock;
use pool::Pool;
use space::Disk;
use writer::{ROW, Space, Writer};

/// The bytes of the disk that writes leave free unless told otherwise; deletions, keys and the choice
/// of models may use them.
pub const RESERVE: u64 = 64 << 20;

/// An open database.
pub struct Store {
    // Fields are dropped in this order: first the readers; then the writer, which as the last
    // connection truncates the write-ahead log (readers cannot); then the lock.
    pool: Pool,
    writer: Option<Writer>,
    path: PathBuf,
    _lock: Option<Lock>,
}

impl Store {
    /// A new, empty database at `path`, where there must be no file.
    pub fn create(path: &Path) -> Result<Self> {
        let lock = Lock::take(path)?;
        if path.exists() {
            return Err(StoreError::Bad(format!(
                "{}: expected no file where the new database is to be, found one; open it, or \
                 choose another path",
                path.display()
            )));
        }
        let connection = schema::connect(path, schema::Access::Create)?;
        schema::create(&connection)?;
        schema::sync_folder(path)?;
        Ok(Store::begin(path, connection, Disk::new(path, RESERVE), Some(lock)))
    }

    /// The database at `path`, to read and to write, where writes leave `reserve` bytes of the disk
    /// free. It fails if another process has opened it so.
    pub fn open(path: &Path, reserve: u64) -> Result<Self> {
        // First: a lock would leave a file.
        schema::must_exist(path)?;
        let lock = Lock::take(path)?;
        let connection = schema::open(path, schema::Access::Write)?;
        schema::keep_log(&connection);
        Ok(Store::begin(path, connection, Disk::new(path, reserve), Some(lock)))
    }

    /// The database at `path`, to change keys while another process may serve it.
    pub fn open_for_keys(path: &Path) -> Result<Self> {
        let connection = schema::open(path, schema::Access::Write)?;
        Ok(Store::begin(path, connection, Disk::new(path, RESERVE), None))
    }

    /// The database at `path`, to read only; other processes may have it open.
    pub fn read_only(path: &Path) -> Result<Self> {
        let connection = schema::open(path, schema::Access::Read)?;
        let pool = Pool::new(path);
        pool.give_back(connection);
        Ok(Store { writer: None, pool, path: path.to_owned(), _lock: None })
    }

    fn begin(path: &Path, connection: Connection, disk: Disk, lock: Option<Lock>) -> Self {
        let writer = Some(Writer::start(connection, disk));
        Store { writer, pool: Pool::new(path), path: path.to_owned(), _lock: lock }
    }

    /// Whether there is no disk space to write. The next write is tried all the same.
    pub fn is_full(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_full)
    }

    /// The problems that SQLite's integrity check finds; none if all is well.
    pub fn check(&self) -> Result<Vec<String>> {
        let check = "PRAGMA integrity_check";
        let mut lines: Vec<String> =
            self.read(|connection| sql::rows(connection, check, [], |row| row.get(0)))?;
        lines.retain(|line| line != "ok");
        Ok(lines)
    }

    /// Runs `work` on the writer's thread, within a transaction that is on disk when this returns.
    /// `work` may be called again if the transaction of a group fails.
    fn write<T: Send + 'static>(
        &self,
        space: Space,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.writer {
            Some(writer) => writer.run(space, work),
            None => Err(StoreError::Bad(format!(
                "{} was opened read only; open it for writing",
                self.path.display()
            ))),
        }
    }

    /// Runs `work` on a connection of the pool, within one read transaction.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.pool.read(work)
    }
}
