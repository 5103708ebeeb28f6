//! ListMLE: maximises the likelihood of the list in the order of the grades under the Plackett–Luce
//! model, in which rows are drawn one after another with probabilities ∝ exp s among those left.
//!
//! ```text
//! min_w  −1/m Σ_q Σ_{j = 1..n_q} [ s_π(j) − ln Σ_{k = j..n_q} exp s_π(k) ] + λ/2·‖w‖²
//! ```
//! with π the rows of a query by falling grade, over the m queries with rows of different grade. The
//! order of rows of equal grade is drawn anew each epoch, from the seed. Adam over batches of
//! queries, on features scaled to standard deviation 1 (the penalty is on the weights of the
//! unscaled features), with a rate that falls with the root of the epochs; early stopping on
//! validation.
//! (Xia et al., ICML 2008; Kingma and Ba 2015.)

use std::ops::Range;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::best_step::BestStep;
use super::checks::{all_equal, at_least_one, has_pairs};
use super::matrix::{FeatureMatrix, add_scaled, dot, inner};
use crate::Result;
use crate::params::check::{check_positive, check_weight};
use crate::random::Random;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};

/// The decay rates of Adam's means of gradients and of their squares, and its ε.
const BETAS: (f64, f64) = (0.9, 0.999);
const EPSILON: f64 = 1e-12;
/// The epoch after which the rate has fallen to 1/√2.
const RATE_DECAY: f64 = 10.0;

/// Likelihood of the list in the order of the grades.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListMle {
    /// The ℓ2 penalty λ.
    pub penalty: f64,
    /// Maximum number of epochs.
    pub epochs: usize,
    /// Stop after this many epochs without a better one on validation; 0 never stops early.
    pub patience: usize,
    /// The learning rate.
    pub rate: f64,
    /// Queries per batch.
    pub batch: usize,
    /// Seed of the order of equal grades and of queries.
    pub seed: u64,
}

impl Default for ListMle {
    fn default() -> Self {
        ListMle { penalty: 1e-4, epochs: 200, patience: 40, rate: 0.01, batch: 32, seed: 1 }
    }
}

impl RankMethod for ListMle {
    fn check(&self) -> Result<()> {
        check_weight("penalty", self.penalty)?;
        check_positive("rate", self.rate)?;
        at_least_one("epochs", self.epochs)?;
        at_least_one("batch", self.batch)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_pairs(training.table)?;
        let problem = Problem::new(training.table, self.penalty);
        let mut steps = BestStep::new(training, "listmle", self.epochs, self.patience);
        let scales = problem.scales();
        let mut weights = vec![0.0; scales.len()];
        let mut adam = Adam::new(scales.len());
        for epoch in 1..=self.epochs {
            let mut queries: Vec<usize> = (0..problem.queries.len()).collect();
            // Streams beyond those of the queries' orders.
            Random::new(self.seed, u64::MAX - epoch as u64).shuffle(&mut queries);
            let rate = self.rate / (1.0 + epoch as f64 / RATE_DECAY).sqrt();
            let mut losses = 0.0;
            for batch in queries.chunks(self.batch) {
                let (loss, gradient) = problem.value(&weights, batch, self.seed, epoch);
                losses += loss * batch.len() as f64;
                adam.step(&mut weights, &gradient, &scales, rate);
            }
            if steps.record(epoch, losses / queries.len() as f64, &weights)? {
                break;
            }
        }
        Ok(steps.finish())
    }
}

/// Running means of gradients and of their squares.
struct Adam {
    steps: i32,
    means: Vec<f64>,
    squares: Vec<f64>,
}

impl Adam {
    fn new(n: usize) -> Self {
        Adam { steps: 0, means: vec![0.0; n], squares: vec![0.0; n] }
    }

    /// A step on weights w = v·scale: by v the derivative is `scale` times that by w.
    fn step(&mut self, weights: &mut [f64], gradient: &[f64], scales: &[f64], rate: f64) {
        self.steps = self.steps.saturating_add(1);
        let (first, second) = BETAS;
        let (far, wide) = (1.0 - first.powi(self.steps), 1.0 - second.powi(self.steps));
        for k in 0..weights.len() {
            let slope = gradient[k] * scales[k];
            self.means[k] = first * self.means[k] + (1.0 - first) * slope;
            self.squares[k] = second * self.squares[k] + (1.0 - second) * slope * slope;
            let root = (self.squares[k] / wide).sqrt() + EPSILON;
            weights[k] -= rate * scales[k] * (self.means[k] / far) / root;
        }
    }
}

struct Problem<'a> {
    table: &'a FeatureTable,
    rows: FeatureMatrix<'a>,
    queries: Vec<Range<usize>>,
    penalty: f64,
}

impl<'a> Problem<'a> {
    fn new(table: &'a FeatureTable, penalty: f64) -> Self {
        let differ = |rows: &Range<usize>| !all_equal(&table.grades()[rows.clone()]);
        let queries = table.by_query().filter(differ).collect();
        Problem { table, rows: FeatureMatrix::of(table), queries, penalty }
    }

    /// 1 over the standard deviation of each feature; 1 for those that are constant.
    fn scales(&self) -> Vec<f64> {
        let n = self.rows.n_rows();
        let mut means = self.rows.transposed(&vec![1.0 / n as f64; n]);
        let moments = self.rows.second_moments(&vec![1.0 / n as f64; n], &means);
        for (k, mean) in means.iter_mut().enumerate() {
            let deviation = moments[(k, k)].sqrt();
            let constant = deviation <= 1e-12 * mean.abs() || deviation == 0.0;
            *mean = if constant { 1.0 } else { deviation.recip() };
        }
        means
    }

    /// The rows of a query, counted from its first, by falling grade.
    fn order(&self, query: usize, seed: u64, epoch: usize) -> Vec<u32> {
        let grades = &self.table.grades()[self.queries[query].clone()];
        let mut order: Vec<u32> = (0..grades.len() as u32).collect();
        let stream = (epoch * self.queries.len() + query) as u64;
        Random::new(seed, stream).shuffle(&mut order);
        order.sort_by(|&a, &b| grades[b as usize].total_cmp(&grades[a as usize]));
        order
    }

    /// The mean over some queries, and its gradient.
    fn value(&self, weights: &[f64], batch: &[usize], seed: u64, epoch: usize) -> (f64, Vec<f64>) {
        let parts: Vec<(f64, Vec<f64>)> = batch
            .par_iter()
            .map(|&query| {
                let rows = self.queries[query].clone();
                let order = self.order(query, seed, epoch);
                let row = |&at: &u32| self.rows.row(rows.start + at as usize);
                let scores: Vec<f64> = order.iter().map(|at| dot(row(at), weights)).collect();
                let (loss, slopes) = negative_log_likelihood(&scores);
                let mut gradient = vec![0.0; weights.len()];
                for (at, slope) in order.iter().zip(slopes) {
                    add_scaled(&mut gradient, slope, row(at));
                }
                (loss, gradient)
            })
            .collect();
        let m = batch.len() as f64;
        let mut gradient: Vec<f64> = weights.iter().map(|w| self.penalty * w).collect();
        let mut value = self.penalty / 2.0 * inner(weights, weights);
        for (loss, part) in parts {
            value += loss / m;
            gradient.iter_mut().zip(part).for_each(|(sum, part)| *sum += part / m);
        }
        (value, gradient)
    }
}

/// −ln of the probability that rows with these scores are drawn in this order, and its derivative by
/// each score. Sums of exponentials are computed as logarithms.
fn negative_log_likelihood(scores: &[f64]) -> (f64, Vec<f64>) {
    let mut left = vec![0.0; scores.len()];
    let mut sum = f64::NEG_INFINITY;
    for (left, &score) in left.iter_mut().zip(scores).rev() {
        sum = log_add(sum, score);
        *left = sum;
    }
    let loss = left.iter().zip(scores).map(|(left, score)| left - score).sum();
    // Row i was among those left at each draw up to its own.
    let mut draws = f64::NEG_INFINITY;
    let slopes = left.iter().zip(scores).map(|(left, score)| {
        draws = log_add(draws, -left);
        (score + draws).exp() - 1.0
    });
    (loss, slopes.collect())
}

/// ln(exp a + exp b).
fn log_add(a: f64, b: f64) -> f64 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    if less == f64::NEG_INFINITY { more } else { more + (less - more).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, close, silent};
    use super::*;
    use crate::oracle::same_at_any_thread_count;

    #[test]
    fn the_likelihood_is_that_of_draws() {
        let scores = [0.3f64, -1.0, 2.0];
        let e: Vec<f64> = scores.iter().map(|s| s.exp()).collect();
        let chance = e[0] / (e[0] + e[1] + e[2]) * e[1] / (e[1] + e[2]);
        close(&[negative_log_likelihood(&scores).0], &[-chance.ln()], 1e-12);
        // Far apart, where plain exponentials would be 0 or infinite.
        let (loss, slopes) = negative_log_likelihood(&[-2000.0, 2000.0]);
        close(&[loss], &[4000.0], 1e-12);
        close(&slopes, &[-1.0, 1.0], 1e-12);
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let table = fixture::random(6, 9, 5, 4);
        let problem = Problem::new(&table, 0.3);
        let mut random = Random::new(3, 0);
        let weights: Vec<f64> = (0..5).map(|_| random.normal()).collect();
        let batch: Vec<usize> = (0..problem.queries.len()).collect();
        let value = |weights: &[f64]| problem.value(weights, &batch, 7, 2);
        let (_, gradient) = value(&weights);
        let differences: Vec<f64> = (0..5)
            .map(|k| {
                let by = |step: f64| {
                    let mut moved = weights.clone();
                    moved[k] += step;
                    value(&moved).0
                };
                (by(1e-5) - by(-1e-5)) / 2e-5
            })
            .collect();
        close(&gradient, &differences, 1e-8);
    }

    #[test]
    fn equal_grades_are_drawn_anew_each_epoch() {
        let rows: Vec<(&str, f32)> = (0..40).map(|row| ("q", (row % 2) as f32)).collect();
        let table = fixture::graded(&rows);
        let problem = Problem::new(&table, 0.0);
        let (one, two) = (problem.order(0, 1, 1), problem.order(0, 1, 2));
        assert_ne!(one, two);
        assert_eq!(one, problem.order(0, 1, 1));
        assert!(one[..20].iter().all(|row| row % 2 == 1));
    }

    #[test]
    fn it_learns_alike_on_any_number_of_threads() {
        let (table, validation) = (fixture::random(20, 30, 10, 4), fixture::random(8, 30, 10, 4));
        let (scorer, report) = same_at_any_thread_count(|| {
            ListMle::default().fit(&silent(&table, Some(&validation))).unwrap()
        });
        let goal = crate::rank::Goal::default();
        let first_two: Vec<f64> = (0..validation.n_rows())
            .map(|row| f64::from(validation.row(row)[0] + validation.row(row)[1]))
            .collect();
        // Nearly as good as the sum from which the grades were drawn.
        let found = goal.mean(&validation, &scorer.scores(&validation)).unwrap();
        assert!(found > goal.mean(&validation, &first_two).unwrap() - 0.03, "{found}");
        assert!(report.kept.is_some());
        // The scale of a feature makes no difference to speak of.
        let method = ListMle { penalty: 0.0, epochs: 20, ..ListMle::default() };
        let large = table.with_values(table.values().iter().map(|x| x * 1024.0).collect());
        let scores =
            |table: &FeatureTable| method.fit(&silent(table, None)).unwrap().0.scores(table);
        close(&scores(&large), &scores(&table), 1e-9);
    }

    #[test]
    fn edges() {
        let equal = fixture::graded(&[("a", 1.0), ("a", 1.0), ("b", 0.0)]);
        assert!(ListMle::default().fit(&silent(&equal, None)).is_err());
        let table = fixture::graded(&[("a", 1.0), ("a", 0.0), ("b", 0.0)]);
        let constant = table.with_values(vec![5.0; 3]);
        let (scorer, _) = ListMle::default().fit(&silent(&constant, None)).unwrap();
        assert!(scorer.score(&[5.0]).abs() < 1e-6);
        assert!(ListMle { batch: 0, ..ListMle::default() }.check().is_err());
    }
}
