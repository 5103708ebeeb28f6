//! W = D: a weight for every word.
//!
//! ```text
//! D_ss ← D_ss + λ·q_s·(d⁺ − d⁻)_s
//! ```

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Batch, WeightForm, score_all};
use crate::Result;
use crate::matchers::Maps;

/// A weight for every feature.
pub(super) struct Diagonal {
    pub weights: Vec<f32>,
}

impl Diagonal {
    fn score(&self, data: &Data, triple: Triple) -> f32 {
        let [query, good, bad] = data.features(triple);
        query.iter().map(|(s, q)| q * self.weights[s as usize] * (good.get(s) - bad.get(s))).sum()
    }
}

impl WeightForm for Diagonal {
    /// A query has few words: the moves are not worth a parallel loop.
    fn step(&mut self, batch: &Batch<'_>, scores: &mut [f32]) -> Result<()> {
        let &Batch { data, moved, now, rate } = batch;
        for moved in moved {
            let [query, good, bad] = data.features(moved.triple);
            for (s, q) in query.iter() {
                self.weights[s as usize] += rate * q * (good.get(s) - bad.get(s));
            }
        }
        score_all(now, scores, |triple| self.score(data, triple));
        Ok(())
    }

    fn learnt(&self, data: &Data) -> Result<Learnt<Maps>> {
        let mut weights = vec![0.0; data.n_words()];
        for (feature, &weight) in self.weights.iter().enumerate() {
            weights[data.word(feature) as usize] = weight;
        }
        Ok(Learnt::Diagonal(weights))
    }

    fn touched(&self, data: &Data, triple: Triple) -> u64 {
        data.features(triple)[0].len() as u64
    }
}
