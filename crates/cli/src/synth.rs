//! `liken synth`: click logs made up from a known truth.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use liken::synth::Synthetic;

use crate::console::Console;
use crate::output::{grouped, typed};
use crate::settings::named;

/// Make a synthetic click log: a dataset folder, or raw files as a user would have them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken synth demo -o demo                     a small readable log, as a dataset
  liken synth demo -o raw --raw                the same as clicks.tsv, documents.jsonl, judgments.tsv
  liken synth demo -o raw --events             every result shown, clicked or not: a raw log
  liken synth demo -o raw --events --bias 1.5 --shuffle 0.05   users who hardly look down the page
  liken synth one-week -o week                 the size and shape of the papers' one week of clicks
  liken synth half-year -o sample --scale 0.01 a hundredth of their half year")]
pub struct SynthArgs {
    /// Which log.
    #[arg(value_name = "LOG", value_parser = logs())]
    log: String,

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

    /// Demo log: the chance that a user looks at position i is i^-X; 0 is no bias [default: 0.7].
    #[arg(long, value_name = "X")]
    bias: Option<f64>,

    /// Demo log: share of results replaced by a page on what was meant [default: 0.2].
    #[arg(long, value_name = "SHARE")]
    explore: Option<f64>,

    /// Demo log: share of pages shown in random order [default: 0].
    #[arg(long, value_name = "SHARE")]
    shuffle: Option<f64>,

    /// Replace the folder if it is there.
    #[arg(long)]
    force: bool,
}

/// The logs by the names they have in experiment files.
fn logs() -> PossibleValuesParser {
    PossibleValuesParser::new([
        PossibleValue::new("demo")
            .help("Hand-written concepts, readable titles and queries, a real vocabulary gap"),
        PossibleValue::new("one-week")
            .help("94,022 queries, 111,631 documents: Table 1 of the RMLS papers, first row"),
        PossibleValue::new("half-year")
            .help("6,372,254 queries, 4,599,849 documents: its second row"),
    ])
}

pub fn run(args: &SynthArgs, console: &Console) -> anyhow::Result<()> {
    let synthetic = Synthetic {
        log: named(&args.log)?,
        scale: args.scale,
        seed: args.seed,
        events: args.events,
        bias: args.bias,
        explore: args.explore,
        shuffle: args.shuffle,
    };
    let about = console.run(|run| match args.raw || args.events {
        true => synthetic.write_raw(&args.output, args.force, run).map(|()| None),
        false => synthetic.write(&args.output, args.force, run).map(Some),
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
