//! Latent semantic indexing, two ways.
//!
//! `lsi_dt`: the terms × documents matrix of tf-idf rows of norm one is D ≈ U·Σ·Vᵀ; a query q
//! and a document d become Uᵀq and Uᵀd, and their cosine is the score. It learns from
//! documents alone.
//!
//! `lsi_qd`: the queries × documents matrix of clicks is R ≈ U·Σ·Vᵀ; query i is row i of U,
//! document j is row j of V, without Σ unless asked for. U = R·V·Σ⁻¹ and V = Rᵀ·U·Σ⁻¹, so these
//! rows are images of click features: a query's clicked documents under V·Σ⁻¹, a document's
//! queries under U·Σ⁻¹. The model is kept that way, and an explanation shows which clicks
//! speak for a pair. A query that training has no clicks of has no image: its scores are 0.
//! Where weights are signed, R is its positive part: negative pairs are never click features, so
//! an R with them would be factorised into images that no query and no document can have. What is
//! only disliked has no image either.
//!
//! Both are C = XᵀRY with indicators (identity matrices) as features and the weighting `sum`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FitReport;
use super::bilinear::{Bilinear, Maps};
use super::check::check_weight;
use super::map::Map;
use super::method::{Fitting, Kept, Matcher, Method};
use super::pls::PlsReport;
use super::solver::Solver;
use crate::features::{Counts, Features, Featurizer, Response, no_training_clicks};
use crate::linalg::{Centring, Dense, Operator, scale_columns};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// How two images are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Similarity {
    /// The cosine of the angle between them.
    #[default]
    Cosine,
    /// Their dot product.
    Dot,
}

/// Parameters of LSI on documents and terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LsiDt {
    /// Latent dimensions.
    pub dim: usize,
    /// How images are compared.
    pub similarity: Similarity,
    /// Largest residual max(‖Dv − σu‖, ‖Dᵀu − σv‖)/σ₁ allowed.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Extra dimensions carried while solving (a fifth of dim if not set); more of them mean fewer iterations, and more memory.
    pub oversample: Option<usize>,
    /// Seed of the solver's random start.
    pub seed: u64,
}

/// Parameters of LSI on queries and documents. It learns from positive weights alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LsiQd {
    /// Latent dimensions.
    pub dim: usize,
    /// What a number of clicks counts for; negative weights count for nothing.
    pub response: Response,
    /// Scores use Σ to this power: 0, 0.5 or 1.
    pub sigma: f64,
    /// Largest residual max(‖Rv − σu‖, ‖Rᵀu − σv‖)/σ₁ allowed.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Extra dimensions carried while solving (a fifth of dim if not set); more of them mean fewer iterations, and more memory.
    pub oversample: Option<usize>,
    /// Seed of the solver's random start.
    pub seed: u64,
}

impl Default for LsiDt {
    fn default() -> Self {
        LsiDt {
            dim: 300,
            similarity: Similarity::Cosine,
            tolerance: 1e-3,
            iterations: 50,
            oversample: None,
            seed: 1,
        }
    }
}

impl Default for LsiQd {
    fn default() -> Self {
        LsiQd {
            dim: 300,
            response: Response::default(),
            sigma: 0.0,
            tolerance: 1e-3,
            iterations: 50,
            oversample: None,
            seed: 1,
        }
    }
}

impl Method for LsiDt {
    fn check(&self) -> Result<()> {
        self.solver().check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let (maps, report) = self.fit(fitting.counts, fitting.run)?;
        Ok((self.fitted(fitting.counts, maps)?, FitReport::Pls(report)))
    }

    fn restore(&self, counts: &Counts, kept: Kept<'_>) -> Result<Box<dyn Matcher>> {
        self.fitted(counts, Maps::read(kept.tensors()?)?)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}

impl LsiDt {
    fn solver(&self) -> Solver {
        let &LsiDt { dim, tolerance, iterations, oversample, seed, .. } = self;
        Solver { dim, tolerance, iterations, oversample, seed }
    }

    fn fitted(&self, counts: &Counts, maps: Maps) -> Result<Box<dyn Matcher>> {
        let fitted = Bilinear::new(counts, &self.features(), maps)?;
        Ok(Box::new(match self.similarity {
            Similarity::Cosine => fitted.with_cosine(),
            Similarity::Dot => fitted,
        }))
    }

    /// Words alone, on both sides.
    pub(super) fn features(&self) -> Features {
        Features::words()
    }

    /// Learns the map of terms from the training documents.
    pub fn fit(&self, counts: &Counts, run: &Run<'_>) -> Result<(Maps, PlsReport)> {
        self.check()?;
        let docs = Featurizer::new(counts, &self.features())?.docs(counts)?;
        let held_out = &counts.held_out_documents;
        let training: Vec<(u32, u32, f32)> = (0..counts.n_docs() as u32)
            .filter(|doc| held_out.binary_search(doc).is_err())
            .map(|doc| (doc, doc, 1.0))
            .collect();
        let n = counts.n_docs();
        let indicators = Csr::from_triplets(n, n, training)?;
        let operator = Operator::new(docs, indicators, identity(n)?, Centring::None)?;
        let svd = self.solver().solve(&operator, run)?;
        let report = PlsReport::of(&svd, &operator);
        Ok((Maps { l_x: svd.u.clone().into(), l_y: svd.u.into() }, report))
    }
}

impl Method for LsiQd {
    fn check(&self) -> Result<()> {
        check_weight("sigma", self.sigma)?;
        self.solver().check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, run, .. } = fitting;
        let (maps, report) = self.fit(counts, run)?;
        Ok((Box::new(Bilinear::new(counts, &self.features(), maps)?), FitReport::Pls(report)))
    }

    fn restore(&self, counts: &Counts, kept: Kept<'_>) -> Result<Box<dyn Matcher>> {
        Bilinear::restored(counts, &self.features(), kept)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}

impl LsiQd {
    fn solver(&self) -> Solver {
        let &LsiQd { dim, tolerance, iterations, oversample, seed, .. } = self;
        Solver { dim, tolerance, iterations, oversample, seed }
    }

    /// Clicks alone, on both sides, as they are.
    pub(super) fn features(&self) -> Features {
        Features {
            query_words: 0.0,
            query_clicks: 1.0,
            doc_words: 0.0,
            doc_clicks: 1.0,
            click_value: self.response,
            unit_kinds: false,
            unit_rows: false,
        }
    }

    /// Learns the images of queries and documents from the training clicks above zero.
    pub fn fit(&self, counts: &Counts, run: &Run<'_>) -> Result<(Maps, PlsReport)> {
        self.check()?;
        if counts.clicks.nnz() == 0 {
            return Err(no_training_clicks());
        }
        let r = counts.clicks.positive()?.map(|_, _, clicks| self.response.of(clicks))?;
        if r.nnz() == 0 {
            return Err(Error::Empty {
                what:
                    "no training click has a weight above zero, and lsi_qd learns from those alone"
                        .into(),
                advice: "train pls, rmls, square or ridge, which learn from negative weights, too"
                    .into(),
            });
        }
        let (x, y) = (identity(counts.n_queries())?, identity(counts.n_docs())?);
        let operator = Operator::new(x, r, y, Centring::None)?;
        let mut svd = self.solver().solve(&operator, run)?;
        let report = PlsReport::of(&svd, &operator);
        let scales: Vec<f32> =
            svd.sigma.iter().map(|s| s.powf(self.sigma / 2.0 - 1.0) as f32).collect();
        scale_columns(&mut svd.u, &scales);
        scale_columns(&mut svd.v, &scales);
        // Click features stand after the words, which have no weight here.
        let maps =
            Maps { l_x: below(counts.n_terms(), &svd.v), l_y: below(counts.n_terms(), &svd.u) };
        Ok((maps, report))
    }
}

/// The n × n identity.
fn identity(n: usize) -> Result<Csr> {
    Csr::new(n, (0..=n as u64).collect(), (0..n as u32).collect(), vec![1.0; n])
}

/// `map` below `n` rows of zeros.
fn below(n: usize, map: &Dense) -> Map {
    let mut values = vec![0.0; n * map.n_cols()];
    values.extend_from_slice(map.values());
    Dense::from_values(n + map.n_rows(), map.n_cols(), values).into()
}
