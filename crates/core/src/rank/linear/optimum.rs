//! Where a solver that knows a lower bound of the objective ended.

use crate::rank::{Linear, RankReport};

/// The weights w with the smallest objective P(w) that a solver found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Optimum {
    pub weights: Vec<f64>,
    /// P(w).
    pub objective: f64,
    /// P(w) − D(α) for a point α of the dual problem: the minimum of P is no further below.
    pub gap: f64,
    pub steps: usize,
}

impl Optimum {
    /// Whether the gap is at most `tolerance` of the objective.
    pub fn reached(&self, tolerance: f64) -> bool {
        self.gap <= tolerance * self.objective
    }

    /// The ranker and its objective. Notes the gap after this many `steps` (the name of one kind of
    /// step), and warns with `advice` if it is above `tolerance`.
    pub fn into_linear(
        self,
        c: f64,
        tolerance: f64,
        (steps, advice): (&str, &str),
        report: &mut RankReport,
    ) -> (Linear, f64) {
        let (objective, share) = (self.objective, self.gap / self.objective);
        let after = format!("after {} {steps}", self.steps);
        report
            .notes
            .push(format!("c = {c}: objective {objective:.6}, gap {share:.1e} of it {after}"));
        if !self.reached(tolerance) {
            report.warnings.push(format!(
                "c = {c}: the gap is {share:.1e} of the objective {after}, above the tolerance \
                 {tolerance}; {advice} may help"
            ));
        }
        (Linear { weights: self.weights, bias: 0.0 }, objective)
    }
}
