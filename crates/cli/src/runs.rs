//! Run files, judgments and files of queries, as several subcommands read or write them.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use liken::Run;
use liken::data::{Dropped, text_lines};
use liken::eval::trec::{Qrels, TrecRun, read_diversity_qrels, read_qrels, read_run, write_run};
use liken::file::NewFile;
use liken::ranking::Hit;

use crate::console::{Console, usage};
use crate::output::{counted, is_stdout};

/// Flags of commands that write a run.
#[derive(Args)]
pub struct RunArgs {
    /// Run file to write; - for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Name of the run, in its last column [default: the name of the model or method].
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Replace the run file if it exists.
    #[arg(long)]
    force: bool,
}

impl RunArgs {
    /// Refuses a tag or a file that cannot be written, before any work.
    pub fn check(&self) -> anyhow::Result<()> {
        check_tag(self.tag.as_deref())?;
        check_output(&self.output, self.force)
    }

    /// Starts the run; `name` is its tag unless `--tag` gives one.
    pub fn create<'a>(&self, name: &str, console: &'a Console) -> anyhow::Result<RunFile<'a>> {
        RunFile::create(&self.output, self.tag.as_deref().unwrap_or(name), console)
    }
}

/// Refuses an output that cannot be written, before any work.
pub fn check_output(path: &Path, force: bool) -> anyhow::Result<()> {
    if !is_stdout(path) {
        NewFile::check(path, force)?;
    }
    Ok(())
}

/// Refuses a tag that cannot stand in a run.
pub fn check_tag(tag: Option<&str>) -> anyhow::Result<()> {
    let fits =
        |tag: &str| !tag.is_empty() && !tag.chars().any(|c| c.is_whitespace() || c.is_control());
    match tag {
        Some(tag) if !fits(tag) => {
            Err(usage(format!("--tag {tag:?}: expected a name without white space")))
        }
        _ => Ok(()),
    }
}

/// Refuses to read standard input (`-`) more than once.
pub fn check_stdin<'p>(files: impl IntoIterator<Item = &'p PathBuf>) -> anyhow::Result<()> {
    if files.into_iter().filter(|path| is_stdout(path)).count() > 1 {
        return Err(usage("standard input (-) can be read only once"));
    }
    Ok(())
}

/// Reads a run and warns of the lines that `lenient` skips.
pub fn read_engine_run(path: &Path, lenient: bool, console: &Console) -> liken::Result<TrecRun> {
    let (found, dropped) = console.run(|run| read_run(path, lenient, *run))?;
    warn_of_dropped(path, &dropped, console);
    Ok(found)
}

/// Reads judgments and warns of the lines that `lenient` skips.
pub fn read_judgments(path: &Path, lenient: bool, console: &Console) -> liken::Result<Qrels> {
    let (found, dropped) = console.run(|run| read_qrels(path, lenient, *run))?;
    warn_of_dropped(path, &dropped, console);
    Ok(found)
}

/// Reads judgments by subtopic and warns of the lines that `lenient` skips, and if no query has more
/// than one subtopic.
pub fn read_diversity_judgments(
    path: &Path,
    lenient: bool,
    console: &Console,
) -> liken::Result<Qrels> {
    let (found, dropped) = console.run(|run| read_diversity_qrels(path, lenient, *run))?;
    warn_of_dropped(path, &dropped, console);
    let several =
        |place: usize| found.subtopics(place).is_some_and(|judged| judged.names().len() > 1);
    if !(0..found.len()).any(several) {
        console.warn(format!(
            "{}: no query has more than one subtopic; expected qid subtopic docno grade",
            path.display()
        ));
    }
    Ok(found)
}

fn warn_of_dropped(path: &Path, dropped: &[Dropped], console: &Console) {
    for dropped in dropped {
        let lines = counted(dropped.count, "line");
        let mut text = format!("{}: {lines} skipped: {}", path.display(), dropped.why);
        if let Some(sample) = dropped.samples.first() {
            text.push_str(&format!(", for example {sample}"));
        }
        console.warn(text);
    }
}

/// A TREC run, written to standard output or to a file that appears whole or not at all.
pub struct RunFile<'a> {
    path: PathBuf,
    tag: String,
    temporary: Option<NewFile>,
    out: Box<dyn Write + 'a>,
}

impl<'a> RunFile<'a> {
    /// Starts a run at `path`; `-` is standard output.
    pub fn create(path: &Path, tag: &str, console: &'a Console) -> anyhow::Result<Self> {
        check_tag(Some(tag))?;
        let temporary = if is_stdout(path) { None } else { Some(NewFile::create(path)?) };
        let out: Box<dyn Write> = match &temporary {
            None => Box::new(console.out()),
            Some(file) => Box::new(BufWriter::new(file.writer()?)),
        };
        Ok(RunFile { path: path.to_owned(), tag: tag.to_owned(), temporary, out })
    }

    /// Writes the ranking of a query; `doc_ids` has the id of each document number.
    pub fn query(&mut self, id: &str, hits: &[Hit], doc_ids: &[String]) -> liken::Result<()> {
        write_run(&mut self.out, id, hits, doc_ids, &self.tag)
            .map_err(liken::Error::io("write", &self.path))
    }

    /// Writes the ranking of a query, given by the documents' ids.
    pub fn ranking(&mut self, id: &str, ranked: &[(&str, f32)]) -> liken::Result<()> {
        let doc_ids: Vec<String> = ranked.iter().map(|&(doc, _)| doc.to_owned()).collect();
        let hits: Vec<Hit> =
            (0..).zip(ranked).map(|(doc, &(_, score))| Hit { doc, score }).collect();
        self.query(id, &hits, &doc_ids)
    }

    /// Gives the file its name.
    pub fn finish(mut self) -> liken::Result<()> {
        self.out.flush().map_err(liken::Error::io("write", &self.path))?;
        drop(self.out);
        self.temporary.map_or(Ok(()), NewFile::commit)
    }
}

/// Reads a file of queries, one per line: `id<TAB>text`, or the text alone, whose id is then the
/// number of its line. Refuses ids that cannot stand in a run.
pub fn read_queries(path: &Path, run: &Run<'_>) -> liken::Result<Vec<(String, String)>> {
    read_queries_with(path, run, |id| {
        if id.chars().any(char::is_whitespace) {
            return Some("an id without white space before the tab");
        }
        id.starts_with('#').then_some("an id that does not begin a comment in a TREC run")
    })
}

/// [`read_queries`] with any ids.
pub fn read_named_queries(path: &Path, run: &Run<'_>) -> liken::Result<Vec<(String, String)>> {
    read_queries_with(path, run, |_| None)
}

/// Reads queries; `unfit` returns what is expected instead of an id that does not fit.
fn read_queries_with(
    path: &Path,
    run: &Run<'_>,
    unfit: impl Fn(&str) -> Option<&'static str>,
) -> liken::Result<Vec<(String, String)>> {
    let mut queries = Vec::new();
    let mut seen = HashMap::new();
    for line in text_lines(path, *run)? {
        let (number, line) = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (id, text) = match line.split_once('\t') {
            Some((id, text)) => (id.trim().to_owned(), text.to_owned()),
            None => (number.to_string(), line),
        };
        let wrong = |expected: &str, found: String| liken::Error::Line {
            path: path.to_owned(),
            line: number,
            expected: expected.to_owned(),
            found,
            advice: "give every query its own id, or write the texts without ids".into(),
        };
        if id.is_empty() {
            return Err(wrong("an id before the tab", "nothing".into()));
        }
        if let Some(expected) = unfit(&id) {
            return Err(wrong(expected, format!("{id:?}")));
        }
        if let Some(first) = seen.insert(id.clone(), number) {
            return Err(wrong("a unique id", format!("{id:?}, as in line {first}")));
        }
        queries.push((id, text));
    }
    if queries.is_empty() {
        return Err(liken::Error::Unusable {
            path: path.to_owned(),
            problem: "no queries".into(),
            advice: "write one query per line: id<TAB>text, or only the text".into(),
        });
    }
    Ok(queries)
}
