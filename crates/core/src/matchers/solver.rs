//! The singular vectors behind PLS and LSI, from the parameters that they share.

use super::check::{MOST, check_positive, check_range};
use crate::linalg::{Dense, Operator, Svd, SvdParams, randomised_svd_from};
use crate::{Result, Run};

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
        check_positive("tolerance", self.tolerance)?;
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
