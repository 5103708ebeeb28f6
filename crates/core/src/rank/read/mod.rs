//! Reading feature tables: LETOR and SVMlight files with LightGBM's side files, and CSV, TSV or
//! Parquet with named columns.

mod columns;
mod letor;

use std::path::{Path, PathBuf};

use super::FeatureTable;
use crate::rows::TableFormat;
use crate::{Error, Result, Run};

/// The file format of a feature table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFormat {
    /// `grade qid:ID 1:value 2:value … # docid = ID`, as in LETOR and SVMlight.
    Letor,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// Apache Parquet.
    Parquet,
}

impl RankFormat {
    /// Every format by name.
    pub const ALL: [(&'static str, RankFormat); 4] = [
        ("letor", RankFormat::Letor),
        ("csv", RankFormat::Csv),
        ("tsv", RankFormat::Tsv),
        ("parquet", RankFormat::Parquet),
    ];

    /// The format by the extension of `path`; LETOR if it has none of the others.
    pub fn of(path: &Path) -> Self {
        match TableFormat::of(path) {
            Some(TableFormat::Csv) => RankFormat::Csv,
            Some(TableFormat::Tsv) => RankFormat::Tsv,
            Some(TableFormat::Parquet) => RankFormat::Parquet,
            _ => RankFormat::Letor,
        }
    }
}

/// A file with a feature table.
#[derive(Debug, Clone, Default)]
pub struct TableFile {
    /// The file, compressed (`.gz`, `.zst`) or not; `-` is standard input.
    pub path: PathBuf,
    /// The format, if not that of the extension.
    pub format: Option<RankFormat>,
    /// For LETOR files: a file with the names of the features, one per line, the first of feature 1.
    pub names: Option<PathBuf>,
    /// For LETOR files: a feature that a row does not name is missing, instead of 0.
    pub absent_is_missing: bool,
    /// For tables with columns: the names of the columns that are no features.
    pub columns: Columns,
    /// Whether grades may be absent, as in a table to score; they are 0 then.
    pub without_grades: bool,
}

/// The names of the columns that are no features. If one is not given, its usual names are tried.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// The id of the query.
    pub query: Option<String>,
    /// The id of the document.
    pub doc: Option<String>,
    /// The grade.
    pub grade: Option<String>,
    /// The weight of the row.
    pub weight: Option<String>,
    /// The rank at which it was shown.
    pub position: Option<String>,
    /// The group of the query, if several queries belong together.
    pub group: Option<String>,
    /// Columns to ignore.
    pub ignore: Vec<String>,
}

impl TableFile {
    /// The table in the file at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        TableFile { path: path.into(), ..TableFile::default() }
    }

    /// Reads the table. An error names the line of a row that is not valid.
    pub fn read(&self, run: &Run<'_>) -> Result<FeatureTable> {
        let table = match self.format.unwrap_or_else(|| RankFormat::of(&self.path)) {
            RankFormat::Letor => letor::read(self, run)?,
            RankFormat::Csv => columns::read(self, TableFormat::Csv, run)?,
            RankFormat::Tsv => columns::read(self, TableFormat::Tsv, run)?,
            RankFormat::Parquet => columns::read(self, TableFormat::Parquet, run)?,
        };
        if table.n_rows() == 0 {
            return Err(Error::Empty {
                what: format!("{}: there is no row", self.path.display()),
                advice: "a LETOR file has rows like `2 qid:10 1:0.5 2:0.25 # docid = D`; a table \
                         has a header and a column `query`"
                    .into(),
            });
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests;
