//! Titles of documents in one line.

use liken_engine::titles;
use liken_pages::shorten;
use serde_json::{Map, Value};

/// The longest title shown, in characters.
pub const LONGEST: usize = 160;

/// The title of a document with these fields.
pub fn title(fields: &Map<String, Value>) -> Option<String> {
    titles::title(fields).map(|title| shorten(&title, LONGEST))
}

/// The title of a document, else its id.
pub fn title_of(id: &str, fields: &Map<String, Value>) -> String {
    title(fields).unwrap_or_else(|| id.to_owned())
}
