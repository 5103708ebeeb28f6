//! The result of a tuning: a table of all trials, the best first, compared with the defaults.

use serde::Serialize;
use serde_json::{Map, Value};

use super::journal::same;
use super::spec::Tuning;
use super::{Journal, Setting, Trial};
use crate::eval::Measure;
use crate::eval::significance::{Interval, bootstrap_mean, differences, mean};
use crate::{Error, Result};

/// Bootstrap rounds, enough for two digits of an interval.
const ROUNDS: usize = 2_000;

/// The result of a tuning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuned {
    /// The method or mix.
    pub method: String,
    /// Measure on validation.
    pub measure: Measure,
    /// Number of validation queries.
    pub queries: usize,
    /// The keys with more than one value among the trials.
    pub varied: Vec<String>,
    /// Keys drawn on a logarithmic scale.
    pub log: Vec<String>,
    /// Every trial: full fits first, the best at the top, then fits to samples of the data, the
    /// largest sample first, failed trials last.
    pub trials: Vec<TrialRow>,
    /// The best setting, complete.
    pub best: Setting,
    /// Whether nothing is better than the defaults.
    pub defaults_are_best: bool,
}

/// One trial in the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialRow {
    /// The values of the parameters that vary.
    pub setting: Map<String, Value>,
    /// Whether these are the defaults (or what was set instead of them).
    pub defaults: bool,
    /// The fit used 1/`one_in` of the training queries (or pairs); 1 is a full fit.
    pub one_in: u32,
    /// The mean on validation.
    pub score: Option<f64>,
    /// Of full fits: the score less that of the defaults.
    pub difference: Option<f64>,
    /// The 95 % interval of the difference, by a bootstrap over queries.
    pub interval: Option<Interval>,
    /// Wall time.
    pub seconds: f64,
    /// The sweep that validation chose.
    pub kept: Option<String>,
    /// The weights of a mix.
    pub weights: Vec<f64>,
    /// The warnings of the fit.
    pub warnings: Vec<String>,
    /// Error of a failed trial.
    pub error: Option<String>,
}

impl Tuned {
    /// The row of the best setting: the first.
    pub fn best_row(&self) -> Option<&TrialRow> {
        self.trials.first().filter(|row| row.one_in == 1 && row.score.is_some())
    }

    /// The full fit of the defaults.
    pub fn defaults_row(&self) -> Option<&TrialRow> {
        self.trials.iter().find(|row| row.defaults && row.one_in == 1)
    }
}

/// The trials of a tuning, of which its table is made.
pub(super) struct Trials<'a> {
    pub tuning: &'a Tuning<'a>,
    /// The values of the defaults.
    pub defaults: &'a Map<String, Value>,
    /// Every trial, as the journal has it, in the order planned.
    pub trials: Vec<&'a Trial>,
}

impl Trials<'_> {
    pub(super) fn table(&self) -> Result<Tuned> {
        let (tuning, trials) = (self.tuning, &self.trials);
        let baseline = trials.iter().find(|t| t.one_in == 1 && same(&t.setting, self.defaults));
        let mut order: Vec<&Trial> = trials.clone();
        let sign = if tuning.measure.higher_is_better() { -1.0 } else { 1.0 };
        // Stable: of equal scores the one planned first is first, so the defaults before all.
        order.sort_by(|a, b| {
            let key = |trial: &Trial| (trial.score.is_none(), trial.one_in);
            let score = |trial: &Trial| sign * trial.score.unwrap_or(0.0);
            key(a).cmp(&key(b)).then(score(a).total_cmp(&score(b)))
        });
        let Some(best) = order.first().filter(|trial| trial.one_in == 1 && trial.score.is_some())
        else {
            let first = trials.iter().find_map(|trial| trial.error.clone()).unwrap_or_default();
            return Err(Error::Empty {
                what: format!("no trial succeeded; the error of the first: {first}"),
                advice: "change the values to try, or the parameters that are fixed".into(),
            });
        };
        let varies = |key: &String| {
            trials.iter().any(|trial| trial.setting.get(key) != trials[0].setting.get(key))
        };
        let space = tuning.space;
        let varied: Vec<String> =
            space.keys.iter().map(|(key, _)| key.clone()).filter(varies).collect();
        Ok(Tuned {
            method: tuning.mixture.to_string(),
            measure: tuning.measure,
            queries: best.values.len(),
            log: varied.iter().filter(|key| space.is_log(key)).cloned().collect(),
            varied,
            trials: order.iter().map(|trial| self.row(trial, baseline.copied())).collect(),
            best: restored(tuning.base, &best.setting)?,
            defaults_are_best: same(&best.setting, self.defaults),
        })
    }

    fn row(&self, trial: &Trial, baseline: Option<&Trial>) -> TrialRow {
        let paired = baseline.filter(|baseline| {
            trial.one_in == 1
                && trial.score.is_some()
                && !same(&trial.setting, &baseline.setting)
                && trial.values.len() == baseline.values.len()
                && !trial.values.is_empty()
        });
        let differences = paired.map(|baseline| differences(&trial.values, &baseline.values));
        let interval = |d: &[f64]| bootstrap_mean(d, ROUNDS, 0.95, self.tuning.seed);
        TrialRow {
            setting: trial.setting.clone(),
            defaults: same(&trial.setting, self.defaults),
            one_in: trial.one_in,
            score: trial.score,
            difference: differences.as_deref().map(mean),
            interval: differences.as_deref().map(interval),
            seconds: trial.seconds,
            kept: trial.kept.clone(),
            weights: trial.weights.clone(),
            warnings: trial.warnings.clone(),
            error: trial.error.clone(),
        }
    }
}

/// `base` with these values; null leaves a parameter as it is.
pub(super) fn restored(base: &Setting, values: &Map<String, Value>) -> Result<Setting> {
    let set = values.clone().into_iter().filter(|(_, value)| !value.is_null());
    base.with(&set.collect::<Vec<_>>())
}

/// The planned trials in their order, then all others of the journal: trials of an earlier search
/// stay in the table.
pub(super) fn in_order<'j>(
    journal: &'j Journal,
    planned: &[(Map<String, Value>, u32)],
) -> Vec<&'j Trial> {
    let mut all: Vec<&Trial> =
        planned.iter().filter_map(|(setting, one_in)| journal.find(setting, *one_in)).collect();
    for trial in journal.trials() {
        let same =
            |known: &&Trial| known.one_in == trial.one_in && same(&known.setting, &trial.setting);
        if !all.iter().any(same) {
            all.push(trial);
        }
    }
    all
}
