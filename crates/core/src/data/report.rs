//! What an import says of itself: what was read, kept and dropped, and why.

use serde::{Deserialize, Serialize};

use super::dataset::DatasetAbout;
use crate::rows::{BadRow, Dropped};
use std::path::Path;

/// What an import read, kept and dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportReport {
    /// What the dataset's manifest says; its `report` holds everything below in sentences.
    pub about: DatasetAbout,
    /// Each table that was read.
    pub tables: Vec<TableReport>,
    /// Training queries and pairs, after the filter.
    pub training: (usize, usize),
    /// What the click filter did, where it was applied.
    pub filter: Option<FilterReport>,
    /// What was read but is not in the dataset, apart from rows dropped while reading.
    pub dropped: Vec<Dropped>,
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// What the user should not overlook.
    pub warnings: Vec<String>,
    /// How many files the sort of a raw log needed, because memory did not suffice; no part
    /// of the dataset, which is the same without them.
    pub sort_files: usize,
}

/// What was read of one table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableReport {
    /// The file's name.
    pub name: String,
    /// What it was read as.
    pub role: String,
    /// Rows, without header and blank lines.
    pub rows: u64,
    /// Rows that went into the dataset.
    pub kept: u64,
    /// The others.
    pub dropped: Vec<Dropped>,
}

/// What the click filter did to the training pairs.
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
    /// Whether so much was dropped that the user probably did not want it.
    pub fn is_drastic(&self) -> bool {
        self.dropped as f64 > 0.9 * self.before as f64
    }
}

impl TableReport {
    /// Counts a dropped row.
    pub(super) fn drop_row(&mut self, why: &'static str) {
        Dropped::count(&mut self.dropped, why, None);
    }

    /// Counts a bad row and keeps the first few of its kind as samples.
    pub(super) fn drop_bad(&mut self, bad: &BadRow, path: &Path) {
        Dropped::count(&mut self.dropped, bad.why, Some(&|| bad.sample(path)));
    }
}

impl ImportReport {
    /// What was dropped and what is worth knowing, one sentence each, warnings first; with
    /// `samples` of bad rows, which quote what somebody typed.
    pub fn sentences(&self, samples: bool) -> Vec<String> {
        let mut sentences: Vec<String> =
            self.warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        for table in &self.tables {
            sentences.push(format!(
                "{} ({}): {} rows read, {} kept",
                table.name, table.role, table.rows, table.kept
            ));
            for dropped in &table.dropped {
                sentences.push(format!("{}: {}", table.name, dropped.sentence("rows", samples)));
            }
        }
        sentences.extend(self.dropped.iter().map(|dropped| dropped.sentence("", samples)));
        sentences.extend(self.notes.iter().cloned());
        sentences
    }
}
