//! The strength of the regularisation: a given value, or the best of several on validation.

use super::checks::check_finite;
use crate::early_stopping::EarlyStopping;
use crate::params::check::check_positive;
use crate::rank::{Linear, RankReport, Scorer, Training};
use crate::{Error, Result};

/// The values of a regularisation parameter that a fit tries.
pub(super) struct RegularisationPath<'a> {
    /// The parameter, as users name it.
    pub name: &'a str,
    /// The one value to use.
    pub given: Option<f64>,
    /// The values to try, in this order, if none is given and there is validation.
    pub tried: &'a [f64],
    /// The value to use if none is given and there is no validation.
    pub without_validation: f64,
}

impl RegularisationPath<'_> {
    /// Refuses values that make no sense.
    pub fn check(&self, of_tried: &str) -> Result<()> {
        if let Some(given) = self.given {
            check_positive(self.name, given)?;
        }
        if self.tried.is_empty() && self.given.is_none() {
            return Err(Error::parameter(of_tried, "[]", "at least one value"));
        }
        self.tried.iter().try_for_each(|&value| check_positive(of_tried, value))
    }

    /// Fits with the given value, or with each of those to try, one step of the report each, and
    /// keeps the best on validation. `fit` maps a value to a ranker and its objective.
    pub fn fit(
        &self,
        training: &Training<'_>,
        mut report: RankReport,
        mut fit: impl FnMut(f64, &mut RankReport) -> Result<(Linear, f64)>,
    ) -> Result<(Scorer, RankReport)> {
        let values = match self.given {
            Some(given) => vec![given],
            None if training.validation.is_some() => self.tried.to_vec(),
            None => vec![self.without_validation],
        };
        let mut best = EarlyStopping::new(0);
        for (step, &value) in (1..).zip(&values) {
            training.run.step(&format!("{} = {value}", self.name), step as u64 - 1, None)?;
            let (linear, objective) = fit(value, &mut report)?;
            check_finite(step, &linear.weights, &[objective, linear.bias])?;
            let scorer = Scorer::Linear(linear);
            let taken = training.step(step, objective, &scorer);
            report.steps.push(taken);
            let score = training.goal.oriented(taken.validation.unwrap_or(0.0));
            best.observe(step, score, || (value, scorer));
        }
        let Some((step, _, (value, scorer))) = best.into_best() else {
            return Err(Error::parameter(self.name, "none", "at least one value"));
        };
        if values.len() > 1 {
            report.notes.push(format!("{} = {value} is best on validation", self.name));
            let last = step == values.len();
            if last || step == 1 {
                let end = if last { "last" } else { "first" };
                report.notes.push(format!(
                    "{value} is the {end} value tried: values beyond it may be better"
                ));
            }
        }
        report.kept = Some(step);
        Ok((scorer, report))
    }
}
