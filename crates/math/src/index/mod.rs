//! The embeddings of documents under a model, and the nearest of them: those with the largest dot
//! products with the embedding of a query.
//!
//! Up to about a hundred thousand embeddings all of them are looked at ([`Embeddings::nearest`]). Beyond,
//! they are assigned to lists of which a search goes through those that promise most ([`Lists`]); how
//! many these are is measured when the lists are made, so that a share of the exact neighbours
//! that is asked for is found. Every score is the exact dot product, the same bits as the
//! matcher's; only which documents are found is approximate.

mod best;
mod build;
mod codes;
mod docset;
mod embeddings;
mod exact;
mod kmeans;
mod lists;
mod mapped;
mod recall;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use docset::DocSet;
pub use embeddings::Embeddings;
pub use lists::{Effort, Lists};
pub use recall::MEASURED;

use crate::ranking::Hit;
use crate::{Error, Result, Run};

/// The file of the embeddings in their folder.
pub const EMBEDDINGS_FILE: &str = "images.bin";
/// The file of the lists in their folder.
pub const LISTS_FILE: &str = "lists.bin";

/// Fewer allowed documents than this are always looked at one by one.
const FEW_ALLOWED: usize = 4096;
/// What an exact product costs in products of codes: four times the bytes, not one after another.
const EXACT_COST: usize = 4;

/// How an index of embeddings is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexParams {
    /// Up to this many embeddings no lists are made.
    pub exact_below: usize,
    /// The share of the exact neighbours that a search shall find.
    pub recall: f64,
    /// How many lists; 4·√n if none is said.
    pub lists: Option<usize>,
    /// Rounds of k-means.
    pub rounds: usize,
    /// How much a list's spread counts beside its centre when lists are chosen, in standard
    /// deviations.
    pub reach: f32,
    /// What random choices depend on.
    pub seed: u64,
}

impl Default for IndexParams {
    fn default() -> Self {
        IndexParams {
            exact_below: 100_000,
            recall: 0.97,
            lists: None,
            rounds: 8,
            reach: 2.0,
            seed: 0,
        }
    }
}

impl IndexParams {
    fn check(&self) -> Result<()> {
        if !(self.recall > 0.0 && self.recall <= 1.0) {
            return Err(Error::parameter("recall", self.recall, "above 0 and at most 1"));
        }
        if self.lists == Some(0) {
            return Err(Error::parameter("lists", 0, "1 or more"));
        }
        if !(self.reach.is_finite() && self.reach >= 0.0) {
            return Err(Error::parameter("reach", self.reach, "0 or more"));
        }
        Ok(())
    }
}

/// What was measured when lists were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How many lists there are.
    pub lists: usize,
    /// How many of them a search for 10 neighbours goes through.
    pub probes: usize,
    /// How many of them a search for 100 neighbours goes through.
    pub probes_at_100: usize,
    /// Exact products that it computes for each neighbour asked for.
    pub rescore: usize,
    /// The share of the 10 exact neighbours that are found.
    pub recall_at_10: f64,
    /// The share of the 100 exact neighbours that are found.
    pub recall_at_100: f64,
    /// Queries that were measured with.
    pub queries: usize,
    /// Bytes of the file.
    pub bytes: u64,
}

impl Report {
    fn to_fields(&self, fields: &mut [u64]) {
        let numbers = [
            self.probes as u64,
            self.probes_at_100 as u64,
            self.rescore as u64,
            self.recall_at_10.to_bits(),
            self.recall_at_100.to_bits(),
            self.queries as u64,
        ];
        fields[5..11].copy_from_slice(&numbers);
    }

    fn from_fields(fields: &[u64], bytes: u64) -> Self {
        let number = |at: usize| usize::try_from(fields[at]).unwrap_or(usize::MAX);
        Report {
            lists: number(3),
            probes: number(5),
            probes_at_100: number(6),
            rescore: number(7),
            recall_at_10: f64::from_bits(fields[8]),
            recall_at_100: f64::from_bits(fields[9]),
            queries: number(10),
            bytes,
        }
    }
}

/// The embeddings of documents, and lists of them where there are many.
pub struct EmbeddingIndex {
    /// The embeddings.
    pub embeddings: Embeddings,
    /// Their lists.
    pub lists: Option<Lists>,
}

impl EmbeddingIndex {
    /// Makes lists of the embeddings in `folder` ([`EMBEDDINGS_FILE`]) if there are enough of them.
    /// `queries` are embeddings of queries, one after another, with which recall is measured (the
    /// first [`MEASURED`] are taken); none will do, but those of real queries say more.
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
        // Those of embeddings that were here before would be refused.
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

    /// Opens what [`EmbeddingIndex::build`] left in `folder`.
    pub fn open(folder: &Path) -> Result<Self> {
        let embeddings = Embeddings::open(&folder.join(EMBEDDINGS_FILE))?;
        let path = folder.join(LISTS_FILE);
        let there = path.try_exists().map_err(Error::io("read", &path))?;
        let lists = there.then(|| Lists::open(&path, &embeddings)).transpose()?;
        Ok(EmbeddingIndex { embeddings, lists })
    }

    /// The `k` nearest embeddings of `query`, the largest score first, of equal ones the lower
    /// number; only those in `allowed`, where it is given, and as many as there are then. Scores
    /// are exact; without lists, or where few are allowed, so is the choice.
    ///
    /// # Panics
    /// If the query has not as many numbers as the embeddings.
    pub fn nearest(&self, query: &[f32], k: usize, allowed: Option<&DocSet>) -> Vec<Hit> {
        let Some(lists) = &self.lists else { return self.embeddings.nearest(query, k, allowed) };
        let n = self.embeddings.n_rows();
        let allowed_len = allowed.map_or(n, DocSet::len);
        let effort = lists.effort(k, allowed_len as f64 / n.max(1) as f64);
        // What going through lists costs, and what looking at all that are allowed.
        let listed = lists.n_coded() / lists.len().max(1) * effort.probes
            + k.saturating_mul(effort.rescore).min(n) * EXACT_COST;
        if allowed_len <= FEW_ALLOWED || allowed_len.saturating_mul(EXACT_COST) <= listed {
            return self.embeddings.nearest(query, k, allowed);
        }
        lists.nearest(&self.embeddings, query, k, allowed, effort)
    }

    /// The shares of exact neighbours that are found, and at what cost; `None` if all are.
    pub fn report(&self) -> Option<&Report> {
        self.lists.as_ref().map(Lists::report)
    }
}
