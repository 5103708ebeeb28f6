//! The tables of a dataset as Parquet, packed with zstd. Fields of documents become columns:
//! of text, whole numbers, fractions or truth values if all documents agree on it; otherwise
//! the values are written as JSON, and marked as such.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value;

use super::tables::Tables;
use super::{Source, Written};
use crate::export::folder::ExportFolder;
use crate::{Error, Result, Run};

/// Rows in a row group of ids and numbers.
const ROWS: usize = 1 << 17;

/// Bytes of text after which a row group is full.
const BYTES: usize = 32 << 20;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Whole,
    Fraction,
    Truth,
    Json,
}

pub(super) fn write(
    source: &Source<'_>,
    folder: &mut ExportFolder,
    run: &Run<'_>,
) -> Result<Written> {
    let tables = Tables::of(source);
    let columns = document_columns(source, run)?;
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let path = folder.path("documents.parquet", format!("documents: {}", names.join(", ")))?;
    let mut table = Table::create(&path, &columns)?;
    for (j, document) in source.dataset.documents.iter().enumerate() {
        source.step(run, j)?;
        let mut document = document?;
        table.row(columns.iter().enumerate().map(|(c, (name, _))| match c {
            0 => Some(std::mem::take(&mut document.id).into()),
            _ => document.fields.shift_remove(name).filter(|value| !value.is_null()),
        }))?;
    }
    table.finish()?;

    let path = folder.path("queries.parquet", "queries: id, text, clicks in the whole log")?;
    let columns = [("id", Kind::Text), ("text", Kind::Text), ("clicks", Kind::Fraction)];
    let mut table = Table::create(&path, &columns)?;
    for query in source.queries() {
        let query = query?;
        table.row([Some(query.id.into()), Some(query.text.into()), Some(query.clicks.into())])?;
    }
    table.finish()?;

    let number = tables.column;
    let path = folder.path("clicks.parquet", format!("query, doc, {number}, split"))?;
    write_pairs(&path, number, tables.clicks(), run)?;
    if tables.judgments().next().is_some() {
        let path = folder.path("judgments.parquet", "query, doc, grade, split")?;
        write_pairs(&path, "grade", tables.judgments(), run)?;
    }
    Ok(Written {
        numbers: "clicks, weights and grades are doubles".into(),
        import: tables.import("parquet", "queries.parquet", "documents.parquet"),
        warnings: Vec::new(),
    })
}

fn write_pairs<'p>(
    path: &Path,
    number: &str,
    pairs: impl Iterator<Item = (&'p str, &'p str, f32, &'static str)>,
    run: &Run<'_>,
) -> Result<()> {
    let columns = [
        ("query", Kind::Text),
        ("doc", Kind::Text),
        (number, Kind::Fraction),
        ("split", Kind::Text),
    ];
    let mut table = Table::create(path, &columns)?;
    for (n, (query, doc, value, part)) in pairs.enumerate() {
        if n % ROWS == 0 {
            run.step("writing pairs", n as u64, None)?;
        }
        table.row([
            Some(query.into()),
            Some(doc.into()),
            Some(f64::from(value).into()),
            Some(part.into()),
        ])?;
    }
    table.finish()
}

/// The columns of the documents, in the order of their first appearance, the id first.
fn document_columns(source: &Source<'_>, run: &Run<'_>) -> Result<Vec<(String, Kind)>> {
    let mut columns: Vec<(String, Option<Kind>)> = vec![("id".to_owned(), Some(Kind::Text))];
    for (j, document) in source.dataset.documents.iter().enumerate() {
        source.step(run, j)?;
        for (name, value) in document?.fields {
            let at = columns.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                columns.push((name, None));
                columns.len() - 1
            });
            let kind = &mut columns[at].1;
            *kind = match (*kind, kind_of(&value)) {
                (known, None) => known,
                (None, found) => found,
                (Some(known), Some(found)) if known == found => Some(known),
                _ => Some(Kind::Json),
            };
        }
    }
    Ok(columns.into_iter().map(|(name, kind)| (name, kind.unwrap_or(Kind::Text))).collect())
}

fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::String(_) => Some(Kind::Text),
        Value::Bool(_) => Some(Kind::Truth),
        Value::Number(number) if number.is_i64() => Some(Kind::Whole),
        Value::Number(number) if number.is_f64() => Some(Kind::Fraction),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(Kind::Json),
    }
}

/// A Parquet file being written, a row group at a time.
struct Table {
    path: PathBuf,
    kinds: Vec<Kind>,
    writer: SerializedFileWriter<File>,
    /// By column, the values of the row group to be.
    rows: Vec<Vec<Option<Value>>>,
    bytes: usize,
}

impl Table {
    fn create(path: &Path, columns: &[(impl AsRef<str>, Kind)]) -> Result<Self> {
        let failed = |error| failed(path, error);
        let fields = columns
            .iter()
            .map(|(name, kind)| field(name.as_ref(), *kind).map(Arc::new))
            .collect::<std::result::Result<_, _>>()
            .map_err(failed)?;
        let schema =
            Type::group_type_builder("liken").with_fields(fields).build().map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_created_by(format!("liken {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = File::create(path).map_err(Error::io("create", path))?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(failed)?;
        let kinds: Vec<Kind> = columns.iter().map(|(_, kind)| *kind).collect();
        let rows = kinds.iter().map(|_| Vec::new()).collect();
        Ok(Table { path: path.to_owned(), kinds, writer, rows, bytes: 0 })
    }

    fn row(&mut self, values: impl IntoIterator<Item = Option<Value>>) -> Result<()> {
        for (column, value) in self.rows.iter_mut().zip(values) {
            if let Some(Value::String(text)) = &value {
                self.bytes += text.len();
            }
            column.push(value);
        }
        let n = self.rows.first().map_or(0, Vec::len);
        if n >= ROWS || self.bytes >= BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let path = &self.path;
        let failed = |error| failed(path, error);
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for (rows, kind) in self.rows.iter_mut().zip(&self.kinds) {
            let values = std::mem::take(rows);
            let mut column = group.next_column().map_err(failed)?.ok_or_else(|| {
                failed(ParquetError::General("there are fewer columns than expected".into()))
            })?;
            write_column(&mut column, *kind, values).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.bytes = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if self.rows.iter().any(|column| !column.is_empty()) {
            self.flush()?;
        }
        self.writer.close().map_err(|error| failed(&self.path, error))?;
        Ok(())
    }
}

fn field(name: &str, kind: Kind) -> std::result::Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        Kind::Whole => (Physical::INT64, None),
        Kind::Fraction => (Physical::DOUBLE, None),
        Kind::Truth => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    values: Vec<Option<Value>>,
) -> std::result::Result<(), ParquetError> {
    match kind {
        Kind::Text => batch::<ByteArrayType>(column, values, |value| match value {
            Value::String(text) => Some(ByteArray::from(text.into_bytes())),
            _ => None,
        }),
        Kind::Json => batch::<ByteArrayType>(column, values, |value| {
            Some(ByteArray::from(value.to_string().into_bytes()))
        }),
        Kind::Whole => batch::<Int64Type>(column, values, |value| value.as_i64()),
        Kind::Fraction => batch::<DoubleType>(column, values, |value| value.as_f64()),
        Kind::Truth => batch::<BoolType>(column, values, |value| value.as_bool()),
    }
}

fn batch<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: Vec<Option<Value>>,
    number: impl Fn(Value) -> Option<T::T>,
) -> std::result::Result<(), ParquetError> {
    let values: Vec<Option<T::T>> =
        values.into_iter().map(|value| value.and_then(&number)).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(())
}

fn failed(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(error) => std::io::Error::other(error),
        },
        other => std::io::Error::other(other),
    };
    Error::Io { path: path.to_owned(), doing: "write", source }
}
