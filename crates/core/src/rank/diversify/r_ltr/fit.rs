//! Learning the weights of R-LTR. The ideal result page y(1), y(2), … of a query is built greedily
//! from the judged subtopics; the loss is its negative log-likelihood (Plackett–Luce over the first K
//! places, S_i the first i − 1 of them, C all candidates):
//! ```text
//! L(ω) = −Σ_q Σ_i [ f_{S_i}(y(i)) − ln Σ_{d in C∖S_i} exp f_{S_i}(d) ]
//! ```
//! The chosen documents are those of the ideal page, not of the current weights, so every f is
//! linear in ω and L is convex. The paper uses stochastic gradient descent; here the mean over
//! queries plus penalty/2·|ω|² is minimised exactly, by Newton's method, for one penalty after
//! another from the largest on. The best penalty on validation is kept, with early stopping.

use rayon::prelude::*;

use super::{Distances, RLtr, RLtrParams};
use crate::early_stopping::EarlyStopping;
use crate::eval::diversity::{DiversityMeasure, diverse_order};
use crate::rank::diversify::{JudgedCandidates, mean};
use crate::rank::{RankReport, RankStep};
use crate::{Error, Result, Run, counted};

/// Maximum steps of Newton's method for one penalty; a few are enough.
const MAX_STEPS: usize = 50;
/// The Newton decrement below which the weights are optimal.
const LEAST_DECREMENT: f64 = 1e-14;

impl RLtrParams {
    /// Learns from `training` with the penalty for which `measure` is best on `validation`, or with
    /// the smallest if that is empty. Queries none of whose candidates answers a subtopic are
    /// ignored.
    pub fn fit(
        &self,
        training: &[JudgedCandidates],
        validation: &[JudgedCandidates],
        measure: &DiversityMeasure,
        run: &Run<'_>,
    ) -> Result<(RLtr, RankReport)> {
        self.check()?;
        let shape = |query: &JudgedCandidates| {
            (query.candidates.n_relevance(), query.candidates.similarities().n_kinds())
        };
        let mut filled = training.iter().chain(validation).filter(|q| !q.candidates.is_empty());
        let (n_relevance, n_kinds) = filled.clone().next().map_or((0, 0), shape);
        if let Some(other) = filled.find(|query| shape(query) != (n_relevance, n_kinds)) {
            let expected = format!("as for other queries, {:?}", (n_relevance, n_kinds));
            let found = format!("{:?}", shape(other));
            return Err(Error::parameter("relevance and similarities", found, &expected));
        }
        if n_relevance + n_kinds == 0 {
            return Err(Error::Empty {
                what: "no query has candidates with a relevance score or a similarity".into(),
                advice: "the models must contain the documents of the run".into(),
            });
        }
        let mut queries: Vec<TrainingQuery<'_>> =
            training.par_iter().map(|query| TrainingQuery::new(query, self)).collect();
        queries.retain(|query| !query.ideal.is_empty());
        if queries.is_empty() {
            return Err(Error::Empty {
                what: "no candidate answers a subtopic of its query".into(),
                advice: "the judgments must name queries and documents as the run does, with \
                         grades from 1 on"
                    .into(),
            });
        }
        let mut report = RankReport::default();
        let ignored = training.len() - queries.len();
        if ignored > 0 {
            let all = training.len();
            report.warnings.push(format!(
                "ignored, since none of the candidates answers a subtopic: {ignored} of {}",
                counted(all, "query")
            ));
        }
        let mut penalties = self.penalties.clone();
        penalties.sort_by(|a, b| b.total_cmp(a));
        let mut weights = vec![0.0; n_relevance + n_kinds * self.relational.names().len()];
        let mut best = EarlyStopping::new(self.patience);
        for (step, &penalty) in (1..).zip(&penalties) {
            run.step("learning", step as u64, Some(penalties.len() as u64))?;
            let objective = minimise(&queries, penalty, &mut weights, run)?;
            let model = self.model(&weights, n_relevance);
            let on = |queries: &[JudgedCandidates]| {
                mean(measure, queries, |candidates| model.order(candidates, measure.k))
            };
            let (training, validation) = (on(training), on(validation));
            report.steps.push(RankStep { step, objective: Some(objective), training, validation });
            // Without validation the last step is kept.
            if best.observe(step, validation.unwrap_or(step as f64), || model) {
                break;
            }
        }
        let Some((kept, _, model)) = best.into_best() else {
            return Err(Error::parameter("penalties", "[]", "at least one"));
        };
        report.kept = Some(kept);
        Ok((model, report))
    }

    fn model(&self, weights: &[f64], n_relevance: usize) -> RLtr {
        let (relevance, relations) = weights.split_at(n_relevance);
        let single = |weights: &[f64]| weights.iter().map(|&weight| weight as f32).collect();
        RLtr {
            relational: self.relational,
            relevance: single(relevance),
            relations: single(relations),
        }
    }
}

/// A query to learn from, with its ideal result page.
pub(super) struct TrainingQuery<'a> {
    query: &'a JudgedCandidates,
    params: &'a RLtrParams,
    /// The first places of the ideal result page.
    ideal: Vec<usize>,
    /// From each of these but the last to every candidate, by every similarity.
    distances: Vec<f32>,
}

impl<'a> TrainingQuery<'a> {
    pub(super) fn new(query: &'a JudgedCandidates, params: &'a RLtrParams) -> Self {
        let ideal = diverse_order(&query.subtopics, params.alpha, params.top);
        let similarities = query.candidates.similarities();
        let n = query.candidates.len();
        let mut distances = Vec::new();
        for &chosen in &ideal[..ideal.len().saturating_sub(1)] {
            for candidate in 0..n {
                distances.extend(
                    (0..similarities.n_kinds())
                        .map(|kind| (1.0 - similarities.of(kind, candidate, chosen)) as f32),
                );
            }
        }
        TrainingQuery { query, params, ideal, distances }
    }

    /// The negative log-likelihood of the ideal result page, its gradient and its Hessian.
    pub(super) fn loss(&self, weights: &[f64]) -> Loss {
        let p = weights.len();
        let candidates = &self.query.candidates;
        let (n, n_relevance) = (candidates.len(), candidates.n_relevance());
        let n_numbers = p - n_relevance;
        let n_kinds = candidates.similarities().n_kinds();
        let mut loss = Loss::zero(p);
        let mut distances = Distances::new(self.params.relational, n, n_kinds);
        let mut left: Vec<usize> = (0..n).collect();
        let mut features = vec![0.0; n * p];
        let mut probabilities = vec![0.0; n];
        for (place, &chosen) in self.ideal.iter().enumerate() {
            for (row, &candidate) in features.chunks_exact_mut(p).zip(&left) {
                row[..n_relevance].copy_from_slice(candidates.relevance(candidate));
                for number in 0..n_numbers {
                    row[n_relevance + number] = distances.of(candidate, number);
                }
            }
            let rows = || features.chunks_exact(p).take(left.len());
            for (score, row) in probabilities.iter_mut().zip(rows()) {
                *score = row.iter().zip(weights).fold(0.0, |sum, (x, w)| sum + x * w);
            }
            let probabilities = &mut probabilities[..left.len()];
            let Some(at) = left.iter().position(|&candidate| candidate == chosen) else { break };
            let (of_chosen, most) = (
                probabilities[at],
                probabilities.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            );
            probabilities.iter_mut().for_each(|score| *score = (*score - most).exp());
            let sum = probabilities.iter().fold(0.0, |sum, probability| sum + probability);
            probabilities.iter_mut().for_each(|probability| *probability /= sum);
            loss.value += most + sum.ln() - of_chosen;
            loss.add_step(rows(), probabilities, &features[at * p..(at + 1) * p]);
            left.remove(at);
            if place + 1 < self.ideal.len() {
                distances.n_chosen += 1;
                for &candidate in &left {
                    for kind in 0..n_kinds {
                        let distance = self.distances[(place * n + candidate) * n_kinds + kind];
                        distances.add(candidate, kind, distance.into());
                    }
                }
            }
        }
        loss
    }
}

/// A loss with its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Loss {
    pub value: f64,
    pub gradient: Vec<f64>,
    pub hessian: Vec<f64>,
}

impl Loss {
    fn zero(p: usize) -> Self {
        Loss { value: 0.0, gradient: vec![0.0; p], hessian: vec![0.0; p * p] }
    }

    /// Adds the derivatives of one place: the mean of the rows under their probabilities less the
    /// chosen one, and their covariance.
    fn add_step<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r [f64]>,
        probabilities: &[f64],
        chosen: &[f64],
    ) {
        let p = chosen.len();
        let mut average = vec![0.0; p];
        for (row, &probability) in rows.zip(probabilities) {
            for (i, &x) in row.iter().enumerate() {
                average[i] += probability * x;
                for (cell, &y) in self.hessian[i * p..].iter_mut().zip(&row[..=i]) {
                    *cell += probability * x * y;
                }
            }
        }
        for i in 0..p {
            self.gradient[i] += average[i] - chosen[i];
            for j in 0..=i {
                self.hessian[i * p + j] -= average[i] * average[j];
            }
        }
    }

    fn add(&mut self, other: &Loss, scale: f64) {
        self.value += scale * other.value;
        let add = |into: &mut [f64], from: &[f64]| {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += scale * from);
        };
        add(&mut self.gradient, &other.gradient);
        add(&mut self.hessian, &other.hessian);
    }
}

/// The mean over all queries plus the penalty. Of the Hessian, the lower triangle.
fn objective(queries: &[TrainingQuery<'_>], penalty: f64, weights: &[f64]) -> Loss {
    let losses: Vec<Loss> = queries.par_iter().map(|query| query.loss(weights)).collect();
    let p = weights.len();
    let mut total = Loss::zero(p);
    let scale = 1.0 / queries.len() as f64;
    losses.iter().for_each(|loss| total.add(loss, scale));
    for (i, &weight) in weights.iter().enumerate() {
        total.value += 0.5 * penalty * weight * weight;
        total.gradient[i] += penalty * weight;
        total.hessian[i * p + i] += penalty;
    }
    total
}

/// Moves `weights` to the minimum of the objective, and returns it.
fn minimise(
    queries: &[TrainingQuery<'_>],
    penalty: f64,
    weights: &mut Vec<f64>,
    run: &Run<'_>,
) -> Result<f64> {
    let mut here = objective(queries, penalty, weights);
    for step in 1..=MAX_STEPS {
        run.check()?;
        let not_finite = || Error::NotFinite {
            what: "the likelihood of the ideal result page",
            step,
            advice: "relevance and similarities must be finite; raise the penalties".into(),
        };
        if !here.value.is_finite() {
            return Err(not_finite());
        }
        let direction = solve(&here.hessian, &here.gradient).ok_or_else(not_finite)?;
        let decrement: f64 = direction.iter().zip(&here.gradient).map(|(d, g)| d * g).sum();
        if decrement < LEAST_DECREMENT {
            break;
        }
        // Nearly always a full step; shorter ones far from the optimum.
        let mut length = 1.0;
        let moved = loop {
            let next: Vec<f64> =
                weights.iter().zip(&direction).map(|(w, d)| w - length * d).collect();
            let loss = objective(queries, penalty, &next);
            if loss.value <= here.value - 1e-4 * length * decrement {
                break Some((next, loss));
            }
            length *= 0.5;
            if length < 1e-6 {
                break None;
            }
        };
        // No step is better: only rounding errors are left.
        let Some((next, loss)) = moved else { break };
        (*weights, here) = (next, loss);
    }
    Ok(here.value)
}

/// Solves A·x = b by Cholesky for a symmetric positive definite A, of which the lower triangle is
/// given; nothing if A is not.
fn solve(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let p = b.len();
    let mut l = a.to_vec();
    for i in 0..p {
        for j in 0..=i {
            let sum = (0..j).fold(l[i * p + j], |sum, k| sum - l[i * p + k] * l[j * p + k]);
            l[i * p + j] = match i == j {
                true if sum > 0.0 => sum.sqrt(),
                true => return None,
                false => sum / l[j * p + j],
            };
        }
    }
    let mut x = b.to_vec();
    for i in 0..p {
        x[i] = (0..i).fold(x[i], |sum, k| sum - l[i * p + k] * x[k]) / l[i * p + i];
    }
    for i in (0..p).rev() {
        x[i] = (i + 1..p).fold(x[i], |sum, k| sum - l[k * p + i] * x[k]) / l[i * p + i];
    }
    x.iter().all(|x| x.is_finite()).then_some(x)
}
