//! R-LTR, relational learning to rank. The score of a document after the documents S is
//! ```text
//! f_S(d) = ω_r·x_d + ω_d·h_S(d)
//! ```
//! with the relevance scores x_d and the distances h_S(d) from S: for each similarity, the minimum,
//! mean or maximum of 1 − similarity(d, s) over s in S (or all three), and 0 if S is empty. A result
//! page is built greedily by the largest f.
//!
//! Zhu, Lan, Guo, Cheng, Niu, Learning for search result diversification, SIGIR 2014. `fit.rs` learns
//! the weights.

mod fit;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, GreedyState, greedy_order};
use crate::eval::diversity::ALPHA;
use crate::{Error, Result};

/// The relational function: how the distances to several documents are aggregated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relational {
    /// The distance to the nearest.
    Minimal,
    /// The average distance.
    Average,
    /// The distance to the furthest.
    Maximal,
    /// All three, each with a weight.
    #[default]
    All,
}

impl Relational {
    /// The names of the aggregates, in the order of their weights.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Relational::Minimal => &["minimal"],
            Relational::Average => &["average"],
            Relational::Maximal => &["maximal"],
            Relational::All => &["minimal", "average", "maximal"],
        }
    }
}

/// Parameters of R-LTR.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RLtrParams {
    /// Aggregation of the distances to the documents chosen so far: minimal, average, maximal or all.
    pub relational: Relational,
    /// The number of first places of the ideal result page to learn from.
    pub top: usize,
    /// α of the ideal result page: the share of a subtopic's gain that one answer removes.
    pub alpha: f64,
    /// ℓ2 penalties to try, from the largest on; the best on validation is kept, the smallest without validation.
    pub penalties: Vec<f64>,
    /// Stop after this many penalties that are no better on validation; 0 tries all.
    pub patience: usize,
}

impl Default for RLtrParams {
    fn default() -> Self {
        RLtrParams {
            relational: Relational::default(),
            top: 10,
            alpha: ALPHA,
            penalties: vec![1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001],
            patience: 4,
        }
    }
}

impl RLtrParams {
    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        if self.top == 0 {
            return Err(Error::parameter("top", 0, "1 or more places"));
        }
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(Error::parameter("alpha", self.alpha, "a share from 0 to 1"));
        }
        if self.penalties.is_empty() {
            return Err(Error::parameter("penalties", "[]", "at least one, such as [0.01]"));
        }
        if let Some(wrong) = self.penalties.iter().find(|p| !(p.is_finite() && **p > 0.0)) {
            return Err(Error::parameter("penalties", wrong, "finite numbers above 0"));
        }
        Ok(())
    }

    /// Sets the parameter `key` to `value`, written as in TOML; a bare word is text.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        *self = crate::params::edited(self, |params| crate::params::set_key(params, key, value))?;
        Ok(())
    }
}

/// The weights of R-LTR.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RLtr {
    /// Aggregation of the distances to several documents.
    pub relational: Relational,
    /// One weight per relevance score. In single precision, so that a JSON file holds them exactly.
    pub relevance: Vec<f32>,
    /// For each similarity, one weight per aggregate of `relational`.
    pub relations: Vec<f32>,
}

impl RLtr {
    /// The order of `candidates`: the best `k` chosen greedily, then the others in their original
    /// order. Of equal candidates the first is chosen. Weights without a score or similarity, and
    /// the reverse, are ignored.
    pub fn order(&self, candidates: &Candidates, k: usize) -> Vec<usize> {
        let numbers = self.relational.names().len();
        let n_kinds = (self.relations.len() / numbers).min(candidates.similarities().n_kinds());
        let relevance = (0..candidates.len()).map(|candidate| {
            let products = self.relevance.iter().zip(candidates.relevance(candidate));
            products.fold(0.0, |sum, (&weight, value)| sum + f64::from(weight) * value)
        });
        let mut state = PageState {
            weights: &self.relations[..n_kinds * numbers],
            relevance: relevance.collect(),
            distances: Distances::new(self.relational, candidates.len(), n_kinds),
            candidates,
        };
        greedy_order(candidates.len(), k, &mut state)
    }
}

struct PageState<'a> {
    weights: &'a [f32],
    relevance: Vec<f64>,
    distances: Distances,
    candidates: &'a Candidates,
}

impl GreedyState for PageState<'_> {
    fn value(&self, candidate: usize) -> f64 {
        let relations = self.weights.iter().enumerate();
        relations.fold(self.relevance[candidate], |sum, (number, &weight)| {
            sum + f64::from(weight) * self.distances.of(candidate, number)
        })
    }

    fn choose(&mut self, chosen: usize, left: &[usize]) {
        self.distances.n_chosen += 1;
        for &candidate in left {
            for kind in 0..self.distances.n_kinds {
                let similarity = self.candidates.similarities().of(kind, candidate, chosen);
                self.distances.add(candidate, kind, 1.0 - similarity);
            }
        }
    }
}

/// h_S: the distances of candidates from the chosen ones.
struct Distances {
    relational: Relational,
    n_kinds: usize,
    n_chosen: usize,
    /// For every candidate and similarity, the minimum, the sum and the maximum.
    values: Vec<[f64; 3]>,
}

impl Distances {
    fn new(relational: Relational, n: usize, n_kinds: usize) -> Self {
        Distances { relational, n_kinds, n_chosen: 0, values: vec![[0.0; 3]; n * n_kinds] }
    }

    /// Adds the distance to the last chosen document, after it was counted in `n_chosen`.
    fn add(&mut self, candidate: usize, kind: usize, distance: f64) {
        let value = &mut self.values[candidate * self.n_kinds + kind];
        *value = match (self.n_chosen, *value) {
            (1, _) => [distance; 3],
            (_, [least, sum, most]) => [least.min(distance), sum + distance, most.max(distance)],
        };
    }

    /// The distance at `place`: for each similarity, the aggregates of `relational`.
    fn of(&self, candidate: usize, place: usize) -> f64 {
        let (kind, which) = match self.relational {
            Relational::Minimal => (place, 0),
            Relational::Average => (place, 1),
            Relational::Maximal => (place, 2),
            Relational::All => (place / 3, place % 3),
        };
        let value = self.values[candidate * self.n_kinds + kind][which];
        if which == 1 && self.n_chosen > 1 { value / self.n_chosen as f64 } else { value }
    }
}
