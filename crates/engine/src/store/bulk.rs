//! The documents of a new index, many at a time.

use rusqlite::Connection;

use super::documents::{Body, insert, next_number, no_numbers, taken, to_text};
use super::limits::check_id;
use super::{ROW, Result, Room, Store, StoreError, schema};

/// A transaction takes so many documents, or
const CHUNK: usize = 20_000;
/// so many bytes of them.
const CHUNK_BYTES: usize = 16 << 20;

/// A load that goes on. Until [`finish`](Loading::finish) the database cannot be opened again:
/// half an index is none.
pub struct Loading<'a> {
    store: &'a Store,
    next: u32,
    chunk: Vec<(String, String)>,
    bytes: usize,
}

impl Store {
    /// Begins to load the documents of a new index into this database, which must be empty.
    pub fn load(&self) -> Result<Loading<'_>> {
        self.write(Room::Usual(ROW), |connection| {
            if next_number(connection)? > 0 {
                return Err(StoreError::Bad(
                    "documents can be loaded only into an empty database, and this one has some; \
                     make a new one, or upsert them"
                        .into(),
                ));
            }
            schema::begin_loading(connection)
        })?;
        Ok(Loading { store: self, next: 0, chunk: Vec::new(), bytes: 0 })
    }
}

impl Loading<'_> {
    /// The next document.
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

    /// Ends the load; how many documents there are.
    pub fn finish(mut self) -> Result<u32> {
        self.write()?;
        let n = self.next;
        // The index of ids is made now.
        let ids = n as usize * ROW;
        self.store.write(Room::Usual(ids), move |connection| {
            schema::end_loading(connection, n).map_err(|error| twice(connection).unwrap_or(error))
        })?;
        Ok(n)
    }

    fn write(&mut self) -> Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        let bytes = std::mem::take(&mut self.bytes);
        let first = self.next;
        self.next = self.store.write(Room::Usual(bytes), move |connection| {
            let mut no = first;
            for (id, body) in &chunk {
                insert(connection, no, id, body)?;
                no = no.checked_add(1).ok_or_else(no_numbers)?;
            }
            Ok(no)
        })?;
        Ok(())
    }
}

/// The error that names two documents with one id, if there are such.
fn twice(connection: &Connection) -> Option<StoreError> {
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
