//! TREC runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use crate::place::Place;
use crate::shared::{at, shared};

const QUERIES: &str = "q2\theart attack\nq1\tcheap flights\n";

fn line(queries: &str, output: &str) -> String {
    format!("run {} --queries {queries} -k 5 -o {output}", at("mix"))
}

#[test]
fn a_run_has_six_columns_ranks_from_one_and_falling_scores() {
    let place = Place::with(&[("q.tsv", QUERIES)]);
    let said = place.run(&line("q.tsv", "out/run.trec")).silent();
    assert_eq!(said.out, "");
    let text = fs::read_to_string(place.path("out/run.trec")).unwrap();
    let mut last: BTreeMap<&str, (u32, f32)> = BTreeMap::new();
    for row in text.lines() {
        let [query, q0, doc, rank, score, tag] = row.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        assert_eq!((q0, tag), ("Q0", "rmls+bm25"));
        assert!(doc.starts_with('d'));
        let (rank, score): (u32, f32) = (rank.parse().unwrap(), score.parse().unwrap());
        let before = last.insert(query, (rank, score)).unwrap_or((0, f32::INFINITY));
        assert!(rank == before.0 + 1 && score <= before.1, "{row}");
    }
    assert_eq!(
        last.into_iter().map(|(q, (n, _))| (q, n)).collect::<Vec<_>>(),
        [("q1", 5), ("q2", 5)]
    );
    assert!(text.starts_with("q2 "), "in the order of the file");
    // What search shows, run writes.
    let json = shared().ask("search mix -k 5 --format json", &["heart attack"]).json();
    for (hit, row) in json["hits"].as_array().unwrap().iter().zip(text.lines()) {
        assert_eq!(hit["id"].as_str().unwrap(), row.split(' ').nth(2).unwrap());
        let score: f32 = row.split(' ').nth(4).unwrap().parse().unwrap();
        assert_eq!(hit["score"].as_f64().unwrap() as f32, score);
    }
    place.run("info out/run.trec").shows(&["queries     2", "lines       10"]);
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1);
}

#[test]
fn queries_come_with_or_without_ids_packed_or_from_stdin() {
    let plain = "heart attack\n\n  \r\ncheap flights";
    let place = Place::with(&[
        ("q.tsv", QUERIES),
        ("plain.txt", plain),
        ("crlf.tsv", &QUERIES.replace('\n', "\r\n")),
    ]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(QUERIES.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    place.file("q.tsv.gz", &gz);
    place.file("q.tsv.zst", zstd::encode_all(QUERIES.as_bytes(), 1).unwrap());
    let expected = place.run(&line("q.tsv", "-")).silent().out;
    assert_eq!(expected.lines().count(), 10);
    for file in ["q.tsv.gz", "q.tsv.zst", "crlf.tsv"] {
        assert_eq!(place.run(&line(file, "-")).silent().out, expected, "{file}");
    }
    assert_eq!(place.pipe(&line("-", "-"), QUERIES.as_bytes()).silent().out, expected);
    assert_eq!(place.pipe(&line("-", "-"), &gz).silent().out, expected);
    // Without an id, a query's id is the number of its line.
    let numbered = place.run(&line("plain.txt", "-")).silent().out;
    let renamed: Vec<String> =
        expected.lines().map(|row| row.replacen("q2", "1", 1).replacen("q1", "4", 1)).collect();
    assert_eq!(numbered.lines().collect::<Vec<_>>(), renamed);
    for threads in [1, 7] {
        let said = place.run(&format!("{} --threads {threads}", line("q.tsv", "-")));
        assert_eq!(said.silent().out, expected);
    }
    let tagged = place.run(&format!("{} --tag mine", line("q.tsv", "-"))).silent().out;
    assert_eq!(tagged, expected.replace("rmls+bm25", "mine"));
}

#[test]
fn queries_that_analyse_to_nothing_are_counted() {
    let place = Place::with(&[("q.tsv", "a\tthe\nb\theart\nc\tzyxwv\n"), ("none.tsv", "a\tthe\n")]);
    let said = place.run(&line("q.tsv", "-")).fine();
    assert_eq!(
        said.err,
        "warning: analysed to nothing, so without results: 2 of 3 queries: \"the\", \"zyxwv\"\n"
    );
    assert!(said.out.lines().all(|row| row.starts_with("b ")) && said.out.lines().count() == 5);
    let said = place.run(&line("none.tsv", "-")).fine();
    assert!(said.out.is_empty() && said.err.contains("1 of 1 query:"));
}

#[test]
fn bad_queries_are_refused_with_their_line() {
    let place = Place::new();
    for (bytes, words) in [
        (&b""[..], &["q.tsv: no queries", "id<TAB>text"][..]),
        (b"\n \n", &["q.tsv: no queries"]),
        (b"q1\theart\nq 2\tattack\n", &["q.tsv:2: ", "without white space", "\"q 2\""]),
        (b"\theart\n", &["q.tsv:1: ", "an id before the tab", "nothing"]),
        (b"#1\theart\n", &["q.tsv:1: ", "comment", "#1"]),
        (b"q1\theart\nq2\tx\nq1\tattack\n", &["q.tsv:3: ", "a unique id", "line 1"]),
        (b"q1\theart\nq2\tcaf\xe9\n", &["q.tsv:2: ", "UTF-8", "iconv"]),
    ] {
        place.file("q.tsv", bytes);
        place.run(&line("q.tsv", "run.trec")).refused(1, words);
        assert_eq!(place.names(), ["q.tsv"]);
    }
    place.file("cut.tsv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K");
    place.run(&line("cut.tsv.gz", "-")).refused(1, &["cut.tsv.gz", "truncated"]);
    place.run(&line("none.tsv", "-")).refused(1, &["none.tsv: cannot read", "check the path"]);
    place.run(&line(".", "-")).refused(1, &[".: is a folder"]);
    place.file("q.tsv", QUERIES);
    let said = place.ask(&format!("{} --tag", line("q.tsv", "-")), &["a b"]);
    said.refused(2, &["--tag \"a b\"", "without white space"]);
    place.run(&format!("run {} -o -", at("mix"))).refused(2, &["--queries"]);
    place.run(&format!("run {} --queries q.tsv", at("mix"))).refused(2, &["--output"]);
}

#[test]
fn an_existing_run_is_refused_without_force() {
    let place = Place::with(&[("q.tsv", QUERIES), ("run.trec", "mine"), ("folder/x", "")]);
    place.run(&line("q.tsv", "run.trec")).refused(1, &["run.trec: already exists", "--force"]);
    assert_eq!(fs::read_to_string(place.path("run.trec")).unwrap(), "mine");
    place.run(&format!("{} --force", line("q.tsv", "run.trec"))).silent();
    assert_eq!(fs::read_to_string(place.path("run.trec")).unwrap().lines().count(), 10);
    for force in ["", "--force"] {
        let said = place.run(&format!("{} {force}", line("q.tsv", "folder")));
        said.refused(1, &["folder: is a folder"]);
    }
    place.run(&line("q.tsv", "q.tsv/run.trec")).refused(1, &["q.tsv: cannot create"]);
    assert_eq!(place.names(), ["folder", "q.tsv", "run.trec"]);
}

#[test]
fn a_full_disk_leaves_no_run() {
    let place = Place::with(&[("q.tsv", QUERIES)]);
    let line = format!("liken run {} --queries q.tsv -k 600 -o run.trec", at("mix"));
    place.bash(&format!("ulimit -f 16; {line}")).refused(1, &["run.trec"]);
    assert_eq!(place.names(), ["q.tsv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_while_waiting_for_queries_ends_at_once() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    let mut command = place.command(&line("-", "run.trec"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let id = child.id().to_string();
    // The program handles interrupts (signal 2) before it reads anything.
    let handles = || {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        u64::from_str_radix(caught, 16).unwrap() & 0b10 != 0
    };
    crate::place::wait_until("it handles interrupts", handles);
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let said = crate::place::Said::of(child.wait_with_output().unwrap());
    drop(stdin);
    said.refused(130, &["stopped; nothing was written"]);
    assert!(place.names().is_empty());
}
