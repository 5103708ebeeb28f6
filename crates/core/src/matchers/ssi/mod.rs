//! Supervised semantic indexing (Bai, Weston, Grangier, Collobert and others, 2009):
//!
//! ```text
//! f(q, d) = qᵀ W d,   minimise Σ max(0, 1 − f(q, d⁺) + f(q, d⁻)) over (q, d⁺, d⁻)
//! ```
//! over tf-idf vectors of norm one. A triple is a query, a document that was clicked for it and
//! one that was not. Triples are drawn, and those within the margin move W against the gradient
//! at a fixed rate. W = I is the cosine of the vector space model; each form learns a part of W
//! besides I:
//!
//! ```text
//! low_rank   W = UᵀV + I        u_s += λ·q_s·V(d⁺ − d⁻),  v_t += λ·(d⁺ − d⁻)_t·Uq
//! symmetric  W = UᵀU + I        u_s += λ·(q_s·U(d⁺ − d⁻) + (d⁺ − d⁻)_s·Uq)
//! diagonal   W = D + I          D_ss += λ·q_s·(d⁺ − d⁻)_s
//! full       W = M + I          M_st += λ·q_s·(d⁺ − d⁻)_t, only touched cells are stored
//! hash       W_st = w_h(s,t) + I_st,   h(s, t) = (s·P + t) mod H
//! ```
//! I may have a weight, α·I, set or learnt. The paper draws U and V from N(0, 1) (`start = "normal"`),
//! which outweighs the identity, and takes the rate with the least training error (`rates`).
//!
//! With `bins = k` every word is replaced by the k of the `frequent` most frequent words that it
//! co-occurs with most, by DICE, each with weight 1/k (correlated feature hashing). For k > 1 this
//! is not the paper's eq. (6), which keeps only terms with the same place on both sides; that is
//! `exact`. With `rare`, the frequent words have one model and all other words a second one through
//! bins, W = W₁ + μ·W₂ with a learnt factor.

mod bins;
mod data;
mod diagonal;
mod draws;
mod fitted;
mod full;
mod hashed;
mod hashes;
mod mixed;
mod params;
mod plan;
mod sgd;
mod strips;
#[cfg(test)]
mod tests;

use self::bins::Bins;
use self::data::Data;
use self::draws::Draws;
use self::fitted::{Indexed, Learnt};
pub use self::params::{Form, Negative, Ssi, SsiStart};
use self::sgd::WeightForm;
use self::strips::Latent;
use super::epochs::learn_at;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::space::{DIM, Varied};
use super::{FitReport, Maps, StepsReport};
use crate::features::{Counts, Features, Featurizer};
use crate::linalg::Dense;
use crate::params::check::bad_state;
use crate::plan::{Fit, Plan};
use crate::{Error, Result};

impl Method for Ssi {
    fn check(&self) -> Result<()> {
        self.check_values()
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
        let (rate, note) = self.chosen_rate(&data, &draws, &fitting)?;
        learn_at(rate, |rate| {
            let (matcher, mut report) = self.at(rate).learn(&data, &draws, &fitting)?;
            report.notes.extend(note.clone());
            Ok((matcher, report))
        })
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
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
                return Err(bad_state(format!("{} weights of the identity, not one", kept.len())));
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

    /// Clicked pairs are drawn uniformly.
    fn weighs_clicks(&self) -> bool {
        false
    }

    fn learns_from_clicks(&self) -> bool {
        true
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        self.planned(&fit)
    }

    fn published(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("form", "low_rank"),
            ("identity", "true"),
            ("start", "normal"),
            ("batch", "1"),
            ("rates", "[0.001, 0.01, 0.1, 1.0]"),
            ("negative", "uniform"),
        ]
    }

    /// Without keys that have no effect.
    fn search_space(&self) -> Vec<Varied> {
        let mut space = Vec::new();
        if self.form.has_maps() {
            space.push(DIM);
        }
        if self.rates.is_empty() {
            space.push(("rate", "{ min = 0.005, max = 0.3, log = true }"));
        }
        if self.form.has_maps() && self.start == SsiStart::Scaled {
            space.push(("init_scale", "{ min = 0.1, max = 1.5, log = true }"));
        }
        if self.identity {
            space.push(("identity_weight", "{ min = 0.5, max = 20.0, log = true }"));
        }
        space.push(("negative", "[\"uniform\", \"popularity\", \"bm25\"]"));
        space
    }
}

/// Turns the seed of U into that of V.
const V_SALT: u64 = 0x5eed_0000_0000_0001;
/// Turns the seed of the first model into that of the second.
const RARE_SALT: u64 = 0x5eed_0000_0000_0002;

/// Sets the rows of `map` to zero that are not in `seen`: they would stay random.
fn keep_rows(mut map: Dense, seen: &[bool]) -> Dense {
    for (row, _) in seen.iter().enumerate().filter(|(_, seen)| !**seen) {
        map.row_mut(row).fill(0.0);
    }
    map
}

impl Ssi {
    /// The same at this rate.
    fn at(&self, rate: f64) -> Ssi {
        Ssi { rate, ..self.clone() }
    }

    /// The rate with the least training loss after a few epochs, and a note about all of them, if there
    /// is a choice.
    fn chosen_rate(
        &self,
        data: &Data,
        draws: &Draws<'_>,
        fitting: &Fitting<'_>,
    ) -> Result<(f64, Option<String>)> {
        let epochs = self.epochs_of_a_choice();
        // Validation is not asked: it would stop some rates earlier than others.
        let training =
            Fitting { counts: fitting.counts, init: None, scorer: None, run: fitting.run };
        let mut losses = Vec::with_capacity(self.rates.len());
        for &rate in &self.rates {
            let loss = match (Ssi { epochs, ..self.at(rate) }).learn(data, draws, &training) {
                Ok((_, report)) => report.steps.last().map_or(0.0, |figures| figures[sgd::LOSS]),
                Err(Error::NotFinite { .. }) => f64::INFINITY,
                Err(error) => return Err(error),
            };
            losses.push((rate, loss));
        }
        let Some(&(best, _)) = losses.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Ok((self.rate, None));
        };
        let told = losses.iter().map(|&(rate, loss)| match loss.is_finite() {
            true => format!("{loss:.4} at {rate}"),
            false => format!("divergence at {rate}"),
        });
        let told = told.collect::<Vec<_>>().join(", ");
        let note = format!("rate = {best}, chosen by the training loss of epoch {epochs}: {told}");
        Ok((best, Some(note)))
    }

    /// Learns at `self.rate`.
    fn learn(
        &self,
        data: &Data,
        draws: &Draws<'_>,
        fitting: &Fitting<'_>,
    ) -> Result<(Box<dyn Matcher>, StepsReport)> {
        let n = data.n_features();
        let map = |salt: u64| match draws.queries().next() {
            Some(_) => self.map(n, salt),
            // Without training the map would stay random.
            None => Dense::zeros(n, self.dim),
        };
        // U and V of a view, zero except for the words of training queries and of documents.
        let maps = |view: usize, salt: u64| {
            let (asked, answered) = data.seen(view, draws.queries(), draws.documents());
            [keep_rows(map(salt), &asked), keep_rows(map(salt ^ V_SALT), &answered)]
        };
        let mut shape: Box<dyn WeightForm> = match self.form {
            Form::LowRank if self.rare => {
                let (frequent, rare) = (maps(0, 0), maps(1, RARE_SALT));
                Box::new(mixed::Mixed::new(&frequent.each_ref(), &rare.each_ref())?)
            }
            Form::LowRank => Box::new(Latent::new(0, &maps(0, 0).each_ref())?),
            Form::Symmetric if self.rare => {
                Box::new(mixed::Mixed::new(&[&map(0)], &[&map(RARE_SALT)])?)
            }
            Form::Symmetric => Box::new(Latent::new(0, &[&map(0)])?),
            Form::Diagonal => Box::new(diagonal::Diagonal { weights: vec![0.0; n] }),
            Form::Full => {
                Box::new(full::Full::new(n, fitting.run.memory_left() / 2, self.diagonal))
            }
            Form::Hash => Box::new(hashed::Hashed::new(self.weights)),
        };
        sgd::fit(self, &mut *shape, data, draws, fitting)
    }

    /// A random map.
    fn map(&self, n_features: usize, salt: u64) -> Dense {
        let mut map = Dense::gaussian(n_features, self.dim, self.seed ^ salt);
        let scale = match self.start {
            SsiStart::Scaled => (self.init_scale / (self.dim as f64).sqrt()) as f32,
            SsiStart::Normal => return map,
        };
        map.values_mut().iter_mut().for_each(|value| *value *= scale);
        map
    }
}
