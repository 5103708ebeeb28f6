//! `liken rank explain`: the contribution of each feature to the scores of a query's rows.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::rank::Ranker;
use serde_json::json;

use super::table::{TableArgs, warn_of_lacking};
use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, counted, json as write_json, some_of};

/// Explain the scores of a query's rows as sums of contributions of the features.
#[derive(Args)]
#[command(after_help = "\
Each line has a feature, its value in the row and its contribution to the score. Contributions add up
to the score; for trees they are exact Shapley values (TreeSHAP).

Examples:
  liken rank explain ranker test.txt --query 18219
  liken rank explain ranker test.txt --query 18219 --doc GX008-86-4444840")]
pub struct ExplainArgs {
    /// Ranker folder, or a LightGBM model file.
    ranker: PathBuf,

    /// Table with the query.
    table: PathBuf,

    /// Id of the query.
    #[arg(long, value_name = "ID")]
    query: String,

    /// Id of the document [default: the best documents].
    #[arg(long, value_name = "ID")]
    doc: Option<String>,

    /// Number of documents.
    #[arg(short, value_name = "N", default_value_t = 3)]
    k: usize,

    /// Number of features per document.
    #[arg(long, value_name = "N", default_value_t = 8)]
    features: usize,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    tables: TableArgs,
}

pub fn run(args: &ExplainArgs, console: &Console) -> anyhow::Result<()> {
    let ranker = console.run(|_| Ranker::open(&args.ranker))?;
    let table = args.tables.read_ungraded(&args.table, console)?;
    let unknown = |kind: &'static str, name: &str, there: &[String]| liken::Error::Unknown {
        kind,
        name: name.to_owned(),
        advice: format!("expected one of {}", some_of(there)),
    };
    let query = table.queries().iter().position(|id| *id == args.query);
    let query = query.ok_or_else(|| unknown("query", &args.query, table.queries()))?;
    let own = table.of_queries(&[query]);
    let (prepared, lacking) = ranker.prepared(&own)?;
    warn_of_lacking(&args.table, &lacking, &own, console);
    let scores = ranker.scorer().scores(&prepared);
    let mut order: Vec<usize> = (0..own.n_rows()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let ranks: Vec<(usize, usize)> = (1..).zip(order).collect();
    let shown: Vec<(usize, usize)> = match &args.doc {
        Some(doc) => {
            let found = ranks.into_iter().find(|&(_, row)| own.docs()[row] == *doc);
            vec![found.ok_or_else(|| unknown("document", doc, own.docs()))?]
        }
        None => ranks.into_iter().take(args.k).collect(),
    };
    let (raw, _) = own.with_features(&ranker.names_in(&own).0);
    let mut out = console.out();
    let mut listed = Vec::new();
    for (rank, row) in shown {
        let parts = ranker.scorer().contributions(prepared.row(row));
        let (own_parts, bias) = parts.split_at(parts.len() - 1);
        let mut features: Vec<(usize, f64)> = own_parts.iter().copied().enumerate().collect();
        features.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let (doc, grade) = (&own.docs()[row], own.grades()[row]);
        if args.format == Format::Json {
            let features: Vec<_> = features
                .iter()
                .map(|&(f, contribution)| {
                    let value = Some(raw.row(row)[f]).filter(|value| !value.is_nan());
                    json!({ "feature": ranker.about.features[f], "value": value, "contribution": contribution })
                })
                .collect();
            listed.push(json!({
                "rank": rank, "doc": doc, "grade": grade, "score": scores[row],
                "bias": bias[0], "features": features,
            }));
            continue;
        }
        writeln!(out, "{rank}. {doc}  score {:.4}  grade {grade}", scores[row])?;
        let mut grid = Grid::new(["feature", "value", "contribution"]);
        for &(f, contribution) in features.iter().take(args.features) {
            let value = raw.row(row)[f];
            let value = if value.is_nan() { "missing".to_owned() } else { format!("{value}") };
            grid.row([ranker.about.features[f].clone(), value, format!("{contribution:+.4}")]);
        }
        let rest = features
            .iter()
            .skip(args.features)
            .fold(0.0, |sum, (_, contribution)| sum + contribution);
        if features.len() > args.features {
            let others = counted(features.len() - args.features, "other");
            grid.row([others, String::new(), format!("{rest:+.4}")]);
        }
        grid.row(["bias".to_owned(), String::new(), format!("{:+.4}", bias[0])]);
        grid.write(&mut out, TableFormat::Table)?;
        writeln!(out)?;
    }
    if args.format == Format::Json {
        write_json(&mut out, &json!({ "query": args.query, "documents": listed }))?;
    }
    Ok(out.flush()?)
}
