//! Documents: the current ones, and every earlier version by its number.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use super::limits::check_id;
use super::sql::{execute, following, last_change, next_number, rows, value, whole};
use super::{ROW, Result, Space, Store, StoreError, schema};
use crate::types::Written;

/// The fields of a document, without its id.
pub type Body = Map<String, Value>;

impl Store {
    /// Adds documents; each replaces the one that has its id, if there is one. Of two with one id
    /// the later wins. They are on disk when this returns.
    pub fn upsert(&self, documents: Vec<(String, Body)>) -> Result<Written> {
        let mut texts = Vec::with_capacity(documents.len());
        let mut bytes = 0;
        for (id, body) in documents {
            check_id("the id of a document", &id)?;
            let text = to_text(&body)?;
            bytes += taken(&id, &text);
            texts.push((id, text));
        }
        self.write(Space::Usual(bytes), move |connection| {
            let mut replaced = 0;
            let mut no = next_number(connection)?;
            for (id, body) in &texts {
                replaced += usize::from(remove(connection, id)?);
                insert(connection, no, id, body)?;
                note(connection, no, true)?;
                no = following(no)?;
            }
            Ok(Written { written: texts.len(), replaced, sequence: last_change(connection)? })
        })
    }

    /// Removes documents. Ids that no document has are ignored and not counted.
    pub fn delete(&self, ids: &[String]) -> Result<Written> {
        let ids = ids.to_vec();
        self.write(Space::Reserve, move |connection| {
            let mut gone = 0;
            for id in &ids {
                gone += usize::from(remove(connection, id)?);
            }
            Ok(Written { written: gone, replaced: gone, sequence: last_change(connection)? })
        })
    }

    /// Deletes the bodies of versions that were removed by change `applied` or before. To be called
    /// when no snapshot in use has them. Returns how many there were.
    pub fn clear_gone(&self, applied: u64) -> Result<usize> {
        let key = "cleared";
        self.write(Space::Reserve, move |connection| {
            let before = schema::meta(connection, key)?.and_then(|seq| seq.parse().ok());
            let before: i64 = before.unwrap_or(0);
            let applied = whole(applied.min(last_change(connection)?));
            if applied <= before {
                return Ok(0);
            }
            let sql = "DELETE FROM bodies WHERE no IN (
                           SELECT no FROM documents WHERE gone > ?1 AND gone <= ?2)";
            let cleared = execute(connection, sql, [before, applied])?;
            schema::set_meta(connection, key, Some(&applied.to_string()))?;
            Ok(cleared)
        })
    }

    /// The fields of versions, in the order of `numbers` and all of one moment; `None` where the
    /// body was deleted.
    pub fn bodies(&self, numbers: &[u32]) -> Result<Vec<Option<Body>>> {
        self.read(|connection| numbers.iter().map(|&no| body(connection, no)).collect())
    }

    /// The ids of versions, removed ones among them, in the order of `numbers`.
    pub fn ids_of(&self, numbers: &[u32]) -> Result<Vec<Option<String>>> {
        let sql = "SELECT id FROM documents WHERE no = ?1";
        self.read(|connection| numbers.iter().map(|no| value(connection, sql, [no])).collect())
    }

    /// The fields of the document called `id`.
    pub fn fields(&self, id: &str) -> Result<Option<Body>> {
        self.read(|connection| match number(connection, id)? {
            Some(no) => body(connection, no),
            None => Ok(None),
        })
    }

    /// The numbers that the documents called `ids` had after change `applied`, when all numbers were
    /// below `end`; in the order of `ids`.
    pub fn numbers_at(&self, ids: &[String], applied: u64, end: u32) -> Result<Vec<Option<u32>>> {
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT no FROM documents WHERE id = ?1 AND gone IS NULL AND no < ?2",
            )?;
            let mut gone: Option<HashMap<String, u32>> = None;
            let mut numbers = Vec::with_capacity(ids.len());
            for id in ids {
                let current = find.query_row(params![id, end], |row| row.get(0)).optional()?;
                if current.is_none() && gone.is_none() {
                    // Few were removed since.
                    gone = Some(gone_since(connection, applied, end)?);
                }
                numbers.push(current.or_else(|| gone.as_ref()?.get(id).copied()));
            }
            Ok(numbers)
        })
    }
}

/// The versions below `end` that were removed after change `applied`, by id.
fn gone_since(connection: &Connection, applied: u64, end: u32) -> Result<HashMap<String, u32>> {
    let sql = "SELECT id, no FROM documents WHERE gone > ?1 AND no < ?2";
    rows(connection, sql, params![whole(applied), end], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Writes the rows of a new version.
pub(super) fn insert(connection: &Connection, no: u32, id: &str, body: &str) -> Result<()> {
    execute(connection, "INSERT INTO documents(no, id) VALUES(?1, ?2)", params![no, id])?;
    execute(connection, "INSERT INTO bodies(no, body) VALUES(?1, ?2)", params![no, body])?;
    Ok(())
}

/// An estimate of the bytes that a document takes in the database, from above.
pub(super) fn taken(id: &str, text: &str) -> usize {
    const PAGE: usize = 4096;
    let row = text.len() + 16;
    let body = match row {
        // Small rows fill pages well.
        _ if row < PAGE / 8 => row + row / 4,
        // Larger ones leave the end of a page empty.
        _ if row < PAGE => PAGE / (PAGE / row),
        // The largest leave a part of their last page empty.
        _ => row + PAGE,
    };
    body + 2 * id.len() + ROW
}

/// The body as it is stored.
pub(super) fn to_text(body: &Body) -> Result<String> {
    serde_json::to_string(body)
        .map_err(|error| StoreError::Bad(format!("the fields cannot be written as JSON: {error}")))
}

/// Removes the document called `id`; returns whether there was one.
fn remove(connection: &Connection, id: &str) -> Result<bool> {
    let Some(no) = number(connection, id)? else { return Ok(false) };
    let seq = note(connection, no, false)?;
    execute(connection, "UPDATE documents SET gone = ?2 WHERE no = ?1", params![no, seq])?;
    Ok(true)
}

/// Records a change; returns its number.
fn note(connection: &Connection, no: u32, added: bool) -> Result<i64> {
    execute(connection, "INSERT INTO changes(no, kind) VALUES(?1, ?2)", params![no, added])?;
    Ok(connection.last_insert_rowid())
}

/// The number of the document called `id`.
pub(super) fn number(connection: &Connection, id: &str) -> Result<Option<u32>> {
    value(connection, "SELECT no FROM documents WHERE id = ?1 AND gone IS NULL", [id])
}

fn body(connection: &Connection, no: u32) -> Result<Option<Body>> {
    let mut find = connection.prepare_cached("SELECT body FROM bodies WHERE no = ?1")?;
    let mut rows = find.query([no])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    from_text(no, row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?).map(Some)
}

/// The body that was stored as `text`.
pub(super) fn from_text(no: u32, text: &str) -> Result<Body> {
    serde_json::from_str(text).map_err(|error| {
        StoreError::Unusable(format!("document number {no} is damaged ({error}); write it again"))
    })
}
