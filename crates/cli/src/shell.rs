//! `liken completions` and `liken man`: what shells and `man` read.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::console::Console;
use crate::output::counted;

/// Print a script that completes commands and options in a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken completions bash > ~/.local/share/bash-completion/completions/liken
  liken completions zsh > ~/.zfunc/_liken             with fpath+=~/.zfunc before compinit in ~/.zshrc
  liken completions fish > ~/.config/fish/completions/liken.fish")]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Write the manual as pages for man, one per command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken man -o ~/.local/share/man/man1                then: man liken-train
  liken man -o man && man ./man/liken.1")]
pub struct ManArgs {
    /// Folder to write the pages to, made if it is not there; earlier pages are replaced.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Prints the script of a shell.
pub fn completions(
    args: &CompletionsArgs,
    mut command: Command,
    console: &Console,
) -> anyhow::Result<()> {
    // The generator panics where a pipe is closed, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "liken", &mut script);
    let mut out = console.out();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

/// Writes the pages of the manual.
pub fn man(args: &ManArgs, command: Command, console: &Console) -> anyhow::Result<()> {
    let folder = &args.output;
    fs::create_dir_all(folder).map_err(liken::Error::io("create", folder))?;
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)
        .map_err(liken::Error::io("write", folder))?;
    let pages = fs::read_dir(folder).map_err(liken::Error::io("read", folder))?;
    let pages = pages.flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "1"));
    let mut out = console.report_out();
    writeln!(out, "wrote {}: {}", folder.display(), counted(pages.count(), "page"))?;
    Ok(out.flush()?)
}
