//! What a request sees from beginning to end: one generation of documents, text index and models.
//! Changes make a new one; requests that run keep theirs, so no answer mixes two.

use std::sync::Arc;

use liken::index::DocSet;

use super::docs::{Chunk, Ids};
use super::rankers::Rankers;
use super::served::Served;
use super::view::View;
use crate::text::Snapshot;

/// What was there at one moment, for those who ask for several things that must fit together.
pub struct Generation(pub(super) Arc<State>);

impl Generation {
    /// The active models, in the order of the index.
    pub fn models(&self) -> impl Iterator<Item = &Served> {
        self.0.models.iter().map(|view| &*view.served)
    }

    /// How many documents can be found.
    pub fn documents(&self) -> usize {
        self.0.alive
    }

    /// How its documents differ from those of the dataset.
    pub fn changed(&self) -> Changed {
        let state = &self.0;
        let later = state.chunks.iter().flat_map(|chunk| &chunk.numbers);
        let later = later.filter(|&&no| !state.dead.contains(no)).count();
        Changed { later, gone: (state.base.len() + later).saturating_sub(state.alive) }
    }

    /// The names of the rankers.
    pub fn rankers(&self) -> Vec<String> {
        self.0.rankers.names()
    }
}

/// How the documents of an index differ from those of its dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Documents that came later, new or in the place of others.
    pub later: usize,
    /// Documents of the dataset that were deleted or replaced.
    pub gone: usize,
}

/// One generation of everything.
pub(crate) struct State {
    /// The ids of the dataset's documents.
    pub base: Arc<Ids>,
    /// Documents that came later.
    pub chunks: Vec<Arc<Chunk>>,
    /// Numbers that no longer stand.
    pub dead: DocSet,
    /// How many documents can be found.
    pub alive: usize,
    /// All numbers are below this one.
    pub end: u32,
    pub text: Snapshot,
    /// The active models, in the order of the index.
    pub models: Vec<View>,
    /// They score with the models of this generation.
    pub rankers: Arc<Rankers>,
    /// The last change that this generation sees.
    pub applied: u64,
}

impl State {
    /// The id of document `no`; empty if there is none.
    pub fn id(&self, no: u32) -> &str {
        self.base.get(no).unwrap_or_else(|| {
            let chunk = self
                .chunks
                .partition_point(|chunk| chunk.numbers.last().is_some_and(|&last| last < no));
            let found = self.chunks.get(chunk).and_then(|chunk| Some((chunk, chunk.find(no)?)));
            found.map_or("", |(chunk, at)| &chunk.ids[at])
        })
    }
}
