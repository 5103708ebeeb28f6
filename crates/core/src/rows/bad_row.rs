//! Rows that are not what was expected, and how messages quote them.

use std::path::Path;

pub(crate) use crate::excerpt;

use crate::Error;

/// A row that is not what was expected. Without `lenient` it ends the import, with it the
/// row is counted under `why` and skipped.
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

    /// Where it stands and what is wrong with it, for a report.
    pub(crate) fn sample(&self, path: &Path) -> String {
        let BadRow { line, expected, found, .. } = self;
        format!("{}:{line}: expected {expected}, found {found}", path.display())
    }

    /// The error where rows cannot be left out.
    pub(crate) fn error_for_good(self, path: &Path) -> Error {
        let BadRow { line, expected, found, advice, .. } = self;
        Error::Line { path: path.to_owned(), line, expected, found, advice: advice.into() }
    }

    /// The error that ends the import.
    pub(crate) fn error(self, path: &Path) -> Error {
        let advice = match self.advice {
            "" => "correct the line, or add `lenient` to skip and count such lines".to_owned(),
            advice => format!("{advice}, or add `lenient` to skip and count such lines"),
        };
        let BadRow { line, expected, found, .. } = self;
        Error::Line { path: path.to_owned(), line, expected, found, advice }
    }
}
