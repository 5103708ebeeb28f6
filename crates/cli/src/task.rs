//! `liken task`: documents and links, or a log of pages and adverts → a dataset.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::data::{Import, TaskParams};
use liken::text::Language;

use crate::console::Console;
use crate::import::{self, ReadingArgs, Role};
use crate::output::{Format, json, typed};
use crate::settings::named;
use crate::size::parse_size;

const EXAMPLES: &str = "\
Tables are read as `liken import` reads them (its --help has the formats): links have the columns
query and doc, both ids of documents; events have query, doc, rank, and clicked, page, session,
user, time as far as there are any. The result is a dataset as any other.

The tasks:
  links     given a document, find those that it links to; it is not ranked for itself
  keywords  the same, given only --words words of it, drawn at random
  content   given a page, find the adverts that were clicked on it: only clicks at rank 1 count,
            and pages of results that nobody clicked on are left out

Examples:
  liken task links --documents docs.jsonl --links links.tsv -o data
  liken task links --documents mult.dat --input-format documents:ldac --vocabulary vocabulary.dat \\
    --links citations.dat --input-format links:ldac -o data
  liken task links --documents docs.jsonl --links links.tsv --split documents -o unseen
  liken task links --documents docs.jsonl --links links.tsv --test 0.6 --share 0.04 -o small
  liken task keywords --words 5 --documents docs.jsonl --links links.tsv -o five
  liken task content --events log.tsv --documents adverts.jsonl --queries pages.tsv -o adverts";

/// Make a retrieval task of documents and the links between them, or of a log of adverts.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct TaskArgs {
    /// The task: links, keywords or content.
    #[arg(value_name = "TASK", value_parser = ["links", "keywords", "content"])]
    kind: String,

    /// The documents' texts.
    #[arg(long, value_name = "FILE",
        required_if_eq_any = [("kind", "links"), ("kind", "keywords")])]
    documents: Option<PathBuf>,

    /// Links from a document (query) to a document (doc), both by id.
    #[arg(long, value_name = "FILE",
        required_if_eq_any = [("kind", "links"), ("kind", "keywords")])]
    links: Option<PathBuf>,

    /// For content: one line for each advert that was shown or clicked, with its rank.
    #[arg(long, value_name = "FILE", required_if_eq("kind", "content"))]
    events: Option<PathBuf>,

    /// For content: the pages' texts, where the events name pages by id.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// The folder to write.
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,

    /// Replace the folder if it exists.
    #[arg(long)]
    force: bool,

    /// For keywords: how many words of its document a query has [default: 10].
    #[arg(long, value_name = "K")]
    words: Option<usize>,

    /// The fields of a document whose text is the query [default: title,body].
    #[arg(long, value_name = "F,F", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    /// For keywords: the language whose stop words are not drawn, or none [default: en].
    #[arg(long, value_name = "CODE")]
    language: Option<Language>,

    /// What to deal into training, validation and test: links, so that a document may have some
    /// in each, or documents, so that training knows none of the test's [default: links].
    #[arg(long, value_name = "BY", value_parser = ["links", "documents"])]
    split: Option<String>,

    /// The share of all links to keep for training, validation and test being the same
    /// [default: all that they leave].
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,

    /// The share of validation [default: 0.1].
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,

    /// The share of test [default: 0.3].
    #[arg(long, value_name = "SHARE")]
    test: Option<f64>,

    /// Seed of everything drawn [default: 0].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Memory for sorting the events, as in 500MiB or 2GiB [default: half of what is free].
    #[arg(long, value_name = "SIZE", requires = "events", value_parser = parse_size)]
    max_memory: Option<u64>,

    #[command(flatten)]
    reading: ReadingArgs,

    /// Skip and count bad rows instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    /// How to print the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the verb.
pub fn run(args: &TaskArgs, console: &Console) -> anyhow::Result<()> {
    let import = args.import();
    let task = args.task()?;
    let report = console.run(|run| task.run(&import, &args.output, args.force, run))?;
    for warning in &report.warnings {
        console.warn(warning);
    }
    let mut out = console.out();
    match args.format {
        Format::Json => json(&mut out, &report)?,
        Format::Table => {
            import::print(&report, &args.output, &mut out)?;
            let on = match (report.about.counts.test.0, report.about.counts.validation.0) {
                (0, 0) => return Ok(out.flush()?),
                (0, _) => " --on validation",
                _ => "",
            };
            writeln!(
                out,
                "next: liken compare {} --models vsm,expansion,lsi_dt,ssi --measures RankLossAll,AP,P@10 --standard-errors{on}",
                typed(&args.output)
            )?;
        }
    }
    Ok(out.flush()?)
}

impl TaskArgs {
    fn import(&self) -> Import {
        let import = Import {
            documents: self.reading.table(Role::Documents, &self.documents),
            links: self.reading.table(Role::Links, &self.links),
            events: self.reading.table(Role::Events, &self.events),
            queries: self.reading.table(Role::Queries, &self.queries),
            doc_text: self.reading.doc_text(),
            max_memory: self.max_memory,
            lenient: self.lenient,
            ..Import::default()
        };
        self.reading.check(&import);
        import
    }

    fn task(&self) -> anyhow::Result<TaskParams> {
        let usual = TaskParams::default();
        Ok(TaskParams {
            kind: named(&self.kind)?,
            words: self.words,
            fields: self.fields.clone().unwrap_or(usual.fields),
            language: self.language.unwrap_or(usual.language),
            split: self.split.as_deref().map_or(Ok(usual.split), named)?,
            share: self.share,
            validation: self.validation.unwrap_or(usual.validation),
            test: self.test.unwrap_or(usual.test),
            seed: self.seed.unwrap_or(usual.seed),
        })
    }
}
