//! The parameters of SSI.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::check::{MOST, check_effect, check_positive, check_range, check_weight};
use crate::{Error, Result};

/// Parameters of supervised semantic indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ssi {
    /// The form of W.
    pub form: Form,
    /// Add the identity to W, so that shared words count from the start.
    pub identity: bool,
    /// The weight of the identity, α of W = αI + …; if learnt, its initial value.
    pub identity_weight: f64,
    /// Learn the weight of the identity. Every triple moves it, and the margin makes it large: if the validation score falls, set it instead.
    pub learn_identity: bool,
    /// `full`: learn weights of words with themselves; without them only pairs of different words count (also set `identity = false`).
    pub diagonal: bool,
    /// Latent dimensions of `low_rank` and `symmetric`.
    pub dim: usize,
    /// Learn only about this many of the most frequent words; the others count through the identity. 0 means all.
    pub frequent: usize,
    /// Replace every word by this many of the `frequent` words that it co-occurs with most; 0 means no replacement.
    pub bins: usize,
    /// With bins: match the p-th bin of a query's word only with the p-th bins of a document's words, as in eq. (6) of the paper.
    pub exact: bool,
    /// With bins: one model of the `frequent` words and a second one of all other words through bins, mixed by a learnt factor.
    pub rare: bool,
    /// `hash`: the number of weights.
    pub weights: usize,
    /// The learning rate.
    pub rate: f64,
    /// Learning rates to choose from instead: the one with the least training loss after a few epochs; none to take `rate`.
    pub rates: Vec<f64>,
    /// `low_rank` and `symmetric`: the initial maps.
    pub start: SsiStart,
    /// `start = "scaled"`: scale of the initial maps.
    pub init_scale: f64,
    /// Triples per batch, whose gradients are computed before any of them moves W; 1 is the paper's.
    pub batch: usize,
    /// Most epochs.
    pub epochs: usize,
    /// Triples per epoch; 0 means one per clicked pair, but 128 or more.
    pub steps: usize,
    /// Stop after this many epochs without a better validation score.
    pub patience: usize,
    /// Negative sampling: the documents drawn.
    pub negative: Negative,
    /// `popularity`: the power of a document's clicks.
    pub alpha: f64,
    /// `bm25`: the number of best documents to draw from.
    pub hard: usize,
    /// `impressions`: a clicked result is also preferred to an unclicked one directly below it.
    pub next: bool,
    /// Seed of the start and of the triples.
    pub seed: u64,
}

/// The form of W.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// UᵀV: queries and documents have maps of their own.
    #[default]
    LowRank,
    /// UᵀU: one map for both.
    Symmetric,
    /// A weight for every word.
    Diagonal,
    /// A weight for every pair of words that a step has touched.
    Full,
    /// A weight for every pair of words, shared among those with the same hash.
    Hash,
}

/// Initial maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SsiStart {
    /// Entries are N(0, 1) times `init_scale` over √dim, so that the identity counts from the start.
    #[default]
    Scaled,
    /// Entries are N(0, 1), as published: they outweigh the identity.
    Normal,
}

/// Negative sampling: the documents drawn. Those clicked for the query and held-out ones never are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Negative {
    /// All documents, uniformly.
    #[default]
    Uniform,
    /// By clicks to the power `alpha`: unless it is 0, documents without clicks are drawn only if others are hard to find.
    Popularity,
    /// The best documents by BM25 for the query, uniformly; all documents if BM25 finds none.
    Bm25,
    /// Unclicked results shown above a clicked one (Joachims' rules); all documents, uniformly, for queries without any.
    Impressions,
}

impl Default for Ssi {
    fn default() -> Self {
        Ssi {
            form: Form::default(),
            identity: true,
            identity_weight: 1.0,
            learn_identity: false,
            diagonal: true,
            dim: 100,
            frequent: 0,
            bins: 0,
            exact: false,
            rare: false,
            weights: 1 << 20,
            rate: 0.05,
            rates: Vec::new(),
            start: SsiStart::default(),
            init_scale: 0.5,
            batch: 64,
            epochs: 30,
            steps: 0,
            patience: 5,
            negative: Negative::default(),
            alpha: 0.5,
            hard: 100,
            next: false,
            seed: 1,
        }
    }
}

impl Form {
    pub(super) fn has_maps(self) -> bool {
        matches!(self, Form::LowRank | Form::Symmetric)
    }
}

/// Most epochs by which a rate is chosen.
const EPOCHS_OF_A_CHOICE: usize = 5;

/// Fewest triples of an epoch, unless `steps` is set: with fewer, the result on a log of a few pairs
/// is luck, and with many more it overfits to documents without clicks being wrong.
const FEWEST: usize = 128;

impl Ssi {
    pub(super) fn check_values(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        check_range("frequent", self.frequent, 0, u32::MAX as usize)?;
        check_range("bins", self.bins, 0, 1000)?;
        check_range("weights", self.weights, 1, 1 << 31)?;
        check_range("batch", self.batch, 1, MOST)?;
        check_range("epochs", self.epochs, 0, MOST)?;
        check_range("steps", self.steps, 0, u32::MAX as usize)?;
        check_range("patience", self.patience, 1, MOST)?;
        check_range("hard", self.hard, 1, MOST)?;
        check_positive("rate", self.rate)?;
        self.rates.iter().try_for_each(|&rate| check_positive("rates", rate))?;
        check_positive("init_scale", self.init_scale)?;
        check_weight("alpha", self.alpha)?;
        check_weight("identity_weight", self.identity_weight)?;
        self.check_effects()
    }

    /// Refuses parameters that would have no effect.
    fn check_effects(&self) -> Result<()> {
        let (has_maps, has_bins) = (self.form.has_maps(), self.bins > 0);
        let synonyms = self.form == Form::Full && !self.identity;
        let (maps, bins) = ("form = \"low_rank\" or \"symmetric\"", "bins = 1 or more");
        let from = |negative| self.negative == negative;
        check_effect(
            self,
            &[
                ("alpha", from(Negative::Popularity), "negative = \"popularity\""),
                ("next", from(Negative::Impressions), "negative = \"impressions\""),
                ("hard", from(Negative::Bm25), "negative = \"bm25\""),
                ("identity_weight", self.identity, "identity = true"),
                ("learn_identity", self.identity, "identity = true"),
                ("diagonal", synonyms, "form = \"full\" with identity = false"),
                ("start", has_maps, maps),
                ("init_scale", has_maps, maps),
                ("init_scale", self.start == SsiStart::Scaled, "start = \"scaled\""),
                ("rate", self.rates.is_empty(), "rates = []"),
                ("dim", has_maps, maps),
                ("weights", self.form == Form::Hash, "form = \"hash\""),
                ("frequent", self.form != Form::Hash, "another form"),
                ("bins", has_maps, maps),
                ("exact", has_bins, bins),
                ("rare", has_bins, bins),
            ],
        )?;
        if self.bins > 0 && self.frequent == 0 {
            return Err(Error::parameter("frequent", 0, "1 or more where there are bins"));
        }
        if self.bins > self.frequent {
            return Err(Error::parameter("bins", self.bins, "at most `frequent`"));
        }
        Ok(())
    }

    /// Epochs after which rates are compared.
    pub(super) fn epochs_of_a_choice(&self) -> usize {
        self.epochs.min(EPOCHS_OF_A_CHOICE)
    }

    /// Triples of an epoch on a log with this number of clicked pairs.
    pub(crate) fn triples(&self, pairs: usize) -> usize {
        if self.steps > 0 { self.steps } else { pairs.max(FEWEST) }
    }
}
