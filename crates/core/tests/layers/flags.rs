//! The libraries do not know the command line: no string literal of their production code names a
//! flag or a subcommand. Messages name options as `name` or `name = value` between backticks, and
//! the command line shows them as its own.

use std::fs;
use std::path::Path;

use crate::graph::Crate;

/// The library crates below `crates/`.
const LIBRARIES: &[&str] = &["math", "core", "pages", "engine", "server"];

/// Parts of literals that look like flags and are none of ours.
const ALLOWED: &[&str] = &[];

/// The subcommands, as `main.rs` of the command line declares them.
fn subcommands(main: &str) -> Vec<String> {
    let body = main.split_once("enum Subcommands {").and_then(|(_, rest)| rest.split_once('}'));
    let lines = body.map_or("", |(body, _)| body).lines();
    let names = lines.filter_map(|line| Some(line.trim().split_once('(')?.0.to_lowercase()));
    names.collect()
}

/// The flag or subcommand that `text` names.
fn command_line(text: &str, subcommands: &[String]) -> Option<String> {
    // A backslash at the end of a line of the source continues the text on the next one.
    let mut lines = text.split("\\\n");
    let mut text = lines.next().unwrap_or_default().to_owned();
    lines.for_each(|line| text.push_str(line.trim_start()));
    for allowed in ALLOWED {
        text = text.replace(allowed, "");
    }
    let words =
        |start: usize| text[start..].chars().take_while(|c| c.is_alphanumeric() || *c == '-');
    let flag = text.match_indices("--").find_map(|(at, dashes)| {
        let inside = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
        let is_flag =
            text[at + dashes.len()..].starts_with(|c: char| c.is_ascii_lowercase() || c == '{');
        (is_flag && !inside).then(|| words(at).collect())
    });
    let subcommand = text.match_indices("liken ").find_map(|(at, liken)| {
        let name: String = words(at + liken.len()).collect();
        subcommands.contains(&name).then(|| format!("liken {name}"))
    });
    flag.or(subcommand)
}

#[test]
fn libraries_do_not_know_the_command_line() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let subcommands = subcommands(&fs::read_to_string(crates.join("cli/src/main.rs")).unwrap());
    assert!(subcommands.iter().any(|name| name == "train"), "{subcommands:?}");
    let mut problems = Vec::new();
    for name in LIBRARIES.iter().filter(|name| crates.join(name).is_dir()) {
        for (file, text) in Crate::read(&crates.join(name)).texts() {
            let path = file.strip_prefix(crates).unwrap().to_string_lossy().replace('\\', "/");
            if let Some(found) = command_line(text, &subcommands) {
                problems.push(format!("crates/{path}: {found} in {text:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "libraries know no flags:\n{}", problems.join("\n"));
}

#[test]
fn flags_and_subcommands_are_found() {
    let main = "#[derive(Subcommand)]\nenum Subcommands {\n    Train(train::Args),\n    Rank(Box<Args>),\n}";
    let subcommands = subcommands(main);
    assert_eq!(subcommands, ["train", "rank"]);
    let found = |text: &str| command_line(text, &subcommands);
    assert_eq!(found("add --min-clicks 1").as_deref(), Some("--min-clicks"));
    assert_eq!(found("(`--lenient`)").as_deref(), Some("--lenient"));
    assert_eq!(found("type `liken \\\n     rank`").as_deref(), Some("liken rank"));
    assert_eq!(found("`liken train METHOD`").as_deref(), Some("liken train"));
    for text in
        ["a -- b", "a--b", "-- comment", "<!---->", "`lenient`", "liken ranks", "this liken"]
    {
        assert_eq!(found(text), None, "{text}");
    }
}
