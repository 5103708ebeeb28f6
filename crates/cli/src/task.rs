//! `liken task`: makes a retrieval task from documents and links, or from a log of pages and adverts.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::data::{Import, TaskKind, TaskParams, TaskSplit};
use liken::text::Language;

use crate::console::Console;
use crate::import;
use crate::input_tables::InputTableArgs;
use crate::output::{Format, typed};
use crate::settings::choice;
use crate::size::parse_size;
use crate::table_role::Role;

const EXAMPLES: &str = "\
Tables have the formats of `liken import` (see its --help). Links have the columns query and doc, both
ids of documents; events have query, doc, rank, and optionally clicked, page, session, user and time.
The result is a dataset folder.

The tasks:
  links     given a document, find the documents that it links to; it is not its own candidate
  keywords  the same, given --words random words of the document
  content   given a page, find the adverts that were clicked on it; only clicks at rank 1 count, and
            impressions without a click are dropped

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
    #[arg(value_name = "TASK", value_parser = choice::<TaskKind>(["links", "keywords", "content"]))]
    kind: TaskKind,

    /// Texts of the documents.
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

    /// For content: texts of the pages, if the events name pages by id.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Dataset folder to write.
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,

    /// Replace the folder if it exists.
    #[arg(long)]
    force: bool,

    /// For keywords: how many words a query has [default: 10].
    #[arg(long, value_name = "K")]
    words: Option<usize>,

    /// Fields of a document whose text is the query [default: title,body].
    #[arg(long, value_name = "F,F", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    /// For keywords: language whose stop words are not drawn, or none [default: en].
    #[arg(long, value_name = "CODE")]
    language: Option<Language>,

    /// Rule of the split into training, validation and test: by links, so that a document may have links
    /// in each part, or by documents, so that those of test have none in training [default: links].
    #[arg(long, value_name = "BY", value_parser = choice::<TaskSplit>(["links", "documents"]))]
    split: Option<TaskSplit>,

    /// Share of all links to keep for training; validation and test do not change [default: all that
    /// are in neither].
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,

    /// Share of validation [default: 0.1].
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,

    /// Share of test [default: 0.3].
    #[arg(long, value_name = "SHARE")]
    test: Option<f64>,

    /// Random seed [default: 0].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Memory for sorting the events, such as 500MiB or 2GiB [default: half of the free memory].
    #[arg(long, value_name = "SIZE", requires = "events", value_parser = parse_size)]
    max_memory: Option<u64>,

    #[command(flatten)]
    tables: InputTableArgs,

    /// Skip and count bad rows instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    /// Output format of the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &TaskArgs, console: &Console) -> anyhow::Result<()> {
    let import = args.import()?;
    let task = args.task();
    let report = console.run(|run| task.run(&import, &args.output, args.force, run))?;
    report.warnings.iter().for_each(|warning| console.warn(warning));
    console.report(args.format, &report, |out| {
        import::print(&report, &args.output, out)?;
        let on = match (report.about.counts.test.0, report.about.counts.validation.0) {
            (0, 0) => return Ok(()),
            (0, _) => " --on validation",
            _ => "",
        };
        Ok(writeln!(
            out,
            "next: liken compare {} --models vsm,expansion,lsi_dt,ssi --measures RankLossAll,AP,P@10 --standard-errors{on}",
            typed(&args.output)
        )?)
    })
}

impl TaskArgs {
    fn import(&self) -> anyhow::Result<Import> {
        let import = Import {
            documents: self.tables.table(Role::Documents, &self.documents),
            links: self.tables.table(Role::Links, &self.links),
            events: self.tables.table(Role::Events, &self.events),
            queries: self.tables.table(Role::Queries, &self.queries),
            doc_text: self.tables.doc_text.clone(),
            max_memory: self.max_memory,
            lenient: self.lenient,
            ..Import::default()
        };
        self.tables.check(&import)?;
        Ok(import)
    }

    fn task(&self) -> TaskParams {
        let usual = TaskParams::default();
        TaskParams {
            kind: self.kind,
            words: self.words,
            fields: self.fields.clone().unwrap_or(usual.fields),
            language: self.language.unwrap_or(usual.language),
            split: self.split.unwrap_or(usual.split),
            share: self.share,
            validation: self.validation.unwrap_or(usual.validation),
            test: self.test.unwrap_or(usual.test),
            seed: self.seed.unwrap_or(usual.seed),
        }
    }
}
