//! Regularised mapping to latent structures (Wu, Lu and Li 2013):
//!
//! ```text
//! maximise tr(L_xᵀ C L_y) − β Σ_u |l_xu|₁ − γ Σ_v |l_yv|₁   with ‖l_xu‖₂ ≤ θ_x, ‖l_yv‖₂ ≤ θ_y
//! ```
//! by turns: Ω = C·L_y and l_xu ← θ_x·S_β(ω_u)/‖S_β(ω_u)‖, then the same for L_y with CᵀL_x.
//! Rows do not depend on each other, so every half-sweep is parallel over rows.
//!
//! On non-negative data the optimum itself is degenerate (all rows of a connected part are
//! parallel), so RMLS works because it is stopped early: every half-sweep is validated, the
//! best one is returned, and the effective rank shows the collapse coming. A start from the
//! singular vectors of C (`spectral`) is the other remedy, and the default.

pub(super) mod bytes;
mod fit;
mod half;
pub(super) mod plan;
mod row;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FitReport;
use super::bilinear::{Bilinear, Maps};
use super::check::{MOST, check_positive, check_range, check_weight};
use super::method::{Fitting, Matcher, Method, SavedState};
use super::pls::PlsReport;
use super::savings::usual_savings;
use super::space::{DIM, DOC_CLICKS, QUERY_CLICKS, RESPONSE, Varied, WEIGHTING};
use super::validation::score_panels;
use crate::features::{Counts, Features, Featurizer, Negatives, Response, Weighted, Weighting};
use crate::linalg::{Centring, Operator, Panels};
use crate::plan::{Fit, Plan};
use crate::{Error, Result, Run};

/// The name of the step before the first sweep.
const START: &str = "start";
/// The name of the step that earlier maps are.
const INIT: &str = "earlier maps";

/// Parameters of RMLS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rmls {
    /// Latent dimensions.
    pub dim: usize,
    /// Where L_x and L_y start.
    pub start: Start,
    /// Most sweeps over both sides; 0 keeps a spectral start as it is.
    pub sweeps: usize,
    /// Stop after this many sweeps without a better validation score.
    pub patience: usize,
    /// How rows are made sparse.
    pub penalty: Penalty,
    /// `absolute`: threshold of the rows of L_x, in units of the click weights.
    pub beta: f64,
    /// `absolute`: threshold of the rows of L_y.
    pub gamma: f64,
    /// `relative`: threshold of a row of L_x as a share of its largest entry; 0 to below 1.
    pub rho_x: f64,
    /// `relative`: threshold of a row of L_y as a share of its largest entry.
    pub rho_y: f64,
    /// `bound`: largest ℓ1 norm of a row of L_x.
    pub lambda_x: f64,
    /// `bound`: largest ℓ1 norm of a row of L_y.
    pub lambda_y: f64,
    /// Euclidean norm of the rows of L_x.
    pub theta_x: f64,
    /// Euclidean norm of the rows of L_y.
    pub theta_y: f64,
    /// Which features queries and documents have.
    pub features: Features,
    /// How clicks are weighted against each other.
    pub weighting: Weighting,
    /// What a number of clicks counts for.
    pub response: Response,
    /// Documents drawn as negative responses.
    pub negatives: Negatives,
    /// What is taken off C.
    pub centring: Centring,
    /// `spectral`: largest residual of the singular vectors.
    pub tolerance: f64,
    /// Seed of the start.
    pub seed: u64,
}

/// Where RMLS starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Gaussian rows scaled to their norm, as published.
    Random,
    /// The singular vectors of C with rows scaled to their norm: sweep 0, and perhaps the result.
    #[default]
    Spectral,
}

/// How the rows of RMLS are made sparse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Penalty {
    /// Not at all.
    #[default]
    None,
    /// The papers' formula: the thresholds beta and gamma, whatever the scale of the data.
    Absolute,
    /// A share of the largest entry of each row: rho_x and rho_y.
    Relative,
    /// A bound on the ℓ1 norm of each row instead of a penalty: lambda_x and lambda_y.
    Bound,
}

impl Default for Rmls {
    fn default() -> Self {
        Rmls {
            dim: 300,
            start: Start::default(),
            sweeps: 1,
            patience: 2,
            penalty: Penalty::default(),
            beta: 0.0,
            gamma: 0.0,
            rho_x: 0.1,
            rho_y: 0.1,
            lambda_x: 3.0,
            lambda_y: 3.0,
            theta_x: 1.0,
            theta_y: 1.0,
            features: Features::default(),
            weighting: Weighting::default(),
            response: Response::default(),
            negatives: Negatives::default(),
            centring: Centring::None,
            tolerance: 1e-3,
            seed: 1,
        }
    }
}

/// What one half-sweep did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmlsStep {
    /// "start", "sweep 1, L_x", "sweep 1, L_y" …
    pub step: String,
    /// tr(L_xᵀ C L_y) less the penalties.
    pub objective: f64,
    /// ‖new − old‖/‖old‖ of the side that moved.
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

/// What a fit of RMLS did, half-sweep by half-sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RmlsReport {
    /// How the products with C went, and what was counted to choose.
    #[serde(default)]
    pub way: String,
    /// Every half-sweep.
    pub steps: Vec<RmlsStep>,
    /// The one that was kept (index into `steps`).
    pub best: usize,
    /// The first at which the effective rank fell below a tenth of its start, or to about one.
    pub collapsed: Option<usize>,
    /// The singular vectors of a spectral start.
    pub spectral: Option<PlsReport>,
    /// The rows of each map that change and effective rank were taken from; 0 if all were.
    #[serde(default)]
    pub sampled: usize,
}

impl RmlsReport {
    /// What a user should be warned of.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> =
            self.spectral.iter().flat_map(|spectral| spectral.warnings()).collect();
        let kept = &self.steps[self.best].step;
        if let Some(at) = self.collapsed {
            let step = &self.steps[at];
            let advice = match self.spectral {
                None => "Try start = \"spectral\", or centring = \"clicks\"",
                Some(_) => "After a few sweeps that is to be expected; fewer sweeps save the time",
            };
            warnings.push(format!(
                "RMLS collapses: at {} the effective rank is {:.1} (L_x) and {:.1} (L_y), far below its start; kept is {kept}. {advice}",
                step.step, step.effective_rank_x, step.effective_rank_y
            ));
        }
        if kept == INIT {
            warnings.push(
                "no sweep is better than the earlier maps: they are kept, and features that they did not know count nothing".into(),
            );
        }
        if self.best == 0 && self.spectral.is_none() && kept != INIT && kept != START {
            warnings.push(format!(
                "kept is {kept}: L_y is the random start, and L_x has learnt to fit it"
            ));
        }
        if kept == START && self.steps.len() > 1 {
            warnings.push(
                "no sweep is better than the spectral start: this is PLS with its rows scaled"
                    .into(),
            );
        }
        warnings
    }
}

/// Scores a pair of maps on validation data; higher is better.
pub type Validate<'a> = dyn FnMut(&Panels, &Panels) -> Result<f64> + 'a;

impl Method for Rmls {
    fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        check_range("sweeps", self.sweeps, 0, u32::MAX as usize)?;
        if self.sweeps == 0 && self.start == Start::Random {
            return Err(Error::parameter("sweeps", 0, "1 or more when the start is random"));
        }
        let absolute = self.penalty == Penalty::Absolute;
        for (name, value) in [("beta", self.beta), ("gamma", self.gamma)] {
            if value != 0.0 && !absolute {
                return Err(Error::parameter(name, value, "0, or penalty = \"absolute\""));
            }
        }
        if !(self.tolerance.is_finite() && self.tolerance > 0.0) {
            return Err(Error::parameter("tolerance", self.tolerance, "a finite number above 0"));
        }
        if absolute && self.beta == 0.0 && self.gamma == 0.0 {
            return Err(Error::parameter(
                "beta",
                0,
                "beta or gamma above 0 for an absolute penalty",
            ));
        }
        if absolute && self.sweeps == 0 {
            return Err(Error::parameter(
                "sweeps",
                0,
                "1 or more: an absolute penalty acts in the sweeps",
            ));
        }
        for (name, value) in [("rho_x", self.rho_x), ("rho_y", self.rho_y)] {
            if !(0.0..1.0).contains(&value) {
                return Err(Error::parameter(name, value, "0 or more, below 1"));
            }
        }
        for (name, value) in [("beta", self.beta), ("gamma", self.gamma)] {
            check_weight(name, value)?;
        }
        for (name, value) in [
            ("theta_x", self.theta_x),
            ("theta_y", self.theta_y),
            ("lambda_x", self.lambda_x),
            ("lambda_y", self.lambda_y),
        ] {
            check_positive(name, value)?;
        }
        let defaults = Rmls::default();
        for (name, value, default, penalty, chosen) in [
            ("rho_x", self.rho_x, defaults.rho_x, "relative", Penalty::Relative),
            ("rho_y", self.rho_y, defaults.rho_y, "relative", Penalty::Relative),
            ("lambda_x", self.lambda_x, defaults.lambda_x, "bound", Penalty::Bound),
            ("lambda_y", self.lambda_y, defaults.lambda_y, "bound", Penalty::Bound),
        ] {
            if value != default && self.penalty != chosen {
                let expected = format!("{default}, or penalty = \"{penalty}\"");
                return Err(Error::parameter(name, value, &expected));
            }
        }
        self.negatives.check()?;
        self.features.check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, init, scorer, run } = fitting;
        let featurizer = Featurizer::new(counts, &self.features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?
            .with_negatives(&self.negatives, &counts.held_out_documents, self.seed)?;
        let (maps, report) = match scorer {
            Some(scorer) => {
                let (x, y) = (featurizer.queries(counts)?, data.y.clone());
                let mut validate =
                    |l_x: &Panels, l_y: &Panels| score_panels(scorer, &x, &y, l_x, l_y, run);
                self.fit_from(data, init, run, Some(&mut validate))?
            }
            None => self.fit_from(data, init, run, None)?,
        };
        // The maps may lie in scratch files by now; the embeddings of the documents follow them there
        // if memory has no room for them.
        let embeddings = 4 * (counts.n_docs() * self.dim) as u64;
        let scratch = run.scratch();
        let folder = (embeddings > run.memory_left()).then_some(scratch.as_path());
        let matcher = Bilinear::placed(counts, &self.features, maps, folder)?;
        Ok((Box::new(matcher), FitReport::Rmls(report)))
    }

    fn restore(&self, counts: &Counts, kept: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Bilinear::restored(counts, &self.features, kept)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features.clone())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn validated(&self) -> bool {
        true
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        self.planned(&fit.with_negatives(self.negatives.per_click))
    }

    fn savings(&self) -> Vec<String> {
        let mut ways = usual_savings(Some(self.dim), Some(self.features.clone()));
        if self.start == Start::Spectral {
            ways.push(
                "start from random rows instead of singular vectors (`start = random`)".to_owned(),
            );
        }
        ways
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![QUERY_CLICKS, DOC_CLICKS, WEIGHTING, RESPONSE, DIM]
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}

impl Rmls {
    /// Learns the maps from `data`. With `validate`, every half-sweep is scored and the best
    /// is returned; without, the last.
    pub fn fit(
        &self,
        data: Weighted,
        run: &Run<'_>,
        validate: Option<&mut Validate<'_>>,
    ) -> Result<(Maps, RmlsReport)> {
        self.fit_from(data, None, run, validate)
    }

    /// Learns the maps from `data`, beginning with earlier maps. They are the first step, as
    /// they are. After a random start the sweeps go on from them; after a spectral start, from
    /// which sweeping on would only collapse, the singular vectors are sought anew, beginning
    /// with the earlier L_y.
    pub fn fit_from(
        &self,
        data: Weighted,
        init: Option<Maps>,
        run: &Run<'_>,
        validate: Option<&mut Validate<'_>>,
    ) -> Result<(Maps, RmlsReport)> {
        self.check()?;
        let operator = Operator::new(data.x, data.r, data.y, self.centring)?;
        fit::fit(self, operator, init, validate, run)
    }
}
