//! The E-step of one document, and rows of θ̃ and φ̃ from γ and λ.

use crate::special::digamma;
use crate::topic::bags::{Workspace, accumulate_adjacent};
use crate::topic::simd::{F32x8, LANES, copy_in, wide};

/// Exponents are clamped at this, relative to the largest.
const SMALLEST: f32 = -40.0;
/// Used as −∞.
const NONE: f32 = -1e30;

/// γ = α + (words of the document)/K.
pub(super) fn initial_gamma(
    gamma: &mut [F32x8],
    alpha: f32,
    counts: &[f32],
    mask: &[F32x8],
    dim: usize,
) {
    let words: f64 = counts.iter().map(|&n| f64::from(n)).sum();
    let even = (f64::from(alpha) + words / dim as f64) as f32;
    for (gamma, mask) in gamma.iter_mut().zip(mask) {
        for lane in 0..LANES {
            gamma.0[lane] = even * mask.0[lane];
        }
    }
}

wide! {
    /// Iterates γ and θ̃ of one document until γ converges. `workspace` holds its words, and θ̃ at the
    /// end. Returns the logarithm of the scale of θ̃ (without ψ(Σγ)) and the number of rounds.
    pub(super) fn iterate(
        workspace: &mut Workspace,
        alpha: f32,
        mask: &[F32x8],
        rounds: usize,
        tolerance: f32,
        gamma: &mut [F32x8],
    ) -> (f32, usize) {
        let Workspace { words, counts, theta, sums, .. } = workspace;
        let dim = mask.iter().flat_map(|lane| lane.0).sum::<f32>();
        let mut taken = 0;
        theta.copy_from_slice(gamma);
        let mut scale = scaled(theta, None, mask);
        while taken < rounds {
            taken += 1;
            accumulate_adjacent(words, counts, theta, sums);
            let mut change = F32x8::default();
            for (((gamma, theta), sum), mask) in
                gamma.iter_mut().zip(theta.iter_mut()).zip(&sums.sum).zip(mask)
            {
                for lane in 0..LANES {
                    let new = alpha * mask.0[lane] + theta.0[lane] * sum.0[lane];
                    change.0[lane] += (new - gamma.0[lane]).abs();
                    gamma.0[lane] = new;
                    theta.0[lane] = new;
                }
            }
            scale = scaled(theta, None, mask);
            if change.0.iter().sum::<f32>() <= tolerance * dim {
                break;
            }
        }
        (scale, taken)
    }
}

wide! {
    /// Turns γ of a document into scaled θ̃. Returns the logarithm of the scale, without ψ(Σγ).
    pub(super) fn scale_document(row: &mut [F32x8], mask: &[F32x8]) -> f32 {
        scaled(row, None, mask)
    }
}

wide! {
    /// Turns λ of a word into scaled φ̃. Returns the logarithm of the scale.
    pub(super) fn scale_word(row: &mut [F32x8], psi: &[F32x8], mask: &[F32x8]) -> f32 {
        scaled(row, Some(psi), mask)
    }
}

/// x ← exp(ψ(x) − less), divided by the largest entry. Returns the logarithm of that.
#[inline(always)]
fn scaled(x: &mut [F32x8], less: Option<&[F32x8]>, mask: &[F32x8]) -> f32 {
    let mut largest = F32x8([NONE; LANES]);
    for (at, (x, mask)) in x.iter_mut().zip(mask).enumerate() {
        let mut psi = x.digamma();
        if let Some(less) = less {
            for lane in 0..LANES {
                psi.0[lane] -= less[at].0[lane];
            }
        }
        for lane in 0..LANES {
            let value = if mask.0[lane] > 0.0 { psi.0[lane] } else { NONE };
            largest.0[lane] = if value > largest.0[lane] { value } else { largest.0[lane] };
            x.0[lane] = value;
        }
    }
    let mut most = NONE;
    for value in largest.0 {
        most = if value > most { value } else { most };
    }
    for (x, mask) in x.iter_mut().zip(mask) {
        for lane in 0..LANES {
            let value = x.0[lane] - most;
            x.0[lane] = if value > SMALLEST { value } else { SMALLEST };
        }
        *x = x.exp();
        for lane in 0..LANES {
            x.0[lane] *= mask.0[lane];
        }
    }
    most
}

/// ψ of every topic's total.
pub(super) fn psi_of(totals: &[f64]) -> Vec<F32x8> {
    let psi: Vec<f32> =
        totals.iter().map(|&total| if total > 0.0 { digamma(total) as f32 } else { 0.0 }).collect();
    let mut lanes = vec![F32x8::default(); psi.len().div_ceil(LANES)];
    copy_in(&psi, &mut lanes);
    lanes
}
