//! `liken experiment`: replays an experiment file and says whether a score moved.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use liken::experiment::Experiment;

use crate::compare;
use crate::console::Console;
use crate::output::{TableFormat, json, remark};
use crate::settings::MemoryArgs;

/// Replay an experiment file; exit code 1 if a score moved.
#[derive(Args)]
#[command(after_help = "\
Paths in the file are relative to the data folder: --data, or the variable LIKEN_DATA, or
the folder the file lies in.

Examples:
  liken experiment experiments/nfcorpus.toml --data path/to/data
  liken experiment experiments/nfcorpus.toml --format markdown")]
pub struct ExperimentArgs {
    /// Experiment file (TOML).
    file: PathBuf,

    /// Folder that the file's paths are relative to.
    #[arg(long, value_name = "DIR", env = "LIKEN_DATA")]
    data: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,

    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

pub fn run(args: &ExperimentArgs, console: &Console) -> anyhow::Result<()> {
    let experiment = Experiment::open(&args.file)?;
    let beside = args.file.parent().unwrap_or(std::path::Path::new("."));
    let data = args.data.as_deref().unwrap_or(beside);
    let work = tempfile::tempdir()?;
    let outcome = console.run(|run| {
        let run = args.memory.within(run).with_scratch(work.path());
        experiment.run(data, work.path(), &run)
    })?;
    compare::warn_about(&outcome.comparison, &outcome.fits, console);
    let mut out = console.out();
    if args.format == TableFormat::Json {
        json(&mut out, &outcome)?;
    } else {
        compare::write(&mut out, &outcome.comparison, args.format)?;
        writeln!(out)?;
        for check in &outcome.checks {
            let mark = if check.passed { "ok   " } else { "MOVED" };
            remark(&mut out, args.format, &format!("{mark} {}: {}", check.expected, check.found))?;
        }
    }
    out.flush()?;
    let moved: Vec<String> = outcome
        .checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| format!("\n  expected {}, found {}", check.expected, check.found))
        .collect();
    if !moved.is_empty() {
        bail!(
            "{}: {} of {} expectations were not met{}",
            args.file.display(),
            moved.len(),
            outcome.checks.len(),
            moved.concat()
        );
    }
    Ok(())
}
