//! A table whose columns are known by their names alone, read row by row.

use std::path::Path;

use super::encoding::Encoding;
use super::format::TableFormat;
use super::input::Input;
use super::open::{check_seekable, open, read_header};
use super::role::Role;
use super::row::{Row, RowSource};
use super::table::Table;
use crate::{Error, Result, Run, counted};

/// A TSV, CSV or Parquet file.
pub(crate) struct HeaderTable<'r> {
    source: Box<dyn RowSource<'r> + 'r>,
    /// The current row, and where it starts.
    row: Row,
    line: u64,
    header: Vec<String>,
}

impl<'r> HeaderTable<'r> {
    /// Opens the file at `path`, compressed or not; `-` is standard input.
    ///
    /// # Panics
    /// If the format has no columns with names.
    pub(crate) fn open(path: &Path, format: TableFormat, run: Run<'r>) -> Result<Self> {
        assert!(!format.is_keyed(), "a table of rows and columns");
        if format == TableFormat::Parquet {
            check_seekable(path)?;
        }
        let input = Input::open(path, Some(Encoding::UTF_8), run)?;
        // Any role: it does not matter in formats with named columns.
        let mut source = open(input, format, Role::Judgments, &Table::new(path), run)?;
        let mut row = Row::default();
        let header = match source.header() {
            Some(header) => header,
            None => read_header(&mut *source, &mut row)?,
        };
        source.check_columns(&|_| true)?;
        Ok(HeaderTable { source, row, line: 0, header })
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// The name of the file in messages.
    pub(crate) fn label(&self) -> &Path {
        self.source.input().label()
    }

    /// Reads the next row that is not blank; `false` at the end. A row with another number of fields
    /// than the header is an error.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self.source.read_row(&mut self.row)? {
            None => return Ok(false),
            Some(Err(bad)) => {
                self.line = bad.line;
                return Err(self.wrong(&bad.expected, &bad.found));
            }
            Some(Ok(line)) => self.line = line,
        }
        if self.row.width() != self.header.len() {
            let expected = format!("{}, as in the header", counted(self.header.len(), "field"));
            return Err(self.wrong(&expected, &counted(self.row.width(), "field")));
        }
        Ok(true)
    }

    /// Field `at` of the current row.
    pub(crate) fn field(&self, at: usize) -> &str {
        self.row.field(at)
    }

    /// An error about the current row.
    pub(crate) fn wrong(&self, expected: &str, found: &str) -> Error {
        Error::Line {
            path: self.label().to_owned(),
            line: self.line,
            expected: expected.to_owned(),
            found: found.to_owned(),
            advice: "correct the line".into(),
        }
    }
}
