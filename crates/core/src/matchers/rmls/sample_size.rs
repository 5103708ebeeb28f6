//! The number of rows that the effective rank and the change of a map are computed from.

use crate::linalg::Operator;

/// The largest and the smallest sample of rows for the effective rank and the change.
const SAMPLE: usize = 4096;
const LEAST_SAMPLE: usize = 256;
/// Multiply-adds of dense products whose time is negligible.
const LEAST_BUDGET: f64 = 2e8;

/// The number of rows whose Gram matrix and eigenvalues cost at most a twentieth of a sweep, or a few
/// milliseconds; a dense multiply-add costs about an eighth of a sparse one.
pub(super) fn sample_rows(operator: &Operator, dim: usize) -> usize {
    let sweep = 2.0 * operator.product_form().factors as f64 * dim as f64;
    let budget = (sweep / 20.0 * 8.0).max(LEAST_BUDGET);
    let cost = |m: f64| {
        let small = m.min(dim as f64);
        m * small * dim as f64 + 10.0 * small.powi(3)
    };
    let affordable = |m: &usize| cost(*m as f64) <= budget;
    [SAMPLE, 2048, 1024, 768, 512, 384].into_iter().find(affordable).unwrap_or(LEAST_SAMPLE)
}

/// The size of the sample of rows; 0 if it is all of them.
pub(super) fn sampled(operator: &Operator, dim: usize) -> usize {
    let rows = sample_rows(operator, dim);
    let most = operator.d_x().max(operator.d_y());
    if rows < most { rows } else { 0 }
}
