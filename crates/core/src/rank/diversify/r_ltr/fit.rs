//! Learning the weights of R-LTR. The ideal page y(1), y(2), … of a query is made greedily from
//! what its candidates answer; the loss is its negative log-likelihood (Plackett–Luce over the
//! first K places, S_i the first i − 1 of them, C all candidates):
//! ```text
//! L(ω) = −Σ_q Σ_i [ f_{S_i}(y(i)) − ln Σ_{d in C∖S_i} exp f_{S_i}(d) ]
//! ```
//! The chosen documents are those of the ideal page, not of the weights at hand, so every f is
//! linear in ω and L is convex. The paper descends by stochastic gradients; here the mean over
//! queries plus penalty/2·|ω|² is minimised exactly, by Newton's method, for one penalty after the
//! other from the largest on, and validation says which is kept and when to stop.

use rayon::prelude::*;

use super::{Distances, RLtr, RLtrParams};
use crate::early_stopping::EarlyStopping;
use crate::eval::diversity::{DiversityMeasure, diverse_order};
use crate::rank::diversify::{JudgedCandidates, mean};
use crate::rank::{RankReport, RankStep};
use crate::{Error, Result, Run};

/// Steps of Newton's method for one penalty; a handful is enough.
const MOST_STEPS: usize = 50;
/// A step that promises less than this is the last.
const ENOUGH: f64 = 1e-14;

impl RLtrParams {
    /// Learns from `training`; the penalty is the one with which `measure` is best on
    /// `validation`, the smallest where that is empty. Queries none of whose candidates answers
    /// anything teach nothing.
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
                what: "no query has candidates of which relevance or similarity is known".into(),
                advice: "the models must know the documents of the run".into(),
            });
        }
        let lessons: Vec<Lesson<'_>> = training
            .par_iter()
            .map(|query| Lesson::new(query, self))
            .collect::<Vec<_>>()
            .into_iter()
            .filter(|lesson| !lesson.truth.is_empty())
            .collect();
        if lessons.is_empty() {
            return Err(Error::Empty {
                what: "no candidate answers a subtopic of its query".into(),
                advice: "the judgments must name queries and documents as the run does, with \
                         grades from 1 on"
                    .into(),
            });
        }
        let mut report = RankReport::default();
        let idle = training.len() - lessons.len();
        if idle > 0 {
            let all = training.len();
            report.warnings.push(format!(
                "{idle} of {all} queries teach nothing: none of their candidates answers a subtopic"
            ));
        }
        let mut penalties = self.penalties.clone();
        penalties.sort_by(|a, b| b.total_cmp(a));
        let mut weights = vec![0.0; n_relevance + n_kinds * self.relational.names().len()];
        let mut best = EarlyStopping::new(self.patience);
        for (step, &penalty) in (1..).zip(&penalties) {
            run.step("learning", step as u64, Some(penalties.len() as u64))?;
            let objective = minimise(&lessons, penalty, &mut weights, run)?;
            let model = self.model(&weights, n_relevance);
            let on = |queries: &[JudgedCandidates]| {
                mean(measure, queries, |candidates| model.order(candidates, measure.k))
            };
            let (seen, judged) = (on(training), on(validation));
            report.steps.push(RankStep {
                step,
                objective: Some(objective),
                training: seen,
                validation: judged,
            });
            // Without validation every step is better than the one before.
            if best.observe(step, judged.unwrap_or(step as f64), || model) {
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

/// One query, ready to be learnt from.
pub(super) struct Lesson<'a> {
    query: &'a JudgedCandidates,
    params: &'a RLtrParams,
    /// The first places of the ideal page.
    truth: Vec<usize>,
    /// From each of these but the last to every candidate, in every way.
    distances: Vec<f32>,
}

impl<'a> Lesson<'a> {
    pub(super) fn new(query: &'a JudgedCandidates, params: &'a RLtrParams) -> Self {
        let truth = diverse_order(&query.subtopics, params.alpha, params.top);
        let similarities = query.candidates.similarities();
        let n = query.candidates.len();
        let mut distances = Vec::new();
        for &chosen in &truth[..truth.len().saturating_sub(1)] {
            for candidate in 0..n {
                distances.extend(
                    (0..similarities.n_kinds())
                        .map(|kind| (1.0 - similarities.of(kind, candidate, chosen)) as f32),
                );
            }
        }
        Lesson { query, params, truth, distances }
    }

    /// The negative log-likelihood of the ideal page, its gradient, and its second derivatives by
    /// row and column.
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
        let mut chances = vec![0.0; n];
        for (place, &chosen) in self.truth.iter().enumerate() {
            for (row, &candidate) in features.chunks_exact_mut(p).zip(&left) {
                row[..n_relevance].copy_from_slice(candidates.relevance(candidate));
                for number in 0..n_numbers {
                    row[n_relevance + number] = distances.of(candidate, number);
                }
            }
            let rows = || features.chunks_exact(p).take(left.len());
            for (score, row) in chances.iter_mut().zip(rows()) {
                *score = row.iter().zip(weights).fold(0.0, |sum, (x, w)| sum + x * w);
            }
            let chances = &mut chances[..left.len()];
            let Some(at) = left.iter().position(|&candidate| candidate == chosen) else { break };
            let (of_chosen, most) =
                (chances[at], chances.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            chances.iter_mut().for_each(|score| *score = (*score - most).exp());
            let sum = chances.iter().fold(0.0, |sum, chance| sum + chance);
            chances.iter_mut().for_each(|chance| *chance /= sum);
            loss.value += most + sum.ln() - of_chosen;
            loss.add_step(rows(), chances, &features[at * p..(at + 1) * p]);
            left.remove(at);
            if place + 1 < self.truth.len() {
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

    /// What one place adds: the mean of the rows under their chances less the chosen one, and
    /// their covariance.
    fn add_step<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r [f64]>,
        chances: &[f64],
        chosen: &[f64],
    ) {
        let p = chosen.len();
        let mut average = vec![0.0; p];
        for (row, &chance) in rows.zip(chances) {
            for (i, &x) in row.iter().enumerate() {
                average[i] += chance * x;
                for (cell, &y) in self.hessian[i * p..].iter_mut().zip(&row[..=i]) {
                    *cell += chance * x * y;
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

/// The mean over all lessons, in their order, and what the penalty adds. Second derivatives below
/// the diagonal and on it.
fn objective(lessons: &[Lesson<'_>], penalty: f64, weights: &[f64]) -> Loss {
    let losses: Vec<Loss> = lessons.par_iter().map(|lesson| lesson.loss(weights)).collect();
    let p = weights.len();
    let mut total = Loss::zero(p);
    let scale = 1.0 / lessons.len() as f64;
    losses.iter().for_each(|loss| total.add(loss, scale));
    for (i, &weight) in weights.iter().enumerate() {
        total.value += 0.5 * penalty * weight * weight;
        total.gradient[i] += penalty * weight;
        total.hessian[i * p + i] += penalty;
    }
    total
}

/// Moves `weights` to where the objective is least, and returns it.
fn minimise(
    lessons: &[Lesson<'_>],
    penalty: f64,
    weights: &mut Vec<f64>,
    run: &Run<'_>,
) -> Result<f64> {
    let mut here = objective(lessons, penalty, weights);
    for step in 1..=MOST_STEPS {
        run.check()?;
        let not_finite = || Error::NotFinite {
            what: "the likelihood of the ideal page",
            step,
            advice: "relevance and similarities must be finite; raise the penalties".into(),
        };
        if !here.value.is_finite() {
            return Err(not_finite());
        }
        let direction = solve(&here.hessian, &here.gradient).ok_or_else(not_finite)?;
        let promise: f64 = direction.iter().zip(&here.gradient).map(|(d, g)| d * g).sum();
        if promise < ENOUGH {
            break;
        }
        // A full step nearly always; shorter ones far from the end.
        let mut length = 1.0;
        let moved = loop {
            let there: Vec<f64> =
                weights.iter().zip(&direction).map(|(w, d)| w - length * d).collect();
            let loss = objective(lessons, penalty, &there);
            if loss.value <= here.value - 1e-4 * length * promise {
                break Some((there, loss));
            }
            length *= 0.5;
            if length < 1e-6 {
                break None;
            }
        };
        // No step is better: rounding is all that is left.
        let Some((there, loss)) = moved else { break };
        *weights = there;
        here = loss;
    }
    Ok(here.value)
}

/// Solves A·x = b for a symmetric positive definite A of which the lower half is given, by
/// Cholesky; nothing if A is not.
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
