//! What a way of learning to rank is made of: parameters that can be fitted to a table.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::{FeatureTable, Goal, Scorer};
use crate::{Result, Run};

/// The parameters of a way to learn. All that the command line, files and `--help` know of it is
/// read off the struct.
pub trait RankMethod: Debug + Send + Sync {
    /// Refuses values that make no sense.
    fn check(&self) -> Result<()>;

    /// Learns from `training`, whose parameters are checked.
    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)>;

    /// Whether it looks at weighted sums of features, so that these should be of one size and
    /// none may be missing.
    fn is_linear(&self) -> bool {
        true
    }

    /// Sets the seed, where there is one.
    fn set_seed(&mut self, _seed: u64) {}
}

/// What a fit has at hand.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The rows to learn from, normalised. A linear method finds no missing value in them.
    pub table: &'a FeatureTable,
    /// Rows that say which step is best, where there are any.
    pub validation: Option<&'a FeatureTable>,
    /// What is looked at on validation, and what is learnt by methods that learn a measure.
    pub goal: Goal,
    /// Progress and cancellation.
    pub run: &'a Run<'a>,
}

impl Training<'_> {
    /// How good `scores` of the rows of validation are, more being better; nothing where there is
    /// no validation, or none of its queries counts.
    pub fn merit(&self, scores: &[f64]) -> Option<f64> {
        self.goal.merit(self.validation?, scores)
    }
}

/// What fitting tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// What happened step by step.
    pub steps: Vec<RankStep>,
    /// The step whose result is kept, where steps are chosen from.
    pub kept: Option<usize>,
    /// What is worth knowing of it, for people: a penalty that validation chose, a gap left.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What should make one doubt it, for people.
    pub warnings: Vec<String>,
}

/// One step of a fit: an iteration, a round of boosting, a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankStep {
    /// Counted from one.
    pub step: usize,
    /// What is made small, if there is such a thing.
    pub objective: Option<f64>,
    /// The measure on the rows learnt from.
    pub training: Option<f64>,
    /// The measure on validation.
    pub validation: Option<f64>,
}
