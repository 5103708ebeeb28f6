//! A strength of penalty: one that is given, or the best of several by what validation says.

use super::Linear;
use super::learnable::{finite, not_finite, positive};
use crate::rank::{RankReport, RankStep, Scorer, Training};
use crate::{Error, Result};

/// The values that may be tried.
pub(super) struct Path<'a> {
    /// What the parameter is called.
    pub name: &'a str,
    /// The one value to take.
    pub given: Option<f64>,
    /// What is tried, in this order, where none is given and there is validation.
    pub tried: &'a [f64],
    /// What is taken where none is given and there is no validation.
    pub otherwise: f64,
}

impl Path<'_> {
    /// Refuses values that make no sense.
    pub fn check(&self, of_tried: &str) -> Result<()> {
        if let Some(given) = self.given {
            positive(self.name, given)?;
        }
        if self.tried.is_empty() && self.given.is_none() {
            return Err(Error::parameter(of_tried, "[]", "at least one value"));
        }
        self.tried.iter().try_for_each(|&value| positive(of_tried, value))
    }

    /// Fits with the value that is given, or with each of those tried, one step of the report
    /// each, and keeps what is best on validation. `fit` gets the value and yields weights and
    /// what it made small.
    pub fn fit(
        &self,
        training: &Training<'_>,
        report: &mut RankReport,
        mut fit: impl FnMut(f64, &mut RankReport) -> Result<(Linear, f64)>,
    ) -> Result<Linear> {
        let zeros = training.validation.map(|validation| vec![0.0; validation.n_rows()]);
        let counts = zeros.and_then(|scores| training.merit(&scores)).is_some();
        if training.validation.is_some() && !counts {
            report.warnings.push("no query of validation counts: it is not looked at".to_owned());
        }
        let values = match self.given {
            Some(given) => vec![given],
            None if counts => self.tried.to_vec(),
            None => vec![self.otherwise],
        };
        let mut best: Option<(f64, f64, Linear, usize)> = None;
        for (step, &value) in (1..).zip(&values) {
            training.run.step(&format!("{} = {value}", self.name), step as u64 - 1, None)?;
            let (linear, objective) = fit(value, report)?;
            finite("a weight", step, &linear.weights)?;
            if !(objective.is_finite() && linear.bias.is_finite()) {
                return Err(not_finite("the objective", step));
            }
            let scorer = Scorer::Linear(linear);
            let taken = RankStep {
                step,
                objective: Some(objective),
                training: training.goal.mean(training.table, &scorer.scores(training.table)),
                validation: training
                    .validation
                    .and_then(|table| training.goal.mean(table, &scorer.scores(table))),
            };
            report.steps.push(taken);
            let merit = training.goal.turned(taken.validation.unwrap_or(0.0));
            let Scorer::Linear(linear) = scorer else { continue };
            if best.as_ref().is_none_or(|(known, ..)| merit > *known) {
                best = Some((merit, value, linear, step));
            }
        }
        let Some((_, value, linear, step)) = best else {
            return Err(Error::parameter(self.name, "none", "at least one value"));
        };
        if values.len() > 1 {
            report.notes.push(format!("{} = {value} is best on validation", self.name));
            let last = step == values.len();
            if last || step == 1 {
                let end = if last { "last" } else { "first" };
                report.notes.push(format!("it is the {end} value tried: others may be better"));
            }
        }
        report.kept = Some(step);
        Ok(linear)
    }
}
