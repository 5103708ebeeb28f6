//! Ranking SVM: of two rows of a query the one of higher grade is to score higher by a margin.
//!
//! ```text
//! min_w  ½‖w‖² + C/n Σ_{q} Σ_{i, j of q: g_i > g_j} c_i · max(0, 1 − ⟨w, x_i − x_j⟩)
//! ```
//! with n the number of queries, so that C is that of SVMrank (`-c`; SVMlight's is C/n), and c_i the
//! weight of the better row. `squared` takes the squared hinge. There is no bias: it would cancel. (Herbrich et al. 1999; Joachims, KDD 2002 and 2006; Lee and Lin 2014.)

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, has_pairs};
use super::hinge::HingeProblem;
use super::matrix::FeatureMatrix;
use super::pairs::{Costs, Pairs};
use super::regularisation_path::RegularisationPath;
use crate::Result;
use crate::params::check::check_positive;
use crate::rank::{RankMethod, RankReport, Scorer, Training};

/// Pairwise hinge loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RankingSvm {
    /// The cost of errors relative to the ℓ2 penalty, as SVMrank's `-c`; if none is given, the best
    /// of `cs` on validation, and 1 without validation.
    pub c: Option<f64>,
    /// The values of `c` to try on validation.
    pub cs: Vec<f64>,
    /// Whether the loss of a pair is the squared hinge.
    pub squared: bool,
    /// Stop when the duality gap is at most this share of the objective.
    pub tolerance: f64,
    /// Maximum number of steps of Newton's method for one value of `c`.
    pub steps: usize,
}

impl Default for RankingSvm {
    fn default() -> Self {
        RankingSvm {
            c: None,
            cs: vec![1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0],
            squared: false,
            tolerance: 1e-4,
            steps: 500,
        }
    }
}

impl RankingSvm {
    fn path(&self, without_validation: f64) -> RegularisationPath<'_> {
        RegularisationPath { name: "c", given: self.c, tried: &self.cs, without_validation }
    }

    /// Fits with these costs of pairs; `without_validation` is the default of `c` without validation.
    pub(super) fn fit_with(
        &self,
        training: &Training<'_>,
        costs: Option<&Costs>,
        without_validation: f64,
        report: RankReport,
    ) -> Result<(Scorer, RankReport)> {
        let table = training.table;
        let problem = HingeProblem {
            rows: FeatureMatrix::of(table),
            pairs: Pairs::of(table, costs),
            squared: self.squared,
            steps: self.steps,
            tolerance: self.tolerance,
        };
        let n = table.n_queries() as f64;
        let mut weights = vec![0.0; table.n_features()];
        self.path(without_validation).fit(training, report, |c, report| {
            let optimum = problem.minimise(c / n, weights.clone(), training.run)?;
            // A warm start for the next value.
            weights.clone_from(&optimum.weights);
            let advice = "more `steps`, a smaller `c` or normalised features";
            Ok(optimum.into_linear(c, self.tolerance, ("steps", advice), report))
        })
    }
}

impl RankMethod for RankingSvm {
    fn check(&self) -> Result<()> {
        self.path(1.0).check("cs")?;
        check_positive("tolerance", self.tolerance)?;
        at_least_one("steps", self.steps)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_pairs(training.table)?;
        self.fit_with(training, None, 1.0, RankReport::default())
    }
}

#[cfg(test)]
pub(super) mod tests;
