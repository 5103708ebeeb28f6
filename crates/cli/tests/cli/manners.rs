//! What holds for every verb.

use std::process::Stdio;

use crate::place::{Place, Said};
use crate::shared::{at, shared};

const VERBS: [&str; 21] = [
    "demo",
    "import",
    "stats",
    "train",
    "compare",
    "eval",
    "experiment",
    "search",
    "similar",
    "explain",
    "translate",
    "topics",
    "run",
    "fuse",
    "rerank",
    "diversify",
    "index",
    "serve",
    "export",
    "info",
    "synth",
];

/// A line for each verb that works in the shared folder and writes nothing there.
const LINES: [&str; 12] = [
    "stats data",
    "compare data --models bm25,vsm",
    "search mix heart -k 600",
    "similar mix --doc d0001 -k 600",
    "similar mix --word heart",
    "explain mix --query heart --doc d0001 -n 100",
    "run mix --queries queries.tsv -o -",
    "fuse bm25.trec rmls.trec -o -",
    "rerank rmls bm25.trec --queries queries.tsv -o -",
    "diversify bm25.trec --model rmls -o -",
    "info data",
    "info mix --format json",
];

#[test]
fn every_verb_has_help_with_examples() {
    let place = Place::new();
    let all = place.run("--help").silent().shows(&["Examples:", "liken demo"]).out;
    for verb in VERBS {
        assert!(all.contains(&format!("\n  {verb} ")), "{verb}");
        for help in ["--help", "-h"] {
            let said = place.run(&format!("{verb} {help}")).silent();
            said.shows(&["Usage: liken", "\nExamples:\n  liken", "--threads", "--quiet"]);
        }
        place.run(&format!("help {verb}")).silent().shows(&["Examples:"]);
    }
    place.run("--version").silent().shows(&["liken 0."]);
}

#[test]
fn wrong_usage_ends_with_two_and_says_so_on_stderr() {
    let place = Place::new();
    for verb in VERBS {
        let said = place.run(&format!("{verb} --shout"));
        assert_eq!(said.out, "");
        said.refused(2, &["--shout", "Usage: liken"]);
    }
    place.run("").refused(2, &["Usage: liken"]);
    place.run("dance").refused(2, &["dance"]);
    place.run("--threads=-1 info x").refused(2, &["--threads"]);
    place.run("--threads many info x").refused(2, &["--threads", "many"]);
}

#[test]
fn quiet_and_threads_are_taken_before_and_after_the_verb() {
    for line in LINES {
        let plain = shared().run(line).silent().out;
        for line in [
            format!("--quiet {line}"),
            format!("{line} --quiet"),
            format!("-q --threads 1 {line}"),
            format!("{line} -q --threads 3"),
        ] {
            assert_eq!(shared().run(&line).silent().out, plain, "{line}");
        }
    }
    let place = Place::new();
    place.run("-q synth demo --scale 0.2 -o a").silent();
    place.run("synth demo --scale 0.2 -o b -q").silent();
    place.run("-q train bm25 a -o m").silent();
    place.run("train bm25 a -o n -q").silent();
    place.run("--quiet experiment none.toml").refused(1, &["none.toml"]);
    place.run("experiment none.toml --quiet").refused(1, &["none.toml"]);
}

#[test]
fn a_closed_pipe_ends_every_verb_quietly() {
    let place = shared();
    for line in LINES.iter().chain(&["train rmls --help", "synth --help", "--help"]) {
        for reader in ["head -1", "head -0", "true"] {
            let said = place.bash(&format!("liken {line} | {reader}; exit ${{PIPESTATUS[0]}}"));
            assert_eq!(said.err, "", "{line} | {reader}");
            assert!(said.fine().out.lines().count() <= 1, "{line} | {reader}");
        }
    }
    // The work is done even if nobody reads about it.
    let place = Place::new();
    place
        .bash(&format!("liken train bm25 {} -o model | true; exit ${{PIPESTATUS[0]}}", at("data")))
        .silent();
    place.run("info model").silent();
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    for line in LINES {
        let said = shared().bash(&format!("liken {line} > /dev/full"));
        said.refused(1, &["error: ", "No space left"]);
    }
}

/// Runs `line` with a terminal as stderr, by way of script(1); stdout goes to a file.
#[cfg(target_os = "linux")]
fn on_a_terminal(place: &Place, line: &str) -> Option<(String, String)> {
    use std::process::Command;
    let binary = crate::place::binary().display();
    let mut command = Command::new("script");
    command.args(["-qec", &format!("'{binary}' {line} > printed"), "/dev/null"]);
    command.env("TERM", "xterm").stdin(Stdio::null()).current_dir(place.path(""));
    let said = Said::of(command.output().ok()?).fine();
    Some((std::fs::read_to_string(place.path("printed")).unwrap(), said.out))
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_for_terminals_alone_and_never_on_stdout() {
    let place = Place::new();
    let line = format!("train pls {} -o model --force --dim 10", at("data"));
    let plain = place.run(&line).silent().out;
    let Some((printed, progress)) = on_a_terminal(&place, &line) else { return };
    assert_eq!(printed, plain);
    assert!(!progress.trim().is_empty());
    let (printed, progress) = on_a_terminal(&place, &format!("{line} --quiet")).unwrap();
    assert_eq!((printed.as_str(), progress.trim()), ("", ""));
}

#[test]
fn what_it_says_to_type_next_can_be_typed() {
    let place = Place::new();
    let next = |said: Said| -> String {
        let said = said.fine();
        said.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap().to_owned()
    };
    let compare = next(place.ask("synth demo --scale 0.2 -o", &["my data"]));
    place.bash(&format!("{compare} --models bm25 -q")).silent();
    let import = next(place.ask("synth demo --scale 0.2 --raw -o", &["Tom's log"]));
    place.bash(&import).silent();
    let search = next(place.ask("train bm25 data -o", &["my model"]));
    place.bash(&search.replace("your query", "heart")).silent();
}
