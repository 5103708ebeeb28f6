//! Feature tables as people have them: LETOR and SVMlight files, with LightGBM's side files, and
//! CSV, TSV or Parquet with named columns.

mod columns;
mod letor;

use std::path::{Path, PathBuf};

use super::FeatureTable;
use crate::rows::TableFormat;
use crate::{Error, Result, Run};

/// How the rows of a feature table are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFormat {
    /// `grade qid:ID 1:value 2:value … # docid = ID`, as in LETOR and SVMlight.
    Letor,
    /// Columns with names, between commas.
    Csv,
    /// Columns with names, between tabs.
    Tsv,
    /// Columns with names.
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

    /// What the ending of `path` says; LETOR where it says nothing.
    pub fn of(path: &Path) -> Self {
        match TableFormat::of(path) {
            Some(TableFormat::Csv) => RankFormat::Csv,
            Some(TableFormat::Tsv) => RankFormat::Tsv,
            Some(TableFormat::Parquet) => RankFormat::Parquet,
            _ => RankFormat::Letor,
        }
    }
}

/// A feature table to be read.
#[derive(Debug, Clone, Default)]
pub struct TableFile {
    /// The file, packed (`.gz`, `.zst`) or not; `-` is standard input.
    pub path: PathBuf,
    /// How it is written, where the ending of its name does not say.
    pub format: Option<RankFormat>,
    /// Of LETOR files: a file with the names of the features, one a line, the first of feature 1.
    pub names: Option<PathBuf>,
    /// Of LETOR files: a feature that a row does not name is missing, instead of 0.
    pub absent_is_missing: bool,
    /// Of tables with columns: which column is the query, the document, the grade, the weight and
    /// the position.
    pub columns: Columns,
    /// A table to be scored needs no grades: 0 where there are none.
    pub without_grades: bool,
}

/// The names of the columns that are no features; where one is not given, its usual names are
/// looked for.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// The query.
    pub query: Option<String>,
    /// The document.
    pub doc: Option<String>,
    /// The grade.
    pub grade: Option<String>,
    /// What the row counts.
    pub weight: Option<String>,
    /// The rank at which it was shown.
    pub position: Option<String>,
    /// What the query belongs to, where several belong together.
    pub group: Option<String>,
    /// Columns that are neither.
    pub ignore: Vec<String>,
}

impl TableFile {
    /// The table in the file at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        TableFile { path: path.into(), ..TableFile::default() }
    }

    /// Reads it. An error says where a row is not what it should be.
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
