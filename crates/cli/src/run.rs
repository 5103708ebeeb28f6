//! `liken run`: many queries at once, written as a TREC run file.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use liken::Run;
use liken::data::text_lines;
use liken::eval::trec::write_run;
use liken::matchers::Model;
use liken::ranking::share_of_ties;

use crate::console::Console;

/// Rank documents for many queries and write a TREC run file.
#[derive(Args)]
#[command(after_help = "\
The file of queries has one query a line, either `id<TAB>text` or just the text (then the
line's number is its id); .gz, .zst and - (standard input) are fine.

Examples:
  liken run model --queries queries.tsv -k 1000 -o run.trec
  head -5 queries.tsv | liken run model --queries - -k 10 -o -")]
pub struct RunArgs {
    /// Model folder.
    model: PathBuf,

    /// File of queries.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    /// Documents a query.
    #[arg(short, default_value_t = 1000, value_name = "N")]
    k: usize,

    /// Run file to write; - for standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The run's name in its last column [default: the model's name].
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Replace the run file if it is there.
    #[arg(long)]
    force: bool,
}

/// Queries ranked between two looks at Ctrl-C.
const BATCH: usize = 64;

pub fn run(args: &RunArgs, console: &Console) -> anyhow::Result<()> {
    use rayon::prelude::*;
    let to_stdout = args.output.as_os_str() == "-";
    if args.output.is_dir() {
        bail!("{}: is a folder, expected a file to write", args.output.display());
    }
    if !to_stdout && args.output.exists() && !args.force {
        return Err(liken::Error::Exists { path: args.output.clone() }.into());
    }
    let model = console.run(|_| Model::open(&args.model))?;
    let queries = console.run(|run| read_queries(&args.queries, run))?;
    let tag = args.tag.clone().unwrap_or_else(|| model.about.name.clone());
    if tag.chars().any(char::is_whitespace) || tag.is_empty() {
        bail!("--tag {tag:?}: expected a name without white space");
    }
    let temporary =
        if to_stdout { None } else { Some(liken::file::NewFile::create(&args.output)?) };
    let mut out: Box<dyn Write> = match &temporary {
        None => Box::new(console.out()),
        Some(file) => Box::new(BufWriter::new(file.writer()?)),
    };
    let (mut unread, mut tied) = (Vec::new(), 0);
    for (b, batch) in queries.chunks(BATCH).enumerate() {
        console.run(|run| run.step("ranking", (b * BATCH) as u64, Some(queries.len() as u64)))?;
        let ranked: Vec<_> = batch
            .par_iter()
            .map(|(id, text)| {
                let query = model.read_query_of(id, text).ok()?;
                Some(model.search(&query, args.k))
            })
            .collect();
        for ((id, text), hits) in batch.iter().zip(ranked) {
            match hits {
                Some(hits) => {
                    // Documents without a score are tied by nature; others should not be.
                    let scored = hits.iter().take_while(|hit| hit.score != 0.0).count();
                    tied += usize::from(share_of_ties(&hits[..scored]) > 0.5);
                    write_run(&mut out, id, &hits, &model.counts.doc_ids, &tag)
                        .map_err(liken::Error::io("write", &args.output))?;
                }
                None => unread.push(text.clone()),
            }
        }
    }
    out.flush().map_err(liken::Error::io("write", &args.output))?;
    drop(out);
    if let Some(file) = temporary {
        file.commit()?;
    }
    if tied * 10 > queries.len() {
        console.warn(format!(
            "for {tied} of {} queries most scores are tied; their order is that of the ids, descending",
            queries.len()
        ));
    }
    if !unread.is_empty() {
        console.warn(format!(
            "{} of {} queries analyse to nothing and have no results: {}",
            unread.len(),
            queries.len(),
            unread.iter().take(5).map(|q| format!("{q:?}")).collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(())
}

fn read_queries(path: &Path, run: &Run<'_>) -> liken::Result<Vec<(String, String)>> {
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
            advice: "give every query an id of its own, or give the texts alone".into(),
        };
        if id.is_empty() || id.chars().any(char::is_whitespace) {
            return Err(wrong("an id without white space before the tab", format!("{id:?}")));
        }
        if id.starts_with('#') {
            return Err(wrong("an id that a TREC run does not take for a comment", id));
        }
        if let Some(first) = seen.insert(id.clone(), number) {
            return Err(wrong("an id of its own", format!("{id:?}, as in line {first}")));
        }
        queries.push((id, text));
    }
    if queries.is_empty() {
        return Err(liken::Error::Unusable {
            path: path.to_owned(),
            problem: "no queries".into(),
            advice: "expected one a line: id<TAB>text, or just the text".into(),
        });
    }
    Ok(queries)
}
