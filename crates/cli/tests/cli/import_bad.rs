//! Bad input: each kind gets its own message, and nothing half-written stays.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::place::{Place, Said};

const DOCUMENTS: &str = "id\ttitle\nd1\tone\nd2\ttwo\nd3\tthree\n";

const CLICKS: &str = "query\tdoc\tclicks\na\td1\t9\nb\td2\t9\nc\td3\t9\nd\td1\t9\n";

/// Runs an import of `clicks` and `documents`, whose names end as they should.
fn import(clicks: (&str, &[u8]), documents: (&str, &[u8]), flags: &str) -> (Place, Said) {
    let place = Place::new();
    place.file(clicks.0, clicks.1);
    place.file(documents.0, documents.1);
    let line =
        format!("import --clicks {} --documents {} -o out/data {flags}", clicks.0, documents.0);
    let said = place.run(&line);
    (place, said)
}

/// Nothing may stay: neither the output folder nor a temporary one.
#[track_caller]
fn assert_nothing_stays(place: &Place) {
    let out = place.path("out");
    let left = std::fs::read_dir(&out).map_or(0, Iterator::count);
    assert_eq!(left, 0, "something stays in {}", out.display());
}

#[track_caller]
fn clicks_refused(clicks: &[u8], words: &[&str]) {
    let (place, said) = import(("c.tsv", clicks), ("d.tsv", DOCUMENTS.as_bytes()), "");
    said.refused(1, words);
    assert_nothing_stays(&place);
}

#[track_caller]
fn documents_refused(name: &str, documents: &[u8], words: &[&str]) {
    let (place, said) = import(("c.tsv", CLICKS.as_bytes()), (name, documents), "");
    said.refused(1, words);
    assert_nothing_stays(&place);
}

#[test]
fn a_missing_column() {
    clicks_refused(
        b"q\tdoc\na\td1\n",
        &["c.tsv:1", "a column called query", "the columns q, doc", "--columns query=NAME"],
    );
    documents_refused("d.csv", b"title,body\nx,y\n", &["d.csv:1", "a column called id"]);
    documents_refused(
        "d.jsonl",
        b"{\"title\": \"x\"}\n",
        &["d.jsonl:1", "the field id", "nothing"],
    );
}

#[test]
fn a_missing_field() {
    clicks_refused(
        b"query\tdoc\na\td1\nb\n",
        &[
            "error: c.tsv:3: expected 2 fields, found 1\n",
            "\nhelp: correct the line, or add `--lenient`",
        ],
    );
    clicks_refused(b"query\tdoc\na\td1\n \td2\n", &["c.tsv:3", "the field query", "nothing"]);
    documents_refused(
        "d.jsonl",
        b"{\"id\": \"d1\"}\n[1]\n",
        &["d.jsonl:2", "a JSON object", "[1]"],
    );
}

#[test]
fn a_bad_number() {
    clicks_refused(
        b"query\tdoc\tclicks\na\td1\t4\nb\td2\tmany\n",
        &["c.tsv:3", "a number as clicks", "\"many\""],
    );
    clicks_refused(b"query\tdoc\tclicks\na\td1\tNaN\n", &["c.tsv:2", "a number as clicks"]);
    clicks_refused(b"query\tdoc\tclicks\na\td1\t\n", &["c.tsv:2", "a number as clicks", "nothing"]);
}

#[test]
fn a_number_too_large_to_be_stored() {
    clicks_refused(
        b"query\tdoc\tclicks\na\td1\t4\nb\td2\t1e39\n",
        &["c.tsv:3", "at most 3.4028235e38 in size as clicks", "found 1e39", "--lenient"],
    );
    clicks_refused(
        b"query\tdoc\tweight\na\td1\t-1e39\n",
        &["c.tsv:2", "at most 3.4028235e38 in size as weight", "found -1e39"],
    );
    for split in ["", "\tsplit"] {
        let rows = [("a", "d1", "2e38"), ("b", "d2", "9"), ("a", "d1", "2e38")];
        let value = if split.is_empty() { "" } else { "\ttrain" };
        let rows: String = rows.iter().map(|(q, d, n)| format!("{q}\t{d}\t{n}{value}\n")).collect();
        clicks_refused(
            format!("query\tdoc\tclicks{split}\n{rows}").as_bytes(),
            &[
                "c.tsv: ",
                "the query \"a\" and the document \"d1\"",
                "at most 3.4028235e38",
                "scale",
            ],
        );
    }
}

#[test]
fn a_bad_count_in_a_bag() {
    let good = "{\"id\": \"d1\", \"body\": {\"a\": 2, \"b\": 0}}\n\
        {\"id\": \"d2\", \"title\": \"x\", \"metadata\": {\"url\": \"u\", \"year\": 1999}}\n\
        {\"id\": \"d3\", \"title\": 1984}\n";
    let with = |body: &str| format!("{good}{{\"id\": \"d4\", {body}}}\n");
    for (body, words) in [
        ("\"body\": {\"a\": -1}", ["a count of 0 or more for \"a\" in body", "found -1"]),
        ("\"body\": {\"a\": \"two\"}", ["\"a\" in body", "found \"two\""]),
        ("\"words\": {\"a\": 1, \"b\": -2}", ["\"b\" in words", "found -2"]),
        ("\"body\": {\"a\": 1e39}", ["\"a\" in body", "found 1e+39"]),
    ] {
        let words = [&words[..], &["d.jsonl:4", "bag of counts", "--lenient"]].concat();
        documents_refused("d.jsonl", with(body).as_bytes(), &words);
    }
    let clicks = ("c.tsv", CLICKS.as_bytes());
    let documents = with("\"body\": {\"a\": -1}");
    let (place, said) = import(clicks, ("d.jsonl", documents.as_bytes()), "--lenient");
    let said = said.fine();
    assert!(said.out.contains("dropped 1 row of d.jsonl: bad count in a bag"), "{}", said.out);
    assert!(!said.err.contains("no text"), "{}", said.err);
    assert_eq!(place.dataset("out/data").documents.len(), 3);
}

#[test]
fn a_negative_click_count() {
    clicks_refused(
        b"query\tdoc\tclicks\na\td1\t-2\n",
        &["c.tsv:2", "clicks of 0 or more", "-2", "--columns weight=NAME"],
    );
}

#[test]
fn invalid_utf8() {
    clicks_refused(
        b"query\tdoc\na\td1\ncaf\xe9\td2\n",
        &["c.tsv:3", "invalid UTF-8", "0xe9", "iconv"],
    );
    documents_refused(
        "d.csv",
        b"id,title\nd1,\"two\nlines\"\nd2,caf\xe9\n",
        &["d.csv:4", "invalid UTF-8", "0xe9"],
    );
    documents_refused("d.jsonl", b"{\"id\": \"\xff\"}\n", &["d.jsonl:1", "invalid UTF-8"]);
}

#[test]
fn a_quote_that_is_never_closed() {
    let documents = b"id,title\nd1,a\nd2,b\nd3,\"5 inch nail\nd4,ghi\nd5,jkl\n";
    let words = ["d.csv:4", "a quote opened in line 4 is never closed", "double", "TSV"];
    documents_refused("d.csv", documents, &words);
    // How many rows are lost nobody knows, so they cannot be skipped and counted.
    let (place, said) =
        import(("c.tsv", CLICKS.as_bytes()), ("d.csv", documents), "--lenient --min-clicks 1");
    said.refused(1, &words);
    assert_nothing_stays(&place);
    documents_refused(
        "d.csv",
        b"id,title\nd1,\"5 inch\nd2,b\nd3,\"6 inch\nd4,ghi\n",
        &["d.csv:2", "a quote opened in line 2 is closed in line 4 before text"],
    );
}

#[test]
fn a_truncated_gzip() {
    let text: String = (0..9999).map(|i| format!("d{i}\t{}\n", i * i)).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(format!("id\ttitle\n{text}").as_bytes()).unwrap();
    let bytes = gz.finish().unwrap();
    let words = ["d.tsv.gz: truncated", "gzip data ends too early", "again"];
    documents_refused("d.tsv.gz", &bytes[..bytes.len() / 2], &words);
    documents_refused("d.tsv.gz", &bytes[..bytes.len() - 4], &words);
    documents_refused("d.tsv.gz", &bytes[..5], &words);
    documents_refused("d.tsv.gz", DOCUMENTS.as_bytes(), &["d.tsv.gz: not valid gzip data"]);
}

#[test]
fn a_duplicate_document_id_with_other_text() {
    documents_refused(
        "d.tsv",
        b"id\ttitle\nd1\tone\nd2\ttwo\nd1\tother\n",
        &["d.tsv:4", "\"d1\" as in d.tsv:2", "another content"],
    );
    let same = b"id\ttitle\nd1\tone\nd2\ttwo\nd3\tx\nd1\tone\n";
    let (_, said) = import(("c.tsv", CLICKS.as_bytes()), ("d.tsv", same), "");
    assert!(said.fine().out.contains("dropped 1 row of d.tsv: the same document again"));
}

#[test]
fn an_empty_split() {
    clicks_refused(b"query\tdoc\na\td1\n", &["training split is empty", "--split"]);
    clicks_refused(b"query\tdoc\na\td1\nb\td1\n", &["training split is empty"]);
    let documents = ("d.tsv", DOCUMENTS.as_bytes());
    let (place, said) = import(("c.tsv", CLICKS.as_bytes()), documents, "--split edges");
    said.refused(1, &["validation split is empty", "--split queries"]);
    assert_nothing_stays(&place);
    let (place, said) = import(("c.tsv", CLICKS.as_bytes()), documents, "--split given");
    said.refused(1, &["needs a column split, and no table has one"]);
    assert_nothing_stays(&place);
    clicks_refused(
        b"query\tdoc\tclicks\na\td1\t1\nb\td2\t1\nc\td3\t3\n",
        &["the click filter leaves nothing", "--min-clicks 1"],
    );
    clicks_refused(b"query\tdoc\n", &["c.tsv: has no rows"]);
    clicks_refused(b"", &["c.tsv: has no rows"]);
    clicks_refused(
        b"query\tdoc\tsplit\na\td1\tholdout\n",
        &["c.tsv:2", "train, validation", "holdout"],
    );
}

#[test]
fn unknown_documents() {
    clicks_refused(
        b"query\tdoc\na\td1\nb\td9\n",
        &["c.tsv:3", "unknown document \"d9\"", "--lenient"],
    );
    let place = Place::with(&[
        ("c.tsv", CLICKS),
        ("d.tsv", DOCUMENTS),
        ("j.tsv", "query\tdoc\tgrade\na\td1\t1\nb\td9\t2\nb\td2\t-1\nc\td3\t1\n"),
    ]);
    let line = "import --clicks c.tsv --documents d.tsv --judgments j.tsv -o out/data";
    place.run(line).refused(1, &["j.tsv:3", "unknown document \"d9\"", "add it to the documents"]);
    assert_nothing_stays(&place);
    let said = place.run(&format!("{line} --lenient")).fine();
    assert!(said.out.contains("dropped 1 row of j.tsv: unknown document"), "{}", said.out);
    assert!(said.out.contains("j.tsv:4: expected a grade of 0 or more, found -1"), "{}", said.out);
    assert_eq!(place.dataset("out/data").about().counts.test, (1, 1));
    let line = "import --clicks c.tsv --judgments j.tsv -o other";
    place.run(line).refused(1, &["j.tsv:3", "unknown document", "--documents"]);
}

#[test]
fn lenient_counts_and_quotes_what_it_skips() {
    let clicks = b"query\tdoc\tclicks\na\td1\t9\nb\td2\t9\nc\td3\t9\nd\td1\t9\n\
        bad\nx\td1\tmany\nx\td1\tmore\ncaf\xe9\td1\t3\nx\td9\t1\nx\td1\t-1\nx\td1\t0\n";
    let (place, said) = import(("c.tsv", clicks), ("d.tsv", DOCUMENTS.as_bytes()), "--lenient");
    let out = said.fine().out;
    for line in [
        "dropped 1 row of c.tsv: wrong number of fields\n  c.tsv:6: ",
        "dropped 2 rows of c.tsv: bad number\n  c.tsv:7: ",
        "dropped 1 row of c.tsv: invalid UTF-8\n  c.tsv:9: ",
        "dropped 1 row of c.tsv: unknown document\n  c.tsv:10: ",
        "dropped 1 row of c.tsv: negative clicks\n  c.tsv:11: ",
        "dropped 1 row of c.tsv: no clicks\n",
    ] {
        assert!(out.contains(line), "no {line:?} in\n{out}");
    }
    assert_eq!(place.dataset("out/data").queries.len(), 4);
}

#[test]
fn wrong_usage_ends_with_two() {
    let place = Place::with(&[("c.txt", CLICKS), ("c.tsv", CLICKS)]);
    place.run("import -o out").refused(2, &["required"]);
    place.run("import --clicks c.tsv").refused(2, &["--output"]);
    place.run("import --clicks c.tsv --split thirds -o out").refused(2, &["possible values"]);
    place.run("import --clicks c.tsv --columns query -o out").refused(2, &["OURS=THEIRS"]);
    place.run("import --clicks c.tsv --columns links:doc=1 -o out").refused(2, &["no --links"]);
    place.run("import c.tsv -o out").refused(2, &["--clicks"]);
    place.run("import orcas c -o out").refused(2, &["orcas: expected beir"]);
    place.run("import --clicks c.txt -o out").refused(1, &["c.txt", "--input-format"]);
    place
        .run("import --clicks none.tsv -o out")
        .refused(1, &["none.tsv: cannot read", "check the path"]);
    place.run("import . -o out").refused(1, &["not a BEIR folder", "queries.jsonl"]);
    place
        .run("import --clicks c.tsv --columns url=1 -o out")
        .refused(2, &["--columns url=1", "query, doc"]);
    place.run("import --clicks c.tsv --test 2 -o out").refused(2, &["--test 2", "between 0 and 1"]);
    assert_eq!(place.names(), ["c.tsv", "c.txt"]);
}

#[test]
fn an_unwritable_or_existing_output_folder() {
    let place = Place::with(&[("c.tsv", CLICKS), ("d.tsv", DOCUMENTS), ("file", "")]);
    let line = "import --clicks c.tsv --documents d.tsv --min-clicks 1 -o";
    place.run(&format!("{line} file/data")).refused(1, &["file", "cannot create"]);
    place.run(&format!("{line} data")).fine();
    let before = place.dataset("data").folder.identity();
    place.run(&format!("{line} data --seed 4")).refused(1, &["data: already exists", "--force"]);
    assert_eq!(place.dataset("data").folder.identity(), before);
    place.run(&format!("{line} data --seed 4 --force")).fine();
    place.file("mine/letter.txt", "dear");
    place.run(&format!("{line} mine --force")).refused(1, &["not a folder written by liken"]);
    assert_eq!(place.names(), ["c.tsv", "d.tsv", "data", "file", "mine"]);
}

#[test]
fn a_disk_that_fills_up() {
    let documents = |n: usize| -> String {
        (0..n).map(|i| format!("d{i}\tdocument number {i} has a title\n")).collect()
    };
    let clicks: String =
        (0..30_000).map(|i| format!("query {}\td{}\t5\n", i / 300, i % 300)).collect();
    let place = Place::new();
    place.file("c.tsv", format!("query\tdoc\tclicks\n{clicks}"));
    place.file("many.tsv", format!("id\ttitle\n{}", documents(20_000)));
    place.file("few.tsv", format!("id\ttitle\n{}", documents(300)));
    // 64 KiB are too little for the texts of many documents, and enough for those of a few,
    // but then the matrices do not fit.
    for (file, documents) in [("documents.jsonl", "many.tsv"), ("matrices.safetensors", "few.tsv")]
    {
        let line = format!("liken import --clicks c.tsv --documents {documents} -o out/data");
        let said = place.bash(&format!("ulimit -f 64; {line}"));
        said.refused(
            1,
            &[file, "cannot write", "the disk or the quota is full; nothing was written"],
        );
        assert_nothing_stays(&place);
        place.bash(&format!("{line} --force")).fine();
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::with(&[("c.tsv", CLICKS), ("d.tsv", DOCUMENTS)]);
    let line = "import --clicks c.tsv --documents d.tsv -o data";
    let said = place.bash(&format!("liken {line} | head -1; exit ${{PIPESTATUS[0]}}")).fine();
    assert_eq!((said.out.lines().count(), said.err.as_str()), (1, ""));
    let said = place.bash(&format!("liken {line} --force | true; exit ${{PIPESTATUS[0]}}")).fine();
    assert_eq!(said.err, "");
    assert_eq!(place.dataset("data").documents.len(), 3);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_waiting_for_a_slow_pipe_leaves_nothing() {
    let place = Place::with(&[("d.tsv", DOCUMENTS)]);
    let mut command =
        place.command("import --clicks - --input-format tsv --documents d.tsv -o out/data");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(CLICKS.as_bytes()).unwrap();
    // The temporary folder appears before anything is read; wait for it, then interrupt.
    let begun =
        || std::fs::read_dir(place.path("out")).is_ok_and(|mut names| names.next().is_some());
    crate::place::wait_until("work has begun", begun);
    let interrupt = Command::new("kill").arg("-INT").arg(child.id().to_string()).status().unwrap();
    assert!(interrupt.success());
    // The pipe stays open and silent: the program must not wait for it.
    let said = Said::of(child.wait_with_output().unwrap());
    drop(stdin);
    said.refused(130, &["stopped; nothing was written"]);
    assert_nothing_stays(&place);
}
