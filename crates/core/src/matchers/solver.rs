//! The singular vectors behind PLS and LSI.

use crate::linalg::{Dense, Operator, Svd, SvdParams, randomised_svd_from, scale_columns};
use crate::params::check::{MOST, check_positive, check_range};
use crate::{Result, Run};

/// The parameters of the solver that PLS, MPLS and LSI share.
pub(super) struct Solver {
    pub dim: usize,
    pub tolerance: f64,
    pub iterations: usize,
    pub oversample: Option<usize>,
    pub seed: u64,
}

impl Solver {
    pub fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        check_range("oversample", self.oversample.unwrap_or(0), 0, MOST)?;
        check_positive("tolerance", self.tolerance)?;
        check_range("iterations", self.iterations, 1, MOST)
    }

    /// The leading singular triplets of an operator, with the columns of `init` as a warm start.
    pub fn solve(&self, operator: &Operator, init: Option<&Dense>, run: &Run<'_>) -> Result<Svd> {
        let defaults = SvdParams::of(self.dim);
        let params = SvdParams {
            oversample: self.oversample.unwrap_or(defaults.oversample),
            tolerance: self.tolerance,
            max_iterations: self.iterations,
            seed: self.seed,
            ..defaults
        };
        randomised_svd_from(operator, &params, init, run)
    }
}

/// Scales the columns of both maps by σ to the `power`.
pub(super) fn scale_by_sigma(maps: [&mut Dense; 2], sigma: &[f64], power: f64) {
    let scales: Vec<f32> = sigma.iter().map(|s| s.powf(power) as f32).collect();
    maps.into_iter().for_each(|map| scale_columns(map, &scales));
}
