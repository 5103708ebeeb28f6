//! W = D: a weight for every word.
//!
//! ```text
//! D_ss ← D_ss + λ·q_s·(d⁺ − d⁻)_s
//! ```

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Moved, WeightForm, look_all};
use crate::Result;
use crate::matchers::Maps;

/// What is learnt beside the identity: a weight for every feature.
pub(super) struct Diagonal {
    pub weights: Vec<f32>,
}

impl Diagonal {
    fn look(&self, data: &Data, triple: Triple) -> f32 {
        let [query, good, bad] = data.features(triple);
        query.iter().map(|(s, q)| q * self.weights[s as usize] * (good.get(s) - bad.get(s))).sum()
    }
}

impl WeightForm for Diagonal {
    /// A query has few words: the moves are nothing to share among threads.
    fn turn(
        &mut self,
        data: &Data,
        moved: &[Moved],
        now: &[Triple],
        rate: f32,
        scores: &mut [f32],
    ) -> Result<()> {
        for moved in moved {
            let [query, good, bad] = data.features(moved.triple);
            for (s, q) in query.iter() {
                self.weights[s as usize] += rate * q * (good.get(s) - bad.get(s));
            }
        }
        look_all(now, scores, |triple| self.look(data, triple));
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
