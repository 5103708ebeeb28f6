//! Coordinate descent for one row of a factor.
//!
//! ```text
//! min over u of uᵀSu − 2rᵀu + λ|u|₁,  or with λ = 0 over u ≥ 0
//! w_k = r_k − Σ_{l≠k} s_kl·u_l,  u_k ← (|w_k| − λ/2)₊·sign(w_k)/s_kk,  or (w_k)₊/s_kk
//! ```
//! The gradient g = r − Su is updated along the way. A topic that does not move costs one
//! comparison; one that moves costs a row of S, which is in the cache. Between passes over all topics
//! there are passes over the non-zero ones alone (an active set).

use faer::Mat;

use super::symmetric::lower_to_full;
use crate::linalg::{add_scaled, soft_threshold};

/// The most passes over the non-zero topics between two over all.
const BETWEEN: usize = 10;

/// The quadratic problem of a row, up to r.
pub(super) struct Descent {
    /// S by rows.
    gram: Vec<f32>,
    /// The diagonal of S.
    diagonal: Vec<f32>,
    /// λ/2.
    threshold: f32,
    non_negative: bool,
    /// The most passes.
    passes: usize,
    /// The largest move of a pass, as a share of the largest weight, at which descent stops.
    tolerance: f32,
}

impl Descent {
    /// From S, of which the lower triangle is read.
    pub fn new(gram: &Mat<f64>, passes: usize, tolerance: f32) -> Self {
        let diagonal = (0..gram.nrows()).map(|k| gram[(k, k)] as f32).collect();
        let gram = lower_to_full(gram);
        Descent { gram, diagonal, threshold: 0.0, non_negative: false, passes, tolerance }
    }

    /// Adds the penalty λ|u|₁.
    pub fn with_penalty(self, lambda: f64) -> Self {
        Descent { threshold: (lambda / 2.0) as f32, ..self }
    }

    /// Constrains u to be ≥ 0.
    pub fn non_negative(self) -> Self {
        Descent { non_negative: true, ..self }
    }

    /// The number of topics.
    pub fn width(&self) -> usize {
        self.diagonal.len()
    }

    fn row_of_gram(&self, k: usize) -> &[f32] {
        let n = self.diagonal.len();
        &self.gram[k * n..][..n]
    }

    /// Lowers the objective by moving `u`; `gradient` is r on entry and r − Su afterwards.
    #[inline(always)]
    pub fn descend(&self, u: &mut [f32], gradient: &mut [f32]) {
        for (k, &weight) in u.iter().enumerate() {
            if weight != 0.0 {
                add_scaled(gradient, -weight, self.row_of_gram(k));
            }
        }
        // Rounding may keep the non-zero topics moving for ever, so all are visited now and then.
        let (mut whole, mut since) = (true, 0);
        for _ in 0..self.passes {
            let (moved, largest) = self.pass(u, gradient, whole);
            let settled = moved <= self.tolerance * largest;
            if settled && whole {
                break;
            }
            since = if whole { 0 } else { since + 1 };
            whole = settled || since == BETWEEN;
        }
    }

    /// Moves every topic once, or the non-zero ones alone. Returns the largest move and the largest
    /// weight, both in the norm of S.
    #[inline(always)]
    fn pass(&self, u: &mut [f32], gradient: &mut [f32], whole: bool) -> (f32, f32) {
        let (mut moved, mut largest) = (0.0f32, 0.0f32);
        for k in 0..u.len() {
            let old = u[k];
            if old == 0.0 && (!whole || self.stays_zero(gradient[k])) {
                continue;
            }
            let s = self.diagonal[k];
            let w = gradient[k] + s * old;
            let new = if s <= 0.0 {
                0.0
            } else if self.non_negative {
                w.max(0.0) / s
            } else {
                soft_threshold(w, self.threshold) / s
            };
            let by = new - old;
            if by != 0.0 {
                u[k] = new;
                add_scaled(gradient, -by, self.row_of_gram(k));
            }
            let scale = s.max(0.0).sqrt();
            moved = moved.max(by.abs() * scale);
            largest = largest.max(new.abs() * scale);
        }
        (moved, largest)
    }

    #[inline(always)]
    fn stays_zero(&self, gradient: f32) -> bool {
        if self.non_negative { gradient <= 0.0 } else { gradient.abs() <= self.threshold }
    }
}
