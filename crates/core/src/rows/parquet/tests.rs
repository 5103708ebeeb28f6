use std::io::Write;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::*;

mod damage;
mod encodings;
mod lists;
mod numbers;

/// Writes the groups of a file, column by column.
fn file(
    schema: &str,
    compression: Compression,
    groups: usize,
    column: impl Fn(usize, usize, &mut SerializedColumnWriter<'_>),
) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression).build();
    file_with(schema, properties, groups, column)
}

/// Like [`file`], written in any way.
fn file_with(
    schema: &str,
    properties: WriterProperties,
    groups: usize,
    column: impl Fn(usize, usize, &mut SerializedColumnWriter<'_>),
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for g in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        let mut c = 0;
        while let Some(mut open) = group.next_column().unwrap() {
            column(g, c, &mut open);
            open.close().unwrap();
            c += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn texts(texts: &[&str]) -> Vec<ByteArray> {
    texts.iter().map(|text| ByteArray::from(*text)).collect()
}

fn with<T>(bytes: &[u8], work: impl FnOnce(&mut ParquetRows<'_>) -> Result<T>) -> Result<T> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    File::create(&path).unwrap().write_all(bytes).unwrap();
    let mut rows =
        ParquetRows::open(Input::open(&path, None, Run::silent())?, &path, Run::silent())?;
    assert_eq!(rows.input().checksum().1, crate::file::checksum(&path)?);
    work(&mut rows)
}

/// All rows as text.
fn rows(bytes: &[u8]) -> Result<Vec<(u64, Vec<String>)>> {
    with(bytes, |rows| {
        let (mut all, mut row) = (Vec::new(), Row::default());
        while let Some(read) = rows.read_row(&mut row)? {
            let line = read.map_err(|bad| bad.error(Path::new("t")))?;
            all.push((line, row.fields().map(str::to_owned).collect()));
        }
        Ok(all)
    })
}

/// All rows as values.
fn values(bytes: &[u8]) -> Vec<Vec<Option<Value>>> {
    let all = with(bytes, |rows| {
        let (mut all, mut row) = (Vec::new(), Row::default());
        while let Some(read) = rows.read_row(&mut row)? {
            read.unwrap();
            all.push((0..row.width()).map(|at| row.value(at)).collect());
        }
        Ok(all)
    });
    all.unwrap()
}

const EVERY: &str = "message m {
    optional binary text (UTF8); required int64 long; optional int32 small (UINT_32);
    required double d; required float f; required boolean b; optional binary json (JSON);
    required binary plain; }";

fn every(compression: Compression) -> Vec<u8> {
    file(EVERY, compression, 2, |_, c, open| {
        match c {
            0 => open.typed::<ByteArrayType>().write_batch(&texts(&["ä"]), Some(&[0, 1]), None),
            1 => open.typed::<Int64Type>().write_batch(&[-7, 1 << 60], None, None),
            2 => open.typed::<Int32Type>().write_batch(&[-1], Some(&[1, 0]), None),
            3 => open.typed::<DoubleType>().write_batch(&[12.0, 0.25], None, None),
            4 => open.typed::<FloatType>().write_batch(&[0.1, f32::NAN], None, None),
            5 => open.typed::<BoolType>().write_batch(&[true, false], None, None),
            6 => open.typed::<ByteArrayType>().write_batch(
                &texts(&["{\"a\":1}", "\"x\""]),
                Some(&[1, 1]),
                None,
            ),
            _ => open.typed::<ByteArrayType>().write_batch(&texts(&["p", "q"]), None, None),
        }
        .unwrap();
    })
}

#[test]
fn values_of_every_kind_are_read_from_every_row_group() {
    let row = |line, fields: &[&str]| (line, fields.iter().map(|f| (*f).to_owned()).collect());
    let first = ["", "-7", "4294967295", "12", "0.1", "true", "{\"a\":1}", "p"];
    let second = ["ä", "1152921504606846976", "", "0.25", "NaN", "false", "x", "q"];
    let expected = [row(1, &first), row(2, &second), row(3, &first), row(4, &second)];
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
    ] {
        assert_eq!(rows(&every(compression)).unwrap(), expected, "{compression}");
    }
    with(&every(Compression::SNAPPY), |rows| {
        rows.check_columns(&|_| true)?;
        assert_eq!(rows.header().unwrap()[..3], ["text", "long", "small"]);
        let mut row = Row::default();
        rows.read_row(&mut row)?.unwrap().unwrap();
        assert_eq!((row.value(0), row.value(3)), (None, Some(serde_json::json!(12.0))));
        assert_eq!(row.value(6), Some(serde_json::json!({ "a": 1 })));
        Ok(())
    })
    .unwrap();
}

#[test]
fn moments_are_read_as_text() {
    let schema = "message m { required int64 a (TIMESTAMP(MILLIS,true));
        required int64 b (TIMESTAMP(MICROS,false)); required int64 c (TIMESTAMP(NANOS,true));
        required int64 d (TIMESTAMP_MILLIS); }";
    let seconds = 1_794_751_629i64;
    let bytes = file(schema, Compression::SNAPPY, 1, |_, c, open| {
        let unit = [1_000, 1_000_000, 1_000_000_000, 1_000][c];
        open.typed::<Int64Type>().write_batch(&[seconds * unit + unit / 2], None, None).unwrap();
    });
    let row = vec!["2026-11-15 14:07:09".to_owned(); 4];
    assert_eq!(rows(&bytes).unwrap(), [(1, row)]);
}

#[test]
fn long_columns_are_read_batch_by_batch() {
    let n = 5000i64;
    let bytes = file(
        "message m { required int64 n; optional int64 o; }",
        Compression::SNAPPY,
        3,
        |g, c, open| {
            let first = g as i64 * n;
            let writer = open.typed::<Int64Type>();
            if c == 0 {
                writer.write_batch(&(first..first + n).collect::<Vec<_>>(), None, None).unwrap();
            } else {
                let levels: Vec<i16> = (0..n).map(|i| i16::from(i % 3 == 0)).collect();
                let values: Vec<i64> = (0..n).filter(|i| i % 3 == 0).map(|i| first + i).collect();
                writer.write_batch(&values, Some(&levels), None).unwrap();
            }
        },
    );
    let read = rows(&bytes).unwrap();
    assert_eq!(read.len(), 15000);
    for (i, (line, fields)) in read.iter().enumerate() {
        assert_eq!((*line, &fields[0]), (i as u64 + 1, &i.to_string()));
        let other = if (i as i64 % n) % 3 == 0 { i.to_string() } else { String::new() };
        assert_eq!(fields[1], other);
    }
}

#[test]
fn dates_times_and_old_moments_are_read_as_text() {
    let schema = "message m { required int32 day (DATE); required int32 a (TIME(MILLIS,true));
        required int64 b (TIME(MICROS,false)); required int64 c (TIME_MICROS);
        optional int96 old; }";
    let clock = 14 * 3600 + 7 * 60 + 9;
    let bytes = file(schema, Compression::SNAPPY, 1, |_, c, open| {
        match c {
            // `date -u -d 2026-11-15 +%s` is 20772 days, and -1 is the last of 1969.
            0 => open.typed::<Int32Type>().write_batch(&[20_772, -1], None, None),
            1 => open.typed::<Int32Type>().write_batch(&[clock * 1000 + 9, 0], None, None),
            4 => {
                // The day 2451545 is 2000-01-01.
                let nanoseconds = u64::from(clock.cast_unsigned()) * 1_000_000_000 + 7;
                let mut moment = Int96::new();
                let low = (nanoseconds & u64::from(u32::MAX)) as u32;
                moment.set_data(low, (nanoseconds >> 32) as u32, 2_451_545);
                open.typed::<Int96Type>().write_batch(&[moment], Some(&[1, 0]), None)
            }
            _ => {
                let micros = i64::from(clock) * 1_000_000 + 999_999;
                open.typed::<Int64Type>().write_batch(&[micros, 0], None, None)
            }
        }
        .unwrap();
    });
    with(&bytes, |rows| rows.check_columns(&|_| true)).unwrap();
    let texts = |texts: [&str; 5]| texts.map(str::to_owned).to_vec();
    let read = rows(&bytes).unwrap();
    let first = ["2026-11-15", "14:07:09", "14:07:09", "14:07:09", "2000-01-01 14:07:09"];
    assert_eq!(read[0].1, texts(first));
    assert_eq!(read[1].1, texts(["1969-12-31", "00:00:00", "00:00:00", "00:00:00", ""]));
}

#[test]
fn columns_of_other_kinds_are_refused_where_they_are_used() {
    let schema = "message m { required binary q (UTF8); required binary b (BSON);
        required fixed_len_byte_array(2) raw; required group s { required int64 a; }
        required fixed_len_byte_array(12) pause (INTERVAL); }";
    let bytes = file(schema, Compression::UNCOMPRESSED, 1, |_, c, open| {
        let fixed = |text: &str| [FixedLenByteArray::from(ByteArray::from(text))];
        match c {
            0 | 1 => open.typed::<ByteArrayType>().write_batch(&texts(&["a"]), None, None),
            2 => open.typed::<FixedLenByteArrayType>().write_batch(&fixed("xy"), None, None),
            3 => open.typed::<Int64Type>().write_batch(&[1], None, None),
            _ => open.typed::<FixedLenByteArrayType>().write_batch(
                &fixed("123456789012"),
                None,
                None,
            ),
        }
        .unwrap();
    });
    assert_eq!(rows(&bytes).unwrap()[0].1, ["a", "", "", "", ""]);
    with(&bytes, |rows| rows.check_columns(&|used| used == 0)).unwrap();
    for (at, words) in [
        (1, "the column b holds BSON, expected text, numbers, booleans, dates, times or lists"),
        (2, "the column raw holds bytes of unknown meaning"),
        (3, "the column s holds nested values"),
        (4, "the column pause holds intervals of time"),
    ] {
        let error =
            with(&bytes, |rows| rows.check_columns(&|used| used == at)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn bytes_that_are_no_text_are_a_bad_row() {
    let schema = "message m { required binary q; }";
    let bytes = file(schema, Compression::UNCOMPRESSED, 1, |_, _, open| {
        let values = [ByteArray::from("a"), ByteArray::from(vec![0xe9u8])];
        open.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
    });
    let error = rows(&bytes).unwrap_err().to_string();
    assert!(error.contains("t:2: ") && error.contains("column q: invalid UTF-8"), "{error}");
}

#[test]
fn a_stopped_reading_stops_between_batches() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    File::create(&path).unwrap().write_all(&every(Compression::SNAPPY)).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let cancelled = || stop.load(std::sync::atomic::Ordering::Relaxed);
    let run = Run::new(&|_| {}, &cancelled);
    let mut rows = ParquetRows::open(Input::open(&path, None, run).unwrap(), &path, run).unwrap();
    let mut row = Row::default();
    rows.read_row(&mut row).unwrap().unwrap().unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    rows.read_row(&mut row).unwrap().unwrap().unwrap();
    assert!(matches!(rows.read_row(&mut row), Err(Error::Cancelled)));
}
