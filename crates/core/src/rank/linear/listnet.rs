//! ListNet: cross entropy between the probabilities of each row to be first by the grades and by the
//! scores.
//!
//! ```text
//! min_w  −1/m Σ_q Σ_{i of q} P_g(i) ln P_s(i) + λ/2·‖w‖²,   P_v(i) = exp v_i / Σ_k exp v_k
//! ```
//! over the m queries with rows of different grade; the others would ask for equal scores (`equal`
//! keeps them). The function is convex; L-BFGS over all queries, with early stopping on validation.
//! (Cao et al., ICML 2007, with the top-one probability.)

use std::ops::Range;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::best_step::BestStep;
use super::checks::{all_equal, at_least_one, has_pairs};
use super::lbfgs::minimise;
use super::matrix::{FeatureMatrix, inner};
use crate::Result;
use crate::params::check::check_weight;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};

/// Cross entropy of the top-one probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListNet {
    /// The ℓ2 penalty λ.
    pub penalty: f64,
    /// Maximum number of steps.
    pub steps: usize,
    /// Stop after this many steps without a better one on validation; 0 never stops early.
    pub patience: usize,
    /// Stop when no derivative is larger than this.
    pub tolerance: f64,
    /// Whether to learn also from queries whose rows all have the same grade.
    pub equal: bool,
}

impl Default for ListNet {
    fn default() -> Self {
        ListNet { penalty: 1e-3, steps: 300, patience: 50, tolerance: 1e-7, equal: false }
    }
}

impl RankMethod for ListNet {
    fn check(&self) -> Result<()> {
        check_weight("penalty", self.penalty)?;
        check_weight("tolerance", self.tolerance)?;
        at_least_one("steps", self.steps)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_pairs(training.table)?;
        let problem = Problem::new(training.table, self.penalty, self.equal);
        let mut steps = BestStep::new(training, "listnet", self.steps, self.patience);
        let start = vec![0.0; training.table.n_features()];
        let value = |weights: &[f64]| problem.value(weights);
        minimise(start, self.steps, self.tolerance, value, |step, value, weights| {
            steps.record(step, value, weights)
        })?;
        Ok(steps.finish())
    }
}

struct Problem<'a> {
    rows: FeatureMatrix<'a>,
    queries: Vec<Range<usize>>,
    /// P_g of each row.
    target: Vec<f64>,
    penalty: f64,
}

impl<'a> Problem<'a> {
    fn new(table: &'a FeatureTable, penalty: f64, equal: bool) -> Self {
        let differ = |rows: &Range<usize>| !all_equal(&table.grades()[rows.clone()]);
        let queries = table.by_query().filter(|rows| rows.len() > 1 && (equal || differ(rows)));
        let queries: Vec<_> = queries.collect();
        let mut target: Vec<f64> = table.grades().iter().map(|&grade| f64::from(grade)).collect();
        for rows in &queries {
            softmax(&mut target[rows.clone()]);
        }
        Problem { rows: FeatureMatrix::of(table), queries, target, penalty }
    }

    /// The value and its gradient.
    fn value(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let mut scores = self.rows.times(weights);
        let m = self.queries.len() as f64;
        let losses: Vec<(f64, Vec<f64>)> = self
            .queries
            .par_iter()
            .map(|rows| {
                let (scores, target) = (&scores[rows.clone()], &self.target[rows.clone()]);
                let mut chance = scores.to_vec();
                let log_sum = softmax(&mut chance);
                // Σ P_g·(ln Σ exp s − s), the P_g adding up to 1.
                let loss = target.iter().zip(scores).map(|(p, s)| p * (log_sum - s)).sum();
                chance.iter_mut().zip(target).for_each(|(chance, p)| *chance = (*chance - p) / m);
                (loss, chance)
            })
            .collect();
        scores.fill(0.0);
        let mut value = 0.0;
        for (rows, (loss, slopes)) in self.queries.iter().zip(losses) {
            value += loss;
            scores[rows.clone()].copy_from_slice(&slopes);
        }
        let mut gradient = self.rows.transposed(&scores);
        gradient.iter_mut().zip(weights).for_each(|(g, w)| *g += self.penalty * w);
        (value / m + self.penalty / 2.0 * inner(weights, weights), gradient)
    }
}

/// Replaces numbers by their softmax; returns the logarithm of the sum of exponentials.
fn softmax(numbers: &mut [f64]) -> f64 {
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    numbers.iter_mut().for_each(|number| *number = (*number - most).exp());
    let sum: f64 = numbers.iter().sum();
    numbers.iter_mut().for_each(|number| *number /= sum);
    most + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, close, silent};
    use super::*;
    use crate::oracle::same_at_any_thread_count;
    use crate::random::Random;

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let table = fixture::random(6, 9, 5, 4);
        let problem = Problem::new(&table, 0.3, true);
        let mut random = Random::new(3, 0);
        let weights: Vec<f64> = (0..5).map(|_| random.normal()).collect();
        let (_, gradient) = problem.value(&weights);
        let differences: Vec<f64> = (0..5)
            .map(|k| {
                let by = |step: f64| {
                    let mut moved = weights.clone();
                    moved[k] += step;
                    problem.value(&moved).0
                };
                (by(1e-5) - by(-1e-5)) / 2e-5
            })
            .collect();
        close(&gradient, &differences, 1e-8);
    }

    #[test]
    fn the_value_is_the_cross_entropy() {
        let table = fixture::graded(&[("q", 1.0), ("q", 0.0), ("r", 1.0), ("r", 1.0)]);
        let e = 1f64.exp();
        // Scores 0 and w: the targets are e/(1+e) and 1/(1+e), the chances 1/(1+e^w), e^w/(1+e^w).
        let w: f64 = 0.7;
        let (p, chance) = (e / (1.0 + e), 1.0 / (1.0 + w.exp()));
        let expected = -p * chance.ln() - (1.0 - p) * (1.0 - chance).ln();
        close(&[Problem::new(&table, 0.0, false).value(&[w]).0], &[expected], 1e-12);
    }

    #[test]
    fn it_ends_where_the_gradient_is_zero_on_any_number_of_threads() {
        let table = fixture::random(20, 30, 10, 4);
        let method = ListNet { penalty: 0.01, ..ListNet::default() };
        let (scorer, report) =
            same_at_any_thread_count(|| method.fit(&silent(&table, None)).unwrap());
        let Scorer::Linear(linear) = scorer else { panic!("linear") };
        let (value, gradient) = Problem::new(&table, 0.01, false).value(&linear.weights);
        assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
        assert_eq!(report.steps.last().unwrap().objective, Some(value));
        assert_eq!(report.kept, Some(report.steps.len()));
        assert!(report.steps.windows(2).all(|two| two[1].objective <= two[0].objective));
    }

    #[test]
    fn validation_stops_it_and_edges() {
        let (table, validation) = (fixture::random(20, 30, 10, 4), fixture::random(5, 30, 10, 4));
        let method = ListNet { patience: 3, penalty: 0.0, ..ListNet::default() };
        let (_, report) = method.fit(&silent(&table, Some(&validation))).unwrap();
        let kept = report.kept.unwrap();
        assert!(report.steps.len() <= kept + 3);
        assert!(report.steps.iter().all(|s| s.validation <= report.steps[kept - 1].validation));
        let equal = fixture::graded(&[("a", 1.0), ("a", 1.0), ("b", 0.0)]);
        assert!(ListNet::default().fit(&silent(&equal, None)).is_err());
        // Grades in the thousands, and a query of one row.
        let clicks = fixture::graded(&[("a", 9000.0), ("a", 1.0), ("b", 5.0)]);
        let (scorer, _) = ListNet::default().fit(&silent(&clicks, None)).unwrap();
        assert!(scorer.score(&[0.0]) > scorer.score(&[1.0]));
        let huge = table.with_values(vec![f32::MAX; table.values().len()]);
        assert!(ListNet::default().fit(&silent(&huge, None)).is_ok());
    }
}
