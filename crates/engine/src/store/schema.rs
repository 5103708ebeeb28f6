//! The tables, connections, and the check that a database can be used.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi, params};

use super::sql::{execute, value};
use super::{Result, StoreError};

/// The version of the tables; raised when older programs could not read them.
pub(super) const VERSION: i64 = 1;

/// SQLite's application id of our databases ("likn").
const APPLICATION: i64 = 0x6c69_6b6e;

const TABLES: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Every version of every document. `gone` is the change that removed it. Fields are in a table of
-- their own, so that a scan of numbers and ids does not read all texts.
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
-- The active version of a model is that of its last activation that was not rolled back.
CREATE TABLE activations(
    no INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL REFERENCES models(no),
    time REAL NOT NULL, taken_back REAL);
";

/// At most one current document has an id.
const CURRENT_IDS: &str =
    "CREATE UNIQUE INDEX IF NOT EXISTS documents_standing ON documents(id) WHERE gone IS NULL";

/// The bytes of the file that readers map; they read what is beyond.
const MAPPED: i64 = 1 << 40;

/// The key in `meta` of a bulk load that has not ended.
const LOADING: &str = "loading";

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Creation of a new database, and writes.
    Create,
    /// Writes.
    Write,
    /// Reads.
    Read,
}

/// A connection to an existing database that this program can use.
pub(super) fn open(path: &Path, access: Access) -> Result<Connection> {
    must_exist(path)?;
    let connection = connect(path, access)?;
    check(&connection, path)?;
    Ok(connection)
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
        // All readers share the system's page cache instead of a copy each.
        connection.pragma_update(None, "mmap_size", MAPPED)?;
        return Ok(connection);
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(StoreError::Unusable(format!(
            "{}: this file system does not support a write-ahead log (SQLite chose {mode:?}); put \
             the index on a local disk",
            path.display()
        )));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 1000)?;
    // A log that one large write made long is truncated to this size when it is reset.
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(connection)
}

/// Keeps the (empty) log and its index when `connection` is closed as the last one: opening the
/// database needs them, and a disk that is full by then has no space for new ones.
#[allow(unsafe_code)]
pub(super) fn keep_log(connection: &Connection) {
    let mut on: std::ffi::c_int = 1;
    // SAFETY: the handle is that of an open connection, the name ends in NUL, and this call reads
    // and writes only this number. If SQLite refuses, nothing changes.
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
    connection.execute_batch(CURRENT_IDS)?;
    set_meta(connection, "schema", Some(&VERSION.to_string()))?;
    set_meta(connection, "base", Some("0"))?;
    connection.execute_batch("COMMIT")?;
    Ok(())
}

/// Writes the folder's entry of the new file to disk, too.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    let failed = |error: std::io::Error| StoreError::Disk(format!("{}: {error}", folder.display()));
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok(())
}

/// The folder that `path` is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
fn check(connection: &Connection, path: &Path) -> Result<()> {
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
            return unusable("one of another program; build the index".into());
        }
        Err(error) => {
            return match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    unusable(format!("a file that cannot be read as one ({error})"))
                }
                // The disk or the system is at fault; the database may be fine.
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
        return unusable("an unfinished one; build the index anew".into());
    }
    Ok(())
}

/// Begins a bulk load: the database cannot be opened until [`end_loading`].
pub(super) fn begin_loading(connection: &Connection) -> Result<()> {
    set_meta(connection, LOADING, Some("1"))?;
    connection.execute_batch("DROP INDEX IF EXISTS documents_standing")?;
    Ok(())
}

/// Ends a bulk load of `n` documents; an error if two of them have the same id.
pub(super) fn end_loading(connection: &Connection, n: u32) -> Result<()> {
    connection.execute_batch(CURRENT_IDS)?;
    set_meta(connection, "base", Some(&n.to_string()))?;
    set_meta(connection, LOADING, None)
}

/// The value of `key` in `meta`.
pub(super) fn meta(connection: &Connection, key: &str) -> Result<Option<String>> {
    value(connection, "SELECT value FROM meta WHERE key = ?1", [key])
}

/// Sets the value of `key` in `meta`, or deletes it.
pub(super) fn set_meta(connection: &Connection, key: &str, value: Option<&str>) -> Result<()> {
    match value {
        Some(value) => {
            execute(connection, "REPLACE INTO meta(key, value) VALUES(?1, ?2)", params![key, value])
        }
        None => execute(connection, "DELETE FROM meta WHERE key = ?1", [key]),
    }?;
    Ok(())
}
