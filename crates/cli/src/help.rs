//! The help of `liken`: its commands in groups, in the order of work.

use std::fmt::Write;

use clap::Command;

/// The commands by what they are for. Every command is in one group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("First steps", &["demo", "synth"]),
    ("Data", &["import", "task", "stats", "info"]),
    ("Models", &["plan", "train", "tune", "compare", "experiment", "bound"]),
    (
        "Working with a model",
        &["search", "similar", "explain", "translate", "topics", "run", "export"],
    ),
    ("Runs and rankers", &["eval", "fuse", "rerank", "features", "rank", "diversify"]),
    ("Search service", &["index", "serve", "key"]),
    ("Shell", &["completions", "man", "help"]),
];

/// `command` with its subcommands in groups.
pub fn grouped(mut command: Command) -> Command {
    command.build();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<12}{literal:#} {about}");
        }
        text.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut command = crate::command();
        command.build();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
