//! What every method that learns in steps does after a step: it reports, and keeps what is best on
//! validation.

use super::Linear;
use super::learnable::{finite, not_finite};
use crate::Result;
use crate::early_stopping::EarlyStopping;
use crate::rank::{RankReport, RankStep, Scorer, Training};

/// The steps of a fit.
pub(super) struct Watch<'a> {
    training: Training<'a>,
    best: EarlyStopping<Vec<f64>>,
    last: Vec<f64>,
    pub report: RankReport,
    stage: &'static str,
    total: usize,
    /// Whether training decides where there is no validation, not the last step.
    by_training: bool,
}

impl<'a> Watch<'a> {
    /// `total` steps at most, of which `patience` are looked at after the best one; 0 looks at all.
    pub fn new(
        training: &Training<'a>,
        stage: &'static str,
        total: usize,
        patience: usize,
    ) -> Self {
        Watch {
            training: *training,
            best: EarlyStopping::new(patience),
            last: Vec::new(),
            report: RankReport::default(),
            stage,
            total,
            by_training: false,
        }
    }

    /// Without validation the step that is best on training is kept, not the last.
    pub fn or_training(self) -> Self {
        Watch { by_training: true, ..self }
    }

    /// Looks at the weights after a step. Says whether to stop.
    pub fn look(&mut self, step: usize, objective: f64, weights: &[f64]) -> Result<bool> {
        let training = &self.training;
        training.run.step(self.stage, step as u64, Some(self.total as u64))?;
        finite("a weight", step, weights)?;
        if !objective.is_finite() {
            return Err(not_finite("the objective", step));
        }
        let scorer = Scorer::Linear(Linear { weights: weights.to_vec(), bias: 0.0 });
        let goal = &training.goal;
        let validation =
            training.validation.and_then(|table| goal.mean(table, &scorer.scores(table)));
        let learnt = goal.mean(training.table, &scorer.scores(training.table));
        let objective = Some(objective);
        self.report.steps.push(RankStep { step, objective, training: learnt, validation });
        self.last = weights.to_vec();
        let judged = validation.or(learnt.filter(|_| self.by_training));
        Ok(judged
            .is_some_and(|value| self.best.observe(step, goal.turned(value), || weights.to_vec())))
    }

    /// The best step by validation, or the last where there is none.
    pub fn finish(self) -> (Scorer, RankReport) {
        let mut report = self.report;
        let last = report.steps.last().map(|step| step.step);
        if self.training.validation.is_some() && report.steps.iter().all(|s| s.validation.is_none())
        {
            report.warnings.push("no query of validation counts: it is not looked at".to_owned());
        }
        let (kept, weights) = match self.best.into_best() {
            Some((step, _, weights)) => (Some(step), weights),
            None => (last, self.last),
        };
        report.kept = kept;
        (Scorer::Linear(Linear { weights, bias: 0.0 }), report)
    }
}
