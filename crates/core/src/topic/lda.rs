//! Latent Dirichlet allocation (Blei, Ng and Jordan, 2003) by variational Bayes, of all documents
//! at once or by batches (Hoffman, Blei and Bach, 2010).
//!
//! A document's shares of topics have the prior Dirichlet(α) and the posterior Dirichlet(γ_d), a topic's
//! words Dirichlet(η) and Dirichlet(λ_k). With θ̃ = exp(E ln θ) and φ̃ = exp(E ln φ), where E ln θ_dk =
//! ψ(γ_dk) − ψ(Σ_k γ_dk) and E ln φ_wk = ψ(λ_wk) − ψ(Σ_w λ_wk),
//!
//! ```text
//! γ_dk = α + Σ_w n_dw·θ̃_dk·φ̃_wk/t_dw,   t_dw = Σ_k θ̃_dk·φ̃_wk     until γ converges
//! λ_wk = η + Σ_d n_dw·θ̃_dk·φ̃_wk/t_dw
//! ```
//! raise the bound
//!
//! ```text
//! Σ_dw n_dw·ln t_dw + Σ_d [ ln Γ(Kα) − ln Γ(Σγ_d) + Σ_k (α − γ_dk)·E ln θ_dk + ln Γ(γ_dk) − ln Γ(α) ]
//!                   + Σ_k [ ln Γ(Vη) − ln Γ(Σλ_k) + Σ_w (η − λ_wk)·E ln φ_wk + ln Γ(λ_wk) − ln Γ(η) ]
//! ```
//! In every pass documents restart from uniform γ, as long as that improves the bound of all of them
//! together, so that the first, random topics leave no trace. From then on they continue from their
//! last γ. So the bound never falls. A batch B of the D documents moves λ by
//! ρ_t = (offset + t)^−decay towards η + D/|B|·Σ_{d∈B}.
//!
//! A row of θ̃ or φ̃ may be scaled freely, since t is scaled with it. Each is scaled to a largest entry
//! of 1, and entries are clamped at e⁻⁴⁰: t is never zero.
//!
//! A document without words keeps γ = α, uniform shares. A word that no document has is not part of
//! the model: its λ is 0, and V does not count it.

use std::borrow::Cow;

use rayon::prelude::*;

use self::rounds::{initial_gamma, iterate, psi_of, scale_word};
use self::state::LdaState;
use super::bags::{BagCorpus, BagTopics, PaddedMatrix, Workspace, scale_to_one};
use super::simd::{F32x8, copy_in, copy_out, mask};
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::Csr;
use crate::{Error, Result, Run};

mod rounds;
mod state;

/// The stream of random numbers for the order of documents; those before it are for words.
const ORDER_STREAM: u64 = u64::MAX;

/// LDA and its hyperparameters.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaFit {
    /// The number of topics.
    pub dim: usize,
    /// α.
    pub alpha: f64,
    /// η.
    pub eta: f64,
    /// The most passes over all documents.
    pub iterations: usize,
    /// The relative change of the bound at which a fit without batches stops.
    pub tolerance: f64,
    /// The most rounds of a document per pass.
    pub inner: usize,
    /// The most rounds of folding a document in.
    pub fold_in: usize,
    /// The mean change of γ at which a document has converged.
    pub inner_tolerance: f64,
    /// Documents per batch, in random order; 0 for all at once.
    pub batch: usize,
    /// The offset of ρ_t.
    pub offset: f64,
    /// The decay of ρ_t.
    pub decay: f64,
    /// The seed of the start.
    pub seed: u64,
}

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaFitted {
    /// The topics of the words.
    pub topics: LdaTopics,
    /// Documents × topics: γ/Σγ as the last pass left it.
    pub documents: Dense,
    /// The bound per token in every pass, after the update of documents and before that of words. With
    /// batches it is the sum of the batches' bounds, each at its time.
    pub objective: Vec<f64>,
    /// The mean number of rounds per document in every pass.
    pub rounds: Vec<f64>,
    /// Whether the bound converged.
    pub converged: bool,
}

/// λ, into which documents are folded.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaTopics {
    lambda: Dense,
    /// Σ_w λ_wk.
    totals: Vec<f64>,
    /// ψ of it.
    psi: Vec<F32x8>,
    mask: Vec<F32x8>,
    alpha: f32,
    rounds: usize,
    tolerance: f32,
}

impl LdaFit {
    /// Learns topics from `docs`, documents × terms, counts of 0 or more.
    pub fn fit(&self, docs: &Csr, run: &Run<'_>) -> Result<LdaFitted> {
        if self.batch == 0 || self.batch >= docs.n_rows() {
            return self.fit_in_order(docs, run);
        }
        let mut order: Vec<usize> = (0..docs.n_rows()).collect();
        Random::new(self.seed, ORDER_STREAM).shuffle(&mut order);
        let shuffled = Csr::by_rows(docs.n_cols(), docs.n_rows(), |at| {
            let row = docs.row(order[at]);
            Ok((row.indices.to_vec(), row.values.to_vec()))
        })?;
        let mut fitted = self.fit_in_order(&shuffled, run)?;
        let mut documents = Dense::zeros(docs.n_rows(), self.dim);
        for (at, &d) in order.iter().enumerate() {
            documents.row_mut(d).copy_from_slice(fitted.documents.row(at));
        }
        fitted.documents = documents;
        Ok(fitted)
    }

    /// Fits with batches of consecutive documents.
    fn fit_in_order(&self, docs: &Csr, run: &Run<'_>) -> Result<LdaFitted> {
        let (n_docs, n_terms) = (docs.n_rows(), docs.n_cols());
        // Two matrices of documents and two of words, copies of γ and λ, and one of γ in a pass.
        let more = PaddedMatrix::bytes(n_docs, self.dim).saturating_mul(4);
        let more = more.saturating_add(PaddedMatrix::bytes(n_terms, self.dim).saturating_mul(3));
        let corpus = BagCorpus::new(docs, more, run.memory_left())?;
        let mut state = LdaState::start(self, &corpus);
        let batch = if self.batch == 0 { n_docs } else { self.batch.min(n_docs) };
        let n_batches = n_docs.div_ceil(batch.max(1));
        let steps = (self.iterations * n_batches) as u64;
        let (mut objective, mut rounds, mut converged) = (Vec::new(), Vec::new(), false);
        for iteration in 0..self.iterations {
            let (mut bound, mut taken) = (0.0, 0.0);
            for (number, first) in (0..n_docs).step_by(batch.max(1)).enumerate() {
                let step = iteration * n_batches + number;
                run.step("learning topics", step as u64, Some(steps))?;
                let span = first..(first + batch).min(n_docs);
                let expected = match self.batch {
                    0 => state.expect_all(iteration == 0, run)?,
                    _ => state.expect(span.clone(), true, run)?,
                };
                let rate = match self.batch {
                    0 => 1.0,
                    _ => (self.offset + step as f64 + 1.0).powf(-self.decay).min(1.0),
                };
                let last = number + 1 == n_batches;
                bound += expected.bound + state.maximise(span, rate, last, run)?;
                taken += expected.rounds;
            }
            let now = bound / corpus.n_words;
            if !now.is_finite() {
                let advice = "set alpha and eta nearer to 1";
                return Err(Error::not_finite("the bound", iteration + 1, advice));
            }
            let before = objective.last().copied();
            objective.push(now);
            rounds.push(taken / n_docs as f64);
            let little = |before: f64| (now - before).abs() <= self.tolerance * now.abs();
            converged = self.batch == 0 && before.is_some_and(little);
            if converged {
                break;
            }
        }
        let mut documents = state.gamma.to_dense();
        documents.rows_mut().for_each(scale_to_one);
        let topics = self.topics(state.lambda.to_dense());
        Ok(LdaFitted { topics, documents, objective, rounds, converged })
    }

    /// Topics from a saved `lambda`, terms × topics.
    pub fn topics(&self, lambda: Dense) -> LdaTopics {
        let mut totals = vec![0.0f64; self.dim];
        for row in lambda.values().chunks(self.dim.max(1)) {
            totals.iter_mut().zip(row).for_each(|(total, &value)| *total += f64::from(value));
        }
        LdaTopics {
            psi: psi_of(&totals),
            totals,
            mask: mask(self.dim),
            lambda,
            alpha: self.alpha as f32,
            rounds: self.fold_in,
            tolerance: self.inner_tolerance as f32,
        }
    }
}

impl BagTopics for LdaTopics {
    fn weights(&self) -> &Dense {
        &self.lambda
    }

    fn probabilities(&self) -> Cow<'_, Dense> {
        let mut phi = self.lambda.clone();
        phi.rows_mut().for_each(|row| {
            for (value, &total) in row.iter_mut().zip(&self.totals) {
                *value = if total > 0.0 { (f64::from(*value) / total) as f32 } else { 0.0 };
            }
        });
        Cow::Owned(phi)
    }

    /// φ̃, scaled.
    fn prepare(&self, term: u32, row: &mut [F32x8]) {
        copy_in(self.lambda.row(term as usize), row);
        scale_word(row, &self.psi, &self.mask);
    }

    /// γ/Σγ from uniform γ.
    fn infer(&self, workspace: &mut Workspace, theta: &mut [f32]) {
        let mut gamma = std::mem::take(&mut workspace.other);
        initial_gamma(&mut gamma, self.alpha, &workspace.counts, &self.mask, theta.len());
        iterate(workspace, self.alpha, &self.mask, self.rounds, self.tolerance, &mut gamma);
        copy_out(&gamma, theta);
        scale_to_one(theta);
        workspace.other = gamma;
    }
}

#[cfg(test)]
mod tests;
