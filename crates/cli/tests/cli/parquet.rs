//! Parquet as warehouses write it: decimals and lists are what they are in JSON lines.

use crate::place::Place;

/// By pyarrow: `bench/parquet_peer.py --fixture crates/cli/tests/cli/warehouse.parquet`.
const WAREHOUSE: &[u8] = include_bytes!("warehouse.parquet");

/// The same rows.
const LINES: &str = r#"{"id":"d1","query":["red","shoes"],"clicks":12,"weight":12.0,"title":["Red shoes",null,"size 40"],"prices":[49.9],"total":1e37}
{"id":"d2","query":["hats"],"clicks":3,"weight":0.25,"title":[],"prices":[-1.0,null],"days":["2026-11-15"],"total":0}
{"id":"d3","query":["red","hats"],"clicks":7,"weight":7.5,"days":[]}
"#;

fn place() -> Place {
    let place = Place::with(&[("t.jsonl", LINES), ("c.tsv", "query\tdoc\tclicks\nq\td1\t9\n")]);
    place.file("t.parquet", WAREHOUSE);
    place
}

#[test]
fn a_column_of_lists_and_a_decimal_make_a_log() {
    let place = place();
    for number in ["clicks", "weight"] {
        for table in ["t.jsonl", "t.parquet"] {
            let columns = format!("query=query,doc=id,{number}={number}");
            let line = format!("import --clicks {table} --columns {columns} -o {table}.{number}");
            place.run(&format!("{line} --min-clicks 1 --validation 0 --test 0")).fine();
        }
        let [lines, parquet] =
            ["t.jsonl", "t.parquet"].map(|table| place.dataset(&format!("{table}.{number}")));
        assert_eq!(lines.clicks, parquet.clicks, "{number}");
        assert_eq!(parquet.clicks.nnz(), 3);
        let texts = parquet.queries.iter().map(|query| query.unwrap().text);
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        assert_eq!(texts, ["hats", "red hats", "red shoes"]);
    }
}

#[test]
fn lists_and_decimals_are_fields_of_documents() {
    let place = place();
    for table in ["t.jsonl", "t.parquet"] {
        let line = format!("import --clicks c.tsv --documents {table} -o {table}.data");
        place.run(&format!("{line} --validation 0 --test 0")).fine();
    }
    let [lines, parquet] = ["t.jsonl.data", "t.parquet.data"].map(|name| place.dataset(name));
    assert_eq!(parquet.documents.len(), 3);
    for (a, b) in lines.documents.iter().zip(parquet.documents.iter()) {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert_eq!((a.id, a.fields), (b.id, b.fields));
    }
}

#[test]
fn a_list_is_no_number() {
    let place = place();
    let columns = "--columns query=id,doc=weight,clicks=query -o x";
    for table in ["t.jsonl", "t.parquet"] {
        let message = format!("{table}:1: expected a number as clicks, found \"red shoes\"");
        place.run(&format!("import --clicks {table} {columns}")).refused(1, &[&message]);
    }
}
