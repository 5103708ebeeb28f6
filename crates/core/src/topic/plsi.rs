//! Probabilistic latent semantic indexing (Hofmann, 1999): every document d has shares θ_d of
//! topics, every topic k has probabilities φ_k of words, and EM climbs
//!
//! ```text
//! L = Σ_d Σ_w n_dw·ln Σ_k θ_dk·φ_wk
//! ```
//! alternately: θ_dk ∝ Σ_w n_dw·p(k|d,w) for every document, then φ_wk ∝ Σ_d n_dw·p(k|d,w) for every
//! word, where p(k|d,w) ∝ θ_dk·φ_wk. Neither half-iteration lowers L.
//!
//! Tempered with an exponent b below 1, p(k|d,w) ∝ (θ_dk·φ_wk)ᵇ, which makes topics softer. EM then
//! climbs Σ n·ln[Σ_k (θ·φ)ᵇ]/b. During the fit, the rows hold θᵇ and φᵇ.
//!
//! A document without words keeps the uniform θ of the start. A word that no document has gets
//! φ = 0: it is unknown to the model.

use std::borrow::Cow;

use rayon::prelude::*;

use super::bags::{
    BagCorpus, BagTopics, PaddedMatrix, Sums, Workspace, accumulate, accumulate_adjacent,
    accumulate_with_log, for_each_row, scale_to_one,
};
use super::simd::{F32x8, LANES, copy_in, copy_out, wide};
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Probabilities below this become zero. The product of two others is then a normal number, with
/// which processors are fast.
const NOTHING: f32 = 1e-18;

/// PLSI and its hyperparameters.
#[derive(Debug, Clone, PartialEq)]
pub struct PlsiFit {
    /// The number of topics.
    pub dim: usize,
    /// The most iterations.
    pub iterations: usize,
    /// The relative change of the log-likelihood at which it stops.
    pub tolerance: f64,
    /// The exponent b, above 0, at most 1.
    pub tempering: f64,
    /// The most iterations of folding a document in.
    pub fold_in: usize,
    /// The seed of the start.
    pub seed: u64,
}

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct PlsiFitted {
    /// The topics of the words.
    pub topics: PlsiTopics,
    /// Documents × topics: θ.
    pub documents: Dense,
    /// The log-likelihood per token (tempered: the objective) in every iteration, between its two
    /// halves.
    pub objective: Vec<f64>,
    /// Whether the log-likelihood converged.
    pub converged: bool,
}

/// φ, into which documents are folded.
#[derive(Debug, Clone, PartialEq)]
pub struct PlsiTopics {
    phi: Dense,
    tempering: f32,
    rounds: usize,
}

impl PlsiFit {
    /// Learns topics from `docs`, documents × terms, counts of 0 or more.
    pub fn fit(&self, docs: &Csr, run: &Run<'_>) -> Result<PlsiFitted> {
        let dim = self.dim;
        // Both matrices, and a plain copy of each in the end.
        let more = PaddedMatrix::bytes(docs.n_rows() + docs.n_cols(), dim).saturating_mul(2);
        let corpus = BagCorpus::new(docs, more, run.memory_left())?;
        let b = self.tempering as f32;
        let mut phi = self.start(&corpus);
        let mut theta = PaddedMatrix::zeros(docs.n_rows(), dim);
        let even = vec![tempered(1.0 / dim as f32, b); dim];
        (0..docs.n_rows()).for_each(|d| copy_in(&even, theta.row_mut(d)));
        let (mut objective, mut converged) = (Vec::new(), false);
        let workspace = || Sums::new(dim.div_ceil(LANES));
        for iteration in 0..self.iterations {
            run.step("learning topics", iteration as u64, Some(self.iterations as u64))?;
            for_each_row(theta.par_rows_mut(), run, workspace, |d, theta, sums| {
                accumulate(docs.row(d), &phi, theta, sums);
                expect(theta, &sums.sum, b);
                0.0
            })?;
            let log = for_each_row(phi.par_rows_mut(), run, workspace, |w, phi, sums| {
                let log = accumulate_with_log(corpus.postings.row(w), &theta, phi, sums);
                times(phi, &sums.sum);
                log
            })?;
            normalise(&mut phi, b);
            let now = log / (f64::from(b) * corpus.n_words);
            if !now.is_finite() {
                let advice = "set tempering nearer to 1, or take fewer topics";
                return Err(Error::not_finite("the log-likelihood", iteration + 1, advice));
            }
            let before = objective.last().copied();
            objective.push(now);
            converged =
                before.is_some_and(|before| (now - before).abs() <= self.tolerance * now.abs());
            if converged {
                break;
            }
        }
        let topics = PlsiTopics { phi: untempered(phi, b), tempering: b, rounds: self.fold_in };
        Ok(PlsiFitted { topics, documents: untempered(theta, b), objective, converged })
    }

    /// Topics from a saved `phi`, terms × topics.
    pub fn topics(&self, phi: Dense) -> PlsiTopics {
        PlsiTopics { phi, tempering: self.tempering as f32, rounds: self.fold_in }
    }

    /// A random φ. A word's row does not depend on the order of documents, and exponential draws make
    /// topics differ from the first iteration on.
    fn start(&self, corpus: &BagCorpus<'_>) -> PaddedMatrix {
        let mut phi = PaddedMatrix::zeros(corpus.docs.n_cols(), self.dim);
        phi.par_rows_mut().enumerate().for_each_init(
            || vec![0.0f32; self.dim],
            |drawn, (w, row)| {
                let words: f32 = corpus.postings.row(w).values.iter().sum();
                let mut random = Random::new(self.seed, w as u64);
                drawn.fill_with(|| words * (0.5 - (1.0 - random.uniform()).ln()) as f32);
                copy_in(drawn, row);
            },
        );
        normalise(&mut phi, self.tempering as f32);
        phi
    }
}

impl BagTopics for PlsiTopics {
    fn weights(&self) -> &Dense {
        &self.phi
    }

    fn probabilities(&self) -> Cow<'_, Dense> {
        Cow::Borrowed(&self.phi)
    }

    /// φᵇ.
    fn prepare(&self, term: u32, row: &mut [F32x8]) {
        copy_in(self.phi.row(term as usize), row);
        temper(row, self.tempering);
    }

    /// EM from uniform θ with φ fixed.
    fn infer(&self, workspace: &mut Workspace, theta: &mut [f32]) {
        let b = self.tempering;
        copy_in(theta, &mut workspace.theta);
        temper(&mut workspace.theta, b);
        climb(workspace, b, self.rounds);
        copy_out(&workspace.theta, theta);
        if b != 1.0 {
            theta.iter_mut().for_each(|t| *t = t.powf(1.0 / b));
        }
        scale_to_one(theta);
    }
}

/// Folding in stops when no share changes by more.
const TOLERANCE: f32 = 1e-5;

wide! {
    /// EM of one θ until it converges.
    fn climb(workspace: &mut Workspace, b: f32, rounds: usize) {
        let Workspace { words, counts, theta, other, sums } = workspace;
        for _ in 0..rounds {
            accumulate_adjacent(words, counts, theta, sums);
            other.copy_from_slice(theta);
            expect(theta, &sums.sum, b);
            let mut change = 0.0f32;
            for (new, old) in theta.iter().zip(other.iter()) {
                for lane in 0..LANES {
                    change = change.max((new.0[lane] - old.0[lane]).abs());
                }
            }
            if change <= TOLERANCE {
                return;
            }
        }
    }
}

/// θ from the expected words of every topic, θ∘sum; unchanged if there are none.
#[inline(always)]
fn expect(theta: &mut [F32x8], sum: &[F32x8], b: f32) {
    let mut sums = F32x8::default();
    for (theta, sum) in theta.iter().zip(sum) {
        for lane in 0..LANES {
            sums.0[lane] += theta.0[lane] * sum.0[lane];
        }
    }
    let words: f32 = sums.0.iter().sum();
    if words <= 0.0 {
        return;
    }
    let scale = 1.0 / words;
    for (theta, sum) in theta.iter_mut().zip(sum) {
        for lane in 0..LANES {
            let share = theta.0[lane] * sum.0[lane] * scale;
            theta.0[lane] = if share < NOTHING { 0.0 } else { share };
        }
    }
    temper(theta, b);
}

fn times(row: &mut [F32x8], sum: &[F32x8]) {
    for (row, sum) in row.iter_mut().zip(sum) {
        for lane in 0..LANES {
            row.0[lane] *= sum.0[lane];
        }
    }
}

/// Scales every topic to sum 1 and tempers it. A topic without words stays without.
fn normalise(phi: &mut PaddedMatrix, b: f32) {
    let scales: Vec<f32> = phi
        .column_sums()
        .into_iter()
        .map(|sum| if sum > 0.0 { (1.0 / sum) as f32 } else { 0.0 })
        .collect();
    let mut lanes = vec![F32x8::default(); phi.lanes()];
    copy_in(&scales, &mut lanes);
    phi.par_rows_mut().with_min_len(256).for_each(|row| {
        for (row, scale) in row.iter_mut().zip(&lanes) {
            for lane in 0..LANES {
                let p = row.0[lane] * scale.0[lane];
                row.0[lane] = if p < NOTHING { 0.0 } else { p };
            }
        }
        temper(row, b);
    });
}

fn tempered(p: f32, b: f32) -> f32 {
    if b == 1.0 { p } else { p.powf(b) }
}

#[inline(always)]
fn temper(row: &mut [F32x8], b: f32) {
    if b != 1.0 {
        raise(row, b);
    }
}

wide! {
    /// pᵇ of numbers that are 0 or not below [`NOTHING`].
    fn raise(row: &mut [F32x8], b: f32) {
        for lane in row {
            let mut logs = F32x8::default();
            for at in 0..LANES {
                let p = lane.0[at];
                logs.0[at] = if p > NOTHING { p } else { NOTHING };
            }
            logs = logs.ln();
            logs.0.iter_mut().for_each(|log| *log *= b);
            let powers = logs.exp();
            for at in 0..LANES {
                lane.0[at] = if lane.0[at] > 0.0 { powers.0[at] } else { 0.0 };
            }
        }
    }
}

fn untempered(rows: PaddedMatrix, b: f32) -> Dense {
    let mut dense = rows.to_dense();
    if b != 1.0 {
        dense.values_mut().iter_mut().for_each(|p| *p = p.powf(1.0 / b));
    }
    dense
}

#[cfg(test)]
mod tests;
