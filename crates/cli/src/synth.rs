//! `liken synth`: click logs made up from a known truth.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use liken::Run;
use liken::data::{DatasetAbout, Document, Import, Table};
use liken::synth::demo::{Demo, PAGE};
use liken::synth::engine::bm25;
use liken::synth::weblog::Weblog;

use crate::console::Console;
use crate::output::{grouped, typed};

/// Make a synthetic click log: a dataset folder, or raw files as a user would have them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken synth demo -o demo                     a small readable log, as a dataset
  liken synth demo -o raw --raw                the same as clicks.tsv, documents.jsonl, judgments.tsv
  liken synth demo -o raw --events             every result shown, clicked or not: a raw log
  liken synth one-week -o week                 the size and shape of the papers' one week of clicks
  liken synth half-year -o sample --scale 0.01 a hundredth of their half year")]
pub struct SynthArgs {
    /// Which log.
    #[arg(value_enum)]
    kind: Kind,

    /// Folder to write.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Write the log and the documents as a user would have them, not a dataset.
    #[arg(long)]
    raw: bool,

    /// Write the log as it was written down, one line for each result shown, with time,
    /// user and rank; implies --raw.
    #[arg(long)]
    events: bool,

    /// Multiply the number of queries, documents and words (or searches).
    #[arg(long, default_value_t = 1.0, value_name = "X")]
    scale: f64,

    /// Seed of everything drawn.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Replace the folder if it is there.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Hand-written concepts, readable titles and queries, a real vocabulary gap.
    Demo,
    /// 94,022 queries, 111,631 documents: Table 1 of the RMLS papers, first row.
    OneWeek,
    /// 6,372,254 queries, 4,599,849 documents: its second row.
    HalfYear,
}

pub fn run(args: &SynthArgs, console: &Console) -> anyhow::Result<()> {
    let about = console.run(|run| match args.kind {
        Kind::Demo => demo(args, run),
        Kind::OneWeek => weblog(Weblog::one_week(), args, run),
        Kind::HalfYear => weblog(Weblog::half_year(), args, run),
    })?;
    let mut out = console.out();
    let path = args.output.display();
    match about {
        Some(about) => {
            let counts = about.counts;
            writeln!(
                out,
                "{path}: {} queries, {} documents, {} training pairs; {} + {} judged queries",
                grouped(counts.queries),
                grouped(counts.documents),
                grouped(counts.pairs),
                grouped(counts.validation.0),
                grouped(counts.test.0)
            )?;
            writeln!(out, "next: liken compare {}", typed(&args.output))?;
        }
        None => {
            let role = if args.events { "events" } else { "clicks" };
            writeln!(out, "{path}: {role}.tsv, documents.jsonl, judgments.tsv")?;
            let table = |name: &str| typed(&args.output.join(name));
            writeln!(
                out,
                "next: liken import --{role} {} --documents {} --judgments {} -o data",
                table(&format!("{role}.tsv")),
                table("documents.jsonl"),
                table("judgments.tsv")
            )?;
        }
    }
    Ok(out.flush()?)
}

fn weblog(log: Weblog, args: &SynthArgs, run: &Run<'_>) -> liken::Result<Option<DatasetAbout>> {
    let log = Weblog { scale: args.scale, seed: args.seed, ..log };
    if args.events {
        log.write_events(&args.output, args.force, run)?;
        return Ok(None);
    }
    if args.raw {
        log.write_raw(&args.output, args.force, run)?;
        return Ok(None);
    }
    log.write(&args.output, args.force, run).map(Some)
}

fn demo(args: &SynthArgs, run: &Run<'_>) -> liken::Result<Option<DatasetAbout>> {
    // Two queries a concept are the least.
    if !(args.scale >= 0.17 && args.scale <= 100.0) {
        return Err(liken::Error::Parameter {
            name: "scale".into(),
            value: args.scale.to_string(),
            expected: "a number from 0.17 to 100 for the demo log".into(),
        });
    }
    let whole = Demo::default();
    let scaled = |n: usize| ((n as f64 * args.scale).round() as usize).max(1);
    let params = Demo {
        // Every concept keeps its two documents.
        documents: scaled(whole.documents).max(2 * whole.concepts),
        queries: scaled(whole.queries),
        unseen: scaled(whole.unseen),
        searches: scaled(whole.searches),
        judged: scaled(whole.judged),
        seed: args.seed,
        ..whole
    };
    if args.events {
        params.write_events(&engine, &args.output, args.force, run)?;
        return Ok(None);
    }
    if args.raw {
        write_raw(&params, &args.output, args.force, run)?;
        return Ok(None);
    }
    // Refuse before the work, not after it.
    if args.output.exists() && !args.force {
        return Err(liken::Error::Exists { path: args.output.clone() });
    }
    let work = tempfile::tempdir().map_err(liken::Error::io("create", &std::env::temp_dir()))?;
    let raw = work.path().join("demo");
    write_raw(&params, &raw, false, run)?;
    let import = import_of(&raw);
    Ok(Some(import.run(&args.output, args.force, run)?.about))
}

/// The engine of the demo log.
fn engine(documents: &[Document], queries: &[String]) -> liken::Result<Vec<Vec<u32>>> {
    bm25(documents, queries, PAGE)
}

/// Writes the demo log with these sizes as raw files.
pub fn write_raw(params: &Demo, path: &Path, force: bool, run: &Run<'_>) -> liken::Result<()> {
    params.build(&engine, run)?.write_raw(path, force)
}

/// How raw files of a synthetic log are imported.
pub fn import_of(raw: &Path) -> Import {
    let table = |name: &str| Some(Table::new(raw.join(name)));
    Import {
        clicks: table("clicks.tsv"),
        documents: table("documents.jsonl"),
        judgments: table("judgments.tsv"),
        ..Import::default()
    }
}
