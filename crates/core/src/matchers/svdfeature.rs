//! Feature-based matrix factorisation (SVDFeature: Chen, Zhang, Lu, Chen, Zheng and Yu, 2012):
//!
//! ```text
//! ŷ(x, y) = μ + g·b_g + Σ_u x_u·b_u + Σ_v y_v·b_v + (Σ_u x_u·p_u)·(Σ_v y_v·q_v)
//! ```
//! x and y are the features of a query and a document, as in RMLS and PLS. With indicators as
//! features this is matrix factorisation with biases. The loss is minimised over clicked pairs and
//! documents drawn as negatives:
//!
//! ```text
//! squared    ½(ŷ − r)²                        r = response to the clicks; 0 for a drawn document
//! logistic   w·(ln(1 + exp(ŷ)) − c·ŷ)         c = 1 if clicked, else 0
//! pairwise   w·ln(1 + exp(−(ŷ⁺ − ŷ⁻)))        d⁺ clicked, d⁻ drawn
//! ```
//! w is the response to the clicks of the pair. Every sample adds λ/2 times the squares of the
//! rows and biases that it touches. Steps are stochastic: all samples of a batch are scored with the
//! values before it, and their moves are added in order.
//!
//! μ is not learnt: it is the mean of r, or the log odds of c. `pairwise` has none: there, all terms
//! that documents share cancel out, also the biases of queries. The optional global feature g is
//! ln(1 + clicks of the document), divided by its maximum.

mod fitted;
mod samples;
mod sgd;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::fitted::{Biases, Factors};
use self::samples::Samples;
use super::epochs::learn_at;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::space::{DIM, DOC_CLICKS, QUERY_CLICKS, RESPONSE, Varied};
use super::{FitReport, Maps};
use crate::features::{Counts, Features, Featurizer, Response};
use crate::params::check::{
    MOST, check_memory, check_positive, check_range, check_share_above_zero, check_weight,
};
use crate::plan::{Fit, Plan, csr};
use crate::{Error, Result};

/// Parameters of feature-based matrix factorisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SvdFeature {
    /// Latent dimensions.
    pub dim: usize,
    /// The loss that the steps reduce.
    pub loss: Loss,
    /// The response to a number of clicks: the target of `squared`, the weight of a pair in the other losses.
    pub response: Response,
    /// Unclicked documents drawn per clicked pair.
    pub negatives: usize,
    /// The learning rate; moves of the samples of a batch add up.
    pub rate: f64,
    /// The rate of an epoch is this times that of the one before.
    pub decay: f64,
    /// λ: the ℓ2 penalty on the maps and biases of touched features.
    pub lambda: f64,
    /// Scale of the initial maps, whose entries are N(0, 1) times this over √dim.
    pub init_scale: f64,
    /// Learn a bias of every feature. Without, the score is the dot product alone, and the model has a latent space for neighbours.
    pub biases: bool,
    /// Learn a weight of the document's popularity, ln(1 + clicks), as a global feature.
    pub popularity: bool,
    /// Samples per batch, whose gradients are computed before any of them moves the maps; fewer if an epoch would have less than 32 batches.
    pub batch: usize,
    /// Most epochs; an epoch sees every clicked pair once.
    pub epochs: usize,
    /// Stop after this many epochs without a better validation score.
    pub patience: usize,
    /// Seed of the start, of the order of the pairs and of the documents drawn.
    pub seed: u64,
    /// Features of queries and documents.
    pub features: Features,
}

/// The loss that is minimised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The squared difference of score and response.
    #[default]
    Squared,
    /// The log-likelihood of a click.
    Logistic,
    /// The log-likelihood of the clicked document ranking above the drawn one.
    Pairwise,
}

impl Default for SvdFeature {
    fn default() -> Self {
        SvdFeature {
            dim: 100,
            loss: Loss::default(),
            response: Response::Log,
            negatives: 2,
            // Chosen on validation of nfcorpus and the demo. A query's own clicks as features leak the
            // target, and unseen queries have none.
            rate: 0.15,
            decay: 0.9,
            lambda: 0.0003,
            init_scale: 1.0,
            biases: true,
            popularity: false,
            batch: 64,
            epochs: 12,
            patience: 4,
            seed: 1,
            features: Features { query_clicks: 0.0, ..Features::default() },
        }
    }
}

impl Method for SvdFeature {
    fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        let least = usize::from(self.loss == Loss::Pairwise);
        check_range("negatives", self.negatives, least, 10_000)?;
        check_range("batch", self.batch, 1, MOST)?;
        check_range("epochs", self.epochs, 1, MOST)?;
        check_range("patience", self.patience, 1, MOST)?;
        check_positive("rate", self.rate)?;
        check_share_above_zero("decay", self.decay)?;
        check_weight("lambda", self.lambda)?;
        check_positive("init_scale", self.init_scale)?;
        if self.rate * self.lambda * self.batch as f64 >= 1.0 {
            return Err(Error::parameter(
                "rate·lambda·batch",
                self.rate * self.lambda * self.batch as f64,
                "below 1, or a batch may flip the sign of maps",
            ));
        }
        self.features.check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let counts = fitting.counts;
        let featurizer = Featurizer::new(counts, &self.features)?;
        self.check_memory(&featurizer, counts, fitting.run.memory_left())?;
        let (x, y) = (featurizer.queries(counts)?, featurizer.docs(counts)?);
        let samples = Samples::of(self, counts, x, y)?;
        learn_at(self.rate, |rate| {
            sgd::fit(&SvdFeature { rate, ..self.clone() }, &samples, &fitting)
        })
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let (maps, biases) = (Maps::read(tensors)?, Biases::read(tensors)?);
        Ok(Box::new(Factors::new(counts, &self.features, maps, biases)?))
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

    /// Maps with a bias per row in training, and with validation those of the best epoch. A sample
    /// reads the rows of its features twice and writes them once.
    fn plan(&self, fit: Fit<'_>) -> Plan {
        let rows = fit.d_x + fit.d_y;
        let once = rows * (fit.dim + 1) * 4;
        let name = "maps during training";
        let mut sought = vec![("X and Y", csr(fit.nnz_x + fit.nnz_y, fit.n_queries + fit.n_docs))];
        sought.push((name, once));
        if fit.validation_scores > 0 {
            sought.push(("maps of the best epoch and of the last", 2 * once));
            sought.push(fit.embeddings());
        }
        let in_sample = fit.nnz_x as f64 / fit.n_queries.max(1) as f64
            + 2.0 * fit.nnz_y as f64 / fit.n_docs.max(1) as f64;
        let samples = fit.nnz_r as f64 * (self.samples_per_pair() * self.epochs) as f64;
        let moved = 3.0 * 4.0 * (fit.dim + 1) as f64 * in_sample * samples;
        let seconds = fit.rates.map(|rates| moved / rates.gather(once));
        fit.found((name, seconds), vec![sought], fit.fitted(fit.maps()))
    }

    fn published(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("loss", "squared"),
            ("response", "raw"),
            ("negatives", "0"),
            ("features.query_clicks", "1.0"),
            ("features.doc_clicks", "1.0"),
        ]
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            QUERY_CLICKS,
            DOC_CLICKS,
            RESPONSE,
            DIM,
            ("loss", "[\"pairwise\", \"logistic\", \"squared\"]"),
            ("negatives", "{ min = 1, max = 10, log = true, int = true }"),
            ("rate", "{ min = 0.02, max = 0.3, log = true }"),
            ("lambda", "{ min = 0.00001, max = 0.01, log = true }"),
        ]
    }
}

impl SvdFeature {
    /// Samples of a clicked pair in an epoch.
    pub(crate) fn samples_per_pair(&self) -> usize {
        match self.loss {
            Loss::Squared | Loss::Logistic => 1 + self.negatives,
            Loss::Pairwise => self.negatives,
        }
    }

    /// Refuses a fit for which memory is too small: the maps in training, those of the best epoch,
    /// and the embeddings of the documents.
    fn check_memory(&self, featurizer: &Featurizer, counts: &Counts, most: u64) -> Result<()> {
        let (d_x, d_y) = (featurizer.d_x() as u64, featurizer.d_y() as u64);
        let row = 4 * (self.dim as u64 + 1);
        let n_docs = counts.n_docs();
        check_memory(
            row.saturating_mul(3 * (d_x + d_y) + 2 * n_docs as u64),
            most,
            || {
                format!(
                    "maps of {d_x} query features and {d_y} document features in {} dimensions and the embeddings of {n_docs} documents",
                    self.dim
                )
            },
            "lower `dim`, or leave out click features (`features.doc_clicks = 0`)",
        )
    }
}
