//! Tables as people have them: TSV, CSV or JSON lines, read one row at a time.
//!
//! TSV knows no quoting: a line is split at its tabs and nothing else, because logs are
//! written that way and a stray quotation mark must not swallow the lines after it. CSV is
//! quoted as usual, so a field may hold commas and line breaks. A row is refused when it does
//! not have as many fields as the header; a row longer than 64 MiB ends the reading, so that
//! memory stays bounded whatever comes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::columns::{Column, Layout, Role};
use super::input::{self, Input};
use super::records::Records;
use crate::{Error, Result, Run};

/// How the rows of a table are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// Fields between tabs, no quoting.
    Tsv,
    /// Fields between commas, quoted where needed.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

impl TableFormat {
    /// What the ending of `path` says, after `.gz` or `.zst`.
    pub fn of(path: &Path) -> Option<TableFormat> {
        let name = input::unpacked_name(path);
        match name.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "tsv" | "tab" => Some(TableFormat::Tsv),
            "csv" => Some(TableFormat::Csv),
            "jsonl" | "ndjson" => Some(TableFormat::Jsonl),
            _ => None,
        }
    }
}

/// A table to be read, as it stands in an experiment file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file, packed (`.gz`, `.zst`) or not; `-` is standard input.
    pub path: PathBuf,
    /// How it is written, where the ending of its name does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableFormat>,
    /// Whether the first line is already a row.
    #[serde(default)]
    pub no_header: bool,
    /// Whether queries are written in brackets: `[new york]`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brackets: bool,
    /// Our name of a column → its name in the table, or its position counted from 0.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
}

impl Table {
    /// The table in the file at `path`, with our names in its header.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Table { path: path.into(), ..Table::default() }
    }
}

/// A row that is not what was expected. Without `--lenient` it ends the import, with it the
/// row is counted under `why` and skipped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BadRow {
    pub why: &'static str,
    pub line: u64,
    pub expected: String,
    pub found: String,
    pub advice: &'static str,
}

impl BadRow {
    /// The error that ends the import.
    pub(super) fn error(self, path: &Path) -> Error {
        let advice = match self.advice {
            "" => "correct the line, or add --lenient to skip and count such lines".to_owned(),
            advice => format!("{advice}, or add --lenient to skip and count such lines"),
        };
        let BadRow { line, expected, found, .. } = self;
        Error::Line { path: path.to_owned(), line, expected, found, advice }
    }
}

/// A value, or why its row is bad.
pub(super) type Checked<T> = std::result::Result<T, BadRow>;

/// Reads a table row by row.
pub(super) struct TableReader<'r> {
    records: Records<'r>,
    layout: Layout,
    role: Role,
    any: bool,
    brackets: bool,
}

impl<'r> TableReader<'r> {
    /// Opens `table`, to be read as `role`, and finds its columns.
    pub(super) fn open(table: &Table, role: Role, run: Run<'r>) -> Result<Self> {
        let Some(format) = table.format.or_else(|| TableFormat::of(&table.path)) else {
            return Err(Error::Unusable {
                path: input::label(&table.path),
                problem: "cannot tell by its name whether this is TSV, CSV or JSON lines".into(),
                advice: "say it with --input-format tsv, csv or jsonl".into(),
            });
        };
        let mut records = Records::new(Input::open(&table.path, run)?, format);
        let mut header = None;
        if format != TableFormat::Jsonl && !table.no_header {
            header = match records.advance()? {
                None => None,
                Some(Err(bad)) => return Err(bad.error(records.label())),
                Some(Ok(())) => Some(records.fields().map(str::trim).map(str::to_owned).collect()),
            };
            if header.is_none() {
                return Err(empty(records.label()));
            }
        }
        let layout = Layout::find(table, role, format, header, records.label())?;
        Ok(TableReader { records, layout, role, any: false, brackets: table.brackets })
    }

    /// What the table is called in messages.
    pub(super) fn label(&self) -> &Path {
        self.records.label()
    }

    /// What the table is read as.
    pub(super) fn role(&self) -> Role {
        self.role
    }

    /// Whether queries are written in brackets.
    pub(super) fn table_in_brackets(&self) -> bool {
        self.brackets
    }

    /// Bytes read and their SHA-256.
    pub(super) fn checksum(&self) -> (u64, String) {
        self.records.input().checksum()
    }

    /// Whether the header, or the mapping, names `column`. JSON lines have no header, so
    /// there every row may name it or not.
    pub(super) fn has(&self, column: Column) -> bool {
        self.layout.has(column)
    }

    /// Columns that have no name and are therefore not kept.
    pub(super) fn nameless(&self) -> &[usize] {
        self.layout.nameless()
    }

    /// Goes to the next row: `None` at the end, the inner error if that row is bad.
    pub(super) fn advance(&mut self) -> Result<Option<Checked<()>>> {
        let Some(row) = self.records.advance()? else {
            return if self.any { Ok(None) } else { Err(empty(self.label())) };
        };
        self.any = true;
        if row.is_ok() && !self.records.is_json() {
            self.layout.learn_width(self.records.width());
            let expected = self.layout.width();
            let found = self.records.width();
            if found != expected {
                return Ok(Some(Err(self.bad(
                    "wrong number of fields",
                    format!("{expected} fields"),
                    format!("{found}"),
                ))));
            }
        }
        Ok(Some(row))
    }

    /// A row that is bad because of `why`.
    pub(super) fn bad(
        &self,
        why: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> BadRow {
        let (expected, found) = (expected.into(), found.into());
        BadRow { why, line: self.line(), expected, found, advice: "" }
    }

    /// The line where the current row starts, counted from one.
    pub(super) fn line(&self) -> u64 {
        self.records.line()
    }

    /// The text in `column`, which must not be blank.
    pub(super) fn text(&self, column: Column) -> Checked<Cow<'_, str>> {
        self.optional(column)?.ok_or_else(|| {
            self.bad("missing field", format!("the field {}", column.name()), "nothing")
        })
    }

    /// The text in `column`, if there is any.
    pub(super) fn optional(&self, column: Column) -> Checked<Option<Cow<'_, str>>> {
        let text = match self.records.object() {
            None => self.layout.place(column).map(|at| Cow::Borrowed(self.records.field(at))),
            Some(object) => match self.layout.value(column, object) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
                Some(Value::Number(number)) => Some(Cow::Owned(number.to_string())),
                Some(other) => {
                    return Err(self.bad(
                        "bad field",
                        format!("text or a number as {}", column.name()),
                        excerpt(&other.to_string()),
                    ));
                }
            },
        };
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// The number in `column`, which fits into an `f32`; `None` if the table has no such
    /// column.
    pub(super) fn number(&self, column: Column) -> Checked<Option<f64>> {
        let Some(text) = self.optional(column)? else {
            let named = match self.records.object() {
                None => self.has(column),
                Some(object) => self.layout.value(column, object).is_some_and(|v| !v.is_null()),
            };
            if !named {
                return Ok(None);
            }
            let expected = format!("a number as {}", column.name());
            return Err(self.bad("missing field", expected, "nothing"));
        };
        match text.trim().parse::<f64>() {
            Ok(number) if (number as f32).is_finite() => Ok(Some(number)),
            Ok(number) if number.is_finite() => Err(self.bad(
                "number too large",
                format!("a number of at most {:e} in size as {}", f32::MAX, column.name()),
                excerpt(&text),
            )),
            _ => Err(self.bad(
                "bad number",
                format!("a number as {}", column.name()),
                format!("{:?}", excerpt(&text)),
            )),
        }
    }

    /// The row as a document: its id, and its fields under our names.
    pub(super) fn document(&mut self) -> Checked<(String, Map<String, Value>)> {
        let id = self.text(Column::Id)?.into_owned();
        let fields = match self.records.take_object() {
            Some(object) => self
                .layout
                .rename(object)
                .map_err(|name| self.bad("bad field", format!("one field called {name}"), "two"))?,
            None => {
                let fields = self.layout.fields().iter();
                fields.map(|(at, name)| (name.clone(), self.records.field(*at).into())).collect()
            }
        };
        Ok((id, fields))
    }
}

/// The beginning of `text`, for messages.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn empty(path: &Path) -> Error {
    Error::Unusable {
        path: path.to_owned(),
        problem: "holds no rows".into(),
        advice: "check that this is the right file and that it was copied whole".into(),
    }
}
