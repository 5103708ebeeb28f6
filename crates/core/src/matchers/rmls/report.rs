//! The report of a fit of RMLS.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::matchers::by_words;
use crate::matchers::pls::PlsReport;

/// The name of the step before the first sweep.
pub(super) const START: &str = "start";
/// The name of the first half-sweep.
const FIRST_HALF: &str = "sweep 1, L_x";
/// The name of the step of a warm start.
pub(super) const INIT: &str = "earlier maps";

/// Start of the sweeps that a step belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Random rows.
    Random,
    /// The singular vectors of C.
    Spectral,
    /// The maps of an earlier model.
    Init,
}

impl Origin {
    /// Its name in tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Random => "random start",
            Origin::Spectral => "spectral start",
            Origin::Init => "warm start",
        }
    }
}

/// The figures of one half-sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmlsStep {
    /// The start of its sweeps; reports of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
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

impl RmlsStep {
    /// The step with its start, as in "random start, sweep 1, L_x".
    pub fn name(&self) -> String {
        match self.origin.filter(|_| self.step != START && self.step != INIT) {
            Some(origin) => format!("{}, {}", origin.name(), self.step),
            None if self.step == START => Origin::Spectral.name().into(),
            None => self.step.clone(),
        }
    }
}

/// Report of a fit of RMLS by half-sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmlsReport {
    /// Form of the products with C, with the counts that decided it.
    #[serde(default)]
    pub way: String,
    /// The participation ratio of the singular values of the clicks, where starts were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participation_ratio: Option<f64>,
    /// The reason for the start, where it was chosen without validation data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Every half-sweep, start after start.
    pub steps: Vec<RmlsStep>,
    /// The index in `steps` of the result.
    pub best: usize,
    /// The index of the first step at which the effective rank fell below a tenth of its start, or to about one.
    pub collapsed: Option<usize>,
    /// Whether validation, or the split, chose to score documents by their words alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_words: bool,
    /// The singular vectors of a spectral start.
    pub spectral: Option<PlsReport>,
    /// The number of rows of each map that change and effective rank are computed from; 0 means all.
    #[serde(default)]
    pub sampled: usize,
}

impl RmlsReport {
    /// The starts that were tried, in order, each with its steps.
    pub fn branches(&self) -> Vec<(Option<Origin>, Range<usize>)> {
        let mut branches: Vec<(Option<Origin>, Range<usize>)> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            match branches.last_mut() {
                Some((origin, steps)) if *origin == step.origin => steps.end = at + 1,
                _ => branches.push((step.origin, at..at + 1)),
            }
        }
        branches
    }

    /// How the start was chosen, and what the result is where that is not the end of a sweep.
    pub fn remarks(&self) -> Vec<String> {
        let Some(kept) = self.steps.get(self.best) else { return Vec::new() };
        let mut remarks = Vec::new();
        let mut scores: Vec<(Option<Origin>, f64)> = self
            .branches()
            .into_iter()
            .map(|(origin, steps)| {
                let scores = self.steps[steps].iter().filter_map(|step| step.validation);
                (origin, scores.fold(f64::NEG_INFINITY, f64::max))
            })
            .collect();
        if !self.reason.is_empty() {
            remarks.push(self.reason.clone());
        } else if scores.len() > 1 && scores.iter().all(|(_, score)| score.is_finite()) {
            // The chosen one first.
            scores.sort_by_key(|&(origin, _)| origin != kept.origin);
            let name = |origin: Option<Origin>| origin.map_or("start", Origin::name);
            let told = scores.iter().map(|&(origin, score)| format!("{} {score:.4}", name(origin)));
            let told: Vec<String> = told.collect();
            remarks.push(format!("start chosen on validation: {}", told.join(", ")));
        }
        if kept.step == START {
            remarks.push("the result is the spectral start: PLS with scaled rows".into());
        }
        if kept.origin == Some(Origin::Random) && kept.step == FIRST_HALF {
            remarks.push(format!(
                "the result is {FIRST_HALF}: L_y is random, and L_x is fitted to it"
            ));
        }
        if self.by_words {
            remarks.push(by_words::remark(kept.validation.is_some()).into());
        }
        remarks
    }

    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.spectral.iter().flat_map(|spectral| spectral.warnings()).collect();
        let Some(best) = self.steps.get(self.best) else { return warnings };
        let kept = &best.step;
        // Where several starts are compared, one of them is expected to collapse.
        let one_start =
            self.branches().iter().filter(|(o, _)| *o != Some(Origin::Init)).count() < 2;
        if let Some(at) = self.collapsed.filter(|_| one_start) {
            let step = &self.steps[at];
            let advice = match self.spectral {
                None => "Try start = \"auto\", or centring = \"clicks\"",
                Some(_) => "That is normal after a few sweeps; fewer sweeps save the time",
            };
            warnings.push(format!(
                "RMLS collapses: at {} the effective rank is {:.1} (L_x) and {:.1} (L_y), far below its start; the result is {kept}. {advice}",
                step.step, step.effective_rank_x, step.effective_rank_y
            ));
        }
        if kept == INIT {
            warnings.push(
                "no sweep is better than the earlier maps: they are the result, and features that they lack have no weight".into(),
            );
        }
        warnings
    }
}
