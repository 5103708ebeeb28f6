//! What parameters may be: one refusal for each kind of number.

use crate::{Error, Result};

/// The most dimensions, spare dimensions, iterations and steps: beyond it nothing fits anywhere,
/// and nobody waits.
pub(super) const MOST: usize = 1_000_000;

/// Refuses a number that is not from `least` to `most`.
pub(super) fn check_range(name: &str, value: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = match least {
        0 => format!("at most {most}"),
        _ => format!("{least} or more, at most {most}"),
    };
    Err(Error::parameter(name, value, &expected))
}

/// Refuses a weight that is no number, or below 0.
pub(super) fn check_weight(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a finite number, 0 or more"))
}

/// Refuses what is no number, or not above 0.
pub(super) fn check_positive(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a finite number above 0"))
}

/// Refuses a share that is not from 0 to 1.
pub(super) fn check_share(name: &str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a number from 0 to 1"))
}

/// Refuses a share that is not above 0 and at most 1.
pub(super) fn check_share_above_zero(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    Err(Error::parameter(name, value, "a number above 0, at most 1"))
}
