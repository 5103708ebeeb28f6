//! The rows of a table, with a report of how many were used and dropped.

use std::path::PathBuf;

use super::super::report::TableReport;
use crate::rows::{BadRow, Checked, Role, Table, TableReader, file_name};
use crate::{Result, Run};

/// Whether a good row was used, or why not.
pub(super) enum RowUse {
    Yes,
    No(&'static str),
}

/// The rows of a table; a bad one is an error or, if lenient, counted and skipped.
pub(super) struct CheckedRows<'r> {
    pub reader: TableReader<'r>,
    pub report: TableReport,
    label: PathBuf,
    lenient: bool,
}

impl<'r> CheckedRows<'r> {
    pub(super) fn open(table: &Table, role: Role, lenient: bool, run: Run<'r>) -> Result<Self> {
        let reader = TableReader::open(table, role, run)?;
        let label = reader.label().to_owned();
        let (name, role) = (file_name(&label), role.name().to_owned());
        let report = TableReport { name, role, ..TableReport::default() };
        Ok(CheckedRows { reader, report, label, lenient })
    }

    /// Goes to the next good row.
    pub(super) fn advance(&mut self) -> Result<bool> {
        while let Some(row) = self.reader.advance()? {
            self.report.rows += 1;
            match row {
                Ok(()) => return Ok(true),
                Err(bad) => self.refuse(bad)?,
            }
        }
        Ok(false)
    }

    /// Reports how the current row was used.
    pub(super) fn record(&mut self, used: Checked<RowUse>) -> Result<()> {
        match used {
            Ok(RowUse::Yes) => self.report.kept += 1,
            Ok(RowUse::No(why)) => self.report.drop_row(why),
            Err(bad) => self.refuse(bad)?,
        }
        Ok(())
    }

    fn refuse(&mut self, bad: BadRow) -> Result<()> {
        if !self.lenient {
            return Err(bad.error(&self.label));
        }
        self.report.drop_bad(&bad, &self.label);
        Ok(())
    }
}
