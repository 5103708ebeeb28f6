//! A table to be read: the file, its format and its columns.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::encoding::Encoding;
use super::format::TableFormat;

/// A table to be read, as it stands in an experiment file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file, packed (`.gz`, `.zst`) or not; `-` is standard input.
    pub path: PathBuf,
    /// How it is written, where the ending of its name does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableFormat>,
    /// In what it is written; found out if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Whether the first line is already a row.
    #[serde(default)]
    pub no_header: bool,
    /// Whether queries are written in brackets: `[new york]`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brackets: bool,
    /// Our name of a column → its name in the table, or its position counted from 0. In JSON
    /// the name may be a path, `labels.pt`. The id of queries and documents may be their
    /// `position`, counted from 1.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
    /// Of judgments: the grade that each code stands for; other codes are grades themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grades: BTreeMap<String, f64>,
    /// Of documents in LDA-C: the words, one a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<PathBuf>,
    /// Of documents in LDA-C: their classes, one a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<PathBuf>,
}

impl Table {
    /// The table in the file at `path`, with our names in its header.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Table { path: path.into(), ..Table::default() }
    }

    /// The files it is made of.
    pub(crate) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [Some(&mut self.path), self.vocabulary.as_mut(), self.classes.as_mut()]
            .into_iter()
            .flatten()
    }

    /// Whether rows are called by their position.
    pub(crate) fn by_position(&self) -> bool {
        self.columns.get("id").is_some_and(|source| source == "position")
    }
}
