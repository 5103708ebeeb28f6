#![allow(clippy::disallowed_methods)]

use super::*;

fn read(name: &str, text: &str) -> Result<FeatureTable> {
    read_with(name, text, |_| {})
}

fn read_with(name: &str, text: &str, change: impl FnOnce(&mut TableFile)) -> Result<FeatureTable> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let mut file = TableFile::new(&path);
    change(&mut file);
    file.read(&Run::silent())
}

#[test]
fn letor_rows_may_be_sparse_and_name_their_documents() {
    let text = "2 qid:10 1:0.5 3:1e-2 #docid = GX-1 inc = 1 prob = 0.2\n\n\
                # a comment\n0 qid:11 2:nan\n1 qid:10 3:4 1:-1 # docid=GX-3\n";
    let table = read("train.txt", text).unwrap();
    assert_eq!(table.names(), ["1", "2", "3"]);
    assert_eq!(table.queries(), ["10", "11"]);
    assert_eq!(table.docs(), ["GX-1", "GX-3", "2"]);
    assert_eq!(table.grades(), [2.0, 1.0, 0.0]);
    assert_eq!(table.row(0), [0.5, 0.0, 0.01]);
    assert_eq!(table.row(1), [-1.0, 0.0, 4.0]);
    assert!(table.row(2)[1].is_nan() && table.row(2)[0] == 0.0);
    let missing = read_with("train.txt", text, |file| file.absent_is_missing = true).unwrap();
    assert!(missing.row(0)[1].is_nan());
    // A file that counts from 0 has a feature called 0.
    assert_eq!(read("x", "1 qid:1 0:3 1:4").unwrap().names(), ["0", "1"]);
}

#[test]
fn side_files_say_queries_weights_and_positions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank.train");
    let write = |ending: &str, text: &str| {
        std::fs::write(folder.path().join(format!("rank.train{ending}")), text).unwrap();
    };
    let read = || TableFile::new(&path).read(&Run::silent());
    write("", "0 1:1\n1 1:2\n0 1:3\n");
    assert!(read().unwrap_err().to_string().contains("no row has a qid"));
    write(".query", "2\n1\n");
    write(".weight", "1\n0.5\n2\n");
    write(".position", "0\n1\n0\n");
    let table = read().unwrap();
    assert_eq!((table.rows_of(0), table.rows_of(1)), (0..2, 2..3));
    assert_eq!(table.weights().unwrap(), [1.0, 0.5, 2.0]);
    assert_eq!(table.positions().unwrap(), [1, 2, 1]);
    write(".query", "2\n2\n");
    assert!(read().unwrap_err().to_string().contains("have 4 rows, but the table has 3"));
    write(".query", "2\nx\n");
    assert!(read().unwrap_err().to_string().contains("rank.train.query:2"));
    write(".query", "3\n");
    write(".weight", "1\n");
    assert!(read().unwrap_err().to_string().contains("1 numbers for 3 rows"));
}

#[test]
fn a_bad_row_is_named_with_its_line() {
    for (text, found) in [
        ("1 qid:1 1:2\nx qid:1 1:2", "train:2: expected a grade"),
        ("inf qid:1 1:2", "train:1: expected a grade"),
        ("1 qid:1 1:inf", "expected a finite number, or nan"),
        ("1 qid:1 1:1e60", "expected a finite number, or nan"),
        ("1 qid:1 a:2", "expected a feature as NUMBER:VALUE"),
        ("1 qid:1 2", "expected a feature as NUMBER:VALUE"),
        ("1 qid:1 qid:2 1:1", "expected one qid:ID"),
        ("1 qid:1 1:1 1:2", "expected each feature once"),
        ("1 qid:1 1:2\n0 1:2", "row 2 has no qid, but others have one"),
        ("", "there is no row"),
    ] {
        let error = read("train", text).unwrap_err().to_string();
        assert!(error.contains(found), "{text:?}: {error}");
    }
}

#[test]
fn columns_are_features_but_for_those_with_a_meaning() {
    let text = "qid,docid,label,bm25,age,weight\nq1,a,2,1.5,,1\nq2,b,0,-1,7,0.5\nq1,c,1,0,nan,1\n";
    let table = read("t.csv", text).unwrap();
    assert_eq!(table.names(), ["bm25", "age"]);
    assert_eq!(table.docs(), ["a", "c", "b"]);
    assert!(table.row(0)[1].is_nan() && table.row(1)[1].is_nan());
    assert_eq!(table.row(2), [-1.0, 7.0]);
    assert_eq!(table.weights().unwrap(), [1.0, 1.0, 0.5]);
    let other = read_with("t.tsv", "q\tg\tx\tnote\n1\t3\t4\thello\n", |file| {
        file.columns = Columns {
            query: Some("q".into()),
            grade: Some("g".into()),
            ignore: vec!["note".into()],
            ..Columns::default()
        };
    });
    assert_eq!(other.unwrap().names(), ["x"]);
    for (text, found) in [
        ("doc,label,x\na,1,2\n", "there is no column query"),
        ("query,x\na,1\n", "there is no column grade"),
        ("query,label,x\na,1\n", "t.csv:2: expected 3 fields"),
        ("query,label,x\na,1,y\n", "t.csv:2: expected a finite number, or nan"),
        ("query,label,x\na,1,inf\n", "\"inf\" in column x"),
        ("query,label,x\na,,1\n", "expected a grade"),
        ("query,label,x\n,1,1\n", "expected a query"),
        ("query,label,x,x\na,1,1,1\n", "two columns are called"),
        ("query,label,x\n", "there is no row"),
    ] {
        let error = read("t.csv", text).unwrap_err().to_string();
        assert!(error.contains(found), "{text:?}: {error}");
    }
}
