//! Tables in any format, read one row at a time, with columns by role.
//!
//! A row with another number of fields than the header is bad; a row longer than 64 MiB is an error
//! that ends reading, which bounds memory.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};

use super::bad_row::{BadRow, Checked, excerpt};
use super::columns::ColumnMap;
use super::encoding::Encoding;
use super::format::TableFormat;
use super::input::{self, Input};
use super::json_paths::{self as paths, ListRows};
use super::open::{check_seekable, empty, open, read_header};
use super::role::{ColumnRole, Role};
use super::row::{Row, RowSource};
use super::source_file::Source;
use super::table::Table;
use crate::{Error, Result, Run, counted, quoted};

/// Reads a table row by row.
pub(crate) struct TableReader<'r> {
    source: Box<dyn RowSource<'r> + 'r>,
    /// The current row, and where it starts.
    row: Row,
    line: u64,
    is_keyed: bool,
    columns: ColumnMap,
    role: Role,
    any: bool,
    /// The rows of a list in the current one not yet read.
    pending: Option<ListRows>,
    run: Run<'r>,
    /// The number of the current row, counted from one.
    position: u64,
    table: Table,
    notes: Vec<String>,
}

impl<'r> TableReader<'r> {
    /// Opens `table`, to be read as `role`, and finds its columns.
    pub(crate) fn open(table: &Table, role: Role, run: Run<'r>) -> Result<Self> {
        let bad_grade = |grade: &&f64| !(**grade >= 0.0 && (**grade as f32).is_finite());
        if let Some(grade) = table.grades.values().find(bad_grade) {
            return Err(Error::parameter("grades", grade, "grades of 0 or more"));
        }
        let named = table.format.or_else(|| TableFormat::of(&table.path));
        let mut encoding = table.encoding;
        if named == Some(TableFormat::Parquet) {
            check_seekable(&table.path)?;
            // Binary: there is no encoding to detect.
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
                problem: "has neither a known file extension nor content that shows its format"
                    .into(),
                advice: format!(
                    "set it: `input_format = {}:FORMAT` (tsv, csv, jsonl, json, smart, trec, qrels, ldac, lines or parquet)",
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
        let mut source = open(input, format, role, table, run)?;
        let mut row = Row::default();
        let mut header = source.header();
        if header.is_none() && !format.is_keyed() && !table.no_header {
            header = Some(read_header(&mut *source, &mut row)?);
        }
        let columns = ColumnMap::find(table, role, format, header, source.input().label())?;
        source.check_columns(&|at| columns.uses(at))?;
        Ok(TableReader {
            source,
            row,
            line: 0,
            is_keyed: format.is_keyed(),
            columns,
            role,
            any: false,
            pending: None,
            run,
            position: 0,
            table: table.clone(),
            notes,
        })
    }

    /// Notes for the report on how the table was read.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.iter().cloned().chain(self.source.note())
    }

    /// Further files that belong to the table.
    pub(crate) fn other_files(&self) -> &[Source] {
        self.source.other_files()
    }

    /// The name of the table in messages.
    pub(crate) fn label(&self) -> &Path {
        self.source.input().label()
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Whether queries are written in brackets.
    pub(crate) fn has_brackets(&self) -> bool {
        self.table.brackets
    }

    /// Bytes read and their SHA-256.
    pub(crate) fn checksum(&self) -> (u64, String) {
        self.source.input().checksum()
    }

    /// Whether the header, or the mapping, names `column`. JSON lines have no header, so
    /// there every row may name it or not.
    pub(crate) fn has(&self, column: ColumnRole) -> bool {
        self.columns.has(column)
    }

    /// Columns without a name, which are dropped.
    pub(crate) fn nameless(&self) -> &[usize] {
        self.columns.nameless()
    }

    /// Goes to the next row: `None` at the end, the inner error if that row is bad.
    pub(crate) fn advance(&mut self) -> Result<Option<Checked<()>>> {
        loop {
            if let Some(row) = self.pending.as_mut().and_then(ListRows::next) {
                // A list may be long, and nothing is read meanwhile.
                self.run.check()?;
                self.row = Row::Object(row);
                return Ok(Some(Ok(())));
            }
            let Some(row) = self.source.read_row(&mut self.row)? else {
                return if self.any { Ok(None) } else { Err(empty(self.label())) };
            };
            self.any = true;
            self.position += 1;
            self.line = row.as_ref().map_or_else(|bad| bad.line, |&line| line);
            let row = row.map(|_| ());
            if row.is_ok() && !self.is_keyed {
                self.columns.learn_width(self.row.width());
                let expected = self.columns.width();
                let found = self.row.width();
                if found != expected {
                    return Ok(Some(Err(self.bad(
                        "wrong number of fields",
                        counted(expected, "field"),
                        format!("{found}"),
                    ))));
                }
            }
            let object = self.row.object().filter(|_| row.is_ok() && self.columns.has_paths());
            match object.and_then(|object| paths::rows(object, &self.columns.paths())) {
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

    /// The error about the current row.
    pub(crate) fn bad(
        &self,
        why: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> BadRow {
        BadRow::new(why, self.line(), expected, found)
    }

    /// The line where the current row starts, counted from one.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The text in `column`, which must not be blank.
    pub(crate) fn text(&self, column: ColumnRole) -> Checked<Cow<'_, str>> {
        self.optional(column)?.ok_or_else(|| {
            self.bad("missing field", format!("the field {}", column.name()), "nothing")
        })
    }

    /// The text in `column`, if there is any.
    pub(crate) fn optional(&self, column: ColumnRole) -> Checked<Option<Cow<'_, str>>> {
        if column == ColumnRole::Id && self.table.by_position() {
            return Ok(Some(Cow::Owned(self.position.to_string())));
        }
        let text = match self.row.object() {
            None => self.columns.place(column).map(|at| Cow::Borrowed(self.row.field(at))),
            Some(object) => match self.columns.value(column, object) {
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
    pub(crate) fn number(&self, column: ColumnRole) -> Checked<Option<f64>> {
        let Some(text) = self.optional(column)? else {
            let named = match self.row.object() {
                None => self.has(column),
                Some(object) => self.columns.value(column, object).is_some_and(|v| !v.is_null()),
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
            _ => {
                Err(self.bad("bad number", format!("a number as {}", column.name()), quoted(&text)))
            }
        }
    }

    /// The grade of a judgment, which may be written as a code.
    pub(crate) fn grade(&self) -> Checked<f64> {
        if let Some(code) =
            self.optional(ColumnRole::Grade)?.filter(|_| !self.table.grades.is_empty())
        {
            let code = code.trim();
            let value = code.parse::<f64>().ok();
            let same =
                |other: &str| other == code || (value.is_some() && other.parse().ok() == value);
            if let Some((_, grade)) = self.table.grades.iter().find(|(other, _)| same(other)) {
                return Ok(*grade);
            }
        }
        let missing = || self.bad("missing field", "a number as grade", "nothing");
        let grade = self.number(ColumnRole::Grade)?.ok_or_else(missing)?;
        if grade < 0.0 {
            return Err(BadRow {
                advice: "set what the codes mean (`grades = -1=0`), or leave out unjudged documents",
                ..self.bad("negative grade", "a grade of 0 or more", format!("{grade}"))
            });
        }
        Ok(grade)
    }

    /// The row as a document: its id, and its fields under our names.
    pub(crate) fn document(&mut self) -> Checked<(String, Map<String, Value>)> {
        let id = self.text(ColumnRole::Id)?.into_owned();
        let fields = match self.row.take_object() {
            Some(object) => self
                .columns
                .rename(object)
                .map_err(|name| self.bad("bad field", format!("one field called {name}"), "two"))?,
            None => {
                let fields = self.columns.fields().iter();
                fields.filter_map(|(at, name)| Some((name.clone(), self.row.value(*at)?))).collect()
            }
        };
        Ok((id, fields))
    }
}

/// Whether a text has line ends, and all of them are carriage returns.
fn lines_end_with_returns(opening: &str) -> bool {
    opening.matches('\r').count() > 1 && !opening.contains('\n')
}
