//! Pointwise regression: least squares on the grades.
//!
//! ```text
//! min_{w,b}  Σ_i c_i (⟨w, x_i⟩ + b − g_i)² + λ·(Σ_i c_i)·‖w‖²
//! ```
//! with c_i the weight of the row. The bias is not penalised; with centred features it drops out and
//! the normal equations (S + λI)·w = r are solved by Cholesky, S being the covariance of the
//! features and r that of features and grades. (Fuhr, TOIS 1989; Cossock and Zhang, COLT 2006.)

use faer::Mat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{has_features, not_finite, nothing};
use super::cholesky::solve;
use super::matrix::{FeatureMatrix, inner};
use super::regularisation_path::RegularisationPath;
use crate::Result;
use crate::rank::Linear;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};

/// Least squares on the grades.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Regression {
    /// The ℓ2 penalty λ per row; if none is given, the best of `penalties` on validation, and 0.01
    /// without validation.
    pub penalty: Option<f64>,
    /// The penalties to try on validation.
    pub penalties: Vec<f64>,
}

impl Default for Regression {
    fn default() -> Self {
        Regression { penalty: None, penalties: vec![1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5] }
    }
}

impl Regression {
    fn path(&self) -> RegularisationPath<'_> {
        RegularisationPath {
            name: "penalty",
            given: self.penalty,
            tried: &self.penalties,
            without_validation: 0.01,
        }
    }
}

impl RankMethod for Regression {
    fn check(&self) -> Result<()> {
        self.path().check("penalties")
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_features(training.table)?;
        let moments = Moments::of(training.table)?;
        self.path().fit(training, RankReport::default(), |penalty, _| moments.ridge(penalty))
    }
}

/// Means and covariances of features and grades.
struct Moments {
    /// The means of the features, then of the grades.
    means: Vec<f64>,
    covariance: Mat<f64>,
    with_grades: Vec<f64>,
    variance: f64,
}

impl Moments {
    fn of(table: &FeatureTable) -> Result<Self> {
        let rows = FeatureMatrix::of(table);
        let (n, d) = (rows.n_rows(), rows.n_features());
        let counts: Vec<f64> = (0..n).map(|row| table.weight(row)).collect();
        let total: f64 = counts.iter().sum();
        if total <= 0.0 {
            return Err(nothing("every row has weight 0"));
        }
        let grades = || table.grades().iter().map(|&grade| f64::from(grade));
        let mean_grade = grades().zip(&counts).map(|(grade, c)| c * grade).sum::<f64>() / total;
        let mut means = rows.transposed(&counts);
        means.iter_mut().for_each(|mean| *mean /= total);
        // Centred, for the precision of nearly constant features.
        let mut moments = rows.second_moments(&counts, &means);
        let around: Vec<f64> = grades().zip(&counts).map(|(g, c)| c * (g - mean_grade)).collect();
        let variance = grades().zip(&around).map(|(g, c)| c * (g - mean_grade)).sum::<f64>();
        if variance <= 0.0 {
            return Err(nothing("all grades are equal"));
        }
        let mut with_grades = rows.transposed(&around);
        let summed: f64 = around.iter().sum();
        for (k, with) in with_grades.iter_mut().enumerate() {
            *with = (*with - summed * means[k]) / total;
            for l in 0..d {
                moments[(k, l)] /= total;
            }
        }
        means.push(mean_grade);
        Ok(Moments { means, covariance: moments, with_grades, variance: variance / total })
    }

    fn ridge(&self, penalty: f64) -> Result<(Linear, f64)> {
        let d = self.with_grades.len();
        let mut system =
            Mat::from_fn(d, d, |i, j| self.covariance[(i, j)] + if i == j { penalty } else { 0.0 });
        let mut weights = self.with_grades.clone();
        solve(&mut system, &mut weights).ok_or_else(|| not_finite("the covariance", 1))?;
        let bias = self.means[d] - inner(&weights, &self.means[..d]);
        // At the optimum S·w + λw = r, so that the loss is var(g) − ⟨r, w⟩.
        let objective = self.variance - inner(&self.with_grades, &weights);
        Ok((Linear { weights, bias }, objective))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, silent};
    use super::*;
    use crate::oracle::same_at_any_thread_count;

    fn linear(table: &FeatureTable, penalty: f64) -> Linear {
        let method = Regression { penalty: Some(penalty), ..Regression::default() };
        let (scorer, _) = method.fit(&silent(table, None)).unwrap();
        let Scorer::Linear(linear) = scorer else { panic!("linear") };
        linear
    }

    #[test]
    fn the_normal_equations_hold() {
        let table = fixture::weighted(fixture::random(7, 30, 5, 3));
        let (penalty, total) =
            (0.01, (0..table.n_rows()).map(|row| table.weight(row)).sum::<f64>());
        let found = linear(&table, penalty);
        // Half the derivative by each weight and by the bias.
        let residual = |row: usize| {
            table.weight(row) * (found.score(table.row(row)) - f64::from(table.grades()[row]))
        };
        let by_bias: f64 = (0..table.n_rows()).map(residual).sum();
        assert!(by_bias.abs() < 1e-9, "{by_bias}");
        for (k, weight) in found.weights.iter().enumerate() {
            let by_weight: f64 = (0..table.n_rows())
                .map(|row| residual(row) * f64::from(table.row(row)[k]))
                .sum::<f64>()
                + penalty * total * weight;
            assert!(by_weight.abs() < 1e-8, "{by_weight}");
        }
    }

    #[test]
    fn a_row_that_counts_two_is_two_rows() {
        let table = fixture::random(3, 10, 4, 3);
        let twice = table.of_queries(&[0, 1, 2, 2]);
        let counts = (0..table.n_rows()).map(|row| if row >= 20 { 2.0 } else { 1.0 }).collect();
        let (a, b) = (linear(&twice, 0.1), linear(&table.with_weights(Some(counts)), 0.1));
        fixture::close(&a.weights, &b.weights, 1e-12);
    }

    #[test]
    fn constant_features_weigh_nothing_and_equal_grades_are_refused() {
        let table = fixture::random(3, 10, 3, 3);
        let mut values = table.values().to_vec();
        values.iter_mut().step_by(3).for_each(|value| *value = 7.0);
        let found = linear(&table.with_values(values), 1e-3);
        assert!(found.weights[0].abs() < 1e-12, "{:?}", found.weights);
        let equal = fixture::graded(&[("q", 1.0), ("q", 1.0), ("r", 1.0)]);
        let error = Regression::default().fit(&silent(&equal, None)).unwrap_err().to_string();
        assert!(error.contains("all grades are equal"), "{error}");
        let bare = table.of_features(&[]);
        let error = Regression::default().fit(&silent(&bare, None)).unwrap_err().to_string();
        assert!(error.contains("no features"), "{error}");
    }

    #[test]
    fn threads_change_nothing_and_validation_chooses() {
        let table = fixture::random(40, 100, 70, 3);
        let (scorer, report) = same_at_any_thread_count(|| {
            Regression::default().fit(&silent(&table, Some(&table))).unwrap()
        });
        assert_eq!(report.steps.len(), 6);
        let kept = report.steps[report.kept.unwrap() - 1];
        assert!(report.steps.iter().all(|step| step.validation <= kept.validation));
        let mean = crate::rank::Goal::default().mean(&table, &scorer.scores(&table));
        assert_eq!(mean, kept.validation);
    }
}
