//! Latent Dirichlet allocation (Blei, Ng and Jordan, 2003) by variational Bayes, of all documents
//! at once or by batches (Hoffman, Blei and Bach, 2010).
//!
//! A document's shares of topics have the prior Dirichlet(α) and the posterior Dirichlet(γ_d), a topic's
//! words Dirichlet(η) and Dirichlet(λ_k). With θ̃ = exp(E ln θ) and φ̃ = exp(E ln φ), where E ln θ_dk =
//! ψ(γ_dk) − ψ(Σ_k γ_dk) and E ln φ_wk = ψ(λ_wk) − ψ(Σ_w λ_wk),
//!
//! ```text
//! γ_dk = α + Σ_w n_dw·θ̃_dk·φ̃_wk/t_dw,   t_dw = Σ_k θ̃_dk·φ̃_wk     until γ comes to rest
//! λ_wk = η + Σ_d n_dw·θ̃_dk·φ̃_wk/t_dw
//! ```
//! climb the bound
//!
//! ```text
//! Σ_dw n_dw·ln t_dw + Σ_d [ ln Γ(Kα) − ln Γ(Σγ_d) + Σ_k (α − γ_dk)·E ln θ_dk + ln Γ(γ_dk) − ln Γ(α) ]
//!                   + Σ_k [ ln Γ(Vη) − ln Γ(Σλ_k) + Σ_w (η − λ_wk)·E ln φ_wk + ln Γ(λ_wk) − ln Γ(η) ]
//! ```
//! Documents begin every pass anew, from even γ, as long as all of them together come out better
//! that way than they were: what the first, random topics made of them does not stay with them. From then on
//! they go on from the γ they had. So the bound never falls. A batch B of D documents moves λ by ρ_t = (offset + t)^−decay towards η + D/|B|·Σ_{d∈B}.
//!
//! A row of θ̃ or of φ̃ may be scaled as one likes, since t is scaled with it. So each is scaled to a
//! largest entry of 1, and entries below e⁻⁴⁰ count as that: t is never zero.
//!
//! A document without a word keeps γ = α, even shares. A word that no document has is not of the
//! model: its λ is 0, and V does not count it.

use std::borrow::Cow;

use rayon::prelude::*;

use self::rounds::{begin, psi_of, rest, scale_word};
use self::state::State;
use super::bags::{BagTopics, Corpus, Lane, Rows, Workspace, copy_in, copy_out, mask};
use super::special::digamma_f64;
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

mod rounds;
mod state;

/// The stream of random numbers that deals documents out; those before it are of words.
const DEALING: u64 = u64::MAX;

/// How LDA is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaFit {
    /// Topics.
    pub dim: usize,
    /// α.
    pub alpha: f64,
    /// η.
    pub eta: f64,
    /// Most passes over all documents.
    pub iterations: usize,
    /// The relative change of the bound at which it stops; for all documents at once.
    pub tolerance: f64,
    /// Most rounds of a document in a pass.
    pub inner: usize,
    /// Most rounds that fold a document in.
    pub fold_in: usize,
    /// The mean change of γ at which a document is at rest.
    pub inner_tolerance: f64,
    /// Documents in a batch, dealt out by the seed; 0 for all at once.
    pub batch: usize,
    /// The offset of ρ_t.
    pub offset: f64,
    /// The decay of ρ_t.
    pub decay: f64,
    /// Seed of the words' first topics.
    pub seed: u64,
}

/// What fitting yields.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaFitted {
    /// The topics of the words.
    pub topics: LdaTopics,
    /// Documents × topics: γ/Σγ as the last pass left it.
    pub documents: Dense,
    /// The bound a word in every pass, after its documents and before its words. By batches it is
    /// what the documents' bounds were when they were looked at.
    pub objective: Vec<f64>,
    /// Rounds that a document took on average in every pass.
    pub rounds: Vec<f64>,
    /// Whether the bound came to rest.
    pub converged: bool,
}

/// λ, into which documents are folded.
#[derive(Debug, Clone, PartialEq)]
pub struct LdaTopics {
    lambda: Dense,
    /// Σ_w λ_wk.
    totals: Vec<f64>,
    /// ψ of it.
    psi: Vec<Lane>,
    mask: Vec<Lane>,
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
        Random::new(self.seed, DEALING).shuffle(&mut order);
        let dealt = Csr::by_rows(docs.n_cols(), docs.n_rows(), |at| {
            let row = docs.row(order[at]);
            Ok((row.indices.to_vec(), row.values.to_vec()))
        })?;
        let mut fitted = self.fit_in_order(&dealt, run)?;
        let mut documents = Dense::zeros(docs.n_rows(), self.dim);
        for (at, &d) in order.iter().enumerate() {
            documents.row_mut(d).copy_from_slice(fitted.documents.row(at));
        }
        fitted.documents = documents;
        Ok(fitted)
    }

    /// The same, with batches of neighbours.
    fn fit_in_order(&self, docs: &Csr, run: &Run<'_>) -> Result<LdaFitted> {
        let (n_docs, n_terms) = (docs.n_rows(), docs.n_cols());
        // Three matrices of documents and two of words, and a plain copy of each in the end.
        let more = Rows::bytes(n_docs, self.dim).saturating_mul(4);
        let more = more.saturating_add(Rows::bytes(n_terms, self.dim).saturating_mul(3));
        let corpus = Corpus::new(docs, more, run.memory_left())?;
        let mut state = State::start(self, &corpus);
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
                return Err(Error::NotFinite {
                    what: "the bound",
                    step: iteration + 1,
                    advice: "set alpha and eta nearer to 1".into(),
                });
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

    /// The topics `lambda` that were learnt before, terms × topics.
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

impl LdaTopics {
    /// ψ(λ_wk) − ψ(Σ_w λ_wk) of word `term`, scaled.
    fn row_of(&self, term: u32, row: &mut [Lane]) {
        copy_in(self.lambda.row(term as usize), row);
        scale_word(row, &self.psi, &self.mask);
    }

    /// Terms × topics: exp(E ln φ).
    pub fn expected_logs(&self) -> Dense {
        let psi: Vec<f64> = self.totals.iter().map(|&total| digamma_f64(total)).collect();
        let mut out = self.lambda.clone();
        out.rows_mut().for_each(|row| {
            for (value, psi) in row.iter_mut().zip(&psi).filter(|(value, _)| **value > 0.0) {
                *value = (digamma_f64(f64::from(*value)) - psi).exp() as f32;
            }
        });
        out
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

    /// γ/Σγ, where γ begins even.
    fn fold_in(&self, words: Row<'_>, workspace: &mut Workspace, theta: &mut [f32]) {
        workspace.clear();
        for (term, count) in words.iter().filter(|&(term, count)| count > 0.0 && self.knows(term)) {
            self.row_of(term, workspace.push(count));
        }
        theta.fill(1.0 / theta.len() as f32);
        if workspace.counts.is_empty() {
            return;
        }
        let mut gamma = std::mem::take(&mut workspace.other);
        begin(&mut gamma, self.alpha, &workspace.counts, &self.mask, theta.len());
        rest(workspace, self.alpha, &self.mask, self.rounds, self.tolerance, &mut gamma);
        copy_out(&gamma, theta);
        scale_to_one(theta);
        workspace.other = gamma;
    }
}

fn scale_to_one(row: &mut [f32]) {
    let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / sum) as f32);
    }
}

#[cfg(test)]
mod tests;
