//! Rows that are not as expected, and the messages about them.

use std::path::Path;

pub(crate) use crate::excerpt;

use crate::Error;

/// A row that is not as expected. Without `lenient` it ends the import; with it the row is counted
/// under `why` and skipped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadRow {
    pub why: &'static str,
    pub line: u64,
    pub expected: String,
    pub found: String,
    pub advice: &'static str,
}

/// A value, or why its row is bad.
pub(crate) type Checked<T> = Result<T, BadRow>;

impl BadRow {
    /// Without advice of its own.
    pub(crate) fn new(
        why: &'static str,
        line: u64,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        BadRow { why, line, expected: expected.into(), found: found.into(), advice: "" }
    }

    /// Its place and what is wrong with it, for a report.
    pub(crate) fn sample(&self, path: &Path) -> String {
        let BadRow { line, expected, found, .. } = self;
        format!("{}:{line}: expected {expected}, found {found}", path.display())
    }

    /// The error of a reader that cannot skip rows.
    pub(crate) fn plain_error(self, path: &Path) -> Error {
        let BadRow { line, expected, found, advice, .. } = self;
        Error::Line { path: path.to_owned(), line, expected, found, advice: advice.into() }
    }

    /// The error of a reader that skips bad rows if `lenient`.
    pub(crate) fn error(self, path: &Path) -> Error {
        let first = if self.advice.is_empty() { "correct the line" } else { self.advice };
        let advice = format!("{first}, or add `lenient` to skip and count such lines");
        let BadRow { line, expected, found, .. } = self;
        Error::Line { path: path.to_owned(), line, expected, found, advice }
    }
}
