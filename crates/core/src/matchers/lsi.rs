//! Latent semantic indexing, two ways.
//!
//! `lsi_dt`: the terms × documents matrix of tf-idf rows of norm one is D ≈ U·Σ·Vᵀ; a query q
//! and a document d become Uᵀq and Uᵀd, and their cosine is the score. It learns from
//! documents alone. With `tfidf`, the cosine of the tf-idf rows themselves is mixed in, as in the
//! baselines of the SSI paper (Bai et al.): α·LSI + (1 − α)·TFIDF with `tfidf` = 1 − α.
//!
//! `lsi_qd`: the queries × documents matrix of clicks is R ≈ U·Σ·Vᵀ; query i is row i of U,
//! document j is row j of V, without Σ unless asked for. U = R·V·Σ⁻¹ and V = Rᵀ·U·Σ⁻¹, so these
//! rows are embeddings of click features: a query's clicked documents under V·Σ⁻¹, a document's
//! queries under U·Σ⁻¹. The model is saved in that form, and an explanation shows the clicks behind
//! a score. A query without training clicks has no embedding: its scores are 0. Negative weights are
//! dropped from R: they are never click features, so embeddings learnt from them could not be
//! computed for any query or document.
//!
//! Both are C = XᵀRY with identity matrices as features and the weighting `sum`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bilinear::Bilinear;
use super::map::{Map, Maps};
use super::method::{Fitting, Matcher, Method, SavedState};
use super::pls::PlsReport;
use super::savings::usual_savings;
use super::solver::{Solver, scale_by_sigma};
use super::space::{DIM, RESPONSE, Varied};
use super::validation::best_tenths;
use super::{Contribution, FitReport, Lexical, TopicsView, ValidationScorer, Vsm};
use crate::features::{Counts, Features, Featurizer, QueryTerms, Response, no_training_clicks};
use crate::file::TensorsWriter;
use crate::linalg::{Centring, Dense, Operator};
use crate::params::check::{bad_state, check_weight};
use crate::plan::{Fit, Plan};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Similarity of two embeddings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Similarity {
    /// The cosine of the angle between them.
    #[default]
    Cosine,
    /// Their dot product.
    Dot,
}

/// The weight of the cosine of tf-idf rows; that of LSI's score is the rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TfidfWeight {
    /// A weight from 0 to 1.
    Given(f64),
    /// The best weight on validation.
    Chosen(Chosen),
}

/// A weight: given, or chosen on validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Chosen {
    /// On validation, in steps of a tenth.
    Tuned,
}

/// Parameters of LSI on documents and terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LsiDt {
    /// Latent dimensions.
    pub dim: usize,
    /// Similarity of embeddings.
    pub similarity: Similarity,
    /// Weight of the cosine of tf-idf rows, LSI's score having the rest: from 0 (LSI alone) to 1, or
    /// `tuned`, the best on validation in steps of a tenth.
    pub tfidf: TfidfWeight,
    /// Largest residual max(‖Dv − σu‖, ‖Dᵀu − σv‖)/σ₁ allowed.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Extra dimensions of the solver (a fifth of dim if not set); more of them mean fewer iterations, and more memory.
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
    /// Response: the value of a number of clicks; that of negative weights is 0.
    pub response: Response,
    /// Scores use Σ to this power: 0, 0.5 or 1.
    pub sigma: f64,
    /// Largest residual max(‖Rv − σu‖, ‖Rᵀu − σv‖)/σ₁ allowed.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Extra dimensions of the solver (a fifth of dim if not set); more of them mean fewer iterations, and more memory.
    pub oversample: Option<usize>,
    /// Seed of the solver's random start.
    pub seed: u64,
}

impl Default for LsiDt {
    fn default() -> Self {
        LsiDt {
            dim: 300,
            similarity: Similarity::Cosine,
            tfidf: TfidfWeight::Given(0.0),
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
        match self.tfidf {
            TfidfWeight::Given(weight) if !(0.0..=1.0).contains(&weight) => {
                Err(Error::parameter("tfidf", weight, "a weight between 0 and 1, or tuned"))
            }
            _ => self.solver().check(),
        }
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, scorer, run, .. } = fitting;
        let (maps, mut report) = self.fit(counts, run)?;
        let lsi = self.fitted(counts, maps)?;
        let weight = match self.tfidf {
            TfidfWeight::Given(0.0) => return Ok((Box::new(lsi), FitReport::Pls(report))),
            TfidfWeight::Given(weight) => weight,
            // Tuned below.
            TfidfWeight::Chosen(Chosen::Tuned) => 0.0,
        };
        let mut mixed = LsiTfidf { lsi, tfidf: Vsm::default().fit(counts)?, weight: [weight] };
        if self.validated() {
            let scorer = scorer.ok_or_else(|| {
                Error::parameter("tfidf", "tuned", "a weight: there is no validation data")
            })?;
            mixed.tune(counts, scorer, run)?;
            report.tfidf = Some(mixed.weight[0]);
        }
        Ok((Box::new(mixed), FitReport::Pls(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let lsi = self.fitted(counts, Maps::read(tensors)?)?;
        if self.tfidf == TfidfWeight::Given(0.0) {
            return Ok(Box::new(lsi));
        }
        let weight = match tensors.array::<f64>(WEIGHT)?.1[..] {
            [weight] if (0.0..=1.0).contains(&weight) => [weight],
            _ => return Err(bad_state("the weight of tf-idf is not one number from 0 to 1")),
        };
        Ok(Box::new(LsiTfidf { lsi, tfidf: Vsm::default().fit(counts)?, weight }))
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn validated(&self) -> bool {
        self.tfidf == TfidfWeight::Chosen(Chosen::Tuned)
    }

    fn features(&self) -> Option<Features> {
        Some(Features::words())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        fit.svd_fit(self.oversample)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![DIM, ("tfidf", "[0.0, 0.25, 0.5, 0.75]")]
    }
}

impl LsiDt {
    fn solver(&self) -> Solver {
        let &LsiDt { dim, tolerance, iterations, oversample, seed, .. } = self;
        Solver { dim, tolerance, iterations, oversample, seed }
    }

    fn fitted(&self, counts: &Counts, maps: Maps) -> Result<Bilinear> {
        let fitted = Bilinear::new(counts, &Features::words(), maps)?;
        Ok(match self.similarity {
            Similarity::Cosine => fitted.with_cosine(),
            Similarity::Dot => fitted,
        })
    }

    /// Learns the map of terms from the training documents.
    pub fn fit(&self, counts: &Counts, run: &Run<'_>) -> Result<(Maps, PlsReport)> {
        self.check()?;
        let docs = Featurizer::new(counts, &Features::words())?.docs(counts)?;
        let held_out = &counts.held_out_documents;
        let training: Vec<(u32, u32, f32)> = (0..counts.n_docs() as u32)
            .filter(|doc| held_out.binary_search(doc).is_err())
            .map(|doc| (doc, doc, 1.0))
            .collect();
        let n = counts.n_docs();
        let indicators = Csr::from_triplets(n, n, training)?;
        let operator = Operator::new(docs, indicators, identity(n)?, Centring::None)?;
        let svd = self.solver().solve(&operator, None, run)?;
        let report = PlsReport::of(&svd, &operator);
        Ok((Maps { l_x: svd.u.clone().into(), l_y: svd.u.into() }, report))
    }
}

/// The name of the tensor that holds the weight of tf-idf.
const WEIGHT: &str = "tfidf";

/// LSI and the cosine of tf-idf rows, not standardised: (1 − weight)·LSI + weight·TFIDF.
struct LsiTfidf {
    lsi: Bilinear,
    tfidf: Lexical,
    /// One number, as an array because it is saved as a tensor.
    weight: [f64; 1],
}

impl LsiTfidf {
    /// Sets the weight with the best validation score.
    fn tune(
        &mut self,
        counts: &Counts,
        scorer: &ValidationScorer<'_>,
        run: &Run<'_>,
    ) -> Result<()> {
        let weight = |tenths: u32| [f64::from(tenths) / 10.0];
        let best = best_tenths("weight of tf-idf", run, |tenths| {
            self.weight = weight(tenths);
            scorer(&|query, docs| self.scores(counts, &counts.query(query as usize), docs))
        })?;
        self.weight = weight(best);
        Ok(())
    }

    fn mix(&self, lsi: &mut [f32], tfidf: &[f32]) {
        let [weight] = self.weight;
        for (score, &cosine) in lsi.iter_mut().zip(tfidf) {
            *score = ((1.0 - weight) * f64::from(*score) + weight * f64::from(cosine)) as f32;
        }
    }
}

impl Matcher for LsiTfidf {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        self.lsi.score_all(counts, query, out);
        self.mix(out, &self.tfidf.scores(counts, query, None));
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        self.lsi.score_some(counts, query, docs, out);
        self.mix(out, &self.tfidf.scores(counts, query, Some(docs)));
    }

    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let [weight] = self.weight;
        let scaled = |lines: Vec<Contribution>, by: f64| {
            lines.into_iter().map(move |line| Contribution { value: by * line.value, ..line })
        };
        let lsi = scaled(self.lsi.contributions(counts, query, doc), 1.0 - weight);
        lsi.chain(scaled(self.tfidf.contributions(counts, query, doc), weight)).collect()
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.lsi.save_state(tensors);
        tensors.array(WEIGHT, &[1], &self.weight);
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let lsi = self.lsi.extended(counts, n_new)?;
        let tfidf = Vsm::default().fit(counts)?;
        Ok(Some(Box::new(LsiTfidf { lsi, tfidf, weight: self.weight })))
    }

    fn no_match(&self) -> &'static str {
        self.lsi.no_match()
    }

    fn zero_is_none(&self) -> bool {
        false
    }

    fn topics(&self) -> Option<TopicsView<'_>> {
        self.lsi.topics()
    }

    fn topics_of(&self, counts: &Counts, query: &QueryTerms) -> Option<(Option<u32>, Vec<f32>)> {
        self.lsi.topics_of(counts, query)
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

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Bilinear::restored(counts, &self.features(), state)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        fit.svd_fit(self.oversample)
    }

    /// Its features are not a choice of the user.
    fn savings(&self) -> Vec<String> {
        usual_savings(Some(self.dim), None)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![RESPONSE, DIM, ("sigma", "[0.0, 0.5, 1.0]")]
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

    /// Learns the embeddings of queries and documents from the training clicks above zero.
    pub fn fit(&self, counts: &Counts, run: &Run<'_>) -> Result<(Maps, PlsReport)> {
        self.check()?;
        if counts.clicks.nnz() == 0 {
            return Err(no_training_clicks());
        }
        let r = counts.clicks.positive()?.map(|_, _, clicks| self.response.of(clicks))?;
        if r.nnz() == 0 {
            return Err(Error::Empty {
                what: "lsi_qd learns from clicks with weights above zero, and there are none"
                    .into(),
                advice: "train pls, rmls, square or ridge, which also learn from negative weights"
                    .into(),
            });
        }
        let (x, y) = (identity(counts.n_queries())?, identity(counts.n_docs())?);
        let operator = Operator::new(x, r, y, Centring::None)?;
        let mut svd = self.solver().solve(&operator, None, run)?;
        let report = PlsReport::of(&svd, &operator);
        scale_by_sigma([&mut svd.u, &mut svd.v], &svd.sigma, self.sigma / 2.0 - 1.0);
        // Click features come after the words, which have no weight here.
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
