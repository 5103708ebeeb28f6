//! A snapshot: documents, text index and models of one moment. A request uses one snapshot from
//! beginning to end; changes make a new one, so no answer mixes two moments.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use liken::index::DocSet;

use super::docs::{Chunk, Ids};
use super::rankers::Rankers;
use super::served::ServedModel;
use super::view::ModelView;
use crate::text::{TextSnapshot, Writer};
use crate::types::ModelRef;

/// A snapshot of the index, for callers whose several requests must agree.
pub struct Snapshot(pub(super) Arc<IndexState>);

impl Snapshot {
    /// The active models, in the order of the index.
    pub fn models(&self) -> impl Iterator<Item = &ServedModel> {
        self.0.models.iter().map(|view| &*view.served)
    }

    /// The number of documents.
    pub fn documents(&self) -> usize {
        self.0.alive
    }

    /// Counts the documents that differ from the dataset.
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

/// The numbers of documents of an index that differ from its dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Documents that were added or replaced after the index was built.
    pub added: usize,
    /// Documents of the dataset that were deleted or replaced.
    pub removed: usize,
}

/// The contents of a snapshot.
#[derive(Clone)]
pub(crate) struct IndexState {
    /// The ids of the dataset's documents.
    pub base: Arc<Ids>,
    /// Documents that were written after the index was built.
    pub chunks: Vec<Arc<Chunk>>,
    /// Numbers of deleted or replaced documents.
    pub dead: DocSet,
    /// The number of documents.
    pub alive: usize,
    /// All numbers are below this one.
    pub end: u32,
    pub text: TextSnapshot,
    /// The active models, in the order of the index.
    pub models: Vec<ModelView>,
    /// Their features of models are scores of the models of this snapshot.
    pub rankers: Arc<Rankers>,
    /// The last change that this snapshot includes.
    pub applied: u64,
}

/// The state of the thread that makes the next snapshot.
#[derive(Default)]
pub(super) struct SnapshotMaker {
    /// Dropped after an error, with its uncommitted changes, and then opened again.
    pub writer: Option<Writer>,
    /// The models in memory: the active versions and those active before them.
    pub loaded: HashMap<ModelRef, Arc<ServedModel>>,
    /// Earlier snapshots that requests may still use.
    pub in_use: Vec<Weak<IndexState>>,
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
