//! The number of documents, and their changes in order.

use super::documents::{Body, from_text};
use super::sql::{last_change, next_number, rows, value, whole};
use super::{Result, Store};

/// A version of a document was added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Counts all changes from 1 on.
    pub seq: u64,
    /// The number of the version.
    pub no: u32,
    /// Whether it was added; else it was removed.
    pub added: bool,
}

impl Store {
    /// The changes after number `after`, in order: about `most` at most, with about `bytes` of text
    /// together, but at least one if there is any. Both changes of a replacement come together. The
    /// body of a version that was added and removed since may be deleted already; it can be skipped,
    /// because its removal follows.
    /// The caller has indexed all changes up to `after`: no disk space is reserved for them any more.
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
                // A replacement is a removal, directly followed by an addition.
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

    /// The number of documents.
    pub fn count(&self) -> Result<usize> {
        self.read(|connection| {
            // Every number up to the last is a row, and far fewer are gone than not.
            let sql = "SELECT count(*) FROM documents WHERE gone IS NOT NULL";
            let gone = value::<u32>(connection, sql, [])?.unwrap_or(0);
            Ok(next_number(connection)?.saturating_sub(gone) as usize)
        })
    }

    /// The numbers of the versions that were removed up to change `applied`, in the order of their
    /// removal.
    pub fn gone_at(&self, applied: u64) -> Result<Vec<u32>> {
        let sql = "SELECT no FROM documents WHERE gone <= ?1 ORDER BY gone";
        self.read(|connection| rows(connection, sql, [whole(applied)], |row| row.get(0)))
    }

    /// Calls `each` with number and id of every document that there was after change `applied`,
    /// by ascending number. Returns a number above all that were in use by then.
    pub fn ids_at(&self, applied: u64, mut each: impl FnMut(u32, &str)) -> Result<u32> {
        self.read(|connection| {
            // The next version to be added.
            let first = "SELECT no FROM changes WHERE seq > ?1 AND kind = 1 ORDER BY seq LIMIT 1";
            let end = value(connection, first, [whole(applied)])?;
            let end = end.map_or_else(|| next_number(connection), Ok)?;
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

    /// Calls `each` with every document from number `from` on, by ascending number, until it
    /// fails; returns the last change that they reflect.
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
