//! `liken bound`: the papers' generalisation bound of a model and the measured gap.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use liken::data::Dataset;
use liken::eval::{Bound, Constants, bounds};
use liken::matchers::Model;

use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, grouped};
use crate::render::in_flags;

/// Show the generalisation bound of a learnt model beside the measured gap.
#[derive(Args)]
#[command(after_help = "\
The bound is on the objective, the mean over queries of the mean of response · score over a
query's pairs, and holds with probability 1 − 2δ for models trained with weighting=mean, without
centring, without negative responses and with rows of unit norm. For other models the output names the
conditions that they violate. A second table has the objective on training pairs and on held-out pairs.

Examples:
  liken train rmls DATASET -o model --set weighting=mean
  liken bound model DATASET
  liken bound model DATASET --delta 0.01 --format json")]
pub struct BoundArgs {
    /// Model folder.
    model: PathBuf,

    /// Dataset folder that the model was trained on.
    dataset: PathBuf,

    /// Probability that the bound fails, for queries and for documents each (δ).
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    delta: f64,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &BoundArgs, console: &Console) -> anyhow::Result<()> {
    let found = console.run(|run| {
        run.step("reading", 0, None)?;
        let model = Model::open(&args.model)?;
        let dataset = Dataset::open(&args.dataset)?;
        run.step("measuring", 0, None)?;
        bounds(&model, &dataset, args.delta)
    })?;
    console.print(args.format, &found, |out| {
        for (b, bound) in found.iter().enumerate() {
            if b > 0 {
                writeln!(out)?;
            }
            print(out, bound)?;
        }
        Ok(())
    })
}

fn print(out: &mut impl Write, bound: &Bound) -> anyhow::Result<()> {
    let sample = &bound.sample;
    let number = |x: f64| format!("{x:.4}");
    let mut grid = Grid::new([bound.method, "value", "meaning"]).left(&[2]);
    let mut line = |name: &str, value: String, meaning: &str| grid.row([name, &value, meaning]);
    line("n_x", grouped(sample.n_x), "training queries");
    line("n^y", number(sample.n_y), "harmonic mean of the pairs of a query");
    line("R", number(sample.r), "largest response");
    line("m_x", grouped(sample.m_x), "most non-zeros of a query");
    line("m_y", grouped(sample.m_y), "most non-zeros of a document");
    line("d_x", grouped(sample.d_x), "query features");
    line("d_y", grouped(sample.d_y), "document features");
    line("d", grouped(sample.d), "latent dimensions");
    if let Some(rows) = &bound.rows {
        let how = if rows.after_the_fact {
            "largest ℓ1 norm of a row, measured after training"
        } else {
            "largest ℓ1 norm that a row may have"
        };
        line("λ_x, λ_y", format!("{}, {}", number(rows.lambda_x), number(rows.lambda_y)), how);
        let theta = format!("{}, {}", number(rows.theta_x), number(rows.theta_y));
        line("θ_x, θ_y", theta, "largest ℓ2 norm that a row may have");
    }
    grid.write(out, TableFormat::Table)?;
    writeln!(out)?;

    let title = format!("with probability {}", bound.probability);
    let mut grid = Grid::new([title.as_str(), "B", "C", "bound", "bound at R = 1", ""]).left(&[5]);
    let mut constants = |name: &str, found: &Constants| {
        let remark = if found.vacuous { "vacuous: above R·B" } else { "" };
        let numbers = [found.b, found.c, found.bound, found.bound_at_one].map(number);
        grid.row([name.to_owned()].into_iter().chain(numbers).chain([remark.to_owned()]));
    };
    constants("as published", &bound.published);
    if bound.rows.is_some() {
        constants("tighter", &bound.tighter);
    }
    grid.write(out, TableFormat::Table)?;
    writeln!(out)?;

    let mut grid = Grid::new(["objective", "queries", "pairs", "at r = 1", "gap to training"]);
    grid.row(["training", &grouped(sample.n_x), "", &number(bound.training_at_one), ""]);
    for gap in &bound.held_out {
        grid.row([
            gap.on.to_owned(),
            grouped(gap.queries),
            grouped(gap.pairs),
            number(gap.objective),
            format!("{:+.4}", gap.gap),
        ]);
    }
    grid.write(out, TableFormat::Table)?;
    writeln!(out, "training with the model's own response: {}", number(bound.training))?;
    if bound.held_out.is_empty() {
        writeln!(out, "no gap to measure: the dataset has no held-out pairs")?;
    }
    for broken in &bound.broken {
        writeln!(out, "the bound does not hold for this model: {}", in_flags(broken))?;
    }
    for note in &bound.notes {
        writeln!(out, "note: {}", in_flags(note))?;
    }
    Ok(())
}
