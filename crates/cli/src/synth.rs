//! `liken synth`: synthetic click logs and a synthetic corpus.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::synth::{Synthetic, SyntheticLog};

use crate::console::Console;
use crate::output::{counted, grouped, typed};
use crate::settings::described_choice;

/// Make a synthetic click log or corpus, as a dataset folder or as raw files.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken synth demo -o demo                     a small readable log, as a dataset
  liken synth demo -o raw --raw                the same as clicks.tsv, documents.jsonl, judgments.tsv
  liken synth demo -o raw --events             a raw log: every result shown, clicked or not
  liken synth demo -o raw --events --bias 1.5 --shuffle 0.05   strong position bias
  liken synth one-week -o week                 the size and shape of the papers' one week of clicks
  liken synth half-year -o sample --scale 0.01 a hundredth of their half year
  liken synth topics -o corpus                 documents with 100 planted topics, in 20 classes
  liken synth topics -o corpus --documents 1000000 --terms 500000 --topics 500 --length 100")]
pub struct SynthArgs {
    /// The log or corpus.
    #[arg(value_name = "LOG", value_parser = described_choice::<SyntheticLog>(&LOGS))]
    log: SyntheticLog,

    /// Folder to write.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Write the log and the documents as raw files for `liken import`, not as a dataset.
    #[arg(long)]
    raw: bool,

    /// Write a raw log, one line for each result shown, with time, user and rank; implies --raw.
    #[arg(long)]
    events: bool,

    /// Multiply the number of queries, documents and words (or searches).
    #[arg(long, default_value_t = 1.0, value_name = "X")]
    scale: f64,

    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Demo log: position bias: users examine rank i with probability i^-X [default: 0.7].
    #[arg(long, value_name = "X")]
    bias: Option<f64>,

    /// Demo log: share of results replaced by a relevant document [default: 0.2].
    #[arg(long, value_name = "SHARE")]
    explore: Option<f64>,

    /// Demo log: share of result pages shown in random order [default: 0].
    #[arg(long, value_name = "SHARE")]
    shuffle: Option<f64>,

    /// Topics: number of documents [default: 20000].
    #[arg(long, value_name = "N")]
    documents: Option<usize>,

    /// Topics: size of the vocabulary [default: 10000].
    #[arg(long, value_name = "N")]
    terms: Option<usize>,

    /// Topics: number of topics; a fifth of them is shared by all classes [default: 100].
    #[arg(long, value_name = "N")]
    topics: Option<usize>,

    /// Topics: mean number of words per document [default: 80].
    #[arg(long, value_name = "X")]
    length: Option<f64>,

    /// Topics: number of classes of documents [default: 20].
    #[arg(long, value_name = "N")]
    classes: Option<usize>,

    /// Replace the folder if it exists.
    #[arg(long)]
    force: bool,
}

const LOGS: [(&str, &str); 4] = [
    ("demo", "Hand-written concepts, readable titles and queries, a real vocabulary gap"),
    ("one-week", "94,022 queries, 111,631 documents: Table 1 of the RMLS papers, first row"),
    ("half-year", "6,372,254 queries, 4,599,849 documents: the second row of Table 1"),
    ("topics", "Documents in classes with known topics (topics.jsonl); no queries, no clicks"),
];

pub fn run(args: &SynthArgs, console: &Console) -> anyhow::Result<()> {
    let synthetic = Synthetic {
        log: args.log,
        scale: args.scale,
        seed: args.seed,
        events: args.events,
        bias: args.bias,
        explore: args.explore,
        shuffle: args.shuffle,
        documents: args.documents,
        terms: args.terms,
        topics: args.topics,
        length: args.length,
        classes: args.classes,
    };
    let is_corpus = synthetic.log == SyntheticLog::Topics;
    let about = console.run(|run| match args.raw || args.events {
        true => synthetic.write_raw(&args.output, args.force, run).map(|()| None),
        false => synthetic.write(&args.output, args.force, run).map(Some),
    })?;
    let mut out = console.report_out();
    let path = args.output.display();
    let table = |name: &str| typed(&args.output.join(name));
    match about {
        Some(about) if is_corpus => {
            let n = counted(about.counts.documents, "document");
            writeln!(out, "{path}: {n}; their topics are in topics.jsonl")?;
            writeln!(out, "next: liken train rlsi {} -o model", typed(&args.output))?;
        }
        None if is_corpus => {
            writeln!(out, "{path}: documents.jsonl, topics.jsonl")?;
            let documents = table("documents.jsonl");
            writeln!(out, "next: liken import --documents {documents} -o data")?;
        }
        Some(about) => {
            let counts = about.counts;
            writeln!(
                out,
                "{path}: {}, {}, {}; {} + {}",
                counted(counts.queries, "query"),
                counted(counts.documents, "document"),
                counted(counts.pairs, "training pair"),
                grouped(counts.validation.0),
                counted(counts.test.0, "judged query")
            )?;
            writeln!(out, "next: liken compare {}", typed(&args.output))?;
        }
        None => {
            let role = if args.events { "events" } else { "clicks" };
            let facets = match synthetic.log {
                SyntheticLog::Demo => ", facets.tsv, facets-train.qrels, facets-test.qrels",
                _ => "",
            };
            writeln!(out, "{path}: {role}.tsv, documents.jsonl, judgments.tsv{facets}")?;
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
