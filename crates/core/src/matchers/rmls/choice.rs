//! The start of RMLS without validation data, from the spectrum of C.
//!
//! The d leading singular vectors keep all of C where it has few aspects (a small, connected log), and
//! little where it has many of about the same strength (a large, sparse log); a random start is a
//! sketch of all of C.

use super::report::Origin;
use crate::linalg::{Dense, Operator, PANEL};

/// Aspects of C for each latent dimension above which a random start is better.
const MOST_ASPECTS_PER_DIM: f64 = 1.0;

/// The better start of a C with so many aspects, and the reason.
pub(super) fn start_of(aspects: f64, dim: usize) -> (Origin, String) {
    let many = aspects > MOST_ASPECTS_PER_DIM * dim as f64;
    let (origin, comparison) =
        if many { (Origin::Random, "more") } else { (Origin::Spectral, "no more") };
    let reason = format!(
        "{}, since there is no validation data and C has {comparison} aspects than {dim} dimensions hold",
        origin.name()
    );
    (origin, reason)
}

/// (Σσ²)²/Σσ⁴ of C: the number of singular values if they were all equal. Both sums are the mean over a
/// panel of random vectors: E‖Cg‖² = Σσ² and E‖CᵀCg‖² = Σσ⁴.
pub(super) fn aspects(operator: &Operator, seed: u64) -> f64 {
    let squares = |block: &Dense| -> f64 {
        let sum: f64 = block.values().iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        sum / PANEL as f64
    };
    let start = Dense::gaussian(operator.d_y(), PANEL, seed);
    let mut once = Dense::zeros(operator.d_x(), PANEL);
    operator.apply(&start, &mut once);
    let mut twice = start;
    operator.apply_transpose(&once, &mut twice);
    let (second, fourth) = (squares(&once), squares(&twice));
    if fourth > 0.0 { second * second / fourth } else { 0.0 }
}
