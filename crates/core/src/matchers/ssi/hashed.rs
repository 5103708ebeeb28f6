//! W_st = w_h(s,t): pairs of words with the same hash share a weight (hash kernels).
//!
//! ```text
//! h(s, t) = (s·P + t) mod H,   w_h(s,t) ← w_h(s,t) + λ·q_s·(d⁺ − d⁻)_t
//! ```

use std::ops::Range;

use rayon::prelude::*;

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Moved, WeightForm, look_all};
use crate::Result;
use crate::matchers::Maps;
use crate::sparse::Row;

/// P of the hash: a prime far from every power of two, or words side by side would share their
/// weights where H is one. Part of what a model's weights mean: never change it.
const P: u64 = 2_654_435_761;
/// Weights, and cells that a batch moves, below which threads cost more than they bring.
const FEW_WEIGHTS: usize = 1 << 16;
const FEW_CELLS: usize = 1 << 12;

/// The places of the weights of one query word.
#[derive(Clone, Copy)]
pub(super) struct Hashes {
    /// s·P mod H.
    first: usize,
    n: usize,
}

impl Hashes {
    pub fn of(s: u32, n: usize) -> Self {
        Hashes { first: (u64::from(s) * P % n as u64) as usize, n }
    }

    /// h(s, t), without a division where there are as many weights as words.
    #[inline]
    pub fn at(self, t: u32) -> usize {
        let t = t as usize;
        let place = self.first + if t < self.n { t } else { t % self.n };
        if place < self.n { place } else { place - self.n }
    }

    /// The entries of `row` whose hash lies in `span`, in order: a run of it, or a few.
    fn within(self, row: Row<'_>, span: Range<usize>) -> impl Iterator<Item = (u32, f32)> {
        let last = row.indices.last().map_or(0, |&t| t as usize + 1);
        // The t below which hashes are in the span, one turn around the weights after the other.
        let turns = (0..=(last + self.first) / self.n).map(move |turn| {
            let of = |place: usize| (place + turn * self.n).saturating_sub(self.first);
            of(span.start)..of(span.end)
        });
        turns.flat_map(move |run| {
            let start = row.indices.partition_point(|&t| (t as usize) < run.start);
            let rest = &row.indices[start..];
            let end = start + rest.partition_point(|&t| (t as usize) < run.end);
            Row { indices: &row.indices[start..end], values: &row.values[start..end] }.iter()
        })
    }
}

/// What is learnt beside the identity.
pub(super) struct Hashed {
    pub weights: Vec<f32>,
}

impl Hashed {
    pub fn new(n: usize) -> Self {
        Hashed { weights: vec![0.0; n] }
    }

    fn look(&self, data: &Data, triple: Triple) -> f32 {
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

    /// Moves the weights, which are shared out among the threads; every weight gets its moves in
    /// the order of the triples, whoever makes them.
    pub fn step(&mut self, data: &Data, moved: &[Moved], rate: f32, parts: usize) {
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
    fn turn(
        &mut self,
        data: &Data,
        moved: &[Moved],
        now: &[Triple],
        rate: f32,
        scores: &mut [f32],
    ) -> Result<()> {
        let cells: u64 = moved.iter().map(|moved| self.touched(data, moved.triple)).sum();
        let many = self.weights.len() >= FEW_WEIGHTS && cells >= FEW_CELLS as u64;
        let parts = if many { rayon::current_num_threads().max(1) } else { 1 };
        self.step(data, moved, rate, parts);
        look_all(now, scores, |triple| self.look(data, triple));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matchers::Ssi;

    proptest! {
        #[test]
        fn parts_find_every_entry_once_and_in_order(
            s in 0u32..u32::MAX,
            n in 1usize..40,
            part in 1usize..40,
            words in proptest::collection::btree_set(0u32..100, 0..20),
        ) {
            let indices: Vec<u32> = words.into_iter().collect();
            let values = vec![1.0; indices.len()];
            let row = Row { indices: &indices, values: &values };
            let hashes = Hashes::of(s, n);
            let mut found = 0;
            for first in (0..n).step_by(part) {
                let span = first..(first + part).min(n);
                let within: Vec<u32> =
                    hashes.within(row, span.clone()).map(|entry| entry.0).collect();
                let expected: Vec<u32> =
                    indices.iter().copied().filter(|&t| span.contains(&hashes.at(t))).collect();
                found += within.len();
                prop_assert_eq!(within, expected);
            }
            prop_assert_eq!(found, indices.len());
            for &t in &indices {
                let by_definition = (u64::from(s) * P + u64::from(t)) % n as u64;
                prop_assert_eq!(hashes.at(t) as u64, by_definition);
            }
        }
    }

    #[test]
    fn pairs_of_words_spread_over_all_weights() {
        for n in [Ssi::default().weights, 1 << 17, 1_000_000] {
            let mut filled = vec![false; n];
            for s in 0..5000 {
                let hashes = Hashes::of(s, n);
                (0..5000).for_each(|t| filled[hashes.at(t)] = true);
            }
            let share = filled.iter().filter(|&&filled| filled).count() as f64 / n as f64;
            assert!(share > 0.9, "{n}: {share}");
        }
    }
}
