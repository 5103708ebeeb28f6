//! `liken rank predict`: scores the rows of a table.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use liken::eval::Ties;
use liken::rank::{FeatureTable, Ranker, csv_cell, order};

use super::table::{TableArgs, check_apart, note_names, warn_of_lacking};
use crate::console::Console;
use crate::runs::{RunFile, check_output, check_tag};

/// Score the rows of a table.
#[derive(Args)]
#[command(after_help = "\
Scores are written one per line, in the order of the table's rows; --as run writes a TREC run, --as
contributions the contribution of each feature to each score (CSV; the columns and `bias` add up to the score).
A feature of the ranker that the table does not have is 0 in a LETOR file, else missing (with a
warning); other features of the table are ignored. The ranker may be a LightGBM text model.

Examples:
  liken rank predict ranker test.txt -o scores.txt
  liken rank predict ranker test.txt --as run -o test.trec
  liken rank predict lightgbm.txt test.csv --as contributions -o why.csv")]
pub struct PredictArgs {
    /// Ranker folder, or a LightGBM model file.
    ranker: PathBuf,

    /// Table to score; grades are not needed.
    table: PathBuf,

    /// File to write; - for standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Output format.
    #[arg(long = "as", value_enum, default_value_t)]
    write: Output,

    /// Name of the run, in its last column [default: the method].
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,

    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    tables: TableArgs,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One score per line.
    #[default]
    Scores,
    /// A TREC run, each query's documents by score.
    Run,
    /// The contribution of each feature to each score.
    Contributions,
}

pub fn run(args: &PredictArgs, console: &Console) -> anyhow::Result<()> {
    check_tag(args.tag.as_deref())?;
    check_output(&args.output, args.force)?;
    check_apart(&args.output, &[&args.table, &args.ranker])?;
    let ranker = console.run(|_| Ranker::open(&args.ranker))?;
    let table = args.tables.read_ungraded(&args.table, console)?;
    note_names(&ranker, &table, console);
    let scored = console.run(|_| ranker.score(&table))?;
    warn_of_lacking(&args.table, &scored.lacking, &table, console);
    match args.write {
        Output::Scores => console.write_to(&args.output, |out| {
            let mut scores = table.in_input_order(&scored.scores).into_iter();
            Ok(scores.try_for_each(|score| writeln!(out, "{score}"))?)
        }),
        Output::Contributions => contributions(args, &ranker, &table, console),
        Output::Run => {
            let tag = args.tag.as_deref().unwrap_or(ranker.name());
            let mut out = RunFile::create(&args.output, tag, console)?;
            for (query, rows) in table.queries().iter().zip(table.by_query()) {
                let (docs, scores) = (&table.docs()[rows.clone()], &scored.scores[rows]);
                let by_score = order(scores, docs, Ties::DocnoDesc);
                let hit = |&at: &u32| (docs[at as usize].as_str(), scores[at as usize] as f32);
                out.ranking(query, &by_score.iter().map(hit).collect::<Vec<_>>())?;
            }
            Ok(out.finish()?)
        }
    }
}

fn contributions(
    args: &PredictArgs,
    ranker: &Ranker,
    table: &FeatureTable,
    console: &Console,
) -> anyhow::Result<()> {
    use rayon::prelude::*;
    let (prepared, _) = ranker.prepared(table)?;
    let all: Vec<Vec<f64>> = console.run(|_| {
        let rows = (0..prepared.n_rows()).into_par_iter();
        Ok(rows.map(|row| ranker.scorer().contributions(prepared.row(row))).collect())
    })?;
    let order = table.in_input_order(&(0..table.n_rows()).collect::<Vec<_>>());
    let query_of: Vec<usize> =
        table.by_query().enumerate().flat_map(|(query, rows)| rows.map(move |_| query)).collect();
    console.write_to(&args.output, |out| {
        let features = ranker.about.features.iter().map(|name| csv_cell(name));
        let features: Vec<String> = features.collect();
        writeln!(out, "query,doc,score,{},bias", features.join(","))?;
        for &row in &order {
            let parts: Vec<String> = all[row].iter().map(ToString::to_string).collect();
            let score: f64 = ranker.scorer().score(prepared.row(row));
            let query = csv_cell(&table.queries()[query_of[row]]);
            writeln!(out, "{query},{},{score},{}", csv_cell(&table.docs()[row]), parts.join(","))?;
        }
        Ok(())
    })
}
