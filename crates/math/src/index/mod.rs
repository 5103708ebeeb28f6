//! Nearest-neighbour search among embeddings of documents, by dot product.
//!
//! Up to about a hundred thousand embeddings, search is exact ([`Embeddings::nearest`]). Beyond, it
//! is an inverted file ([`Lists`]): embeddings are assigned to lists, and a search probes the most
//! promising ones. Building measures how many probes reach the requested recall. Every score is the
//! exact dot product, the same bits as the matcher's; only the choice of documents is approximate.
//!
//! Sparse vectors have an inverted index ordered by impact instead ([`PostingIndex`]).

mod best;
mod build;
mod codes;
mod docset;
mod embeddings;
mod exact;
mod kmeans;
mod lists;
mod mapped;
mod params;
mod postings;
mod recall;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

pub use docset::DocSet;
pub use embeddings::Embeddings;
pub use lists::{Effort, Lists};
pub use params::{IndexParams, Report};
pub use postings::{PostingIndex, PostingReport};
pub use recall::MEASURED;

use crate::ranking::Hit;
use crate::{Error, Result, Run};

/// The file of the embeddings in the folder of an index.
pub const EMBEDDINGS_FILE: &str = "images.bin";
/// The file of the lists in the folder of an index.
pub const LISTS_FILE: &str = "lists.bin";

/// With fewer allowed documents than this, search is always exact.
const FEW_ALLOWED: usize = 4096;
/// The cost of an exact product in products of codes: four times the bytes, and not sequential.
const EXACT_COST: usize = 4;

/// The embeddings of documents, and lists if there are many.
pub struct EmbeddingIndex {
    /// The embeddings, in the order of the documents' numbers.
    pub embeddings: Embeddings,
    /// The inverted lists; `None` if search is exact.
    pub lists: Option<Lists>,
}

impl EmbeddingIndex {
    /// Builds lists for the embeddings in `folder` ([`EMBEDDINGS_FILE`]) if there are enough of them.
    /// Recall is measured with the first [`MEASURED`] of `queries`, concatenated embeddings of queries.
    /// They may be empty, but real queries give a better estimate.
    pub fn build(
        folder: &Path,
        params: &IndexParams,
        queries: &[f32],
        run: &Run<'_>,
    ) -> Result<Self> {
        params.check()?;
        let embeddings = Embeddings::open(&folder.join(EMBEDDINGS_FILE))?;
        if !queries.len().is_multiple_of(embeddings.dim()) {
            let expected = format!("a multiple of the embeddings' {} numbers", embeddings.dim());
            return Err(Error::parameter("numbers of queries", queries.len(), &expected));
        }
        let path = folder.join(LISTS_FILE);
        // Lists of earlier embeddings could not be opened.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path)(error));
            }
            _ => {}
        }
        let lists = match embeddings.n_rows() > params.exact_below {
            true => Some(build::build(&path, &embeddings, params, queries, run)?),
            false => None,
        };
        Ok(EmbeddingIndex { embeddings, lists })
    }

    /// Opens the index that [`EmbeddingIndex::build`] wrote to `folder`.
    pub fn open(folder: &Path) -> Result<Self> {
        let embeddings = Embeddings::open(&folder.join(EMBEDDINGS_FILE))?;
        let path = folder.join(LISTS_FILE);
        let there = path.try_exists().map_err(Error::io("read", &path))?;
        let lists = there.then(|| Lists::open(&path, &embeddings)).transpose()?;
        Ok(EmbeddingIndex { embeddings, lists })
    }

    /// The `k` nearest embeddings of `query`, largest score first, equal scores by number; only those
    /// in `allowed`, if it is given. Scores are exact; without lists, or if few documents are
    /// allowed, so is the choice.
    ///
    /// # Panics
    /// If the query has not as many numbers as the embeddings.
    pub fn nearest(&self, query: &[f32], k: usize, allowed: Option<&DocSet>) -> Vec<Hit> {
        let Some(lists) = &self.lists else { return self.embeddings.nearest(query, k, allowed) };
        let n = self.embeddings.n_rows();
        let allowed_len = allowed.map_or(n, DocSet::len);
        let effort = lists.effort(k, allowed_len as f64 / n.max(1) as f64);
        // The cost of probing lists, to be compared with that of exact search.
        let listed = lists.n_coded() / lists.len().max(1) * effort.probes
            + k.saturating_mul(effort.rescore).min(n) * EXACT_COST;
        if allowed_len <= FEW_ALLOWED || allowed_len.saturating_mul(EXACT_COST) <= listed {
            return self.embeddings.nearest(query, k, allowed);
        }
        lists.nearest(&self.embeddings, query, k, allowed, effort)
    }

    /// The measured recall and cost; `None` if search is exact.
    pub fn report(&self) -> Option<&Report> {
        self.lists.as_ref().map(Lists::report)
    }
}
