//! W = UᵀV: queries and documents are mapped into one latent space, each by a map of its own.

use super::fitted::Learnt;
use super::rows::{Move, add_image, add_moves};
use super::sgd::{Data, Shape, Slot, Triple, violating};
use crate::Result;
use crate::linalg::{Dense, dot};
use crate::matchers::{Map, Maps};

/// Both maps, features × dimensions.
pub(super) struct LowRank {
    pub u: Dense,
    pub v: Dense,
}

/// The images of a triple.
#[derive(Default)]
pub(super) struct Images {
    /// Uq.
    pub query: Vec<f32>,
    /// V(d⁺ − d⁻).
    pub difference: Vec<f32>,
}

impl Images {
    /// The images under `u` and `v`, and their dot product.
    pub fn look(&mut self, u: &Dense, v: &Dense, data: &Data, triple: Triple) -> f32 {
        for image in [&mut self.query, &mut self.difference] {
            image.clear();
            image.resize(u.n_cols(), 0.0);
        }
        let (query, good, bad) = data.features(triple);
        add_image(u, query, 1.0, &mut self.query);
        add_image(v, good, 1.0, &mut self.difference);
        add_image(v, bad, -1.0, &mut self.difference);
        dot(&self.query, &self.difference)
    }
}

impl Shape for LowRank {
    type Look = Images;

    fn look(&self, data: &Data, triple: Triple, look: &mut Images) -> f32 {
        look.look(&self.u, &self.v, data, triple)
    }

    fn step(&mut self, data: &Data, slots: &[Slot<Images>], rate: f32) -> Result<()> {
        add_moves(&mut self.u, || {
            violating(slots).map(|(triple, look)| {
                let (row, ..) = data.features(triple);
                Move { row, factor: rate, image: &look.difference }
            })
        });
        add_moves(&mut self.v, || {
            violating(slots).flat_map(|(triple, look)| {
                let (_, good, bad) = data.features(triple);
                let of = |row, factor| Move { row, factor, image: &look.query };
                [of(good, rate), of(bad, -rate)]
            })
        });
        Ok(())
    }

    fn learnt(&self, data: &Data) -> Result<Learnt> {
        let of = |map: &Dense| Map::from(data.of_words(map));
        Ok(Learnt::Maps(Maps { l_x: of(&self.u), l_y: of(&self.v) }))
    }

    fn touched(&self, query: usize, docs: usize) -> u64 {
        self.u.n_cols() as u64 * (query + docs) as u64
    }
}
