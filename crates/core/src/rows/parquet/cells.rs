//! The values of a column as they are decoded.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::errors::{ParquetError, Result};
use serde_json::{Number, Value};

use super::super::time;
use super::decimal::{decimal, decimal_of_bytes};
use super::leaf::{Kind, Leaf};

/// A value as it was decoded.
#[derive(Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Text(ByteArray),
    Other(Value),
    List(Vec<Cell>),
}

impl Cell {
    /// As a value: nothing if it is missing, an error if it is not UTF-8. Text is parsed if `is_json`.
    pub(super) fn value(self, is_json: bool) -> std::result::Result<Value, std::str::Utf8Error> {
        Ok(match self {
            Cell::Null => Value::Null,
            Cell::Other(value) => value,
            Cell::Text(bytes) => {
                let text = std::str::from_utf8(bytes.data())?;
                let parsed = if is_json { serde_json::from_str(text).ok() } else { None };
                parsed.unwrap_or_else(|| Value::String(text.to_owned()))
            }
            Cell::List(items) => {
                let items = items.into_iter().map(|item| item.value(is_json));
                Value::Array(items.collect::<std::result::Result<_, _>>()?)
            }
        })
    }
}

/// Reads the next `n` cells of a column, or those that are left.
pub(super) fn read(
    reader: &mut ColumnReader,
    leaf: Leaf,
    n: usize,
    cells: &mut Vec<Cell>,
) -> Result<()> {
    let kind = leaf.kind;
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| Ok(Cell::Other(value.into())))
        }
        ColumnReader::Int32ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            Ok(whole(kind, value.into(), value.cast_unsigned().into()))
        }),
        ColumnReader::Int64ColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| Ok(whole(kind, value, value.cast_unsigned())))
        }
        ColumnReader::FloatColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            // Widened to f64, it would have digits that the file does not have.
            Ok(fraction(value.to_string().parse().unwrap_or(f64::from(value))))
        }),
        ColumnReader::DoubleColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| Ok(fraction(value)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| match kind {
                Kind::Decimal(scale) => decimal_of_bytes(value.data(), scale).map(Cell::Other),
                _ => Ok(Cell::Text(value)),
            })
        }
        ColumnReader::Int96ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            Ok(Cell::Other(time::show(int96_seconds(value), true).into()))
        }),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| fixed(kind, &value))
        }
    }
}

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    leaf: Leaf,
    n: usize,
    cells: &mut Vec<Cell>,
    cell: impl Fn(T::T) -> Result<Cell>,
) -> Result<()> {
    let mut values = Vec::with_capacity(n);
    let mut levels = Levels::default();
    // A call may stop at the end of a page.
    let mut records = 0;
    while records < n {
        let definition = (leaf.full > 0).then_some(&mut levels.definition);
        let repetition = leaf.empty.is_some().then_some(&mut levels.repetition);
        let (more, _, _) = reader.read_records(n - records, definition, repetition, &mut values)?;
        if more == 0 {
            break;
        }
        records += more;
    }
    let mut values = values.into_iter().map(cell);
    if leaf.full == 0 {
        return values.try_for_each(|value| value.map(|value| cells.push(value)));
    }
    levels.place(leaf, values, cells)
}

/// Which values are missing, and which belong to one list.
#[derive(Default)]
pub(super) struct Levels {
    /// How much of a value is there: its list, an item, the item's value.
    pub definition: Vec<i16>,
    /// Of lists, 0 where a list starts and 1 where it goes on.
    pub repetition: Vec<i16>,
}

impl Levels {
    /// Puts `values` into the cells that the levels of the column `leaf` tell.
    pub(super) fn place(
        &self,
        leaf: Leaf,
        mut values: impl Iterator<Item = Result<Cell>>,
        cells: &mut Vec<Cell>,
    ) -> Result<()> {
        let mut next = |level| match level {
            level if level == leaf.full => values.next().unwrap_or_else(|| Err(contradiction())),
            0.. if level < leaf.full => Ok(Cell::Null),
            _ => Err(contradiction()),
        };
        match leaf.empty {
            None => {
                for &level in &self.definition {
                    cells.push(next(level)?);
                }
            }
            Some(empty) => {
                if self.definition.len() != self.repetition.len() {
                    return Err(contradiction());
                }
                for (&level, &repetition) in self.definition.iter().zip(&self.repetition) {
                    match (repetition, cells.last_mut()) {
                        (0, _) if level < empty => cells.push(next(level)?),
                        (0, _) if level == empty => cells.push(Cell::List(Vec::new())),
                        (0, _) => cells.push(Cell::List(vec![next(level)?])),
                        (1, Some(Cell::List(items))) if level > empty && !items.is_empty() => {
                            items.push(next(level)?);
                        }
                        _ => return Err(contradiction()),
                    }
                }
            }
        }
        // More values than levels for them.
        if values.next().is_some() { Err(contradiction()) } else { Ok(()) }
    }
}

fn contradiction() -> ParquetError {
    ParquetError::General("the levels of a column contradict its values".into())
}

/// A whole number, signed or not.
fn whole(kind: Kind, signed: i64, unsigned: u64) -> Cell {
    Cell::Other(match kind {
        Kind::Clock(clock) => clock.show(signed).into(),
        Kind::Decimal(scale) => decimal(signed.into(), scale),
        Kind::Unsigned => unsigned.into(),
        _ => signed.into(),
    })
}

/// A value of a fixed number of bytes.
fn fixed(kind: Kind, value: &FixedLenByteArray) -> Result<Cell> {
    let bytes = value.data();
    let wrong = |_| {
        let problem = format!("a value of {} bytes in a column of another length", bytes.len());
        ParquetError::General(problem)
    };
    match kind {
        Kind::Decimal(scale) => decimal_of_bytes(bytes, scale).map(Cell::Other),
        Kind::Uuid => Ok(Cell::Other(uuid(bytes.try_into().map_err(wrong)?).into())),
        Kind::Float16 => Ok(fraction(float16(bytes.try_into().map_err(wrong)?))),
        _ => Err(ParquetError::NYI("columns of this type are not supported".into())),
    }
}

/// The usual text of a UUID.
fn uuid(bytes: [u8; 16]) -> String {
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// A number of 16 bits, exactly.
fn float16(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_le_bytes(bytes);
    let (exponent, digits) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => digits * 2f64.powi(-24),
        31 if digits == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + digits) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// The seconds since 1970 of a timestamp of the deprecated type INT96: the nanoseconds of the day, and
/// the Julian day.
fn int96_seconds(value: Int96) -> i64 {
    let [low, high, day] = [0, 1, 2].map(|at| value.data().get(at).copied().unwrap_or_default());
    let nanoseconds = (u64::from(high) << 32) | u64::from(low);
    let seconds = (nanoseconds / 1_000_000_000).cast_signed();
    (i64::from(day) - 2_440_588) * 86_400 + seconds
}

/// A number, or text if it is not finite, which JSON numbers cannot be.
fn fraction(value: f64) -> Cell {
    Cell::Other(match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None => Value::String(value.to_string()),
    })
}
