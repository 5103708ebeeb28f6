//! How the values of a column are read, by the schema.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};

use super::super::time;
use super::decimal::MAX_DIGITS;

/// A column of values, or of lists of values, that can be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Leaf {
    /// Its place among the leaves of the schema.
    pub at: usize,
    /// What the values mean.
    pub kind: Kind,
    /// The definition level of a value that is there.
    pub full: i16,
    /// Of lists, the definition level of an empty one.
    pub empty: Option<i16>,
}

/// What a value means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// What its physical type says.
    Plain,
    /// A whole number of 0 or more.
    Unsigned,
    Clock(Clock),
    /// A whole number with this many digits after the point.
    Decimal(usize),
    Uuid,
    Float16,
    /// Text to be parsed.
    Json,
}

/// The unit in which a number encodes time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Clock {
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
    pub(super) fn show(self, value: i64) -> String {
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
    /// How to read the field number `field` of `schema`; else a description of its values.
    pub(super) fn of(schema: &SchemaDescriptor, field: usize) -> Result<Self, String> {
        let empty = list_level(&schema.root_schema().get_fields()[field])?;
        // A field that is neither a group nor a list of groups has one leaf.
        let at = (0..schema.num_columns()).find(|&at| schema.get_column_root_idx(at) == field);
        let at = at.ok_or("nested values")?;
        let column = schema.column(at);
        let kind = kind(&column).map_err(|values| match empty {
            None => values,
            Some(_) => format!("lists of {values}"),
        })?;
        Ok(Leaf { at, kind, full: column.max_def_level(), empty })
    }
}

/// If `field` is a list of values, the definition level of an empty list; `None` if it is a value.
/// Otherwise a description of what it is.
///
/// Lists are written in several ways: a field that repeats (of protobuf), a group marked as list around
/// a field that repeats (of old Avro and Hive), and a group around a group that repeats around a field.
fn list_level(field: &Type) -> Result<Option<i16>, String> {
    let repeats = has_repetition(field, Repetition::REPEATED);
    if field.is_primitive() {
        return Ok(repeats.then_some(0));
    }
    match annotation(field) {
        _ if repeats => return Err(lists_of(field)),
        Annotation::List => {}
        Annotation::Map => return Err("maps".into()),
        Annotation::None => return Err("nested values".into()),
    }
    let [inner] = field.get_fields() else { return Err("nested values".into()) };
    if !has_repetition(inner, Repetition::REPEATED) {
        return Err("nested values".into());
    }
    if !inner.is_primitive() {
        // By the format's rules for old files, a group of these names is the item, not around it.
        let name = inner.name();
        let is_item = name == "array" || name == format!("{}_tuple", field.name());
        let [item] = inner.get_fields() else { return Err("lists of nested values".into()) };
        if is_item || !item.is_primitive() {
            return Err(lists_of(if is_item { inner } else { item }));
        }
        if has_repetition(item, Repetition::REPEATED) {
            return Err("lists of lists".into());
        }
    }
    Ok(Some(i16::from(has_repetition(field, Repetition::OPTIONAL))))
}

/// A description of lists of the group `item`.
fn lists_of(item: &Type) -> String {
    match annotation(item) {
        Annotation::List => "lists of lists".into(),
        Annotation::Map => "lists of maps".into(),
        Annotation::None => "lists of nested values".into(),
    }
}

fn has_repetition(field: &Type, repetition: Repetition) -> bool {
    let about = field.get_basic_info();
    about.has_repetition() && about.repetition() == repetition
}

/// What a group is marked as.
enum Annotation {
    List,
    Map,
    None,
}

fn annotation(group: &Type) -> Annotation {
    let about = group.get_basic_info();
    match (about.logical_type_ref(), about.converted_type()) {
        (Some(LogicalType::List), _) | (_, ConvertedType::LIST) => Annotation::List,
        (Some(LogicalType::Map), _) | (_, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => {
            Annotation::Map
        }
        _ => Annotation::None,
    }
}

/// What the values of a column mean; else a description of them.
fn kind(column: &ColumnDescriptor) -> Result<Kind, String> {
    use ConvertedType as Is;
    use PhysicalType as Stored;
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    if let Some(clock) = Clock::of(column) {
        return Ok(Kind::Clock(clock));
    }
    match (column.physical_type(), logical, converted) {
        (_, Some(LogicalType::Decimal(_)), _) | (_, _, Is::DECIMAL) => decimal_kind(column),
        // INT96 is used for timestamps alone, by old writers.
        (Stored::BOOLEAN | Stored::FLOAT | Stored::DOUBLE | Stored::INT96, _, _)
        // The type of columns that have no values at all.
        | (Stored::INT32 | Stored::INT64, Some(LogicalType::Unknown), _) => Ok(Kind::Plain),
        (Stored::INT32 | Stored::INT64, None | Some(LogicalType::Integer(_)), _) => {
            match converted {
                Is::NONE | Is::INT_8 | Is::INT_16 | Is::INT_32 | Is::INT_64 => Ok(Kind::Plain),
                Is::UINT_8 | Is::UINT_16 | Is::UINT_32 | Is::UINT_64 => Ok(Kind::Unsigned),
                _ => Err(other(column)),
            }
        }
        (Stored::BYTE_ARRAY, _, Is::JSON) => Ok(Kind::Json),
        // Some writers do not declare text as such.
        (Stored::BYTE_ARRAY, _, Is::NONE | Is::UTF8 | Is::ENUM) => Ok(Kind::Plain),
        (Stored::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid), _) => Ok(Kind::Uuid),
        (Stored::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16), _) => Ok(Kind::Float16),
        _ => Err(other(column)),
    }
}

fn decimal_kind(column: &ColumnDescriptor) -> Result<Kind, String> {
    let (digits, scale) = (column.type_precision(), column.type_scale());
    match usize::try_from(scale) {
        Ok(places) if scale <= digits && digits <= MAX_DIGITS => Ok(Kind::Decimal(places)),
        _ => Err(format!("decimal numbers of {digits} digits, {scale} of them after the point")),
    }
}

/// A description of the values of a column that cannot be read.
fn other(column: &ColumnDescriptor) -> String {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Bson), _) | (_, ConvertedType::BSON) => "BSON".into(),
        (_, ConvertedType::INTERVAL) => "intervals of time".into(),
        (None, ConvertedType::NONE) => "bytes of unknown meaning".into(),
        _ => "values of another kind".into(),
    }
}
