//! SVM-MAP: a structural support vector machine whose loss is 1 − average precision.
//!
//! ```text
//! min_w  ½‖w‖² + C/n Σ_q max_π [ 1 − AP(π) − ⟨w, Φ(π*) − Φ(π)⟩ ]
//! Φ(π) = 1/(|R||N|) Σ_{i ∈ R, j ∈ N} ±(x_i − x_j),   + where π has i above j
//! ```
//! with R the relevant rows of a query and N the others, π* a list with all of R on top, and n the
//! number of all queries, as in the paper. The most violated list π is found exactly
//! (svm_map/violated.rs) and the optimum by cutting planes with a gap (cutting_planes.rs). Queries
//! that have only one kind of rows are ignored. (Yue, Finley, Radlinski and Joachims, SIGIR 2007.)

mod violated;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, has_features, nothing, weights_ignored};
use super::cutting_planes::CuttingPlanes;
use super::matrix::FeatureMatrix;
use super::regularisation_path::RegularisationPath;
use crate::Result;
use crate::params::check::check_positive;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};
use violated::Query;

/// Structural hinge loss by average precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SvmMap {
    /// The cost of errors relative to the ℓ2 penalty; if none is given, the best of `cs` on
    /// validation, and 10 without validation.
    pub c: Option<f64>,
    /// The values of `c` to try on validation.
    pub cs: Vec<f64>,
    /// Stop when the duality gap is at most this share of the objective.
    pub tolerance: f64,
    /// Maximum number of cutting planes for one value of `c`.
    pub rounds: usize,
}

impl Default for SvmMap {
    fn default() -> Self {
        SvmMap { c: None, cs: vec![0.1, 1.0, 10.0, 100.0, 1e3, 1e4], tolerance: 1e-3, rounds: 1000 }
    }
}

impl SvmMap {
    fn path(&self) -> RegularisationPath<'_> {
        RegularisationPath { name: "c", given: self.c, tried: &self.cs, without_validation: 10.0 }
    }
}

impl RankMethod for SvmMap {
    fn check(&self) -> Result<()> {
        self.path().check("cs")?;
        check_positive("tolerance", self.tolerance)?;
        at_least_one("rounds", self.rounds)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let table = training.table;
        has_features(table)?;
        let problem = Problem::new(table, training.goal.variant.relevant_from)?;
        let mut planes = CuttingPlanes::new(table.n_features());
        self.path().fit(training, weights_ignored(table, "svm_map"), |c, report| {
            let ask = |weights: &[f64]| problem.risk(weights);
            let optimum = planes.minimise(c, self.rounds, self.tolerance, training.run, ask)?;
            let kinds = ("planes", "more `rounds` or a smaller `c`");
            Ok(optimum.into_linear(c, self.tolerance, kinds, report))
        })
    }
}

struct Problem<'a> {
    rows: FeatureMatrix<'a>,
    queries: Vec<Query>,
    n_queries: f64,
}

impl<'a> Problem<'a> {
    fn new(table: &'a FeatureTable, relevant_from: f32) -> Result<Self> {
        let query = |rows| Query::new(rows, table.grades(), relevant_from);
        let queries: Vec<Query> = table.by_query().filter_map(query).collect();
        if queries.is_empty() {
            let what = "no query has both relevant rows and others";
            return Err(nothing(&format!("{what} (grades from {relevant_from} on are relevant)")));
        }
        Ok(Problem { rows: FeatureMatrix::of(table), queries, n_queries: table.n_queries() as f64 })
    }

    /// The mean loss of the queries, and a subgradient of it.
    fn risk(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let mut scores = self.rows.times(weights);
        let parts: Vec<(f64, Vec<f64>)> =
            self.queries.par_iter().map(|query| query.violation(&scores)).collect();
        scores.fill(0.0);
        let mut risk = 0.0;
        for (query, (loss, slopes)) in self.queries.iter().zip(parts) {
            risk += loss / self.n_queries;
            for (row, slope) in query.rows().zip(slopes) {
                scores[row] = slope / self.n_queries;
            }
        }
        (risk, self.rows.transposed(&scores))
    }
}

#[cfg(test)]
mod tests;
