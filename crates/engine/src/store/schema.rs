//! The tables, how connections are made, and which databases are taken.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, ffi, params};

use super::{Result, StoreError};

/// Raised when what is below changes in a way that older programs cannot read.
pub(super) const VERSION: i64 = 1;

/// Says in the head of the file whose it is ("likn").
const APPLICATION: i64 = 0x6c69_6b6e;

const TABLES: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Every version of every document. `gone` is the change that took it away. Fields are in a table
-- of their own, so that going through numbers and ids does not mean reading all texts.
CREATE TABLE documents(no INTEGER PRIMARY KEY, id TEXT NOT NULL, gone INTEGER);
CREATE TABLE bodies(no INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE INDEX documents_gone ON documents(gone) WHERE gone IS NOT NULL;

-- kind: 1 the number was added, 0 it was removed.
CREATE TABLE changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, no INTEGER NOT NULL, kind INTEGER NOT NULL);

CREATE TABLE events(
    no INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, kind TEXT NOT NULL,
    query TEXT NOT NULL, id TEXT, rank INTEGER, shown TEXT NOT NULL, session TEXT);

-- A query keeps its number, so that exports of different days agree.
CREATE TABLE judged(no INTEGER PRIMARY KEY AUTOINCREMENT, query TEXT NOT NULL UNIQUE);
CREATE TABLE judgments(
    query INTEGER NOT NULL REFERENCES judged(no), id TEXT NOT NULL, judge TEXT NOT NULL,
    grade INTEGER NOT NULL, time REAL NOT NULL, PRIMARY KEY(query, id, judge)) WITHOUT ROWID;

CREATE TABLE keys(
    no INTEGER PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, scope TEXT NOT NULL,
    created REAL NOT NULL, revoked REAL);
CREATE UNIQUE INDEX keys_standing ON keys(name) WHERE revoked IS NULL;

CREATE TABLE models(
    no INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, folder TEXT NOT NULL,
    method TEXT NOT NULL, dim INTEGER, neighbours TEXT, loaded REAL NOT NULL,
    UNIQUE(name, version));
-- The active version of a model is that of its last activation which was not taken back.
CREATE TABLE activations(
    no INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL REFERENCES models(no),
    time REAL NOT NULL, taken_back REAL);
";

/// At most one standing document has an id.
const STANDING: &str =
    "CREATE UNIQUE INDEX IF NOT EXISTS documents_standing ON documents(id) WHERE gone IS NULL";

/// Readers map so many bytes of the file, and read what is beyond.
const MAPPED: i64 = 1 << 40;

/// The name in `meta` of a load that has not ended.
const LOADING: &str = "loading";

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// To make a new database and write to it.
    Create,
    /// To write.
    Write,
    /// To read.
    Read,
}

/// A connection to the database at `path`.
pub(super) fn connect(path: &Path, access: Access) -> Result<Connection> {
    let flags = match access {
        Access::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    // Each connection is used by one thread at a time, so SQLite need not lock it.
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.set_prepared_statement_cache_capacity(64);
    if access == Access::Read {
        connection.pragma_update(None, "query_only", true)?;
        // All readers share what the system has in memory, instead of a copy each.
        connection.pragma_update(None, "mmap_size", MAPPED)?;
        return Ok(connection);
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(StoreError::Unusable(format!(
            "{}: this file system has no room for a write-ahead log (SQLite chose {mode:?}); put \
             the index on a local disk",
            path.display()
        )));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 1000)?;
    // A log that one large write made long is cut to this when it starts anew.
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(connection)
}

/// Leaves the (empty) log and its index behind when `connection` is closed as the last one: they
/// are needed to open the database, and a disk that is full by then has no room for new ones.
#[allow(unsafe_code)]
pub(super) fn keep_log(connection: &Connection) {
    let mut on: std::ffi::c_int = 1;
    // SAFETY: the handle is that of an open connection, the name ends in NUL, and this call reads
    // and writes the one number alone. Where it is refused, nothing changes.
    unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_PERSIST_WAL,
            (&raw mut on).cast(),
        );
    }
}

/// Makes the tables.
pub(super) fn create(connection: &Connection) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.execute_batch(TABLES)?;
    connection.execute_batch(STANDING)?;
    set_meta(connection, "schema", Some(&VERSION.to_string()))?;
    set_meta(connection, "base", Some("0"))?;
    connection.execute_batch("COMMIT")?;
    Ok(())
}

/// Sees to it that the new file's name is on disk, too.
pub(super) fn make_lasting(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = |error: std::io::Error| StoreError::Disk(format!("{}: {error}", folder.display()));
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(())
}

/// An error if there is no file.
pub(super) fn must_exist(path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(());
    }
    Err(StoreError::Missing(format!(
        "{}: expected the database of an index, found nothing; build the index",
        path.display()
    )))
}

/// An error if the database is not one that this program can use.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<()> {
    let unusable = |found: String| {
        Err(StoreError::Unusable(format!(
            "{}: expected the database of an index, found {found}",
            path.display()
        )))
    };
    let application = connection.pragma_query_value(None, "application_id", |row| row.get(0));
    match application {
        Ok(APPLICATION) => {}
        Ok(_) => {
            return unusable("one of another program; build an index".into());
        }
        Err(error) => {
            return match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    unusable(format!("a file that cannot be read as one ({error})"))
                }
                // The disk or the system is at fault, and the database may well be whole.
                _ => Err(error.into()),
            };
        }
    }
    let version = meta(connection, "schema")?.and_then(|version| version.parse::<i64>().ok());
    match version {
        Some(VERSION) => {}
        Some(version) => {
            return unusable(format!(
                "one of version {version}, where this program knows version {VERSION}; use a \
                 newer liken, or build the index anew with this one"
            ));
        }
        None => return unusable("one without a version; build the index anew".into()),
    }
    if meta(connection, LOADING)?.is_some() {
        return unusable("one whose making was broken off; build the index anew".into());
    }
    Ok(())
}

/// Lets the database grow to `most` bytes.
pub(super) fn limit(connection: &Connection, most: Option<u64>) -> Result<()> {
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    // The largest number of pages that SQLite knows.
    let pages = most.map_or(4_294_967_294, |most| (most / size.unsigned_abs().max(1)).max(1));
    let pages = i64::try_from(pages).unwrap_or(i64::MAX).min(4_294_967_294);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    Ok(())
}

/// Begins a load: from here on the database is of no use until [`end_loading`].
pub(super) fn begin_loading(connection: &Connection) -> Result<()> {
    set_meta(connection, LOADING, Some("1"))?;
    connection.execute_batch("DROP INDEX IF EXISTS documents_standing")?;
    Ok(())
}

/// Ends a load of `n` documents; an error if two of them have the same id.
pub(super) fn end_loading(connection: &Connection, n: u32) -> Result<()> {
    connection.execute_batch(STANDING)?;
    set_meta(connection, "base", Some(&n.to_string()))?;
    set_meta(connection, LOADING, None)
}

/// What `meta` says of `key`.
pub(super) fn meta(connection: &Connection, key: &str) -> Result<Option<String>> {
    let mut get = connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(get.query_row([key], |row| row.get(0)).optional()?)
}

/// Lets `meta` say `value` of `key`.
pub(super) fn set_meta(connection: &Connection, key: &str, value: Option<&str>) -> Result<()> {
    match value {
        Some(value) => connection.execute(
            "INSERT INTO meta(key, value) VALUES(?1, ?2)
             ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            params![key, value],
        )?,
        None => connection.execute("DELETE FROM meta WHERE key = ?1", [key])?,
    };
    Ok(())
}
