//! The starts of RMLS, and the choice between them without validation data, from the spectrum of the clicks.
//!
//! The leading singular vectors tell the subjects of the clicks apart where these are few and overlap: one
//! connected log whose words occur all over it (nfcorpus). Where there are many separate ones, most features
//! lie outside the space of d vectors, while a random start is a sketch of all of C. With σ the singular
//! values of C of words alone, of the click graph with edges 1/√(degree of query · degree of document),
//! the participation ratio (Σσ²)²/Σσ⁴ counts these subjects. It is 2 to 10 on the logs that prefer a spectral
//! start and 19 to 1,000 on the others, at any number of dimensions (docs/BENCHMARKS.md).

use super::params::{Rmls, Start};
use super::report::Origin;
use crate::Result;
use crate::features::Weighted;
use crate::linalg::{Centring, Dense, Operator, PANEL};
use crate::sparse::Csr;

/// The participation ratio above which a random start is taken.
const MANY: f64 = 14.0;

/// The starts of a fit in their order, and the reason for the choice where there was one. The singular
/// vectors come before the random start: they need the most memory while no other maps exist.
pub(super) fn branches(
    params: &Rmls,
    participation_ratio: Option<f64>,
    init: bool,
    validated: bool,
) -> (Vec<Origin>, String) {
    match (params.start(), init) {
        (Start::Random, false) => (vec![Origin::Random], String::new()),
        (Start::Random, true) => (vec![Origin::Init], String::new()),
        (Start::Spectral, _) => (vec![Origin::Spectral], String::new()),
        (Start::Auto, _) if validated => {
            let first = init.then_some(Origin::Init);
            (first.into_iter().chain([Origin::Spectral, Origin::Random]).collect(), String::new())
        }
        (Start::Auto, _) => {
            let (origin, reason) = start_of(participation_ratio.unwrap_or(0.0));
            let from_earlier = init && origin == Origin::Random;
            (vec![if from_earlier { Origin::Init } else { origin }], reason)
        }
    }
}

/// The better start at a participation ratio, and the reason.
fn start_of(participation_ratio: f64) -> (Origin, String) {
    let many = participation_ratio > MANY;
    let (origin, comparison) =
        if many { (Origin::Random, "above") } else { (Origin::Spectral, "at most") };
    let reason = format!(
        "{}, since there is no validation data and the participation ratio of the clicks' singular values is {participation_ratio:.1}, {comparison} {MANY}",
        origin.name()
    );
    (origin, reason)
}

/// (Σσ²)²/Σσ⁴ of the clicks of `data` between words, which are the first `n_words` features: the number of
/// singular values if all were equal. Both sums are means over a panel of random vectors: E‖Cg‖² = Σσ²
/// and E‖CᵀCg‖² = Σσ⁴.
pub(super) fn participation_ratio(data: &Weighted, n_words: usize, seed: u64) -> Result<f64> {
    let operator = Operator::new(
        words(&data.x, n_words)?,
        normalised(&data.r)?,
        words(&data.y, n_words)?,
        Centring::None,
    )?;
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
    Ok(if fourth > 0.0 { second * second / fourth } else { 0.0 })
}

/// `features` without those that are not words; all of them if none is a word.
fn words(features: &Csr, n_words: usize) -> Result<Csr> {
    let is_word = |v: u32| (v as usize) < n_words;
    if !features.indices().iter().any(|&v| is_word(v)) {
        return Ok(features.clone());
    }
    features.map(|_, v, value| if is_word(v) { value } else { 0.0 })
}

/// The click graph of `r` with edges 1/√(degree of query · degree of document).
fn normalised(r: &Csr) -> Result<Csr> {
    let mut degrees = vec![0u32; r.n_cols()];
    r.indices().iter().for_each(|&j| degrees[j as usize] += 1);
    r.map(|i, j, _| (1.0 / (r.row(i).len() as f64 * f64::from(degrees[j as usize])).sqrt()) as f32)
}
