//! Ranking SVM: of two rows of a query the one of higher grade is to score higher by a margin.
//!
//! ```text
//! min_w  ½‖w‖² + C/n Σ_{q} Σ_{i, j of q: g_i > g_j} c_i · max(0, 1 − ⟨w, x_i − x_j⟩)
//! ```
//! with n the number of queries, so that C is what it is for users of SVMrank (`-c`; SVMlight's is
//! C/n), and c_i what the better row counts. `squared` takes the square of the hinge. There is no
//! bias: it would cancel. (Herbrich et al. 1999; Joachims, KDD 2002 and 2006; Lee and Lin 2014.)

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Linear;
use super::hinge::HingeProblem;
use super::learnable::{at_least_one, has_pairs, positive};
use super::pairs::{Costs, Pairs};
use super::path::Path;
use super::rows::Rows;
use crate::Result;
use crate::rank::{RankMethod, RankReport, Scorer, Training};

/// The margin of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RankingSvm {
    /// What errors cost against the size of the weights, as SVMrank's `-c`; where none is given,
    /// the best of `cs` on validation, and 1 without validation.
    pub c: Option<f64>,
    /// The values of `c` that are tried on validation.
    pub cs: Vec<f64>,
    /// Whether the loss of a pair is the square of the hinge.
    pub squared: bool,
    /// Stops when the gap between the objective and what it can be at best is below this share of
    /// the objective.
    pub tolerance: f64,
    /// The most steps of Newton's method for one value of `c`.
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
    fn path(&self, otherwise: f64) -> Path<'_> {
        Path { name: "c", given: self.c, tried: &self.cs, otherwise }
    }

    /// Fits with what pairs cost; `otherwise` is `c` where nothing else is said.
    pub(super) fn fit_with(
        &self,
        training: &Training<'_>,
        costs: Option<&Costs>,
        otherwise: f64,
        mut report: RankReport,
    ) -> Result<(Scorer, RankReport)> {
        let table = training.table;
        let problem = HingeProblem {
            rows: Rows::of(table),
            pairs: Pairs::of(table, costs),
            squared: self.squared,
            steps: self.steps,
            tolerance: self.tolerance,
        };
        let n = table.n_queries() as f64;
        let mut weights = vec![0.0; table.n_features()];
        let linear = self.path(otherwise).fit(training, &mut report, |c, report| {
            let optimum = problem.minimise(c / n, weights.clone(), training.run)?;
            let (share, steps) = (optimum.gap / optimum.objective, optimum.steps);
            report.notes.push(format!(
                "c = {c}: objective {:.6}, gap {share:.1e} of it after {steps} steps",
                optimum.objective
            ));
            if !optimum.reached(self.tolerance) {
                report.warnings.push(format!(
                    "c = {c}: the gap is {share:.1e} of the objective after {steps} steps, not {}; \
                     more `steps`, a smaller `c` or normalised features may help",
                    self.tolerance
                ));
            }
            // The next value begins here.
            weights.clone_from(&optimum.weights);
            Ok((Linear { weights: optimum.weights, bias: 0.0 }, optimum.objective))
        })?;
        Ok((Scorer::Linear(linear), report))
    }
}

impl RankMethod for RankingSvm {
    fn check(&self) -> Result<()> {
        self.path(1.0).check("cs")?;
        positive("tolerance", self.tolerance)?;
        at_least_one("steps", self.steps)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_pairs(training.table)?;
        self.fit_with(training, None, 1.0, RankReport::default())
    }
}

#[cfg(test)]
pub(super) mod tests;
