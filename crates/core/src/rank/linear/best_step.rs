//! The steps of an iterative fit: each is reported, and the best on validation is kept.

use super::checks::{check_finite, weights_ignored};
use crate::Result;
use crate::early_stopping::EarlyStopping;
use crate::rank::{Linear, RankReport, Scorer, Training};

/// The steps of a fit so far.
pub(super) struct BestStep<'a> {
    training: Training<'a>,
    best: EarlyStopping<Scorer>,
    last: Scorer,
    pub report: RankReport,
    method: &'static str,
    total: usize,
    /// Whether training decides where there is no validation, instead of the last step.
    by_training: bool,
}

impl<'a> BestStep<'a> {
    /// For at most `total` steps of `method`, a method that ignores the weights of rows. It stops
    /// after `patience` steps without a better one; 0 never stops.
    pub fn new(
        training: &Training<'a>,
        method: &'static str,
        total: usize,
        patience: usize,
    ) -> Self {
        BestStep {
            training: *training,
            best: EarlyStopping::new(patience),
            last: Scorer::Linear(Linear { weights: Vec::new(), bias: 0.0 }),
            report: weights_ignored(training.table, method),
            method,
            total,
            by_training: false,
        }
    }

    /// Without validation, keeps the step that is best on training instead of the last.
    pub fn or_training(self) -> Self {
        BestStep { by_training: true, ..self }
    }

    /// Reports a step that ended at `weights`. Returns whether to stop.
    pub fn record(&mut self, step: usize, objective: f64, weights: &[f64]) -> Result<bool> {
        let training = &self.training;
        training.run.step(self.method, step as u64, Some(self.total as u64))?;
        check_finite(step, weights, &[objective])?;
        self.last = Scorer::Linear(Linear { weights: weights.to_vec(), bias: 0.0 });
        let taken = training.step(step, objective, &self.last);
        self.report.steps.push(taken);
        let score = taken.validation.or(taken.training.filter(|_| self.by_training));
        Ok(score.is_some_and(|score| {
            self.best.observe(step, training.goal.oriented(score), || self.last.clone())
        }))
    }

    /// The scorer of the best step on validation, or of the last one without validation.
    pub fn finish(mut self) -> (Scorer, RankReport) {
        let last = self.report.steps.last().map(|step| step.step);
        let (kept, scorer) = match self.best.into_best() {
            Some((step, _, scorer)) => (Some(step), scorer),
            None => (last, self.last),
        };
        self.report.kept = kept;
        (scorer, self.report)
    }
}
