//! Two models: W = W₁ + μ·W₂, the first over the most frequent words as they are, the second over
//! all other words through their bins. The mixing factor μ starts at 1 and is learnt with them:
//!
//! ```text
//! μ ← μ + λ·qᵀW₂(d⁺ − d⁻)
//! ```

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Moved, WeightForm};
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
    /// Begins with these maps, one or two for each model.
    pub fn new(frequent: &[&Dense], rare: &[&Dense]) -> Result<Self> {
        let (frequent, rare) = (Latent::new(0, frequent)?, Latent::new(1, rare)?);
        Ok(Mixed { frequent, rare, factor: 1.0, of_rare: Vec::new() })
    }
}

impl WeightForm for Mixed {
    fn turn(
        &mut self,
        data: &Data,
        moved: &[Moved],
        now: &[Triple],
        rate: f32,
        scores: &mut [f32],
    ) -> Result<()> {
        let before = self.factor;
        moved.iter().for_each(|moved| self.factor += rate * self.of_rare[moved.slot]);
        self.of_rare.resize(now.len(), 0.0);
        self.frequent.turn(data, moved, now, rate, scores)?;
        self.rare.turn(data, moved, now, rate * before, &mut self.of_rare)?;
        scores.iter_mut().zip(&self.of_rare).for_each(|(score, rare)| *score += self.factor * rare);
        Ok(())
    }

    /// A word has an embedding in the space of its model alone; the factor is part of U.
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
