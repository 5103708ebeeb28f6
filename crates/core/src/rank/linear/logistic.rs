//! Pointwise classification: logistic regression on whether a row is relevant.
//!
//! ```text
//! min_{w,b}  Σ_i c_i ln(1 + exp(−z_i (⟨w, x_i⟩ + b))) / Σ_i c_i + λ/2·‖w‖²
//! ```
//! with z_i = 1 where the grade is relevant (`relevant_from` of the measures) and −1 elsewhere,
//! and c_i the weight of the row. The bias is not penalised. Newton's method with step halving.
//! (Nallapati, SIGIR 2004.)

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, has_features, not_finite, nothing};
use super::cholesky::solve;
use super::matrix::{FeatureMatrix, inner};
use super::regularisation_path::RegularisationPath;
use crate::Result;
use crate::params::check::check_positive;
use crate::rank::Linear;
use crate::rank::{RankMethod, RankReport, Scorer, Training};

/// Maximum halvings of a step.
const HALVINGS: usize = 40;

/// Logistic regression on relevance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Logistic {
    /// The ℓ2 penalty λ; if none is given, the best of `penalties` on validation, and 0.001 without
    /// validation.
    pub penalty: Option<f64>,
    /// The penalties to try on validation.
    pub penalties: Vec<f64>,
    /// Maximum number of steps of Newton's method.
    pub steps: usize,
    /// Stop when no derivative is larger than this.
    pub tolerance: f64,
}

impl Default for Logistic {
    fn default() -> Self {
        Logistic {
            penalty: None,
            penalties: vec![1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5],
            steps: 100,
            tolerance: 1e-8,
        }
    }
}

impl Logistic {
    fn path(&self) -> RegularisationPath<'_> {
        RegularisationPath {
            name: "penalty",
            given: self.penalty,
            tried: &self.penalties,
            without_validation: 1e-3,
        }
    }
}

impl RankMethod for Logistic {
    fn check(&self) -> Result<()> {
        self.path().check("penalties")?;
        at_least_one("steps", self.steps)?;
        check_positive("tolerance", self.tolerance)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let table = training.table;
        has_features(table)?;
        let total: f64 = (0..table.n_rows()).map(|row| table.weight(row)).sum();
        let from = training.goal.variant.relevant_from;
        let signs = table.grades().iter().map(|&grade| if grade >= from { 1.0 } else { -1.0 });
        let problem = Problem {
            rows: FeatureMatrix::of(table),
            counts: (0..table.n_rows()).map(|row| table.weight(row) / total).collect(),
            signs: signs.collect(),
        };
        let counted = |sign: f64| {
            problem.signs.iter().zip(&problem.counts).any(|(&z, &count)| z == sign && count > 0.0)
        };
        if !(counted(1.0) && counted(-1.0)) {
            let which = if counted(1.0) { "every row is relevant" } else { "no row is relevant" };
            return Err(nothing(&format!("{which} (grades from {from} on are)")));
        }
        let mut state = vec![0.0; table.n_features() + 1];
        self.path().fit(training, RankReport::default(), |penalty, report| {
            let objective = self.newton(&problem, penalty, &mut state, training, report)?;
            let (&bias, weights) = state.split_last().unwrap_or((&0.0, &[]));
            Ok((Linear { weights: weights.to_vec(), bias }, objective))
        })
    }
}

impl Logistic {
    /// Moves `state`, the weights and then the bias, to the optimum; returns the objective there.
    fn newton(
        &self,
        problem: &Problem<'_>,
        penalty: f64,
        state: &mut Vec<f64>,
        training: &Training<'_>,
        report: &mut RankReport,
    ) -> Result<f64> {
        let d = state.len() - 1;
        let mut at = problem.point(state, penalty);
        for step in 1..=self.steps {
            training.run.check()?;
            let largest = at.gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
            if !largest.is_finite() {
                return Err(not_finite("the gradient", step));
            }
            if largest <= self.tolerance {
                return Ok(at.value);
            }
            let mut hessian = problem.rows.second_moments(&at.curvature, &vec![0.0; d]);
            (0..d).for_each(|k| hessian[(k, k)] += penalty);
            // Where every probability is 0 or 1, the bias has no curvature left.
            hessian[(d, d)] += f64::MIN_POSITIVE.max(1e-12);
            let mut direction: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
            solve(&mut hessian, &mut direction).ok_or_else(|| not_finite("the curvature", step))?;
            let slope = inner(&at.gradient, &direction);
            if -slope <= 1e-15 * at.value {
                return Ok(at.value);
            }
            let mut length = 1.0;
            let mut moved = false;
            for _ in 0..HALVINGS {
                let next: Vec<f64> =
                    state.iter().zip(&direction).map(|(w, p)| w + length * p).collect();
                let there = problem.point(&next, penalty);
                if there.value <= at.value + 1e-4 * length * slope {
                    (*state, at, moved) = (next, there, true);
                    break;
                }
                length /= 2.0;
            }
            if !moved {
                // Only rounding errors are left.
                return Ok(at.value);
            }
        }
        report.warnings.push(format!(
            "penalty = {penalty}: not at the optimum after {} steps; more `steps` may help",
            self.steps
        ));
        Ok(at.value)
    }
}

struct Problem<'a> {
    rows: FeatureMatrix<'a>,
    /// The weights of the rows, scaled to sum to 1.
    counts: Vec<f64>,
    signs: Vec<f64>,
}

struct Point {
    value: f64,
    gradient: Vec<f64>,
    /// The second derivative of each row's loss.
    curvature: Vec<f64>,
}

impl Problem<'_> {
    fn point(&self, state: &[f64], penalty: f64) -> Point {
        let (&bias, weights) = state.split_last().unwrap_or((&0.0, &[]));
        let scores = self.rows.times(weights);
        let mut value = penalty / 2.0 * inner(weights, weights);
        let (mut slopes, mut curvature) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        for (row, score) in scores.iter().enumerate() {
            let (z, count) = (self.signs[row], self.counts[row]);
            let margin = z * (score + bias);
            // ln(1 + e^−m) without overflow on either side.
            value += count * ((-margin.abs()).exp().ln_1p() + (-margin).max(0.0));
            let wrong = 1.0 / (1.0 + margin.exp());
            slopes[row] = -z * count * wrong;
            curvature[row] = count * wrong * (1.0 - wrong);
        }
        let mut gradient = self.rows.transposed(&slopes);
        gradient.iter_mut().zip(weights).for_each(|(g, w)| *g += penalty * w);
        gradient.push(slopes.iter().sum());
        Point { value, gradient, curvature }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, silent};
    use super::*;
    use crate::oracle::same_at_any_thread_count;

    #[test]
    fn the_gradient_is_zero_at_the_optimum() {
        let table = fixture::weighted(fixture::random(8, 25, 6, 3));
        let penalty = 0.02;
        let method = Logistic { penalty: Some(penalty), ..Logistic::default() };
        let (scorer, report) =
            same_at_any_thread_count(|| method.fit(&silent(&table, None)).unwrap());
        let Scorer::Linear(linear) = scorer else { panic!("linear") };
        assert_eq!(report.warnings, [""; 0]);
        let total: f64 = (0..table.n_rows()).map(|row| table.weight(row)).sum();
        let loss = |linear: &Linear| {
            let rows = (0..table.n_rows()).map(|row| {
                let z = if table.grades()[row] >= 1.0 { 1.0 } else { -1.0 };
                table.weight(row) / total * (1.0 + (-z * linear.score(table.row(row))).exp()).ln()
            });
            rows.sum::<f64>() + penalty / 2.0 * inner(&linear.weights, &linear.weights)
        };
        assert!((loss(&linear) - report.steps[0].objective.unwrap()).abs() < 1e-12);
        for k in 0..=6 {
            let by = |step: f64| {
                let mut moved = linear.clone();
                *moved.weights.get_mut(k).unwrap_or(&mut moved.bias) += step;
                loss(&moved)
            };
            let derivative = (by(1e-4) - by(-1e-4)) / 2e-4;
            assert!(derivative.abs() < 1e-8, "{k}: {derivative}");
        }
    }

    #[test]
    fn rows_that_can_be_told_apart_and_one_class() {
        // Told apart perfectly: the penalty keeps the weights finite.
        let mut builder = crate::rank::TableBuilder::new(vec!["x".to_owned()]);
        for row in 0..10 {
            let grade = if row < 5 { 0.0 } else { 1.0 };
            builder.push("q", &row.to_string(), grade, &[row as f32]).unwrap();
        }
        let table = builder.finish();
        let (scorer, report) = Logistic::default().fit(&silent(&table, None)).unwrap();
        assert!(scorer.score(&[5.0]) > 0.0 && scorer.score(&[4.0]) < 0.0);
        assert_eq!(report.warnings, [""; 0]);
        let one = fixture::graded(&[("q", 0.0), ("q", 0.5), ("r", 0.0)]);
        let error = Logistic::default().fit(&silent(&one, None)).unwrap_err().to_string();
        assert!(error.contains("no row is relevant"), "{error}");
    }
}
