//! Lines of text with their numbers, and tables in formats of one row per line.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::bad_row::{BadRow, Checked};
use super::input::Input;
use super::row::{Row, RowSource};
use crate::{Error, Result};

/// The largest row, in bytes.
pub(super) const MAX_ROW: u64 = 64 << 20;

/// Lines that are not blank, without their ends.
pub(super) struct Lines<'r> {
    reader: BufReader<Input<'r>>,
    text: String,
    number: u64,
}

impl<'r> Lines<'r> {
    pub(super) fn new(input: Input<'r>) -> Self {
        let reader = BufReader::with_capacity(1 << 17, input);
        Lines { reader, text: String::new(), number: 0 }
    }

    pub(super) fn input(&self) -> &Input<'r> {
        self.reader.get_ref()
    }

    /// The line just read, counted from one.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not blank, with its number.
    pub(super) fn advance(&mut self) -> Result<Option<Checked<(u64, &str)>>> {
        let mut text = std::mem::take(&mut self.text);
        let read = self.read_row(&mut text);
        self.text = text;
        Ok(read?.map(|read| read.map(|line| (line, self.text.as_str()))))
    }

    /// Reads the next line that is not blank into `row`; returns its number.
    pub(super) fn read_row(&mut self, row: &mut String) -> Result<Option<Checked<u64>>> {
        loop {
            let mut bytes = std::mem::take(row).into_bytes();
            bytes.clear();
            let read = (&mut self.reader).take(MAX_ROW).read_until(b'\n', &mut bytes);
            let n = read.map_err(|error| self.reader.get_ref().failure(error))?;
            if n == 0 {
                return Ok(None);
            }
            self.number += 1;
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
                if bytes.last() == Some(&b'\r') {
                    bytes.pop();
                }
            } else if n as u64 == MAX_ROW {
                return Err(too_long(self.reader.get_ref().label(), self.number));
            }
            if bytes.contains(&0) {
                return Ok(Some(Err(zero_byte(self.number))));
            }
            match String::from_utf8(bytes) {
                Ok(text) => *row = text,
                Err(error) => {
                    let encoding = self.reader.get_ref().encoding();
                    return Ok(Some(Err(encoding.refusal(error.as_bytes(), self.number))));
                }
            }
            if !row.trim().is_empty() {
                return Ok(Some(Ok(self.number)));
            }
        }
    }
}

/// A format of one row per line.
pub(super) trait LineFormat {
    /// Reads the row in `text`, line number `line`. May take the text.
    fn parse(&mut self, line: u64, text: &mut String, row: &mut Row) -> Checked<()>;

    /// A note for the report, once the rows are read.
    fn note(&self) -> Option<String> {
        None
    }
}

/// The rows of a table in a format of one row per line.
pub(super) struct LineRows<'r, F> {
    lines: Lines<'r>,
    text: String,
    format: F,
}

impl<'r, F> LineRows<'r, F> {
    pub(super) fn new(input: Input<'r>, format: F) -> Self {
        LineRows { lines: Lines::new(input), text: String::new(), format }
    }
}

impl<'r, F: LineFormat> RowSource<'r> for LineRows<'r, F> {
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        let Some(line) = self.lines.read_row(&mut self.text)? else { return Ok(None) };
        Ok(Some(line.and_then(|line| {
            self.format.parse(line, &mut self.text, row)?;
            Ok(line)
        })))
    }

    fn input(&self) -> &Input<'r> {
        self.lines.input()
    }

    fn note(&self) -> Option<String> {
        self.format.note()
    }
}

pub(super) fn zero_byte(line: u64) -> BadRow {
    BadRow {
        why: "a zero byte",
        line,
        expected: "text".into(),
        found: "a zero byte in it".into(),
        advice: "check that the file is text and was copied whole",
    }
}

pub(super) fn too_long(path: &Path, line: u64) -> Error {
    Error::Line {
        path: path.to_owned(),
        line,
        expected: "a row of at most 64 MiB".into(),
        found: "a longer one".into(),
        advice: "look for a missing line end or an unclosed quotation mark, and check the format"
            .into(),
    }
}
