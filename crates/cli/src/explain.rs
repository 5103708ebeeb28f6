//! `liken explain`: the contributions to the score of a document.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::matchers::Explanation;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat};
use crate::unseen::UnseenArgs;

/// Explain the score of a document for a query as a sum of contributions.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken explain model --query \"how far is the sun\" --doc DOC_ID
  liken explain model --query \"heart attack\" --doc DOC_ID -n 30 --format json")]
pub struct ExplainArgs {
    /// Model folder.
    model: PathBuf,

    /// Query to explain.
    #[arg(long, value_name = "TEXT")]
    query: String,

    /// The document's id.
    #[arg(long, value_name = "ID")]
    doc: String,

    #[command(flatten)]
    unseen: UnseenArgs,

    /// Number of contributions to show; the others are summed up.
    #[arg(short, default_value_t = 12, value_name = "N")]
    n: usize,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &ExplainArgs, console: &Console) -> anyhow::Result<()> {
    let (model, _) = args.unseen.open(&args.model, console)?;
    let doc = model.find_doc(&args.doc)?;
    let explanation = model.explain(&args.query, doc, args.n)?;
    console.print(args.format, &explanation, |out| print(out, &explanation))
}

/// Writes an explanation as text and tables.
pub fn print(out: &mut impl Write, explanation: &Explanation) -> anyhow::Result<()> {
    writeln!(
        out,
        "“{}” and {}: score {:.4}",
        explanation.query, explanation.doc, explanation.score
    )?;
    if explanation.shared_words.is_empty() {
        writeln!(out, "They share no word.")?;
    } else {
        writeln!(out, "They share: {}.", explanation.shared_words.join(", "))?;
    }
    if !explanation.unknown.is_empty() {
        writeln!(out, "Unknown to the model: {}.", explanation.unknown.join(", "))?;
    }
    for part in &explanation.parts {
        writeln!(out)?;
        let nothing = part.contributions.is_empty() && part.n_rest == 0;
        let ends = if nothing { "; no term contributes" } else { ", namely" };
        match part.standard {
            Some((_, 0.0)) => {
                writeln!(out, "{} contributes nothing: all documents score the same", part.method)?
            }
            Some((mean, deviation)) => writeln!(
                out,
                "{} contributes {:.4} = {} · ({:.4} − {mean:.4}) / {deviation:.4}: weight · (score − mean) / deviation of all documents{ends}",
                part.method, part.contribution, part.weight, part.score
            )?,
            None if explanation.parts.len() > 1 => writeln!(
                out,
                "{} contributes {:.6} = 1 / (60 + {:.0}), its rank among all documents; it scores {:.4}{ends}",
                part.method,
                part.contribution,
                1.0 / part.contribution - 60.0,
                part.score
            )?,
            None => writeln!(out, "{} scores {:.4}{ends}", part.method, part.score)?,
        }
        if nothing {
            continue;
        }
        let mut grid = Grid::new(["contribution", "query", "document"]).left(&[1, 2]);
        for line in &part.contributions {
            grid.row([format!("{:+.4}", line.value), line.query.clone(), line.doc.clone()]);
        }
        if part.n_rest > 0 || part.rest.abs() >= 0.00005 {
            let others = format!("({} more)", part.n_rest);
            grid.row([format!("{:+.4}", part.rest), others, String::new()]);
        }
        grid.write(out, TableFormat::Table)?;
    }
    Ok(())
}
