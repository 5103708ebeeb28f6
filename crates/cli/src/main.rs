//! The binary `liken`: one verb a file.

mod console;
mod import;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use console::Console;

/// Learns which document answers which query from click logs and text.
#[derive(Parser)]
#[command(name = "liken", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// Threads to use; 0 means one for every core. The result is the same for any number.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    threads: usize,

    /// Show no progress.
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Verb {
    Import(import::ImportArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = Console::new(cli.quiet);
    if let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(cli.threads).build_global() {
        return console.fail(&error.into());
    }
    let result: anyhow::Result<()> = match &cli.verb {
        Verb::Import(args) => import::run(args, &console),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console.fail(&error),
    }
}
