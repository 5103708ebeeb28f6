//! Runs against judgments.

use std::fs;
use std::io::Write;

use crate::place::Place;
use crate::real::data_with;

const QRELS: &str = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq1 0 d 1\nq2 0 a 1\nq2 0 b 0\nq3 0 c 1\n";
const RUN: &str = "# comment\nq1 Q0 a 1 5 one\nq1 Q0 x 2 4 one\nq1 Q0 c 3 3 one\n\
                   q2 Q0 b 1 2 one\nq2 Q0 a 2 1 one\nq3 Q0 c 1 1 one\n";
const OTHER: &str = "q1 Q0 c 1 5 two\nq1 Q0 a 2 4 two\nq1 Q0 d 3 3 two\n\
                     q2 Q0 a 1 2 two\nq2 Q0 b 2 1 two\nq3 Q0 x 1 3 two\nq3 Q0 c 2 1 two\n";

fn place() -> Place {
    Place::with(&[("qrels", QRELS), ("one.run", RUN), ("two.run", OTHER)])
}

#[test]
fn one_run_is_printed_as_trec_eval_prints_it() {
    let place = place();
    let said = place.run("eval -m map -m P.1 -m num_rel_ret qrels one.run").silent();
    // map: (5/9 + 1/2 + 1) / 3
    assert_eq!(
        said.out,
        "num_rel_ret           \tall\t4\nmap                   \tall\t0.6852\n\
         P_1                   \tall\t0.6667\n"
    );
    let said = place.run("eval -q -m recip_rank -mrelstring.2 qrels one.run").silent();
    assert_eq!(
        said.out,
        "recip_rank            \tq1\t1.0000\nrelstring_2           \tq1\t'2-'\n\
         recip_rank            \tq2\t0.5000\nrelstring_2           \tq2\t'01'\n\
         recip_rank            \tq3\t1.0000\nrelstring_2           \tq3\t'1'\n\
         recip_rank            \tall\t0.8333\n"
    );
    let said = place.run("eval -q -n -m nDCG@1 -m AP(rel=2) qrels one.run").silent();
    assert!(said.out.starts_with("nDCG@1                \tq1\t1.0000\nAP(rel=2)"));
    assert!(!said.out.contains("\tall\t"));
    assert_eq!(place.run("eval qrels one.run").silent().out.lines().count(), 30);
}

#[test]
fn trec_evals_own_tests_print_the_same_bytes() {
    let Some(data) = data_with("trec_eval") else { return };
    let folder = data.join("trec_eval");
    let place = Place::new();
    for (line, qrels, run, expected) in [
        ("eval", "qrels.test", "results.test", "out.test"),
        ("eval -m all_trec", "qrels.test", "results.test", "out.test.a"),
        ("eval -m all_trec -q", "qrels.test", "results.test", "out.test.aq"),
        ("eval -m all_trec -q -c", "qrels.test", "results.trunc", "out.test.aqc"),
        ("eval -m all_trec -q -c -M100", "qrels.test", "results.trunc", "out.test.aqcM"),
        (
            "eval -m all_trec -mrelstring.20 -q -l2",
            "qrels.rel_level",
            "results.test",
            "out.test.aql",
        ),
        (
            "eval -q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 \
             -m Rprec_mult.5.0,0.2,0.35 -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 \
             -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20",
            "qrels.test",
            "results.test",
            "out.test.meas_params",
        ),
    ] {
        let files = [qrels, run].map(|file| folder.join(file).display().to_string());
        let said = place.ask(line, &[&files[0], &files[1]]).fine();
        assert_eq!(said.out, fs::read_to_string(folder.join(expected)).unwrap(), "{expected}");
    }
}

#[test]
fn q_is_per_query_after_the_verb_and_quiet_before_it() {
    let place = place();
    let plain = place.run("eval -m map qrels one.run").silent().out;
    for line in ["-q eval -m map qrels one.run", "--quiet eval -m map qrels one.run"] {
        assert_eq!(place.run(line).silent().out, plain, "{line}");
    }
    assert_eq!(place.run("eval --quiet -m map qrels one.run").silent().out, plain);
    assert_eq!(place.run("eval -q -m map qrels one.run").silent().out.lines().count(), 4);
    assert_eq!(place.run("eval --per-query -m map qrels one.run").silent().out.lines().count(), 4);
}

#[test]
fn files_may_be_packed_or_come_from_stdin() {
    let place = place();
    let expected = place.run("eval qrels one.run").silent().out;
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(RUN.as_bytes()).unwrap();
    place.file("one.run.gz", gz.finish().unwrap());
    place.file("qrels.zst", zstd::encode_all(QRELS.as_bytes(), 1).unwrap());
    assert_eq!(place.run("eval qrels.zst one.run.gz").silent().out, expected);
    assert_eq!(place.pipe("eval qrels -", RUN.as_bytes()).silent().out, expected);
    assert_eq!(place.pipe("eval - one.run", QRELS.as_bytes()).silent().out, expected);
    place.run("eval - -").refused(2, &["only once"]);
    place.file("cut.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K");
    place.run("eval qrels cut.gz").refused(1, &["cut.gz", "truncated"]);
}

#[test]
fn several_runs_make_a_table_with_tests() {
    let place = place();
    let said = place.run("eval qrels one.run two.run").silent().shows(&[
        "3 of 3 judged queries",
        "gain g unless named otherwise, discount 1/log2(i+1), ideal from the judgments",
        "relevant: grade >= 1; ties: larger id first",
        "judged of the first 10: one.run 89 %, two.run 83 %",
        "Holm-corrected",
        "difference to one.run and p-values",
        "Cohen's d",
        "t (B-H)",
        "randomisation",
        "bootstrap",
    ]);
    let heading = said.out.lines().find(|line| line.starts_with("run ")).unwrap();
    let columns: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(columns, ["run", "nDCG@10", "AP", "P@10", "RR", "R@100"]);
    let said = place.run("eval qrels one.run two.run -m RR --baseline two").silent();
    assert!(said.out.contains("difference to two.run"), "{}", said.out);
    assert!(said.out.contains("+0.0000") && said.out.contains("1/1/1"), "{}", said.out);
    for threads in [1, 3] {
        let line = format!("eval qrels one.run two.run -m RR --baseline two --threads {threads}");
        assert_eq!(place.run(&line).silent().out, said.out);
    }
    place.run("eval qrels one.run two.run --format latex").silent().shows(&["\\begin{tabular}"]);
    place.run("eval qrels one.run two.run --format markdown").silent().shows(&["| run "]);
    let both = place.run("eval qrels one.run two.run --format trec -m runid -m map").silent().out;
    assert!(both.contains("\tall\tone\n") && both.contains("\tall\ttwo\n"), "{both}");
}

#[test]
fn queries_are_shown_by_difference() {
    let place = place();
    let said = place.run("eval -q qrels one.run two.run -m RR").silent();
    let at = said.out.find("two.run against one.run, RR: all queries").unwrap();
    let rows: Vec<&str> = said.out[at..].lines().skip(2).collect();
    let first: Vec<&str> = rows.iter().map(|row| row.split_whitespace().next().unwrap()).collect();
    assert_eq!(first, ["q2", "q1", "q3"]);
    assert!(rows[0].ends_with("+0.5000") && rows[2].ends_with("-0.5000"), "{rows:?}");
    let said = place.run("eval --top 1 qrels one.run two.run -m RR").silent();
    assert!(said.out.contains("largest gains and losses, at most 1 of each"), "{}", said.out);
    assert!(!said.out.contains("\nq1 "), "{}", said.out);
    let said = place.run("eval -q qrels one.run --format table -m RR,P@1").silent();
    assert!(said.out.contains("\nquery") && said.out.contains("\nq3"), "{}", said.out);
}

#[test]
fn json_holds_everything() {
    let place = place();
    let json = place.run("eval qrels one.run two.run -m official --format json").silent().json();
    assert_eq!(json["measures"][0], "map");
    assert_eq!(json["rows"][0]["summary"]["num_q"], 3);
    assert_eq!(json["rows"][1]["summary"]["runid"], "two");
    assert!(json["rows"][1]["cells"][0]["against"]["t_bh"].is_number());
    assert!(json["rows"][0]["values"].is_null());
    assert_eq!(json["rows"][0]["doubts"]["missing"], 0);
    let json = place.run("eval -q qrels one.run -m RR --format json").silent().json();
    assert_eq!(json["rows"][0]["values"][0], serde_json::json!([1.0, 0.5, 1.0]));
    assert_eq!(json["queries"], serde_json::json!(["q1", "q2", "q3"]));
}

#[test]
fn what_should_make_one_doubt_is_said() {
    let place = place();
    place.file("part.run", "q1 0 a 1 1 p\nq1 0 c 2 1 p\nq9 0 a 1 1 p\nq8 0 x 1 1 p\n");
    let said = place.run("eval qrels part.run -m map").fine();
    assert_eq!(said.out, "map                   \tall\t0.5556\n".replace("0.5556", "0.6667"));
    for part in [
        "part.run: no results for 2 of 3 judged queries; they do not count; -c counts them as 0",
        "part.run: 2 queries have no judgments and do not count",
        "part.run: 50 % of the results have the same score",
    ] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    let said = place.run("eval -c qrels part.run -m map").fine();
    assert!(said.out.contains("0.2222") && said.err.contains("they count as 0"), "{}", said.err);
    let said = place.run("eval qrels one.run part.run -m map").fine();
    assert!(said.err.contains("the table is about 1 of 3 judged queries"), "{}", said.err);
    assert!(said.out.contains("1 of 3 judged queries: the judged queries with results in every"));
    place.run("eval -c qrels one.run part.run -m map").shows(&["3 of 3 judged queries: all"]);
    place.file("far.run", "q1 0 x 1 2 p\nq1 0 y 1 1 p\n");
    let said = place.run("eval qrels far.run -m map").fine();
    assert!(said.err.contains("only 0 % of the first 10 results are judged"), "{}", said.err);
    place.file("alien.run", "z 0 x 1 2 p\n");
    place.run("eval qrels alien.run").refused(1, &["no query has both judgments and results"]);
}

#[test]
fn bad_lines_are_refused_or_counted() {
    let place = place();
    for (run, words) in [
        ("q1 Q0 a 1 5\n", &["bad.run:1: ", "six fields", "--lenient"][..]),
        ("q1 Q0 a 1 5 t\nq1 Q0 b 1 x t\n", &["bad.run:2: ", "a finite number", "\"x\""]),
        ("q1 Q0 a 1 5 t\nq1 Q0 b 1 nan t\n", &["bad.run:2: ", "a finite number"]),
        ("q1 Q0 a 1 5 t\nq1 Q0 a 2 4 t\n", &["bad.run:2: ", "each document once", "line 1"]),
        ("", &["bad.run: no results"]),
    ] {
        place.file("bad.run", run);
        place.run("eval qrels bad.run").refused(1, words);
    }
    place.file("bad.qrels", "q1 0 a 1\nq1 0 a 2\n");
    place.run("eval bad.qrels one.run").refused(1, &["bad.qrels:2: ", "each document once"]);
    place.file("bad.run", format!("{RUN}q1 Q0 a 9 9 t\nhm\n"));
    let said = place.run("eval --lenient qrels bad.run -m map").fine();
    assert!(said.out.contains("0.6852"));
    assert!(said.err.contains("bad.run: 1 line skipped: fewer than six fields"), "{}", said.err);
    assert!(said.err.contains("bad.run:8: "), "{}", said.err);
    place.run("eval none one.run").refused(1, &["none: cannot read", "check the path"]);
    place.run("eval qrels .").refused(1, &[".: is a folder", "name the file"]);
    let said = place.run("eval qrels .");
    assert!(!said.err.contains("import"), "{}", said.err);
    place.file("latin.run", [RUN.as_bytes(), b"q1 Q0 \xe9 9 9 t\n"].concat());
    place.run("eval qrels latin.run").refused(1, &["latin.run:8", "UTF-8"]);
    let said = place.run("eval --lenient qrels latin.run -m map").fine();
    assert!(said.out.contains("0.6852"));
    assert!(said.err.contains("latin.run: 1 line skipped: not UTF-8, for"), "{}", said.err);
    assert!(said.err.contains("latin.run:8: expected text in UTF-8"), "{}", said.err);
}

#[test]
fn the_same_run_twice_is_told_apart_by_position() {
    let place = place();
    let said = place.run("eval -q qrels one.run one.run -m RR").silent();
    assert!(said.out.contains("one.run#2 against one.run, RR: all queries"), "{}", said.out);
    assert!(said.out.contains("difference to one.run and p-values"), "{}", said.out);
    assert_eq!(said.out.matches("+0.0000").count(), 4, "{}", said.out);
    let json = place.run("eval qrels one.run one.run -m RR --format json").silent().json();
    assert_eq!((&json["baseline_row"], &json["rows"][1]["name"]), (&0.into(), &"one.run#2".into()));
}

#[test]
fn a_gain_is_above_zero_and_a_loss_below() {
    let place = place();
    let judged: String = (1..=5).map(|q| format!("q{q} 0 a 1\n")).collect();
    let run = |ranks: [u32; 5]| -> String {
        let line = |(q, rank): (usize, u32)| {
            format!("q{q} 0 a 0 {} t\nq{q} 0 b 0 2 t\n", if rank == 1 { 3 } else { 1 })
        };
        (1..).zip(ranks).map(line).collect()
    };
    place.file("five", judged);
    place.file("base.run", run([1, 1, 1, 2, 2]));
    place.file("mine.run", run([2, 2, 1, 2, 2]));
    let said = place.run("eval --top 2 five base.run mine.run -m RR").fine();
    let table = &said.out[said.out.find("mine.run against").unwrap()..];
    assert_eq!(table.matches("-0.5000").count(), 2, "{table}");
    assert_eq!(table.lines().count(), 4, "{table}");
}

#[test]
fn grades_in_the_thousands_make_no_nan() {
    let place = place();
    place.file("clicks", "q1 0 a 3000\nq1 0 c 2000\nq2 0 a 1500\nq3 0 c 1\n");
    let line = "eval clicks one.run two.run -m nDCG(dcg='exp-log2')@10";
    let said = place.run(line).fine();
    assert!(!said.out.to_lowercase().contains("nan"), "{}", said.out);
    place.run("eval clicks one.run -m DCG(dcg='exp-log2')").refused(2, &["finite", "q1"]);
}

#[test]
fn wrong_measures_and_flags_end_with_two() {
    let place = place();
    for (line, words) in [
        ("-m shout", &["no measure is called \"shout\"", "nDCG@10", "all_trec"][..]),
        ("-m P.0", &["whole numbers from 1 on"]),
        ("-m nDCG@x", &["a whole number from 1 on"]),
        ("-m set_F.1,2", &["1 number", "set_F.0.5"]),
        ("-m set_F.-1", &["from 0 on", "set_F.0.5"]),
        ("-m rbp.p=2", &["p above 0 and below 1"]),
        ("-m ndcg.p=0.5", &["pairs of a grade and its gain"]),
        ("--baseline three.run", &["--baseline three.run", "one.run"]),
        ("-l-1", &["--level", "-1"]),
        ("--format csv", &["csv"]),
    ] {
        place.run(&format!("eval qrels one.run {line}")).refused(2, words);
    }
    place.run("eval qrels").refused(2, &["RUN"]);
    place.run("eval qrels one.run --format table -m num_q").refused(1, &["a mean over queries"]);
}

#[test]
fn presets_measure_our_own_way_and_leave_trec_evals_names_alone() {
    let place = Place::with(&[
        ("q", "1 0 a 2\n1 0 b 1\n1 0 c 0\n1 0 d 2\n2 0 a 0\n"),
        ("r", "1 Q0 b 1 3 t\n1 Q0 a 2 2 t\n1 Q0 c 3 2 t\n2 Q0 a 1 1 t\n"),
    ]);
    let values = |flags: &str| {
        let said = place.run(&format!("eval q r --format trec {flags}"));
        assert_eq!(said.code, Some(0), "{}", said.err);
        let value = |line: &str| line.split('\t').next_back().unwrap().trim().to_owned();
        said.out.lines().map(value).collect::<Vec<_>>()
    };
    // Ties go to the larger id: b, c, a. DCG@3 of the first query is 1 + 3/2 in LETOR's way, with
    // c at the second place: 1 + 0 + 3/log2(3); its ideal among the candidates 3 + 1.
    let letor = (1.0 + 3.0 / 3f64.log2()) / 4.0 / 2.0;
    assert_eq!(values("--preset letor -m nDCG@3"), [format!("{letor:.4}")]);
    // LightGBM: 1/log2(i+1), and a query without anything relevant counts 1.
    let lightgbm = ((1.0 + 3.0 / 2.0) / (3.0 + 1.0 / 3f64.log2()) + 1.0) / 2.0;
    assert_eq!(values("--preset lightgbm -m nDCG@3"), [format!("{lightgbm:.4}")]);
    // trec_eval's own name stays linear, with the ideal of all judgments.
    let trec = (1.0 + 2.0 / 2.0) / (2.0 + 2.0 / 3f64.log2() + 1.0 / 2.0) / 2.0;
    assert_eq!(values("--preset letor -m ndcg_cut.3"), [format!("{trec:.4}")]);
    // Pairs of unlike grade: a>b wrong, a>c tied, b>c right, d (not found) below all: 2 wrong
    // against b and c, tied with nothing. The second query has no such pair and is left out.
    let loss = (1.0 + 0.5 + 2.0) / 5.0;
    assert_eq!(values("-m RankLoss"), [format!("{loss:.4}")]);
    let said = place.run("eval q r --preset letor");
    assert!(said.out.contains("discount 1 at ranks 1 and 2"), "{}", said.out);
    assert!(said.out.contains("ties: larger id first"), "{}", said.out);
}
