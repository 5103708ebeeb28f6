//! The writer of the text index.

use serde_json::{Map, Value};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, NoMergePolicy};
use tantivy::{IndexWriter, TantivyError, Term};

use super::{TextError, TextIndex, Tokens};

/// Bytes for documents that are not yet on disk, for small changes.
const LIVE_MEMORY: usize = 32 << 20;
/// The least memory of a thread that tantivy accepts.
const LEAST_MEMORY: usize = 16 << 20;
/// More threads would make many small segments, which have to be merged.
const MOST_THREADS: usize = 4;

/// Changes a text index; there is one writer at a time. Changes become visible and durable with
/// [`Writer::commit`].
pub struct Writer {
    writer: IndexWriter,
    index: TextIndex,
}

impl Writer {
    pub(super) fn live(index: TextIndex) -> Result<Self, TextError> {
        let writer = Self::with(index, 1, LIVE_MEMORY)?;
        // A commit each second makes a small segment each second: a few of them are merged in the
        // background. A segment that has lost a third of its documents is rewritten without them.
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(6);
        policy.set_min_layer_size(5_000);
        policy.set_del_docs_ratio_before_merge(0.33);
        writer.writer.set_merge_policy(Box::new(policy));
        Ok(writer)
    }

    pub(super) fn batch(index: TextIndex, memory: usize) -> Result<Self, TextError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (memory / LEAST_MEMORY).clamp(1, cores.min(MOST_THREADS));
        let writer = Self::with(index, threads, memory / threads)?;
        writer.writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(writer)
    }

    fn with(index: TextIndex, threads: usize, memory: usize) -> Result<Self, TextError> {
        // Above 4 GB a thread cannot address what it holds.
        let memory = memory.clamp(LEAST_MEMORY, 3 << 30);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(memory)
            .num_merge_threads(1)
            .build();
        let writer = index
            .inner
            .index
            .writer_with_options(options)
            .map_err(|error| TextError::of(&index.inner.folder, error))?;
        let writer = Writer { writer, index };
        // Removes files of an unfinished commit: they are named by its number, which the next commit
        // uses again.
        writer.writer.garbage_collect_files().wait().map_err(|error| writer.failed(error))?;
        Ok(writer)
    }

    /// Adds the document with the number `no`, which must be new: its words, and the fields for
    /// filters.
    pub fn add(
        &mut self,
        no: u32,
        tokens: &Tokens,
        fields: &Map<String, Value>,
    ) -> Result<(), TextError> {
        let document = self.index.inner.fields.document(no, tokens, fields);
        self.writer.add_document(document).map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Removes the document with the number `no`, if there is one.
    pub fn remove(&mut self, no: u32) {
        let term = Term::from_field_u64(self.index.inner.fields.number, u64::from(no));
        self.writer.delete_term(term);
    }

    /// Writes all changes to disk and lets new snapshots see them; `sequence` is the number of the
    /// last change, which [`TextIndex::applied`] returns.
    pub fn commit(&mut self, sequence: u64) -> Result<(), TextError> {
        self.write(sequence).map_err(|error| self.failed(error))?;
        self.index.refresh()
    }

    /// Commits, and merges all segments into one, which is searched fastest.
    pub fn finish(mut self, sequence: u64) -> Result<(), TextError> {
        self.commit(sequence)?;
        let merge = |writer: &mut IndexWriter| -> Result<(), TantivyError> {
            let segments = writer.index().searchable_segment_ids()?;
            if segments.len() > 1 {
                writer.merge(&segments).wait()?;
            }
            Ok(())
        };
        merge(&mut self.writer).map_err(|error| self.failed(error))?;
        let index = self.index.clone();
        let failed = |error| TextError::of(&index.inner.folder, error);
        self.writer.wait_merging_threads().map_err(failed)?;
        index.refresh()
    }

    fn write(&mut self, sequence: u64) -> Result<(), TantivyError> {
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&sequence.to_string());
        commit.commit()?;
        Ok(())
    }

    fn failed(&self, error: TantivyError) -> TextError {
        TextError::of(&self.index.inner.folder, error)
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("index", &self.index).finish_non_exhaustive()
    }
}
