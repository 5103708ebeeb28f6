//! The square loss over all pairs, clicked or not, at rank d:
//!
//! ```text
//! min ‖R̃ − X W Yᵀ‖² + λ_x‖WYᵀ‖² + λ_y‖XW‖² + λ_xλ_y‖W‖²   over W of rank d
//! ```
//! PLS makes clicked pairs score high; this loss also makes all others score near zero, so a word
//! that every query has gets little weight. λ interpolates: as it grows the solution becomes PLS
//! with its singular values, and where every query has one document of its own, λ → 0 is canonical
//! correlation analysis. `linalg/square.rs` describes the solver.
//!
//! λ is in units of the mean squared length of a row, ‖X‖²/n, the scale on which it acts: with rows
//! of unit norm, the default, it is the number itself, and the same value means the same on a log
//! of any size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FitReport;
use super::bilinear::Bilinear;
use super::map::Maps;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::solver::scale_by_sigma;
use super::space::{DIM, DOC_CLICKS, QUERY_CLICKS, RESPONSE, Varied, WEIGHTING};
use crate::features::{Counts, Features, Featurizer, Response, Weighted, Weighting};
use crate::linalg::{Centring, Operator, SquareParams, square_fit};
use crate::params::check::{MOST, check_positive, check_range, check_weight};
use crate::plan::{self, Fit, Plan};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Parameters of the square loss at rank d.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Square {
    /// Latent dimensions.
    pub dim: usize,
    /// λ of the query side, in units of a query's squared length; larger means closer to PLS.
    pub lambda_x: f64,
    /// λ of the document side, in units of a document's squared length.
    pub lambda_y: f64,
    /// Features of queries and documents.
    pub features: Features,
    /// Relative weights of clicks.
    pub weighting: Weighting,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Scores use Σ to this power: 1 is the square loss itself, 0 weighs all dimensions alike.
    pub sigma: f64,
    /// Largest residual of a dimension allowed, as a share of the largest singular value.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Most steps of conjugate gradients in a solve.
    pub steps: usize,
    /// Extra dimensions of the solver (a quarter of dim if not set); more of them mean fewer iterations.
    pub oversample: Option<usize>,
    /// Seed of the solver's random start.
    pub seed: u64,
}

impl Default for Square {
    fn default() -> Self {
        Square {
            dim: 300,
            lambda_x: 1.0,
            lambda_y: 1.0,
            features: Features { query_clicks: 0.1, ..Features::default() },
            weighting: Weighting::default(),
            response: Response::default(),
            sigma: 1.0,
            tolerance: 0.02,
            iterations: 50,
            steps: 200,
            oversample: None,
            seed: 1,
        }
    }
}

/// Report of the solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SquareReport {
    /// Dimensions found: fewer than asked for if C has a lower rank.
    pub dim: usize,
    /// λ_x as it entered the loss.
    pub lambda_x: f64,
    /// λ_y as it entered the loss.
    pub lambda_y: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// The largest residual of the dimensions kept, as a share of the largest singular value.
    pub residual: f64,
    /// Whether the residual is within the tolerance.
    pub converged: bool,
    /// The most steps of conjugate gradients that a solve took.
    pub steps: usize,
    /// The largest relative residual that the last solves left.
    pub solve_residual: f64,
    /// Whether the solves were as exact as they were meant to be.
    pub solved: bool,
    /// Whether C has fewer dimensions than were asked for.
    pub rank_deficient: bool,
    /// Share of ‖R̃‖² that the fit explains, the penalties counted against it.
    pub explained: f64,
    /// The singular values.
    pub sigma: Vec<f64>,
}

impl SquareReport {
    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.converged {
            warnings.push(format!(
                "the dimensions have a residual of {:.1e} after {} iterations, above the tolerance; raise `tolerance`, `iterations` or `oversample`",
                self.residual, self.iterations
            ));
        }
        if !self.solved {
            warnings.push(format!(
                "conjugate gradients left a residual of {:.1e} after {} steps; raise `steps`, `tolerance` or the lambdas",
                self.solve_residual, self.steps
            ));
        }
        if self.rank_deficient {
            let dim = self.dim;
            warnings
                .push(format!("the clicks have only {dim} dimensions; the others were left out"));
        }
        warnings
    }
}

/// λ in units of the mean squared length of the rows of `matrix`.
pub(super) fn scaled_lambda(lambda: f64, matrix: &Csr) -> f64 {
    let size: f64 = matrix.values().iter().map(|&v| f64::from(v) * f64::from(v)).sum();
    let rows = matrix.rows().filter(|row| !row.is_empty()).count();
    if rows == 0 { lambda } else { lambda * size / rows as f64 }
}

impl Method for Square {
    fn check(&self) -> Result<()> {
        if self.dim == 0 || self.dim > MOST {
            let expected =
                format!("1 or more, at most {MOST}; for no bottleneck at all, train ridge");
            return Err(Error::parameter("dim", self.dim, &expected));
        }
        check_range("oversample", self.oversample.unwrap_or(0), 0, MOST)?;
        check_weight("lambda_x", self.lambda_x)?;
        check_weight("lambda_y", self.lambda_y)?;
        check_weight("sigma", self.sigma)?;
        check_positive("tolerance", self.tolerance)?;
        check_range("iterations", self.iterations, 1, MOST)?;
        check_range("steps", self.steps, 1, MOST)?;
        self.features.check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, run, .. } = fitting;
        let featurizer = Featurizer::new(counts, &self.features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?;
        let (maps, report) = self.fit(data, run)?;
        Ok((Box::new(Bilinear::new(counts, &self.features, maps)?), FitReport::Square(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Bilinear::restored(counts, &self.features, state)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features.clone())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        let pair = |x: u64, y: u64| (x as usize, y as usize);
        let (n, d) = (pair(fit.n_queries, fit.n_docs), pair(fit.d_x, fit.d_y));
        let oversample = self.oversample.map(|spare| spare.min(plan::MOST as usize));
        let square = Square { dim: fit.dim as usize, oversample, ..self.clone() };
        let empty = Csr::empty(0, 0);
        let bytes = square.solver(&empty, &empty).bytes(n, d, pair(fit.nnz_x, fit.nnz_y));
        // Solves take some ten times as many products as the solver of PLS.
        let seconds = fit.rates.map(|rates| 10.0 * fit.svd_seconds(fit.dim * 5 / 4, rates));
        let sought = vec![fit.factors(), fit.between(), ("the square loss", bytes)];
        fit.solved(vec![sought], fit.maps(), seconds)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            QUERY_CLICKS,
            DOC_CLICKS,
            WEIGHTING,
            RESPONSE,
            DIM,
            ("lambda_x", "{ min = 0.1, max = 30.0, log = true }"),
            ("lambda_y", "{ min = 0.1, max = 30.0, log = true }"),
        ]
    }
}

impl Square {
    fn solver(&self, x: &Csr, y: &Csr) -> SquareParams {
        SquareParams {
            dim: self.dim,
            oversample: self.oversample.unwrap_or((self.dim / 4).max(10)),
            lambda_x: scaled_lambda(self.lambda_x, x),
            lambda_y: scaled_lambda(self.lambda_y, y),
            tolerance: self.tolerance,
            max_iterations: self.iterations,
            max_steps: self.steps,
            seed: self.seed,
        }
    }

    /// Learns the maps from `data`.
    pub fn fit(&self, data: Weighted, run: &Run<'_>) -> Result<(Maps, SquareReport)> {
        self.check()?;
        let params = self.solver(&data.x, &data.y);
        let size: f64 = data.r.values().iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        let both = [data.x.clone(), data.y.clone()];
        let operator = Operator::new(data.x, data.r, data.y, Centring::None)?;
        let mut fit = square_fit(&operator, both, &params, run)?;
        let report = SquareReport {
            dim: fit.sigma.len(),
            lambda_x: params.lambda_x,
            lambda_y: params.lambda_y,
            iterations: fit.iterations,
            residual: fit.residuals.iter().copied().fold(0.0, f64::max),
            converged: fit.converged,
            steps: fit.steps,
            solve_residual: fit.solve_residual,
            solved: fit.solved,
            rank_deficient: fit.rank_deficient,
            explained: fit.sigma.iter().map(|s| s * s).sum::<f64>() / size,
            sigma: fit.sigma,
        };
        scale_by_sigma([&mut fit.p, &mut fit.q], &report.sigma, self.sigma / 2.0);
        Ok((Maps { l_x: fit.p.into(), l_y: fit.q.into() }, report))
    }
}
