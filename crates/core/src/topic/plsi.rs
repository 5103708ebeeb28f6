//! Probabilistic latent semantic indexing (Hofmann, 1999): every document d has shares θ_d of
//! topics, every topic k has probabilities φ_k of words, and EM climbs
//!
//! ```text
//! L = Σ_d Σ_w n_dw·ln Σ_k θ_dk·φ_wk
//! ```
//! by turns: θ_dk ∝ Σ_w n_dw·p(k|d,w) for every document, then φ_wk ∝ Σ_d n_dw·p(k|d,w) for every word,
//! where p(k|d,w) ∝ θ_dk·φ_wk. Neither half-iteration lowers L.
//!
//! Tempered with an exponent b below 1, p(k|d,w) ∝ (θ_dk·φ_wk)ᵇ: topics stay softer. What climbs is then
//! Σ n·ln[Σ_k (θ·φ)ᵇ]/b. While it learns, the rows hold θᵇ and φᵇ.
//!
//! A document without a word keeps the even θ it begins with. A word that no document has gets
//! φ = 0: the model does not know it.

use std::borrow::Cow;

use super::bags::{
    BagTopics, Corpus, LANES, Lane, Rows, Sums, Workspace, copy_in, copy_out, each_row, gather,
    walk, walk_with_log, wide,
};
use super::special::{exp, ln};
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

/// Probabilities below this become zero. The product of two that are left is still a normal
/// number, with which processors are fast.
const NOTHING: f32 = 1e-18;

/// How PLSI is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct PlsiFit {
    /// Topics.
    pub dim: usize,
    /// Most iterations.
    pub iterations: usize,
    /// The relative change of the log-likelihood at which it stops.
    pub tolerance: f64,
    /// The exponent b, above 0, at most 1.
    pub tempering: f64,
    /// Most iterations that fold a document in.
    pub fold_in: usize,
    /// Seed of the words' first topics.
    pub seed: u64,
}

/// What fitting yields.
#[derive(Debug, Clone, PartialEq)]
pub struct PlsiFitted {
    /// The topics of the words.
    pub topics: PlsiTopics,
    /// Documents × topics: θ.
    pub documents: Dense,
    /// The log-likelihood a word (what climbs, where it is tempered) in every iteration, between
    /// its two halves.
    pub objective: Vec<f64>,
    /// Whether the log-likelihood came to rest.
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
        let more = Rows::bytes(docs.n_rows() + docs.n_cols(), dim).saturating_mul(2);
        let corpus = Corpus::new(docs, more, run.memory_left())?;
        let b = self.tempering as f32;
        let mut phi = self.start(&corpus);
        let mut theta = Rows::zeros(docs.n_rows(), dim);
        let even = vec![tempered(1.0 / dim as f32, b); dim];
        (0..docs.n_rows()).for_each(|d| copy_in(&even, theta.row_mut(d)));
        let (mut objective, mut converged) = (Vec::new(), false);
        let workspace = || Sums::new(dim.div_ceil(LANES));
        for iteration in 0..self.iterations {
            run.step("learning topics", iteration as u64, Some(self.iterations as u64))?;
            each_row(theta.par_rows_mut(), run, workspace, |d, theta, sums| {
                walk(docs.row(d), &phi, theta, sums);
                expect(theta, &sums.sum, b);
                0.0
            })?;
            let log = each_row(phi.par_rows_mut(), run, workspace, |w, phi, sums| {
                let log = walk_with_log(corpus.postings.row(w), &theta, phi, sums);
                times(phi, &sums.sum);
                log
            })?;
            normalise(&mut phi, b);
            let now = log / (f64::from(b) * corpus.n_words);
            if !now.is_finite() {
                return Err(Error::NotFinite {
                    what: "the log-likelihood",
                    step: iteration + 1,
                    advice: "set tempering nearer to 1, or take fewer topics".into(),
                });
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

    /// The topics `phi` that were learnt before, terms × topics.
    pub fn topics(&self, phi: Dense) -> PlsiTopics {
        PlsiTopics { phi, tempering: self.tempering as f32, rounds: self.fold_in }
    }

    /// φ at random, the same for a word wherever documents have it. Exponential draws: topics
    /// differ from the first.
    fn start(&self, corpus: &Corpus<'_>) -> Rows {
        use rayon::prelude::*;
        let mut phi = Rows::zeros(corpus.docs.n_cols(), self.dim);
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

    /// EM from even θ with φ held.
    fn fold_in(&self, words: Row<'_>, workspace: &mut Workspace, theta: &mut [f32]) {
        let b = self.tempering;
        workspace.clear();
        for (term, count) in words.iter().filter(|&(term, count)| count > 0.0 && self.knows(term)) {
            let row = workspace.push(count);
            copy_in(self.phi.row(term as usize), row);
            temper(row, b);
        }
        theta.fill(1.0 / theta.len() as f32);
        if workspace.counts.is_empty() {
            return;
        }
        copy_in(theta, &mut workspace.theta);
        temper(&mut workspace.theta, b);
        climb(workspace, b, self.rounds);
        copy_out(&workspace.theta, theta);
        if b != 1.0 {
            theta.iter_mut().for_each(|t| *t = t.powf(1.0 / b));
        }
        let sum: f64 = theta.iter().map(|&t| f64::from(t)).sum();
        theta.iter_mut().for_each(|t| *t = (f64::from(*t) / sum) as f32);
    }
}

/// The largest change of a share at which folding in comes to rest.
const AT_REST: f32 = 1e-5;

wide! {
    /// EM of one θ until it comes to rest.
    fn climb(workspace: &mut Workspace, b: f32, rounds: usize) {
        let Workspace { words, counts, theta, other, sums } = workspace;
        for _ in 0..rounds {
            gather(words, counts, theta, sums);
            other.copy_from_slice(theta);
            expect(theta, &sums.sum, b);
            let mut change = 0.0f32;
            for (new, old) in theta.iter().zip(other.iter()) {
                for lane in 0..LANES {
                    change = change.max((new.0[lane] - old.0[lane]).abs());
                }
            }
            if change <= AT_REST {
                return;
            }
        }
    }
}

/// θ from the words that are expected of every topic, θ∘sum; it stays where there are none.
#[inline(always)]
fn expect(theta: &mut [Lane], sum: &[Lane], b: f32) {
    let mut sums = Lane::default();
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

fn times(row: &mut [Lane], sum: &[Lane]) {
    for (row, sum) in row.iter_mut().zip(sum) {
        for lane in 0..LANES {
            row.0[lane] *= sum.0[lane];
        }
    }
}

/// Scales every topic to 1 and tempers it. A topic that has lost all its words stays lost.
fn normalise(phi: &mut Rows, b: f32) {
    use rayon::prelude::*;
    let scales: Vec<f32> = phi
        .column_sums()
        .into_iter()
        .map(|sum| if sum > 0.0 { (1.0 / sum) as f32 } else { 0.0 })
        .collect();
    let mut lanes = vec![Lane::default(); phi.lanes()];
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
fn temper(row: &mut [Lane], b: f32) {
    if b != 1.0 {
        raise(row, b);
    }
}

wide! {
    /// pᵇ of numbers that are 0 or not below [`NOTHING`].
    fn raise(row: &mut [Lane], b: f32) {
        for lane in row {
            let mut logs = Lane::default();
            for at in 0..LANES {
                let p = lane.0[at];
                logs.0[at] = if p > NOTHING { p } else { NOTHING };
            }
            logs = ln(logs);
            logs.0.iter_mut().for_each(|log| *log *= b);
            let powers = exp(logs);
            for at in 0..LANES {
                lane.0[at] = if lane.0[at] > 0.0 { powers.0[at] } else { 0.0 };
            }
        }
    }
}

fn untempered(rows: Rows, b: f32) -> Dense {
    let mut dense = rows.to_dense();
    if b != 1.0 {
        dense.values_mut().iter_mut().for_each(|p| *p = p.powf(1.0 / b));
    }
    dense
}

#[cfg(test)]
mod tests;
