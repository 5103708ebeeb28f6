//! Sweeps of NMF that go on in the direction of the last one (Ang and Gillis, 2019): weights are
//! carried on by β of what they moved before topics are fitted to them. Where the objective would
//! rise, the sweep is taken back and done without.

use std::path::Path;

use rayon::prelude::*;

use crate::Result;
use crate::linalg::Dense;

/// β at first, by how much it grows with every sweep that did well, and its bounds.
const FIRST: f32 = 0.5;
const GROWTH: f32 = 1.05;
const MOST: f32 = 0.95;
/// What is left of β after a sweep that was taken back.
const AFTER: f32 = 0.5;
/// Numbers that one thread takes at a time.
const BLOCK: usize = 1 << 14;

/// How far to carry weights on, and from where.
pub(super) struct Momentum {
    beta: f32,
    /// Weights before the last sweep, and after it.
    before: Dense,
    after: Dense,
}

impl Momentum {
    /// At rest at `weights`; what it remembers lies in scratch files in `folder`, where one is given.
    pub fn new(weights: &Dense, folder: Option<&Path>) -> Result<Self> {
        let workspace = || Dense::placed(weights.n_rows(), weights.n_cols(), folder);
        let (mut before, after) = (workspace()?, workspace()?);
        before.values_mut().copy_from_slice(weights.values());
        Ok(Momentum { beta: FIRST, before, after })
    }

    /// Carries `weights` on, none below zero.
    pub fn carry_on(&mut self, weights: &mut Dense) {
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

    /// The sweep did well.
    pub fn grow(&mut self) {
        std::mem::swap(&mut self.before, &mut self.after);
        self.beta = (self.beta * GROWTH).min(MOST);
    }

    /// The sweep is taken back: `weights` are what they were, at rest.
    pub fn take_back(&mut self, weights: &mut Dense) {
        weights.values_mut().copy_from_slice(self.after.values());
        std::mem::swap(&mut self.before, &mut self.after);
        self.beta *= AFTER;
    }
}
