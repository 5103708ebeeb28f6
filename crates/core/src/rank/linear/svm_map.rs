//! SVM-MAP: a structural support vector machine whose loss is what average precision lacks to 1.
//!
//! ```text
//! min_w  ½‖w‖² + C/n Σ_q max_π [ 1 − AP(π) − ⟨w, Φ(π*) − Φ(π)⟩ ]
//! Φ(π) = 1/(|R||N|) Σ_{i ∈ R, j ∈ N} ±(x_i − x_j),   + where π has i above j
//! ```
//! with R the relevant rows of a query and N the others, π* a list with all of R on top, and n the
//! number of all queries, as in the paper. The list π that violates most is found
//! exactly (svm_map/violated.rs) and the optimum by cutting planes with a gap (planes.rs). Queries
//! without a row of either kind say nothing. (Yue, Finley, Radlinski and Joachims, SIGIR 2007.)

mod violated;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Linear;
use super::learnable::{at_least_one, has_features, nothing, positive, weights_ignored};
use super::path::Path;
use super::planes::Planes;
use super::rows::Rows;
use crate::Result;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};
use violated::Query;

/// The margin of lists by average precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SvmMap {
    /// What errors cost against the size of the weights; where none is given,
    /// the best of `cs` on validation, and 10 without validation.
    pub c: Option<f64>,
    /// The values of `c` that are tried on validation.
    pub cs: Vec<f64>,
    /// Stops when the gap between the objective and what it can be at best is below this share of
    /// the objective.
    pub tolerance: f64,
    /// The most cutting planes for one value of `c`.
    pub rounds: usize,
}

impl Default for SvmMap {
    fn default() -> Self {
        SvmMap { c: None, cs: vec![0.1, 1.0, 10.0, 100.0, 1e3, 1e4], tolerance: 1e-3, rounds: 1000 }
    }
}

impl SvmMap {
    fn path(&self) -> Path<'_> {
        Path { name: "c", given: self.c, tried: &self.cs, otherwise: 10.0 }
    }
}

impl RankMethod for SvmMap {
    fn check(&self) -> Result<()> {
        self.path().check("cs")?;
        positive("tolerance", self.tolerance)?;
        at_least_one("rounds", self.rounds)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let table = training.table;
        has_features(table)?;
        let problem = Problem::new(table, training.goal.variant.relevant_from)?;
        let mut report = RankReport::default();
        report.warnings.extend(weights_ignored(table, "svm_map"));
        let mut planes = Planes::new(table.n_features());
        let linear = self.path().fit(training, &mut report, |c, report| {
            let ask = |weights: &[f64]| problem.risk(weights);
            let found = planes.minimise(c, self.rounds, self.tolerance, training.run, ask)?;
            let (share, rounds) = (found.gap / found.objective, found.rounds);
            report.notes.push(format!(
                "c = {c}: objective {:.6}, gap {share:.1e} of it after {rounds} planes",
                found.objective
            ));
            if found.gap > self.tolerance * found.objective {
                report.warnings.push(format!(
                    "c = {c}: the gap is {share:.1e} of the objective after {rounds} planes, not \
                     {}; more `rounds` or a smaller `c` may help",
                    self.tolerance
                ));
            }
            Ok((Linear { weights: found.weights, bias: 0.0 }, found.objective))
        })?;
        Ok((Scorer::Linear(linear), report))
    }
}

struct Problem<'a> {
    rows: Rows<'a>,
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
        Ok(Problem { rows: Rows::of(table), queries, n_queries: table.n_queries() as f64 })
    }

    /// The mean loss of the queries, and one of its slopes.
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
