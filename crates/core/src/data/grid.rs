//! A table with a header, read row by row, whose columns are known by their names alone.

use std::path::Path;

use super::columns::Role;
use super::encoding::Encoding;
use super::input::Input;
use super::parquet::ParquetRows;
use super::records::Records;
use super::table::{Table, TableFormat, check_seekable, empty};
use crate::{Error, Result, Run};

/// A TSV, CSV or Parquet file.
pub(crate) struct Grid<'r> {
    records: Records<'r>,
    header: Vec<String>,
}

impl<'r> Grid<'r> {
    /// Opens the file at `path`, packed or not; `-` is standard input.
    ///
    /// # Panics
    /// If the format has no columns with names.
    pub(crate) fn open(path: &Path, format: TableFormat, run: Run<'r>) -> Result<Self> {
        assert!(!format.is_keyed(), "a table of rows and columns");
        if format == TableFormat::Parquet {
            check_seekable(path)?;
        }
        let input = Input::open(path, Some(Encoding::UTF_8), run)?;
        // The role only says how a foreign format is to be read.
        let mut records = Records::open(input, format, Role::Judgments, &Table::new(path), run)?;
        let header = match records.parquet().map(ParquetRows::header) {
            Some(header) => header,
            None => match records.advance()? {
                None => return Err(empty(records.label())),
                Some(Err(bad)) => return Err(bad.error(records.label())),
                Some(Ok(())) => records.fields().map(|name| name.trim().to_owned()).collect(),
            },
        };
        if let Some(rows) = records.parquet() {
            rows.check(|_| true)?;
        }
        Ok(Grid { records, header })
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// What the file is called in messages.
    pub(crate) fn label(&self) -> &Path {
        self.records.label()
    }

    /// Goes to the next row that is not blank; whether there is one. A row that has not as many
    /// fields as the header is an error.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self.records.advance()? {
            None => return Ok(false),
            Some(Err(bad)) => return Err(self.wrong(&bad.expected, &bad.found)),
            Some(Ok(())) => {}
        }
        if self.records.width() != self.header.len() {
            let expected = format!("{} fields, as in the header", self.header.len());
            return Err(self.wrong(&expected, &format!("{} fields", self.records.width())));
        }
        Ok(true)
    }

    /// Field `at` of the current row.
    pub(crate) fn field(&self, at: usize) -> &str {
        self.records.field(at)
    }

    /// An error about the current row.
    pub(crate) fn wrong(&self, expected: &str, found: &str) -> Error {
        Error::Line {
            path: self.label().to_owned(),
            line: self.records.line(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            advice: "correct the line".into(),
        }
    }
}
