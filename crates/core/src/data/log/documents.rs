//! Documents of an import: streamed to the disk, each id with one content.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::super::dataset::{DatasetWriter, Document};
use super::super::field_values::{bad_count, has_text};
use super::{Log, ReadDocument, too_many};
use crate::file::LineTable;
use crate::rows::{BadRow, Checked, TableReader, excerpt};
use crate::{Result, Run};

impl Log {
    /// The document in the current row; `None` if it was read before.
    pub(super) fn document(&mut self, row: &mut TableReader<'_>) -> Checked<Option<Document>> {
        let (id, fields) = row.document()?;
        if let Some((field, word, count)) = bad_count(&fields) {
            return Err(BadRow {
                advice: "an object is a bag of counts (word: number); write anything else as text",
                ..row.bad(
                    "bad count in a bag",
                    format!("a count of 0 or more for {:?} in {field}", excerpt(word)),
                    excerpt(&count.to_string()),
                )
            });
        }
        let content = content(&fields);
        if let Some(known) = self.documents.get(&id) {
            let first = self.contents[known as usize];
            if first.content == content {
                return Ok(None);
            }
            let place = match first.table {
                Some(table) => format!("{}:{}", self.table_name(table as usize, row), first.line),
                None => format!("document {} of the dataset that is appended to", first.line),
            };
            return Err(BadRow {
                advice: "give each document an id of its own",
                ..row.bad(
                    "document id with another content",
                    format!("the document {id:?} as in {place}"),
                    "the same id with another content",
                )
            });
        }
        self.documents.add(&id).ok_or_else(|| too_many(row, "documents"))?;
        let table = u32::try_from(self.tables.len()).ok();
        self.contents.push(ReadDocument { content, table, line: row.line() });
        self.without_text += u64::from(!has_text(&fields));
        Ok(Some(Document { id, fields }))
    }

    /// Copies the documents of the dataset that is appended to.
    pub(in crate::data) fn copy_documents(
        &mut self,
        documents: &LineTable<Document>,
        writer: &mut DatasetWriter,
        run: &Run<'_>,
    ) -> Result<()> {
        self.documents_listed = true;
        for at in 0..documents.len() {
            if at.is_multiple_of(1 << 14) {
                run.step("copying documents", at as u64, Some(documents.len() as u64))?;
            }
            let document = documents.get(at)?;
            if self.documents.add(&document.id).is_none() {
                break;
            }
            let content = content(&document.fields);
            self.contents.push(ReadDocument { content, table: None, line: at as u64 + 1 });
            self.without_text += u64::from(!has_text(&document.fields));
            writer.document(&document)?;
        }
        Ok(())
    }
}

/// A hash that does not depend on the order of the fields. Two different contents of one id collide
/// with probability 2⁻⁶⁴.
fn content(fields: &Map<String, Value>) -> u64 {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    let mut hasher = DefaultHasher::new();
    for (name, value) in sorted {
        name.hash(&mut hasher);
        match value {
            Value::String(text) => text.hash(&mut hasher),
            other => other.to_string().hash(&mut hasher),
        }
    }
    hasher.finish()
}
