//! The starts of RMLS, and the choice between them without validation data, from the spectrum of the clicks.
//!
//! The leading singular vectors tell the subjects of the clicks apart where these are few and overlap: one
//! connected log whose words occur all over it (nfcorpus). Where there are many separate ones, most features
//! lie outside the space of d vectors, while a random start is a sketch of all of C. With σ the singular
//! values of C of words alone, of the click graph with edges 1/√(degree of query · degree of document),
//! the participation ratio (Σσ²)²/Σσ⁴ counts these subjects. It is 2 to 5 on the logs that prefer a spectral
//! start and 22 to 2,700 on the others (docs/BENCHMARKS.md).

use super::params::{Rmls, Start};
use super::report::Origin;
use crate::Result;
use crate::features::Weighted;
use crate::linalg::{Centring, Dense, Operator, PANEL};
use crate::sparse::Csr;

/// The participation ratio above which a random start is taken.
const RANDOM_ABOVE: f64 = 14.0;

/// The starts of a fit in their order, and the reason for the choice where there was one. The singular
/// vectors come before the random start: they need the most memory while no other maps exist.
pub(super) fn starts(
    params: &Rmls,
    participation_ratio: Option<f64>,
    init: bool,
    validated: bool,
) -> (Vec<Origin>, String) {
    match (params.start(), init) {
        (Start::Random, init) => {
            let reason = match params.start {
                Start::Auto => "the start is random, since an absolute penalty is in units of the clicks, not of singular vectors".into(),
                _ => String::new(),
            };
            (vec![if init { Origin::Init } else { Origin::Random }], reason)
        }
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
    let many = participation_ratio > RANDOM_ABOVE;
    let (origin, comparison) =
        if many { (Origin::Random, "above") } else { (Origin::Spectral, "at most") };
    let reason = format!(
        "{}, since there is no validation data and the participation ratio of the clicks' singular values is {participation_ratio:.1}, {comparison} {RANDOM_ABOVE}",
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

/// The click graph of `r` with edges 1/√(degree of query · degree of document). Negative responses are
/// no clicks.
fn normalised(r: &Csr) -> Result<Csr> {
    let mut degrees = [vec![0u32; r.n_rows()], vec![0u32; r.n_cols()]];
    for (i, row) in r.rows().enumerate() {
        for (j, _) in row.iter().filter(|&(_, value)| value > 0.0) {
            degrees[0][i] += 1;
            degrees[1][j as usize] += 1;
        }
    }
    let [queries, docs] = degrees;
    r.map(|i, j, value| {
        let product = f64::from(queries[i]) * f64::from(docs[j as usize]);
        if value > 0.0 { (1.0 / product.sqrt()) as f32 } else { 0.0 }
    })
}
