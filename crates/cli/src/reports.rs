//! What fits say of themselves, for people.

use std::io::Write;

use liken::matchers::{FitReport, PlsReport, RmlsReport, StepsReport, Trained};
use liken::memory::Bytes;

use crate::output::{Grid, TableFormat, counted, grouped};
use crate::render::in_flags;

/// Prints the fit of every part of a model.
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
                "square: {} dimensions after {}, residual {:.1e}, σ from {:.3e} to {:.3e}; solves of up to {} steps, residual {:.1e}; {:.1} % of the clicks explained",
                square.dim,
                counted(square.iterations, "iteration", "iterations"),
                square.residual,
                square.sigma.first().unwrap_or(&0.0),
                square.sigma.last().unwrap_or(&0.0),
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
    writeln!(
        out,
        "{name}: {} dimensions after {}, residual {:.1e}, σ from {:.3e} to {:.3e}",
        pls.dim,
        counted(pls.iterations, "iteration", "iterations"),
        pls.residual,
        pls.sigma.first().unwrap_or(&0.0),
        pls.sigma.last().unwrap_or(&0.0)
    )?;
    writeln!(out, "products with C through {}", pls.way)?;
    if let Some(weight) = pls.tfidf {
        writeln!(
            out,
            "{name}: tf-idf weighs {weight:.1} and LSI the rest, as is best on validation"
        )?;
    }
    if name == "lsi_qd" {
        writeln!(out, "lsi_qd: a query without training clicks scores 0 everywhere")?;
    }
    Ok(())
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
    for (s, step) in rmls.steps.iter().enumerate() {
        let name = if s == rmls.best { format!("{} (kept)", step.step) } else { step.step.clone() };
        grid.row([
            name,
            format!("{:.4e}", step.objective),
            format!("{:.3}", step.change),
            format!("{:.3}", step.density_x),
            format!("{:.3}", step.density_y),
            format!("{:.1}", step.effective_rank_x),
            format!("{:.1}", step.effective_rank_y),
            step.validation.map_or("–".into(), |score| format!("{score:.4}")),
        ]);
    }
    writeln!(out, "products with C through {}", rmls.way)?;
    grid.write(out, TableFormat::Table)?;
    if rmls.sampled > 0 {
        writeln!(
            out,
            "change and effective rank are those of {} rows of each map, which have no rank above that",
            grouped(rmls.sampled)
        )?;
    }
    Ok(())
}
