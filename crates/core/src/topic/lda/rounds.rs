//! The rounds of one document, and how rows of θ̃ and φ̃ are made.

use crate::topic::bags::{LANES, Lane, Workspace, copy_in, gather, wide};
use crate::topic::special::{digamma, digamma_f64, exp};

/// The least exponent: what is smaller beside the largest counts as this.
const SMALLEST: f32 = -40.0;
/// Stands for −∞.
const NONE: f32 = -1e30;

/// γ = α + (words of the document)/K.
pub(super) fn begin(gamma: &mut [Lane], alpha: f32, counts: &[f32], mask: &[Lane], dim: usize) {
    let words: f64 = counts.iter().map(|&n| f64::from(n)).sum();
    let even = (f64::from(alpha) + words / dim as f64) as f32;
    for (gamma, mask) in gamma.iter_mut().zip(mask) {
        for lane in 0..LANES {
            gamma.0[lane] = even * mask.0[lane];
        }
    }
}

wide! {
    /// Rounds of γ and θ̃ of one document until γ comes to rest. `workspace` has its words, and θ̃ in the end; the
    /// logarithm of what θ̃ was scaled by (without ψ(Σγ)), and the rounds.
    pub(super) fn rest(
        workspace: &mut Workspace,
        alpha: f32,
        mask: &[Lane],
        rounds: usize,
        tolerance: f32,
        gamma: &mut [Lane],
    ) -> (f32, usize) {
        let Workspace { words, counts, theta, sums, .. } = workspace;
        let dim = mask.iter().flat_map(|lane| lane.0).sum::<f32>();
        let mut taken = 0;
        theta.copy_from_slice(gamma);
        let mut scale = scaled(theta, None, mask);
        while taken < rounds {
            taken += 1;
            gather(words, counts, theta, sums);
            let mut change = Lane::default();
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
    /// θ̃ of a document from its γ, scaled; the logarithm of what it was scaled by, without ψ(Σγ).
    pub(super) fn scale_document(row: &mut [Lane], mask: &[Lane]) -> f32 {
        scaled(row, None, mask)
    }
}

wide! {
    /// φ̃ of a word from its λ, scaled; the logarithm of what it was scaled by.
    pub(super) fn scale_word(row: &mut [Lane], psi: &[Lane], mask: &[Lane]) -> f32 {
        scaled(row, Some(psi), mask)
    }
}

/// exp(ψ(x) − less), divided by the largest of them; the logarithm of that.
#[inline(always)]
fn scaled(x: &mut [Lane], less: Option<&[Lane]>, mask: &[Lane]) -> f32 {
    let mut largest = Lane([NONE; LANES]);
    for (at, (x, mask)) in x.iter_mut().zip(mask).enumerate() {
        let mut psi = digamma(*x);
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
        *x = exp(*x);
        for lane in 0..LANES {
            x.0[lane] *= mask.0[lane];
        }
    }
    most
}

/// ψ of every topic's total.
pub(super) fn psi_of(totals: &[f64]) -> Vec<Lane> {
    let psi: Vec<f32> = totals
        .iter()
        .map(|&total| if total > 0.0 { digamma_f64(total) as f32 } else { 0.0 })
        .collect();
    let mut lanes = vec![Lane::default(); psi.len().div_ceil(LANES)];
    copy_in(&psi, &mut lanes);
    lanes
}
