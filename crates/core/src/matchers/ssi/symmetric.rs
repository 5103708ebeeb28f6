//! W = UᵀU: one map for queries and documents.

use super::fitted::Learnt;
use super::low_rank::Images;
use super::rows::{Move, add_moves};
use super::sgd::{Data, Shape, Slot, Triple, violating};
use crate::Result;
use crate::linalg::Dense;
use crate::matchers::{Map, Maps};

/// The map, features × dimensions.
pub(super) struct Symmetric {
    pub u: Dense,
}

impl Shape for Symmetric {
    type Look = Images;

    fn look(&self, data: &Data, triple: Triple, look: &mut Images) -> f32 {
        look.look(&self.u, &self.u, data, triple)
    }

    fn step(&mut self, data: &Data, slots: &[Slot<Images>], rate: f32) -> Result<()> {
        add_moves(&mut self.u, || {
            violating(slots).flat_map(|(triple, look)| {
                let (query, good, bad) = data.features(triple);
                [
                    Move { row: query, factor: rate, image: &look.difference },
                    Move { row: good, factor: rate, image: &look.query },
                    Move { row: bad, factor: -rate, image: &look.query },
                ]
            })
        });
        Ok(())
    }

    fn learnt(&self, data: &Data) -> Result<Learnt> {
        let map = Map::from(data.of_words(&self.u));
        Ok(Learnt::Maps(Maps { l_x: map.clone(), l_y: map }))
    }

    fn touched(&self, query: usize, docs: usize) -> u64 {
        self.u.n_cols() as u64 * (query + docs) as u64
    }
}
