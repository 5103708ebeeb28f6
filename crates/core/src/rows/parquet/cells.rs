//! The values of a column as they are decoded.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int96};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Number, Value};

use super::super::time;

/// A column of values that can be read.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    /// Its place among the leaves of the schema.
    pub at: usize,
    /// Whether values can be missing.
    optional: bool,
    /// Whether whole numbers are 0 or more.
    unsigned: bool,
    /// The unit of timestamps, dates and times of day.
    clock: Option<Clock>,
}

/// The unit in which a number encodes time.
#[derive(Clone, Copy)]
enum Clock {
    /// Days since 1970.
    Date,
    /// Since midnight, in this many units per second.
    Time(i64),
    /// Since 1970, in this many units per second.
    Moment(i64),
}

impl Clock {
    /// The unit of `column`, if it holds times.
    fn of(column: &ColumnDescriptor) -> Option<Clock> {
        let per_second = |unit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Timestamp(moment)), _) => {
                Some(Clock::Moment(per_second(moment.unit)))
            }
            (Some(LogicalType::Time(time)), _) => Some(Clock::Time(per_second(time.unit))),
            (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Some(Clock::Date),
            (_, ConvertedType::TIMESTAMP_MILLIS) => Some(Clock::Moment(1_000)),
            (_, ConvertedType::TIMESTAMP_MICROS) => Some(Clock::Moment(1_000_000)),
            (_, ConvertedType::TIME_MILLIS) => Some(Clock::Time(1_000)),
            (_, ConvertedType::TIME_MICROS) => Some(Clock::Time(1_000_000)),
            _ => None,
        }
    }

    /// `value` as a date or time in text.
    fn show(self, value: i64) -> String {
        match self {
            Clock::Date => {
                let moment = time::show(value.saturating_mul(86_400), true);
                moment.split(' ').next().unwrap_or_default().to_owned()
            }
            Clock::Time(per_second) => time::show(value.div_euclid(per_second), false),
            Clock::Moment(per_second) => time::show(value.div_euclid(per_second), true),
        }
    }
}

impl Leaf {
    /// How to read the leaf number `at` of a schema; else a description of its values.
    pub(super) fn of(at: usize, column: &ColumnDescriptor) -> std::result::Result<Self, String> {
        let about = column.self_type().get_basic_info();
        let is_list = about.has_repetition() && about.repetition() == Repetition::REPEATED;
        if column.max_rep_level() > 0 || is_list {
            return Err("lists".into());
        }
        if column.path().parts().len() > 1 {
            return Err("nested values".into());
        }
        readable(column)?;
        Ok(Leaf {
            at,
            optional: column.max_def_level() > 0,
            unsigned: is_unsigned(column.converted_type()),
            clock: Clock::of(column),
        })
    }
}

/// A value as it was decoded.
pub(super) enum Cell {
    Null,
    Text(ByteArray),
    Other(Value),
}

/// Whether a column can be read; else a description of its values.
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
            (whole.contains(&converted) && integer) || Clock::of(column).is_some()
        }
        // Some writers do not declare text as such.
        PhysicalType::BYTE_ARRAY => {
            matches!(converted, Is::NONE | Is::UTF8 | Is::ENUM | Is::JSON)
        }
        // Used for timestamps alone, by old writers.
        PhysicalType::INT96 => true,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => false,
    };
    if fine { Ok(()) } else { Err(kind(column)) }
}

/// A description of the values of a column that cannot be read.
fn kind(column: &ColumnDescriptor) -> String {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Decimal { .. }), _) | (_, ConvertedType::DECIMAL) => {
            "decimal numbers".into()
        }
        (Some(LogicalType::Uuid), _) => "UUIDs as bytes".into(),
        (Some(LogicalType::Bson), _) | (_, ConvertedType::BSON) => "BSON".into(),
        (Some(LogicalType::Float16), _) => "numbers of 16 bits".into(),
        (_, ConvertedType::INTERVAL) => "intervals of time".into(),
        (None, ConvertedType::NONE) => "bytes of unknown meaning".into(),
        _ => "values of another kind".into(),
    }
}

/// The seconds since 1970 of a timestamp of the deprecated type INT96: the nanoseconds of the day, and
/// the Julian day.
fn int96_seconds(value: Int96) -> i64 {
    let [low, high, day] = [0, 1, 2].map(|at| value.data().get(at).copied().unwrap_or_default());
    let nanoseconds = (u64::from(high) << 32) | u64::from(low);
    let seconds = (nanoseconds / 1_000_000_000).cast_signed();
    (i64::from(day) - 2_440_588) * 86_400 + seconds
}

fn is_unsigned(converted: ConvertedType) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(converted, UINT_8 | UINT_16 | UINT_32 | UINT_64)
}

/// Reads `n` cells of a column.
pub(super) fn read(
    reader: &mut ColumnReader,
    leaf: Leaf,
    n: usize,
    cells: &mut Vec<Cell>,
) -> Result<()> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            typed(reader, leaf, n, cells, |value| Cell::Other(value.into()))
        }
        ColumnReader::Int32ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            if let Some(clock) = leaf.clock {
                return Cell::Other(clock.show(value.into()).into());
            }
            Cell::Other(if leaf.unsigned { value.cast_unsigned().into() } else { value.into() })
        }),
        ColumnReader::Int64ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            if let Some(clock) = leaf.clock {
                return Cell::Other(clock.show(value).into());
            }
            Cell::Other(if leaf.unsigned { value.cast_unsigned().into() } else { value.into() })
        }),
        ColumnReader::FloatColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            // Widened to f64, it would have digits that the file does not have.
            fraction(value.to_string().parse().unwrap_or(f64::from(value)))
        }),
        ColumnReader::DoubleColumnReader(reader) => typed(reader, leaf, n, cells, fraction),
        ColumnReader::ByteArrayColumnReader(reader) => typed(reader, leaf, n, cells, Cell::Text),
        ColumnReader::Int96ColumnReader(reader) => typed(reader, leaf, n, cells, |value| {
            Cell::Other(time::show(int96_seconds(value), true).into())
        }),
        ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err(ParquetError::NYI("columns of this type are not supported".into()))
        }
    }
}

fn typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    leaf: Leaf,
    n: usize,
    cells: &mut Vec<Cell>,
    cell: impl Fn(T::T) -> Cell,
) -> Result<()> {
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

/// A number, or text if it is not finite, which JSON numbers cannot be.
fn fraction(value: f64) -> Cell {
    Cell::Other(match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None => Value::String(value.to_string()),
    })
}
