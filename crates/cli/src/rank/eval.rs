//! `liken rank eval`: compares rankers on a table with grades.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::eval::{Cell, Measure, cells};
use liken::rank::{FeatureTable, Goal};
use serde_json::json;

use super::system::System;
use super::table::TableArgs;
use crate::console::{Console, usage};
use crate::output::{Grid, TableFormat, counted, json as write_json, remark};
use crate::tables::Table;
use crate::variant::VariantArgs;

/// Measure rankers on a table with grades.
#[derive(Args)]
#[command(after_help = "\
Measures are those of `liken compare`: nDCG@10, AP, P@5, R@100, RR@10, ERR@20, RankLoss …; the ideal
ranking is that of the table's rows. A ranker may also be a LightGBM model or a file of scores (one per
line, in the order of the rows). The first ranker is the baseline.

Examples:
  liken rank eval test.txt ranker
  liken rank eval test.txt svm lambdamart lightgbm.txt --measures AP,nDCG@10 --preset letor
  liken rank eval test.txt a b --per-query --format json")]
pub struct EvalArgs {
    /// Table with grades.
    table: PathBuf,

    /// Ranker folders, LightGBM model files, or files of scores.
    #[arg(required = true)]
    rankers: Vec<PathBuf>,

    /// Measures, separated by commas.
    #[arg(
        long,
        alias = "measure",
        value_name = "M,M",
        value_delimiter = ',',
        default_value = "nDCG@10,nDCG@5,nDCG@1,AP"
    )]
    measures: Vec<Measure>,

    #[command(flatten)]
    variant: VariantArgs,

    /// Random seed of the bootstrap and the randomisation test.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Also print the values of each query.
    #[arg(long)]
    per_query: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,

    #[command(flatten)]
    tables: TableArgs,
}

pub fn run(args: &EvalArgs, console: &Console) -> anyhow::Result<()> {
    let variant = args.variant.variant()?;
    let names = short_names(&args.rankers)?;
    let table = args.tables.read(&args.table, console)?;
    let mut scores = Vec::new();
    for path in &args.rankers {
        let system = System::open(path, console)?;
        scores.push(system.scores(path, &args.table, &table, console)?);
    }
    let goals: Vec<Goal> = args.measures.iter().map(|&measure| Goal { measure, variant }).collect();
    let rows = Measured::of(&table, &goals, &scores, args.seed);
    let mut out = console.out();
    if args.format == TableFormat::Json {
        let listed: Vec<_> = names
            .iter()
            .zip(rows.cells.iter().zip(&rows.values))
            .map(|(name, (cells, values))| match args.per_query {
                true => json!({ "name": name, "cells": cells, "values": values }),
                false => json!({ "name": name, "cells": cells }),
            })
            .collect();
        let measures: Vec<String> = args.measures.iter().map(ToString::to_string).collect();
        write_json(
            &mut out,
            &json!({
                "table": args.table, "queries": table.n_queries(), "rows": table.n_rows(),
                "variant": variant, "measures": measures, "query_ids": rows.queries,
                "baseline": names[0], "rankers": listed,
            }),
        )?;
        return Ok(out.flush()?);
    }
    rows.write(&mut out, &names, &args.measures, &variant.to_string(), args.format)?;
    if args.per_query {
        rows.write_queries(&mut out, &names, &args.measures, args.format)?;
    }
    Ok(out.flush()?)
}

/// The names of rankers: file names, or whole paths if two file names are equal.
fn short_names(paths: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let mut names: Vec<String> = paths.iter().map(|path| short_name(path)).collect();
    let twice = |names: &[String]| (1..names.len()).find(|&n| names[..n].contains(&names[n]));
    if twice(&names).is_some() {
        names = paths.iter().map(|path| path.display().to_string()).collect();
    }
    match twice(&names) {
        Some(at) => Err(usage(format!("{} is named twice", names[at]))),
        None => Ok(names),
    }
}

/// The last part of a path.
pub fn short_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into())
}

/// Rankers measured on the same queries.
pub struct Measured {
    /// The queries that have a value of every measure.
    pub queries: Vec<String>,
    /// Number of all queries.
    pub n_queries: usize,
    /// Values by ranker, measure and query.
    pub values: Vec<Vec<Vec<f64>>>,
    /// Means and tests by ranker and measure.
    pub cells: Vec<Vec<Cell>>,
}

impl Measured {
    /// Measures `scores`, one list per ranker.
    pub fn of(table: &FeatureTable, goals: &[Goal], scores: &[Vec<f64>], seed: u64) -> Self {
        let found: Vec<Vec<Vec<Option<f64>>>> = scores
            .iter()
            .map(|scores| goals.iter().map(|goal| goal.values(table, scores)).collect())
            .collect();
        // Whether a query has a value depends on its grades, so that it is the same for all rankers.
        let first = found.first();
        let counts = |query: &usize| {
            first.is_none_or(|first| first.iter().all(|values| values[*query].is_some()))
        };
        let counted: Vec<usize> = (0..table.n_queries()).filter(counts).collect();
        let pick = |values: &Vec<Option<f64>>| -> Vec<f64> {
            counted.iter().filter_map(|&query| values[query]).collect()
        };
        let values: Vec<Vec<Vec<f64>>> =
            found.iter().map(|ranker| ranker.iter().map(pick).collect()).collect();
        let higher: Vec<bool> = goals.iter().map(|goal| goal.measure.higher_is_better()).collect();
        Measured {
            cells: cells(&values, &higher, 0, seed),
            queries: counted.iter().map(|&query| table.queries()[query].clone()).collect(),
            n_queries: table.n_queries(),
            values,
        }
    }

    /// Writes the tables of means and of tests.
    pub fn write(
        &self,
        out: &mut impl Write,
        names: &[String],
        measures: &[Measure],
        variant: &str,
        format: TableFormat,
    ) -> anyhow::Result<()> {
        let table = Table {
            kind: "ranker",
            measures: measures.iter().map(ToString::to_string).collect(),
            baseline: &names[0],
            standard_errors: false,
            rows: names
                .iter()
                .zip(&self.cells)
                .map(|(n, cells)| (n.as_str(), &cells[..]))
                .collect(),
        };
        let mut about = counted(self.queries.len(), "query");
        if self.queries.len() < self.n_queries {
            about += &format!(" of {}; the measures are undefined for the others", self.n_queries);
        }
        for text in [about, variant.to_owned(), table.legend()] {
            remark(out, format, &text)?;
        }
        writeln!(out)?;
        table.write_means(out, format)?;
        Ok(table.write_tests(out, format)?)
    }

    fn write_queries(
        &self,
        out: &mut impl Write,
        names: &[String],
        measures: &[Measure],
        format: TableFormat,
    ) -> anyhow::Result<()> {
        let several = measures.len() > 1;
        let columns = names.iter().flat_map(|name| {
            measures.iter().map(move |measure| match several {
                true => format!("{name} {measure}"),
                false => name.clone(),
            })
        });
        let mut grid = Grid::new(std::iter::once("query".to_owned()).chain(columns));
        for (q, query) in self.queries.iter().enumerate() {
            let values = self.values.iter().flatten().map(|values| format!("{:.4}", values[q]));
            grid.row(std::iter::once(query.clone()).chain(values));
        }
        writeln!(out)?;
        Ok(grid.write(out, format)?)
    }
}
