//! The report of a fit of RMLS.

use serde::{Deserialize, Serialize};

use crate::matchers::pls::PlsReport;

/// The name of the step before the first sweep.
pub(super) const START: &str = "start";
/// The name of the step of a warm start.
pub(super) const INIT: &str = "earlier maps";

/// The figures of one half-sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmlsStep {
    /// "start", "sweep 1, L_x", "sweep 1, L_y" …
    pub step: String,
    /// tr(L_xᵀ C L_y) less the penalties.
    pub objective: f64,
    /// ‖new − old‖/‖old‖ of the updated side.
    pub change: f64,
    /// Share of non-zeros in L_x.
    pub density_x: f64,
    /// Share of non-zeros in L_y.
    pub density_y: f64,
    /// exp of the entropy of the spectrum of L_x; 1 means that all rows are parallel.
    pub effective_rank_x: f64,
    /// The same for L_y.
    pub effective_rank_y: f64,
    /// The validation score, where there is validation data.
    pub validation: Option<f64>,
}

/// Report of a fit of RMLS by half-sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmlsReport {
    /// Form of the products with C, with the counts that decided it.
    #[serde(default)]
    pub way: String,
    /// Every half-sweep.
    pub steps: Vec<RmlsStep>,
    /// The index in `steps` of the result.
    pub best: usize,
    /// The first at which the effective rank fell below a tenth of its start, or to about one.
    pub collapsed: Option<usize>,
    /// The singular vectors of a spectral start.
    pub spectral: Option<PlsReport>,
    /// The number of rows of each map that change and effective rank are computed from; 0 means all.
    #[serde(default)]
    pub sampled: usize,
}

impl RmlsReport {
    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.spectral.iter().flat_map(|spectral| spectral.warnings()).collect();
        let kept = &self.steps[self.best].step;
        if let Some(at) = self.collapsed {
            let step = &self.steps[at];
            let advice = match self.spectral {
                None => "Try start = \"spectral\", or centring = \"clicks\"",
                Some(_) => "That is normal after a few sweeps; fewer sweeps save the time",
            };
            warnings.push(format!(
                "RMLS collapses: at {} the effective rank is {:.1} (L_x) and {:.1} (L_y), far below its start; the result is {kept}. {advice}",
                step.step, step.effective_rank_x, step.effective_rank_y
            ));
        }
        if kept == INIT {
            warnings.push(
                "no sweep is better than the earlier maps: they are the result, and new features have no weight".into(),
            );
        }
        if self.best == 0 && self.spectral.is_none() && kept != INIT && kept != START {
            warnings.push(format!(
                "the result is {kept}: L_y is the random start, and L_x is fitted to it"
            ));
        }
        if kept == START && self.steps.len() > 1 {
            warnings.push(
                "no sweep is better than the spectral start: the result is PLS with scaled rows"
                    .into(),
            );
        }
        warnings
    }
}
