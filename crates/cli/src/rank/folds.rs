//! Cross-validation: measures of a method on each test fold.

use std::io::Write;

use liken::eval::Measure;
use liken::rank::{FeatureTable, Goal, RankSetup};
use serde_json::{Value, json};

use super::eval::Measured;
use crate::console::Console;
use crate::output::{Format, Grid, TableFormat, four_digits, grouped};

/// Trains and measures a ranker per fold; writes a table, or returns JSON.
pub fn cross_validated(
    setup: &RankSetup,
    parts: &[FeatureTable],
    names: &[String],
    format: Format,
    console: &Console,
    out: &mut impl Write,
) -> anyhow::Result<Option<Value>> {
    let rankers = console.run(|run| setup.cross_validate(parts, run))?;
    let mut measures = vec![setup.goal.measure];
    for other in ["nDCG@10", "AP"] {
        let other: Measure = other.parse()?;
        if !measures.contains(&other) {
            measures.push(other);
        }
    }
    let variant = setup.goal.variant;
    let goals: Vec<Goal> = measures.iter().map(|&measure| Goal { measure, variant }).collect();
    let all = FeatureTable::joined(&parts.iter().collect::<Vec<_>>());
    let scores: Vec<f64> = rankers.iter().flat_map(|(_, scores)| scores.iter().copied()).collect();
    let name = setup.params.name().to_owned();
    let measured = Measured::of(&all, &goals, std::slice::from_ref(&scores), 1);
    let by_fold: Vec<Vec<Option<f64>>> = parts
        .iter()
        .zip(&rankers)
        .map(|(part, (_, scores))| goals.iter().map(|goal| goal.mean(part, scores)).collect())
        .collect();
    let means: Vec<Option<f64>> = (0..goals.len())
        .map(|m| {
            let found: Option<Vec<f64>> = by_fold.iter().map(|fold| fold[m]).collect();
            found.map(|found| found.iter().sum::<f64>() / found.len() as f64)
        })
        .collect();
    if format == Format::Json {
        let folds: Vec<Value> = by_fold
            .iter()
            .zip(parts.iter().zip(&rankers).zip(names))
            .map(|(values, ((part, (ranker, _)), name))| {
                json!({ "test_fold": name, "queries": part.n_queries(), "rows": part.n_rows(),
                        "validation": ranker.about.validation, "test": values })
            })
            .collect();
        let names: Vec<String> = measures.iter().map(ToString::to_string).collect();
        let value = json!({ "method": name, "measures": names, "variant": variant,
            "folds": folds, "mean_of_folds": means, "all_queries": measured.cells[0] });
        return Ok(Some(value));
    }
    let heading = ["test fold".to_owned(), "queries".to_owned(), "rows".to_owned()];
    let mut grid = Grid::new(heading.into_iter().chain(measures.iter().map(ToString::to_string)));
    let shown = |value: &Option<f64>| four_digits(*value);
    for (name, (part, values)) in names.iter().zip(parts.iter().zip(&by_fold)) {
        let about = [name.clone(), grouped(part.n_queries()), grouped(part.n_rows())];
        grid.row(about.into_iter().chain(values.iter().map(shown)));
    }
    let about = ["mean".to_owned(), grouped(all.n_queries()), grouped(all.n_rows())];
    grid.row(about.into_iter().chain(means.iter().map(shown)));
    writeln!(out, "{name}, cross-validated")?;
    grid.write(out, TableFormat::Table)?;
    writeln!(out)?;
    measured.write(out, &[name], &measures, &variant.to_string(), TableFormat::Table)?;
    writeln!(out)?;
    Ok(None)
}
