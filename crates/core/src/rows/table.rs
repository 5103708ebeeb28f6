//! The description of a table to read: file, format and columns.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::encoding::Encoding;
use super::format::TableFormat;

/// A table to read, as written in an experiment file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file, compressed (`.gz`, `.zst`) or not; `-` is standard input.
    pub path: PathBuf,
    /// Its format; unset, the file extension or the content decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableFormat>,
    /// Its encoding; detected unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Whether the first line is a row.
    #[serde(default)]
    pub no_header: bool,
    /// Whether queries are written in brackets: `[new york]`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brackets: bool,
    /// The role of a column → its name in the table, or its position counted from 0. In JSON the
    /// name may be a path, `labels.pt`. The id of queries and documents may be their `position`,
    /// counted from 1.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
    /// Of judgments: the grade of each code; other codes are grades themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grades: BTreeMap<String, f64>,
    /// Of documents in LDA-C: the words, one per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<PathBuf>,
    /// Of documents in LDA-C: their classes, one per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<PathBuf>,
}

impl Table {
    /// The table in the file at `path`, whose header names the roles.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Table { path: path.into(), ..Table::default() }
    }

    /// The files of the table.
    pub(crate) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [Some(&mut self.path), self.vocabulary.as_mut(), self.classes.as_mut()]
            .into_iter()
            .flatten()
    }

    /// Whether the ids of rows are their positions.
    pub(crate) fn by_position(&self) -> bool {
        self.columns.get("id").is_some_and(|source| source == "position")
    }
}
