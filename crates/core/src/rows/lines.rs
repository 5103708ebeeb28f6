//! Lines of text with their numbers, and what makes one unreadable.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::bad_row::{BadRow, Checked};
use super::encoding::NotText;
use super::input::Input;
use super::row::RowSource;
use crate::{Error, Result};

/// No row may be longer than this.
pub(super) const LONGEST: u64 = 64 << 20;

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
}

impl RowSource for Lines<'_> {
    type Row = String;

    fn read_row(&mut self, row: &mut String) -> Result<Option<Checked<u64>>> {
        loop {
            let mut bytes = std::mem::take(row).into_bytes();
            bytes.clear();
            let read = (&mut self.reader).take(LONGEST).read_until(b'\n', &mut bytes);
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
            } else if n as u64 == LONGEST {
                return Err(too_long(self.reader.get_ref().label(), self.number));
            }
            if bytes.contains(&0) {
                return Ok(Some(Err(zero_byte(self.number))));
            }
            match String::from_utf8(bytes) {
                Ok(text) => *row = text,
                Err(error) => {
                    let input = self.reader.get_ref();
                    return Ok(Some(Err(not_text(error.as_bytes(), self.number, input))));
                }
            }
            if !row.trim().is_empty() {
                return Ok(Some(Ok(self.number)));
            }
        }
    }
}

/// A row with something in it that its encoding does not know.
pub(super) fn not_text(bytes: &[u8], line: u64, input: &Input<'_>) -> BadRow {
    let NotText { why, expected, found, advice, .. } = input.encoding().refusal(bytes);
    BadRow { why, line, expected, found, advice }
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
