//! Checks that methods share: of numbers among parameters, of memory, and of saved states.

use serde::Serialize;
use serde_json::Value;

use crate::params::to_json;
use crate::sparse::Csr;
use crate::{Error, Result};

/// The upper limit of dimensions, iterations and steps: beyond it no machine has the memory or the
/// time.
pub(crate) const MOST: usize = 1_000_000;

/// Refuses a number that is not from `least` to `most`.
pub(crate) fn check_range(name: &str, value: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = match least {
        0 => format!("at most {most}"),
        _ => format!("{least} or more, at most {most}"),
    };
    Err(Error::parameter(name, value, &expected))
}

fn check_number(name: &str, value: f64, is_valid: bool, expected: &str) -> Result<()> {
    if is_valid { Ok(()) } else { Err(Error::parameter(name, value, expected)) }
}

/// Refuses a weight that is not finite or is below 0.
pub(crate) fn check_weight(name: &str, value: f64) -> Result<()> {
    check_number(name, value, value.is_finite() && value >= 0.0, "a finite number, 0 or more")
}

/// Refuses a number that is not finite or not above 0.
pub(crate) fn check_positive(name: &str, value: f64) -> Result<()> {
    check_number(name, value, value.is_finite() && value > 0.0, "a finite number above 0")
}

/// Refuses a share that is not from 0 to 1.
pub(crate) fn check_share(name: &str, value: f64) -> Result<()> {
    check_number(name, value, (0.0..=1.0).contains(&value), "a number from 0 to 1")
}

/// Refuses a share that is not above 0 and at most 1.
pub(crate) fn check_share_above_zero(name: &str, value: f64) -> Result<()> {
    check_number(name, value, value > 0.0 && value <= 1.0, "a number above 0, at most 1")
}

/// Refuses a share that is not from 0 to below 1.
pub(crate) fn check_share_below_one(name: &str, value: f64) -> Result<()> {
    check_number(name, value, (0.0..1.0).contains(&value), "0 or more, below 1")
}

/// Refuses parameters that differ from their defaults but have no effect. Each comes with whether
/// it has one, and with what would give it one.
pub(crate) fn check_effect<T: Serialize + Default>(
    params: &T,
    effects: &[(&str, bool, &str)],
) -> Result<()> {
    let (params, defaults) = (to_json(params)?, to_json(&T::default())?);
    // 2 and not 2.0.
    let shown = |value: &Value| value.as_f64().map_or(value.to_string(), |n| n.to_string());
    for &(name, has_effect, condition) in effects {
        let (value, default) = (shown(&params[name]), shown(&defaults[name]));
        if !has_effect && value != default {
            return Err(Error::parameter(name, value, &format!("{default}, or {condition}")));
        }
    }
    Ok(())
}

/// Refuses a fit in which `what` takes more than the `free` bytes.
pub(crate) fn check_memory(
    bytes: u64,
    free: u64,
    what: impl FnOnce() -> String,
    advice: &str,
) -> Result<()> {
    if bytes <= free {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!(
            "{} take up to {} MiB, but only {} MiB are free",
            what(),
            bytes >> 20,
            free >> 20
        ),
        advice: format!("{advice}, or allow more (`max_memory = SIZE`)"),
    })
}

/// The error of a saved state that does not fit the model.
pub(crate) fn bad_state(problem: impl Into<String>) -> Error {
    Error::Structure { problem: problem.into() }
}

/// Refuses the matrix called `name` if it is not `n_rows` × `n_cols`.
pub(crate) fn check_shape(name: &str, matrix: &Csr, n_rows: usize, n_cols: usize) -> Result<()> {
    let found = (matrix.n_rows(), matrix.n_cols());
    if found == (n_rows, n_cols) {
        return Ok(());
    }
    Err(bad_state(format!("{name}: expected {n_rows} × {n_cols}, found {} × {}", found.0, found.1)))
}
