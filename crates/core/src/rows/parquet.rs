//! Parquet tables: decoded one row group at a time, in batches of rows, column by column.
//!
//! Columns at the top level of the schema are read if they hold text, numbers (also decimals),
//! booleans, timestamps, dates, times of day or UUIDs, or lists of these; a table may have others, but
//! they cannot be used. Text of the type JSON is parsed. The file is read twice: once for its checksum,
//! like every source, and once by seeking.

mod cells;
mod decimal;
mod deltas;
mod leaf;
mod pages;

use std::borrow::Cow;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use super::bad_row::{BadRow, Checked};
use super::input::{self, Input};
use super::row::{Row, RowSource, TypedField};
use crate::{Error, Result, Run};
use cells::{Cell, read};
use leaf::{Kind, Leaf};
use pages::open_column;

/// Opens the file at `path`, of which `input` has read nothing but the head.
pub(super) fn open<'r>(
    input: Input<'r>,
    path: &Path,
    run: Run<'r>,
) -> Result<Box<dyn RowSource<'r> + 'r>> {
    Ok(Box::new(ParquetRows::open(input, path, run)?))
}

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
    number: u64,
    stage: String,
    run: Run<'r>,
}

struct ColumnAbout {
    name: String,
    /// How it is read; if it cannot be, a description of its values.
    leaf: std::result::Result<Leaf, String>,
}

impl ColumnAbout {
    fn is_json(&self) -> bool {
        self.leaf.as_ref().is_ok_and(|leaf| leaf.kind == Kind::Json)
    }
}

impl<'r> ParquetRows<'r> {
    fn open(mut input: Input<'r>, path: &Path, run: Run<'r>) -> Result<Self> {
        let hashed = std::io::copy(&mut input, &mut std::io::sink());
        hashed.map_err(|error| input.failure(error))?;
        let file = File::open(path).map_err(Error::io("read", path))?;
        let file = SerializedFileReader::new(file).map_err(|error| unreadable(&input, 0, error))?;
        check_compression(&input, &file)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let fields = schema.root_schema().get_fields().iter().enumerate();
        let columns: Vec<ColumnAbout> = fields
            .map(|(at, field)| ColumnAbout {
                name: field.name().to_owned(),
                leaf: Leaf::of(schema, at),
            })
            .collect();
        Ok(ParquetRows {
            stage: format!("reading the rows of {}", input::file_name(input.label())),
            run,
            input,
            file,
            readers: Vec::new(),
            batch: columns.iter().map(|_| Vec::new()).collect(),
            columns,
            next_group: 0,
            left: 0,
            number: 0,
        })
    }

    fn batch_is_used_up(&self) -> bool {
        self.batch.iter().all(Vec::is_empty)
    }

    /// Decodes the next batch; `false` at the end of the file.
    fn decode(&mut self) -> Result<bool> {
        let number = self.number;
        let total = u64::try_from(self.file.metadata().file_metadata().num_rows()).ok();
        self.run.step(&self.stage, number, total)?;
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
                .map(|column| match &column.leaf {
                    Ok(leaf) => open_column(&*group, leaf.at).map(Some),
                    Err(_) => Ok(None),
                })
                .collect::<std::result::Result<_, _>>()
                .map_err(failed)?;
            self.next_group += 1;
        }
        let n = self.left.min(BATCH);
        self.left -= n;
        let leaves = self.columns.iter().map(|column| column.leaf.as_ref().ok());
        for ((reader, leaf), batch) in self.readers.iter_mut().zip(leaves).zip(&mut self.batch) {
            match reader.as_mut().zip(leaf) {
                Some((reader, leaf)) => {
                    // The decoders check a page as a whole, but not every value in it.
                    let read = catch_unwind(AssertUnwindSafe(|| read(reader, *leaf, n, batch)));
                    let failed = |_| Err(ParquetError::General("a damaged page".into()));
                    read.unwrap_or_else(failed).map_err(|e| unreadable(&self.input, number, e))?;
                    if batch.len() != n {
                        let error = ParquetError::EOF("a column ends too early".into());
                        return Err(unreadable(&self.input, number, error));
                    }
                    batch.reverse();
                }
                None => batch.resize_with(n, || Cell::Null),
            }
        }
        Ok(true)
    }
}

impl<'r> RowSource<'r> for ParquetRows<'r> {
    /// The line of a row is its number, counted from one.
    fn read_row(&mut self, row: &mut Row) -> Result<Option<Checked<u64>>> {
        if self.batch_is_used_up() && !self.decode()? {
            return Ok(None);
        }
        self.number += 1;
        let mut bad = None;
        let values = row.values();
        values.resize_with(self.columns.len(), TypedField::default);
        for (column, (cells, field)) in self.columns.iter().zip(self.batch.iter_mut().zip(values)) {
            field.written.clear();
            field.value = None;
            let cell = cells.pop().unwrap_or(Cell::Null);
            // The text of JSON is kept as it is written.
            let json = match &cell {
                Cell::Text(bytes) if column.is_json() => Some(bytes.clone()),
                _ => None,
            };
            match cell.value(column.is_json()) {
                Ok(value) => field.set(value, json.as_ref().and_then(|bytes| bytes.as_utf8().ok())),
                Err(_) => bad = Some(&column.name),
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

    fn input(&self) -> &Input<'r> {
        &self.input
    }

    fn header(&self) -> Option<Vec<String>> {
        Some(self.columns.iter().map(|column| column.name.clone()).collect())
    }

    fn check_columns(&self, used: &dyn Fn(usize) -> bool) -> Result<()> {
        let columns = self.columns.iter().enumerate().filter(|(at, _)| used(*at));
        let mut refused =
            columns.filter_map(|(_, column)| Some((column, column.leaf.as_ref().err()?)));
        let Some((column, kind)) = refused.next() else { return Ok(()) };
        Err(Error::Unusable {
            path: self.input.label().to_owned(),
            problem: format!(
                "the column {} holds {kind}, expected text, numbers, booleans, dates, times or lists of these",
                column.name
            ),
            advice: "convert the column when the file is written (to text, for example), or leave it out".into(),
        })
    }
}

impl TypedField {
    /// Sets the value, which may be written in `json`.
    fn set(&mut self, value: Value, json: Option<&str>) {
        match (&value, json) {
            (Value::Null, _) => return,
            (Value::String(_), _) => {}
            (_, Some(json)) => self.written.push_str(json),
            (Value::Array(items), None) => {
                // A list of texts and numbers is read as one text, as in JSON lines.
                let texts: Option<Vec<_>> = items.iter().map(plain_text).collect();
                self.written = texts.map_or_else(|| value.to_string(), |texts| texts.join(" "));
            }
            (other, None) => {
                self.written = plain_text(other).map_or_else(|| other.to_string(), Cow::into_owned);
            }
        }
        self.value = Some(value);
    }
}

/// The text of a text or a number.
fn plain_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(number) => Some(match number.as_f64().filter(|_| number.is_f64()) {
            // Programs without missing integers write 12 as 12.0.
            Some(number) => number.to_string().into(),
            None => number.to_string().into(),
        }),
        _ => None,
    }
}

/// An error if columns are compressed with a codec that is not compiled in.
fn check_compression(input: &Input<'_>, file: &SerializedFileReader<File>) -> Result<()> {
    let groups = file.metadata().row_groups().iter();
    let mut codecs = groups.flat_map(|group| group.columns()).map(|column| column.compression());
    let unknown = codecs.find(|codec| {
        !matches!(
            codec,
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
        Some(codec) => Err(Error::Unusable {
            path: input.label().to_owned(),
            problem: format!("is compressed with {codec}, which is not supported"),
            advice: "write it with snappy, zstd, gzip or lz4, or uncompressed".into(),
        }),
    }
}

fn unreadable(input: &Input<'_>, after: u64, error: ParquetError) -> Error {
    let place = match after {
        0 => String::new(),
        rows => format!(" after row {rows}"),
    };
    Error::Unusable {
        path: input.label().to_owned(),
        problem: format!("not readable as Parquet{place}: {error}"),
        advice: "copy or download the file again; if it is not Parquet, change its file extension"
            .into(),
    }
}

#[cfg(test)]
mod tests;
