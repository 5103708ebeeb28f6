//! Coordinate ascent: a line search on the measure itself along one weight after another, with all
//! others fixed. (Metzler and Croft, Information Retrieval 2007.)
//!
//! A measure is flat almost everywhere, so it is evaluated at a fixed set of steps of each weight,
//! doubling to both sides, and at weight 0. The rows of a query are sorted for one step after
//! another, starting from the order of the step before, which differs little; queries in which the
//! feature is constant keep their value, and so do those whose value does not depend on the order.
//! Steps are in units of 1 over the feature's standard deviation, and after every pass the weights
//! are scaled to sum to 1 in these units, which changes no order. Passes end when one gains too
//! little; then another start begins. The best of all passes on validation is kept (on training
//! without validation).

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::best_step::BestStep;
use super::checks::{at_least_one, has_pairs, nothing};
use super::matrix::FeatureMatrix;
use super::table_measure::TableMeasure;
use crate::Result;
use crate::params::check::check_weight;
use crate::random::Random;
use crate::rank::{RankMethod, RankReport, Scorer, Training};

/// The smallest step, and how often it is doubled.
const FIRST: f64 = 0.001;
const DOUBLINGS: i32 = 11;

/// Coordinate ascent on the measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CoordinateAscent {
    /// Number of starts: the first from equal weights, the others from random ones.
    pub starts: usize,
    /// Maximum number of passes over all weights per start.
    pub passes: usize,
    /// A pass that gains less than this on training is the last of its start.
    pub tolerance: f64,
    /// Seed of the random starts and of the order of features.
    pub seed: u64,
}

impl Default for CoordinateAscent {
    fn default() -> Self {
        CoordinateAscent { starts: 3, passes: 25, tolerance: 0.001, seed: 1 }
    }
}

impl RankMethod for CoordinateAscent {
    fn check(&self) -> Result<()> {
        at_least_one("starts", self.starts)?;
        at_least_one("passes", self.passes)?;
        check_weight("tolerance", self.tolerance)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_pairs(training.table)?;
        let mut ascent = Ascent::new(training)?;
        let total = self.starts.saturating_mul(self.passes);
        let mut steps = BestStep::new(training, "coordinate_ascent", total, 0).or_training();
        let d = ascent.units.len();
        let mut step = 0;
        for start in 0..self.starts {
            let mut random = Random::new(self.seed, start as u64);
            ascent.begin(match start {
                0 => vec![1.0; d],
                _ => (0..d).map(|_| random.normal()).collect(),
            });
            let mut before = ascent.mean();
            for _ in 0..self.passes {
                let mut features: Vec<usize> = (0..d).collect();
                random.shuffle(&mut features);
                for feature in features {
                    training.run.check()?;
                    ascent.improve(feature);
                }
                step += 1;
                let now = ascent.mean();
                let weights = ascent.scaled();
                steps.record(step, 1.0 - now, &weights)?;
                if now - before < self.tolerance {
                    break;
                }
                before = now;
                ascent.begin(ascent.in_units(&weights));
            }
        }
        Ok(steps.finish())
    }
}

/// The weights, and the measure of each query.
struct Ascent<'a> {
    measure: TableMeasure<'a>,
    rows: FeatureMatrix<'a>,
    queries: Vec<Query>,
    /// 1 over the standard deviation of each feature within queries; 0 if it is constant in all.
    units: Vec<f64>,
    weights: Vec<f64>,
}

/// A query whose value depends on the order of its rows.
struct Query {
    number: usize,
    scores: Vec<f64>,
    order: Vec<u32>,
    value: f64,
    /// Which features differ among its rows.
    differ: Vec<bool>,
}

#[derive(Default)]
struct Workspace {
    column: Vec<f64>,
    moved: Vec<f64>,
    order: Vec<u32>,
}

impl<'a> Ascent<'a> {
    fn new(training: &Training<'a>) -> Result<Self> {
        let measure = TableMeasure::new(training.table, training.goal);
        let rows = FeatureMatrix::of(training.table);
        let d = rows.n_features();
        let mut squares = vec![0.0; d];
        let mut n = 0.0;
        let mut queries = Vec::new();
        for number in (0..measure.n_queries()).filter(|&query| measure.counts(query)) {
            let here = measure.rows_of(number);
            let mut differ = vec![false; d];
            for (k, differ) in differ.iter_mut().enumerate() {
                let values = || here.clone().map(|row| f64::from(rows.row(row)[k]));
                let mean = values().sum::<f64>() / here.len() as f64;
                *differ = values().any(|value| value != f64::from(rows.row(here.start)[k]));
                if *differ {
                    squares[k] += values().map(|value| (value - mean).powi(2)).sum::<f64>();
                }
            }
            n += here.len() as f64;
            let order = (0..here.len() as u32).collect();
            let scores = vec![0.0; here.len()];
            queries.push(Query { number, scores, order, value: 0.0, differ });
        }
        if queries.is_empty() {
            let measure = training.goal.measure;
            return Err(nothing(&format!("no order changes the {measure} of a query")));
        }
        let unit = |square: f64| if square > 0.0 { (square / n).sqrt().recip() } else { 0.0 };
        let units = squares.into_iter().map(unit).collect();
        Ok(Ascent { measure, rows, queries, units, weights: vec![0.0; d] })
    }

    /// Starts again from `weights` in units.
    fn begin(&mut self, weights: Vec<f64>) {
        let (rows, measure) = (&self.rows, &self.measure);
        self.weights =
            weights.iter().zip(&self.units).map(|(weight, unit)| weight * unit).collect();
        let scores = rows.times(&self.weights);
        self.queries.par_iter_mut().for_each(|query| {
            query.scores.copy_from_slice(&scores[measure.rows_of(query.number)]);
            measure.sort(query.number, &query.scores, &mut query.order);
            query.value = measure.value(query.number, &query.scores, &query.order).unwrap_or(0.0);
        });
    }

    fn mean(&self) -> f64 {
        let values = self.queries.iter().map(|query| query.value);
        values.sum::<f64>() / self.queries.len() as f64
    }

    /// The weights, scaled to sum to 1 in units; as they are if all are 0.
    fn scaled(&self) -> Vec<f64> {
        let sum: f64 = self.in_units(&self.weights).iter().map(|weight| weight.abs()).sum();
        let scale = if sum > 0.0 { sum.recip() } else { 1.0 };
        self.weights.iter().map(|weight| weight * scale).collect()
    }

    fn in_units(&self, weights: &[f64]) -> Vec<f64> {
        let in_unit = |(weight, unit): (&f64, &f64)| if *unit > 0.0 { weight / unit } else { 0.0 };
        weights.iter().zip(&self.units).map(in_unit).collect()
    }

    /// Moves the weight of a feature by the step with the best measure, the smallest of equal ones,
    /// if that is better than no step.
    fn improve(&mut self, feature: usize) {
        let (unit, weight) = (self.units[feature], self.weights[feature]);
        if unit == 0.0 {
            return;
        }
        // Sorted, so that the order of rows changes little from one step to the next.
        let size: f64 = self.in_units(&self.weights).iter().map(|w| w.abs()).sum::<f64>().max(1e-9);
        let mut steps: Vec<f64> = (0..=DOUBLINGS)
            .flat_map(|k| [1.0, -1.0].map(|sign| sign * FIRST * f64::from(1 << k) * size * unit))
            .collect();
        if weight != 0.0 {
            steps.push(-weight);
        }
        steps.sort_by(f64::total_cmp);
        let sums = self.sums(feature, &steps);
        let now: f64 = self.queries.iter().map(|query| query.value).sum();
        let mut best: Option<(f64, f64)> = None;
        for (&step, &sum) in steps.iter().zip(&sums) {
            let better = best.is_none_or(|(known, at)| {
                sum > known || (sum == known && step.abs() < f64::abs(at))
            });
            // Less than this is rounding.
            if sum > now + 1e-9 && better {
                best = Some((sum, step));
            }
        }
        let Some((_, step)) = best else { return };
        self.weights[feature] += step;
        let (rows, measure) = (&self.rows, &self.measure);
        self.queries.par_iter_mut().filter(|query| query.differ[feature]).for_each(|query| {
            for (row, score) in measure.rows_of(query.number).zip(&mut query.scores) {
                *score += step * f64::from(rows.row(row)[feature]);
            }
            measure.sort(query.number, &query.scores, &mut query.order);
            query.value = measure.value(query.number, &query.scores, &query.order).unwrap_or(0.0);
        });
    }

    /// The sum of the measure over the queries for each of `steps` of a feature's weight.
    fn sums(&self, feature: usize, steps: &[f64]) -> Vec<f64> {
        let of_query = |workspace: &mut Workspace, query: &Query| {
            if !query.differ[feature] {
                return vec![query.value; steps.len()];
            }
            let Workspace { column, moved, order } = workspace;
            order.clone_from(&query.order);
            column.clear();
            let rows = self.measure.rows_of(query.number);
            column.extend(rows.map(|row| f64::from(self.rows.row(row)[feature])));
            let value = |step: &f64| {
                moved.clear();
                let scores = query.scores.iter().zip(column.iter());
                moved.extend(scores.map(|(score, value)| score + step * value));
                self.measure.sort(query.number, moved, order);
                self.measure.value(query.number, moved, order).unwrap_or(0.0)
            };
            steps.iter().map(value).collect::<Vec<f64>>()
        };
        let parts: Vec<Vec<f64>> =
            self.queries.par_iter().map_init(Workspace::default, of_query).collect();
        let mut sums = vec![0.0; steps.len()];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, close, silent};
    use super::*;
    use crate::oracle::same_at_any_thread_count;
    use crate::rank::Goal;

    fn goal(measure: &str) -> Goal {
        Goal { measure: measure.parse().unwrap(), variant: Default::default() }
    }

    #[test]
    fn what_is_tried_is_the_plain_measure() {
        let table = fixture::random(10, 15, 5, 3);
        // One feature is constant in the first queries.
        let mut values = table.values().to_vec();
        values[..5 * 15 * 4].iter_mut().skip(2).step_by(5).for_each(|value| *value = 1.0);
        let table = table.with_values(values);
        for measure in ["AP", "nDCG@5", "RR", "RankLoss"] {
            let training = Training { goal: goal(measure), ..silent(&table, None) };
            let mut ascent = Ascent::new(&training).unwrap();
            ascent.begin(vec![0.3, 1.0, -0.5, 0.0, 0.2]);
            let counted: Vec<usize> = ascent.queries.iter().map(|query| query.number).collect();
            let plain = |weights: &[f64]| {
                let values = training.goal.values(&table, &ascent.rows.times(weights));
                let turn = |v: f64| if measure == "RankLoss" { 1.0 - v } else { v };
                counted.iter().map(|&query| turn(values[query].unwrap())).sum::<f64>()
            };
            let steps = [-1.5, -0.2, 0.01, 0.7, 3.0];
            for feature in 0..5 {
                let expected: Vec<f64> = steps
                    .iter()
                    .map(|step| {
                        let mut weights = ascent.weights.clone();
                        weights[feature] += step;
                        plain(&weights)
                    })
                    .collect();
                close(&ascent.sums(feature, &steps), &expected, 1e-12);
            }
            for feature in 0..5 {
                let before = ascent.mean();
                ascent.improve(feature);
                assert!(ascent.mean() >= before);
            }
            let values = training.goal.values(&table, &ascent.rows.times(&ascent.weights));
            let turn = |v: f64| if measure == "RankLoss" { 1.0 - v } else { v };
            let sum: f64 = counted.iter().map(|&query| turn(values[query].unwrap())).sum();
            close(&[ascent.mean()], &[sum / counted.len() as f64], 1e-12);
        }
    }

    #[test]
    fn it_finds_the_features_that_count_on_any_number_of_threads() {
        let (table, validation) = (fixture::random(20, 20, 6, 3), fixture::random(10, 20, 6, 3));
        let training = Training { goal: goal("AP"), ..silent(&table, Some(&validation)) };
        let method = CoordinateAscent { starts: 2, ..CoordinateAscent::default() };
        let (scorer, report) = same_at_any_thread_count(|| method.fit(&training).unwrap());
        let Scorer::Linear(linear) = &scorer else { panic!("linear") };
        let others = linear.weights[2..].iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        assert!(linear.weights[0] > others && linear.weights[1] > others, "{linear:?}");
        let kept = report.steps[report.kept.unwrap() - 1];
        assert!(report.steps.iter().all(|step| step.validation <= kept.validation));
        // Without validation the best pass on training is kept.
        let training = Training { validation: None, ..training };
        let (_, report) = method.fit(&training).unwrap();
        let kept = report.steps[report.kept.unwrap() - 1];
        assert!(report.steps.iter().all(|step| step.training <= kept.training));
    }

    #[test]
    fn edges() {
        let table = fixture::random(4, 5, 3, 3);
        let constant = table.with_values(vec![1.0; table.values().len()]);
        let (scorer, _) = CoordinateAscent::default().fit(&silent(&constant, None)).unwrap();
        assert_eq!(scorer.score(&[1.0; 3]), 0.0);
        let equal = fixture::graded(&[("a", 1.0), ("a", 1.0), ("b", 0.0)]);
        assert!(CoordinateAscent::default().fit(&silent(&equal, None)).is_err());
        let rows: Vec<(&str, f32)> = (0..20_000).map(|row| ("q", (row % 3) as f32)).collect();
        let large = fixture::graded(&rows);
        assert!(CoordinateAscent::default().fit(&silent(&large, None)).is_ok());
    }
}
