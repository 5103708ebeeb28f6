//! AdaRank: boosting of a measure. Every round takes the feature that ranks best on its own the
//! queries that the ranker so far ranks badly.
//!
//! ```text
//! h_t  the feature with the largest φ(t) = Σ_q P_t(q)·E(q, h_t)
//! α_t  = ½ ln[Σ P_t(1 + E) / Σ P_t(1 − E)] = ½ ln[(1 + φ)/(1 − φ)]
//! f_t  = f_{t−1} + α_t h_t
//! P_{t+1}(q) ∝ exp(−E(q, f_t))
//! ```
//! with E the measure of a query, from 0 to 1. The mean of E on training is never below
//! 1 − Π_t e^{−δ_t}·√(1 − φ(t)²), where δ_t = min_q [E(q, f_t) − E(q, f_{t−1}) − α_t E(q, h_t)] and
//! E(q, f_0) counts as 0: that product is the objective in the report. (Xu and Li, SIGIR 2007.)
//!
//! The best round on validation is kept, or on training without validation, because rounds can get
//! worse. Queries whose value does not depend on the order are left out, and so are features that
//! are constant within all other queries. Unless `repeat` is set, a feature is taken once: taken
//! again and again, the best one would dominate the rest.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::best_step::BestStep;
use super::checks::{at_least_one, has_pairs, nothing};
use super::matrix::FeatureMatrix;
use super::table_measure::TableMeasure;
use crate::Result;
use crate::eval::Measure;
use crate::rank::{Goal, RankMethod, RankReport, Scorer, Training};

/// A feature that ranks perfectly would get an infinite weight.
const MOST_PHI: f64 = 1.0 - 1e-9;

/// Boosting of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaRank {
    /// The measure to boost, such as AP or nDCG@10; that of validation if none is given.
    pub measure: Option<Measure>,
    /// Maximum number of rounds.
    pub rounds: usize,
    /// Stop after this many rounds without a better one on validation, or on training if there is no
    /// validation; 0 never stops early.
    pub patience: usize,
    /// Whether a feature may be taken again.
    pub repeat: bool,
    /// Whether features may also rank in ascending order, less being better.
    pub negated: bool,
}

impl Default for AdaRank {
    fn default() -> Self {
        AdaRank { measure: None, rounds: 300, patience: 50, repeat: false, negated: false }
    }
}

/// A round of boosting.
#[derive(Debug, Clone, PartialEq)]
struct Round {
    feature: usize,
    phi: f64,
    alpha: f64,
    /// An upper bound of 1 − the mean measure on training, and its value.
    bound: f64,
    loss: f64,
}

impl RankMethod for AdaRank {
    fn check(&self) -> Result<()> {
        at_least_one("rounds", self.rounds)
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let (scorer, report, _) = self.boost(training)?;
        Ok((scorer, report))
    }
}

impl AdaRank {
    fn boost(&self, training: &Training<'_>) -> Result<(Scorer, RankReport, Vec<Round>)> {
        has_pairs(training.table)?;
        let goal = Goal {
            measure: self.measure.unwrap_or(training.goal.measure),
            variant: training.goal.variant,
        };
        let measure = TableMeasure::new(training.table, goal);
        let counted: Vec<usize> = (0..measure.n_queries()).filter(|&q| measure.counts(q)).collect();
        if counted.is_empty() {
            return Err(nothing(&format!("no order changes the {} of a query", goal.measure)));
        }
        let rows = FeatureMatrix::of(training.table);
        let d = rows.n_features();
        training.run.step("ranking by each feature", 0, None)?;
        // The measure of every weak ranker on every query: features, then negated features.
        let n_weak = if self.negated { 2 * d } else { d };
        let alone: Vec<Vec<f64>> = (0..n_weak)
            .into_par_iter()
            .map(|weak| {
                let sign = if weak < d { 1.0 } else { -1.0 };
                let scores =
                    (0..rows.n_rows()).map(|row| sign * f64::from(rows.row(row)[weak % d]));
                of_counted(&measure, &counted, &scores.collect::<Vec<f64>>())
            })
            .collect();

        let m = counted.len();
        let mut distribution = vec![1.0 / m as f64; m];
        let mut measured = vec![0.0; m];
        // A feature that is constant within every query would rank by tie-breaking alone.
        let constant = |k: usize| {
            counted.iter().all(|&query| {
                let mut values = measure.rows_of(query).map(|row| rows.row(row)[k]);
                let first = values.next();
                values.all(|value| Some(value) == first)
            })
        };
        let mut taken: Vec<bool> = (0..d).into_par_iter().map(constant).collect();
        let mut weights = vec![0.0; d];
        let mut scores = vec![0.0; rows.n_rows()];
        let mut bound = 1.0;
        let mut steps =
            BestStep::new(training, "adarank", self.rounds, self.patience).or_training();
        let mut rounds = Vec::new();
        for round in 1..=self.rounds {
            let phi = |weak: usize| {
                distribution.iter().zip(&alone[weak]).fold(0.0, |sum, (p, e)| sum + p * e)
            };
            let best = (0..n_weak)
                .filter(|weak| !taken[weak % d])
                .map(|weak| (weak, phi(weak)))
                .reduce(|best, other| if other.1 > best.1 { other } else { best });
            let Some((weak, phi)) = best else { break };
            let (feature, sign) = (weak % d, if weak < d { 1.0 } else { -1.0 });
            taken[feature] = !self.repeat;
            let phi = phi.clamp(0.0, MOST_PHI);
            let alpha = 0.5 * ((1.0 + phi) / (1.0 - phi)).ln();
            weights[feature] += alpha * sign;
            for (row, score) in scores.iter_mut().enumerate() {
                *score += alpha * sign * f64::from(rows.row(row)[feature]);
            }
            let now = of_counted(&measure, &counted, &scores);
            let gained = |at: usize| now[at] - measured[at] - alpha * alone[weak][at];
            let least = (0..m).map(gained).fold(f64::INFINITY, f64::min);
            bound *= (-least).exp() * (1.0 - phi * phi).sqrt();
            measured = now;
            let loss = measured.iter().map(|e| 1.0 - e).sum::<f64>() / m as f64;
            rounds.push(Round { feature, phi, alpha, bound, loss });
            let total: f64 = measured.iter().map(|e| (-e).exp()).sum();
            distribution = measured.iter().map(|e| (-e).exp() / total).collect();
            if steps.record(round, bound, &weights)? {
                break;
            }
        }
        if rounds.is_empty() {
            steps.report.warnings.push("every feature is constant: all scores are 0".to_owned());
            steps.record(1, bound, &weights)?;
        }
        let (scorer, report) = steps.finish();
        Ok((scorer, report, rounds))
    }
}

/// The measure of the queries at `counted`.
fn of_counted(measure: &TableMeasure<'_>, counted: &[usize], scores: &[f64]) -> Vec<f64> {
    let values = measure.values(scores);
    counted.iter().map(|&query| values[query].unwrap_or(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, silent};
    use super::*;
    use crate::eval::Variant;
    use crate::oracle::same_at_any_thread_count;

    #[test]
    fn the_bound_holds_each_round() {
        let table = fixture::random(30, 12, 8, 3);
        for measure in ["AP", "nDCG@5", "RankLoss"] {
            for (repeat, negated) in [(false, false), (true, true)] {
                let measure = Some(measure.parse().unwrap());
                let method = AdaRank { measure, repeat, negated, rounds: 40, ..AdaRank::default() };
                let (_, report, rounds) = method.boost(&silent(&table, None)).unwrap();
                assert_eq!(rounds.len(), if repeat { 40 } else { 8 });
                assert_eq!(report.steps.len(), rounds.len());
                for round in &rounds {
                    assert!(round.loss <= round.bound + 1e-12, "{round:?}");
                    assert!((round.phi.atanh() - round.alpha).abs() < 1e-9, "{round:?}");
                }
            }
        }
    }

    #[test]
    fn the_first_round_takes_the_best_feature() {
        let table = fixture::random(30, 12, 8, 3);
        let goal = Goal { measure: "AP".parse().unwrap(), variant: Variant::default() };
        let training = Training { goal, ..silent(&table, None) };
        let method = AdaRank { rounds: 1, ..AdaRank::default() };
        let (_, _, rounds) = method.boost(&training).unwrap();
        let alone = |k: usize| {
            let scores = (0..table.n_rows()).map(|row| f64::from(table.row(row)[k]));
            goal.mean(&table, &scores.collect::<Vec<_>>()).unwrap()
        };
        let best = (0..8).reduce(|a, b| if alone(b) > alone(a) { b } else { a });
        assert_eq!(Some(rounds[0].feature), best);
    }

    #[test]
    fn a_feature_that_points_the_wrong_way() {
        let table = fixture::graded(&[("q", 1.0), ("q", 0.0), ("q", 0.0), ("r", 1.0), ("r", 0.0)]);
        let negated = AdaRank { negated: true, ..AdaRank::default() };
        let (scorer, report) = negated.fit(&silent(&table, None)).unwrap();
        assert!(scorer.score(&[0.0]) > scorer.score(&[1.0]));
        assert_eq!(report.steps[0].training, Some(1.0));
        let (scorer, _) = AdaRank::default().fit(&silent(&table, None)).unwrap();
        assert!(scorer.score(&[0.0]) < scorer.score(&[1.0]));
    }

    #[test]
    fn edges() {
        // No order changes AP where every row is relevant.
        let table = fixture::graded(&[("q", 1.0), ("q", 2.0), ("r", 0.0)]);
        let ap = AdaRank { measure: Some("AP".parse().unwrap()), ..AdaRank::default() };
        let error = ap.fit(&silent(&table, None)).unwrap_err().to_string();
        assert!(error.contains("no order changes the AP"), "{error}");
        // Constant features are not taken.
        let table = fixture::random(4, 5, 3, 3);
        let constant = table.with_values(vec![1.0; table.values().len()]);
        let (scorer, report) = AdaRank::default().fit(&silent(&constant, None)).unwrap();
        assert_eq!(scorer.score(&[1.0; 3]), 0.0);
        assert!(report.warnings[0].contains("constant"), "{:?}", report.warnings);
        let weighted = fixture::weighted(table);
        let (_, report) = same_at_any_thread_count(|| {
            AdaRank::default().fit(&silent(&weighted, Some(&weighted))).unwrap()
        });
        assert!(report.warnings[0].contains("ignores the weights"), "{:?}", report.warnings);
        assert!(report.kept.is_some());
    }
}
