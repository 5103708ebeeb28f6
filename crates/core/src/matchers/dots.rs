//! What matchers of sparse vectors share: a query becomes a sparse vector over the features
//! that the documents have, and the dot product is the score. They differ only in what the
//! features are and in how the query's vector is made.

use std::ops::AddAssign;
use std::sync::Arc;

use super::{Contribution, Matcher};
use crate::Result;
use crate::features::{Counts, QueryTerms};
use crate::file::TensorsWriter;
use crate::sparse::{Csr, Row};

/// The documents' vectors, from both sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DocRows {
    /// Documents × features.
    pub docs: Arc<Csr>,
    /// Features × documents, the same numbers.
    pub postings: Csr,
}

impl DocRows {
    pub fn new(docs: Csr) -> Self {
        DocRows::over(Arc::new(docs))
    }

    /// The same of rows that others hold, too.
    pub fn over(docs: Arc<Csr>) -> Self {
        let postings = docs.transpose();
        DocRows { docs, postings }
    }

    /// Whether `term` weighs anything: where training has it, it does in every document.
    pub fn weighs(&self, term: u32) -> bool {
        self.postings.row(term as usize).values.first().is_some_and(|&weight| weight != 0.0)
    }

    /// Scores every document, feature by feature through the postings.
    pub fn score_all(&self, query: Row<'_>, out: &mut [f32]) {
        out.fill(0.0);
        self.add_all(query, out);
    }

    /// Adds the scores of every document to `out`.
    pub fn add_all(&self, query: Row<'_>, out: &mut [f32]) {
        for (feature, weight) in query.iter() {
            for (doc, value) in self.postings.row(feature as usize).iter() {
                out[doc as usize] += weight * value;
            }
        }
    }

    /// Scores the documents `docs`: the same sums in the same order, so the same bits.
    pub fn score_some(&self, query: Row<'_>, docs: &[u32], out: &mut [f32]) {
        out.fill(0.0);
        self.add_some(query, docs, out);
    }

    /// Adds the scores of the documents `docs` to `out`, in the same order.
    pub fn add_some(&self, query: Row<'_>, docs: &[u32], out: &mut [f32]) {
        // Rows lie far apart in memory. Asked for all at once, they come together; the searches
        // below would wait for one after the other.
        let touch = |&doc: &u32| {
            let indices = self.docs.row(doc as usize).indices;
            indices.first()?.checked_add(indices[indices.len() / 2])
        };
        std::hint::black_box(docs.iter().filter_map(touch).fold(0, u32::wrapping_add));
        for (score, &doc) in out.iter_mut().zip(docs) {
            self.shared(query, doc, |_, weight, value| *score += weight * value);
        }
    }

    /// Gives every feature that query and document share to `take`, with both values, in the
    /// order of the features. The longer side is searched.
    pub fn shared(&self, query: Row<'_>, doc: u32, mut take: impl FnMut(u32, f32, f32)) {
        let row = self.docs.row(doc as usize);
        if query.len() <= row.len() {
            for (feature, weight) in query.iter() {
                if let Ok(at) = row.indices.binary_search(&feature) {
                    take(feature, weight, row.values[at]);
                }
            }
        } else {
            for (feature, value) in row.iter() {
                if let Ok(at) = query.indices.binary_search(&feature) {
                    take(feature, query.values[at], value);
                }
            }
        }
    }
}

/// A sparse vector: features, sorted, and their values.
pub(super) type SparseVector = (Vec<u32>, Vec<f32>);

/// Vectors of queries and documents over the same features.
pub(super) trait Vectors: Send + Sync {
    /// The documents' vectors.
    fn rows(&self) -> &DocRows;

    /// The query's vector.
    fn vector(&self, counts: &Counts, query: &QueryTerms) -> SparseVector;

    /// A feature for people: what it is to the query, and to the document.
    fn feature(&self, counts: &Counts, feature: u32) -> (String, String);

    /// What it means that every document scores 0.
    fn nothing(&self) -> &'static str;

    /// Puts what was learnt where a model folder keeps it.
    fn keep<'a>(&'a self, _tensors: &mut TensorsWriter<'a>) {}

    /// The same for `counts` whose last `n_new` documents training did not know; `None` if it
    /// follows from the counts.
    fn with_documents(&self, _counts: &Counts, _n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }
}

/// A fitted matcher whose scores are dot products of sparse vectors.
pub(super) struct Dots<V>(pub V);

impl<V: Vectors> Matcher for Dots<V> {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let (indices, values) = self.0.vector(counts, query);
        self.0.rows().score_all(Row { indices: &indices, values: &values }, out);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let (indices, values) = self.0.vector(counts, query);
        self.0.rows().score_some(Row { indices: &indices, values: &values }, docs, out);
    }

    /// The features that query and document share.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (indices, values) = self.0.vector(counts, query);
        let mut lines = Vec::new();
        let row = Row { indices: &indices, values: &values };
        self.0.rows().shared(row, doc, |feature, weight, value| {
            let (query, doc) = self.0.feature(counts, feature);
            lines.push(Contribution { query, doc, value: f64::from(weight) * f64::from(value) });
        });
        lines
    }

    fn keep<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.0.keep(tensors);
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        self.0.with_documents(counts, n_new)
    }

    fn nothing(&self) -> &'static str {
        self.0.nothing()
    }
}

/// Σ_k weight_k·row_k of sparse rows, summed in f64 in the order given.
pub(super) fn weighted_sum<'a>(rows: impl Iterator<Item = (f64, Row<'a>)>) -> Vec<(u32, f64)> {
    let mut parts: Vec<(u32, f64)> = Vec::new();
    for (weight, row) in rows {
        parts.extend(row.iter().map(|(feature, value)| (feature, weight * f64::from(value))));
    }
    summed(parts)
}

/// Sorted by feature, the values of each added in the order given.
pub(super) fn summed<V: Copy + AddAssign>(mut parts: Vec<(u32, V)>) -> Vec<(u32, V)> {
    // A stable sort, so that parts are added in one order.
    parts.sort_by_key(|&(feature, _)| feature);
    parts.dedup_by(|part, sum| {
        let same = part.0 == sum.0;
        if same {
            sum.1 += part.1;
        }
        same
    });
    parts
}

/// The same numbers as a sparse vector of single precision.
pub(super) fn single(vector: Vec<(u32, f64)>) -> SparseVector {
    vector.into_iter().map(|(feature, value)| (feature, value as f32)).unzip()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{Naive, sparse_triple};

    proptest! {
        #[test]
        fn some_scores_are_the_bits_of_all_and_both_are_dense_products(
            (x, _, y) in sparse_triple(),
        ) {
            // Queries over the features of documents: the widths may differ.
            let n_cols = x.n_cols().max(y.n_cols());
            let (x, y) = (x.widened(n_cols).unwrap(), y.widened(n_cols).unwrap());
            let expected = Naive::of(&x).times(&Naive::of(&y).transpose());
            let rows = DocRows::new(y);
            let docs: Vec<u32> = (0..rows.docs.n_rows() as u32).collect();
            for (i, query) in x.rows().enumerate() {
                let (mut all, mut some) = (vec![1.0; docs.len()], vec![2.0; docs.len()]);
                rows.score_all(query, &mut all);
                rows.score_some(query, &docs, &mut some);
                prop_assert_eq!(&all, &some);
                for (j, &found) in all.iter().enumerate() {
                    let e = expected.get(i, j);
                    prop_assert!((f64::from(found) - e).abs() < 1e-4 * (1.0 + e.abs()));
                }
            }
        }
    }
}
