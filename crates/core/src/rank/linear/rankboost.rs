//! RankBoost: boosting of thresholds on features, with more weight on misordered pairs.
//!
//! ```text
//! D(i, j) ∝ c_i·exp(s_j − s_i),   pairs of a query with g_i > g_j        s = Σ_t α_t h_t
//! h_t(x)  = 1 where feature f of x is above θ, else 0
//! r       = Σ_pairs D(i, j)·(h_t(x_i) − h_t(x_j)),   (f, θ) with the largest |r|
//! α_t     = ½ ln[(1 + r)/(1 − r)]
//! ```
//! with c_i the weight of the better row. D is not stored: within a query it is a product of a
//! factor of i and a factor of j, so that r = Σ_x π(x)·h_t(x) with a potential π(x) for each row,
//! which sums by grade give in O(n) per query for any number of grades. The objective is the share
//! of the exponential loss that is left after T rounds; it is never above Π_t √(1 − r_t²). A
//! negative α_t means that less is better. (Freund, Iyer, Schapire and Singer, JMLR 2003, the third
//! method.)
//!
//! Missing values go to the side of θ where r is larger.

mod potentials;
mod thresholds;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{at_least_one, has_pairs, not_finite};
use crate::early_stopping::EarlyStopping;
use crate::rank::scorer::{Leaf, Split, Tree, Trees};
use crate::rank::{FeatureTable, RankMethod, RankReport, RankStep, Scorer, Training};
use crate::{Error, Result};
use potentials::Potentials;
use thresholds::{ThresholdBins, WeakRanker};

/// A threshold that orders every pair correctly would get an infinite weight.
const MOST_R: f64 = 1.0 - 1e-9;
/// Boosting stops when no more of the loss is left: every pair is right by a wide margin.
const LEAST_LOSS: f64 = 1e-9;
/// Boosting stops when no threshold has a larger |r|.
const LEAST_R: f64 = 1e-12;

/// Boosting of thresholds on features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RankBoost {
    /// Maximum number of rounds.
    pub rounds: usize,
    /// Stop after this many rounds without a better one on validation; 0 never stops early.
    pub patience: usize,
    /// Maximum number of thresholds of a feature: between all its values if these are few, else
    /// with about as many rows between any two.
    pub thresholds: usize,
    /// Whether all queries have the same initial weight, however many pairs they have.
    pub balanced: bool,
}

impl Default for RankBoost {
    fn default() -> Self {
        RankBoost { rounds: 300, patience: 100, thresholds: 255, balanced: false }
    }
}

impl RankMethod for RankBoost {
    fn check(&self) -> Result<()> {
        at_least_one("rounds", self.rounds)?;
        if (1..=ThresholdBins::MOST).contains(&self.thresholds) {
            return Ok(());
        }
        let expected = format!("a whole number from 1 to {}", ThresholdBins::MOST);
        Err(Error::parameter("thresholds", self.thresholds, &expected))
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let (trees, report, _) = self.boost(training)?;
        Ok((Scorer::Trees(trees), report))
    }

    fn is_linear(&self) -> bool {
        false
    }
}

impl RankBoost {
    /// Returns also r of every round.
    fn boost(&self, training: &Training<'_>) -> Result<(Trees, RankReport, Vec<f64>)> {
        let table = training.table;
        has_pairs(table)?;
        training.run.step("thresholds", 0, None)?;
        let binned = ThresholdBins::new(table, self.thresholds);
        let mut potentials = Potentials::new(table, self.balanced)?;
        let mut report = RankReport::default();
        let mut best = EarlyStopping::new(self.patience);
        let mut trees = Vec::new();
        let mut scores = vec![0.0; table.n_rows()];
        let mut validated = vec![0.0; training.validation.map_or(0, |table| table.n_rows())];
        let mut found = Vec::new();
        for round in 1..=self.rounds {
            training.run.step("rankboost", round as u64 - 1, Some(self.rounds as u64))?;
            potentials.update(&scores);
            let Some(weak) = binned.best(&potentials.of_rows) else { break };
            if weak.r.abs() <= LEAST_R {
                break;
            }
            let r = weak.r.clamp(-MOST_R, MOST_R);
            let alpha = 0.5 * ((1.0 + r) / (1.0 - r)).ln();
            let tree = stump(&weak, alpha, r, binned.counts(&weak))?;
            let add = |scores: &mut [f64], table: &FeatureTable| {
                let rows = scores.par_iter_mut().enumerate();
                rows.for_each(|(row, score)| *score += tree.score(table.row(row)));
            };
            add(&mut scores, table);
            if let Some(validation) = training.validation {
                add(&mut validated, validation);
            }
            let objective = potentials.loss(&scores);
            if !objective.is_finite() {
                return Err(not_finite("the exponential loss", round));
            }
            trees.push(tree);
            found.push(r);
            let goal = &training.goal;
            let validation = training.validation.and_then(|table| goal.mean(table, &validated));
            report.steps.push(RankStep {
                step: round,
                objective: Some(objective),
                training: goal.mean(table, &scores),
                validation,
            });
            let stop =
                validation.is_some_and(|value| best.observe(round, goal.oriented(value), || ()));
            if stop || objective <= LEAST_LOSS {
                break;
            }
        }
        if trees.is_empty() {
            report.warnings.push("no threshold separates rows: all scores are 0".to_owned());
        }
        let kept = best.into_best().map_or(trees.len(), |(round, ..)| round);
        trees.truncate(kept);
        report.kept = (kept > 0).then_some(kept);
        Ok((Trees { trees, base: 0.0 }, report, found))
    }
}

/// 0 up to the threshold, α beyond it.
fn stump(weak: &WeakRanker, alpha: f64, r: f64, counts: [u32; 2]) -> Result<Tree> {
    let split = Split {
        feature: weak.feature,
        threshold: weak.threshold,
        left: !0,
        right: !1,
        missing_left: weak.missing_left,
        zero_is_missing: false,
        is_category: false,
        // A lower bound of the share of the loss that it removes.
        gain: 1.0 - (1.0 - r * r).sqrt(),
    };
    let [below, above] = counts;
    let leaves = vec![Leaf { value: 0.0, count: below }, Leaf { value: alpha, count: above }];
    Tree::new(vec![split], leaves)
}

#[cfg(test)]
mod tests;
