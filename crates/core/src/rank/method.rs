//! A ranking method: parameters that can be fitted to a table.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::{FeatureTable, Goal, Scorer};
use crate::{Result, Run};

/// The parameters of a ranking method. The command line, files and `--help` are derived from the
/// struct.
pub trait RankMethod: Debug + Send + Sync {
    /// Refuses values that make no sense.
    fn check(&self) -> Result<()>;

    /// Learns from `training`. The parameters have been checked.
    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)>;

    /// Whether it learns weighted sums of features, for which features should have one scale and
    /// missing values are 0.
    fn is_linear(&self) -> bool {
        true
    }
}

/// The inputs of a fit.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The rows to learn from, normalised.
    pub table: &'a FeatureTable,
    /// Rows to choose the best step by, if there are any; some query has a value of the measure.
    pub validation: Option<&'a FeatureTable>,
    /// The measure on validation, and the objective of methods that learn a measure.
    pub goal: Goal,
    /// Progress and cancellation.
    pub run: &'a Run<'a>,
}

impl Training<'_> {
    /// The report of a step after which `scorer` is the ranker.
    pub(super) fn step(&self, step: usize, objective: f64, scorer: &Scorer) -> RankStep {
        let mean = |table: &FeatureTable| self.goal.mean(table, &scorer.scores(table));
        RankStep {
            step,
            objective: Some(objective),
            training: mean(self.table),
            validation: self.validation.and_then(mean),
        }
    }
}

/// The report of a fit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// The steps of the fit.
    pub steps: Vec<RankStep>,
    /// The step whose result was kept, if one was chosen.
    pub kept: Option<usize>,
    /// Notes for the user, such as the chosen penalty or the remaining gap.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// One step of a fit: an iteration, a round of boosting, a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankStep {
    /// The number of the step, from 1.
    pub step: usize,
    /// The objective that is minimised, if it is known.
    pub objective: Option<f64>,
    /// The measure on training.
    pub training: Option<f64>,
    /// The measure on validation.
    pub validation: Option<f64>,
}
