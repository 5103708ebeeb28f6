//! Bulk loading of the documents of a new index.

use rusqlite::Connection;

use super::documents::{Body, insert, taken, to_text};
use super::limits::check_id;
use super::sql::{following, next_number};
use super::{ROW, Result, Space, Store, StoreError, schema};

/// The most documents of a transaction.
const CHUNK: usize = 20_000;
/// About the most bytes of a transaction.
const CHUNK_BYTES: usize = 16 << 20;

/// A bulk load in progress. Until [`finish`](BulkLoad::finish) the database cannot be opened again:
/// half an index is of no use.
pub struct BulkLoad<'a> {
    store: &'a Store,
    next: u32,
    chunk: Vec<(String, String)>,
    bytes: usize,
}

impl Store {
    /// Begins a bulk load into this database, which must be empty.
    pub fn bulk_load(&self) -> Result<BulkLoad<'_>> {
        self.write(Space::Usual(ROW), |connection| {
            if next_number(connection)? > 0 {
                return Err(StoreError::Bad(
                    "documents can be loaded only into an empty database, and this one has some; \
                     make a new one, or upsert them"
                        .into(),
                ));
            }
            schema::begin_loading(connection)
        })?;
        Ok(BulkLoad { store: self, next: 0, chunk: Vec::new(), bytes: 0 })
    }
}

impl BulkLoad<'_> {
    /// Adds the next document.
    pub fn push(&mut self, id: String, body: &Body) -> Result<()> {
        check_id("the id of a document", &id)?;
        let text = to_text(body)?;
        self.bytes += taken(&id, &text);
        self.chunk.push((id, text));
        if self.chunk.len() >= CHUNK || self.bytes >= CHUNK_BYTES {
            self.write()?;
        }
        Ok(())
    }

    /// Ends the load; returns how many documents there are.
    pub fn finish(mut self) -> Result<u32> {
        self.write()?;
        let n = self.next;
        // This builds the index of ids.
        self.store.write(Space::Usual(n as usize * ROW), move |connection| {
            schema::end_loading(connection, n)
                .map_err(|error| duplicate_id(connection).unwrap_or(error))
        })?;
        Ok(n)
    }

    fn write(&mut self) -> Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        let bytes = std::mem::take(&mut self.bytes);
        let first = self.next;
        self.next = self.store.write(Space::Usual(bytes), move |connection| {
            let mut no = first;
            for (id, body) in &chunk {
                insert(connection, no, id, body)?;
                no = following(no)?;
            }
            Ok(no)
        })?;
        Ok(())
    }
}

/// The error that names two documents with one id, if there are any.
fn duplicate_id(connection: &Connection) -> Option<StoreError> {
    let sql = "SELECT id, min(no), max(no) FROM documents GROUP BY id HAVING count(*) > 1
               ORDER BY min(no) LIMIT 1";
    let found = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?, row.get::<_, u32>(2)?))
    };
    let (id, first, last) = connection.query_row(sql, [], found).ok()?;
    Some(StoreError::Bad(format!(
        "expected every document to have an id of its own, found {id:?} twice: documents {} and \
         {}, counted from 1",
        u64::from(first) + 1,
        u64::from(last) + 1,
    )))
}
