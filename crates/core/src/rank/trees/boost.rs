//! Gradient boosting: every tree is fitted to the gradients of a loss at the current scores, and is
//! added to them times the learning rate (Friedman, 2001). The number of trees is chosen here, too: that
//! with the best validation score, averaged over the last `smooth` trees ([`Boosting::fit`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bins::Binned;
use super::grow::{Grower, Grown, TreeShape};
use super::histogram::{GradientScale, Sums};
use super::split::Limits;
use super::{Tree, Trees};
use crate::early_stopping::EarlyStopping;
use crate::params::check::{
    MOST, check_positive, check_range, check_share_above_zero, check_weight,
};
use crate::random::Random;
use crate::rank::table::first_names;
use crate::rank::{FeatureTable, RankReport, RankStep, Training};
use crate::{Error, Result};

/// A loss to minimise.
pub(super) trait Loss: Sync {
    /// The score of every row before the first tree.
    fn base(&self) -> f64;

    /// The gradient and the second derivative of the loss at every row's score.
    fn gradients(&self, scores: &[f64], out: &mut [[f64; 2]]);

    /// The loss, if it is to be reported.
    fn value(&self, _scores: &[f64]) -> Option<f64> {
        None
    }
}

/// Unit of the samples of bagging.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bag {
    /// Single rows.
    #[default]
    Rows,
    /// All rows of a query.
    Queries,
}

/// Defines a params struct: the parameters of all boosted trees and some of its own.
macro_rules! boosted {
    (
        $(#[$about:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $kind:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        $visibility struct $name {
            /// Maximum number of trees.
            pub trees: usize,
            /// Maximum number of leaves of a tree.
            pub leaves: usize,
            /// Learning rate: how much of every tree is added.
            pub rate: f64,
            /// Minimum number of rows in a leaf.
            pub min_leaf: usize,
            /// Minimum sum of second derivatives in a leaf.
            pub min_hessian: f64,
            /// Minimum gain of a split.
            pub min_gain: f64,
            /// Maximum number of splits on the way to a leaf; 0 for any number.
            pub depth: usize,
            /// The ℓ2 penalty on leaf values.
            pub l2: f64,
            /// Maximum number of bins of a feature, from 2 to 255.
            pub bins: usize,
            /// The share of rows that each tree is grown on, drawn anew for every tree.
            pub bagging: f64,
            /// Unit of the samples of bagging: rows or queries.
            pub bag: Bag,
            /// The share of features that each tree uses, drawn anew for every tree.
            pub feature_share: f64,
            /// Features with which the score must rise (1) or fall (-1): monotone.bm25 = 1.
            pub monotone: BTreeMap<String, i8>,
            /// Stop after this many trees without a better validation score; 0 grows them all.
            /// The best number of trees is kept either way.
            pub patience: usize,
            /// The number of last trees over which the validation score is averaged to choose the best
            /// number of trees: the score of a single one depends on chance where queries are few.
            pub smooth: usize,
            /// Seed of bags and of sampled features.
            pub seed: u64,
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    trees: 300,
                    leaves: 31,
                    rate: 0.05,
                    min_leaf: 20,
                    min_hessian: 1e-3,
                    min_gain: 0.0,
                    depth: 0,
                    l2: 0.0,
                    bins: 255,
                    bagging: 1.0,
                    bag: Bag::Rows,
                    feature_share: 1.0,
                    monotone: BTreeMap::new(),
                    patience: 50,
                    smooth: 10,
                    seed: 1,
                    $($field: $default,)*
                }
            }
        }

        impl From<&$name> for Boosting {
            fn from(params: &$name) -> Self {
                let $name {
                    trees, leaves, rate, min_leaf, min_hessian, min_gain, depth, l2, bins,
                    bagging, bag, feature_share, monotone, patience, smooth, seed, ..
                } = params.clone();
                Boosting {
                    trees, leaves, rate, min_leaf, min_hessian, min_gain, depth, l2, bins,
                    bagging, bag, feature_share, monotone, patience, smooth, seed,
                }
            }
        }
    };
}
pub(super) use boosted;

boosted! {
    /// The parameters of all boosted trees.
    pub(super) struct Boosting {}
}

/// The time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

impl Boosting {
    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        check_range("trees", self.trees, 1, MOST)?;
        check_range("leaves", self.leaves, 2, 100_000)?;
        check_range("bins", self.bins, 2, 255)?;
        check_range("smooth", self.smooth, 1, MOST)?;
        check_share_above_zero("bagging", self.bagging)?;
        check_share_above_zero("feature_share", self.feature_share)?;
        check_weight("min_hessian", self.min_hessian)?;
        check_weight("min_gain", self.min_gain)?;
        check_weight("l2", self.l2)?;
        check_positive("rate", self.rate)?;
        match self.monotone.iter().find(|(_, trend)| !(-1..=1).contains(*trend)) {
            None => Ok(()),
            Some((name, trend)) => {
                let expected = "1 (rises), -1 (falls) or 0 (either)";
                Err(Error::parameter(&format!("monotone.{name}"), trend, expected))
            }
        }
    }

    /// Grows trees that minimise `loss`.
    pub fn fit(&self, training: &Training<'_>, loss: &dyn Loss) -> Result<(Trees, RankReport)> {
        // On a thread of the pool: from another thread, every small parallel task would have to be
        // sent to the pool.
        rayon::scope(|_| self.fit_here(training, loss))
    }

    fn fit_here(&self, training: &Training<'_>, loss: &dyn Loss) -> Result<(Trees, RankReport)> {
        let (table, run) = (training.table, training.run);
        check_rows(table)?;
        run.step("cutting features into bins", 0, None)?;
        let binned = Binned::of(table, self.bins);
        let shape = self.shape(table, &binned)?;
        let mut grower = Grower::new(&binned, &shape);
        let mut bags = Bags::new(self, table, binned.columns.len());
        let n = table.n_rows();
        let base = loss.base();
        let mut scores = vec![base; n];
        let mut validation = training.validation.map(|table| vec![base; table.n_rows()]);
        let mut gradients = vec![[0.0; 2]; n];
        let mut sums = vec![Sums::default(); n];
        let mut trees: Vec<Tree> = Vec::new();
        let mut report = RankReport::default();
        let mut early_stopping = EarlyStopping::new(self.patience);
        let mut validation_scores: Vec<f64> = Vec::new();
        let mut last_report = Instant::now();
        for step in 1..=self.trees {
            if last_report.elapsed() >= PROGRESS_INTERVAL {
                run.step("growing trees", step as u64 - 1, Some(self.trees as u64))?;
                last_report = Instant::now();
            }
            loss.gradients(&scores, &mut gradients);
            let scale = round(&gradients, &mut sums);
            bags.draw(step, &mut grower);
            let mut grown = grower.grow(&sums, &scale, bags.rows(), run)?;
            if grown.tree.splits().is_empty() {
                // Another bag may have something to split.
                if bags.is_everything() {
                    break;
                }
                continue;
            }
            grown.tree.scale(self.rate);
            add(&grown, &grower, bags.out(), table, &mut scores);
            if scores.iter().any(|score| !score.is_finite()) {
                let advice = "take a smaller rate or a larger l2 or min_hessian".to_owned();
                return Err(Error::NotFinite { what: "a score", step, advice });
            }
            if let (Some(table), Some(scores)) = (training.validation, &mut validation) {
                let rows = scores.par_iter_mut().enumerate().with_min_len(512);
                rows.for_each(|(row, score)| *score += grown.tree.score(table.row(row)));
            }
            trees.push(grown.tree);
            let validated = training.validation.zip(validation.as_ref());
            let validated = validated.and_then(|(table, scores)| training.goal.mean(table, scores));
            report.steps.push(RankStep {
                step,
                objective: loss.value(&scores),
                training: None,
                validation: validated,
            });
            if let Some(value) = validated {
                validation_scores.push(training.goal.oriented(value));
                let first = validation_scores.len().saturating_sub(self.smooth);
                let last = &validation_scores[first..];
                let smoothed = last.iter().sum::<f64>() / last.len() as f64;
                if early_stopping.observe(step, smoothed, || trees.len()) {
                    break;
                }
            }
        }
        if trees.is_empty() {
            report.warnings.push(
                "no tree could be grown: no split leaves min_leaf rows on both sides and lowers \
                 the loss"
                    .into(),
            );
        }
        report.kept = report.steps.last().map(|step| step.step);
        if let Some((step, _, n)) = early_stopping.into_best() {
            report.kept = Some(step);
            trees.truncate(n);
        }
        Ok((Trees { trees, base }, report))
    }

    fn shape(&self, table: &FeatureTable, binned: &Binned) -> Result<TreeShape> {
        if let Some(name) = self.monotone.keys().find(|name| !table.names().contains(name)) {
            return Err(Error::Unknown {
                kind: "feature",
                name: name.clone(),
                advice: format!(
                    "`monotone` names features; there are {}",
                    first_names(table.names())
                ),
            });
        }
        let trend = |feature: u32| {
            self.monotone.get(&table.names()[feature as usize]).copied().unwrap_or(0)
        };
        let trends = match self.monotone.values().any(|&trend| trend != 0) {
            true => binned.columns.iter().map(|column| trend(column.feature)).collect(),
            false => Vec::new(),
        };
        let limits = Limits {
            min_leaf: self.min_leaf,
            min_hessian: self.min_hessian,
            l2: self.l2,
            min_gain: self.min_gain,
        };
        Ok(TreeShape { leaves: self.leaves, depth: self.depth, limits, trends })
    }
}

fn check_rows(table: &FeatureTable) -> Result<()> {
    if table.n_rows() == 0 {
        return Err(Error::Empty {
            what: "there are no rows to learn from".into(),
            advice: "give a table with rows".into(),
        });
    }
    match table.n_rows() < 1 << 31 {
        true => Ok(()),
        false => Err(Error::parameter("rows", table.n_rows(), "fewer than 2^31")),
    }
}

/// Rounds the gradients to whole numbers for the histograms.
fn round(gradients: &[[f64; 2]], sums: &mut [Sums]) -> GradientScale {
    let most = |of: fn(&[f64; 2]) -> f64| {
        let chunks = gradients.par_chunks(1 << 14);
        chunks.map(|chunk| chunk.iter().map(of).fold(0.0, f64::max)).reduce(|| 0.0, f64::max)
    };
    let scale =
        GradientScale::new(gradients.len(), most(|pair| pair[0].abs()), most(|pair| pair[1]));
    let rows = sums.par_chunks_mut(1 << 14).zip(gradients.par_chunks(1 << 14));
    rows.for_each(|(sums, gradients)| {
        for (sums, &[gradient, hessian]) in sums.iter_mut().zip(gradients) {
            *sums = scale.row(gradient, hessian);
        }
    });
    scale
}

/// Adds a tree to the scores of the rows in the bag and out of it.
fn add(grown: &Grown, grower: &Grower<'_>, out: &[u32], table: &FeatureTable, scores: &mut [f64]) {
    for (leaf, rows) in grown.tree.leaves().iter().zip(&grown.rows) {
        for &row in &grower.rows()[rows.clone()] {
            scores[row as usize] += leaf.value;
        }
    }
    let score = |&row: &u32| grown.tree.score(table.row(row as usize));
    let added: Vec<f64> = out.par_iter().with_min_len(512).map(score).collect();
    for (&row, added) in out.iter().zip(added) {
        scores[row as usize] += added;
    }
}

/// Samples the rows and features of each tree.
struct Bags<'a> {
    boosting: &'a Boosting,
    table: &'a FeatureTable,
    n_columns: usize,
    inside: Vec<u32>,
    outside: Vec<u32>,
}

impl<'a> Bags<'a> {
    fn new(boosting: &'a Boosting, table: &'a FeatureTable, n_columns: usize) -> Self {
        Bags { boosting, table, n_columns, inside: Vec::new(), outside: Vec::new() }
    }

    fn is_everything(&self) -> bool {
        self.boosting.bagging >= 1.0 && self.boosting.feature_share >= 1.0
    }

    /// The rows in the bag; nothing if it has all.
    fn rows(&self) -> Option<&[u32]> {
        (self.boosting.bagging < 1.0).then_some(&self.inside)
    }

    /// The rows out of the bag.
    fn out(&self) -> &[u32] {
        &self.outside
    }

    fn draw(&mut self, step: usize, grower: &mut Grower<'_>) {
        let stream = 2 * step as u64;
        if self.boosting.bagging < 1.0 {
            let mut random = Random::new(self.boosting.seed, stream);
            self.inside.clear();
            self.outside.clear();
            let groups = match self.boosting.bag {
                Bag::Rows => self.table.n_rows(),
                Bag::Queries => self.table.n_queries(),
            };
            let mut wanted = share_of(groups, self.boosting.bagging);
            for group in 0..groups {
                // Sampling without replacement: exactly as many as wanted.
                let drawn = random.below((groups - group) as u64) < wanted as u64;
                wanted -= usize::from(drawn);
                let side = if drawn { &mut self.inside } else { &mut self.outside };
                match self.boosting.bag {
                    Bag::Rows => side.push(group as u32),
                    Bag::Queries => side.extend(self.table.rows_of(group).map(|row| row as u32)),
                }
            }
        }
        if self.boosting.feature_share < 1.0 {
            let mut columns: Vec<usize> = (0..self.n_columns).collect();
            Random::new(self.boosting.seed, stream + 1).shuffle(&mut columns);
            columns.truncate(share_of(self.n_columns, self.boosting.feature_share));
            columns.sort_unstable();
            grower.allow(|column| columns.binary_search(&column).is_ok());
        }
    }
}

/// The share of `n`, at least one.
fn share_of(n: usize, share: f64) -> usize {
    ((n as f64 * share).round() as usize).clamp(1.min(n), n)
}

#[cfg(test)]
mod tests;
