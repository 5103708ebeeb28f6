//! Several runs as one.

use std::fs;

use crate::place::Place;

const A: &str = "q1 Q0 a 1 9 first\nq1 Q0 b 2 7.5 first\nq1 Q0 c 3 7 first\nq1 Q0 d 4 1 first\n";
const B: &str = "q1 Q0 c 1 0.9 second\nq1 Q0 e 2 0.8 second\nq1 Q0 a 3 0.1 second\n";

fn place() -> Place {
    Place::with(&[("a.trec", A), ("b.trec", B)])
}

/// Documents and scores of what was printed.
fn ranked(out: &str) -> Vec<(String, f64)> {
    let mut rank = 0;
    out.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            rank += 1;
            assert_eq!((fields.len(), fields[3]), (6, rank.to_string().as_str()), "{line}");
            (fields[2].to_owned(), fields[4].parse().unwrap())
        })
        .collect()
}

#[track_caller]
fn assert_ranked(out: &str, expected: &[(&str, f64)]) {
    let found = ranked(out);
    assert_eq!(found.len(), expected.len(), "{out}");
    for ((doc, score), (expected_doc, expected)) in found.iter().zip(expected) {
        assert_eq!(doc, expected_doc, "{out}");
        assert!((score - expected).abs() < 1e-6, "{out}");
    }
}

#[test]
fn reciprocal_ranks_by_hand() {
    let place = place();
    let said = place.run("fuse a.trec b.trec -o -").silent();
    let (first, second) = (1.0 / 61.0, 1.0 / 62.0);
    assert_ranked(
        &said.out,
        &[
            ("c", 1.0 / 63.0 + first),
            ("a", first + 1.0 / 63.0),
            ("e", second),
            ("b", second),
            ("d", 1.0 / 64.0),
        ],
    );
    assert!(said.out.lines().all(|line| line.ends_with(" rrf")), "{}", said.out);
    assert_eq!(place.run("fuse b.trec a.trec -o -").silent().out, said.out);
    assert_eq!(place.run("fuse a.trec b.trec -o - --threads 1").silent().out, said.out);
    let said = place.run("fuse a.trec b.trec --rank-constant 0 -k 2 --tag mine -o -").silent();
    assert_ranked(&said.out, &[("c", 4.0 / 3.0), ("a", 4.0 / 3.0)]);
    assert!(said.out.ends_with(" mine\n"), "{}", said.out);
}

#[test]
fn sums_of_normalised_scores_by_hand() {
    let place = place();
    let of = |more: &str| place.run(&format!("fuse a.trec b.trec -o - {more}")).silent().out;
    // Min-max: a 1, b 0.8125, c 0.75, d 0 and c 1, e 0.875, a 0.
    let sum = [("c", 1.75), ("a", 1.0), ("e", 0.875), ("b", 0.8125), ("d", 0.0)];
    assert_ranked(&of("--method sum"), &sum);
    assert_ranked(&of("--method combsum --normalize min_max"), &sum);
    let weighted = [("c", 0.825), ("a", 0.7), ("b", 0.56875), ("e", 0.2625), ("d", 0.0)];
    assert_ranked(&of("--method weighted --weights 0.7,0.3"), &weighted);
    let mnz = [("c", 3.5), ("a", 2.0), ("e", 0.875), ("b", 0.8125), ("d", 0.0)];
    assert_ranked(&of("--method mnz"), &mnz);
    let plain = [("a", 9.1), ("c", 7.9), ("b", 7.5), ("d", 1.0), ("e", 0.8)];
    assert_ranked(&of("--method sum --normalise none"), &plain);
}

#[test]
fn what_runs_do_not_share_is_told() {
    let place = place();
    let more = format!("{B}q2 Q0 x 1 3 second\n");
    place.file("more.trec", &more);
    let said = place.run("fuse a.trec more.trec -o fused.trec").fine();
    assert_eq!(
        said.err,
        "warning: a.trec: has results for 1 of 2 queries; the others are ranked by the other runs alone\n"
    );
    let written = fs::read_to_string(place.path("fused.trec")).unwrap();
    assert!(written.ends_with("q2 Q0 x 1 0.016393442 rrf\n"), "{written}");
    place.run("fuse a.trec b.trec -o fused.trec").refused(1, &["already exists", "--force"]);
    place.run("fuse a.trec b.trec -o fused.trec --force").silent();
    let said = place.run("fuse a.trec a.trec -o -").fine();
    assert!(said.err.contains("a.trec and a.trec have the same tag, first"), "{}", said.err);
    assert_eq!(place.run("fuse a.trec -o -").silent().out.lines().count(), 4);
}

#[test]
fn weights_are_tuned_on_judgments() {
    let place = place();
    place.file("v.qrels", "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\n");
    let line = "fuse a.trec b.trec --method sum --qrels v.qrels --tune nDCG@3";
    let said = place.run(&format!("{line} -o fused.trec"));
    assert!(said.err.contains("were tuned on 1 query,"), "{}", said.err);
    assert!(said.err.contains("report it on other queries"), "{}", said.err);
    // Only the first run has the order of the judgments.
    let said = said.shows(&["nDCG@3", "a.trec", "1.0000", "fused", "gain 2^g-1", "preset default"]);
    let weight: f64 = said
        .out
        .lines()
        .find(|l| l.starts_with("a.trec"))
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(weight, 1.0, "{}", said.out);
    let said = place.run(&format!("{line} --preset trec -o trec.trec"));
    said.shows(&["nDCG: gain g, discount", "(preset trec)"]);
    let skip = "--method sum --qrels v.qrels --tune AP --relevant-from 9 --empty skip";
    let said = place.run(&format!("fuse a.trec b.trec {skip} -o none"));
    said.refused(1, &["no judged query of the runs has a relevant", "--empty zero"]);
    let said = place.run(&format!("{line} -o -")).fine();
    assert!(said.err.contains("was computed with nDCG: gain 2^g-1"), "{}", said.err);
    assert_eq!(ranked(&said.out)[..2].iter().map(|hit| &hit.0).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = place();
    for (more, code, words) in [
        ("--weights 1", 2, ["--weights 1", "2 numbers, one for each run"]),
        ("--weights 0,0", 2, ["--weights 0,0", "not all of them 0"]),
        ("--method weighted", 2, ["--method weighted", "--weights"]),
        ("--method magic", 2, ["--method", "rrf, sum, weighted, mnz, max, min"]),
        ("--normalise sum", 2, ["--normalise", "does not use scores"]),
        ("--method sum --rank-constant 5", 2, ["--rank-constant", "only rrf"]),
        ("--rank-constant=-1", 2, ["--rank-constant -1", "0 or more"]),
        ("--method mnz --normalise z-score", 2, ["--normalise z-score", "mnz needs"]),
        ("--tune nDCG@10", 2, ["--qrels", "required"]),
        ("none.trec", 1, ["none.trec", "cannot read"]),
        ("-k 0", 2, ["-k 0", "1 document or more"]),
        ("--preset trec", 2, ["--preset", "--tune"]),
        ("- -", 2, ["standard input", "only once"]),
    ] {
        place.run(&format!("fuse a.trec b.trec -o - {more}")).refused(code, &words);
    }
    place.file("bad.trec", "q1 Q0 a 1 high t\n");
    place.run("fuse a.trec bad.trec -o out").refused(1, &["bad.trec:1", "a finite number"]);
    place.run("fuse a.trec bad.trec --lenient -o -").refused(1, &["bad.trec: no results"]);
    place.file("bad.trec", format!("{B}q1 Q0 a 1 high t\n"));
    let said = place.run("fuse a.trec bad.trec --lenient -o -").fine();
    assert!(said.err.contains("bad.trec: 1 line skipped: no score"), "{}", said.err);
    assert_eq!(said.out, place.run("fuse a.trec b.trec -o -").silent().out);
    place.run("fuse -o -").refused(2, &["RUN"]);
    let said = place.ask("fuse none.trec -o - --tag", &["a b"]);
    said.refused(2, &["--tag \"a b\"", "without white space"]);
    assert_eq!(place.names(), ["a.trec", "b.trec", "bad.trec"]);
}

#[test]
fn huge_scores_are_normalised_or_refused() {
    let place = place();
    let huge: String =
        A.lines().map(|line| format!("{}e300 first\n", line.trim_end_matches(" first"))).collect();
    place.file("huge.trec", huge);
    for normalise in ["min-max", "z-score", "sum", "max", "l2"] {
        let of = |file: &str| {
            let line = format!("fuse {file} b.trec --method sum --normalise {normalise} -o -");
            place.run(&line).silent().out
        };
        let (huge, small) = (ranked(&of("huge.trec")), ranked(&of("a.trec")));
        for (found, expected) in huge.iter().zip(&small) {
            assert_eq!(found.0, expected.0, "{normalise}");
            assert!((found.1 - expected.1).abs() < 1e-6, "{normalise}: {found:?} {expected:?}");
        }
    }
    let said = place.run("fuse huge.trec b.trec --method sum --normalise none -o -");
    said.refused(2, &["finite numbers", "another normalisation"]);
}

#[cfg(unix)]
#[test]
fn links_stay_and_what_is_no_file_is_refused() {
    let place = place();
    place.bash("mkfifo pipe && ln -s real link && ln -s pipe to_pipe && echo old > real").fine();
    for (name, more) in [("pipe", ""), ("pipe", "--force"), ("to_pipe", "--force")] {
        let said = place.run(&format!("fuse a.trec b.trec -o {name} {more}"));
        said.refused(1, &[name, "is not a regular file", "use - for standard output"]);
    }
    place.run("fuse a.trec b.trec -o link").refused(1, &["already exists"]);
    assert_eq!(fs::read_to_string(place.path("real")).unwrap(), "old\n");
    place.run("fuse a.trec b.trec -o link --force").silent();
    assert!(place.path("link").is_symlink());
    assert!(fs::read_to_string(place.path("real")).unwrap().starts_with("q1 Q0 c 1 "));
    fs::remove_file(place.path("real")).unwrap();
    place.run("fuse a.trec b.trec -o link").refused(1, &["already exists"]);
}
