//! Texts as files, and rows as texts, for the tests of formats.

use std::io::Write;

use serde_json::Value;

use super::input::Input;
use super::row::{Row, RowSource};
use crate::Run;

/// `text` as an input.
pub(super) fn input_of(text: &str) -> Input<'static> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Input::open(file.path(), None, Run::silent()).unwrap()
}

/// Every row as its line and its text; bad rows as their messages.
pub(super) fn objects(source: &mut dyn RowSource<'_>) -> Vec<(u64, String)> {
    let (mut all, mut row) = (Vec::new(), Row::default());
    while let Some(read) = source.read_row(&mut row).unwrap() {
        all.push(match read {
            Ok(line) => (line, Value::Object(row.take_object().unwrap()).to_string()),
            Err(bad) => (bad.line, format!("expected {}, found {}", bad.expected, bad.found)),
        });
    }
    all
}
