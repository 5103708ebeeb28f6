//! Documents: what stands, and what every number stood for.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value};

use super::changes::{last_change, whole};
use super::limits::check_id;
use super::{ROW, Result, Room, Store, StoreError, schema};
use crate::types::Written;

/// The fields of a document, without its id.
pub type Body = Map<String, Value>;

impl Store {
    /// Puts documents in, each in place of the standing one of its id, if there is one. Of two
    /// with one id the later stands. They are on disk when this returns.
    pub fn upsert(&self, documents: Vec<(String, Body)>) -> Result<Written> {
        let mut texts = Vec::with_capacity(documents.len());
        let mut bytes = 0;
        for (id, body) in documents {
            check_id("the id of a document", &id)?;
            let text = to_text(&body)?;
            bytes += taken(&id, &text);
            texts.push((id, text));
        }
        self.write(Room::Usual(bytes), move |connection| {
            let mut replaced = 0;
            let mut no = next_number(connection)?;
            for (id, body) in &texts {
                replaced += usize::from(remove(connection, id)?);
                insert(connection, no, id, body)?;
                note(connection, no, true)?;
                no = no.checked_add(1).ok_or_else(no_numbers)?;
            }
            Ok(Written { written: texts.len(), replaced, sequence: last_change(connection)? })
        })
    }

    /// Takes documents out. Ids that no standing document has are passed over, and not counted.
    pub fn delete(&self, ids: &[String]) -> Result<Written> {
        let ids = ids.to_vec();
        self.write(Room::Reserve, move |connection| {
            let mut gone = 0;
            for id in &ids {
                gone += usize::from(remove(connection, id)?);
            }
            Ok(Written { written: gone, replaced: gone, sequence: last_change(connection)? })
        })
    }

    /// Gives back the room of documents that are gone since change `applied` or before. To be
    /// called when nobody finds them any more; their bodies are `None` from then on. Returns how
    /// many there were.
    pub fn clear_gone(&self, applied: u64) -> Result<usize> {
        let key = "cleared";
        self.write(Room::Reserve, move |connection| {
            let before = schema::meta(connection, key)?.and_then(|seq| seq.parse().ok());
            let before: i64 = before.unwrap_or(0);
            let applied = i64::try_from(applied.min(last_change(connection)?)).unwrap_or(i64::MAX);
            if applied <= before {
                return Ok(0);
            }
            let mut clear = connection.prepare_cached(
                "DELETE FROM bodies WHERE no IN (
                     SELECT no FROM documents WHERE gone > ?1 AND gone <= ?2)",
            )?;
            let cleared = clear.execute([before, applied])?;
            schema::set_meta(connection, key, Some(&applied.to_string()))?;
            Ok(cleared)
        })
    }

    /// The fields of versions that stand or are gone only lately, in their order and all of one
    /// moment.
    pub fn bodies(&self, numbers: &[u32]) -> Result<Vec<Option<Body>>> {
        self.read(|connection| numbers.iter().map(|&no| body(connection, no)).collect())
    }

    /// The ids of versions, also of those that are gone, in their order.
    pub fn ids_of(&self, numbers: &[u32]) -> Result<Vec<Option<String>>> {
        self.read(|connection| numbers.iter().map(|&no| id(connection, no)).collect())
    }

    /// The number of the standing document called `id`.
    pub fn number(&self, id: &str) -> Result<Option<u32>> {
        self.read(|connection| number(connection, id))
    }

    /// The fields of the standing document called `id`.
    pub fn fields(&self, id: &str) -> Result<Option<Body>> {
        self.read(|connection| match number(connection, id)? {
            Some(no) => body(connection, no),
            None => Ok(None),
        })
    }

    /// The numbers of the documents called `ids` as they stood after change `applied`, when all
    /// numbers were below `end`; in the order of `ids`.
    pub fn numbers_at(&self, ids: &[String], applied: u64, end: u32) -> Result<Vec<Option<u32>>> {
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT no FROM documents WHERE id = ?1 AND gone IS NULL AND no < ?2",
            )?;
            let mut gone: Option<HashMap<String, u32>> = None;
            let mut numbers = Vec::with_capacity(ids.len());
            for id in ids {
                let standing = find.query_row(params![id, end], |row| row.get(0)).optional()?;
                if standing.is_none() && gone.is_none() {
                    // What went since is found among the few that did.
                    gone = Some(gone_since(connection, applied, end)?);
                }
                numbers.push(standing.or_else(|| gone.as_ref()?.get(id).copied()));
            }
            Ok(numbers)
        })
    }
}

/// The versions below `end` that went after change `applied`, by id.
fn gone_since(connection: &Connection, applied: u64, end: u32) -> Result<HashMap<String, u32>> {
    let mut find =
        connection.prepare_cached("SELECT id, no FROM documents WHERE gone > ?1 AND no < ?2")?;
    let rows =
        find.query_map(params![whole(applied), end], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

/// The number that the next version gets. Rows are never taken away, so none comes twice.
pub(super) fn next_number(connection: &Connection) -> Result<u32> {
    let mut last = connection.prepare_cached("SELECT max(no) FROM documents")?;
    let last: Option<u32> = last.query_row([], |row| row.get(0))?;
    last.map_or(Ok(0), |last| last.checked_add(1).ok_or_else(no_numbers))
}

/// Numbers have 32 bits.
pub(super) fn no_numbers() -> StoreError {
    StoreError::Full(
        "all numbers for versions of documents are used up; searching goes on. Build the index \
         anew from its standing documents"
            .into(),
    )
}

/// Rows for a new version.
pub(super) fn insert(connection: &Connection, no: u32, id: &str, body: &str) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO documents(no, id) VALUES(?1, ?2)")?
        .execute(params![no, id])?;
    connection
        .prepare_cached("INSERT INTO bodies(no, body) VALUES(?1, ?2)")?
        .execute(params![no, body])?;
    Ok(())
}

/// The bytes that a document takes in the database.
pub(super) fn taken(id: &str, text: &str) -> usize {
    const PAGE: usize = 4096;
    let row = text.len() + 16;
    let body = match row {
        // Rows fill pages well while they are small;
        _ if row < PAGE / 8 => row + row / 4,
        // larger ones do not share a page to its end,
        _ if row < PAGE => PAGE / (PAGE / row),
        // and the largest leave a part of one empty.
        _ => row + PAGE,
    };
    body + 2 * id.len() + ROW
}

/// The body as it is kept.
pub(super) fn to_text(body: &Body) -> Result<String> {
    serde_json::to_string(body)
        .map_err(|error| StoreError::Bad(format!("the fields cannot be written as JSON: {error}")))
}

/// Ends the standing document called `id`; whether there was one.
fn remove(connection: &Connection, id: &str) -> Result<bool> {
    let Some(no) = number(connection, id)? else { return Ok(false) };
    let seq = note(connection, no, false)?;
    connection
        .prepare_cached("UPDATE documents SET gone = ?2 WHERE no = ?1")?
        .execute(params![no, seq])?;
    Ok(true)
}

/// Notes a change; its number.
fn note(connection: &Connection, no: u32, added: bool) -> Result<i64> {
    let mut insert = connection.prepare_cached("INSERT INTO changes(no, kind) VALUES(?1, ?2)")?;
    insert.execute(params![no, added])?;
    Ok(connection.last_insert_rowid())
}

fn number(connection: &Connection, id: &str) -> Result<Option<u32>> {
    let mut find =
        connection.prepare_cached("SELECT no FROM documents WHERE id = ?1 AND gone IS NULL")?;
    Ok(find.query_row([id], |row| row.get(0)).optional()?)
}

fn id(connection: &Connection, no: u32) -> Result<Option<String>> {
    let mut find = connection.prepare_cached("SELECT id FROM documents WHERE no = ?1")?;
    Ok(find.query_row([no], |row| row.get(0)).optional()?)
}

fn body(connection: &Connection, no: u32) -> Result<Option<Body>> {
    let mut find = connection.prepare_cached("SELECT body FROM bodies WHERE no = ?1")?;
    let mut rows = find.query([no])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    from_text(no, row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?).map(Some)
}

/// The body that was kept as `text`.
pub(super) fn from_text(no: u32, text: &str) -> Result<Body> {
    serde_json::from_str(text).map_err(|error| {
        StoreError::Unusable(format!("document number {no} is damaged ({error}); write it again"))
    })
}
