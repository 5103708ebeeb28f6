//! Reports of fits as text and tables.

use std::io::Write;

use liken::matchers::{FitReport, PlsReport, RmlsReport, StepsReport, Trained};
use liken::memory::Bytes;

use crate::output::{Grid, TableFormat, counted, four_digits, grouped};
use crate::render::in_flags;

/// Prints the fit of every model of a mix.
pub fn print(out: &mut impl Write, trained: &Trained) -> anyhow::Result<()> {
    for (part, report) in trained.model.parts.iter().zip(&trained.reports) {
        match report {
            FitReport::Lexical => {}
            FitReport::Steps(steps) | FitReport::Ranker(steps) => {
                print_steps(out, part.params.name(), steps)?
            }
            FitReport::Pls(pls) => print_solved(out, part.params.name(), pls)?,
            FitReport::Mpls(mpls) => {
                for kind in &mpls.kinds {
                    print_solved(out, &kind.kind, &kind.pls)?;
                    if mpls.kinds.len() > 1 {
                        writeln!(out, "weight of {}: {:.3}", kind.kind, kind.alpha)?;
                    }
                }
            }
            FitReport::Square(square) => writeln!(
                out,
                "square: {}; solves of up to {} steps, residual {:.1e}; {:.1} % of the clicks explained",
                decomposition(square.dim, square.iterations, square.residual, &square.sigma),
                square.steps,
                square.solve_residual,
                100.0 * square.explained
            )?,
            FitReport::Ridge(ridge) => writeln!(
                out,
                "ridge: {} weights ({}) from {} query features to {} documents hold {:.2} % of the squared weights; solves of up to {} steps, residual {:.1e}",
                grouped(ridge.weights),
                Bytes(ridge.bytes),
                grouped(ridge.features),
                grouped(ridge.documents),
                100.0 * ridge.mass,
                ridge.steps,
                ridge.residual
            )?,
            FitReport::Rmls(rmls) => print_rmls(out, rmls)?,
        }
        if trained.model.parts.len() > 1 {
            writeln!(out, "weight of {}: {}", part.params.name(), part.weight)?;
        }
    }
    if let Some(score) = trained.validation {
        writeln!(out, "weights tuned on validation: nDCG@10 {score:.4}")?;
    }
    Ok(())
}

fn print_steps(out: &mut impl Write, name: &str, report: &StepsReport) -> anyhow::Result<()> {
    for note in &report.notes {
        writeln!(out, "{name}: {}", in_flags(note))?;
    }
    if report.steps.is_empty() {
        return Ok(());
    }
    let mut grid =
        Grid::new(std::iter::once(name).chain(report.figures.iter().map(String::as_str)));
    for (s, figures) in report.steps.iter().enumerate() {
        let kept = if report.kept == Some(s) { " (kept)" } else { "" };
        let first = format!("{} {}{kept}", report.step, s + 1);
        let rest = figures.iter().map(|figure| format!("{figure:.5}"));
        grid.row(std::iter::once(first).chain(rest));
    }
    grid.write(out, TableFormat::Table)?;
    for time in &report.times {
        writeln!(out, "{name}: {time}")?;
    }
    Ok(())
}

fn print_solved(out: &mut impl Write, name: &str, pls: &PlsReport) -> anyhow::Result<()> {
    let solved = decomposition(pls.dim, pls.iterations, pls.residual, &pls.sigma);
    writeln!(out, "{name}: {solved}")?;
    writeln!(out, "products with C through {}", pls.way)?;
    if let Some(weight) = pls.tfidf {
        writeln!(out, "{name}: the weight of tf-idf is {weight:.1}, tuned on validation")?;
    }
    if name == "lsi_qd" {
        writeln!(out, "lsi_qd: for a query without training clicks, all scores are 0")?;
    }
    Ok(())
}

fn decomposition(dim: usize, iterations: usize, residual: f64, sigma: &[f64]) -> String {
    format!(
        "{} after {}, residual {residual:.1e}, σ from {:.3e} to {:.3e}",
        counted(dim, "dimension"),
        counted(iterations, "iteration"),
        sigma.first().unwrap_or(&0.0),
        sigma.last().unwrap_or(&0.0)
    )
}

fn print_rmls(out: &mut impl Write, rmls: &RmlsReport) -> anyhow::Result<()> {
    let mut grid = Grid::new([
        "rmls",
        "objective",
        "change",
        "density L_x",
        "L_y",
        "effective rank L_x",
        "L_y",
        "validation nDCG@10",
    ]);
    let several = rmls.branches().len() > 1;
    for (s, step) in rmls.steps.iter().enumerate() {
        let mut name = if several { step.name() } else { step.step.clone() };
        if s == rmls.best {
            name.push_str(" (kept)");
        }
        grid.row([
            name,
            format!("{:.4e}", step.objective),
            format!("{:.3}", step.change),
            format!("{:.3}", step.density_x),
            format!("{:.3}", step.density_y),
            format!("{:.1}", step.effective_rank_x),
            format!("{:.1}", step.effective_rank_y),
            four_digits(step.validation),
        ]);
    }
    writeln!(out, "products with C through {}", rmls.way)?;
    grid.write(out, TableFormat::Table)?;
    for remark in rmls.remarks() {
        writeln!(out, "{remark}")?;
    }
    if rmls.sampled > 0 {
        writeln!(
            out,
            "change and effective rank are computed from a sample of {} rows of each map",
            grouped(rmls.sampled)
        )?;
    }
    Ok(())
}
