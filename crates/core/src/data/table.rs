//! Tables as people have them: TSV, CSV, JSON lines or a format of others, read one row at a
//! time.
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
use super::dataset::Source;
use super::encoding::Encoding;
use super::foreign::Foreign;
use super::input::{self, Input};
use super::parquet::ParquetRows;
use super::paths::{self, Listed};
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
    /// An array of JSON objects, or objects one after another, on any number of lines.
    Json,
    /// The format of the SMART collections: `.I 1`, `.T`, `.W` …
    Smart,
    /// TREC's formats: `<DOC>`, `<top>`, and judgments as in `qrels`.
    Trec,
    /// Judgments between blanks: query, iteration, document, grade, or without the iteration.
    Qrels,
    /// Bags as in LDA-C: `n term:count …`; as links `n item …`, one line a query.
    Ldac,
    /// One text a line; its id is the number of the line, counted from 0. As links, the query
    /// and the document of the same line belong together.
    Lines,
    /// Columns of text, numbers, truth values, dates and times, if liken was built with Parquet.
    Parquet,
}

impl TableFormat {
    /// Every format.
    pub const ALL: [TableFormat; 10] = [
        TableFormat::Tsv,
        TableFormat::Csv,
        TableFormat::Jsonl,
        TableFormat::Json,
        TableFormat::Smart,
        TableFormat::Trec,
        TableFormat::Qrels,
        TableFormat::Ldac,
        TableFormat::Lines,
        TableFormat::Parquet,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TableFormat::Tsv => "tsv",
            TableFormat::Csv => "csv",
            TableFormat::Jsonl => "jsonl",
            TableFormat::Json => "json",
            TableFormat::Smart => "smart",
            TableFormat::Trec => "trec",
            TableFormat::Qrels => "qrels",
            TableFormat::Ldac => "ldac",
            TableFormat::Parquet => "parquet",
            TableFormat::Lines => "lines",
        }
    }

    /// Whether rows are objects, without a header.
    pub(super) fn is_keyed(self) -> bool {
        !matches!(self, TableFormat::Tsv | TableFormat::Csv | TableFormat::Parquet)
    }

    /// What the ending of `path` says, after `.gz` or `.zst`.
    pub fn of(path: &Path) -> Option<TableFormat> {
        let name = input::unpacked_name(path);
        match name.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "tsv" | "tab" => Some(TableFormat::Tsv),
            "csv" => Some(TableFormat::Csv),
            "jsonl" | "ndjson" => Some(TableFormat::Jsonl),
            "json" => Some(TableFormat::Json),
            "qrels" | "qrel" => Some(TableFormat::Qrels),
            "ldac" => Some(TableFormat::Ldac),
            "parquet" | "pq" => Some(TableFormat::Parquet),
            _ => None,
        }
    }
}

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
    pub(super) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [Some(&mut self.path), self.vocabulary.as_mut(), self.classes.as_mut()]
            .into_iter()
            .flatten()
    }

    /// Whether rows are called by their position.
    pub(super) fn by_position(&self) -> bool {
        self.columns.get("id").is_some_and(|source| source == "position")
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
    /// Rows that a list in the current one stands for, still to come.
    pending: Option<Listed>,
    run: Run<'r>,
    /// The number of the current row, counted from one, and whether that is its id.
    position: u64,
    by_position: bool,
    grades: Vec<(String, f64)>,
    notes: Vec<String>,
}

impl<'r> TableReader<'r> {
    /// Opens `table`, to be read as `role`, and finds its columns.
    pub(super) fn open(table: &Table, role: Role, run: Run<'r>) -> Result<Self> {
        let bad_grade = |grade: &&f64| !(**grade >= 0.0 && (**grade as f32).is_finite());
        if let Some(grade) = table.grades.values().find(bad_grade) {
            return Err(Error::parameter("grades", grade, "grades of 0 or more"));
        }
        let named = table.format.or_else(|| TableFormat::of(&table.path));
        let mut encoding = table.encoding;
        if named == Some(TableFormat::Parquet) {
            check_seekable(&table.path)?;
            // Its bytes are no text: nothing is to be detected or decoded.
            encoding = Some(Encoding::UTF_8);
        }
        let input = Input::open(&table.path, encoding, run)?;
        let mut notes: Vec<String> = input.note().map(str::to_owned).into_iter().collect();
        if let Some(said) = table.encoding.filter(|&said| Some(said) != encoding) {
            notes.push(format!(
                "not read as {said}: the text in Parquet is always {}",
                Encoding::UTF_8
            ));
        }
        let Some(format) = named.or_else(|| TableFormat::of_text(input.opening(), role)) else {
            return Err(Error::Unusable {
                path: input::label(&table.path),
                problem: "cannot tell by its name whether this is TSV, CSV, JSON or something else"
                    .into(),
                advice: format!(
                    "say it with --input-format {}:FORMAT (tsv, csv, jsonl, json, smart, trec, qrels, ldac, lines or parquet)",
                    role.name()
                ),
            });
        };
        if named.is_none() {
            notes.push(format!("read as {}, by its content", format.name()));
        }
        if !matches!(format, TableFormat::Json | TableFormat::Parquet)
            && lines_end_with_returns(input.opening())
        {
            return Err(Error::Unusable {
                path: input.label().to_owned(),
                problem: "its lines end with carriage returns alone, so that it is one long line"
                    .into(),
                advice: "convert it: tr '\\r' '\\n' < OLD > NEW".into(),
            });
        }
        let mut records = Records::open(input, format, role, table, run)?;
        let mut header = records.parquet().map(ParquetRows::header);
        if header.is_none() && !format.is_keyed() && !table.no_header {
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
        if let Some(rows) = records.parquet() {
            rows.check(|at| layout.uses(at))?;
        }
        let grades = table.grades.iter().map(|(code, &grade)| (code.clone(), grade)).collect();
        Ok(TableReader {
            records,
            layout,
            role,
            any: false,
            pending: None,
            run,
            position: 0,
            by_position: table.by_position(),
            grades,
            notes,
            brackets: table.brackets,
        })
    }

    /// What is worth knowing of how the table was read.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.iter().cloned().chain(self.records.foreign().and_then(Foreign::note))
    }

    /// Files that were read beside the table.
    pub(super) fn beside(&self) -> &[Source] {
        self.records.foreign().map_or(&[], Foreign::sources)
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
        loop {
            if let Some(row) = self.pending.as_mut().and_then(Listed::next) {
                // A list may be long, and nothing is read meanwhile.
                self.run.check()?;
                self.records.set_object(row);
                return Ok(Some(Ok(())));
            }
            let Some(row) = self.records.advance()? else {
                return if self.any { Ok(None) } else { Err(empty(self.label())) };
            };
            self.any = true;
            self.position += 1;
            if row.is_ok() && !self.records.is_keyed() {
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
            let listed = self.records.object().filter(|_| row.is_ok() && self.layout.has_paths());
            match listed.and_then(|object| paths::rows(object, &self.layout.paths())) {
                None => return Ok(Some(row)),
                Some(Ok(rows)) => self.pending = Some(rows),
                Some(Err((one, other))) => {
                    let found = format!("both {one} and {other}");
                    let bad = self.bad("two lists", "columns from one list of objects", found);
                    return Ok(Some(Err(bad)));
                }
            }
        }
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
        if column == Column::Id && self.by_position {
            return Ok(Some(Cow::Owned(self.position.to_string())));
        }
        let text = match self.records.object() {
            None => self.layout.place(column).map(|at| Cow::Borrowed(self.records.field(at))),
            Some(object) => match self.layout.value(column, object) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
                Some(Value::Number(number)) => Some(Cow::Owned(number.to_string())),
                Some(Value::Bool(true)) => Some(Cow::Borrowed("true")),
                Some(Value::Bool(false)) => Some(Cow::Borrowed("false")),
                Some(Value::Array(items)) if paths::joined(items).is_some() => {
                    paths::joined(items).map(Cow::Owned)
                }
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

    /// The grade of a judgment, which may be written as a code.
    pub(super) fn grade(&self) -> Checked<f64> {
        if let Some(code) = self.optional(Column::Grade)?.filter(|_| !self.grades.is_empty()) {
            let code = code.trim();
            let value = code.parse::<f64>().ok();
            let same =
                |other: &str| other == code || (value.is_some() && other.parse().ok() == value);
            if let Some((_, grade)) = self.grades.iter().find(|(other, _)| same(other)) {
                return Ok(*grade);
            }
        }
        let missing = || self.bad("missing field", "a number as grade", "nothing");
        let grade = self.number(Column::Grade)?.ok_or_else(missing)?;
        if grade < 0.0 {
            return Err(BadRow {
                advice: "say what the codes mean (--grades -1=0), or leave out what nobody judged",
                ..self.bad("negative grade", "a grade of 0 or more", format!("{grade}"))
            });
        }
        Ok(grade)
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
                fields
                    .filter_map(|(at, name)| Some((name.clone(), self.records.value(*at)?)))
                    .collect()
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

/// Whether a text has line ends, and all of them are carriage returns.
fn lines_end_with_returns(opening: &str) -> bool {
    opening.matches('\r').count() > 1 && !opening.contains('\n')
}

/// Parquet is read from its end.
pub(super) fn check_seekable(path: &Path) -> Result<()> {
    let refused = |problem: &str, advice: &str| Error::Unusable {
        path: input::label(path),
        problem: problem.into(),
        advice: advice.into(),
    };
    if input::unpacked_name(path) != path {
        let advice = "unpack it first; Parquet packs its columns itself";
        return Err(refused("is a packed file, and Parquet is read from its end", advice));
    }
    let is_stream = |about: std::fs::Metadata| !about.is_file() && !about.is_dir();
    if input::is_stdin(path) || path.metadata().is_ok_and(is_stream) {
        let advice = "write it to a file first, and name that";
        return Err(refused("cannot be read as Parquet, which is read from its end", advice));
    }
    Ok(())
}

pub(super) fn empty(path: &Path) -> Error {
    Error::Unusable {
        path: path.to_owned(),
        problem: "holds no rows".into(),
        advice: "check that this is the right file and that it was copied whole".into(),
    }
}
