//! The singular vectors behind PLS and LSI, from the parameters that they share.

use crate::linalg::{Dense, Operator, Svd, SvdParams, randomised_svd_from};
use crate::{Error, Result, Run};

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

/// What the solver needs of the parameters that PLS and its relatives share.
pub(super) struct Solver {
    pub dim: usize,
    pub tolerance: f64,
    pub iterations: usize,
    pub oversample: Option<usize>,
    pub seed: u64,
}

impl Solver {
    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        check_range("oversample", self.oversample.unwrap_or(0), 0, MOST)?;
        if !(self.tolerance.is_finite() && self.tolerance > 0.0) {
            return Err(Error::parameter("tolerance", self.tolerance, "a finite number above 0"));
        }
        check_range("iterations", self.iterations, 1, MOST)
    }

    /// The leading singular triplets of an operator.
    pub fn solve(&self, operator: &Operator, run: &Run<'_>) -> Result<Svd> {
        self.solve_from(operator, None, run)
    }

    /// The same, beginning with the columns of `start`.
    pub fn solve_from(
        &self,
        operator: &Operator,
        start: Option<&Dense>,
        run: &Run<'_>,
    ) -> Result<Svd> {
        let defaults = SvdParams::of(self.dim);
        let params = SvdParams {
            oversample: self.oversample.unwrap_or(defaults.oversample),
            tolerance: self.tolerance,
            max_iterations: self.iterations,
            seed: self.seed,
            ..defaults
        };
        randomised_svd_from(operator, &params, start, run)
    }
}

/// Refuses a power of Σ that makes no sense.
pub(super) fn check_sigma(sigma: f64) -> Result<()> {
    if !(sigma.is_finite() && sigma >= 0.0) {
        return Err(Error::parameter("sigma", sigma, "a finite number, 0 or more"));
    }
    Ok(())
}
