//! What an index has to know: which numbers stand, and what changed.

use rusqlite::Connection;

use super::documents::{Body, from_text, next_number};
use super::{Result, Store, schema};

/// A version of a document came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The place in the order of all changes, from 1 on.
    pub seq: u64,
    /// The version's number.
    pub no: u32,
    /// Whether it came.
    pub added: bool,
}

impl Store {
    /// At most `most` changes behind number `after`, in order. A version that was added and is
    /// gone by now may have no body any more: its removal follows, so that it can be passed over.
    pub fn changes_after(&self, after: u64, most: usize) -> Result<Vec<Change>> {
        let (after, most) = (whole(after), whole(most as u64));
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT seq, no, kind FROM changes WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            let changes = find.query_map([after, most], |row| {
                let seq = row.get::<_, i64>(0)?.unsigned_abs();
                Ok(Change { seq, no: row.get(1)?, added: row.get(2)? })
            })?;
            Ok(changes.collect::<std::result::Result<_, _>>()?)
        })
    }

    /// The number of the last change; 0 before the first.
    pub fn last_change(&self) -> Result<u64> {
        self.read(last_change)
    }

    /// How many documents the index was made of: numbers below this are of its base.
    pub fn base(&self) -> Result<u32> {
        self.read(|connection| {
            let base = schema::meta(connection, "base")?;
            Ok(base.and_then(|base| base.parse().ok()).unwrap_or(0))
        })
    }

    /// How many documents stand.
    pub fn count(&self) -> Result<usize> {
        self.read(|connection| {
            // Every number up to the last is a row, and far fewer are gone than stand.
            let gone: i64 = connection
                .prepare_cached("SELECT count(*) FROM documents WHERE gone IS NOT NULL")?
                .query_row([], |row| row.get(0))?;
            let all = next_number(connection)? as usize;
            Ok(all.saturating_sub(usize::try_from(gone).unwrap_or(0)))
        })
    }

    /// The numbers of versions that are gone, in the order in which they went.
    pub fn gone(&self) -> Result<Vec<u32>> {
        let sql = "SELECT no FROM documents WHERE gone IS NOT NULL ORDER BY gone";
        self.read(|connection| {
            let mut find = connection.prepare_cached(sql)?;
            let numbers = find.query_map([], |row| row.get(0))?;
            Ok(numbers.collect::<std::result::Result<_, _>>()?)
        })
    }

    /// The numbers of standing documents from `from` on, ascending.
    pub fn live_after(&self, from: u32) -> Result<Vec<u32>> {
        let sql = "SELECT no FROM documents WHERE no >= ?1 AND gone IS NULL ORDER BY no";
        self.read(|connection| {
            let mut find = connection.prepare_cached(sql)?;
            let numbers = find.query_map([from], |row| row.get(0))?;
            Ok(numbers.collect::<std::result::Result<_, _>>()?)
        })
    }

    /// Calls `each` with number and id of every standing document, ascending; the last change
    /// that they reflect.
    pub fn ids(&self, mut each: impl FnMut(u32, &str)) -> Result<u64> {
        let sql = "SELECT no, id FROM documents WHERE gone IS NULL ORDER BY no";
        self.read(|connection| {
            let mut find = connection.prepare_cached(sql)?;
            let mut rows = find.query([])?;
            while let Some(row) = rows.next()? {
                each(row.get(0)?, row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?);
            }
            last_change(connection)
        })
    }

    /// Calls `each` with every standing document from number `from` on, ascending, until it
    /// fails; the last change that they reflect.
    pub fn documents_from<E: From<super::StoreError>>(
        &self,
        from: u32,
        mut each: impl FnMut(u32, &str, Body) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        let sql = "SELECT no, id, body FROM documents JOIN bodies USING(no)
                   WHERE no >= ?1 AND gone IS NULL ORDER BY no";
        let mut failed = None;
        let seq = self.read(|connection| {
            let mut find = connection.prepare_cached(sql)?;
            let mut rows = find.query([from])?;
            while let Some(row) = rows.next()? {
                let no = row.get(0)?;
                let id = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
                let text = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
                if let Err(error) = each(no, id, from_text(no, text)?) {
                    failed = Some(error);
                    break;
                }
            }
            last_change(connection)
        })?;
        failed.map_or(Ok(seq), Err)
    }
}

/// The number of the last change that `connection` sees.
pub(super) fn last_change(connection: &Connection) -> Result<u64> {
    let mut last = connection.prepare_cached("SELECT max(seq) FROM changes")?;
    let last: Option<i64> = last.query_row([], |row| row.get(0))?;
    Ok(last.unwrap_or(0).unsigned_abs())
}

/// A number as SQLite counts.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
