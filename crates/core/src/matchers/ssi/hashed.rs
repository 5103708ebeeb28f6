//! W_st = w_h(s,t): pairs of words with the same hash share a weight (hash kernels).
//!
//! ```text
//! h(s, t) = (s·P + t) mod H,   w_h(s,t) ← w_h(s,t) + λ·q_s·(d⁺ − d⁻)_t
//! ```

use rayon::prelude::*;

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::hashes::Hashes;
use super::sgd::{Batch, WeightForm, score_all};
use crate::Result;
use crate::matchers::Maps;
use crate::sparse::Row;

/// Fewest weights, and cells moved by a batch, for which parallel moves pay off.
const FEW_WEIGHTS: usize = 1 << 16;
const FEW_CELLS: usize = 1 << 12;

/// The shared weights.
pub(super) struct Hashed {
    pub weights: Vec<f32>,
}

impl Hashed {
    pub fn new(n: usize) -> Self {
        Hashed { weights: vec![0.0; n] }
    }

    fn score(&self, data: &Data, triple: Triple) -> f32 {
        let [query, good, bad] = data.features(triple);
        let of = |(s, q): (u32, f32)| {
            let hashes = Hashes::of(s, self.weights.len());
            let sum = |row: Row<'_>| -> f32 {
                row.iter().map(|(t, d)| d * self.weights[hashes.at(t)]).sum()
            };
            q * (sum(good) - sum(bad))
        };
        query.iter().map(of).sum()
    }

    /// Moves the weights in `parts` parallel parts; every weight gets its moves in the order of the
    /// triples.
    pub fn update(&mut self, &Batch { data, moved, rate, .. }: &Batch<'_>, parts: usize) {
        let n = self.weights.len();
        let part = n.div_ceil(parts);
        let make = |(number, weights): (usize, &mut [f32])| {
            let first = number * part;
            let span = first..first + weights.len();
            for moved in moved {
                let [query, good, bad] = data.features(moved.triple);
                for (s, q) in query.iter() {
                    let hashes = Hashes::of(s, n);
                    for (row, factor) in [(good, rate * q), (bad, -rate * q)] {
                        if parts == 1 {
                            row.iter().for_each(|(t, d)| weights[hashes.at(t)] += factor * d);
                        } else {
                            for (t, d) in hashes.within(row, span.clone()) {
                                weights[hashes.at(t) - first] += factor * d;
                            }
                        }
                    }
                }
            }
        };
        if parts == 1 {
            return make((0, &mut self.weights));
        }
        self.weights.par_chunks_mut(part).enumerate().for_each(make);
    }
}

impl WeightForm for Hashed {
    fn step(&mut self, batch: &Batch<'_>, scores: &mut [f32]) -> Result<()> {
        let &Batch { data, moved, now, .. } = batch;
        let cells: u64 = moved.iter().map(|moved| self.touched(data, moved.triple)).sum();
        let many = self.weights.len() >= FEW_WEIGHTS && cells >= FEW_CELLS as u64;
        let parts = if many { rayon::current_num_threads().max(1) } else { 1 };
        self.update(batch, parts);
        score_all(now, scores, |triple| self.score(data, triple));
        Ok(())
    }

    fn learnt(&self, _: &Data) -> Result<Learnt<Maps>> {
        Ok(Learnt::Hashed(self.weights.clone()))
    }

    fn touched(&self, data: &Data, triple: Triple) -> u64 {
        let [query, good, bad] = data.features(triple);
        (query.len() * (good.len() + bad.len())) as u64
    }
}
