//! Supervised semantic indexing (Bai, Weston, Grangier, Collobert and others, 2009):
//!
//! ```text
//! f(q, d) = qᵀ W d,   minimise Σ max(0, 1 − f(q, d⁺) + f(q, d⁻)) over (q, d⁺, d⁻)
//! ```
//! over tf-idf vectors of norm one. A triple is a query, a document that was clicked for it and
//! one that was not. Triples are drawn, and those within the margin move W against the gradient
//! by a fixed rate. W = I is the cosine of the vector space model; the forms say what is learnt
//! beside it:
//!
//! ```text
//! low_rank   W = UᵀV + I        u_s += λ·q_s·V(d⁺ − d⁻),  v_t += λ·(d⁺ − d⁻)_t·Uq
//! symmetric  W = UᵀU + I        u_s += λ·(q_s·U(d⁺ − d⁻) + (d⁺ − d⁻)_s·Uq)
//! diagonal   W = D + I          D_ss += λ·q_s·(d⁺ − d⁻)_s
//! full       W = M + I          M_st += λ·q_s·(d⁺ − d⁻)_t, only touched cells are stored
//! hash       W_st = w_h(s,t) + I_st,   h(s, t) = (s·P + t) mod H
//! ```
//! I may have a weight, α·I, set or learnt with the rest. The paper draws U and V from N(0, 1),
//! which drowns the identity; `init_scale` says how large they are, and √dim is the paper's.
//!
//! With `bins = k` every word is replaced by the k of the `frequent` most frequent words that it
//! occurs with most, by DICE, each with weight 1/k (correlated feature hashing). For k > 1 this
//! is not the paper's eq. (6), which keeps the terms with the same place on both sides alone and is
//! `exact`. With `rare`, the frequent words have a model of their own and all other words a
//! second one through bins, W = W₁ + μ·W₂ with a factor that is learnt.

mod bins;
mod data;
mod diagonal;
mod draws;
mod fitted;
mod full;
mod hashed;
mod low_rank;
mod mixed;
mod plan;
mod sgd;
mod strips;
mod symmetric;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bins::Bins;
use self::data::Data;
use self::draws::Draws;
use self::fitted::{Identity, Indexed, Learnt};
use super::check::{MOST, check_positive, check_range, check_weight};
use super::epochs::learn_at;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::space::{DIM, Varied};
use super::{FitReport, Maps, StepsReport};
use crate::features::{Counts, Features, Featurizer};
use crate::linalg::Dense;
use crate::plan::{Fit, Plan};
use crate::{Error, Result};

/// Parameters of supervised semantic indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ssi {
    /// What is learnt of W.
    pub form: Form,
    /// Add the identity to W, so that shared words count from the start.
    pub identity: bool,
    /// The weight of the identity, α of W = αI + …; where it is learnt, its value at the start.
    pub identity_weight: f64,
    /// Learn the weight of the identity with the rest. Every triple moves it, and the margin likes it large: where validation falls, set it instead.
    pub learn_identity: bool,
    /// `full`: learn weights of words with themselves; without them, words of other words alone count (set `identity = false`, too).
    pub diagonal: bool,
    /// Latent dimensions of `low_rank` and `symmetric`.
    pub dim: usize,
    /// Learn about this many words alone, the most frequent ones; the others count through the identity. 0 means all.
    pub frequent: usize,
    /// Replace every word by this many of the `frequent` words that it occurs with most; 0 leaves words as they are.
    pub bins: usize,
    /// With bins: let the p-th bin of a query's word meet the p-th bins of a document's words alone, as eq. (6) of the paper has it.
    pub exact: bool,
    /// With bins: a model of the `frequent` words as they are and a second one of all other words through bins, mixed by a factor that is learnt.
    pub rare: bool,
    /// `hash`: the number of weights.
    pub weights: usize,
    /// The rate of the steps.
    pub rate: f64,
    /// `low_rank` and `symmetric`: how large the maps are at the start, their entries being N(0, 1) times this over √dim.
    pub init_scale: f64,
    /// Triples whose gradients are taken together, before any of them moves W; 1 is the paper's.
    pub batch: usize,
    /// Most epochs.
    pub epochs: usize,
    /// Triples of an epoch; 0 means one a clicked pair, but 128 or more.
    pub steps: usize,
    /// Stop after this many epochs without a better validation score.
    pub patience: usize,
    /// Which documents are drawn as not clicked.
    pub negative: Negative,
    /// `popularity`: the power of a document's clicks.
    pub alpha: f64,
    /// `bm25`: among how many of the best documents is drawn.
    pub hard: usize,
    /// `impressions`: a click also beats an unclicked result directly below it.
    pub next: bool,
    /// Seed of the start and of the triples.
    pub seed: u64,
}

/// What is learnt of W.
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

/// Which documents are drawn as not clicked. Those clicked for the query and held-out ones never are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Negative {
    /// Any, all alike.
    #[default]
    Uniform,
    /// By clicks to the power `alpha`: unless it is 0, documents without clicks are drawn only where others are hard to find.
    Popularity,
    /// Any of the best by BM25 for the query; where BM25 finds none, any, all alike.
    Bm25,
    /// Results that were passed over: shown above a clicked one, and not clicked (Joachims' rules). Queries without any take any document, all alike.
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
    fn has_maps(self) -> bool {
        matches!(self, Form::LowRank | Form::Symmetric)
    }
}

impl Method for Ssi {
    fn check(&self) -> Result<()> {
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
        check_positive("init_scale", self.init_scale)?;
        check_weight("alpha", self.alpha)?;
        check_weight("identity_weight", self.identity_weight)?;
        self.check_idle()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let counts = fitting.counts;
        let featurizer = Featurizer::new(counts, &Features::words())?;
        let (x, y) = (featurizer.queries(counts)?, featurizer.docs(counts)?);
        let bins = Bins::of(self, counts, fitting.run)?;
        let draws = Draws::of(self, counts, &x, &y, fitting.run)?;
        let data = Data::new(x, y, bins)?;
        self.check_memory(counts, fitting.run.memory_left())?;
        learn_at(self.rate, |rate| Ssi { rate, ..self.clone() }.learn(&data, &draws, &fitting))
    }

    fn restore(&self, counts: &Counts, kept: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = kept.tensors()?;
        let learnt = match self.form {
            Form::LowRank | Form::Symmetric => Learnt::Latent(Maps::read(tensors)?),
            Form::Diagonal => Learnt::Diagonal(tensors.array::<f32>("diagonal")?.1),
            Form::Full => Learnt::Full(tensors.csr("cells")?),
            Form::Hash => Learnt::Hashed(tensors.array::<f32>("hashed")?.1),
        };
        let mut identity = self.identity_at_start();
        if identity.learnt {
            let kept = tensors.array::<f32>("identity")?.1;
            let [weight] = kept[..] else {
                return Err(Error::Structure {
                    problem: format!("{} weights of the identity instead of one", kept.len()),
                });
            };
            identity.weight = weight;
        }
        Ok(Box::new(Indexed::new(counts, identity, learnt)?))
    }

    fn features(&self) -> Option<Features> {
        Some(Features::words())
    }

    fn dim(&self) -> Option<usize> {
        self.form.has_maps().then_some(self.dim)
    }

    fn validated(&self) -> bool {
        true
    }

    /// Clicked pairs are drawn all alike.
    fn weighs_clicks(&self) -> bool {
        false
    }

    fn learns_from_clicks(&self) -> bool {
        true
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        self.planned(&fit)
    }

    /// A form without maps has no dimensions, and nothing to begin them with.
    fn search_space(&self) -> Vec<Varied> {
        let (rate, negative) = (
            ("rate", "{ min = 0.005, max = 0.3, log = true }"),
            ("negative", "[\"uniform\", \"popularity\", \"bm25\"]"),
        );
        if !self.form.has_maps() {
            return vec![rate, negative];
        }
        vec![DIM, rate, ("init_scale", "{ min = 0.1, max = 1.5, log = true }"), negative]
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}

/// Bytes of W: while it is learnt, and as an epoch leaves it, by words.
pub(crate) struct Bytes {
    pub learnt: u64,
    pub epoch: u64,
}

/// Fewest triples of an epoch, unless they are said: with less, a log of a few pairs is learnt by
/// luck, and with many more it is learnt by heart that what nobody clicked yet is wrong.
const FEWEST: usize = 128;
/// Turns the seed of U into that of V.
const V_SALT: u64 = 0x5eed_0000_0000_0001;
/// Turns the seed of the first model into that of the second.
const RARE_SALT: u64 = 0x5eed_0000_0000_0002;

/// Makes the rows of `map` zero that are not in `seen`: nothing will be learnt of them, and what
/// is random is no answer.
fn keep_rows(mut map: Dense, seen: &[bool]) -> Dense {
    for (row, _) in seen.iter().enumerate().filter(|(_, seen)| !**seen) {
        map.row_mut(row).fill(0.0);
    }
    map
}

impl Ssi {
    /// Learns at the rate that is set.
    fn learn(
        &self,
        data: &Data,
        draws: &Draws<'_>,
        fitting: &Fitting<'_>,
    ) -> Result<(Box<dyn Matcher>, StepsReport)> {
        let n = data.n_features();
        let map = |salt: u64| match draws.queries().next() {
            Some(_) => self.map(n, salt),
            // What is random is no answer where nothing will be learnt.
            None => Dense::zeros(n, self.dim),
        };
        // Of a view: U for the words of training's queries, V for those of its documents.
        let maps = |view: usize, salt: u64| {
            let (asked, answered) = data.seen(view, draws.queries(), draws.documents());
            [keep_rows(map(salt), &asked), keep_rows(map(salt ^ V_SALT), &answered)]
        };
        match self.form {
            Form::LowRank if self.rare => {
                let shape =
                    mixed::Mixed::new(&maps(0, 0).each_ref(), &maps(1, RARE_SALT).each_ref())?;
                sgd::fit(self, shape, data, draws, fitting)
            }
            Form::LowRank => {
                let shape = low_rank::low_rank(maps(0, 0).each_ref())?;
                sgd::fit(self, shape, data, draws, fitting)
            }
            Form::Symmetric if self.rare => {
                let shape = mixed::Mixed::new(&[&map(0)], &[&map(RARE_SALT)])?;
                sgd::fit(self, shape, data, draws, fitting)
            }
            Form::Symmetric => {
                let shape = symmetric::symmetric(&map(0))?;
                sgd::fit(self, shape, data, draws, fitting)
            }
            Form::Diagonal => {
                sgd::fit(self, diagonal::Diagonal { weights: vec![0.0; n] }, data, draws, fitting)
            }
            Form::Full => {
                let most = fitting.run.memory_left() / 2;
                let shape = full::Full::new(n, most, self.diagonal);
                sgd::fit(self, shape, data, draws, fitting)
            }
            Form::Hash => sgd::fit(self, hashed::Hashed::new(self.weights), data, draws, fitting),
        }
    }

    /// A map at the start.
    fn map(&self, n_features: usize, salt: u64) -> Dense {
        let mut map = Dense::gaussian(n_features, self.dim, self.seed ^ salt);
        let scale = (self.init_scale / (self.dim as f64).sqrt()) as f32;
        map.values_mut().iter_mut().for_each(|value| *value *= scale);
        map
    }

    /// αI at the start.
    fn identity_at_start(&self) -> Identity {
        let weight = if self.identity { self.identity_weight as f32 } else { 0.0 };
        Identity { weight, learnt: self.learn_identity }
    }

    /// Refuses what would be ignored.
    fn check_idle(&self) -> Result<()> {
        let usual = Ssi::default();
        let maps = "form = \"low_rank\" or \"symmetric\"";
        let synonyms = self.form == Form::Full && !self.identity;
        // A parameter, whether it counts for anything, its value, the usual one, and when it would.
        let all: [(&str, bool, &dyn Display, &dyn Display, &str); 13] = [
            (
                "alpha",
                self.negative == Negative::Popularity,
                &self.alpha,
                &usual.alpha,
                "negative = \"popularity\"",
            ),
            (
                "next",
                self.negative == Negative::Impressions,
                &self.next,
                &usual.next,
                "negative = \"impressions\"",
            ),
            (
                "hard",
                self.negative == Negative::Bm25,
                &self.hard,
                &usual.hard,
                "negative = \"bm25\"",
            ),
            (
                "identity_weight",
                self.identity,
                &self.identity_weight,
                &usual.identity_weight,
                "identity = true",
            ),
            (
                "learn_identity",
                self.identity,
                &self.learn_identity,
                &usual.learn_identity,
                "identity = true",
            ),
            (
                "diagonal",
                synonyms,
                &self.diagonal,
                &usual.diagonal,
                "form = \"full\" with identity = false",
            ),
            ("init_scale", self.form.has_maps(), &self.init_scale, &usual.init_scale, maps),
            ("dim", self.form.has_maps(), &self.dim, &usual.dim, maps),
            ("weights", self.form == Form::Hash, &self.weights, &usual.weights, "form = \"hash\""),
            ("frequent", self.form != Form::Hash, &self.frequent, &usual.frequent, "another form"),
            ("bins", self.form.has_maps(), &self.bins, &usual.bins, maps),
            ("exact", self.bins > 0, &self.exact, &usual.exact, "bins = 1 or more"),
            ("rare", self.bins > 0, &self.rare, &usual.rare, "bins = 1 or more"),
        ];
        for (name, counts, value, usual, unless) in all {
            let (value, usual) = (value.to_string(), usual.to_string());
            if !counts && value != usual {
                return Err(Error::parameter(name, value, &format!("{usual}, or {unless}")));
            }
        }
        if self.bins > 0 && self.frequent == 0 {
            return Err(Error::parameter("frequent", 0, "1 or more where there are bins"));
        }
        if self.bins > self.frequent {
            return Err(Error::parameter("bins", self.bins, "at most `frequent`"));
        }
        Ok(())
    }

    /// Triples of an epoch on a log of so many clicked pairs.
    pub(crate) fn triples(&self, pairs: usize) -> usize {
        if self.steps > 0 { self.steps } else { pairs.max(FEWEST) }
    }

    /// What W takes over so many words, and so many documents' embeddings of it; steps touch at most so
    /// many `cells`.
    pub(crate) fn bytes(&self, words: u64, docs: u64, cells: u64) -> Bytes {
        let features = if self.frequent > 0 { words.min(self.frequent as u64) } else { words };
        let row = 4 * self.dim as u64;
        // By words, every place of the bins has its own dimensions.
        let places = if self.exact { self.bins as u64 } else { 1 } + u64::from(self.rare);
        let times = |n: u64, bytes: u64| n.saturating_mul(bytes);
        match self.form {
            Form::LowRank | Form::Symmetric => {
                let maps = if self.form == Form::LowRank { 2 } else { 1 };
                let models = 1 + u64::from(self.rare);
                let learnt = times(features, maps * models * row);
                Bytes { learnt, epoch: times(2 * words + docs, places.saturating_mul(row)) }
            }
            Form::Diagonal => Bytes { learnt: 4 * features, epoch: 4 * words },
            Form::Hash => {
                let weights = 4 * self.weights as u64;
                Bytes { learnt: weights, epoch: weights }
            }
            Form::Full => {
                let cells = cells.min(times(features, features));
                Bytes { learnt: times(cells, full::CELL_BYTES), epoch: times(cells, 8) }
            }
        }
    }

    /// Refuses a W for which there is no room: that which is learnt, and with the embeddings of the
    /// documents those of the best epoch and of the last. `full` looks at it while it grows.
    fn check_memory(&self, counts: &Counts, most: u64) -> Result<()> {
        let (words, docs) = (counts.n_terms(), counts.n_docs());
        let Bytes { learnt, epoch } = self.bytes(words as u64, docs as u64, 0);
        let bytes = learnt.saturating_add(epoch.saturating_mul(2));
        if bytes <= most {
            return Ok(());
        }
        let (what, advice) = match self.form {
            Form::Hash => {
                (format!("{} weights, three times over,", self.weights), "lower `weights`")
            }
            _ => {
                let dim = self.dim;
                let what = format!(
                    "maps of {words} words in {dim} dimensions and the embeddings of {docs} documents"
                );
                (what, "lower `dim` or set `frequent`")
            }
        };
        Err(Error::Memory {
            what: format!("{what} take {} MiB, but only {} MiB are free", bytes >> 20, most >> 20),
            advice: format!("{advice}, or allow more (`max_memory = SIZE`)"),
        })
    }
}
