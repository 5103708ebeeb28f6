//! Sampled negatives: documents without a click for a query, as responses below zero.
//!
//! For a query with p_i pairs of positive response, k·p_i documents are drawn uniformly and
//! without repetition among the training documents that have no pair with it (fewer where
//! there are fewer). With s_i = Σ max(r̃_ij, 0) the sum of its positive responses, after
//! weighting, and m_i documents drawn, each gets
//! ```text
//!   r̃_ij = −w·s_i / m_i
//! ```
//! so that w alone sets the weight of a query's negatives against its clicks, however many are drawn:
//! w = 1 makes the two equal, and with one negative per click and binary responses it is the ±1 of
//! C = M_S − M_D. More of them only reduce noise; in the limit this is a centring by the mean
//! document. n_i of `mean` is counted without them.
//!
//! Each query draws from a stream of its own, so the sample depends on the seed and on the number of
//! the query, never on the threads.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::weighted::Weighted;
use crate::random::Random;
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// The first of the random streams for negatives.
const FIRST_STREAM: u64 = 1 << 40;

/// The number of sampled negatives, and their weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Negatives {
    /// Documents drawn for each clicked pair among those not clicked for the query; 0 draws none.
    pub per_click: usize,
    /// The weight of all negatives of a query together, as a share of its clicks.
    pub weight: f64,
}

impl Default for Negatives {
    fn default() -> Self {
        Negatives { per_click: 0, weight: 0.5 }
    }
}

impl Negatives {
    /// An error if the weight is out of range.
    pub fn check(&self) -> Result<()> {
        if self.weight.is_finite() && self.weight > 0.0 {
            return Ok(());
        }
        Err(Error::parameter("negatives.weight", self.weight, "a finite number above 0"))
    }
}

impl Weighted {
    /// Adds sampled negatives to R̃. None of the documents `held_out`, which are sorted, is drawn.
    pub fn with_negatives(
        self,
        negatives: &Negatives,
        held_out: &[u32],
        seed: u64,
    ) -> Result<Self> {
        negatives.check()?;
        if negatives.per_click == 0 {
            return Ok(self);
        }
        let Weighted { x, y, r } = self;
        let r = Csr::by_rows(r.n_cols(), r.n_rows(), |i| {
            let row = r.row(i);
            let mut random = Random::new(seed, FIRST_STREAM + i as u64);
            Ok(with_drawn(row, r.n_cols() as u32, negatives, held_out, &mut random))
        })?;
        Ok(Weighted { x, y, r })
    }
}

/// A row of R̃ with its negatives.
fn with_drawn(
    row: Row<'_>,
    n_docs: u32,
    negatives: &Negatives,
    held_out: &[u32],
    random: &mut Random,
) -> (Vec<u32>, Vec<f32>) {
    let positive = row.values.iter().filter(|&&value| value > 0.0);
    let sum: f64 = positive.clone().map(|&value| f64::from(value)).sum();
    let wanted = negatives.per_click.saturating_mul(positive.count());
    let drawn = draw(row.indices, n_docs, held_out, wanted, random);
    let response = (-negatives.weight * sum / drawn.len() as f64) as f32;
    let mut pairs: Vec<(u32, f32)> = row.iter().collect();
    pairs.extend(drawn.into_iter().map(|doc| (doc, response)));
    pairs.sort_unstable_by_key(|&(doc, _)| doc);
    pairs.into_iter().unzip()
}

/// `wanted` different documents that are neither `known` nor held out (both sorted), or all of them.
fn draw(
    known: &[u32],
    n_docs: u32,
    held_out: &[u32],
    wanted: usize,
    random: &mut Random,
) -> Vec<u32> {
    let free =
        |doc: &u32| known.binary_search(doc).is_err() && held_out.binary_search(doc).is_err();
    let n_free = n_docs as usize
        - held_out.len()
        - known.iter().filter(|doc| held_out.binary_search(doc).is_err()).count();
    if wanted > n_free / 2 {
        let mut all: Vec<u32> = (0..n_docs).filter(free).collect();
        random.shuffle(&mut all);
        all.truncate(wanted);
        return all;
    }
    let mut taken: HashSet<u32> = HashSet::with_capacity(wanted);
    let mut drawn = Vec::with_capacity(wanted);
    while drawn.len() < wanted {
        let doc = random.below(u64::from(n_docs)) as u32;
        if free(&doc) && taken.insert(doc) {
            drawn.push(doc);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{random_csr, same_at_any_thread_count};
    use crate::sparse::{Csr, explicit_c};

    fn weighted(r: Csr) -> Weighted {
        let (n_x, n_y) = (r.n_rows(), r.n_cols());
        Weighted { x: random_csr(n_x, 6, 2, 1), y: random_csr(n_y, 5, 2, 2), r }
    }

    proptest! {
        #[test]
        fn no_click_and_no_held_out_document_is_ever_drawn(
            seed in 0u64..50,
            per_click in 1usize..6,
            weight in 0.1f64..2.0,
            n_docs in 3usize..40,
        ) {
            let r = random_csr(9, n_docs, 3, seed);
            let held_out = [0u32, 2];
            let negatives = Negatives { per_click, weight };
            let more = weighted(r.clone()).with_negatives(&negatives, &held_out, seed).unwrap().r;
            for i in 0..r.n_rows() {
                let (before, after) = (r.row(i), more.row(i));
                // What was there is there, bit for bit.
                for (doc, value) in before.iter() {
                    prop_assert_eq!(after.get(doc), value);
                }
                let drawn: Vec<(u32, f32)> =
                    after.iter().filter(|&(doc, _)| !before.contains(doc)).collect();
                prop_assert!(drawn.iter().all(|(doc, value)| !held_out.contains(doc) && *value < 0.0));
                let free = (0..n_docs as u32)
                    .filter(|doc| !before.contains(*doc) && !held_out.contains(doc))
                    .count();
                let positive: Vec<f64> =
                    before.values.iter().filter(|v| **v > 0.0).map(|&v| f64::from(v)).collect();
                prop_assert_eq!(drawn.len(), (per_click * positive.len()).min(free));
                if !drawn.is_empty() {
                    let sum: f64 = drawn.iter().map(|&(_, value)| f64::from(value)).sum();
                    let expected = -weight * positive.iter().sum::<f64>();
                    prop_assert!((sum - expected).abs() < 1e-4 * expected.abs().max(1.0));
                }
            }
        }
    }

    #[test]
    fn one_a_click_with_binary_responses_is_m_s_less_m_d() {
        let clicks = Csr::from_triplets(3, 8, vec![(0, 1, 1.0), (0, 4, 1.0), (2, 7, 1.0)]).unwrap();
        let negatives = Negatives { per_click: 1, weight: 1.0 };
        let data = weighted(clicks.clone()).with_negatives(&negatives, &[], 3).unwrap();
        assert_eq!(data.r.nnz(), 6);
        let part = |sign: f32| {
            let rows = data.r.rows().enumerate().flat_map(|(i, row)| {
                row.iter().filter(|(_, v)| *v == sign).map(move |(j, _)| (i as u32, j, 1.0))
            });
            Csr::from_triplets(3, 8, rows.collect()).unwrap()
        };
        let (same, different) = (part(1.0), part(-1.0));
        assert_eq!(same, clicks);
        let c = explicit_c(&data.x, &data.r, &data.y).unwrap();
        let m_s = explicit_c(&data.x, &same, &data.y).unwrap();
        let m_d = explicit_c(&data.x, &different, &data.y).unwrap();
        for u in 0..c.n_rows() {
            for v in 0..c.n_cols() as u32 {
                let expected = m_s.row(u).get(v) - m_d.row(u).get(v);
                assert!((c.row(u).get(v) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn every_document_is_drawn_about_as_often() {
        let clicks = Csr::from_triplets(3000, 12, (0..3000).map(|i| (i, i % 3, 1.0)).collect());
        let negatives = Negatives { per_click: 2, weight: 1.0 };
        let data = weighted(clicks.unwrap()).with_negatives(&negatives, &[11], 1).unwrap();
        let mut drawn = [0usize; 12];
        for row in data.r.rows() {
            row.iter().filter(|(_, v)| *v < 0.0).for_each(|(j, _)| drawn[j as usize] += 1);
        }
        // Ten are free for each query: 600 of each expected of those that nobody clicked.
        assert_eq!((drawn.iter().sum::<usize>(), drawn[11]), (6000, 0));
        assert!(drawn[3..11].iter().all(|n| (510..690).contains(n)), "{drawn:?}");
    }

    #[test]
    fn the_draw_depends_on_the_seed_and_not_on_the_threads() {
        let r = random_csr(2000, 500, 3, 1).map(|_, _, value| value.abs()).unwrap();
        let negatives = Negatives { per_click: 3, weight: 0.5 };
        let drawn = |seed| weighted(r.clone()).with_negatives(&negatives, &[4, 9], seed).unwrap().r;
        same_at_any_thread_count(|| drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let none = Negatives { per_click: 0, weight: 0.5 };
        assert_eq!(weighted(r.clone()).with_negatives(&none, &[], 1).unwrap().r, r);
        let wrong = Negatives { per_click: 1, weight: f64::NAN };
        assert!(weighted(r).with_negatives(&wrong, &[], 1).is_err());
    }
}
