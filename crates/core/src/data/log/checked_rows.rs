//! The rows of a table with a report of what became of them.

use std::path::PathBuf;

use super::super::report::TableReport;
use super::RowUse;
use crate::rows::{BadRow, Checked, Role, Table, TableReader, file_name};
use crate::{Result, Run};

/// The rows of a table, bad ones refused or, if lenient, counted and skipped.
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

    /// Notes what became of the current row.
    pub(super) fn settle(&mut self, kept: Checked<RowUse>) -> Result<()> {
        match kept {
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
