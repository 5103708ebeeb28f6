//! Checks of tables and numbers that the linear methods share.

use crate::rank::{FeatureTable, RankReport};
use crate::{Error, Result};

/// An error if the table has no rows or no features.
pub(super) fn has_features(table: &FeatureTable) -> Result<()> {
    if table.n_rows() == 0 {
        return Err(Error::Empty {
            what: "there are no rows to learn from".to_owned(),
            advice: "check the file and the chosen queries".to_owned(),
        });
    }
    if table.n_features() == 0 {
        return Err(Error::Empty {
            what: "the rows have no features".to_owned(),
            advice: "a ranker needs at least one column of numbers".to_owned(),
        });
    }
    Ok(())
}

/// An error if the table has no rows, no features, or no query with two rows of different grade of
/// which the better one has a weight above 0.
pub(super) fn has_pairs(table: &FeatureTable) -> Result<()> {
    has_features(table)?;
    let (mut pairs, mut counts) = (false, false);
    for rows in table.by_query() {
        let grades = &table.grades()[rows.clone()];
        let lowest = grades.iter().copied().fold(f32::INFINITY, f32::min);
        for row in rows.filter(|&row| table.grades()[row] > lowest) {
            pairs = true;
            counts |= table.weight(row) > 0.0;
        }
    }
    match (pairs, counts) {
        (true, true) => Ok(()),
        (true, false) => Err(nothing("every row that is better than another one has weight 0")),
        (false, _) => Err(nothing("no query has two rows of different grade")),
    }
}

/// The error of a table from which nothing can be learnt.
pub(super) fn nothing(what: &str) -> Error {
    Error::Empty {
        what: format!("nothing can be learnt: {what}"),
        advice: "check the grades and the queries of the rows".to_owned(),
    }
}

/// The error of a number that is not finite.
pub(super) fn not_finite(what: &'static str, step: usize) -> Error {
    Error::NotFinite {
        what,
        step,
        advice: "normalise the features, or increase the penalty".to_owned(),
    }
}

/// An error unless all weights and the `others`, the objective among them, are finite.
pub(super) fn check_finite(step: usize, weights: &[f64], others: &[f64]) -> Result<()> {
    for (what, numbers) in [("a weight", weights), ("the objective", others)] {
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(not_finite(what, step));
        }
    }
    Ok(())
}

/// An error if the parameter is 0.
pub(super) fn at_least_one(name: &str, value: usize) -> Result<()> {
    if value > 0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a whole number from 1 on"))
}

/// A report with a warning if rows of `table` have different weights: `method` ignores them.
pub(super) fn weights_ignored(table: &FeatureTable, method: &str) -> RankReport {
    let mut report = RankReport::default();
    if !table.weights().is_none_or(all_equal) {
        let warning = format!("{method} learns from whole queries and ignores the weights of rows");
        report.warnings.push(warning);
    }
    report
}

/// Whether no two of `numbers` differ.
pub(super) fn all_equal<T: PartialEq>(numbers: &[T]) -> bool {
    numbers.windows(2).all(|two| two[0] == two[1])
}
