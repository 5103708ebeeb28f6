//! TSV: a line is split at its tabs and nothing else, because logs are written that way and a
//! stray quotation mark must not swallow the lines after it.

use super::bad_row::Checked;
use super::input::Input;
use super::lines::Lines;
use super::row::{Row, RowSource, TableSource};
use crate::Result;

/// The rows of a TSV file.
pub(super) struct Tsv<'r> {
    lines: Lines<'r>,
}

impl<'r> Tsv<'r> {
    pub(super) fn new(input: Input<'r>) -> Self {
        Tsv { lines: Lines::new(input) }
    }
}

impl RowSource for Tsv<'_> {
    type Row = Row;

    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        let record = row.record();
        let read = self.lines.read_row(&mut record.text)?;
        if matches!(read, Some(Ok(_))) {
            let tabs = record.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\t');
            record.gap = 1;
            record.ends.clear();
            record.ends.extend(tabs.map(|(at, _)| at));
            record.ends.push(record.text.len());
        }
        Ok(read)
    }
}

impl<'r> TableSource<'r> for Tsv<'r> {
    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }
}
