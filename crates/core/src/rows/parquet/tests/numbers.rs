//! Decimals, UUIDs and numbers of 16 bits.

use serde_json::{Value, json};

use super::*;

fn fixed(bytes: &[u8]) -> FixedLenByteArray {
    FixedLenByteArray::from(ByteArray::from(bytes.to_vec()))
}

/// The numbers that the four ways to store a decimal share.
const NUMBERS: [i32; 7] = [12, 1200, -1250, 0, 1, i32::MIN, i32::MAX];

fn decimals(scale: usize, optional: bool) -> Vec<u8> {
    let presence = if optional { "optional" } else { "required" };
    let schema = format!(
        "message m {{ {presence} int32 a (DECIMAL(9,{scale}));
         {presence} int64 b (DECIMAL(18,{scale}));
         {presence} binary c (DECIMAL(50,{scale}));
         {presence} fixed_len_byte_array(17) d (DECIMAL(38,{scale})); }}"
    );
    let missing = [&[0], &[1; 7][..]].concat();
    let levels = optional.then_some(&missing[..]);
    file(&schema, Compression::SNAPPY, 1, |_, c, open| {
        match c {
            0 => open.typed::<Int32Type>().write_batch(&NUMBERS, levels, None),
            1 => open.typed::<Int64Type>().write_batch(&NUMBERS.map(i64::from), levels, None),
            2 => {
                let bytes = NUMBERS.map(|n| ByteArray::from(n.to_be_bytes().to_vec()));
                open.typed::<ByteArrayType>().write_batch(&bytes, levels, None)
            }
            _ => {
                let long = |n: i32| {
                    let sign = if n < 0 { 0xff } else { 0 };
                    fixed(&[&[sign], &i128::from(n).to_be_bytes()[..]].concat())
                };
                open.typed::<FixedLenByteArrayType>().write_batch(&NUMBERS.map(long), levels, None)
            }
        }
        .unwrap();
    })
}

#[test]
fn decimals_are_exact_numbers_however_they_are_stored() {
    let whole = ["12", "1200", "-1250", "0", "1", "-2147483648", "2147483647"];
    let cents = ["0.12", "12", "-12.5", "0", "0.01", "-21474836.48", "21474836.47"];
    for (scale, texts) in [(0, whole), (2, cents)] {
        for optional in [false, true] {
            let bytes = decimals(scale, optional);
            with(&bytes, |rows| rows.check_columns(&|_| true)).unwrap();
            let mut read: Vec<_> = rows(&bytes).unwrap().into_iter().map(|(_, row)| row).collect();
            if optional {
                assert_eq!(read.remove(0), [""; 4]);
            }
            assert_eq!(read, texts.map(|text| vec![text; 4]));
            let mut values = values(&bytes);
            if optional {
                assert_eq!(values.remove(0), [const { None }; 4]);
            }
            let number = |text: &str| match scale {
                0 => Some(json!(text.parse::<i64>().unwrap())),
                _ => Some(json!(text.parse::<f64>().unwrap())),
            };
            assert_eq!(values, texts.map(|text| vec![number(text); 4]));
        }
    }
}

#[test]
fn decimals_that_no_json_number_holds_are_text() {
    let schema = "message m { required fixed_len_byte_array(16) a (DECIMAL(38,0));
        required fixed_len_byte_array(16) b (DECIMAL(38,38)); required binary c (DECIMAL(77,38)); }";
    let bytes = file(schema, Compression::UNCOMPRESSED, 1, |_, c, open| {
        let least = (1 - 10i128.pow(38)).to_be_bytes();
        match c {
            2 => {
                let long = ByteArray::from([&[0x7f], &[0xff; 31][..]].concat());
                open.typed::<ByteArrayType>().write_batch(&[long], None, None)
            }
            _ => open.typed::<FixedLenByteArrayType>().write_batch(&[fixed(&least)], None, None),
        }
        .unwrap();
    });
    let nines = "9".repeat(38);
    // 2^255 - 1, by Python.
    let long = "578960446186580977117854925043439539266.34992332820282019728792003956564819967";
    let texts = [format!("-{nines}"), format!("-0.{nines}"), long.to_owned()];
    assert_eq!(rows(&bytes).unwrap()[0].1, texts);
    assert_eq!(values(&bytes)[0], texts.map(|text| Some(Value::String(text))));
}

#[test]
fn decimals_that_are_damaged_are_errors() {
    let schema = "message m { required binary a (DECIMAL(5,2)); }";
    for (bytes, words) in [(vec![], "without bytes"), (vec![1; 1000], "of 1000 bytes")] {
        let bytes = file(schema, Compression::SNAPPY, 1, |_, _, open| {
            let values = [ByteArray::from(bytes.clone())];
            open.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        });
        let error = rows(&bytes).unwrap_err().to_string();
        assert!(error.contains("not readable as Parquet: ") && error.contains(words), "{error}");
    }
    let schema = "message m { required binary a (DECIMAL(2000000000,2000000000)); }";
    let bytes = file(schema, Compression::SNAPPY, 1, |_, _, open| {
        open.typed::<ByteArrayType>().write_batch(&texts(&["a"]), None, None).unwrap();
    });
    let error = with(&bytes, |rows| rows.check_columns(&|_| true)).unwrap_err().to_string();
    assert!(error.contains("the column a holds decimal numbers of 2000000000 digits"), "{error}");
    assert_eq!(rows(&bytes).unwrap()[0].1, [""]);
}

#[test]
fn uuids_are_text_and_short_numbers_exact() {
    let schema = "message m { optional fixed_len_byte_array(16) id (UUID);
        required fixed_len_byte_array(2) half (FLOAT16); }";
    // numpy: np.float16(0.1), 65504 (the largest), 2^-24 (the smallest), -2, NaN and infinity.
    let halves = [0x2e66u16, 0x7bff, 1, 0xc000, 0x7e00, 0xfc00];
    let bytes = file(schema, Compression::SNAPPY, 1, |_, c, open| {
        let writer = open.typed::<FixedLenByteArrayType>();
        match c {
            0 => {
                let id = fixed(&(0..16).map(|i| i * 17).collect::<Vec<u8>>());
                writer.write_batch(&[id], Some(&[0, 0, 1, 0, 0, 0]), None)
            }
            _ => writer.write_batch(&halves.map(|half| fixed(&half.to_le_bytes())), None, None),
        }
        .unwrap();
    });
    let read = rows(&bytes).unwrap();
    let halves: Vec<&str> = read.iter().map(|(_, row)| row[1].as_str()).collect();
    assert_eq!(
        halves,
        ["0.0999755859375", "65504", "0.00000005960464477539063", "-2", "NaN", "-inf"]
    );
    assert_eq!(read[2].1[0], "00112233-4455-6677-8899-aabbccddeeff");
    assert_eq!((values(&bytes)[3][1].clone(), &read[0].1[0]), (Some(json!(-2.0)), &String::new()));
}

#[test]
fn a_column_without_any_value_is_read() {
    let schema = "message m { optional int32 nothing (UNKNOWN); }";
    let bytes = file(schema, Compression::SNAPPY, 1, |_, _, open| {
        open.typed::<Int32Type>().write_batch(&[], Some(&[0, 0]), None).unwrap();
    });
    with(&bytes, |rows| rows.check_columns(&|_| true)).unwrap();
    assert_eq!(values(&bytes), [[None], [None]]);
}
