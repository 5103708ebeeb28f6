//! One text a line, called by the number of its line, counted from 0.

use serde_json::Value;

use super::bad_row::Checked;
use super::input::Input;
use super::lines::Lines;
use super::role::Role;
use super::row::{Object, Row, RowSource, TableSource};
use crate::Result;

/// The lines of a file as documents, queries or aligned links.
pub(super) struct PlainLines<'r> {
    lines: Lines<'r>,
    role: Role,
    text: String,
}

impl<'r> PlainLines<'r> {
    pub(super) fn new(input: Input<'r>, role: Role) -> Self {
        PlainLines { lines: Lines::new(input), role, text: String::new() }
    }
}

impl RowSource for PlainLines<'_> {
    type Row = Row;

    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        let number = match self.lines.read_row(&mut self.text)? {
            Some(Ok(number)) => number,
            end => return Ok(end),
        };
        let (id, text) = ((number - 1).to_string(), std::mem::take(&mut self.text));
        let object = match self.role {
            Role::Queries => [("id", id), ("text", text)],
            // Aligned files: the line is where it stands, whatever it says.
            Role::Links => [("query", id.clone()), ("doc", id)],
            _ => [("id", id), ("body", text)],
        };
        let object = object.map(|(key, value)| (key.to_owned(), Value::from(value)));
        *row = Row::Object(Object::from_iter(object));
        Ok(Some(Ok(number)))
    }
}

impl<'r> TableSource<'r> for PlainLines<'r> {
    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }
}
