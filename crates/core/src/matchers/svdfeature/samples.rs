//! The samples of training: every clicked pair once per epoch, in random order, each with documents
//! drawn among those not clicked for its query. The order of an epoch and the documents of a pair
//! depend only on the seed and on their numbers.

use rayon::prelude::*;

use super::{Loss, SvdFeature};
use crate::Result;
use crate::features::{Counts, no_training_clicks};
use crate::matchers::unclicked::Unclicked;
use crate::random::Random;
use crate::sparse::{Csr, Row};

/// Streams of random numbers from here on belong to drawn documents, and from the second on to
/// the orders of epochs.
const DRAWS: u64 = 1 << 42;
const ORDERS: u64 = 1 << 43;
/// The share of clicks is kept this far from 0 and 1, so that its odds are finite.
const LEAST_SHARE: f64 = 1e-3;

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub query: u32,
    pub doc: u32,
    /// The document that `doc` should rank above.
    pub other: Option<u32>,
    /// The value to be reached; 1 or 0 for `logistic`.
    pub target: f32,
    pub weight: f32,
}

/// Queries, documents and the pairs between them.
pub(super) struct Samples<'a> {
    unclicked: Unclicked<'a>,
    /// Queries × features, all of them.
    pub x: Csr,
    /// Documents × features, all of them.
    pub y: Csr,
    /// The global feature of every document, if there is one.
    pub popularity: Vec<f32>,
    pairs: Vec<(u32, u32, f32)>,
    loss: Loss,
    /// Samples of one pair.
    per_pair: usize,
    seed: u64,
}

impl<'a> Samples<'a> {
    /// Leaves out queries and documents without features: nothing can be learnt of them.
    pub fn of(params: &SvdFeature, counts: &'a Counts, x: Csr, y: Csr) -> Result<Self> {
        let unclicked = Unclicked::of(counts, &y);
        let response = |clicks: f32| match params.loss {
            // Dislikes are targets like any other, or documents that were not clicked.
            Loss::Squared | Loss::Logistic => params.response.of(clicks),
            Loss::Pairwise => params.response.of(clicks.max(0.0)),
        };
        let mut pairs: Vec<(u32, u32, f32)> = (0u32..)
            .zip(counts.clicks.rows())
            .filter(|&(query, _)| !x.row(query as usize).is_empty())
            .flat_map(|(query, row)| row.iter().map(move |(doc, clicks)| (query, doc, clicks)))
            .filter(|&(_, doc, _)| unclicked.is_free(doc))
            .map(|(query, doc, clicks)| (query, doc, response(clicks)))
            .filter(|&(.., response)| response != 0.0)
            .collect();
        if pairs.iter().all(|&(.., response)| response <= 0.0) {
            return Err(no_training_clicks());
        }
        pairs.par_sort_unstable_by_key(|&(query, doc, _)| (query, unclicked.place(doc)));
        Ok(Samples {
            unclicked,
            x,
            y,
            popularity: if params.popularity { popularity(counts) } else { Vec::new() },
            pairs,
            loss: params.loss,
            per_pair: params.samples_per_pair(),
            seed: params.seed,
        })
    }

    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Samples of an epoch.
    pub fn len(&self) -> usize {
        self.pairs.len() * self.per_pair
    }

    /// Whether there is any sample: `pairwise` needs a document that was not clicked.
    pub fn any(&self) -> bool {
        self.queries().next().is_some()
    }

    /// The queries of samples, once or more.
    fn queries(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let queries = self.pairs.iter().map(|&(query, ..)| query);
        match self.loss {
            Loss::Pairwise => Box::new(self.unclicked.with_others(queries)),
            Loss::Squared | Loss::Logistic => Box::new(queries),
        }
    }

    /// Which features of queries and of documents samples can have.
    pub fn touched(&self) -> (Vec<bool>, Vec<bool>) {
        let rows = |row: u32| row as usize;
        let docs = self.unclicked.free().iter().copied();
        (self.x.columns_of(self.queries().map(rows)), self.y.columns_of(docs.map(rows)))
    }

    /// μ of the formula.
    pub fn base(&self) -> f32 {
        let per_pair = self.per_pair as f64;
        let responses = || self.pairs.iter().map(|&(.., response)| f64::from(response));
        match self.loss {
            Loss::Pairwise => 0.0,
            Loss::Squared => (responses().sum::<f64>() / (per_pair * self.n_pairs() as f64)) as f32,
            Loss::Logistic => {
                let clicked: f64 = responses().filter(|&response| response > 0.0).sum();
                let all: f64 = responses().map(f64::abs).sum::<f64>() * per_pair;
                let share = (clicked / all).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
                (share / (1.0 - share)).ln() as f32
            }
        }
    }

    /// The order in which epoch `epoch` sees the pairs.
    pub fn order(&self, epoch: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.pairs.len() as u32).collect();
        Random::new(self.seed, ORDERS + epoch as u64).shuffle(&mut order);
        order
    }

    /// Sample number `number` of an epoch; `None` if every document was clicked for its query.
    pub fn draw(&self, epoch: usize, order: &[u32], number: usize) -> Option<Sample> {
        let (query, doc, response) = self.pairs[order[number / self.per_pair] as usize];
        let place = number % self.per_pair;
        let (target, weight) = match self.loss {
            Loss::Squared => (response, 1.0),
            Loss::Logistic | Loss::Pairwise => (f32::from(response > 0.0), response.abs()),
        };
        if self.loss != Loss::Pairwise && place == 0 {
            return Some(Sample { query, doc, other: None, target, weight });
        }
        let at = (epoch * self.len() + number) as u64;
        let drawn = self.unclicked.draw(query, &mut Random::new(self.seed, DRAWS + at))?;
        Some(match self.loss {
            Loss::Pairwise => Sample { query, doc, other: Some(drawn), target, weight },
            _ => Sample { query, doc: drawn, other: None, target: 0.0, weight },
        })
    }

    /// The features of the query.
    pub fn query(&self, sample: Sample) -> Row<'_> {
        self.x.row(sample.query as usize)
    }

    /// The features of the document, less those of the other where there is one; and the same of
    /// the global feature.
    pub fn doc(&self, sample: Sample, features: &mut (Vec<u32>, Vec<f32>)) -> f32 {
        let (indices, values) = features;
        indices.clear();
        values.clear();
        let good = self.y.row(sample.doc as usize);
        let global = |doc: u32| self.popularity.get(doc as usize).copied().unwrap_or(0.0);
        let Some(other) = sample.other else {
            indices.extend_from_slice(good.indices);
            values.extend_from_slice(good.values);
            return global(sample.doc);
        };
        let bad = self.y.row(other as usize);
        let (mut i, mut j) = (0, 0);
        while i < good.len() || j < bad.len() {
            let (a, b) = (good.indices.get(i), bad.indices.get(j));
            let first = a.is_some_and(|a| b.is_none_or(|b| a <= b));
            let second = b.is_some_and(|b| a.is_none_or(|a| b <= a));
            let plus = if first { good.values[i] } else { 0.0 };
            let minus = if second { bad.values[j] } else { 0.0 };
            indices.push(if first { good.indices[i] } else { bad.indices[j] });
            values.push(plus - minus);
            i += usize::from(first);
            j += usize::from(second);
        }
        global(sample.doc) - global(other)
    }
}

/// ln(1 + clicks) of every document, divided by the maximum.
pub(super) fn popularity(counts: &Counts) -> Vec<f32> {
    let clicks = counts.clicks_by_document();
    let most = clicks.iter().fold(0.0f64, |most, &n| most.max(n)).ln_1p();
    clicks.iter().map(|n| if most > 0.0 { (n.ln_1p() / most) as f32 } else { 0.0 }).collect()
}
