//! A snapshot: documents, text index and models of one moment. A request works on one snapshot from
//! beginning to end; changes make a new one, so no answer mixes two moments.

use std::sync::Arc;

use liken::index::DocSet;

use super::docs::{Chunk, Ids};
use super::rankers::Rankers;
use super::served::Served;
use super::view::View;
use crate::text::TextSnapshot;

/// A snapshot of the index, for callers that ask for several things which must fit together.
pub struct Snapshot(pub(super) Arc<IndexState>);

impl Snapshot {
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
        let added = state.chunks.iter().flat_map(|chunk| &chunk.numbers);
        let added = added.filter(|&&no| !state.dead.contains(no)).count();
        Changed { added, removed: (state.base.len() + added).saturating_sub(state.alive) }
    }

    /// The names of the rankers.
    pub fn rankers(&self) -> Vec<String> {
        self.0.rankers.names()
    }
}

/// How the documents of an index differ from those of its dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Documents written after the index was built, new or in the place of others.
    pub added: usize,
    /// Documents of the dataset that were deleted or replaced.
    pub removed: usize,
}

/// The contents of a snapshot.
pub(crate) struct IndexState {
    /// The ids of the dataset's documents.
    pub base: Arc<Ids>,
    /// Documents that were written after the index was built.
    pub chunks: Vec<Arc<Chunk>>,
    /// Numbers of deleted or replaced documents.
    pub dead: DocSet,
    /// How many documents can be found.
    pub alive: usize,
    /// All numbers are below this one.
    pub end: u32,
    pub text: TextSnapshot,
    /// The active models, in the order of the index.
    pub models: Vec<View>,
    /// They score with the models of this snapshot.
    pub rankers: Arc<Rankers>,
    /// The last change that this snapshot includes.
    pub applied: u64,
}

impl IndexState {
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
