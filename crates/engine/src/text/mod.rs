//! The text index: the documents that contain the words of a query, or that pass a filter.
//!
//! It builds on tantivy and only retrieves candidates, by tantivy's BM25; the scores of results come
//! from the models. Words are those of liken's own analyser, passed as [`Tokens`]. A document has a
//! number of 32 bits, one per version, never used again; ids, fields and texts are in the database.
//!
//! One [`Writer`] changes the index; readers hold a [`TextSnapshot`], which never changes.

mod error;
mod filter;
mod filter_eval;
mod query;
mod schema;
mod snapshot;
mod tokens;
mod writer;

pub use error::TextError;
pub use filter::Filter;
pub use query::TextQuery;
pub use schema::{LONGEST_NAME, LONGEST_VALUE};
pub use snapshot::TextSnapshot;
pub use tokens::Tokens;
pub use writer::Writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexReader, IndexSettings, ReloadPolicy, TantivyError};

use filter_eval::FilterCache;
use schema::Fields;

/// An open text index; clones share it.
#[derive(Clone)]
pub struct TextIndex {
    inner: Arc<Inner>,
}

struct Inner {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    current: RwLock<TextSnapshot>,
}

impl TextIndex {
    /// Makes an empty index in `folder`, and the folder if there is none.
    pub fn create(folder: &Path) -> Result<Self, TextError> {
        let failed = |error: TantivyError| TextError::of(folder, error);
        std::fs::create_dir_all(folder).map_err(|error| failed(error.into()))?;
        let directory = MmapDirectory::open(folder).map_err(|error| failed(error.into()))?;
        if Index::exists(&directory).map_err(|error| failed(error.into()))? {
            return Err(TextError::Exists { folder: folder.into() });
        }
        // Nothing is stored, so a thread for compression would have no work.
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..Default::default() };
        let index = Index::create(directory, schema::schema(), settings).map_err(failed)?;
        Self::with(folder, index)
    }

    /// Opens the index in `folder`.
    pub fn open(folder: &Path) -> Result<Self, TextError> {
        let failed = |error: TantivyError| TextError::of(folder, error);
        if !folder.join("meta.json").exists() {
            return Err(TextError::Missing { folder: folder.into() });
        }
        let directory = MmapDirectory::open(folder).map_err(|error| failed(error.into()))?;
        let index = Index::open(directory).map_err(|error| TextError::broken(folder, &error))?;
        if index.schema() != schema::schema() {
            return Err(TextError::Broken {
                folder: folder.into(),
                reason: "its fields are not those that this version of liken writes".into(),
            });
        }
        Self::with(folder, index)
    }

    fn with(folder: &Path, index: Index) -> Result<Self, TextError> {
        let broken = |error: TantivyError| TextError::broken(folder, &error);
        index.tokenizers().register(tokens::TOKENIZER, tokens::AsWritten::default());
        let fields = Fields::of(&index.schema()).map_err(broken)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(1)
            .try_into()
            .map_err(broken)?;
        let filter_cache = Arc::new(FilterCache::default());
        let current =
            TextSnapshot::of(reader.searcher(), fields, filter_cache, None).map_err(broken)?;
        let folder = folder.into();
        let inner = Inner { folder, index, reader, fields, current: RwLock::new(current) };
        let index = TextIndex { inner: Arc::new(inner) };
        index.applied()?;
        Ok(index)
    }

    /// The number of the last change of the last commit; 0 before the first.
    pub fn applied(&self) -> Result<u64, TextError> {
        let meta = self.inner.index.load_metas().map_err(|error| self.broken(&error))?;
        let Some(payload) = meta.payload else { return Ok(0) };
        payload.parse().map_err(|_| TextError::Broken {
            folder: self.inner.folder.clone(),
            reason: format!("its last commit has {payload:?}, expected the number of a change"),
        })
    }

    /// The snapshot of the last commit.
    pub fn snapshot(&self) -> TextSnapshot {
        self.inner.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets new snapshots use the segments that background merges made since the last commit; their
    /// documents are the same.
    pub fn refresh(&self) -> Result<(), TextError> {
        let failed = |error: TantivyError| TextError::of(&self.inner.folder, error);
        self.inner.reader.reload().map_err(failed)?;
        let searcher = self.inner.reader.searcher();
        let before = self.snapshot();
        let next = before.next(searcher).map_err(failed)?;
        *self.inner.current.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    /// A writer for small changes; an index has one writer at a time.
    pub fn writer(&self) -> Result<Writer, TextError> {
        Writer::live(self.clone())
    }

    /// A writer that fills the index, with about `memory` bytes for documents that are not yet on
    /// disk. Call [`Writer::finish`] at the end.
    pub fn batch_writer(&self, memory: usize) -> Result<Writer, TextError> {
        Writer::batch(self.clone(), memory)
    }

    fn broken(&self, error: &TantivyError) -> TextError {
        TextError::broken(&self.inner.folder, error)
    }
}

impl std::fmt::Debug for TextIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextIndex").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
