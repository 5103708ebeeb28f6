//! The report of an import: rows read, kept and dropped, and why.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::dataset::DatasetAbout;
use crate::counted;
use crate::rows::{BadRow, Dropped};

/// The report of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportReport {
    /// The description in the manifest; its `report` has everything below in sentences.
    pub about: DatasetAbout,
    /// Each table that was read.
    pub tables: Vec<TableReport>,
    /// Training queries and pairs after the filter.
    pub training: (usize, usize),
    /// The click filter, where it was applied.
    pub filter: Option<FilterReport>,
    /// Rows and pairs dropped after reading.
    pub dropped: Vec<Dropped>,
    /// Notes.
    pub notes: Vec<String>,
    /// Warnings, which the user should not overlook.
    pub warnings: Vec<String>,
    /// Temporary files that sorting the raw log needed, because memory was short. The dataset does
    /// not depend on them.
    pub sort_files: usize,
}

/// The rows of one table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableReport {
    /// The file's name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Rows, without header and blank lines.
    pub rows: u64,
    /// Rows used for the dataset.
    pub kept: u64,
    /// Rows that were dropped, by reason.
    pub dropped: Vec<Dropped>,
}

/// The effect of the click filter on training pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilterReport {
    /// Pairs with fewer clicks were dropped.
    pub min_clicks: u32,
    /// Training pairs before.
    pub before: usize,
    /// Training pairs dropped.
    pub dropped: usize,
}

impl FilterReport {
    /// Whether it dropped so many pairs that the user probably did not want it.
    pub fn is_drastic(&self) -> bool {
        self.dropped as f64 > 0.9 * self.before as f64
    }
}

impl TableReport {
    /// Counts a dropped row.
    pub(super) fn drop_row(&mut self, why: &'static str) {
        Dropped::count(&mut self.dropped, why, None);
    }

    /// Counts a bad row, with samples of the first few of its kind.
    pub(super) fn drop_bad(&mut self, bad: &BadRow, path: &Path) {
        Dropped::count(&mut self.dropped, bad.why, Some(&|| bad.sample(path)));
    }
}

impl ImportReport {
    /// The report as sentences, warnings first; with `samples` of bad rows, which may quote
    /// queries.
    pub fn sentences(&self, samples: bool) -> Vec<String> {
        let mut sentences: Vec<String> =
            self.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        for table in &self.tables {
            let TableReport { name, role, rows, kept, .. } = table;
            let rows = counted(rows, "row");
            sentences.push(format!("{name} ({role}): {rows} read, {kept} kept"));
            for dropped in &table.dropped {
                sentences.push(format!("{}: {}", table.name, dropped.sentence("row", samples)));
            }
        }
        sentences.extend(self.dropped.iter().map(|dropped| dropped.sentence("", samples)));
        sentences.extend(self.notes.iter().cloned());
        sentences
    }
}
