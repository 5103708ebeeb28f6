//! Parquet tables: read a row group at a time, a batch of rows at a time, column by column.
//!
//! Columns at the top of the schema are read if they hold text, numbers or truth values; others
//! may be there, but not be used. Text that is marked as JSON is read as JSON. The file is read
//! twice: once for its checksum, like every source, and once by seeking.

mod pages;

use std::fs::File;
use std::path::Path;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Number, Value};

use super::input::Input;
use super::table::{BadRow, Checked};
use crate::{Error, Result};
use pages::open_column;

/// Rows decoded at a time.
const BATCH: usize = 1024;

/// The rows of a Parquet file.
pub(super) struct ParquetRows<'r> {
    input: Input<'r>,
    file: SerializedFileReader<File>,
    columns: Vec<ColumnAbout>,
    /// The row group to open next, and how many rows of the open one are not decoded yet.
    next_group: usize,
    left: usize,
    readers: Vec<Option<ColumnReader>>,
    /// By column, the cells of the current batch, the next row last.
    batch: Vec<Vec<Cell>>,
    row: Vec<Field>,
    number: u64,
}

struct ColumnAbout {
    name: String,
    /// How it is read, if it can be.
    leaf: Option<Leaf>,
    /// What it holds, for people.
    kind: String,
    is_json: bool,
}

/// A column of values that can be read.
#[derive(Clone, Copy)]
struct Leaf {
    /// Its place among the leaves of the schema.
    at: usize,
    /// Whether values can be missing.
    optional: bool,
    /// Whether whole numbers are 0 or more.
    unsigned: bool,
}

/// A value as it was decoded.
enum Cell {
    Null,
    Text(ByteArray),
    Other(Value),
}

/// A value of the current row, and how it is written.
#[derive(Default)]
struct Field {
    value: Option<Value>,
    text: String,
}

impl<'r> ParquetRows<'r> {
    /// Opens the file at `path`, of which `input` has read nothing but the head.
    pub(super) fn open(mut input: Input<'r>, path: &Path) -> Result<Self> {
        let read = std::io::copy(&mut input, &mut std::io::sink());
        read.map_err(|error| input.failure(error))?;
        let file = File::open(path).map_err(Error::io("read", path))?;
        let file = SerializedFileReader::new(file).map_err(|error| unreadable(&input, 0, error))?;
        check_packing(&input, &file)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let mut columns: Vec<ColumnAbout> = schema
            .root_schema()
            .get_fields()
            .iter()
            .map(|field| ColumnAbout {
                name: field.name().to_owned(),
                leaf: None,
                kind: "nested values".into(),
                is_json: false,
            })
            .collect();
        for (leaf, descriptor) in schema.columns().iter().enumerate() {
            let is_list = descriptor.self_type().get_basic_info().has_repetition()
                && descriptor.self_type().get_basic_info().repetition() == Repetition::REPEATED;
            if descriptor.path().parts().len() == 1 && !is_list {
                let column = &mut columns[schema.get_column_root_idx(leaf)];
                column.is_json = descriptor.converted_type() == ConvertedType::JSON;
                match readable(descriptor) {
                    Ok(()) => {
                        let optional = descriptor.max_def_level() > 0;
                        let unsigned = is_unsigned(descriptor.converted_type());
                        column.leaf = Some(Leaf { at: leaf, optional, unsigned });
                    }
                    Err(kind) => column.kind = kind,
                }
            }
        }
        Ok(ParquetRows {
            input,
            file,
            readers: Vec::new(),
            batch: columns.iter().map(|_| Vec::new()).collect(),
            row: columns.iter().map(|_| Field::default()).collect(),
            columns,
            next_group: 0,
            left: 0,
            number: 0,
        })
    }

    pub(super) fn input(&self) -> &Input<'r> {
        &self.input
    }

    /// The names of the columns.
    pub(super) fn header(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// An error if a column that is `used` holds what cannot be read.
    pub(super) fn check(&self, used: impl Fn(usize) -> bool) -> Result<()> {
        let mut columns = self.columns.iter().enumerate();
        let bad = columns.find(|(at, column)| column.leaf.is_none() && used(*at));
        let Some((_, column)) = bad else { return Ok(()) };
        Err(Error::Unusable {
            path: self.input.label().to_owned(),
            problem: format!(
                "the column {} holds {}, expected text, numbers or truth values",
                column.name, column.kind
            ),
            advice: "convert the column when the file is written (to text, for example), or leave it out".into(),
        })
    }

    /// Goes to the next row and gives its number, counted from one.
    pub(super) fn advance(&mut self) -> Result<Option<Checked<u64>>> {
        if self.batch_is_used_up() && !self.decode()? {
            return Ok(None);
        }
        self.number += 1;
        let mut bad = None;
        for (column, (cells, field)) in
            self.columns.iter().zip(self.batch.iter_mut().zip(&mut self.row))
        {
            field.text.clear();
            field.value = None;
            match cells.pop() {
                None | Some(Cell::Null) => {}
                Some(Cell::Other(value)) => {
                    field.text = match value.as_f64().filter(|_| value.is_f64()) {
                        // Programs that know no missing whole numbers make 12 into 12.0.
                        Some(number) => number.to_string(),
                        None => value.to_string(),
                    };
                    field.value = Some(value);
                }
                Some(Cell::Text(bytes)) => match std::str::from_utf8(bytes.data()) {
                    Ok(text) => field.set(text, column.is_json),
                    Err(_) => bad = Some(&column.name),
                },
            }
        }
        let line = self.number;
        Ok(Some(match bad {
            None => Ok(line),
            Some(name) => Err(BadRow {
                why: "invalid UTF-8",
                line,
                expected: "UTF-8".into(),
                found: format!("other bytes in the column {name}: invalid UTF-8"),
                advice: "write the column as text",
            }),
        }))
    }

    /// How many columns there are.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The value in column `at` of the current row as text; empty for nothing.
    pub(super) fn field(&self, at: usize) -> &str {
        match self.row.get(at) {
            Some(Field { value: Some(Value::String(text)), .. }) => text,
            Some(field) => &field.text,
            None => "",
        }
    }

    /// The value in column `at` of the current row, if there is one.
    pub(super) fn value(&self, at: usize) -> Option<Value> {
        self.row.get(at)?.value.clone()
    }

    fn batch_is_used_up(&self) -> bool {
        self.batch.iter().all(Vec::is_empty)
    }

    /// Decodes the next batch; `false` at the end of the file.
    fn decode(&mut self) -> Result<bool> {
        let number = self.number;
        while self.left == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(false);
            }
            let failed = |error| unreadable(&self.input, number, error);
            let group = self.file.get_row_group(self.next_group).map_err(failed)?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            self.readers = self
                .columns
                .iter()
                .map(|column| column.leaf.map(|leaf| open_column(&*group, leaf.at)).transpose())
                .collect::<std::result::Result<_, _>>()
                .map_err(failed)?;
            self.next_group += 1;
        }
        let n = self.left.min(BATCH);
        self.left -= n;
        let leaves = self.columns.iter().map(|column| column.leaf);
        for ((reader, leaf), cells) in self.readers.iter_mut().zip(leaves).zip(&mut self.batch) {
            match reader.as_mut().zip(leaf) {
                Some((reader, leaf)) => {
                    read(reader, leaf, n, cells).map_err(|e| unreadable(&self.input, number, e))?;
                    if cells.len() != n {
                        let error = ParquetError::EOF("a column ends too early".into());
                        return Err(unreadable(&self.input, number, error));
                    }
                    cells.reverse();
                }
                None => cells.resize_with(n, || Cell::Null),
            }
        }
        Ok(true)
    }
}

impl Field {
    fn set(&mut self, text: &str, is_json: bool) {
        let parsed = if is_json { serde_json::from_str(text).ok() } else { None };
        self.value = match parsed {
            Some(Value::Null) => None,
            Some(value) => Some(value),
            None => Some(Value::String(text.to_owned())),
        };
        if is_json && !matches!(self.value, Some(Value::String(_))) {
            self.text.push_str(text);
        }
    }
}

/// An error if the columns are packed in a way that is not compiled in.
fn check_packing(input: &Input<'_>, file: &SerializedFileReader<File>) -> Result<()> {
    let groups = file.metadata().row_groups().iter();
    let mut packings = groups.flat_map(|group| group.columns()).map(|column| column.compression());
    let unknown = packings.find(|packing| {
        !matches!(
            packing,
            Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::ZSTD(_)
                | Compression::LZ4
                | Compression::LZ4_RAW
        )
    });
    match unknown {
        None => Ok(()),
        Some(packing) => Err(Error::Unusable {
            path: input.label().to_owned(),
            problem: format!("is packed with {packing}, which is not read"),
            advice: "write it with snappy, zstd, gzip or lz4, or unpacked".into(),
        }),
    }
}

/// Whether a column can be read; else what it holds.
fn readable(column: &ColumnDescriptor) -> std::result::Result<(), String> {
    use ConvertedType as Is;
    let converted = column.converted_type();
    let whole = [
        Is::NONE,
        Is::INT_8,
        Is::INT_16,
        Is::INT_32,
        Is::INT_64,
        Is::UINT_8,
        Is::UINT_16,
        Is::UINT_32,
        Is::UINT_64,
    ];
    let fine = match column.physical_type() {
        PhysicalType::BOOLEAN | PhysicalType::FLOAT | PhysicalType::DOUBLE => true,
        PhysicalType::INT32 | PhysicalType::INT64 => {
            let integer =
                matches!(column.logical_type_ref(), None | Some(LogicalType::Integer { .. }));
            whole.contains(&converted) && integer
        }
        // Some writers do not mark text as such.
        PhysicalType::BYTE_ARRAY => {
            matches!(converted, Is::NONE | Is::UTF8 | Is::ENUM | Is::JSON)
        }
        PhysicalType::INT96 | PhysicalType::FIXED_LEN_BYTE_ARRAY => false,
    };
    if fine {
        return Ok(());
    }
    Err(match column.logical_type_ref() {
        Some(logical) => format!("values of the type {logical:?}"),
        None if converted != Is::NONE => format!("values of the type {converted}"),
        None => format!("values of the type {}", column.physical_type()),
    })
}

fn is_unsigned(converted: ConvertedType) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(converted, UINT_8 | UINT_16 | UINT_32 | UINT_64)
}

/// Reads `n` cells of a column.
fn read(
    reader: &mut ColumnReader,
    leaf: Leaf,
    n: usize,
    cells: &mut Vec<Cell>,
) -> std::result::Result<(), ParquetError> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| Cell::Other(value.into()))
        }
        ColumnReader::Int32ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            Cell::Other(if leaf.unsigned { value.cast_unsigned().into() } else { value.into() })
        }),
        ColumnReader::Int64ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            Cell::Other(if leaf.unsigned { value.cast_unsigned().into() } else { value.into() })
        }),
        ColumnReader::FloatColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            // Widened, it would have digits that nobody wrote.
            fraction(value.to_string().parse().unwrap_or(f64::from(value)))
        }),
        ColumnReader::DoubleColumnReader(reader) => typed(reader, leaf, n, cells, fraction),
        ColumnReader::ByteArrayColumnReader(reader) => typed(reader, leaf, n, cells, Cell::Text),
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err(ParquetError::NYI("such columns are not read".into()))
        }
    }
}

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    leaf: Leaf,
    n: usize,
    cells: &mut Vec<Cell>,
    cell: impl Fn(T::T) -> Cell,
) -> std::result::Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(n), Vec::with_capacity(n));
    // A call may stop at the end of a page.
    let mut records = 0;
    while records < n {
        let levels = if leaf.optional { Some(&mut levels) } else { None };
        let (more, _, _) = reader.read_records(n - records, levels, None, &mut values)?;
        if more == 0 {
            break;
        }
        records += more;
    }
    let mut values = values.into_iter();
    if leaf.optional {
        for level in levels {
            let value = if level > 0 { values.next() } else { None };
            cells.push(value.map_or(Cell::Null, &cell));
        }
    } else {
        cells.extend(values.map(cell));
    }
    Ok(())
}

/// A fraction; one that is not finite stays text, which no number is made of.
fn fraction(value: f64) -> Cell {
    Cell::Other(match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None => Value::String(value.to_string()),
    })
}

fn unreadable(input: &Input<'_>, after: u64, error: ParquetError) -> Error {
    let place = match after {
        0 => String::new(),
        rows => format!(" after row {rows}"),
    };
    Error::Unusable {
        path: input.label().to_owned(),
        problem: format!("not readable as Parquet{place}: {error}"),
        advice:
            "copy or download the file again; if it is no Parquet, change the ending of its name"
                .into(),
    }
}

#[cfg(test)]
mod tests;
