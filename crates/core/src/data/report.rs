//! What an import says of itself: what was read, kept and dropped, and why.

use serde::{Deserialize, Serialize};

use super::dataset::DatasetAbout;
use super::table::BadRow;
use std::path::Path;

/// How many bad rows of a kind are quoted.
const SAMPLES: usize = 3;

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

/// Things of one kind that were dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// What they are and why they were dropped.
    pub why: String,
    /// How many.
    pub count: u64,
    /// The first few, as messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
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
        self.reason(why).count += 1;
    }

    /// Counts a bad row and keeps the first few of its kind as samples.
    pub(super) fn drop_bad(&mut self, bad: BadRow, path: &Path) {
        let dropped = self.reason(bad.why);
        dropped.count += 1;
        if dropped.samples.len() < SAMPLES {
            let place = format!("{}:{}", path.display(), bad.line);
            dropped
                .samples
                .push(format!("{place}: expected {}, found {}", bad.expected, bad.found));
        }
    }

    fn reason(&mut self, why: &str) -> &mut Dropped {
        let at = self.dropped.iter().position(|dropped| dropped.why == why).unwrap_or_else(|| {
            self.dropped.push(Dropped { why: why.to_owned(), count: 0, samples: Vec::new() });
            self.dropped.len() - 1
        });
        &mut self.dropped[at]
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

impl Dropped {
    fn sentence(&self, what: &str, samples: bool) -> String {
        let mut sentence = if what.is_empty() {
            format!("{} {}: dropped", self.count, self.why)
        } else {
            format!("{} {what} dropped: {}", self.count, self.why)
        };
        if let Some(first) = self.samples.first().filter(|_| samples) {
            sentence.push_str(&format!(", for example {first}"));
        }
        sentence
    }
}
