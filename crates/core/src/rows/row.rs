//! The interface of all formats of tables, and their rows.

use serde_json::{Map, Value};

use super::bad_row::Checked;
use super::input::Input;
use super::source_file::Source;
use crate::Result;

/// The rows of a table in one format, and what the file tells besides.
pub(super) trait RowSource<'r> {
    /// Reads the next row that is not blank into `row`, whose memory is reused. Returns the line
    /// where it starts, counted from one, or why it is bad; `None` at the end.
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>>;

    fn input(&self) -> &Input<'r>;

    /// The names of the columns, where the format has a place for them.
    fn header(&self) -> Option<Vec<String>> {
        None
    }

    /// An error if a column that is `used` cannot be read.
    fn check_columns(&self, _used: &dyn Fn(usize) -> bool) -> Result<()> {
        Ok(())
    }

    /// A note for the report, once the rows are read.
    fn note(&self) -> Option<String> {
        None
    }

    /// Further files that belong to the table.
    fn other_files(&self) -> &[Source] {
        &[]
    }
}

/// A row whose fields have names.
pub(crate) type Object = Map<String, Value>;

/// The object with these fields.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Object {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An object with the line where it starts, or why it is bad.
pub(super) type ObjectRow = Checked<(u64, Object)>;

/// A row of a table.
pub(crate) enum Row {
    /// Texts by position.
    Fields(Record),
    /// Values by position.
    Values(Vec<TypedField>),
    /// Values by name.
    Object(Object),
}

impl Default for Row {
    fn default() -> Self {
        Row::Object(Object::new())
    }
}

impl Row {
    /// How many fields it has.
    pub(crate) fn width(&self) -> usize {
        match self {
            Row::Fields(record) => record.ends.len(),
            Row::Values(values) => values.len(),
            Row::Object(object) => object.len(),
        }
    }

    /// Field `at` as text; empty where there is none.
    pub(crate) fn field(&self, at: usize) -> &str {
        match self {
            Row::Fields(record) => record.field(at),
            Row::Values(values) => values.get(at).map_or("", TypedField::text),
            Row::Object(_) => "",
        }
    }

    /// Field `at` as a value; nothing where a typed table has none.
    pub(crate) fn value(&self, at: usize) -> Option<Value> {
        match self {
            Row::Values(values) => values.get(at)?.value.clone(),
            _ => Some(self.field(at).into()),
        }
    }

    /// All fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        (0..self.width()).map(|at| self.field(at))
    }

    /// The row where its fields have names.
    pub(crate) fn object(&self) -> Option<&Object> {
        match self {
            Row::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Like [`Row::object`], by value.
    pub(crate) fn take_object(&mut self) -> Option<Object> {
        match self {
            Row::Object(object) => Some(std::mem::take(object)),
            _ => None,
        }
    }

    /// Sets the row to the object that was read, if it is valid; returns its line.
    pub(super) fn set(&mut self, read: ObjectRow) -> Checked<u64> {
        let (line, object) = read?;
        *self = Row::Object(object);
        Ok(line)
    }

    /// The texts, to be overwritten.
    pub(crate) fn record(&mut self) -> &mut Record {
        if !matches!(self, Row::Fields(_)) {
            *self = Row::Fields(Record::default());
        }
        match self {
            Row::Fields(record) => record,
            _ => unreachable!("made one above"),
        }
    }

    /// The values, to be overwritten.
    pub(crate) fn values(&mut self) -> &mut Vec<TypedField> {
        if !matches!(self, Row::Values(_)) {
            *self = Row::Values(Vec::new());
        }
        match self {
            Row::Values(values) => values,
            _ => unreachable!("made them above"),
        }
    }
}

/// Texts, concatenated.
#[derive(Default)]
pub(crate) struct Record {
    pub text: String,
    /// Where each ends.
    pub ends: Vec<usize>,
    /// Bytes between two texts.
    pub gap: usize,
}

impl Record {
    fn field(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).map_or(0, |end| end + self.gap) };
        self.ends.get(at).map_or("", |&end| &self.text[start..end])
    }
}

/// A value, and its text.
#[derive(Default)]
pub(crate) struct TypedField {
    pub value: Option<Value>,
    /// Empty where the value is a string or missing.
    pub written: String,
}

impl TypedField {
    fn text(&self) -> &str {
        match &self.value {
            Some(Value::String(text)) => text,
            _ => &self.written,
        }
    }
}
