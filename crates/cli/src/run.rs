//! `liken run`: ranks documents for a file of queries and writes a TREC run.

use std::path::PathBuf;

use clap::Args;
use liken::ranking::share_of_ties;

use crate::console::Console;
use crate::output::{counted, some_of};
use crate::runs::{RunArgs, check_stdin, read_queries};
use crate::unseen::UnseenArgs;

/// Rank documents for many queries and write a TREC run file.
#[derive(Args)]
#[command(after_help = "\
The file of queries has one query per line, either `id<TAB>text` or only the text (the number of the
line is then its id). It may be compressed (.gz, .zst) or - (standard input).

Examples:
  liken run model --queries queries.tsv -k 1000 -o run.trec
  liken run model --queries queries.tsv --documents new.jsonl -o run.trec
  head -5 queries.tsv | liken run model --queries - -k 10 -o -")]
pub struct BatchArgs {
    /// Model folder.
    model: PathBuf,

    /// File of queries.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,

    #[command(flatten)]
    unseen: UnseenArgs,

    /// Documents per query.
    #[arg(short, default_value_t = 1000, value_name = "N")]
    k: usize,

    #[command(flatten)]
    run: RunArgs,
}

/// Queries ranked between two checks for Ctrl-C.
const BATCH: usize = 64;

pub fn run(args: &BatchArgs, console: &Console) -> anyhow::Result<()> {
    use rayon::prelude::*;
    args.run.check()?;
    check_stdin([&args.queries].into_iter().chain(args.unseen.path()))?;
    let (model, _) = args.unseen.open(&args.model, console)?;
    let queries = console.run(|run| read_queries(&args.queries, run))?;
    let mut out = args.run.create(&model.about.name, console)?;
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
                    // Documents that share no word with the query all score 0; they do not count as ties.
                    let scored = hits.iter().take_while(|hit| hit.score != 0.0).count();
                    tied += usize::from(share_of_ties(&hits[..scored]) > 0.5);
                    out.query(id, &hits, &model.counts.doc_ids)?;
                }
                None => unread.push(format!("{text:?}")),
            }
        }
    }
    out.finish()?;
    if tied * 10 > queries.len() {
        console.warn(format!(
            "for {tied} of {} most scores are tied; their order is that of the ids, descending",
            counted(queries.len(), "query")
        ));
    }
    if !unread.is_empty() {
        console.warn(format!(
            "analysed to nothing, so without results: {} of {}: {}",
            unread.len(),
            counted(queries.len(), "query"),
            some_of(&unread)
        ));
    }
    Ok(())
}
