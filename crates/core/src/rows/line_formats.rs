//! The plainest formats of one row per line: TSV, JSON lines, and texts.

use serde_json::Value;

use super::bad_row::{BadRow, Checked, excerpt};
use super::lines::LineFormat;
use super::role::Role;
use super::row::{Row, object};

/// TSV: a line is split at its tabs and nothing else, because logs are written that way and a
/// stray quotation mark must not swallow the lines after it.
pub(super) struct Tsv;

impl LineFormat for Tsv {
    fn parse(&mut self, _line: u64, text: &mut String, row: &mut Row) -> Checked<()> {
        let record = row.record();
        std::mem::swap(&mut record.text, text);
        let tabs = record.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\t');
        record.gap = 1;
        record.ends.clear();
        record.ends.extend(tabs.map(|(at, _)| at));
        record.ends.push(record.text.len());
        Ok(())
    }
}

/// One JSON object per line.
pub(super) struct JsonLines;

impl LineFormat for JsonLines {
    fn parse(&mut self, line: u64, text: &mut String, row: &mut Row) -> Checked<()> {
        let found = match serde_json::from_str(text) {
            Ok(Value::Object(object)) => {
                *row = Row::Object(object);
                return Ok(());
            }
            Ok(other) => excerpt(&other.to_string()),
            Err(error) => format!("{:?} ({error})", excerpt(text)),
        };
        Err(BadRow::new("not a JSON object", line, "a JSON object", found))
    }
}

/// One text per line, with the number of the line, counted from 0, as its id: documents, queries or
/// aligned links.
pub(super) struct PlainLines(pub Role);

impl LineFormat for PlainLines {
    fn parse(&mut self, line: u64, text: &mut String, row: &mut Row) -> Checked<()> {
        let (id, text) = ((line - 1).to_string(), std::mem::take(text));
        *row = Row::Object(match self.0 {
            Role::Queries => object([("id", id.into()), ("text", text.into())]),
            // Of aligned files only the position of a line counts.
            Role::Links => object([("query", id.clone().into()), ("doc", id.into())]),
            _ => object([("id", id.into()), ("body", text.into())]),
        });
        Ok(())
    }
}
