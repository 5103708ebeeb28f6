//! Descriptions of a ranker for the terminal.

use std::io::Write;
use std::path::Path;

use liken::rank::Ranker;

use crate::output::{Grid, TableFormat, counted, grouped};

/// Describes the ranker in the folder at `path`.
pub fn describe(ranker: &Ranker, path: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let about = &ranker.about;
    writeln!(out, "ranker      {}", path.display())?;
    writeln!(out, "method      {}", ranker.name())?;
    for path in &about.learnt_from.paths {
        writeln!(out, "learnt from {}", path.display())?;
    }
    if about.learnt_from.rows > 0 {
        let (rows, queries) = (about.learnt_from.rows, about.learnt_from.queries);
        writeln!(out, "rows        {} of {}", grouped(rows), counted(grouped(queries), "query"))?;
    }
    if let Some(score) = about.validation {
        writeln!(out, "validation  {} {score:.4}", about.goal.measure)?;
    }
    writeln!(out, "features    {}", about.features.len())?;
    writeln!(out)?;
    write_importance(ranker, out)
}

/// Limit of features in the table of importances.
const SHOWN: usize = 10;

/// Writes the most important features.
pub fn write_importance(ranker: &Ranker, out: &mut impl Write) -> anyhow::Result<()> {
    let features = ranker.importance();
    let with_splits = features.iter().any(|feature| feature.splits.is_some());
    let heading = if with_splits {
        &["feature", "share of gain", "splits"][..]
    } else {
        &["feature", "weight"]
    };
    let mut grid = Grid::new(heading.iter().copied());
    let used = features.iter().filter(|feature| feature.weight != 0.0);
    for feature in used.clone().take(SHOWN) {
        match feature.splits {
            Some(splits) => grid.row([
                feature.name.clone(),
                format!("{:.1} %", 100.0 * feature.weight),
                grouped(splits),
            ]),
            None => grid.row([feature.name.clone(), format!("{:+.4}", feature.weight)]),
        }
    }
    grid.write(out, TableFormat::Table)?;
    let n_used = used.count();
    if n_used > SHOWN {
        writeln!(out, "… and {} more of {} features", n_used - SHOWN, features.len())?;
    }
    Ok(())
}
