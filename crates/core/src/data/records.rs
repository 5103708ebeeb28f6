//! Rows as they stand in a file, before anybody knows what their columns mean.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use csv::{ByteRecord, StringRecord};
use serde_json::{Map, Value};

use super::columns::Role;
use super::encoding::NotText;
use super::foreign::Foreign;
use super::input::Input;
use super::parquet::ParquetRows;
use super::quotes::{Quotes, Swallowed};
use super::table::{BadRow, Checked, Table, TableFormat, excerpt};
use crate::{Error, Result, Run};

/// No row may be longer than this.
pub(super) const LONGEST: u64 = 64 << 20;

/// A file as a sequence of rows, the current one at hand.
pub(super) struct Records<'r> {
    body: Body<'r>,
    line: u64,
}

enum Body<'r> {
    Tsv { lines: Lines<'r>, ends: Vec<usize> },
    Csv { reader: csv::Reader<Bounded<'r>>, record: StringRecord },
    Jsonl { lines: Lines<'r>, object: Map<String, Value> },
    Parquet(Box<ParquetRows<'r>>),
    Foreign { rows: Foreign<'r>, object: Map<String, Value> },
}

impl<'r> Records<'r> {
    /// Reads `input` as the table of `role` that `table` describes.
    pub(super) fn open(
        input: Input<'r>,
        format: TableFormat,
        role: Role,
        table: &Table,
        run: Run<'r>,
    ) -> Result<Self> {
        let body = match format {
            TableFormat::Parquet => {
                Body::Parquet(Box::new(ParquetRows::open(input, &table.path, run)?))
            }
            TableFormat::Tsv => Body::Tsv { lines: Lines::new(input), ends: Vec::new() },
            TableFormat::Jsonl => Body::Jsonl { lines: Lines::new(input), object: Map::new() },
            TableFormat::Csv => Body::Csv {
                reader: csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    // A carriage return is taken off the last field instead: as part of the
                    // end of a line it would be counted with the next row.
                    .terminator(csv::Terminator::Any(b'\n'))
                    .buffer_capacity(1 << 17)
                    .from_reader(Bounded::new(input)),
                record: StringRecord::new(),
            },
            foreign => {
                let rows = Foreign::open(input, foreign, role, table, run)?;
                Body::Foreign { rows, object: Map::new() }
            }
        };
        Ok(Records { body, line: 0 })
    }

    /// The reader of a foreign format.
    pub(super) fn foreign(&self) -> Option<&Foreign<'r>> {
        match &self.body {
            Body::Foreign { rows, .. } => Some(rows),
            _ => None,
        }
    }

    pub(super) fn input(&self) -> &Input<'r> {
        match &self.body {
            Body::Tsv { lines, .. } | Body::Jsonl { lines, .. } => lines.reader.get_ref(),
            Body::Csv { reader, .. } => &reader.get_ref().input,
            Body::Foreign { rows, .. } => rows.input(),
            Body::Parquet(rows) => rows.input(),
        }
    }

    pub(super) fn label(&self) -> &Path {
        self.input().label()
    }

    /// The line where the current row starts, counted from one.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Whether rows are objects.
    pub(super) fn is_keyed(&self) -> bool {
        matches!(self.body, Body::Jsonl { .. } | Body::Foreign { .. })
    }

    /// Goes to the next row that is not blank.
    pub(super) fn advance(&mut self) -> Result<Option<Checked<()>>> {
        match &mut self.body {
            Body::Tsv { lines, ends } => {
                let text = match lines.advance()? {
                    None => return Ok(None),
                    Some(Err(bad)) => {
                        self.line = bad.line;
                        return Ok(Some(Err(bad)));
                    }
                    Some(Ok((line, text))) => {
                        self.line = line;
                        text
                    }
                };
                ends.clear();
                ends.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\t').map(|(i, _)| i));
                ends.push(text.len());
                Ok(Some(Ok(())))
            }
            Body::Jsonl { lines, object } => {
                let text = match lines.advance()? {
                    None => return Ok(None),
                    Some(Err(bad)) => {
                        self.line = bad.line;
                        return Ok(Some(Err(bad)));
                    }
                    Some(Ok((line, text))) => {
                        self.line = line;
                        text
                    }
                };
                let row = match serde_json::from_str(text) {
                    Ok(Value::Object(parsed)) => {
                        *object = parsed;
                        Ok(())
                    }
                    Ok(other) => Err(excerpt(&other.to_string())),
                    Err(error) => Err(format!("{:?} ({error})", excerpt(text))),
                };
                Ok(Some(row.map_err(|found| BadRow {
                    why: "not a JSON object",
                    line: self.line,
                    expected: "a JSON object".into(),
                    found,
                    advice: "",
                })))
            }
            Body::Foreign { rows, object } => Ok(rows.advance()?.map(|row| match row {
                Ok((line, read)) => {
                    self.line = line;
                    *object = read;
                    Ok(())
                }
                Err(bad) => {
                    self.line = bad.line;
                    Err(bad)
                }
            })),
            Body::Parquet(rows) => Ok(rows.advance()?.map(|row| {
                self.line = row.as_ref().map_or_else(|bad| bad.line, |&line| line);
                row.map(|_| ())
            })),
            Body::Csv { reader, record } => loop {
                reader.get_mut().given = 0;
                let mut bytes = std::mem::take(record).into_byte_record();
                let any = reader
                    .read_byte_record(&mut bytes)
                    .map_err(|error| csv_failure(error, reader, self.line))?;
                let source = reader.get_ref();
                if let Some(swallowed) = source.quotes.swallowed(reader.position().line()) {
                    return Err(swallowed_rows(source.input.label(), swallowed));
                }
                if !any {
                    return Ok(None);
                }
                self.line = first_line(reader, &bytes);
                let blank = bytes.len() == 1 && bytes[0].trim_ascii().is_empty();
                match StringRecord::from_byte_record(bytes) {
                    Ok(valid) => *record = valid,
                    Err(error) => {
                        let field = error.utf8_error().field();
                        let bytes: ByteRecord = error.into_byte_record();
                        let bytes = bytes.get(field).unwrap_or_default();
                        let bad = not_text(bytes, self.line, &reader.get_ref().input);
                        return Ok(Some(Err(bad)));
                    }
                }
                if record.as_slice().as_bytes().contains(&0) {
                    return Ok(Some(Err(zero_byte(self.line))));
                }
                if !blank {
                    return Ok(Some(Ok(())));
                }
            },
        }
    }

    /// How many fields the current row has.
    pub(super) fn width(&self) -> usize {
        match &self.body {
            Body::Tsv { ends, .. } => ends.len(),
            Body::Csv { record, .. } => record.len(),
            Body::Jsonl { object, .. } | Body::Foreign { object, .. } => object.len(),
            Body::Parquet(rows) => rows.width(),
        }
    }

    /// Field `at` of the current row; empty where there is none.
    pub(super) fn field(&self, at: usize) -> &str {
        match &self.body {
            Body::Tsv { lines, ends } => {
                let start = if at == 0 { 0 } else { ends.get(at - 1).map_or(0, |end| end + 1) };
                ends.get(at).map_or("", |&end| &lines.text[start..end])
            }
            Body::Csv { record, .. } => {
                let field = record.get(at).unwrap_or_default();
                let is_last = at + 1 == record.len();
                field.strip_suffix('\r').filter(|_| is_last).unwrap_or(field)
            }
            Body::Jsonl { .. } | Body::Foreign { .. } => "",
            Body::Parquet(rows) => rows.field(at),
        }
    }

    /// Field `at` of the current row as a value; `None` where Parquet has nothing.
    pub(super) fn value(&self, at: usize) -> Option<Value> {
        match &self.body {
            Body::Parquet(rows) => rows.value(at),
            _ => Some(self.field(at).into()),
        }
    }

    /// The rows of a Parquet file, which brings its own names of columns.
    pub(super) fn parquet(&self) -> Option<&ParquetRows<'r>> {
        match &self.body {
            Body::Parquet(rows) => Some(rows),
            _ => None,
        }
    }

    /// All fields of the current row.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        (0..self.width()).map(|at| self.field(at))
    }

    /// The current row where rows are objects.
    pub(super) fn object(&self) -> Option<&Map<String, Value>> {
        match &self.body {
            Body::Jsonl { object, .. } | Body::Foreign { object, .. } => Some(object),
            _ => None,
        }
    }

    /// Like [`Records::object`], to keep.
    pub(super) fn take_object(&mut self) -> Option<Map<String, Value>> {
        self.set_object(Map::new())
    }

    /// Puts another object in the place of the current row.
    pub(super) fn set_object(&mut self, row: Map<String, Value>) -> Option<Map<String, Value>> {
        match &mut self.body {
            Body::Jsonl { object, .. } | Body::Foreign { object, .. } => {
                Some(std::mem::replace(object, row))
            }
            _ => None,
        }
    }
}

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
        loop {
            let mut bytes = std::mem::take(&mut self.text).into_bytes();
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
                Ok(text) => self.text = text,
                Err(error) => {
                    let input = self.reader.get_ref();
                    return Ok(Some(Err(not_text(error.as_bytes(), self.number, input))));
                }
            }
            if !self.text.trim().is_empty() {
                return Ok(Some(Ok((self.number, &self.text))));
            }
        }
    }
}

/// The bytes of a CSV file: ends the reading when one row grows without end, and follows the
/// quotation marks.
struct Bounded<'r> {
    input: Input<'r>,
    /// Bytes given since the row began.
    given: u64,
    /// Bytes given in all, and the last of them.
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
        if self.given > LONGEST {
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

/// The line where the row just read starts. The reader's own note of it comes before any
/// blank lines, so it is counted back from the end of the row.
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
            advice: "write it anew, or give it as JSON lines".into(),
        },
    }
}

/// Rows that became part of a field. Also with --lenient this ends the import, because nobody
/// can say how many rows they were.
fn swallowed_rows(path: &Path, swallowed: Swallowed) -> Error {
    let (line, expected, found) = match swallowed {
        Swallowed::Unclosed(line) => (
            line,
            "a closing quotation mark",
            format!("the end of the file: a quote opened in line {line} is never closed"),
        ),
        Swallowed::Torn(line, closed) => (
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

/// A row with something in it that its encoding does not know.
pub(super) fn not_text(bytes: &[u8], line: u64, input: &Input<'_>) -> BadRow {
    let NotText { why, expected, found, advice, .. } = input.encoding().refusal(bytes);
    BadRow { why, line, expected, found, advice }
}

fn zero_byte(line: u64) -> BadRow {
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// The lines and fields of `text`, or what is wrong with it.
    fn rows(format: TableFormat, text: &[u8]) -> Result<Vec<(u64, Vec<String>)>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        File::create(&path).unwrap().write_all(text).unwrap();
        let input = Input::open(&path, None, Run::silent())?;
        let table = Table::new(&path);
        let mut records = Records::open(input, format, Role::Clicks, &table, Run::silent())?;
        let mut rows = Vec::new();
        while let Some(row) = records.advance()? {
            row.map_err(|bad| bad.error(&path))?;
            rows.push((records.line(), records.fields().map(str::to_owned).collect()));
        }
        Ok(rows)
    }

    fn row(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(|field| field.to_string()).collect())
    }

    #[test]
    fn tsv_is_split_at_tabs_alone() {
        let read = rows(TableFormat::Tsv, b"a\t\"b\r\n\n\tx\t\nlast").unwrap();
        assert_eq!(read, [row(1, &["a", "\"b"]), row(3, &["", "x", ""]), row(4, &["last"])]);
    }

    #[test]
    fn csv_rows_know_the_line_they_start_in() {
        let read = rows(TableFormat::Csv, b"a,\"b\nc\"\r\n\nd,\"\"\"\"\n").unwrap();
        assert_eq!(read, [row(1, &["a", "b\nc"]), row(4, &["d", "\""])]);
        let read = rows(TableFormat::Csv, b"\n\na,b\r\n\r\nc,\"d\r\ne\"\r\nf,g\r\nh,i").unwrap();
        let expected = [
            row(3, &["a", "b"]),
            row(5, &["c", "d\r\ne"]),
            row(7, &["f", "g"]),
            row(8, &["h", "i"]),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn csv_rows_swallowed_by_a_stray_quote_are_an_error() {
        let rows = |text: &str| rows(TableFormat::Csv, text.as_bytes());
        let error = |text: &str| rows(text).unwrap_err().to_string();
        let unclosed = error("id,title\nd1,a\nd3,\"5 inch nail\nd4,ghi\nd5,jkl\n");
        assert!(unclosed.contains("t:3: "), "{unclosed}");
        assert!(unclosed.contains("a quote opened in line 3 is never closed"), "{unclosed}");
        assert!(error("a,b\nc,\"").contains("t:2: "));
        assert!(error("\"").contains("t:1: "));
        let torn = error("a,b\nd3,\"5 inch\nd4,x\nd5,\"6 inch\nd6,y\n");
        assert!(torn.contains("t:2: "), "{torn}");
        assert!(torn.contains("opened in line 2 is closed in line 4 before text"), "{torn}");
        assert_eq!(rows("a,\"b\"").unwrap(), [row(1, &["a", "b"])]);
        assert_eq!(rows("a,\"\"\"b\n\"\"\"\r\n").unwrap(), [row(1, &["a", "\"b\n\""])]);
    }

    #[test]
    fn a_row_without_end_stops_the_reading() {
        let endless = vec![b'x'; LONGEST as usize + (2 << 20)];
        let open_quote = [b"a\n\"", endless.as_slice()].concat();
        for (format, text, line) in [
            (TableFormat::Tsv, endless.as_slice(), 1),
            (TableFormat::Jsonl, endless.as_slice(), 1),
            (TableFormat::Csv, open_quote.as_slice(), 2),
        ] {
            let message = rows(format, text).unwrap_err().to_string();
            assert!(message.contains(&format!(":{line}: expected a row of at most 64 MiB")));
        }
    }
}
