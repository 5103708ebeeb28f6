//! Partial least squares: maximise tr(L_xᵀ C L_y) with orthonormal L_x and L_y. The solution is
//! the top singular vectors of C = XᵀR̃Y (Wu, Lu and Li 2013, section 3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FitReport;
use super::bilinear::Bilinear;
use super::map::Maps;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::solver::{Solver, scale_by_sigma};
use super::space::{DIM, DOC_CLICKS, QUERY_CLICKS, RESPONSE, Varied, WEIGHTING};
use crate::features::{Counts, Features, Featurizer, Negatives, Response, Weighted, Weighting};
use crate::linalg::{Centring, Dense, Operator, Svd};
use crate::params::check::check_weight;
use crate::plan::{Fit, Plan};
use crate::{Result, Run};

/// Parameters of PLS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pls {
    /// Latent dimensions.
    pub dim: usize,
    /// Features of queries and documents.
    pub features: Features,
    /// Relative weights of clicks.
    pub weighting: Weighting,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Documents drawn as negative responses.
    pub negatives: Negatives,
    /// Centring of C before the factorisation.
    pub centring: Centring,
    /// Scores use Σ to this power: 0 (the papers' PLS), 0.5 or 1.
    pub sigma: f64,
    /// Largest residual max(‖Cv − σu‖, ‖Cᵀu − σv‖)/σ₁ allowed.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Extra dimensions of the solver (a fifth of dim if not set); more of them mean fewer iterations, and more memory.
    pub oversample: Option<usize>,
    /// Seed of the solver's random start.
    pub seed: u64,
}

impl Default for Pls {
    fn default() -> Self {
        Pls {
            // Chosen on validation of nfcorpus, citeulike-t and the demo: docs/guide.md.
            dim: 400,
            // Without scaled rows PLS favours frequent features, so click features weigh less.
            features: Features { query_clicks: 0.0, doc_clicks: 0.3, ..Features::default() },
            weighting: Weighting::default(),
            response: Response::default(),
            negatives: Negatives::default(),
            centring: Centring::None,
            sigma: 0.0,
            tolerance: 1e-3,
            iterations: 50,
            oversample: None,
            seed: 1,
        }
    }
}

/// Report of the solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlsReport {
    /// Form of the products with C, with the counts that decided it.
    #[serde(default)]
    pub way: String,
    /// Dimensions found: fewer than asked for if C has a lower rank.
    pub dim: usize,
    /// Iterations of the solver.
    pub iterations: usize,
    /// The largest residual of the triplets kept.
    pub residual: f64,
    /// Whether the residual is below the tolerance.
    pub converged: bool,
    /// Whether C has fewer dimensions than were asked for.
    pub rank_deficient: bool,
    /// The singular values.
    pub sigma: Vec<f64>,
    /// LSI: the weight of tf-idf beside it, where it was chosen on validation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tfidf: Option<f64>,
}

impl PlsReport {
    pub(super) fn of(svd: &Svd, operator: &Operator) -> Self {
        PlsReport {
            way: operator.product_form().to_string(),
            dim: svd.sigma.len(),
            iterations: svd.iterations,
            residual: svd.residuals.iter().copied().fold(0.0, f64::max),
            converged: svd.converged,
            rank_deficient: svd.rank_deficient,
            sigma: svd.sigma.clone(),
            tfidf: None,
        }
    }

    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.converged {
            warnings.push(format!(
                "the singular vectors have a residual of {:.1e} after {} iterations, above the tolerance; raise `tolerance` or `iterations`",
                self.residual, self.iterations
            ));
        }
        if self.rank_deficient {
            warnings.push(format!(
                "the data have only {} dimensions; the others were left out",
                self.dim
            ));
        }
        warnings
    }
}

impl Method for Pls {
    fn check(&self) -> Result<()> {
        check_weight("sigma", self.sigma)?;
        self.solver().check()?;
        self.negatives.check()?;
        self.features.check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, init, run, .. } = fitting;
        let featurizer = Featurizer::new(counts, &self.features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?
            .with_negatives(&self.negatives, &counts.held_out_documents, self.seed)?;
        let init = init.map(|maps| maps.l_y.into_dense());
        let (maps, report) = self.fit_from(data, init.as_ref(), run)?;
        Ok((Box::new(Bilinear::new(counts, &self.features, maps)?), FitReport::Pls(report)))
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
        fit.with_negatives(self.negatives.per_click).svd_fit(self.oversample)
    }

    fn published(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("weighting", "mean"),
            ("response", "raw"),
            ("features.query_clicks", "1.0"),
            ("features.doc_clicks", "1.0"),
            ("sigma", "0.0"),
        ]
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![QUERY_CLICKS, DOC_CLICKS, WEIGHTING, RESPONSE, DIM, ("sigma", "[0.0, 0.5, 1.0]")]
    }
}

impl Pls {
    fn solver(&self) -> Solver {
        let &Pls { dim, tolerance, iterations, oversample, seed, .. } = self;
        Solver { dim, tolerance, iterations, oversample, seed }
    }

    /// Learns the maps from `data`.
    pub fn fit(&self, data: Weighted, run: &Run<'_>) -> Result<(Maps, PlsReport)> {
        self.fit_from(data, None, run)
    }

    /// Learns the maps from `data` with a warm start from `init`, an earlier L_y. The result is the
    /// same within the tolerance, after fewer iterations.
    pub fn fit_from(
        &self,
        data: Weighted,
        init: Option<&Dense>,
        run: &Run<'_>,
    ) -> Result<(Maps, PlsReport)> {
        self.check()?;
        let operator = Operator::new(data.x, data.r, data.y, self.centring)?;
        let mut svd = self.solver().solve(&operator, init, run)?;
        let report = PlsReport::of(&svd, &operator);
        if self.sigma > 0.0 {
            scale_by_sigma([&mut svd.u, &mut svd.v], &svd.sigma, self.sigma / 2.0);
        }
        Ok((Maps { l_x: svd.u.into(), l_y: svd.v.into() }, report))
    }
}
