//! What all linear methods refuse, and how they say it.

use crate::rank::FeatureTable;
use crate::{Error, Result};

/// An error if there are no rows or no features.
pub(super) fn has_features(table: &FeatureTable) -> Result<()> {
    if table.n_rows() == 0 {
        return Err(Error::Empty {
            what: "there are no rows to learn from".to_owned(),
            advice: "check the file, and the queries chosen from it".to_owned(),
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

/// An error if there are no rows, no features, or no pair of rows of a query of unlike grade that
/// counts.
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
        (true, false) => Err(nothing("every row that is better than another one counts 0")),
        (false, _) => Err(nothing("no query has two rows of unlike grade")),
    }
}

/// The error of a table from which nothing can be learnt.
pub(super) fn nothing(what: &str) -> Error {
    Error::Empty {
        what: format!("nothing can be learnt: {what}"),
        advice: "check the grades, and that rows carry the query they belong to".to_owned(),
    }
}

/// The error of a number that left the range of numbers.
pub(super) fn not_finite(what: &'static str, step: usize) -> Error {
    Error::NotFinite {
        what,
        step,
        advice: "normalise the features, or take a stronger penalty".to_owned(),
    }
}

/// An error if a number is not finite.
pub(super) fn finite(what: &'static str, step: usize, numbers: &[f64]) -> Result<()> {
    match numbers.iter().all(|number| number.is_finite()) {
        true => Ok(()),
        false => Err(not_finite(what, step)),
    }
}

/// An error if the parameter is not a finite number above 0.
pub(super) fn positive(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a finite number above 0"))
}

/// An error if the parameter is not a finite number from 0 on.
pub(super) fn not_negative(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a finite number from 0 on"))
}

/// An error if the parameter is 0.
pub(super) fn at_least_one(name: &str, value: usize) -> Result<()> {
    if value > 0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a whole number from 1 on"))
}

/// What a method says that looks at whole queries, where rows count unlike.
pub(super) fn weights_ignored(table: &FeatureTable, method: &str) -> Option<String> {
    let unlike = table.weights()?.windows(2).any(|two| two[0] != two[1]);
    unlike.then(|| format!("{method} looks at whole queries: what the rows count is not used"))
}
