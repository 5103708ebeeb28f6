//! The expected scores of an experiment, and their check.

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
    /// Row of the comparison table that the value belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The column, for scores and bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// Only queries of a bin of clicks count: `≤10`, `10–100`, `100–1000` or `>1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clicks: Option<String>,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Accepted deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The lowest score allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// The highest score allowed, for measures of which less is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// A substring of a warning that the fit must give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warns: Option<String>,
    /// The scores of several rows, instead of `model` and `score`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, f64>,
}

/// One expectation after the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The expectation as text.
    pub expected: String,
    /// The score or the warnings found.
    pub found: String,
    /// Whether the expectation is met.
    pub passed: bool,
}

impl Expected {
    /// Whether it is about `setting`.
    pub(super) fn is_of(&self, setting: &Setting) -> bool {
        self.setting.as_deref().unwrap_or_default() == setting.name
    }

    /// Refuses an expectation that is incomplete, contradictory or of no row of these settings.
    pub(super) fn check_form(&self, settings: &[Setting]) -> Result<(), String> {
        let whose = self.scores.keys().next().unwrap_or(&self.model);
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
            "is empty: expected a `score`, `scores`, `at_least`, `at_most` or `warns`".to_owned()
        } else if !self.scores.is_empty()
            && (of_one || self.warns.is_some() || !self.model.is_empty())
        {
            "has `scores` of several rows and something of one; split it in two".into()
        } else if self.scores.is_empty() && self.model.is_empty() {
            "names no row as its `model`".into()
        } else if measured && self.measure.is_none() {
            "does not say which `measure`".into()
        } else if !measured && (self.measure.is_some() || self.clicks.is_some()) {
            "has a `measure` or `clicks`, but no score or bound".into()
        } else if let Some(number) = numbers.find(|number| !number.is_finite()) {
            format!("has the number {number}; expected a finite one")
        } else if scored != self.tolerance.is_some_and(|tolerance| tolerance >= 0.0) {
            "needs a `tolerance` of 0 or more where it has a score, and none where it has not"
                .into()
        } else if self.at_least.zip(self.at_most).is_some_and(|(least, most)| least > most) {
            "has an `at_least` above its `at_most`".into()
        } else if let Some(row) = of_rows.find(|&row| !rows.contains(row)) {
            format!("is of {row:?}, which is no row; the rows are {}", rows.join(", "))
        } else if self.warns.is_some() && !setting.has_model(&self.model) {
            format!("expects a warning of {:?}, which is in no row", self.model)
        } else if self.warns.as_deref() == Some("") {
            "expects a warning without a text".into()
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
            let mut expect = |row: &str, bound: String, holds: &dyn Fn(f64) -> bool| {
                let found = self.found(comparison, row, measure);
                checks.push(Check {
                    expected: format!("{} {bound}", self.column(row, measure)),
                    found: found.map_or("not in the table".into(), |found| format!("{found:.4}")),
                    passed: found.is_some_and(holds),
                });
            };
            let one = self.score.map(|score| (&self.model, score));
            let several = self.scores.iter().map(|(row, &score)| (row, score));
            let tolerance = self.tolerance.unwrap_or(0.0);
            for (row, score) in one.into_iter().chain(several) {
                let near = |found: f64| (found - score).abs() <= tolerance;
                expect(row, format!("{score} ± {tolerance}"), &near);
            }
            if let Some(least) = self.at_least {
                expect(&self.model, format!("at least {least}"), &|found| found >= least);
            }
            if let Some(most) = self.at_most {
                expect(&self.model, format!("at most {most}"), &|found| found <= most);
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

    fn column(&self, row: &str, measure: Measure) -> String {
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
