//! JSON lines: one object a line.

use serde_json::Value;

use super::bad_row::{BadRow, Checked, excerpt};
use super::input::Input;
use super::lines::Lines;
use super::row::{Row, RowSource, TableSource};
use crate::Result;

/// The objects of a file of JSON lines.
pub(super) struct JsonLines<'r> {
    lines: Lines<'r>,
    text: String,
}

impl<'r> JsonLines<'r> {
    pub(super) fn new(input: Input<'r>) -> Self {
        JsonLines { lines: Lines::new(input), text: String::new() }
    }
}

impl RowSource for JsonLines<'_> {
    type Row = Row;

    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        let line = match self.lines.read_row(&mut self.text)? {
            Some(Ok(line)) => line,
            end => return Ok(end),
        };
        let found = match serde_json::from_str(&self.text) {
            Ok(Value::Object(object)) => {
                *row = Row::Object(object);
                return Ok(Some(Ok(line)));
            }
            Ok(other) => excerpt(&other.to_string()),
            Err(error) => format!("{:?} ({error})", excerpt(&self.text)),
        };
        Ok(Some(Err(BadRow::new("not a JSON object", line, "a JSON object", found))))
    }
}

impl<'r> TableSource<'r> for JsonLines<'r> {
    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }
}
