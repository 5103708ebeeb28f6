//! What must come out of an experiment, and whether it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Setting;
use crate::eval::{Comparison, Measure, click_bins};
use crate::matchers::FitReport;

/// One expectation: a score within a tolerance, a floor, a ceiling, a warning, or several of
/// them; or the scores of several rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The setting, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The row.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The column, for scores and bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// Only queries of so many clicks count: `≤10`, `10–100`, `100–1000` or `>1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clicks: Option<String>,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// How far it may move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// A floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// A ceiling, for measures of which less is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// A word of a warning that the fit must give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warns: Option<String>,
    /// The scores of several rows, instead of `model` and `score`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, f64>,
}

/// One expectation after the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What was expected, in words.
    pub expected: String,
    /// What came.
    pub found: String,
    /// Whether that is good.
    pub passed: bool,
}

impl Expected {
    /// Whether it is about `setting`.
    pub(super) fn is_of(&self, setting: &Setting) -> bool {
        self.setting.as_deref().unwrap_or_default() == setting.name
    }

    /// Says what is wrong with it in a file of these settings.
    pub(super) fn sound(&self, settings: &[Setting]) -> Result<(), String> {
        let whose = match self.scores.keys().next() {
            Some(row) => row,
            None => &self.model,
        };
        let Some(setting) = settings.iter().find(|setting| self.is_of(setting)) else {
            let name = self.setting.as_deref().unwrap_or_default();
            return Err(format!(
                "the expectation for {whose:?} names no setting of the file: {name:?}"
            ));
        };
        let of_one = self.score.is_some() || self.at_least.is_some() || self.at_most.is_some();
        let measured = of_one || !self.scores.is_empty();
        let scored = self.score.is_some() || !self.scores.is_empty();
        let numbers = [self.score, self.at_least, self.at_most, self.tolerance];
        let mut numbers = numbers.into_iter().flatten().chain(self.scores.values().copied());
        let rows = setting.rows();
        let model = Some(&self.model).filter(|model| of_one && !model.is_empty());
        let mut of_rows = model.into_iter().chain(self.scores.keys());
        let problem = if !measured && self.warns.is_none() {
            "says nothing: a `score`, `scores`, `at_least`, `at_most` or `warns`".to_owned()
        } else if !self.scores.is_empty()
            && (of_one || self.warns.is_some() || !self.model.is_empty())
        {
            "has `scores` of several rows and something of one; make two of it".into()
        } else if self.scores.is_empty() && self.model.is_empty() {
            "names no row as its `model`".into()
        } else if measured && self.measure.is_none() {
            "does not say which `measure`".into()
        } else if !measured && (self.measure.is_some() || self.clicks.is_some()) {
            "has a `measure` or `clicks`, but nothing that is measured".into()
        } else if let Some(number) = numbers.find(|number| !number.is_finite()) {
            format!("has the number {number}; only finite ones can be met")
        } else if scored != self.tolerance.is_some_and(|tolerance| tolerance >= 0.0) {
            "needs a `tolerance` of 0 or more where it has a score, and none where it has not"
                .into()
        } else if self.at_least.zip(self.at_most).is_some_and(|(least, most)| least > most) {
            "has an `at_least` above its `at_most`".into()
        } else if let Some(row) = of_rows.find(|&row| !rows.contains(row)) {
            format!("is of {row:?}, which is no row; the rows are {}", rows.join(", "))
        } else if self.warns.is_some() && !setting.has_model(&self.model) {
            format!("waits for a warning of {:?}, which no row is made of", self.model)
        } else if self.warns.as_deref() == Some("") {
            "waits for a warning without a word".into()
        } else if let Some(clicks) =
            self.clicks.as_ref().filter(|name| !click_bins().contains(name))
        {
            format!("is of queries of {clicks:?} clicks; they are {}", click_bins().join(", "))
        } else {
            return Ok(());
        };
        Err(format!("the expectation for {whose:?} {problem}"))
    }

    pub(super) fn check(
        &self,
        comparison: &Comparison,
        fits: &[(String, FitReport)],
    ) -> Vec<Check> {
        let mut checks = Vec::new();
        if let Some(measure) = self.measure {
            let one = self.score.map(|score| (&self.model, score));
            let scores =
                one.into_iter().chain(self.scores.iter().map(|(row, &score)| (row, score)));
            for (row, score) in scores {
                let found = self.found(comparison, row, measure);
                let tolerance = self.tolerance.unwrap_or(0.0);
                checks.push(Check {
                    expected: format!("{} {score} ± {tolerance}", self.what(row, measure)),
                    found: shown(found),
                    passed: found.is_some_and(|found| (found - score).abs() <= tolerance),
                });
            }
            type Holds = fn(&f64, &f64) -> bool;
            let bounds: [(_, _, Holds); 2] =
                [("at least", self.at_least, f64::ge), ("at most", self.at_most, f64::le)];
            for (words, bound, holds) in bounds {
                let Some(bound) = bound else { continue };
                let found = self.found(comparison, &self.model, measure);
                checks.push(Check {
                    expected: format!("{} {words} {bound}", self.what(&self.model, measure)),
                    found: shown(found),
                    passed: found.is_some_and(|found| holds(&found, &bound)),
                });
            }
        }
        if let Some(word) = &self.warns {
            let warnings: Vec<String> = fits
                .iter()
                .filter(|(name, _)| *name == self.model)
                .flat_map(|(_, report)| report.warnings())
                .collect();
            checks.push(Check {
                expected: format!("{} warns: …{word}…", self.model),
                found: if warnings.is_empty() { "no warning".into() } else { warnings.join("; ") },
                passed: warnings.iter().any(|warning| warning.contains(word.as_str())),
            });
        }
        checks
    }

    fn what(&self, row: &str, measure: Measure) -> String {
        match &self.clicks {
            Some(clicks) => format!("{row} {measure} ({clicks} clicks)"),
            None => format!("{row} {measure}"),
        }
    }

    fn found(&self, comparison: &Comparison, row: &str, measure: Measure) -> Option<f64> {
        let column = comparison.measures.iter().position(|&m| m == measure)?;
        let row = comparison.rows.iter().find(|found| found.name == row)?;
        match &self.clicks {
            None => row.cells[column].mean,
            Some(clicks) => {
                let bin = click_bins().iter().position(|name| name == clicks)?;
                row.bins[bin].2[column]
            }
        }
    }
}

fn shown(found: Option<f64>) -> String {
    found.map_or("not in the table".to_owned(), |score| format!("{score:.4}"))
}
