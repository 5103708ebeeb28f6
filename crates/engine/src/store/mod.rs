//! Everything of an index that must survive: documents, the order of their changes, events,
//! judgments, keys and the registry of models, in one SQLite database.
//!
//! **The database is the truth.** The text index and the embeddings of documents are made from it,
//! and whatever they miss after a crash is replayed from [`Store::changes_after`].
//!
//! # Documents and changes
//!
//! Every version of a document has a number of its own, which is never used again: an index
//! that knows a number knows what it stands for, however late it learns that the document is
//! gone. [`Store::load`] numbers the documents of a new index from 0 (its *base*);
//! [`Store::upsert`] and [`Store::delete`] note each change in `changes`: the number that came,
//! and the number that went. The standing documents are those of the base, with the changes
//! applied in order. The body of a document that is gone stays until [`Store::clear_gone`] is
//! told that nobody finds it any more, so that a search which runs beside a replacement still
//! gets a whole document.
//!
//! # Writes
//!
//! One thread owns the one connection that writes. It takes all requests that wait, applies
//! them in one transaction, each within a savepoint of its own, and answers when the
//! transaction is on disk (`synchronous=FULL`): many small writes share one wait for the disk,
//! one bad request fails alone, and what was acknowledged survives `kill -9`.
//!
//! # No room
//!
//! Where the disk is full, or would nearly be (see [`Options::reserve`]), writes end in
//! [`StoreError::Full`] before anything is written, and reads go on. A write needs room for the
//! log, the database and the text index: three times what it brings. Nothing has to be
//! restarted: the next write is tried again. Deletions, keys and the choice of models may use
//! the reserve.
//!
//! # Who may open it
//!
//! One process serves an index: it holds a lock of the operating system on `….lock` beside the
//! database, which ends with the process whatever happens. Anyone may look on, with
//! [`Store::read_only`].
//!
//! # Reads
//!
//! Any number of threads; each read borrows a connection from a pool and sees one state of the
//! database. Writing does not block reading, nor reading writing.

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
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use bulk::Loading;
pub use changes::Change;
pub use documents::Body;
pub use error::StoreError;
pub use export::Exported;
pub use keys::KeyAbout;
pub use limits::{LONGEST_ID, LONGEST_QUERY};
pub(crate) use limits::{
    fault_of_event, fault_of_id, fault_of_ids, fault_of_judgment, fault_of_query,
};
pub use models::ModelEntry;
pub use qrels::median;

use lock::Lock;
use pool::Pool;
use space::Disk;
use writer::{ROW, Room, Writer};

/// What a call to the store returns.
pub type Result<T> = std::result::Result<T, StoreError>;

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// So many bytes of the disk are left free by all writes but deletions, keys and the choice
    /// of models.
    pub reserve: u64,
    /// The most bytes that the database may have; what its disk allows if not said.
    pub max_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { reserve: 64 << 20, max_bytes: None }
    }
}

/// An open database.
pub struct Store {
    // Fields end in this order: first the readers, then the writer, which as the last one gives
    // back what the log of the database takes (who only reads cannot), and only then may somebody
    // else have the lock.
    pool: Pool,
    writer: Option<Writer>,
    path: PathBuf,
    _lock: Option<Lock>,
}

impl Store {
    /// A new, empty database at `path`, where there must be no file.
    pub fn create(path: &Path) -> Result<Self> {
        let options = Options::default();
        let lock = Lock::take(path)?;
        if path.exists() {
            return Err(StoreError::Bad(format!(
                "{}: expected no file where a new database is to be, found one; open it, or \
                 choose another place",
                path.display()
            )));
        }
        let connection = schema::connect(path, schema::Access::Create)?;
        schema::create(&connection)?;
        schema::make_lasting(path)?;
        Ok(Store::begin(path, connection, Disk::new(path, options.reserve), options, Some(lock)))
    }

    /// The database at `path`, to read and to write. It fails if another process does that.
    pub fn open(path: &Path) -> Result<Self> {
        Store::open_with(path, Options::default())
    }

    /// Like [`Store::open`], with options.
    pub fn open_with(path: &Path, options: Options) -> Result<Self> {
        schema::must_exist(path)?;
        let lock = Lock::take(path)?;
        let connection = schema::connect(path, schema::Access::Write)?;
        schema::check(&connection, path)?;
        schema::keep_log(&connection);
        Ok(Store::begin(path, connection, Disk::new(path, options.reserve), options, Some(lock)))
    }

    /// The database at `path`, to change keys while somebody else may serve it.
    pub fn open_for_keys(path: &Path) -> Result<Self> {
        schema::must_exist(path)?;
        let connection = schema::connect(path, schema::Access::Write)?;
        schema::check(&connection, path)?;
        let options = Options::default();
        Ok(Store::begin(path, connection, Disk::new(path, options.reserve), options, None))
    }

    /// The database at `path`, to read only, whoever else has it open.
    pub fn read_only(path: &Path) -> Result<Self> {
        schema::must_exist(path)?;
        let connection = schema::connect(path, schema::Access::Read)?;
        schema::check(&connection, path)?;
        let pool = Pool::new(path);
        pool.give_back(connection);
        Ok(Store { writer: None, pool, path: path.to_owned(), _lock: None })
    }

    fn begin(
        path: &Path,
        connection: Connection,
        disk: Disk,
        options: Options,
        lock: Option<Lock>,
    ) -> Self {
        let writer = Writer::start(connection, disk, options.max_bytes);
        Store { writer: Some(writer), pool: Pool::new(path), path: path.to_owned(), _lock: lock }
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is no room to write. The next write is tried all the same.
    pub fn is_full(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_full)
    }

    /// What SQLite finds wrong in the database: nothing, if all is well.
    pub fn check(&self) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut check = connection.prepare("PRAGMA integrity_check")?;
            let lines = check.query_map([], |row| row.get::<_, String>(0))?;
            let mut lines = lines.collect::<std::result::Result<Vec<String>, _>>()?;
            lines.retain(|line| line != "ok");
            Ok(lines)
        })
    }

    /// Runs `work` on the writer's thread, within a transaction; when this returns, what it did
    /// is on disk. It may be called again if the transaction of a group fails.
    fn write<T: Send + 'static>(
        &self,
        room: Room,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.writer {
            Some(writer) => writer.run(room, work),
            None => Err(StoreError::Bad(format!(
                "{} was opened to be read only; open it for writing",
                self.path.display()
            ))),
        }
    }

    /// Runs `work` on a connection of the pool, within one read transaction.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.pool.read(work)
    }
}
