//! Two models: W = W₁ + μ·W₂, the first over the most frequent words, the second over all other
//! words through their bins. The mixing factor μ starts at 1 and is learnt:
//!
//! ```text
//! μ ← μ + λ·qᵀW₂(d⁺ − d⁻)
//! ```

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Batch, WeightForm};
use super::strips::Latent;
use crate::Result;
use crate::linalg::Dense;
use crate::matchers::{Map, Maps};

/// Both models.
pub(super) struct Mixed {
    pub frequent: Latent,
    pub rare: Latent,
    pub factor: f32,
    /// qᵀW₂(d⁺ − d⁻) of the last batch.
    of_rare: Vec<f32>,
}

impl Mixed {
    /// Starts with these maps, one or two for each model.
    pub fn new(frequent: &[&Dense], rare: &[&Dense]) -> Result<Self> {
        let (frequent, rare) = (Latent::new(0, frequent)?, Latent::new(1, rare)?);
        Ok(Mixed { frequent, rare, factor: 1.0, of_rare: Vec::new() })
    }
}

impl WeightForm for Mixed {
    fn step(&mut self, batch: &Batch<'_>, scores: &mut [f32]) -> Result<()> {
        let before = self.factor;
        let moves = batch.moved.iter().map(|moved| batch.rate * self.of_rare[moved.slot]);
        moves.for_each(|by| self.factor += by);
        self.of_rare.resize(batch.now.len(), 0.0);
        self.frequent.step(batch, scores)?;
        let of_rare = Batch { rate: batch.rate * before, ..*batch };
        self.rare.step(&of_rare, &mut self.of_rare)?;
        scores.iter_mut().zip(&self.of_rare).for_each(|(score, rare)| *score += self.factor * rare);
        Ok(())
    }

    /// A word has an embedding only in the space of its model; U contains the factor.
    fn learnt(&self, data: &Data) -> Result<Learnt<Maps>> {
        let ((u, v), (rare_u, rare_v)) = (self.frequent.of_words(data), self.rare.of_words(data));
        let map = |first: &Dense, second: &Dense, factor: f32| {
            let at = first.n_cols();
            let both = Dense::from_fn(first.n_rows(), at + second.n_cols(), |i, j| {
                if j < at { first.row(i)[j] } else { factor * second.row(i)[j - at] }
            });
            Map::from(both)
        };
        let (l_x, l_y) = (map(&u, &rare_u, self.factor), map(&v, &rare_v, 1.0));
        Ok(Learnt::Latent(Maps { l_x, l_y }))
    }

    fn touched(&self, data: &Data, triple: Triple) -> u64 {
        self.frequent.touched(data, triple) + self.rare.touched(data, triple)
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("mixing factor", self.factor.into())]
    }
}
