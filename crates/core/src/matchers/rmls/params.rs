//! The parameters of RMLS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::{Features, Negatives, Response, Weighting};
use crate::linalg::Centring;
use crate::matchers::ByWords;
use crate::params::check::{
    MOST, check_effect, check_positive, check_range, check_share_below_one, check_weight,
};
use crate::{Error, Result};

/// Parameters of RMLS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rmls {
    /// Latent dimensions.
    pub dim: usize,
    /// Start values of L_x and L_y.
    pub start: Start,
    /// Most sweeps over both sides; 0 keeps a spectral start as it is. Not set: 10 with validation data,
    /// where early stopping decides, else 1.
    pub sweeps: Option<usize>,
    /// Stop after this many sweeps without a better validation score; 0 never stops early.
    pub patience: usize,
    /// Stop when a sweep changes both maps by less than this share: the sweeps have converged.
    pub min_change: f64,
    /// Penalty that makes rows sparse.
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
    /// Features of queries and documents.
    pub features: Features,
    /// Relative weights of clicks.
    pub weighting: Weighting,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Whether documents are scored by their words alone.
    pub by_words: ByWords,
    /// Documents drawn as negative responses.
    pub negatives: Negatives,
    /// Centring of C.
    pub centring: Centring,
    /// `spectral`: largest residual of the singular vectors.
    pub tolerance: f64,
    /// Seed of the start.
    pub seed: u64,
}

/// Start values of RMLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Both, and the better one by validation; without validation data, the one that suits the spectrum
    /// of C. With a warm start the earlier maps as well. With an absolute penalty, `random`.
    #[default]
    Auto,
    /// Gaussian rows scaled to their norm, as published.
    Random,
    /// The singular vectors of C with rows scaled to their norm: sweep 0, and perhaps the result.
    Spectral,
}

/// Penalty that makes the rows of RMLS sparse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Penalty {
    /// Not at all.
    #[default]
    None,
    /// The papers' formula: the thresholds beta and gamma, independent of the scale of the data.
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
            sweeps: None,
            patience: 2,
            min_change: 1e-3,
            penalty: Penalty::default(),
            beta: 0.0,
            gamma: 0.0,
            rho_x: 0.1,
            rho_y: 0.1,
            lambda_x: 3.0,
            lambda_y: 3.0,
            theta_x: 1.0,
            theta_y: 1.0,
            // As published: docs/BENCHMARKS.md.
            features: Features { query_clicks: 1.0, ..Features::default() },
            weighting: Weighting::Mean,
            response: Response::Raw,
            by_words: ByWords::default(),
            negatives: Negatives::default(),
            centring: Centring::None,
            tolerance: 1e-3,
            seed: 1,
        }
    }
}

/// Most sweeps with and without validation data.
const VALIDATED_SWEEPS: usize = 10;
const UNVALIDATED_SWEEPS: usize = 1;

impl Rmls {
    /// The start, or both. An absolute penalty is in units of C·L_y, which a spectral start is not, so
    /// that `auto` means the random one.
    pub(super) fn start(&self) -> Start {
        match self.start {
            Start::Auto if self.penalty == Penalty::Absolute => Start::Random,
            start => start,
        }
    }

    /// Most sweeps from one start.
    pub(super) fn most_sweeps(&self, validated: bool) -> usize {
        self.sweeps.unwrap_or(if validated { VALIDATED_SWEEPS } else { UNVALIDATED_SWEEPS })
    }

    pub(super) fn check_values(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        if let Some(sweeps) = self.sweeps {
            check_range("sweeps", sweeps, 0, u32::MAX as usize)?;
        }
        if self.sweeps == Some(0) && self.start != Start::Spectral {
            return Err(Error::parameter("sweeps", 0, "1 or more unless `start = spectral`"));
        }
        check_share_below_one("min_change", self.min_change)?;
        check_weight("beta", self.beta)?;
        check_weight("gamma", self.gamma)?;
        check_share_below_one("rho_x", self.rho_x)?;
        check_share_below_one("rho_y", self.rho_y)?;
        for (name, value) in [
            ("tolerance", self.tolerance),
            ("theta_x", self.theta_x),
            ("theta_y", self.theta_y),
            ("lambda_x", self.lambda_x),
            ("lambda_y", self.lambda_y),
        ] {
            check_positive(name, value)?;
        }
        let (absolute, relative) = ("penalty = \"absolute\"", "penalty = \"relative\"");
        let (is_absolute, is_relative, is_bound) = (
            self.penalty == Penalty::Absolute,
            self.penalty == Penalty::Relative,
            self.penalty == Penalty::Bound,
        );
        check_effect(
            self,
            &[
                ("beta", is_absolute, absolute),
                ("gamma", is_absolute, absolute),
                ("rho_x", is_relative, relative),
                ("rho_y", is_relative, relative),
                ("lambda_x", is_bound, "penalty = \"bound\""),
                ("lambda_y", is_bound, "penalty = \"bound\""),
            ],
        )?;
        if is_absolute && self.beta == 0.0 && self.gamma == 0.0 {
            let expected = "beta or gamma above 0 for an absolute penalty";
            return Err(Error::parameter("beta", 0, expected));
        }
        if is_absolute && self.sweeps == Some(0) {
            let expected = "1 or more: an absolute penalty acts in the sweeps";
            return Err(Error::parameter("sweeps", 0, expected));
        }
        self.by_words.check(&self.features)?;
        self.negatives.check()?;
        self.features.check()
    }
}
