//! LambdaMART: boosted trees whose gradients are weighted by the change of a measure when two rows
//! swap ranks (Burges, 2010), in the form of LightGBM.
//!
//! For rows i, j of a query, i the better one, with scores s and ranks r by these scores:
//!
//! ```text
//! ρ = 1 / (1 + e^{σ (s_i − s_j)})
//! λ_ij = σ ρ |Δ_ij|,  up for i and down for j;  second derivative σ² ρ (1 − ρ) |Δ_ij|
//! ndcg: Δ_ij = (gain_i − gain_j) (discount(r_i) − discount(r_j)) / ideal DCG at the truncation
//! map:  Δ_ij = the change of average precision
//! ```
//! Only pairs with a row among the first `truncation` contribute: O(n · truncation) per query. With
//! `norm`, Δ is divided by 0.01 + |s_i − s_j|, and the gradients of a query are scaled by
//! log2(1 + Σλ) / Σλ, so that queries with many pairs do not dominate. A pair has the weight of its
//! better row; the scale of a query does not depend on weights, so that these mean the same in every
//! query. The number of trees is chosen on validation, in [`super::boost`].

use std::collections::BTreeMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::boost::{Bag, Boosting, Loss, boosted};
use crate::eval::{Gain, Variant};
use crate::params::check::check_positive;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};
use crate::{Error, Result};

/// The measure whose changes are the gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lambdas {
    /// Normalised discounted cumulative gain.
    #[default]
    Ndcg,
    /// Average precision: a row is relevant or not.
    Map,
}

boosted! {
    /// Boosted trees that learn NDCG or MAP.
    pub struct LambdaMart {
        /// The measure whose changes are the gradients.
        pub lambdas: Lambdas = Lambdas::Ndcg,
        /// The truncation level: one row of a pair must be among this many first rows.
        pub truncation: usize = 30,
        /// σ, the slope of the sigmoid of the difference of two scores.
        pub sigmoid: f64 = 1.0,
        /// Whether the gradients of each query are normalised.
        pub norm: bool = true,
    }
}

impl RankMethod for LambdaMart {
    fn check(&self) -> Result<()> {
        if self.truncation == 0 {
            return Err(Error::parameter("truncation", 0, "a whole number from 1 on"));
        }
        check_positive("sigmoid", self.sigmoid)?;
        Boosting::from(self).check()
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let loss = Pairs::new(self, training.table, &training.goal.variant);
        let nothing = loss.queries.iter().all(|query| query.skip);
        let (trees, mut report) = Boosting::from(self).fit(training, &loss)?;
        if nothing {
            let what = "no two rows of a query have different gains: there is nothing to learn";
            report.warnings.insert(0, what.into());
        }
        Ok((Scorer::Trees(trees), report))
    }

    fn is_linear(&self) -> bool {
        false
    }
}

/// The constants of a query.
struct Query {
    /// Whether all its rows have the same gain.
    skip: bool,
    /// One over the ideal DCG, or over the number of relevant rows.
    norm: f64,
}

/// The pairs of a table.
struct Pairs<'a> {
    params: &'a LambdaMart,
    table: &'a FeatureTable,
    /// The gain of every row over that of the best row of its query.
    gains: Vec<f64>,
    /// The discounts of the first ranks.
    discounts: Vec<f64>,
    queries: Vec<Query>,
}

impl<'a> Pairs<'a> {
    fn new(params: &'a LambdaMart, table: &'a FeatureTable, variant: &Variant) -> Self {
        let longest = table.by_query().map(|rows| rows.len()).max().unwrap_or(0);
        let discounts: Vec<f64> = (1..=longest).map(|rank| variant.discount.factor(rank)).collect();
        let mut gains = vec![0.0; table.n_rows()];
        let mut queries = Vec::with_capacity(table.n_queries());
        for rows in table.by_query() {
            let of_query = &mut gains[rows.clone()];
            match params.lambdas {
                Lambdas::Ndcg => relative_gains(&table.grades()[rows], variant.gain, of_query),
                Lambdas::Map => {
                    for (gain, &grade) in of_query.iter_mut().zip(&table.grades()[rows]) {
                        *gain = if grade >= variant.relevant_from { 1.0 } else { 0.0 };
                    }
                }
            }
            let skip = of_query.windows(2).all(|two| two[0] == two[1]);
            let ideal = match params.lambdas {
                Lambdas::Ndcg => {
                    let mut sorted = of_query.to_vec();
                    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
                    let ranks = sorted.iter().zip(&discounts).take(params.truncation);
                    ranks.map(|(gain, discount)| gain * discount).sum::<f64>()
                }
                Lambdas::Map => of_query.iter().sum(),
            };
            queries.push(Query { skip, norm: if skip { 0.0 } else { ideal.recip() } });
        }
        Pairs { params, table, gains, discounts, queries }
    }
}

/// The gains of rows of these grades, scaled so that the best is 1 unless it is 0: 2^g would overflow
/// for high grades.
fn relative_gains(grades: &[f32], gain: Gain, out: &mut [f64]) {
    let highest = grades.iter().fold(0.0f32, |a, &b| a.max(b));
    let best = gain.scaled(highest, highest);
    for (out, &grade) in out.iter_mut().zip(grades) {
        *out = if best > 0.0 { gain.scaled(grade, highest) / best } else { 0.0 };
    }
}

/// Intermediate results of one query.
#[derive(Default)]
struct Workspace {
    /// By rank, the row of the query.
    order: Vec<u32>,
    /// By rank, like the gains, weights and gradients.
    scores: Vec<f64>,
    gains: Vec<f64>,
    weights: Vec<f64>,
    out: Vec<[f64; 2]>,
    /// All ranks, and those of rows with a gain.
    all: Vec<u32>,
    worthy: Vec<u32>,
    /// By rank, the number of relevant rows up to it, and the sum of 1/rank over them.
    relevant: Vec<[f64; 2]>,
}

impl Loss for Pairs<'_> {
    fn base(&self) -> f64 {
        0.0
    }

    fn gradients(&self, scores: &[f64], out: &mut [[f64; 2]]) {
        let mut slices = Vec::with_capacity(self.queries.len());
        let mut rest = out;
        for (number, rows) in self.table.by_query().enumerate() {
            let (own, others) = rest.split_at_mut(rows.len());
            rest = others;
            slices.push((number, rows.start, own));
        }
        slices.into_par_iter().with_min_len(8).for_each_init(
            Workspace::default,
            |workspace, (number, start, out)| {
                out.fill([0.0; 2]);
                if !self.queries[number].skip {
                    self.of_query(number, start, &scores[start..start + out.len()], out, workspace);
                }
            },
        );
    }
}

impl Pairs<'_> {
    /// The gradients of one query, whose first row is `start`.
    fn of_query(
        &self,
        number: usize,
        start: usize,
        scores: &[f64],
        out: &mut [[f64; 2]],
        workspace: &mut Workspace,
    ) {
        let n = scores.len();
        workspace.order.clear();
        workspace.order.extend(0..n as u32);
        workspace.order.sort_unstable_by(|&a, &b| {
            scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b))
        });
        let by_rank = |from: &[f64], into: &mut Vec<f64>| {
            into.clear();
            into.extend(workspace.order.iter().map(|&row| from[row as usize]));
        };
        by_rank(scores, &mut workspace.scores);
        by_rank(&self.gains[start..start + n], &mut workspace.gains);
        workspace.weights.clear();
        workspace
            .weights
            .extend(workspace.order.iter().map(|&row| self.table.weight(start + row as usize)));
        workspace.out.clear();
        workspace.out.resize(n, [0.0; 2]);
        let norm = self.queries[number].norm;
        let sum = match self.params.lambdas {
            Lambdas::Ndcg => {
                let discounts = &self.discounts;
                workspace.pairs(self.params, |gains, high, low| {
                    (gains[high] - gains[low]) * (discounts[high] - discounts[low]).abs() * norm
                })
            }
            Lambdas::Map => {
                let relevant =
                    precisions(&workspace.gains, std::mem::take(&mut workspace.relevant));
                let sum = workspace.pairs(self.params, |_, high, low| {
                    norm * change_of_precision(&relevant, high, low)
                });
                workspace.relevant = relevant;
                sum
            }
        };
        let scale = match self.params.norm && sum > 0.0 {
            true => (1.0 + sum).log2() / sum,
            false => 1.0,
        };
        for (&row, &[gradient, hessian]) in workspace.order.iter().zip(&workspace.out) {
            out[row as usize] = [gradient * scale, hessian * scale];
        }
    }
}

impl Workspace {
    /// Adds up the pairs of a query by rank; `change` is the change of the measure when a better and
    /// a worse row swap ranks. Returns the sum of all λ without weights.
    fn pairs(&mut self, params: &LambdaMart, change: impl Fn(&[f64], usize, usize) -> f64) -> f64 {
        let n = self.scores.len();
        self.all.clear();
        self.all.extend(0..n as u32);
        self.worthy.clear();
        self.worthy.extend(self.all.iter().filter(|&&rank| self.gains[rank as usize] > 0.0));
        let (scores, gains) = (&self.scores[..n], &self.gains[..n]);
        let (weights, out) = (&self.weights[..n], &mut self.out[..n]);
        let sigma = params.sigmoid;
        let apart = params.norm && scores[0] != scores[n - 1];
        let mut sum = 0.0;
        for first in 0..n.min(params.truncation) {
            let (score, gain) = (scores[first], gains[first]);
            // Pairs of two rows without a gain are the most frequent and contribute nothing.
            let others = if gain == 0.0 { &self.worthy } else { &self.all };
            let after = others.partition_point(|&rank| rank as usize <= first);
            let mut own = [0.0; 2];
            for &second in &others[after..] {
                let second = second as usize;
                if gain == gains[second] {
                    continue;
                }
                // The sign is 1 if the first is the better one.
                let (high, low, sign) = match gain > gains[second] {
                    true => (first, second, 1.0),
                    false => (second, first, -1.0),
                };
                let lead = sign * (score - scores[second]);
                let gap = if apart { 0.01 + lead.abs() } else { 1.0 };
                // One division for both: by the gap, and for ρ.
                let inverse = 1.0 / (gap * (1.0 + (sigma * lead).exp()));
                let rho = gap * inverse;
                let lambda = sigma * change(gains, high, low) * inverse;
                let hessian = sigma * (1.0 - rho) * lambda;
                sum += 2.0 * lambda;
                let (lambda, hessian) = (weights[high] * lambda, weights[high] * hessian);
                own = [own[0] - sign * lambda, own[1] + hessian];
                out[second] = [out[second][0] + sign * lambda, out[second][1] + hessian];
            }
            out[first] = [out[first][0] + own[0], out[first][1] + own[1]];
        }
        sum
    }
}

/// For every rank: the number of relevant rows up to it, and the sum of 1/rank over them.
fn precisions(gains: &[f64], mut workspace: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    workspace.clear();
    let mut so_far = [0.0; 2];
    for (rank, &gain) in (1..).zip(gains) {
        so_far[0] += gain;
        so_far[1] += gain / f64::from(rank);
        workspace.push(so_far);
    }
    workspace
}

/// The change of average precision, times the number of relevant rows, when a relevant and another
/// row swap ranks (from 0).
fn change_of_precision(relevant: &[[f64; 2]], high: usize, low: usize) -> f64 {
    let (first, second) = (high.min(low), high.max(low));
    let precision = |rank: usize, more: f64| (relevant[rank][0] + more) / (rank + 1) as f64;
    // Relevant rows strictly between the two have one relevant row more, or fewer, before them.
    let up_to = if second == high { second - 1 } else { second };
    let between = relevant[up_to][1] - relevant[first][1];
    match high < low {
        // The relevant row falls.
        true => precision(first, 0.0) - precision(second, 0.0) + between,
        false => precision(first, 1.0) - precision(second, 0.0) + between,
    }
}

#[cfg(test)]
mod tests;
