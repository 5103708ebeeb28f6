//! CSV: fields between commas, quoted where needed, so that a field may hold commas and line
//! breaks.

use std::io::{self, Read};
use std::path::Path;

use csv::{ByteRecord, StringRecord};

use super::bad_row::Checked;
use super::input::Input;
use super::lines::{MAX_ROW, too_long, zero_byte};
use super::quotes::{Quotes, StrayQuote};
use super::row::{Record, Row, RowSource};
use crate::{Error, Result};

/// The rows of a CSV file.
pub(super) struct Csv<'r> {
    reader: csv::Reader<Bounded<'r>>,
    record: StringRecord,
    /// Where the row just read starts.
    line: u64,
}

impl<'r> Csv<'r> {
    pub(super) fn new(input: Input<'r>) -> Self {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            // A carriage return is removed from the last field instead: as part of a line end it
            // would be counted with the next row.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(1 << 17)
            .from_reader(Bounded::new(input));
        Csv { reader, record: StringRecord::new(), line: 0 }
    }

    /// Reads the next row that is not blank into the record.
    fn advance(&mut self) -> Result<Option<Checked<u64>>> {
        loop {
            let Csv { reader, record, line } = self;
            reader.get_mut().given = 0;
            let mut bytes = std::mem::take(record).into_byte_record();
            let any = reader
                .read_byte_record(&mut bytes)
                .map_err(|error| csv_failure(error, reader, *line))?;
            let source = reader.get_ref();
            if let Some(stray) = source.quotes.stray(reader.position().line()) {
                return Err(stray_quote(source.input.label(), stray));
            }
            if !any {
                return Ok(None);
            }
            *line = first_line(reader, &bytes);
            let blank = bytes.len() == 1 && bytes[0].trim_ascii().is_empty();
            match StringRecord::from_byte_record(bytes) {
                Ok(valid) => *record = valid,
                Err(error) => {
                    let field = error.utf8_error().field();
                    let bytes: ByteRecord = error.into_byte_record();
                    let bytes = bytes.get(field).unwrap_or_default();
                    let encoding = reader.get_ref().input.encoding();
                    return Ok(Some(Err(encoding.refusal(bytes, *line))));
                }
            }
            if record.as_slice().as_bytes().contains(&0) {
                return Ok(Some(Err(zero_byte(*line))));
            }
            if !blank {
                return Ok(Some(Ok(*line)));
            }
        }
    }
}

impl<'r> RowSource<'r> for Csv<'r> {
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        let read = self.advance()?;
        if matches!(read, Some(Ok(_))) {
            copy(&self.record, row.record());
        }
        Ok(read)
    }

    fn input(&self) -> &Input<'r> {
        &self.reader.get_ref().input
    }
}

/// Copies the fields, the last without a carriage return at its end.
fn copy(fields: &StringRecord, record: &mut Record) {
    record.text.clear();
    record.text.push_str(fields.as_slice());
    record.gap = 0;
    record.ends.clear();
    record.ends.extend((0..fields.len()).filter_map(|at| Some(fields.range(at)?.end)));
    if fields.iter().next_back().is_some_and(|last| last.ends_with('\r')) {
        record.text.pop();
        if let Some(end) = record.ends.last_mut() {
            *end -= 1;
        }
    }
}

/// The bytes of a CSV file: limits the size of a row and tracks quotation marks.
struct Bounded<'r> {
    input: Input<'r>,
    /// Bytes read since the row began.
    given: u64,
    /// Bytes read in all, and the last of them.
    total: u64,
    last: u8,
    quotes: Quotes,
}

impl<'r> Bounded<'r> {
    fn new(input: Input<'r>) -> Self {
        Bounded { input, given: 0, total: 0, last: b'\n', quotes: Quotes::new() }
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given > MAX_ROW {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let n = self.input.read(buffer)?;
        self.given += n as u64;
        self.total += n as u64;
        self.last = buffer[..n].last().copied().unwrap_or(self.last);
        self.quotes.follow(&buffer[..n]);
        Ok(n)
    }
}

/// The line where the row just read starts. The parser reports a line before any blank lines, so it
/// is counted back from the end of the row.
fn first_line(reader: &csv::Reader<Bounded<'_>>, row: &ByteRecord) -> u64 {
    let (end, source) = (reader.position(), reader.get_ref());
    let unterminated = end.byte() == source.total && source.last != b'\n';
    let breaks = row.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
    end.line() - breaks - u64::from(!unterminated)
}

fn csv_failure(error: csv::Error, reader: &csv::Reader<Bounded<'_>>, line: u64) -> Error {
    let input = &reader.get_ref().input;
    match error.into_kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            too_long(input.label(), line + 1)
        }
        csv::ErrorKind::Io(error) => input.failure(error),
        other => Error::Unusable {
            path: input.label().to_owned(),
            problem: format!("not readable as CSV: {other:?}"),
            advice: "export it again, or give JSON lines".into(),
        },
    }
}

/// The error about rows that became part of a field. It ends the import also with `lenient`, because
/// the number of rows is unknown.
fn stray_quote(path: &Path, stray: StrayQuote) -> Error {
    let (line, expected, found) = match stray {
        StrayQuote::Unclosed(line) => (
            line,
            "a closing quotation mark",
            format!("the end of the file: a quote opened in line {line} is never closed"),
        ),
        StrayQuote::Torn(line, closed) => (
            line,
            "a comma or the end of the line after a closing quotation mark",
            format!("text: a quote opened in line {line} is closed in line {closed} before text"),
        ),
    };
    Error::Line {
        path: path.to_owned(),
        line,
        expected: expected.into(),
        found,
        advice: "quote the field and double each quotation mark in it (\"5\"\" nail\"), or use TSV, where it is a character like any other".into(),
    }
}
