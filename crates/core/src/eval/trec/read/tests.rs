use std::io::Write;

use proptest::prelude::*;

use super::*;

fn on_disk<T>(bytes: &[u8], read: impl Fn(&Path) -> T) -> T {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    read(file.path())
}

fn run_of(text: &str) -> Result<TrecRun> {
    on_disk(text.as_bytes(), |path| Ok(read_run(path, false, Run::silent())?.0))
}

fn ranked(run: &TrecRun) -> Vec<(&str, Vec<&str>)> {
    run.queries().map(|query| (query.id, query.hits().map(|hit| hit.doc).collect())).collect()
}

#[test]
fn a_run_is_ranked_by_score_and_id_whatever_its_ranks_say() {
    let run = run_of(
        "# a comment\n\
         q2\tQ0  x 1 2.0 old\r\n\
         \n\
         q1 Q0 a 1 1e0 t more fields\n\
         q1 Q0 c 2 1.00 t\n\
         q2 Q0 y 2 -inf2 t\n"
            .replace("-inf2", "-2.5")
            .as_str(),
    )
    .unwrap();
    assert_eq!(ranked(&run), [("q1", vec!["c", "a"]), ("q2", vec!["x", "y"])]);
    assert_eq!((run.tag.as_str(), run.find("q2"), run.find("q3")), ("t", Some(1), None));
    assert_eq!(run.query(1).hits().map(|hit| hit.score).collect::<Vec<_>>(), [2.0, -2.5]);
}

#[test]
fn scores_are_compared_in_double_precision() {
    // In single precision both are the same, and b would be first.
    let run = run_of("q Q0 b 1 0.123456789011 t\nq Q0 a 2 0.123456789012 t\n").unwrap();
    assert_eq!(ranked(&run), [("q", vec!["a", "b"])]);
    assert_eq!(run.share_of_ties(), 0.0);
}

#[test]
fn queries_may_be_mixed_up() {
    let run = run_of("b 0 x 0 1 t\na 0 x 0 1 t\nb 0 y 0 2 t\n10 0 z 0 1 t\n").unwrap();
    assert_eq!(ranked(&run), [("10", vec!["z"]), ("a", vec!["x"]), ("b", vec!["y", "x"])]);
}

#[test]
fn judgments_are_sorted_by_id() {
    let text = "2 0 d10 1\n1 0 b 0\n#1 0 c 3\n2 0 d9 -1\n2 0 d1 2 \n";
    let qrels = on_disk(text.as_bytes(), |path| read_qrels(path, false, Run::silent()));
    let (qrels, dropped) = qrels.unwrap();
    assert!(dropped.is_empty());
    let of = |place: usize| qrels.query(place).grades().collect::<Vec<_>>();
    assert_eq!((qrels.len(), of(0)), (2, vec![("b", 0)]));
    assert_eq!(of(1), [("d1", 2), ("d10", 1), ("d9", -1)]);
}

#[test]
fn bad_lines_are_refused_where_they_stand() {
    let run = |text: &str| run_of(text).unwrap_err().to_string();
    let good = "q Q0 a 1 1 t\n";
    for (line, words) in [
        ("q Q0 b 2 3", &["six fields", "found \"q Q0 b 2 3\""][..]),
        ("q Q0 b 2 high t", &["a finite number", "\"high\""]),
        ("q Q0 b 2 NaN t", &["a finite number", "\"NaN\""]),
        ("q Q0 b 2 1e999 t", &["a finite number", "\"1e999\""]),
        ("q Q0 a 2 3 t", &["each document once", "\"a\" again for query \"q\", as in line 1"]),
    ] {
        let message = run(&format!("{good}# x\n\n{line}\n"));
        assert!(message.contains(":4: "), "{message}");
        assert!(message.contains("`lenient`"), "{message}");
        for word in words {
            assert!(message.contains(word), "{message}");
        }
    }
    let qrels = |text: &str| {
        let read = |path: &Path| read_qrels(path, false, Run::silent());
        on_disk(text.as_bytes(), read).unwrap_err().to_string()
    };
    assert!(qrels("q 0 a 1\nq 0 a 1\n").contains("each document once"));
    assert!(qrels("q 0 a\n").contains("four fields"));
    assert!(qrels("q 0 a 1 2\n").contains("four fields"));
    assert!(qrels("q 0 a 1.5\n").contains("a whole number as the grade, found \"1.5\""));
    assert!(qrels("# nothing\n").contains("no judgments"));
    assert!(run("").contains("no results"));
    let latin = on_disk(b"q 0 a 1\nq 0 \xe9 1\n", |path| {
        read_qrels(path, false, Run::silent()).unwrap_err().to_string()
    });
    assert!(latin.contains(":2: expected text in UTF-8"), "{latin}");
}

#[test]
fn a_lenient_reading_counts_what_it_leaves_out() {
    let text = "q 0 a 0 1 t\nq 0 a 0 9 t\nbad\nworse\nq 0 b 0 x t\nq 0 c 0 5 t\nq 0 a 0 3 t\n";
    let read = |path: &Path| read_run(path, true, Run::silent()).unwrap();
    let (run, dropped) = on_disk(text.as_bytes(), read);
    assert_eq!(ranked(&run), [("q", vec!["c", "a"])]);
    let counts: Vec<(&str, u64)> = dropped.iter().map(|d| (&*d.why, d.count)).collect();
    assert_eq!(
        counts,
        [
            ("fewer than six fields", 2),
            ("no score", 1),
            ("a document that the query names twice", 2)
        ]
    );
    assert!(dropped[2].samples[1].contains(":7: "), "{:?}", dropped[2].samples);
    let read = |path: &Path| read_run(path, true, Run::silent()).unwrap();
    let (run, dropped) = on_disk(b"q 0 \xe9 0 1 t\nq 0 a 0 9 t\nbad\xff", read);
    assert_eq!(ranked(&run), [("q", vec!["a"])]);
    assert_eq!((&*dropped[0].why, dropped[0].count), ("not UTF-8", 2));
    let sample = &dropped[0].samples[1];
    assert!(sample.ends_with(":3: expected text in UTF-8, found \"bad\u{fffd}\""), "{sample}");
    let read = |path: &Path| read_run(path, true, Run::silent()).unwrap_err().to_string();
    assert!(on_disk(b"bad\n", read).contains("no results"));
}

proptest! {
    #[test]
    fn a_run_read_is_the_run_sorted(
        lines in prop::collection::btree_map(
            ("q[0-3]", "(doc|doc00000000)?[a-c]{0,3}[0-9]{1,2}"), -3i32..3, 1..200),
        order in any::<u64>(),
    ) {
        let mut lines: Vec<_> = lines.into_iter().collect();
        crate::random::Random::new(order, 0).shuffle(&mut lines);
        let text: String =
            lines.iter().map(|((q, d), s)| format!("{q} Q0 {d} 1 {s}.5 t\n")).collect();
        let run = run_of(&text).unwrap();
        lines.sort_by(|((q, d), s), ((r, e), t)| q.cmp(r).then(t.cmp(s)).then(e.cmp(d)));
        let expected: Vec<(&str, &str)> =
            lines.iter().map(|((q, d), _)| (q.as_str(), d.as_str())).collect();
        let got: Vec<(&str, &str)> = run
            .queries()
            .flat_map(|query| query.hits().map(move |hit| (query.id, hit.doc)))
            .collect();
        prop_assert_eq!(got, expected);
        // Every third document of q1 is judged, and some that are not there.
        let judged: Vec<(&str, i32)> = (1..)
            .zip(lines.iter().filter(|((q, _), _)| q == "q1").step_by(3))
            .map(|(grade, ((_, d), _))| (d.as_str(), grade))
            .chain([("none", 7), ("", 8)])
            .collect();
        let qrels = Qrels::new(judged.iter().map(|&(doc, grade)| ("q1", doc, grade)));
        if let Some(place) = run.find("q1") {
            let query = run.query(place);
            let mut noted = Vec::new();
            query.judged(&qrels.query(0), |rank, grade| noted.push((rank, grade)));
            noted.sort_unstable();
            let grade = |doc: &str| judged.iter().find(|(other, _)| *other == doc);
            let expected: Vec<(usize, i32)> = query
                .hits()
                .enumerate()
                .filter_map(|(rank, hit)| Some((rank, grade(hit.doc)?.1)))
                .collect();
            prop_assert_eq!(noted, expected);
        }
        let made = TrecRun::new(
            "t", lines.iter().map(|((q, d), s)| (&**q, &**d, f64::from(*s) + 0.5)));
        prop_assert_eq!(ranked(&made), ranked(&run));
    }
}
