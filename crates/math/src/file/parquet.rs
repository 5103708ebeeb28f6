//! Writes a table as Parquet, compressed with zstd.

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

use crate::{Error, Result};

/// The most rows of a row group.
const ROWS: usize = 1 << 17;

/// The most bytes of text in a row group.
const BYTES: usize = 32 << 20;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParquetKind {
    /// UTF-8 text.
    Text,
    /// 64-bit integers.
    Whole,
    /// 64-bit floats.
    Fraction,
    /// Booleans.
    Truth,
    /// JSON as text.
    Json,
}

/// A Parquet file that is written one row group at a time.
pub struct ParquetTable {
    path: PathBuf,
    kinds: Vec<ParquetKind>,
    writer: SerializedFileWriter<File>,
    /// The values of the current row group, by column.
    rows: Vec<Vec<Option<Value>>>,
    bytes: usize,
}

impl ParquetTable {
    /// Starts the file at `path`.
    pub fn create(path: &Path, columns: &[(impl AsRef<str>, ParquetKind)]) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        Self::of(file, path, columns)
    }

    /// Starts the table in an open file, which messages call `path`.
    pub fn of(file: File, path: &Path, columns: &[(impl AsRef<str>, ParquetKind)]) -> Result<Self> {
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
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(failed)?;
        let kinds: Vec<ParquetKind> = columns.iter().map(|(_, kind)| *kind).collect();
        let rows = kinds.iter().map(|_| Vec::new()).collect();
        Ok(ParquetTable { path: path.to_owned(), kinds, writer, rows, bytes: 0 })
    }

    /// Adds a row: one value per column.
    pub fn row(&mut self, values: impl IntoIterator<Item = Option<Value>>) -> Result<()> {
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
                failed(ParquetError::General("the file has fewer columns than expected".into()))
            })?;
            write_column(&mut column, *kind, values).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.bytes = 0;
        Ok(())
    }

    /// Writes the last row group and closes the file.
    pub fn finish(mut self) -> Result<()> {
        if self.rows.iter().any(|column| !column.is_empty()) {
            self.flush()?;
        }
        self.writer.close().map_err(|error| failed(&self.path, error))?;
        Ok(())
    }
}

fn field(name: &str, kind: ParquetKind) -> std::result::Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        ParquetKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ParquetKind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        ParquetKind::Whole => (Physical::INT64, None),
        ParquetKind::Fraction => (Physical::DOUBLE, None),
        ParquetKind::Truth => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    kind: ParquetKind,
    values: Vec<Option<Value>>,
) -> std::result::Result<(), ParquetError> {
    match kind {
        ParquetKind::Text => batch::<ByteArrayType>(column, values, |value| match value {
            Value::String(text) => Some(ByteArray::from(text.into_bytes())),
            _ => None,
        }),
        ParquetKind::Json => batch::<ByteArrayType>(column, values, |value| {
            Some(ByteArray::from(value.to_string().into_bytes()))
        }),
        ParquetKind::Whole => batch::<Int64Type>(column, values, |value| value.as_i64()),
        ParquetKind::Fraction => batch::<DoubleType>(column, values, |value| value.as_f64()),
        ParquetKind::Truth => batch::<BoolType>(column, values, |value| value.as_bool()),
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
    Error::io("write", path)(source)
}
