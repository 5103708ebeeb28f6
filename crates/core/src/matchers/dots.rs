//! Matchers whose score is the dot product of a sparse query vector and a sparse row of a document.
//! They differ only in what the features are and in how the vectors are made.

use std::borrow::Cow;
use std::sync::Arc;

use super::method::SparseVectors;
use super::sparse_vector::{SparseVector, row_of};
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
        self.docs.touch(docs);
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

/// Vectors of queries and documents over the same features, whose dot products are the scores:
/// every such type is a [`Matcher`].
pub(super) trait Vectors: Send + Sync {
    /// The documents' vectors.
    fn rows(&self) -> &DocRows;

    /// The query's vector.
    fn vector(&self, counts: &Counts, query: &QueryTerms) -> SparseVector;

    /// A feature as explanations show it, of the query and of the document: a term, unless told
    /// otherwise, or after the last term the document's length.
    fn feature(&self, counts: &Counts, feature: u32) -> (String, String) {
        let name = match (feature as usize) < counts.n_terms() {
            true => counts.vocabulary.term(feature),
            false => "the document's length",
        };
        (name.to_owned(), name.to_owned())
    }

    /// [`Matcher::no_match`].
    fn no_match(&self) -> &'static str {
        "no document has a word of the query"
    }

    /// [`Matcher::is_lexical`].
    fn is_lexical(&self) -> bool {
        false
    }

    /// Whether an inverted index of the vectors is worth having: not if the text index finds the same
    /// documents, and not with a feature that all documents have.
    fn is_sparse(&self) -> bool {
        false
    }

    /// [`Matcher::save_state`].
    fn save_state<'a>(&'a self, _tensors: &mut TensorsWriter<'a>) {}

    /// [`Matcher::with_documents`].
    fn with_documents(&self, _counts: &Counts, _n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }
}

impl<V: Vectors> Matcher for V {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        self.rows().score_all(row_of(&self.vector(counts, query)), out);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        self.rows().score_some(row_of(&self.vector(counts, query)), docs, out);
    }

    /// The features that query and document share.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let mut contributions = Vec::new();
        let vector = self.vector(counts, query);
        self.rows().shared(row_of(&vector), doc, |feature, weight, value| {
            let (query, doc) = self.feature(counts, feature);
            let value = f64::from(weight) * f64::from(value);
            contributions.push(Contribution { query, doc, value });
        });
        contributions
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        Vectors::save_state(self, tensors);
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Vectors::with_documents(self, counts, n_new)
    }

    fn no_match(&self) -> &'static str {
        Vectors::no_match(self)
    }

    fn is_lexical(&self) -> bool {
        Vectors::is_lexical(self)
    }

    fn sparse(&self) -> Option<&dyn SparseVectors> {
        self.is_sparse().then_some(self)
    }
}

impl<V: Vectors> SparseVectors for V {
    fn lists(&self, _: &Counts) -> Result<Cow<'_, Csr>> {
        Ok(Cow::Borrowed(&self.rows().postings))
    }

    fn weights(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        self.vector(counts, query)
    }
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
