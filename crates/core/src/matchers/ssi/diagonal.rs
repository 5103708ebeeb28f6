//! W = D: a weight for every word.

use super::fitted::Learnt;
use super::sgd::{Data, Shape, Slot, Triple, violating};
use crate::Result;

/// What is learnt beside the identity: a weight for every feature.
pub(super) struct Diagonal {
    pub weights: Vec<f32>,
}

impl Shape for Diagonal {
    type Look = ();

    fn look(&self, data: &Data, triple: Triple, (): &mut ()) -> f32 {
        let (query, good, bad) = data.features(triple);
        query.iter().map(|(s, q)| q * self.weights[s as usize] * (good.get(s) - bad.get(s))).sum()
    }

    /// A query has few words: nothing to share among threads.
    fn step(&mut self, data: &Data, slots: &[Slot<()>], rate: f32) -> Result<()> {
        for (triple, ()) in violating(slots) {
            let (query, good, bad) = data.features(triple);
            for (s, q) in query.iter() {
                self.weights[s as usize] += rate * q * (good.get(s) - bad.get(s));
            }
        }
        Ok(())
    }

    fn learnt(&self, data: &Data) -> Result<Learnt> {
        let mut weights = vec![0.0; data.n_words()];
        for (feature, &weight) in self.weights.iter().enumerate() {
            weights[data.word(feature) as usize] = weight;
        }
        Ok(Learnt::Diagonal(weights))
    }

    fn touched(&self, query: usize, _: usize) -> u64 {
        query as u64
    }
}
