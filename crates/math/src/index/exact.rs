//! Exact nearest-neighbour search, by brute force.

use rayon::prelude::*;

use super::best::Best;
use super::{DocSet, Embeddings};
use crate::linalg::{dot, widest};
use crate::ranking::Hit;

/// Rows that stay in a core's cache while all queries are compared with them.
const BLOCK: usize = 64;
/// Rows per task.
const ROWS_PER_TASK: usize = 1 << 14;

impl Embeddings {
    /// The `k` embeddings with the largest dot products with `query`, largest first, equal ones by
    /// number; only those in `allowed`, if it is given. Products that are not finite are left out.
    ///
    /// # Panics
    /// If the query has not as many numbers as the embeddings.
    pub fn nearest(&self, query: &[f32], k: usize, allowed: Option<&DocSet>) -> Vec<Hit> {
        match allowed {
            Some(allowed) => self.nearest_of(query, k, allowed.iter()),
            None => self.nearest_of(query, k, 0..self.n_rows() as u32),
        }
    }

    /// [`Embeddings::nearest`] among the embeddings of `docs`; numbers that no document has are
    /// ignored.
    ///
    /// # Panics
    /// If the query has not as many numbers as the embeddings.
    pub fn nearest_of(
        &self,
        query: &[f32],
        k: usize,
        docs: impl IntoIterator<Item = u32>,
    ) -> Vec<Hit> {
        assert_eq!(query.len(), self.dim(), "a query needs as many numbers as the embeddings");
        if k == 0 {
            return Vec::new();
        }
        let (values, n, dim) = (self.values(), self.n_rows(), self.dim());
        let docs = docs.into_iter();
        let mut best = Best::new(k);
        widest(|| {
            for doc in docs {
                let at = doc as usize;
                if at < n {
                    best.offer(doc, dot(query, &values[at * dim..(at + 1) * dim]));
                }
            }
        });
        best.sorted()
    }

    /// [`Embeddings::nearest`] of many concatenated queries on all threads, in one pass over the
    /// embeddings.
    ///
    /// # Panics
    /// If the last query has not as many numbers as the embeddings.
    pub fn nearest_to_each(&self, queries: &[f32], k: usize) -> Vec<Vec<Hit>> {
        let dim = self.dim();
        assert!(
            queries.len().is_multiple_of(dim),
            "a query needs as many numbers as the embeddings"
        );
        let n_queries = queries.len() / dim;
        let task = |(task, rows): (usize, &[f32])| {
            let mut best: Vec<Best> = (0..n_queries).map(|_| Best::new(k)).collect();
            widest(|| {
                for (block, rows) in rows.chunks(BLOCK * dim).enumerate() {
                    let first = task * ROWS_PER_TASK + block * BLOCK;
                    for (query, best) in queries.chunks_exact(dim).zip(&mut best) {
                        for (at, row) in rows.chunks_exact(dim).enumerate() {
                            best.offer((first + at) as u32, dot(query, row));
                        }
                    }
                }
            });
            best
        };
        let merge = |mut all: Vec<Best>, more: Vec<Best>| {
            all.iter_mut().zip(more).for_each(|(best, more)| best.merge(more));
            all
        };
        // The result does not depend on the order of merges.
        self.values()
            .par_chunks(ROWS_PER_TASK * dim)
            .enumerate()
            .map(task)
            .reduce(|| (0..n_queries).map(|_| Best::new(k)).collect(), merge)
            .into_iter()
            .map(Best::sorted)
            .collect()
    }
}
