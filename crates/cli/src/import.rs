//! `liken import`: tables or a BEIR folder → a dataset folder, and a report of what was kept
//! and dropped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use liken::data::{Dropped, EventRules, Evidence, Import, ImportReport, SplitBy, Table, is_beir};

use crate::console::Console;
use crate::import_formats::FormatArgs;
use crate::output::{Format, Grid, TableFormat as Style, grouped, json};
use crate::render::in_flags;
use crate::size::parse_size;

const EXAMPLES: &str = "\
Tables are TSV, CSV, JSON lines or Parquet by their ending, packed (.gz, .zst; not Parquet) or
not; - is standard input. The first line names the columns:
  clicks     query, doc, clicks (else each line is one click) or a signed weight, [split]
  links      query, doc, [weight], [split]: pairs that no click filter touches
  events     query, doc, [time], [user], [session], [page], [rank], [clicked]: a raw log, one
             line for each document clicked or shown
  documents  id, title, body, url, class, and anything else, which is kept
  queries    id, text, [split]: the other tables then name queries by id
  judgments  query, doc, grade, [split]
In TSV a tab always separates and a quotation mark is a character like any other; CSV is
quoted as usual. In JSON lines _id and text stand for id and body, and a field that is an
object of numbers is a bag of counts; a column may be a path (title=labels.pt), and a path
through a list of objects (doc=results.id) makes a row of each.
Other formats (--input-format TABLE:FORMAT, or recognised by their beginning):
  json   an array of objects, or objects one after another
  smart  documents and queries (.I .T .W), judgments (query doc code)
  trec   documents (<DOC>), queries (<top>), judgments (qrels: query 0 doc grade)
  ldac   documents (n term:count …, with --vocabulary), links (n doc doc …, line = query)
  lines  documents or queries, one a line, numbered from 0; as links: line n of both belong together
Text is UTF-8, or what it surely is by its bytes; --encoding says it.

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

/// Turn click logs, documents and judgments into a dataset.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// A BEIR folder, alone or after the word `beir`.
    #[arg(value_name = "FOLDER", num_args = 0..=2,
        required_unless_present_any = ["clicks", "links", "events", "judgments", "documents"],
        conflicts_with_all = ["clicks", "links", "events", "documents", "queries", "judgments"])]
    source: Vec<PathBuf>,

    /// Clicks: query, doc, and how many.
    #[arg(long, value_name = "FILE")]
    clicks: Option<PathBuf>,

    /// A raw log: one line for each document that somebody clicked or was shown.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Pairs of query and document that are not clicks.
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,

    /// The documents' texts.
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,

    /// The queries' texts, where the other tables hold ids.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// Grades that people gave.
    #[arg(long, value_name = "FILE")]
    judgments: Option<PathBuf>,

    /// The folder to write [default: with --append, that dataset].
    #[arg(long, short, value_name = "FOLDER", required_unless_present = "append")]
    output: Option<PathBuf>,

    /// Add the events to this dataset, which was made from events, too; settings that are not
    /// named are its own.
    #[arg(long, value_name = "DATASET", requires = "events")]
    append: Option<PathBuf>,

    /// Replace the folder if it exists.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    reading: ReadingArgs,

    /// What to deal into training, validation and test [default: given, where the source says
    /// it; else judgments, if there are any; else queries].
    #[arg(long, value_name = "BY", value_parser = split_parser())]
    split: Option<SplitBy>,

    /// The share of validation [default: 0.1; half of the judged queries].
    #[arg(long, value_name = "SHARE")]
    validation: Option<f64>,

    /// The share of test [default: 0.1; half of the judged queries].
    #[arg(long, value_name = "SHARE")]
    test: Option<f64>,

    /// The seed of the split [default: 0].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Keep training pairs with at least so many clicks; 1 keeps all [default: 4, where the
    /// source counts clicks].
    #[arg(long, value_name = "N")]
    min_clicks: Option<u32>,

    #[command(flatten)]
    events_args: EventsArgs,

    /// Skip and count bad rows instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    /// How to print the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How the tables are read.
#[derive(Args)]
pub struct ReadingArgs {
    /// Which column is which: our name = name in the table, or position from 0. Of the clicks,
    /// unless another table is named first.
    #[arg(long, value_name = "[TABLE:]OURS=THEIRS,…", value_parser = parse_columns)]
    columns: Vec<Columns>,

    /// The first line is already a row; of all tables, or of those named.
    #[arg(long, value_name = "TABLE,…", value_enum, value_delimiter = ',',
        num_args = 0.., require_equals = true)]
    no_header: Option<Vec<Role>>,

    #[command(flatten)]
    formats: FormatArgs,
}

/// How a raw log is read.
#[derive(Args)]
#[command(next_help_heading = "Raw logs (--events)")]
struct EventsArgs {
    /// Leave out queries of fewer different users: what one person asks may name that person.
    #[arg(long, value_name = "N", requires = "events")]
    min_users: Option<u32>,

    /// Count at most so many clicks of one user on one document for one query.
    #[arg(long, value_name = "N", requires = "events")]
    max_per_user: Option<u32>,

    /// Leave out users with more events than this, as robots.
    #[arg(long, value_name = "N", requires = "events")]
    max_user_events: Option<u64>,

    /// A click counts half after so many days.
    #[arg(long, value_name = "DAYS", requires = "events")]
    half_life: Option<f64>,

    /// With --split time: validation begins here [default: by its share of the clicks].
    #[arg(long, value_name = "TIME", requires = "events")]
    validation_from: Option<String>,

    /// With --split time: test begins here [default: by its share of the clicks].
    #[arg(long, value_name = "TIME", requires = "events")]
    test_from: Option<String>,

    /// Memory for sorting the log, as in 500MiB or 2GiB; what does not fit goes through files,
    /// and the dataset is the same [default: half of what is free].
    #[arg(long, value_name = "SIZE", requires = "events", value_parser = parse_size)]
    max_memory: Option<u64>,
}

/// A table, on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    Clicks,
    Events,
    Links,
    Documents,
    Queries,
    Judgments,
}

/// One `--columns`.
#[derive(Clone)]
pub struct Columns {
    role: Role,
    names: BTreeMap<String, String>,
}

/// Runs the verb.
pub fn run(args: &ImportArgs, console: &Console) -> anyhow::Result<()> {
    let import = args.import();
    // A dataset that is appended to is replaced as a whole, once everything went well.
    let in_place = args.append.is_some() && (args.output.is_none() || args.output == args.append);
    let force = args.force || in_place;
    let report = console.run(|run| import.run(args.output(), force, run))?;
    for warning in &report.warnings {
        console.warn(warning);
    }
    let mut out = console.out();
    match args.format {
        Format::Json => json(&mut out, &report)?,
        Format::Table => args.print(&report, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

impl ImportArgs {
    fn import(&self) -> Import {
        let import = Import {
            beir: self.beir(),
            clicks: self.reading.table(Role::Clicks, &self.clicks),
            documents: self.reading.table(Role::Documents, &self.documents),
            queries: self.reading.table(Role::Queries, &self.queries),
            judgments: self.reading.table(Role::Judgments, &self.judgments),
            links: self.reading.table(Role::Links, &self.links),
            events: self.reading.table(Role::Events, &self.events),
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
            doc_text: self.reading.doc_text(),
            split: self.split,
            validation: self.validation,
            test: self.test,
            seed: self.seed,
            min_clicks: self.min_clicks,
            lenient: self.lenient,
        };
        self.reading.check(&import);
        import
    }

    fn output(&self) -> &Path {
        self.output.as_deref().or(self.append.as_deref()).unwrap_or(Path::new(""))
    }

    fn beir(&self) -> Option<PathBuf> {
        match self.source.as_slice() {
            [kind, folder] if kind.as_os_str() == "beir" => Some(folder.clone()),
            [kind, _] => {
                usage(&format!("{}: not a kind of source; the kinds are: beir", kind.display()))
            }
            [kind] if kind.as_os_str() == "beir" && !is_beir(kind) => {
                usage("which folder? liken import beir FOLDER -o OUT")
            }
            [file] if file.is_file() => usage(&format!(
                "{}: is a file; say what it holds: --clicks, --links, --documents, …",
                file.display()
            )),
            sources => sources.first().cloned(),
        }
    }

    fn print(&self, report: &ImportReport, out: &mut impl Write) -> anyhow::Result<()> {
        print(report, self.output(), out)?;
        if report.filter.as_ref().is_some_and(|filter| filter.is_drastic()) {
            writeln!(
                out,
                "to keep all training pairs, type:\n  {}",
                unfiltered(std::env::args_os())
            )?;
        }
        Ok(())
    }
}

impl ReadingArgs {
    /// The field whose text stands for documents.
    pub fn doc_text(&self) -> Option<String> {
        self.formats.doc_text.clone()
    }

    /// The table of `role` in the file at `path`, if there is one.
    pub fn table(&self, role: Role, path: &Option<PathBuf>) -> Option<Table> {
        let mut table = Table::new(path.as_ref()?);
        self.formats.apply(role, &mut table);
        let no_header = self.no_header.as_ref();
        table.no_header |= no_header.is_some_and(|roles| roles.is_empty() || roles.contains(&role));
        for columns in self.columns.iter().filter(|columns| columns.role == role) {
            table.columns.extend(columns.names.clone());
        }
        Some(table)
    }

    /// Ends the program if something is said of a table that `import` does not have.
    pub fn check(&self, import: &Import) {
        let tables = [
            (Role::Clicks, &import.clicks),
            (Role::Events, &import.events),
            (Role::Documents, &import.documents),
            (Role::Queries, &import.queries),
            (Role::Judgments, &import.judgments),
            (Role::Links, &import.links),
        ];
        let given = |role| tables.iter().any(|(known, table)| *known == role && table.is_some());
        if let Some((role, flag)) = self.formats.missing(given) {
            let name = role.to_possible_value().map(|value| value.get_name().to_owned());
            let name = name.unwrap_or_default();
            usage(&format!("{flag} is for the {name}, but there is no --{name}"));
        }
        for (role, table) in tables {
            let named = self.columns.iter().any(|columns| columns.role == role);
            if named && table.is_none() {
                let name = role.to_possible_value().map(|value| value.get_name().to_owned());
                let name = name.unwrap_or_default();
                usage(&format!(
                    "--columns is for the {name}, but there is no --{name}; say which table it is for: --columns TABLE:OURS=THEIRS"
                ));
            }
        }
    }
}

/// Prints what was read, kept and dropped, and what was written to `output`.
pub fn print(report: &ImportReport, output: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let mut read = Grid::new(["read", "as", "rows", "kept", "dropped"]).left(&[1]);
    for table in &report.tables {
        let numbers = [table.rows, table.kept, table.rows - table.kept].map(grouped);
        read.row([table.name.clone(), table.role.clone()].into_iter().chain(numbers));
    }
    read.write(out, Style::Table)?;
    writeln!(out)?;

    let about = &report.about;
    let evidence = match about.evidence {
        Evidence::Judgments => "judgments",
        Evidence::HeldOutClicks => "held-out clicks",
    };
    let mut parts = Grid::new(["part", "queries", "pairs", "from"]).left(&[3]);
    let read = |role: &str| about.sources.iter().any(|source| source.role == role);
    let learnt = match report.training {
        (_, 0) => "nothing",
        _ if read("clicks") || read("events") => "clicks",
        _ if read("links") || !read("judgments") => "links",
        _ => "judged pairs",
    };
    for (name, (queries, pairs), from) in [
        ("training", report.training, learnt),
        ("validation", about.counts.validation, evidence),
        ("test", about.counts.test, evidence),
    ] {
        parts.row([name.to_owned(), grouped(queries), grouped(pairs), from.to_owned()]);
    }
    parts.write(out, Style::Table)?;
    writeln!(out)?;

    for table in &report.tables {
        for dropped in &table.dropped {
            writeln!(
                out,
                "dropped {} rows of {}: {}",
                grouped(dropped.count),
                table.name,
                dropped.why
            )?;
            samples(dropped, out)?;
        }
    }
    for dropped in &report.dropped {
        writeln!(out, "dropped {} {}", grouped(dropped.count), dropped.why)?;
    }
    for note in &report.notes {
        writeln!(out, "note: {}", in_flags(note))?;
    }
    if report.sort_files > 0 {
        writeln!(
            out,
            "the log did not fit into memory and was sorted in {} files",
            grouped(report.sort_files)
        )?;
    }
    writeln!(
        out,
        "wrote {}: {} queries, {} documents, split by {}",
        output.display(),
        grouped(about.counts.queries),
        grouped(about.counts.documents),
        about.split.by.name(),
    )?;
    Ok(())
}

fn samples(dropped: &Dropped, out: &mut impl Write) -> anyhow::Result<()> {
    for sample in &dropped.samples {
        writeln!(out, "  {sample}")?;
    }
    Ok(())
}

/// The line that was typed, without the click filter.
fn unfiltered(typed: impl Iterator<Item = OsString>) -> String {
    let mut words = vec!["liken".to_owned()];
    let mut skip = false;
    for word in typed.skip(1).map(|word| word.to_string_lossy().into_owned()) {
        if std::mem::take(&mut skip) || word.starts_with("--min-clicks=") || word == "--force" {
            continue;
        }
        if word == "--min-clicks" {
            skip = true;
            continue;
        }
        let plain = |c: char| c.is_alphanumeric() || "-_./=,:@+%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            words.push(word);
        } else {
            words.push(format!("'{}'", word.replace('\'', r"'\''")));
        }
    }
    format!("{} --min-clicks 1 --force", words.join(" "))
}

fn parse_columns(text: &str) -> Result<Columns, String> {
    let (role, names) = match text.split_once(':') {
        Some((role, names)) if !role.contains('=') => (Role::from_str(role, true)?, names),
        _ => (Role::Clicks, text),
    };
    let names = names.split(',').map(|pair| match pair.split_once('=') {
        Some((ours, theirs)) if !ours.is_empty() && !theirs.is_empty() => {
            Ok((ours.trim().to_owned(), theirs.to_owned()))
        }
        _ => Err(format!("{pair:?}: expected OURS=THEIRS, as in query=0 or query=q")),
    });
    Ok(Columns { role, names: names.collect::<Result<_, _>>()? })
}

fn split_parser() -> impl TypedValueParser<Value = SplitBy> {
    PossibleValuesParser::new(SplitBy::ALL.map(SplitBy::name)).map(|name| {
        let named = SplitBy::ALL.into_iter().find(|by| by.name() == name);
        named.unwrap_or(SplitBy::Queries)
    })
}

/// Ends the program as for any other wrong usage.
fn usage(message: &str) -> ! {
    crate::Cli::command().error(ErrorKind::ValueValidation, message).exit()
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
