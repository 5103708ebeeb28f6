//! Gradient boosting: every tree is fitted to the gradients of a loss at the scores so far, and adds
//! a little to them (Friedman, 2001).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bins::Binned;
use super::grow::{Grower, Grown, TreeShape};
use super::histogram::{Scale, Sums};
use super::split::Limits;
use super::{Tree, Trees};
use crate::early_stopping::EarlyStopping;
use crate::random::Random;
use crate::rank::{FeatureTable, RankReport, RankStep, Training};
use crate::{Error, Result};

/// What is made small.
pub(super) trait Loss: Sync {
    /// What every row has before the first tree.
    fn base(&self) -> f64;

    /// The gradient and the second derivative of the loss at every row's score.
    fn gradients(&self, scores: &[f64], out: &mut [[f64; 2]]);

    /// The loss itself, where it is worth telling.
    fn value(&self, _scores: &[f64]) -> Option<f64> {
        None
    }
}

/// What is left out of a bag together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bag {
    /// Single rows.
    #[default]
    Rows,
    /// All rows of a query.
    Queries,
}

/// Makes a params struct of the parameters that all boosted trees have and some of its own, and its
/// `boosting()`.
macro_rules! boosted {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $kind:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            /// How many trees are grown at most.
            pub trees: usize,
            /// The most leaves of a tree.
            pub leaves: usize,
            /// How much of every tree is added.
            pub rate: f64,
            /// The fewest rows in a leaf.
            pub min_leaf: usize,
            /// The least sum of second derivatives in a leaf.
            pub min_hessian: f64,
            /// The least gain of a split.
            pub min_gain: f64,
            /// The most splits on the way to a leaf; 0 for any number.
            pub depth: usize,
            /// The penalty on squared leaf values.
            pub l2: f64,
            /// Into how many bins the values of a feature are cut, from 2 to 255.
            pub bins: usize,
            /// The share of rows that each tree is grown on, drawn anew for every tree.
            pub bagging: f64,
            /// What is drawn for a bag: rows or queries.
            pub bag: Bag,
            /// The share of features that each tree looks at, drawn anew for every tree.
            pub feature_share: f64,
            /// With which features the score must rise (1) or fall (-1): monotone.bm25 = 1.
            pub monotone: BTreeMap<String, i8>,
            /// After how many trees that are no better on validation to stop; 0 grows them all.
            /// The best number of trees is kept either way.
            pub patience: usize,
            /// Over how many last trees the measure on validation is averaged to say which number
            /// of trees is best: that of a single one is up to chance where queries are few.
            pub smooth: usize,
            /// The seed of bags and of drawn features.
            pub seed: u64,
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                let Boosting {
                    trees, leaves, rate, min_leaf, min_hessian, min_gain, depth, l2, bins,
                    bagging, bag, feature_share, monotone, patience, smooth, seed,
                } = Boosting::default();
                $name {
                    trees, leaves, rate, min_leaf, min_hessian, min_gain, depth, l2, bins,
                    bagging, bag, feature_share, monotone, patience, smooth, seed,
                    $($field: $default,)*
                }
            }
        }

        impl $name {
            /// What all boosted trees have.
            fn boosting(&self) -> Boosting {
                Boosting {
                    trees: self.trees,
                    leaves: self.leaves,
                    rate: self.rate,
                    min_leaf: self.min_leaf,
                    min_hessian: self.min_hessian,
                    min_gain: self.min_gain,
                    depth: self.depth,
                    l2: self.l2,
                    bins: self.bins,
                    bagging: self.bagging,
                    bag: self.bag,
                    feature_share: self.feature_share,
                    monotone: self.monotone.clone(),
                    patience: self.patience,
                    smooth: self.smooth,
                    seed: self.seed,
                }
            }
        }
    };
}
pub(super) use boosted;

/// The parameters of boosting.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Boosting {
    pub trees: usize,
    pub leaves: usize,
    pub rate: f64,
    pub min_leaf: usize,
    pub min_hessian: f64,
    pub min_gain: f64,
    pub depth: usize,
    pub l2: f64,
    pub bins: usize,
    pub bagging: f64,
    pub bag: Bag,
    pub feature_share: f64,
    pub monotone: BTreeMap<String, i8>,
    pub patience: usize,
    pub smooth: usize,
    pub seed: u64,
}

impl Default for Boosting {
    fn default() -> Self {
        Boosting {
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
        }
    }
}

/// How often progress is told.
const A_WHILE: Duration = Duration::from_millis(100);

impl Boosting {
    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        let share = |name: &str, value: f64| match value > 0.0 && value <= 1.0 {
            true => Ok(()),
            false => Err(Error::parameter(name, value, "a number above 0, at most 1")),
        };
        let from_zero = |name: &str, value: f64| match value >= 0.0 && value.is_finite() {
            true => Ok(()),
            false => Err(Error::parameter(name, value, "a finite number from 0 on")),
        };
        let within = |name: &str, value: usize, low: usize, high: usize| match (low..=high)
            .contains(&value)
        {
            true => Ok(()),
            false => Err(Error::parameter(name, value, &format!("{low} to {high}"))),
        };
        within("trees", self.trees, 1, 1_000_000)?;
        within("leaves", self.leaves, 2, 100_000)?;
        within("bins", self.bins, 2, 255)?;
        within("smooth", self.smooth, 1, 1_000_000)?;
        share("bagging", self.bagging)?;
        share("feature_share", self.feature_share)?;
        from_zero("min_hessian", self.min_hessian)?;
        from_zero("min_gain", self.min_gain)?;
        from_zero("l2", self.l2)?;
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(Error::parameter("rate", self.rate, "a finite number above 0"));
        }
        match self.monotone.iter().find(|(_, trend)| !(-1..=1).contains(*trend)) {
            None => Ok(()),
            Some((name, trend)) => {
                let expected = "1 (rises), -1 (falls) or 0 (either)";
                Err(Error::parameter(&format!("monotone.{name}"), trend, expected))
            }
        }
    }

    /// Grows trees that make `loss` small.
    pub fn fit(&self, training: &Training<'_>, loss: &dyn Loss) -> Result<(Trees, RankReport)> {
        // On a thread of the pool: from another, every small piece of work for several threads
        // would be a call across.
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
        let mut best = EarlyStopping::new(self.patience);
        let mut merits: Vec<f64> = Vec::new();
        let mut told = Instant::now();
        for step in 1..=self.trees {
            if told.elapsed() >= A_WHILE {
                run.step("growing trees", step as u64 - 1, Some(self.trees as u64))?;
                told = Instant::now();
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
            let merit = validation.as_ref().and_then(|scores| training.merit(scores));
            report.steps.push(RankStep {
                step,
                objective: loss.value(&scores),
                training: None,
                validation: merit.map(|merit| training.goal.turned(merit)),
            });
            if let Some(merit) = merit {
                merits.push(merit);
                let last = &merits[merits.len().saturating_sub(self.smooth)..];
                let smoothed = last.iter().sum::<f64>() / last.len() as f64;
                if best.observe(step, smoothed, || trees.len()) {
                    break;
                }
            }
        }
        if trees.is_empty() {
            report.warnings.push(
                "no tree could be grown: no split of a feature leaves min_leaf rows on both sides \
                 and makes the loss smaller"
                    .into(),
            );
        }
        report.kept = report.steps.last().map(|step| step.step);
        if let Some((step, _, n)) = best.into_best() {
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
                advice: format!("monotone names features; there are {}", listed(table.names())),
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

/// The first names of many.
fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
    let more = if names.len() > shown.len() { " …" } else { "" };
    format!("{}{more}", shown.join(", "))
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

/// Rounds the gradients for the histograms.
fn round(gradients: &[[f64; 2]], sums: &mut [Sums]) -> Scale {
    let most = |of: fn(&[f64; 2]) -> f64| {
        let chunks = gradients.par_chunks(1 << 14);
        chunks.map(|chunk| chunk.iter().map(of).fold(0.0, f64::max)).reduce(|| 0.0, f64::max)
    };
    let scale = Scale::new(gradients.len(), most(|pair| pair[0].abs()), most(|pair| pair[1]));
    let rows = sums.par_chunks_mut(1 << 14).zip(gradients.par_chunks(1 << 14));
    rows.for_each(|(sums, gradients)| {
        for (sums, &[gradient, hessian]) in sums.iter_mut().zip(gradients) {
            *sums = scale.row(gradient, hessian);
        }
    });
    scale
}

/// Adds a tree to the scores of the rows it was grown on, and of those out of the bag.
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

/// Draws the rows and features of each tree.
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

    /// The rows to grow on; nothing for all.
    fn rows(&self) -> Option<&[u32]> {
        (self.boosting.bagging < 1.0).then_some(&self.inside)
    }

    /// The rows not grown on.
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
                // Exactly as many as wanted, each set of them equally likely.
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
