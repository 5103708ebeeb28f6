//! What a tuning found: every trial, the best first, beside the defaults.

use serde::Serialize;
use serde_json::{Map, Value};

use super::journal::same;
use super::{Journal, Setting, Space, Trial};
use crate::eval::Measure;
use crate::eval::significance::{Interval, bootstrap_mean, differences, mean};
use crate::{Error, Result};

/// Rounds after which an interval of a table of many trials is good to two digits.
const ROUNDS: usize = 2_000;

/// The result of a tuning.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuned {
    /// The method or mix.
    pub method: String,
    /// What was measured on validation.
    pub measure: Measure,
    /// How many validation queries there are.
    pub queries: usize,
    /// The keys with more than one value among the trials.
    pub varied: Vec<String>,
    /// Which of them were drawn by their logarithm.
    pub log: Vec<String>,
    /// Every trial: full fits first, the best at the top, then fits to parts of the data, the
    /// largest part first, failed trials last.
    pub trials: Vec<Row>,
    /// The best setting of all, complete.
    pub best: Setting,
    /// Whether nothing is better than the defaults.
    pub defaults_are_best: bool,
}

/// One trial in the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The values of what varies.
    pub setting: Map<String, Value>,
    /// Whether these are the defaults (or what was set instead of them).
    pub defaults: bool,
    /// Fitted to one in so many of the training queries (or pairs); 1 is a full fit.
    pub one_in: u32,
    /// The mean on validation.
    pub score: Option<f64>,
    /// Of full fits: how much more that is than the defaults have.
    pub difference: Option<f64>,
    /// In which the difference lies with 95 %, by a bootstrap over queries.
    pub interval: Option<Interval>,
    /// How long it took.
    pub seconds: f64,
    /// The sweep that was kept.
    pub kept: Option<String>,
    /// The weights of a mix.
    pub weights: Vec<f64>,
    /// What the fit warned of.
    pub warnings: Vec<String>,
    /// Why it failed.
    pub error: Option<String>,
}

impl Tuned {
    /// The row of the best setting: the first.
    pub fn best_row(&self) -> Option<&Row> {
        self.trials.first().filter(|row| row.one_in == 1 && row.score.is_some())
    }

    /// The defaults' full fit.
    pub fn defaults_row(&self) -> Option<&Row> {
        self.trials.iter().find(|row| row.defaults && row.one_in == 1)
    }
}

/// What a table is made from.
pub(super) struct Found<'a> {
    pub method: String,
    pub measure: Measure,
    pub seed: u64,
    pub space: &'a Space,
    pub base: &'a Setting,
    /// The values of the defaults.
    pub defaults: &'a Map<String, Value>,
    /// Every trial, in the order planned, as the journal has it.
    pub trials: Vec<&'a Trial>,
}

impl Found<'_> {
    pub(super) fn table(self) -> Result<Tuned> {
        let baseline =
            self.trials.iter().find(|t| t.one_in == 1 && same(&t.setting, self.defaults));
        let mut order: Vec<&Trial> = self.trials.clone();
        let sign = if self.measure.higher_is_better() { -1.0 } else { 1.0 };
        // Stable: of equal scores the one planned first is first, so the defaults before all.
        order.sort_by(|a, b| {
            let key = |made: &Trial| (made.score.is_none(), made.one_in);
            let score = |made: &Trial| sign * made.score.unwrap_or(0.0);
            key(a).cmp(&key(b)).then(score(a).total_cmp(&score(b)))
        });
        let rows: Vec<Row> = order.iter().map(|made| self.row(made, baseline.copied())).collect();
        let Some(best) = order.first().filter(|made| made.one_in == 1 && made.score.is_some())
        else {
            let first = self.trials.iter().find_map(|made| made.error.clone()).unwrap_or_default();
            return Err(Error::Empty {
                what: format!("not one trial succeeded; the first said: {first}"),
                advice: "change the values to try, or what is set beside them".into(),
            });
        };
        let values: Vec<(String, Value)> = best.setting.clone().into_iter().collect();
        let varies = |key: &String| {
            self.trials.iter().any(|made| made.setting.get(key) != self.trials[0].setting.get(key))
        };
        let varied: Vec<String> =
            self.space.keys.iter().map(|(key, _)| key.clone()).filter(varies).collect();
        Ok(Tuned {
            queries: best.values.len(),
            log: varied.iter().filter(|key| self.space.is_log(key)).cloned().collect(),
            varied,
            best: restored(self.base, &values)?,
            defaults_are_best: same(&best.setting, self.defaults),
            trials: rows,
            method: self.method,
            measure: self.measure,
        })
    }

    fn row(&self, made: &Trial, baseline: Option<&Trial>) -> Row {
        let paired = baseline.filter(|baseline| {
            made.one_in == 1
                && made.score.is_some()
                && !same(&made.setting, &baseline.setting)
                && made.values.len() == baseline.values.len()
                && !made.values.is_empty()
        });
        let differences = paired.map(|baseline| differences(&made.values, &baseline.values));
        Row {
            setting: made.setting.clone(),
            defaults: same(&made.setting, self.defaults),
            one_in: made.one_in,
            score: made.score,
            difference: differences.as_deref().map(mean),
            interval: differences.as_deref().map(|d| bootstrap_mean(d, ROUNDS, 0.95, self.seed)),
            seconds: made.seconds,
            kept: made.kept.clone(),
            weights: made.weights.clone(),
            warnings: made.warnings.clone(),
            error: made.error.clone(),
        }
    }
}

/// The setting with these values; what is not set stays so.
pub(super) fn restored(base: &Setting, values: &[(String, Value)]) -> Result<Setting> {
    let set: Vec<(String, Value)> =
        values.iter().filter(|(_, value)| !value.is_null()).cloned().collect();
    base.with(&set)
}

/// The trials of a plan, in its order, and then whatever else the journal holds: what an earlier
/// plan found is not thrown away.
pub(super) fn in_order<'j>(
    journal: &'j Journal,
    plan: &[(Map<String, Value>, u32)],
) -> Vec<&'j Trial> {
    let mut all: Vec<&Trial> =
        plan.iter().filter_map(|(setting, one_in)| journal.find(setting, *one_in)).collect();
    for made in journal.trials() {
        if !all
            .iter()
            .any(|known| known.one_in == made.one_in && same(&known.setting, &made.setting))
        {
            all.push(made);
        }
    }
    all
}
