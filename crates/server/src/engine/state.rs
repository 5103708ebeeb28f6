//! What a request sees from beginning to end: one generation of documents, text index and models.
//! Changes make a new one; requests that run keep theirs, so no answer mixes two.

use std::sync::Arc;

use liken::index::DocSet;

use super::docs::{Chunk, Ids};
use super::rankers::Rankers;
use super::served::View;
use crate::text::Snapshot;

/// Up to this many documents every model scores every document: that is exact, and quick enough.
pub(crate) const EXACT_BELOW: usize = 100_000;

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

    /// Whether every model scores every document.
    pub fn is_small(&self) -> bool {
        self.alive <= EXACT_BELOW
    }
}
