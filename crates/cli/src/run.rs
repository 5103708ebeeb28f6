//! `liken run`: many queries at once, written as a TREC run file.

use std::path::PathBuf;

use clap::Args;
use liken::ranking::share_of_ties;

use crate::console::Console;
use crate::runs::{RunFile, check_output, check_stdin, check_tag, read_queries};
use crate::unseen::UnseenArgs;

/// Rank documents for many queries and write a TREC run file.
#[derive(Args)]
#[command(after_help = "\
The file of queries has one query a line, either `id<TAB>text` or just the text (then the
line's number is its id); .gz, .zst and - (standard input) are fine.

Examples:
  liken run model --queries queries.tsv -k 1000 -o run.trec
  liken run model --queries queries.tsv --documents new.jsonl -o run.trec
  head -5 queries.tsv | liken run model --queries - -k 10 -o -")]
pub struct RunArgs {
    /// Model folder.
    model: PathBuf,

    /// File of queries.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    #[command(flatten)]
    unseen: UnseenArgs,

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
    check_tag(args.tag.as_deref())?;
    check_output(&args.output, args.force)?;
    check_stdin([&args.queries].into_iter().chain(args.unseen.path()))?;
    let (model, _) = args.unseen.open(&args.model, console)?;
    let queries = console.run(|run| read_queries(&args.queries, run))?;
    let tag = args.tag.clone().unwrap_or_else(|| model.about.name.clone());
    let mut out = RunFile::create(&args.output, &tag, console)?;
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
                    out.query(id, &hits, &model.counts.doc_ids)?;
                }
                None => unread.push(text.clone()),
            }
        }
    }
    out.finish()?;
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
