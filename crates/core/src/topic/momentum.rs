//! Extrapolated sweeps of NMF (Ang and Gillis, 2019): before topics are fitted to the weights, these
//! are extrapolated by β times their last change. A sweep that would raise the objective is undone
//! and repeated without extrapolation.

use std::path::Path;

use rayon::prelude::*;

use crate::Result;
use crate::linalg::Dense;

/// The first β, its growth after every successful sweep, and its bound.
const FIRST: f32 = 0.5;
const GROWTH: f32 = 1.05;
const MOST: f32 = 0.95;
/// The factor of β after an undone sweep.
const AFTER: f32 = 0.5;
/// Numbers per task.
const BLOCK: usize = 1 << 14;

/// The extrapolation factor and the weights that it is based on.
pub(super) struct Momentum {
    beta: f32,
    /// Weights before the last sweep, and after it.
    before: Dense,
    after: Dense,
}

impl Momentum {
    /// Starts at `weights`; the copies lie in scratch files in `folder`, if one is given.
    pub fn new(weights: &Dense, folder: Option<&Path>) -> Result<Self> {
        let copy = || Dense::placed(weights.n_rows(), weights.n_cols(), folder);
        let (mut before, after) = (copy()?, copy()?);
        before.values_mut().copy_from_slice(weights.values());
        Ok(Momentum { beta: FIRST, before, after })
    }

    /// Extrapolates `weights`, clamped at zero.
    pub fn extrapolate(&mut self, weights: &mut Dense) {
        self.after.values_mut().copy_from_slice(weights.values());
        let (beta, before) = (self.beta, self.before.values());
        weights.values_mut().par_chunks_mut(BLOCK).zip(before.par_chunks(BLOCK)).for_each(
            |(weights, before)| {
                for (v, &before) in weights.iter_mut().zip(before) {
                    *v = (*v + beta * (*v - before)).max(0.0);
                }
            },
        );
    }

    /// Accepts the sweep.
    pub fn accept(&mut self) {
        std::mem::swap(&mut self.before, &mut self.after);
        self.beta = (self.beta * GROWTH).min(MOST);
    }

    /// Undoes the sweep: restores `weights` to their values before the extrapolation.
    pub fn undo(&mut self, weights: &mut Dense) {
        weights.values_mut().copy_from_slice(self.after.values());
        std::mem::swap(&mut self.before, &mut self.after);
        self.beta *= AFTER;
    }
}
