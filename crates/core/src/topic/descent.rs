//! Coordinate descent for one row of a factor.
//!
//! ```text
//! min over u of uᵀSu − 2rᵀu + λ|u|₁,  or the same without λ over u ≥ 0
//! w_k = r_k − Σ_{l≠k} s_kl·u_l,  u_k ← (|w_k| − λ/2)₊·sign(w_k)/s_kk,  or (w_k)₊/s_kk
//! ```
//! What is kept is the gradient g = r − Su. A topic that stays as it is costs one comparison; one
//! that moves costs a row of S, which lies in the nearest caches. Between passes over all topics
//! there are passes over the non-zero ones alone.

use crate::linalg::{add_scaled, soft_threshold};

/// Most passes over the non-zero topics between two over all.
const BETWEEN: usize = 10;

/// Least squares with a row of S for every topic.
pub(super) struct Descent {
    /// S by rows.
    gram: Vec<f32>,
    /// The diagonal of S.
    diagonal: Vec<f32>,
    /// λ/2.
    threshold: f32,
    non_negative: bool,
    /// Most passes.
    passes: usize,
    /// How little a pass must move, beside the largest weight, to be the last.
    tolerance: f32,
}

impl Descent {
    /// `gram` is S by rows, k × k.
    pub fn new(gram: Vec<f32>, k: usize, passes: usize, tolerance: f32) -> Self {
        assert_eq!(gram.len(), k * k, "a square matrix");
        let diagonal = (0..k).map(|i| gram[i * k + i]).collect();
        Descent { gram, diagonal, threshold: 0.0, non_negative: false, passes, tolerance }
    }

    /// The same with the penalty λ|u|₁.
    pub fn with_penalty(self, lambda: f64) -> Self {
        Descent { threshold: (lambda / 2.0) as f32, ..self }
    }

    /// The same over u ≥ 0.
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
        // Rounding may keep the non-zero topics moving for ever: now and then all have their turn.
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

    /// Moves every topic once, or the non-zero ones alone: how far the farthest moved, and the
    /// largest weight, both in the norm of S.
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
