//! `liken import`: tables or a BEIR folder → a dataset folder, and a report of the rows that were kept
//! and dropped.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::data::{EventRules, Import, ImportReport, RelevanceSource, SplitBy, is_beir};

use crate::console::{Console, usage};
use crate::input_tables::InputTableArgs;
use crate::output::{Format, Grid, TableFormat, counted, grouped, typed};
use crate::render::in_flags;
use crate::settings::choice;
use crate::size::parse_size;
use crate::table_role::Role;

const EXAMPLES: &str = "\
Tables are TSV, CSV, JSON lines or Parquet by their ending, and may be compressed (.gz, .zst; not
Parquet); - is standard input. The first line names the columns:
  clicks     query, doc, clicks (without it, each line is one click) or a signed weight, [split]
  links      query, doc, [weight], [split]: pairs that are not clicks; --min-clicks keeps all
  events     query, doc, [time], [user], [session], [page], [rank], [clicked]: a raw log, one
             line for each document clicked or shown
  documents  id, title, body, url, class, and any other field, which is kept
  queries    id, text, [split]: the other tables then name queries by id
  judgments  query, doc, grade, [split]
In TSV every tab separates and quotation marks have no meaning; CSV is quoted as usual. In JSON
lines, _id and text are read as id and body, and a field that is an object of numbers is a bag of
counts; a column may be a path (title=labels.pt), and a path through a list of objects
(doc=results.id) makes a row of each.
Other formats (--input-format TABLE:FORMAT, or detected by their beginning):
  json   an array of objects, or objects one after another
  smart  documents and queries (.I .T .W), judgments (query doc code)
  trec   documents (<DOC>), queries (<top>), judgments (qrels: query 0 doc grade)
  ldac   documents (n term:count …, with --vocabulary), links (n doc doc …, line = query)
  lines  documents or queries, one per line, numbered from 0; as links: line n links query n to doc n
Text is UTF-8 or, where its bytes leave no doubt, another encoding; --encoding sets it.

Examples:
  liken import --clicks clicks.tsv --documents documents.jsonl -o data
  liken import --clicks log.tsv.gz --columns query=q,doc=url,clicks=n --min-clicks 1 -o data
  liken import --clicks log.csv --no-header --columns query=0,doc=3 -o data
  zcat log.gz | liken import --clicks - --input-format tsv --documents docs.csv -o data
  liken import --clicks c.tsv --documents d.tsv --columns documents:id=docno,body=content -o data
  liken import --clicks c.tsv --documents d.jsonl --judgments grades.tsv -o data
  liken import --events log.tsv.gz --documents d.jsonl --min-users 5 --half-life 30 -o data
  liken import --events log.tsv.gz --split time --test-from 2026-11-01 --max-memory 2GiB -o data
  liken import --events today.tsv --append data
  liken import --documents cran.all.1400 --queries cran.qry --judgments cranqrel \\
    --columns queries:id=position --grades 1=4,2=3,3=2,4=1,-1=0 -o data
  liken import --judgments pairs.txt --input-format tsv --encoding gb18030 --no-header \\
    --columns judgments:query=0,doc=1,grade=2 --doc-text title --split queries -o data
  liken import --clicks orcas.tsv.gz --preset orcas -o data
  liken import beir nfcorpus -o data";

/// Import click logs, documents and judgments into a dataset.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// A BEIR folder, alone or after the word `beir`.
    #[arg(value_name = "FOLDER", num_args = 0..=2,
        required_unless_present_any = ["clicks", "links", "events", "judgments", "documents"],
        conflicts_with_all = ["clicks", "links", "events", "documents", "queries", "judgments"])]
    source: Vec<PathBuf>,

    /// Clicks: query, doc and number of clicks.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// A raw log: one line for each document that was shown or clicked.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Pairs of query and document that are not clicks.
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,

    /// Texts of the documents.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// Texts of the queries, if the other tables hold ids.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Relevance judgments: query, doc and grade.
    #[arg(long, value_name = "FILE")]
    judgments: Option<PathBuf>,

    /// Dataset folder to write [default: with --append, that dataset].
    #[arg(long, short, value_name = "FOLDER", required_unless_present = "append")]
    output: Option<PathBuf>,

    /// Add the events to this dataset, which must be made from events; options that are not given
    /// are those of the dataset.
    #[arg(long, value_name = "DATASET", requires = "events")]
    append: Option<PathBuf>,

    /// Replace the folder if it exists.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    tables: InputTableArgs,

    /// Rule of the split into training, validation and test [default: given, if a table has a column
    /// split; else judgments, if there are any; else queries].
    #[arg(long, value_name = "BY",
        value_parser = choice::<SplitBy>(SplitBy::ALL.map(SplitBy::name)))]
    split: Option<SplitBy>,

    /// Share of validation [default: 0.1; half of the judged queries].
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,

    /// Share of test [default: 0.1; half of the judged queries].
    #[arg(long, value_name = "SHARE")]
    test: Option<f64>,

    /// Random seed of the split [default: 0].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Keep training pairs with at least N clicks; 1 keeps all [default: 4, if the source counts
    /// clicks].
    #[arg(long, value_name = "N")]
    min_clicks: Option<u32>,

    #[command(flatten)]
    events_args: EventsArgs,

    /// Skip and count bad rows instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    /// Output format of the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Flags for raw logs.
#[derive(Args)]
#[command(next_help_heading = "Raw logs (--events)")]
struct EventsArgs {
    /// Drop queries of fewer than N different users: a query of one person may identify that person.
    #[arg(long, value_name = "N", requires = "events")]
    min_users: Option<u32>,

    /// Count at most N clicks of one user on one document for one query.
    #[arg(long, value_name = "N", requires = "events")]
    max_per_user: Option<u32>,

    /// Drop users with more than N events, as robots.
    #[arg(long, value_name = "N", requires = "events")]
    max_user_events: Option<u64>,

    /// Half-life of the weight of a click, in days.
    #[arg(long, value_name = "DAYS", requires = "events")]
    half_life: Option<f64>,

    /// With --split time: validation begins here [default: by its share of the clicks].
    #[arg(long, value_name = "TIME", requires = "events")]
    validation_from: Option<String>,

    /// With --split time: test begins here [default: by its share of the clicks].
    #[arg(long, value_name = "TIME", requires = "events")]
    test_from: Option<String>,

    /// Memory for sorting the log, such as 500MiB or 2GiB; a larger log is sorted in files, with the
    /// same result [default: half of the free memory].
    #[arg(long, value_name = "SIZE", requires = "events", value_parser = parse_size)]
    max_memory: Option<u64>,
}

pub fn run(args: &ImportArgs, console: &Console) -> anyhow::Result<()> {
    let import = args.import()?;
    // Appending replaces the whole dataset, after everything succeeded.
    let in_place = args.append.is_some() && (args.output.is_none() || args.output == args.append);
    let force = args.force || in_place;
    let report = console.run(|run| import.run(args.output(), force, run))?;
    report.warnings.iter().for_each(|warning| console.warn(warning));
    console.report(args.format, &report, |out| {
        print(&report, args.output(), out)?;
        if report.filter.as_ref().is_some_and(|filter| filter.is_drastic()) {
            let line = unfiltered(std::env::args_os());
            writeln!(out, "to keep all training pairs, type:\n  {line}")?;
        }
        Ok(())
    })
}

impl ImportArgs {
    fn import(&self) -> anyhow::Result<Import> {
        let import = Import {
            beir: self.beir()?,
            clicks: self.tables.table(Role::Clicks, &self.clicks),
            documents: self.tables.table(Role::Documents, &self.documents),
            queries: self.tables.table(Role::Queries, &self.queries),
            judgments: self.tables.table(Role::Judgments, &self.judgments),
            links: self.tables.table(Role::Links, &self.links),
            events: self.tables.table(Role::Events, &self.events),
            rules: EventRules {
                min_users: self.events_args.min_users,
                max_per_user: self.events_args.max_per_user,
                max_user_events: self.events_args.max_user_events,
                half_life: self.events_args.half_life,
            },
            append: self.append.clone(),
            validation_from: self.events_args.validation_from.clone(),
            test_from: self.events_args.test_from.clone(),
            max_memory: self.events_args.max_memory,
            doc_text: self.tables.doc_text.clone(),
            split: self.split,
            validation: self.validation,
            test: self.test,
            seed: self.seed,
            min_clicks: self.min_clicks,
            lenient: self.lenient,
        };
        self.tables.check(&import)?;
        Ok(import)
    }

    fn output(&self) -> &Path {
        self.output.as_deref().or(self.append.as_deref()).unwrap_or(Path::new(""))
    }

    fn beir(&self) -> anyhow::Result<Option<PathBuf>> {
        match self.source.as_slice() {
            [kind, folder] if kind.as_os_str() == "beir" => Ok(Some(folder.clone())),
            [kind, _] => Err(usage(format!("{}: expected beir before a folder", kind.display()))),
            [kind] if kind.as_os_str() == "beir" && !is_beir(kind) => {
                Err(usage("beir: expected a folder after it: liken import beir FOLDER -o OUT"))
            }
            [file] if file.is_file() => Err(usage(format!(
                "{}: expected a BEIR folder, found a file; name its table: --clicks, --links, --documents, …",
                file.display()
            ))),
            sources => Ok(sources.first().cloned()),
        }
    }
}

/// Prints the numbers of rows that were read, kept, dropped and written to `output`.
pub fn print(report: &ImportReport, output: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let mut read = Grid::new(["read", "as", "rows", "kept", "dropped"]).left(&[1]);
    for table in &report.tables {
        let numbers = [table.rows, table.kept, table.rows - table.kept].map(grouped);
        read.row([table.name.clone(), table.role.clone()].into_iter().chain(numbers));
    }
    read.write(out, TableFormat::Table)?;
    writeln!(out)?;

    let about = &report.about;
    let evidence = match about.evidence {
        RelevanceSource::Judgments => "judgments",
        RelevanceSource::HeldOutClicks => "held-out clicks",
    };
    let mut parts = Grid::new(["part", "queries", "pairs", "from"]).left(&[3]);
    let has = |role: &str| about.sources.iter().any(|source| source.role == role);
    let learnt = match report.training {
        (_, 0) => "nothing",
        _ if has("clicks") || has("events") => "clicks",
        _ if has("links") || !has("judgments") => "links",
        _ => "judged pairs",
    };
    for (name, (queries, pairs), from) in [
        ("training", report.training, learnt),
        ("validation", about.counts.validation, evidence),
        ("test", about.counts.test, evidence),
    ] {
        parts.row([name.to_owned(), grouped(queries), grouped(pairs), from.to_owned()]);
    }
    parts.write(out, TableFormat::Table)?;
    writeln!(out)?;

    for table in &report.tables {
        for dropped in &table.dropped {
            let rows = counted(dropped.count, "row");
            writeln!(out, "dropped {rows} of {}: {}", table.name, dropped.why)?;
            for sample in &dropped.samples {
                writeln!(out, "  {sample}")?;
            }
        }
    }
    for dropped in &report.dropped {
        writeln!(out, "dropped {} {}", grouped(dropped.count), dropped.why)?;
    }
    for note in &report.notes {
        writeln!(out, "note: {}", in_flags(note))?;
    }
    if report.sort_files > 0 {
        let files = counted(report.sort_files, "file");
        writeln!(out, "the log did not fit into memory and was sorted in {files}")?;
    }
    writeln!(
        out,
        "wrote {}: {}, {}, split by {}",
        output.display(),
        counted(about.counts.queries, "query"),
        counted(about.counts.documents, "document"),
        about.split.by.name(),
    )?;
    Ok(())
}

/// The command line without the click filter.
fn unfiltered(line: impl Iterator<Item = OsString>) -> String {
    let mut words = vec!["liken".to_owned()];
    let mut skip = false;
    for word in line.skip(1).map(|word| word.to_string_lossy().into_owned()) {
        if std::mem::take(&mut skip) || word.starts_with("--min-clicks=") || word == "--force" {
            continue;
        }
        if word == "--min-clicks" {
            skip = true;
            continue;
        }
        words.push(typed(Path::new(&word)));
    }
    format!("{} --min-clicks 1 --force", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_type_has_no_filter_and_can_be_pasted() {
        let typed =
            ["/bin/liken", "import", "--clicks", "my log.tsv", "--min-clicks", "9", "-o", "d"];
        let line = unfiltered(typed.into_iter().map(OsString::from));
        assert_eq!(line, "liken import --clicks 'my log.tsv' -o d --min-clicks 1 --force");
    }
}
