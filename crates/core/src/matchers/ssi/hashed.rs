//! W_st = w_h(s,t): pairs of words with the same hash share a weight (hash kernels).

use super::fitted::Learnt;
use super::sgd::{Data, Shape, Slot, Triple, violating};
use crate::Result;
use crate::sparse::Row;

/// P of the hash, a large prime. Part of what a model's weights mean: never change it.
const P: u64 = 2_147_483_659;

/// h(s, t) = (s·P + t) mod H.
#[inline]
pub(super) fn hash(s: u32, t: u32, n: usize) -> usize {
    ((u64::from(s) * P + u64::from(t)) % n as u64) as usize
}

/// What is learnt beside the identity.
pub(super) struct Hashed {
    weights: Vec<f32>,
}

impl Hashed {
    pub fn new(n: usize) -> Self {
        Hashed { weights: vec![0.0; n] }
    }
}

impl Shape for Hashed {
    type Look = ();

    fn look(&self, data: &Data, triple: Triple, (): &mut ()) -> f32 {
        let (query, good, bad) = data.features(triple);
        let sum = |s: u32, row: Row<'_>| -> f32 {
            row.iter().map(|(t, d)| d * self.weights[hash(s, t, self.weights.len())]).sum()
        };
        query.iter().map(|(s, q)| q * (sum(s, good) - sum(s, bad))).sum()
    }

    /// One after the other: any pair may meet any weight.
    fn step(&mut self, data: &Data, slots: &[Slot<()>], rate: f32) -> Result<()> {
        let n = self.weights.len();
        for (triple, ()) in violating(slots) {
            let (query, good, bad) = data.features(triple);
            for (s, q) in query.iter() {
                for (row, factor) in [(good, rate * q), (bad, -rate * q)] {
                    row.iter().for_each(|(t, d)| self.weights[hash(s, t, n)] += factor * d);
                }
            }
        }
        Ok(())
    }

    fn learnt(&self, _: &Data) -> Result<Learnt> {
        Ok(Learnt::Hashed(self.weights.clone()))
    }

    fn touched(&self, query: usize, docs: usize) -> u64 {
        (query * docs) as u64
    }
}
