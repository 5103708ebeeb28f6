//! What an index has to know: which numbers stand, and what changed.

use rusqlite::{Connection, OptionalExtension};

use super::documents::{Body, from_text, next_number};
use super::{Result, Store};

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
    /// The changes behind number `after`, in order: about `most` at most, and about as many as have
    /// `bytes` of text together, but not none if there are any. What replaces a document comes
    /// together with what it replaces. A version that was added and is gone by now may have no
    /// body any more: its removal follows, so that it can be passed over.
    /// Whoever asks has taken in all up to `after`: they need no room on the disk any more.
    pub fn changes_after(&self, after: u64, most: usize, bytes: u64) -> Result<Vec<Change>> {
        if let Some(writer) = &self.writer {
            writer.applied(after);
        }
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT seq, no, kind,
                        CASE kind WHEN 0 THEN 0 ELSE
                        (SELECT octet_length(body) FROM bodies WHERE bodies.no = changes.no) END
                 FROM changes WHERE seq > ?1 ORDER BY seq",
            )?;
            let mut rows = find.query([whole(after)])?;
            let (mut changes, mut total): (Vec<Change>, u64) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let seq = row.get::<_, i64>(0)?.unsigned_abs();
                let change = Change { seq, no: row.get(1)?, added: row.get(2)? };
                total += row.get::<_, Option<i64>>(3)?.unwrap_or(0).unsigned_abs();
                // A document that is written again goes and comes in two changes, one behind the
                // other.
                let replaces = change.added && changes.last().is_some_and(|last| !last.added);
                let many = changes.len() >= most || total > bytes;
                if many && !changes.is_empty() && !replaces {
                    break;
                }
                changes.push(change);
            }
            Ok(changes)
        })
    }

    /// The number of the last change; 0 before the first.
    pub fn last_change(&self) -> Result<u64> {
        self.read(last_change)
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

    /// The numbers of versions that were gone after change `applied`, in the order in which they
    /// went.
    pub fn gone_at(&self, applied: u64) -> Result<Vec<u32>> {
        let sql = "SELECT no FROM documents WHERE gone <= ?1 ORDER BY gone";
        self.read(|connection| {
            let mut find = connection.prepare_cached(sql)?;
            let numbers = find.query_map([whole(applied)], |row| row.get(0))?;
            Ok(numbers.collect::<std::result::Result<_, _>>()?)
        })
    }

    /// Calls `each` with number and id of every document that stood after change `applied`,
    /// ascending. All numbers that were given by then are below the one that is returned.
    pub fn ids_at(&self, applied: u64, mut each: impl FnMut(u32, &str)) -> Result<u32> {
        self.read(|connection| {
            let end = end_at(connection, applied)?;
            let mut find = connection.prepare_cached(
                "SELECT no, id FROM documents
                 WHERE no < ?1 AND (gone IS NULL OR gone > ?2) ORDER BY no",
            )?;
            let mut rows = find.query([i64::from(end), whole(applied)])?;
            while let Some(row) = rows.next()? {
                each(row.get(0)?, row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?);
            }
            Ok(end)
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

/// All numbers that were given up to change `applied` are below this one.
fn end_at(connection: &Connection, applied: u64) -> Result<u32> {
    let first = "SELECT no FROM changes WHERE seq > ?1 AND kind = 1 ORDER BY seq LIMIT 1";
    let mut first = connection.prepare_cached(first)?;
    let first: Option<u32> = first.query_row([whole(applied)], |row| row.get(0)).optional()?;
    first.map_or_else(|| next_number(connection), Ok)
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
