//! IR-SVM: Ranking SVM in which the top of the list and small queries count more.
//!
//! ```text
//! min_w  ½‖w‖² + C/n Σ_q μ_q Σ_{i, j of q: g_i > g_j} τ(g_i, g_j) · c_i · max(0, 1 − ⟨w, x_i − x_j⟩)
//! ```
//! τ(a, b) is what NDCG@1 of a perfect list loses when a row of grade a and one of grade b change
//! places, on average over the queries that have both: (1/n_a)·(1 − (2^b − 1)/(2^a − 1)) where a is
//! the highest grade of the query and n_a rows have it, else 0. Grades of 0 and below gain nothing.
//! μ_q is the largest number of pairs of any query over that of q. (Cao et al., SIGIR 2006; Xu et
//! al., ECML 2006.) Pairs of grades with τ = 0 drop out, with a warning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{has_pairs, nothing};
use super::pairs::{Costs, distinct, n_pairs};
use super::ranking_svm::RankingSvm;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};
use crate::{Error, Result};

/// The maximum number of different grades.
const MAX_GRADES: usize = 256;

/// Ranking SVM with costs of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IrSvm {
    /// The cost of errors relative to the ℓ2 penalty; if none is given, the best of `cs` on
    /// validation, and 0.1 without validation.
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

impl Default for IrSvm {
    fn default() -> Self {
        IrSvm {
            c: None,
            cs: vec![1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
            squared: false,
            tolerance: 1e-4,
            steps: 500,
        }
    }
}

impl IrSvm {
    fn svm(&self) -> RankingSvm {
        let IrSvm { c, squared, tolerance, steps, .. } = *self;
        RankingSvm { c, cs: self.cs.clone(), squared, tolerance, steps }
    }
}

impl RankMethod for IrSvm {
    fn check(&self) -> Result<()> {
        self.svm().check()
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        has_pairs(training.table)?;
        let mut report = RankReport::default();
        let costs = costs(training.table, &mut report)?;
        self.svm().fit_with(training, Some(&costs), 0.1, report)
    }
}

/// τ and μ of a table.
fn costs(table: &FeatureTable, report: &mut RankReport) -> Result<Costs> {
    let grades = distinct(table.grades());
    let n = grades.len();
    if n > MAX_GRADES {
        let expected = format!("{MAX_GRADES} different grades at most: round them");
        return Err(Error::parameter("grades", n, &expected));
    }
    let (mut drops, mut queries) = (vec![0.0; n * n], vec![0.0; n * n]);
    for rows in table.by_query() {
        let here = &table.grades()[rows];
        let known = distinct(here);
        let Some(&top) = known.last() else { continue };
        let n_top = here.iter().filter(|&&grade| grade == top).count() as f64;
        let place = |grade: f32| grades.partition_point(|&other| other < grade);
        for &a in &known {
            for &b in known.iter().filter(|&&b| b < a) {
                queries[place(a) * n + place(b)] += 1.0;
                if a == top {
                    drops[place(a) * n + place(b)] += (1.0 - gains(b, a)) / n_top;
                }
            }
        }
    }
    for (drop, queries) in drops.iter_mut().zip(&queries).filter(|(_, queries)| **queries > 0.0) {
        *drop /= queries;
    }
    let kinds = (0..n * n).filter(|&kind| queries[kind] > 0.0);
    let (kept, dropped): (Vec<usize>, Vec<usize>) = kinds.partition(|&kind| drops[kind] > 0.0);
    if kept.is_empty() {
        return Err(nothing("no pair is of a grade above 0 and a lower one: τ is 0 for all"));
    }
    if !dropped.is_empty() {
        let named =
            dropped.iter().map(|kind| format!("{} > {}", grades[kind / n], grades[kind % n]));
        report.warnings.push(format!(
            "pairs of these grades do not change NDCG@1 and are ignored: {}",
            named.collect::<Vec<_>>().join(", ")
        ));
    }
    let pairs: Vec<f64> = table.by_query().map(|rows| n_pairs(&table.grades()[rows])).collect();
    let most = pairs.iter().copied().fold(0.0, f64::max);
    let by_query = pairs.iter().map(|&pairs| if pairs > 0.0 { most / pairs } else { 0.0 });
    Ok(Costs { grades, by_grades: drops, by_query: by_query.collect() })
}

/// (2^b − 1)/(2^a − 1), divided through by 2^a so that clicks in the thousands may be grades; 1
/// where grade a gains nothing.
fn gains(b: f32, a: f32) -> f64 {
    let (a, b) = (f64::from(a.max(0.0)), f64::from(b.max(0.0)));
    if a == 0.0 { 1.0 } else { ((b - a).exp2() - (-a).exp2()) / (1.0 - (-a).exp2()) }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, close, silent};
    use super::super::ranking_svm::tests::{listed, plain};
    use super::*;
    use crate::oracle::same_at_any_thread_count;

    /// τ by swapping the rows of every pair in every perfect list, whose first row decides.
    fn swapped(table: &FeatureTable, a: f32, b: f32) -> f64 {
        let gain = |grade: f32| f64::from(grade).exp2() - 1.0;
        let (mut sum, mut n_queries) = (0.0, 0.0);
        for rows in table.by_query() {
            let grades = &table.grades()[rows];
            let of = |wanted| (0..grades.len()).filter(move |&row| grades[row] == wanted);
            let top = grades.iter().copied().fold(0.0, f32::max);
            let (mut drop, mut n) = (0.0, 0.0);
            for first in of(top) {
                for i in of(a) {
                    for j in of(b) {
                        let now = if first == i { j } else { first };
                        drop += 1.0 - gain(grades[now]) / gain(top);
                        n += 1.0;
                    }
                }
            }
            if n > 0.0 {
                sum += drop / n;
                n_queries += 1.0;
            }
        }
        sum / n_queries
    }

    #[test]
    fn tau_is_what_swapping_costs() {
        let table = fixture::random(12, 9, 2, 4);
        let mut report = RankReport::default();
        let costs = costs(&table, &mut report).unwrap();
        for a in [1.0, 2.0, 3.0] {
            for b in [0.0, 1.0, 2.0] {
                if b < a {
                    close(&[costs.of(a, b)], &[swapped(&table, a, b)], 1e-12);
                }
            }
        }
        // By hand: three pairs and two pairs.
        let small = fixture::graded(&[
            ("q", 2.0),
            ("q", 1.0),
            ("q", 0.0),
            ("r", 1.0),
            ("r", 0.0),
            ("r", 1.0),
        ]);
        let costs = super::costs(&small, &mut RankReport::default()).unwrap();
        assert_eq!(costs.by_query, [1.0, 1.5]);
        close(&[costs.of(2.0, 0.0), costs.of(2.0, 1.0)], &[1.0, 2.0 / 3.0], 1e-12);
        close(&[costs.of(1.0, 0.0)], &[0.25], 1e-12);
    }

    #[test]
    fn the_objective_is_that_of_a_dense_solver() {
        let table = fixture::weighted(fixture::random(5, 10, 4, 3));
        let costs = costs(&table, &mut RankReport::default()).unwrap();
        let pairs = listed(&table, Some(&costs));
        for squared in [false, true] {
            let (_, high) = plain(&pairs, 3.0 / 5.0, squared);
            let method = IrSvm { c: Some(3.0), squared, tolerance: 1e-8, ..IrSvm::default() };
            let (_, report) =
                same_at_any_thread_count(|| method.fit(&silent(&table, None)).unwrap());
            let found = report.steps[0].objective.unwrap();
            assert!((found / high - 1.0).abs() < 1e-6, "{squared}: {found}, not {high}");
        }
    }

    #[test]
    fn pairs_worth_nothing_are_told() {
        let table = fixture::graded(&[("q", 2.0), ("q", 1.0), ("q", 0.0)]);
        let (scorer, report) = IrSvm::default().fit(&silent(&table, None)).unwrap();
        assert!(report.warnings[0].ends_with("ignored: 1 > 0"), "{:?}", report.warnings);
        assert!(scorer.score(&[0.0]) > scorer.score(&[1.0]));
        let below = fixture::graded(&[("q", -1.0), ("q", 0.0)]);
        let error = IrSvm::default().fit(&silent(&below, None)).unwrap_err().to_string();
        assert!(error.contains("τ is 0 for all"), "{error}");
        // Grades beyond 31, such as clicks.
        let clicks = fixture::graded(&[("q", 0.0), ("q", 4000.0)]);
        assert!(IrSvm::default().fit(&silent(&clicks, None)).is_ok());
        let rows: Vec<(&str, f32)> = (0..300).map(|grade| ("q", grade as f32)).collect();
        let error = IrSvm::default().fit(&silent(&fixture::graded(&rows), None)).unwrap_err();
        assert!(error.to_string().contains("256 different grades"), "{error}");
    }
}
