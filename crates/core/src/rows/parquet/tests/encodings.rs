//! Dictionaries, pages, batches, row groups and encodings.

use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use serde_json::{Value, json};

use super::*;

/// Rows of a row group: more than a batch, and not a multiple of one.
const ROWS: usize = 2500;

const GROUPS: usize = 3;

const SCHEMA: &str = "message m { optional binary text (UTF8); required int64 number;
    required fixed_len_byte_array(9) sum (DECIMAL(20,2));
    optional group texts (LIST) { repeated group list { optional binary element (UTF8); } }
    optional group sums (LIST) { repeated group list {
        optional fixed_len_byte_array(9) element (DECIMAL(20,2)); } }
    repeated int64 numbers; }";

/// The few values of row `i`, as they are read.
fn expected(i: usize) -> Vec<Option<Value>> {
    let text = |i: usize| json!(format!("text {}", i % 7));
    let sum = |i: usize| json!((i % 11) as f64 / 4.0 - 1.0);
    // Missing, empty, and up to five items, of which every third is missing.
    let list = |item: &dyn Fn(usize) -> Value| match i % 7 {
        0 => None,
        n => {
            let items =
                (1..n).map(|k| if (i + k).is_multiple_of(3) { Value::Null } else { item(i + k) });
            Some(Value::Array(items.collect()))
        }
    };
    let numbers = (0..i % 4).map(|k| json!((i + k) % 13));
    vec![
        (!i.is_multiple_of(5)).then(|| text(i)),
        Some(json!(i % 17)),
        Some(sum(i)),
        list(&text),
        list(&sum),
        Some(Value::Array(numbers.collect())),
    ]
}

/// The present values of column `c` in the rows `all`, and the levels of all.
fn split(all: &[Vec<Option<Value>>], c: usize) -> (Vec<Value>, Vec<i16>, Vec<i16>) {
    let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |value: Option<&Value>, d: i16, r: i16| {
        values.extend(value.cloned());
        definition.push(d);
        repetition.push(r);
    };
    // The levels of an empty list, of a missing item and of an item.
    let (empty, hole, full) = if c == 5 { (0, -1, 1) } else { (1, 2, 3) };
    for value in all.iter().map(|row| &row[c]) {
        match value {
            None => push(None, 0, 0),
            Some(Value::Array(items)) if items.is_empty() => push(None, empty, 0),
            Some(Value::Array(items)) => {
                for (k, item) in items.iter().enumerate() {
                    let r = i16::from(k > 0);
                    if item.is_null() { push(None, hole, r) } else { push(Some(item), full, r) }
                }
            }
            Some(value) => push(Some(value), 1, 0),
        }
    }
    (values, definition, repetition)
}

pub(super) fn table(properties: WriterProperties, rows: usize, groups: usize) -> Vec<u8> {
    file_with(SCHEMA, properties, groups, |g, c, open| {
        let all: Vec<_> = (g * rows..(g + 1) * rows).map(expected).collect();
        let (values, d, r) = split(&all, c);
        let (d, r) = (Some(&d[..]), Some(&r[..]));
        let text = |value: &Value| ByteArray::from(value.as_str().unwrap());
        let number = |value: &Value| value.as_i64().unwrap();
        let sum = |value: &Value| {
            let cents = (value.as_f64().unwrap() * 100.0) as i128;
            FixedLenByteArray::from(ByteArray::from(cents.to_be_bytes()[7..].to_vec()))
        };
        match c {
            0 | 3 => {
                let texts: Vec<ByteArray> = values.iter().map(text).collect();
                open.typed::<ByteArrayType>().write_batch(&texts, d, r)
            }
            1 | 5 => {
                let numbers: Vec<i64> = values.iter().map(number).collect();
                open.typed::<Int64Type>().write_batch(&numbers, d, r)
            }
            _ => {
                let sums: Vec<FixedLenByteArray> = values.iter().map(sum).collect();
                open.typed::<FixedLenByteArrayType>().write_batch(&sums, d, r)
            }
        }
        .unwrap();
    })
}

/// Small pages, of both versions of the format.
pub(super) fn versions() -> [WriterProperties; 2] {
    [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]
        .map(|version| small_pages().set_writer_version(version).build())
}

fn small_pages() -> parquet::file::properties::WriterPropertiesBuilder {
    let few = WriterProperties::builder().set_write_batch_size(100);
    let few = few.set_data_page_row_count_limit(300);
    few.set_statistics_enabled(EnabledStatistics::None)
}

/// Every encoding of the format that is no dictionary.
pub(super) fn encodings() -> [WriterProperties; 2] {
    let name = |name: &str| ColumnPath::new(name.split('.').map(str::to_owned).collect());
    let names = ["text", "number", "sum", "texts.list.element", "sums.list.element", "numbers"];
    let names = names.map(name);
    let delta = [
        Encoding::DELTA_BYTE_ARRAY,
        Encoding::DELTA_BINARY_PACKED,
        Encoding::DELTA_BYTE_ARRAY,
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::BYTE_STREAM_SPLIT,
        Encoding::DELTA_BINARY_PACKED,
    ];
    let plain = [Encoding::PLAIN; 6];
    [delta, plain].map(|encodings| {
        let properties = small_pages().set_dictionary_enabled(false);
        let columns = names.iter().zip(encodings);
        columns
            .fold(properties, |all, (name, one)| all.set_column_encoding(name.clone(), one))
            .build()
    })
}

#[test]
fn dictionaries_and_pages_are_read_across_batches_and_row_groups() {
    let all: Vec<_> = (0..GROUPS * ROWS).map(expected).collect();
    for properties in versions() {
        let version = properties.writer_version();
        let bytes = table(properties, ROWS, GROUPS);
        // The file is as the test wants it.
        with(&bytes, |rows| {
            assert_eq!(rows.file.num_row_groups(), GROUPS);
            for c in 0..6 {
                let pages = rows.file.get_row_group(1).unwrap().get_column_page_reader(c).unwrap();
                let pages: Vec<Page> = pages.map(|page| page.unwrap()).collect();
                assert!(matches!(pages[0], Page::DictionaryPage { .. }), "{version:?} {c}");
                assert!(pages.len() > 5, "{version:?} {c}");
                assert!(pages[1..].iter().all(|page| page.encoding() == Encoding::RLE_DICTIONARY));
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(values(&bytes), all, "{version:?}");
    }
}

#[test]
fn every_encoding_is_read() {
    let all: Vec<_> = (0..ROWS).map(expected).collect();
    for properties in encodings() {
        let bytes = table(properties.clone(), ROWS, 1);
        assert_eq!(values(&bytes), all, "{properties:?}");
    }
}
