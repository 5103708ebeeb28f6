//! Columns of lists.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::cells::Levels;
use super::*;

/// The column `l` of `schema`, written with these levels and values.
fn list(schema: &str, levels: &[(i16, i16)], values: &[i64]) -> Vec<u8> {
    let (definition, repetition): (Vec<i16>, Vec<i16>) = levels.iter().copied().unzip();
    file(&format!("message m {{ {schema} }}"), Compression::SNAPPY, 1, |_, _, open| {
        let writer = open.typed::<Int64Type>();
        writer.write_batch(values, Some(&definition), Some(&repetition)).unwrap();
    })
}

fn column(bytes: &[u8]) -> Vec<Option<Value>> {
    with(bytes, |rows| rows.check_columns(&|_| true)).unwrap();
    values(bytes).into_iter().map(|mut row| row.remove(0)).collect()
}

#[test]
fn lists_are_read_in_every_way_they_are_written() {
    // A missing list, an empty one, [1, missing, 2] and [3], by (definition, repetition).
    let all = [(0, 0), (1, 0), (3, 0), (2, 1), (3, 1), (3, 0)];
    let expected = [None, Some(json!([])), Some(json!([1, null, 2])), Some(json!([3]))];
    for schema in [
        "optional group l (LIST) { repeated group list { optional int64 element; } }",
        // Hive.
        "optional group l (LIST) { repeated group bag { optional int64 array_element; } }",
        "optional group l (LIST) { repeated group array_element { optional int64 item; } }",
    ] {
        assert_eq!(column(&list(schema, &all, &[1, 2, 3])), expected, "{schema}");
    }
    // Items that are never missing.
    let all = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 0)];
    let expected = [None, Some(json!([])), Some(json!([1, 2])), Some(json!([3]))];
    for schema in [
        "optional group l (LIST) { repeated group list { required int64 element; } }",
        // Spark, Avro and others of old.
        "optional group l (LIST) { repeated int64 array; }",
        "optional group l (LIST) { repeated int64 element; }",
        "optional group l (LIST) { repeated int64 l_tuple; }",
    ] {
        assert_eq!(column(&list(schema, &all, &[1, 2, 3])), expected, "{schema}");
    }
    // Lists that are never missing, last without a group, as protobuf and BigQuery write them.
    let all = [(0, 0), (1, 0), (1, 1), (1, 0)];
    for schema in [
        "required group l (LIST) { repeated group list { required int64 element; } }",
        "required group l (LIST) { repeated int64 array; }",
        "repeated int64 l;",
    ] {
        assert_eq!(column(&list(schema, &all, &[1, 2, 3])), expected[1..], "{schema}");
    }
    let schema = "required group l (LIST) { repeated group list { optional int64 element; } }";
    let bytes = list(schema, &[(0, 0), (1, 0), (2, 1)], &[5]);
    assert_eq!(column(&bytes), [Some(json!([])), Some(json!([null, 5]))]);
}

#[test]
fn items_of_every_kind_are_read() {
    let item = |name: &str, value: &str| {
        format!("optional group {name} (LIST) {{ repeated group list {{ optional {value}; }} }}")
    };
    let schema: Vec<String> = [
        ("a", "binary element (UTF8)"),
        ("b", "int32 element (DATE)"),
        ("c", "int32 element (DECIMAL(9,2))"),
        ("d", "fixed_len_byte_array(9) element (DECIMAL(20,0))"),
        ("e", "boolean element"),
        ("f", "double element"),
        ("g", "float element"),
        ("h", "binary element (JSON)"),
        ("i", "int64 element (TIMESTAMP(MICROS,true))"),
        ("j", "fixed_len_byte_array(16) element (UUID)"),
        ("k", "int96 element"),
        ("l", "int32 element (UINT_32)"),
    ]
    .iter()
    .map(|(name, value)| item(name, value))
    .collect();
    let schema = format!("message m {{ {} }}", schema.join(" "));
    let bytes = file(&schema, Compression::SNAPPY, 1, |_, c, open| {
        // Two values with a missing one between them, then an empty list.
        let (d, r): (Option<&[i16]>, Option<&[i16]>) = (Some(&[3, 2, 3, 1]), Some(&[0, 1, 1, 0]));
        let fixed = |length: usize, last: u8| {
            let bytes = [vec![0; length - 1], vec![last]].concat();
            FixedLenByteArray::from(ByteArray::from(bytes))
        };
        match c {
            0 => open.typed::<ByteArrayType>().write_batch(&texts(&["ä b", ""]), d, r),
            1 => open.typed::<Int32Type>().write_batch(&[20_772, 0], d, r),
            2 => open.typed::<Int32Type>().write_batch(&[-125, 1200], d, r),
            3 => {
                let values = [fixed(9, 7), fixed(9, 12)];
                open.typed::<FixedLenByteArrayType>().write_batch(&values, d, r)
            }
            4 => open.typed::<BoolType>().write_batch(&[true, false], d, r),
            5 => open.typed::<DoubleType>().write_batch(&[0.1, 12.0], d, r),
            6 => open.typed::<FloatType>().write_batch(&[0.1, f32::INFINITY], d, r),
            7 => open.typed::<ByteArrayType>().write_batch(&texts(&["{\"a\": 1}", "x"]), d, r),
            8 => open.typed::<Int64Type>().write_batch(&[0, 1_999_999], d, r),
            9 => {
                let values = [fixed(16, 1), fixed(16, 255)];
                open.typed::<FixedLenByteArrayType>().write_batch(&values, d, r)
            }
            10 => {
                let mut moment = Int96::new();
                moment.set_data(0, 0, 2_440_588);
                open.typed::<Int96Type>().write_batch(&[moment, moment], d, r)
            }
            _ => open.typed::<Int32Type>().write_batch(&[-1, 1], d, r),
        }
        .unwrap();
    });
    with(&bytes, |rows| rows.check_columns(&|_| true)).unwrap();
    let expected = [
        json!(["ä b", null, ""]),
        json!(["2026-11-15", null, "1970-01-01"]),
        json!([-1.25, null, 12.0]),
        json!([7, null, 12]),
        json!([true, null, false]),
        json!([0.1, null, 12.0]),
        json!([0.1, null, "inf"]),
        json!([{ "a": 1 }, null, "x"]),
        json!(["1970-01-01 00:00:00", null, "1970-01-01 00:00:01"]),
        json!([
            "00000000-0000-0000-0000-000000000001",
            null,
            "00000000-0000-0000-0000-0000000000ff"
        ]),
        json!(["1970-01-01 00:00:00", null, "1970-01-01 00:00:00"]),
        json!([4_294_967_295u32, null, 1]),
    ];
    assert_eq!(values(&bytes), [expected.map(Some).to_vec(), vec![Some(json!([])); 12]]);
}

#[test]
fn a_list_of_texts_and_numbers_is_read_as_one_text() {
    let schema = "message m { repeated binary a (UTF8); repeated int32 b (DECIMAL(9,1));
        repeated boolean c; }";
    let bytes = file(schema, Compression::SNAPPY, 1, |_, c, open| {
        let (d, r): (Option<&[i16]>, Option<&[i16]>) = (Some(&[1, 1, 0]), Some(&[0, 1, 0]));
        match c {
            0 => open.typed::<ByteArrayType>().write_batch(&texts(&["x", "y z"]), d, r),
            1 => open.typed::<Int32Type>().write_batch(&[120, 125], d, r),
            _ => open.typed::<BoolType>().write_batch(&[true, false], d, r),
        }
        .unwrap();
    });
    let read = rows(&bytes).unwrap();
    assert_eq!(read[0].1, ["x y z", "12 12.5", "[true,false]"]);
    assert_eq!(read[1].1, ["", "", ""]);
}

#[test]
fn nested_columns_are_refused_where_they_are_used() {
    let schema = "message m { required int64 q;
        optional group a (LIST) { repeated group list {
            optional group element (LIST) { repeated group list { optional int64 element; } } } }
        optional group b (LIST) { repeated group list {
            optional group element { optional int64 x; optional int64 y; } } }
        optional group c (MAP) { repeated group key_value {
            required int64 key; optional int64 value; } }
        optional group d { optional int64 x; }
        repeated group e { optional int64 x; }
        optional group f (LIST) { repeated group array { optional int64 x; } }
        optional group g (LIST) { repeated group list { repeated int64 x; } }
        optional group h (LIST) { repeated group list { optional binary x (BSON); } }
        optional group i (LIST) { repeated group g_tuple { optional int64 x; optional int64 y; } }
        optional group j (MAP) { repeated group key_value { required int64 key; } }
        optional group k (LIST) { repeated group k_tuple { optional int64 x; } }
        optional group l (LIST) { repeated group list { optional group element (MAP) {
            repeated group key_value { required int64 key; required int64 value; } } } }
        optional group m (LIST) { optional int64 x; }
        }";
    let bytes = file(schema, Compression::SNAPPY, 1, |_, c, open| {
        // The leaf number 10 is that of h.
        match c {
            0 => open.typed::<Int64Type>().write_batch(&[7], None, None),
            10 => open.typed::<ByteArrayType>().write_batch(&[], Some(&[0]), Some(&[0])),
            _ => open.typed::<Int64Type>().write_batch(&[], Some(&[0]), Some(&[0])),
        }
        .unwrap();
    });
    with(&bytes, |rows| rows.check_columns(&|used| used == 0)).unwrap();
    assert_eq!(rows(&bytes).unwrap()[0].1[0], "7");
    let kinds = [
        "lists of lists",
        "lists of nested values",
        "maps",
        "nested values",
        "lists of nested values",
        "lists of nested values",
        "lists of lists",
        "lists of BSON",
        "lists of nested values",
        "maps",
        "lists of nested values",
        "lists of maps",
        "nested values",
    ];
    for (at, (kind, name)) in kinds.iter().zip('a'..).enumerate() {
        let check = with(&bytes, |rows| rows.check_columns(&|used| used == at + 1));
        let error = check.unwrap_err().to_string();
        assert!(error.contains(&format!("the column {name} holds {kind}, expected")), "{error}");
    }
}

#[test]
fn items_that_are_no_text_are_a_bad_row() {
    let bytes = file("message m { repeated binary q; }", Compression::SNAPPY, 1, |_, _, open| {
        let values = [ByteArray::from("a"), ByteArray::from("b"), ByteArray::from(vec![0xe9u8])];
        let writer = open.typed::<ByteArrayType>();
        writer.write_batch(&values, Some(&[1, 1, 1]), Some(&[0, 0, 1])).unwrap();
    });
    let error = rows(&bytes).unwrap_err().to_string();
    assert!(error.contains("t:2: ") && error.contains("column q: invalid UTF-8"), "{error}");
}

/// A list that may be missing, of items that may be missing.
const LEAF: Leaf = Leaf { at: 0, kind: Kind::Plain, full: 3, empty: Some(1) };

fn place(leaf: Leaf, levels: &[(i16, i16)], n: usize) -> Option<Vec<Cell>> {
    let (definition, repetition) = levels.iter().copied().unzip();
    let levels = Levels { definition, repetition };
    let mut cells = Vec::new();
    let values = (0..n).map(|value| Ok(Cell::Other(value.into())));
    levels.place(leaf, values, &mut cells).ok().map(|()| cells)
}

#[test]
fn levels_that_contradict_the_values_are_errors() {
    assert!(place(LEAF, &[(3, 0), (2, 1), (1, 0), (0, 0)], 1).is_some());
    for (levels, n) in [
        // A list that goes on before it starts, or though it is missing or empty.
        (&[(3, 1)][..], 1),
        (&[(0, 0), (3, 1)], 1),
        (&[(1, 0), (3, 1)], 1),
        // An item that is missing as a list.
        (&[(3, 0), (1, 1)], 1),
        (&[(3, 0), (0, 1)], 1),
        // Levels that the schema does not have.
        (&[(4, 0)], 1),
        (&[(-1, 0)], 0),
        (&[(3, 0), (3, 2)], 2),
        (&[(3, -1)], 1),
        // Too few values, too many.
        (&[(3, 0), (3, 1)], 1),
        (&[(3, 0), (2, 1)], 2),
    ] {
        assert!(place(LEAF, levels, n).is_none(), "{levels:?}");
    }
    let mut cells = Vec::new();
    let levels = Levels { definition: vec![3, 3], repetition: vec![0] };
    let values = (0..2).map(|value| Ok(Cell::Other(value.into())));
    assert!(levels.place(LEAF, values, &mut cells).is_err());
    let optional = Leaf { full: 1, empty: None, ..LEAF };
    assert_eq!(place(optional, &[(1, 0), (0, 0)], 1).unwrap().len(), 2);
    for (levels, n) in [(&[(1, 0)][..], 0), (&[(0, 0)], 1), (&[(2, 0)], 1)] {
        assert!(place(optional, levels, n).is_none(), "{levels:?}");
    }
}

proptest! {
    /// Lists come back from their levels, and levels of any other kind do not panic.
    #[test]
    fn lists_come_back_from_their_levels(
        lists: Vec<Option<Vec<bool>>>,
        other: Vec<(i8, i8)>,
        n in 0..20usize,
    ) {
        let (mut levels, mut n_values) = (Vec::new(), 0usize);
        let mut expected = Vec::new();
        for list in &lists {
            match list.as_deref() {
                None => levels.push((0, 0)),
                Some([]) => levels.push((1, 0)),
                Some(items) => {
                    let items = items.iter().enumerate();
                    levels.extend(items.map(|(i, &full)| (2 + i16::from(full), i16::from(i > 0))));
                }
            }
            let mut item = |&full: &bool| {
                n_values += usize::from(full);
                if full { Cell::Other((n_values - 1).into()) } else { Cell::Null }
            };
            expected.push(list.as_ref().map_or(Cell::Null, |items| {
                Cell::List(items.iter().map(&mut item).collect())
            }));
        }
        prop_assert_eq!(place(LEAF, &levels, n_values), Some(expected));
        let other: Vec<_> = other.iter().map(|&(d, r)| (i16::from(d) % 5, i16::from(r) % 3)).collect();
        place(LEAF, &other, n);
    }
}
