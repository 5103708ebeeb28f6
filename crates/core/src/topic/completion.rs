//! Document completion: how well topics predict unseen documents. The topics of a document are
//! inferred from half of its words and predict the other half.

use rayon::prelude::*;

use super::bags::{BagTopics, Workspace};
use crate::linalg::dot_f64;
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// Probabilities are clamped to this, so that one impossible word does not make the perplexity
/// infinite.
pub const LEAST: f64 = 1e-12;

/// Predictive quality on held-out words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completion {
    /// exp(−mean of ln p) over the predicted tokens.
    pub perplexity: f64,
    /// Predicted tokens.
    pub words: f64,
    /// Those with a probability below 1e-12, which is then used instead.
    pub impossible: f64,
}

/// Splits a document in two: every second token in the order of the words' numbers, beginning
/// with the first, and the others. Words that are not `known` are left out.
pub fn halves(document: Row<'_>, known: impl Fn(u32) -> bool) -> [(Vec<u32>, Vec<f32>); 2] {
    let mut two = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    let mut before = 0.0f32;
    for (term, count) in document.iter().filter(|&(term, count)| count > 0.0 && known(term)) {
        // Of the first s tokens ⌈s/2⌉ are seen.
        let seen = (((before + count) / 2.0).ceil() - (before / 2.0).ceil()).clamp(0.0, count);
        before += count;
        for (half, part) in two.iter_mut().zip([seen, count - seen]) {
            if part > 0.0 {
                half.0.push(term);
                half.1.push(part);
            }
        }
    }
    two
}

/// The perplexity of the second half of every row of `held_out` given the topics of the first,
/// both as point estimates: p = Σ_k θ_k·φ_wk.
pub fn completion(topics: &dyn BagTopics, held_out: &Csr, run: &Run<'_>) -> Result<Completion> {
    let probabilities = topics.probabilities();
    let known: Vec<bool> = (0..held_out.n_cols() as u32).map(|term| topics.knows(term)).collect();
    let parts: Vec<[f64; 3]> = (0..held_out.n_rows())
        .into_par_iter()
        .map_init(
            || (Workspace::new(topics.dim()), vec![0.0f32; topics.dim()]),
            |(workspace, theta), d| {
                run.check()?;
                let [seen, rest] = halves(held_out.row(d), |term| known[term as usize]);
                topics.fold_in(Row { indices: &seen.0, values: &seen.1 }, workspace, theta);
                let mut sums = [0.0; 3];
                for (&term, &count) in rest.0.iter().zip(&rest.1) {
                    let p = dot_f64(probabilities.row(term as usize), theta);
                    let count = f64::from(count);
                    sums[0] += count * p.max(LEAST).ln();
                    sums[1] += count;
                    sums[2] += if p < LEAST { count } else { 0.0 };
                }
                Ok(sums)
            },
        )
        .collect::<Result<_>>()?;
    let sum = |at: usize| parts.iter().map(|part| part[at]).sum::<f64>();
    let (log, words, impossible) = (sum(0), sum(1), sum(2));
    Ok(Completion { perplexity: (-log / words).exp(), words, impossible })
}

#[cfg(test)]
mod tests;
