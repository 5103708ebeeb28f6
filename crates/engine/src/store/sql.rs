//! Statements, prepared once per connection, and the numbers of documents and changes.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::{Result, StoreError};

/// Runs a statement; returns how many rows it changed.
pub(super) fn execute(connection: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    Ok(connection.prepare_cached(sql)?.execute(params)?)
}

/// The first column of the first row of a query, if there is a row.
pub(super) fn value<T: FromSql>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<T>> {
    Ok(connection.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?)
}

/// All rows of a query.
pub(super) fn rows<T, C: FromIterator<T>>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<C> {
    let mut query = connection.prepare_cached(sql)?;
    Ok(query.query_map(params, read)?.collect::<rusqlite::Result<C>>()?)
}

/// The number of the last change that `connection` sees; 0 before the first.
pub(super) fn last_change(connection: &Connection) -> Result<u64> {
    let last: Option<Option<i64>> = value(connection, "SELECT max(seq) FROM changes", [])?;
    Ok(last.flatten().unwrap_or(0).unsigned_abs())
}

/// The number that the next version of a document gets. Rows are never deleted, so none is used
/// twice.
pub(super) fn next_number(connection: &Connection) -> Result<u32> {
    let last: Option<Option<u32>> = value(connection, "SELECT max(no) FROM documents", [])?;
    last.flatten().map_or(Ok(0), following)
}

/// The number after `no`: numbers have 32 bits.
pub(super) fn following(no: u32) -> Result<u32> {
    no.checked_add(1).ok_or_else(|| {
        StoreError::Full(
            "all numbers for versions of documents are used up; searching goes on. Build the \
             index anew from its current documents"
                .into(),
        )
    })
}

/// A number as SQLite stores it.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
