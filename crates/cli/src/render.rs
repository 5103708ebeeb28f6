//! Messages of the libraries with the flags of the command line.
//!
//! The libraries know no flags. They name an option between backticks as `` `name` `` or
//! `` `name = value` ``, several as `` `a = 1, b = 2` ``, by the name that it has in files and over
//! HTTP. This module replaces such a name by a flag:
//!
//! 1. an option of the subcommand that runs: `` `--name value` ``;
//! 2. with a value, a parameter of a method, if the subcommand takes `--set`:
//!    `` `--set name=value` ``;
//! 3. with a value, an option or a parameter of a subcommand that made what this one reads
//!    ([`MAKERS`]): `` `liken import --name value` ``.
//!
//! Everything else between backticks stays as it is.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use clap::Command;
use liken::matchers::{Params, methods, preparation_docs};
use liken::rank::{RankParams, rank_methods};

/// The subcommands whose output the others read, in the order of their work.
const MAKERS: [&str; 2] = ["import", "train"];

static RENDERER: OnceLock<Renderer> = OnceLock::new();

/// Names the subcommand that runs, by its path below `root`.
pub fn set_command(root: &Command, path: &[&str]) {
    let _ = RENDERER.set(Renderer::new(root, path));
}

/// `text` with the options of the subcommand that runs as flags.
pub fn in_flags(text: &str) -> String {
    RENDERER.get().map_or_else(|| text.to_owned(), |renderer| renderer.render(text))
}

/// The parameter `name = value` as it stands on the command line: `--name value` or
/// `--set name=value`; none where it came from a file or is a default.
pub fn as_typed(name: &str, value: &str) -> Option<String> {
    let args: Vec<_> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let typed = |flag: String, value: &str| {
        let apart = args.windows(2).any(|pair| pair[0] == flag && pair[1] == value);
        (apart || args.contains(&format!("{flag}={value}"))).then(|| format!("{flag} {value}"))
    };
    // Parameters of text analysis have a section in files, and none as flags.
    let last = name.rsplit('.').next().unwrap_or(name);
    typed(format!("--{}", last.replace('_', "-")), value)
        .or_else(|| typed("--set".into(), &format!("{name}={value}")))
}

/// Advice for a user who named an unknown parameter: the command that lists the parameters.
pub fn parameters_help() -> String {
    RENDERER.get().map_or_else(String::new, Renderer::parameters_help)
}

/// The long help of the subcommand that runs.
pub fn long_help() -> String {
    RENDERER.get().map_or_else(String::new, Renderer::long_help)
}

/// Turns options into flags of the subcommand that runs and of the [`MAKERS`].
struct Renderer {
    root: Command,
    path: Vec<String>,
    running: Options,
    makers: Vec<Options>,
}

/// The options of one subcommand.
struct Options {
    /// The words before the options: `liken import`.
    command: String,
    /// By name, with `_`; whether it takes a value.
    names: BTreeMap<String, bool>,
}

impl Options {
    fn of(root: &Command, path: &[&str]) -> Self {
        let command = path.iter().try_fold(root, |command, name| command.find_subcommand(name));
        let command = command.unwrap_or(root);
        let long = command.get_arguments().filter_map(|argument| {
            let takes_value = argument.get_action().takes_values();
            Some((argument.get_long()?.replace('-', "_"), takes_value))
        });
        Options { command: format!("liken {}", path.join(" ")), names: long.collect() }
    }

    /// The flag of the option `name`, if the subcommand takes it.
    fn typed(&self, name: &str, value: Option<&str>) -> Option<String> {
        let flag = || format!("--{}", name.replace('_', "-"));
        match (self.names.get(name), value) {
            (Some(true), Some(value)) => Some(format!("{} {value}", flag())),
            (Some(_), _) => Some(flag()),
            (None, Some(value)) if self.names.contains_key("set") && is_parameter(name) => {
                Some(format!("--set {name}={value}"))
            }
            _ => None,
        }
    }
}

impl Renderer {
    fn new(root: &Command, path: &[&str]) -> Self {
        Renderer {
            root: root.clone(),
            path: path.iter().map(ToString::to_string).collect(),
            running: Options::of(root, path),
            makers: MAKERS.map(|name| Options::of(root, &[name])).into(),
        }
    }

    fn long_help(&self) -> String {
        let mut root = self.root.clone();
        root.build();
        let below = |command, name: &String| Command::find_subcommand_mut(command, name);
        let running = self.path.iter().try_fold(&mut root, below);
        running.map_or_else(String::new, |command| command.render_long_help().to_string())
    }

    fn render(&self, text: &str) -> String {
        let mut parts = text.split('`');
        let mut rendered = parts.next().unwrap_or_default().to_owned();
        while let Some(token) = parts.next() {
            let Some(after) = parts.next() else {
                // An unclosed backtick.
                return rendered + "`" + token;
            };
            let token = self.token(token).unwrap_or_else(|| token.to_owned());
            rendered.extend(["`", &token, "`", after]);
        }
        rendered
    }

    fn token(&self, token: &str) -> Option<String> {
        let settings: Vec<(&str, Option<&str>)> = match token.split_once(" = ") {
            None => vec![(token, None)],
            Some(_) => settings(token),
        };
        let typed = |options: &Options| {
            let typed = settings.iter().map(|(name, value)| options.typed(name, *value));
            typed.collect::<Option<Vec<String>>>().map(|typed| typed.join(" "))
        };
        if let Some(typed) = typed(&self.running) {
            return Some(typed);
        }
        // A bare name may be a column or a field of a file as well.
        settings.iter().all(|(_, value)| value.is_some()).then_some(())?;
        self.makers.iter().find_map(|maker| Some(format!("{} {}", maker.command, typed(maker)?)))
    }

    fn parameters_help(&self) -> String {
        let method = "`liken train METHOD --help` lists the parameters of a method";
        let ranker = "`liken rank train METHOD --help` lists the parameters of a ranker";
        if self.running.command.starts_with("liken rank") {
            ranker.to_owned()
        } else if self.running.names.contains_key("ranker_set") {
            format!("{method}, {ranker}")
        } else {
            method.to_owned()
        }
    }
}

/// The settings in `a = 1, b = x,y`: a comma that no name and `=` follow belongs to a value.
fn settings(token: &str) -> Vec<(&str, Option<&str>)> {
    let mut starts = vec![0];
    starts.extend(token.match_indices(", ").map(|(at, comma)| at + comma.len()).filter(|&at| {
        token[at..].split_once(" = ").is_some_and(|(name, _)| !name.contains([' ', ',']))
    }));
    let ends = starts.iter().skip(1).map(|start| start - 2).chain([token.len()]);
    let parts = starts.iter().zip(ends).map(|(&start, end)| &token[start..end]);
    parts
        .map(|part| match part.split_once(" = ") {
            Some((name, value)) => (name, Some(value.trim_matches('"'))),
            None => (part, None),
        })
        .collect()
}

/// Whether a method of matching or of ranking has this parameter, or the preparation of text.
fn is_parameter(name: &str) -> bool {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let matchers = methods().filter_map(|(name, _)| Some(Params::named(name).ok()?.docs()));
        let rankers =
            rank_methods().filter_map(|(name, _)| Some(RankParams::named(name).ok()?.docs()));
        let all = matchers.chain(rankers).chain([preparation_docs()]).flatten();
        all.map(|doc| doc.key).collect()
    });
    NAMES.iter().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(path: &[&str], text: &str) -> String {
        Renderer::new(&crate::command(), path).render(text)
    }

    #[test]
    fn options_of_the_subcommand_become_flags() {
        let text =
            "add `lenient`, lower `min_clicks = 1` or `min_clicks`, or say `split = queries`";
        let flags =
            "add `--lenient`, lower `--min-clicks 1` or `--min-clicks`, or say `--split queries`";
        assert_eq!(render(&["import"], text), flags);
        let text = "map it: `columns = events:rank=NAME`, `encoding = latin1`, `grades = -1=0`";
        let flags = "map it: `--columns events:rank=NAME`, `--encoding latin1`, `--grades -1=0`";
        assert_eq!(render(&["import"], text), flags);
        assert_eq!(
            render(&["rank", "train"], "leave it out: `ignore = x`"),
            "leave it out: `--ignore x`"
        );
    }

    #[test]
    fn parameters_of_methods_are_set() {
        let text =
            "`features.doc_clicks = 0`, `penalty = \"relative\"`, `dim = 50`, `max_memory = SIZE`";
        let flags = "`--set features.doc_clicks=0`, `--set penalty=relative`, `--dim 50`, `--max-memory SIZE`";
        assert_eq!(render(&["train"], text), flags);
        assert_eq!(render(&["train"], "`preparation.min_df = 2`"), "`--set preparation.min_df=2`");
        assert_eq!(render(&["rank", "train"], "`trees = 20`"), "`--set trees=20`");
    }

    #[test]
    fn what_made_the_input_is_named_with_its_subcommand() {
        let text = "`split = queries, test = 0.1` or `char_ngrams = 3-5` or `identity = false`";
        let flags = "`liken import --split queries --test 0.1` or `liken train --char-ngrams 3-5` \
                     or `liken train --set identity=false`";
        assert_eq!(render(&["search"], text), flags);
        assert_eq!(render(&["train"], "`fields = title, body`"), "`--fields title, body`");
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for text in [
            "",
            "no option",
            "the columns `clicked` and `clicks` and `colour = red`",
            "a `row` and an open `lenient",
            "type `liken import --clicks FILE`",
            "unknown field `x`, expected `a = b = c`",
        ] {
            assert_eq!(render(&["search"], text), text);
        }
    }

    #[test]
    fn parameters_are_listed_where_they_can_be_set() {
        let help = |path: &[&str]| Renderer::new(&crate::command(), path).parameters_help();
        assert!(help(&["rank", "train"]).contains("rank train METHOD"));
        assert!(!help(&["train"]).contains("rank train"));
        assert!(
            help(&["compare"]).contains("liken train") && help(&["compare"]).contains("rank train")
        );
    }
}
