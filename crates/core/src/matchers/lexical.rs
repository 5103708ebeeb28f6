//! What the lexical matchers share: queries and documents are sparse vectors over the same terms,
//! and their dot product is the score. BM25, VSM and the language models differ only in how they
//! fill the vectors.

use std::borrow::Cow;

use super::dots::{DocRows, Vectors};
use super::sparse_vector::SparseVector;
use crate::Result;
use crate::features::{Counts, QueryTerms};
use crate::sparse::{Csr, Row};

/// How the query's side of the dot product is filled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum QuerySide {
    /// The number of times each term occurs.
    Counts,
    /// The same, and the query's length in one more coordinate after the last term.
    CountsAndLength {
        /// The terms that the training documents have.
        known: Vec<bool>,
    },
    /// (1 + ln tf)·idf, scaled to unit norm.
    TfIdf {
        /// The idf of every term.
        idf: Vec<f32>,
    },
}

/// A lexical matcher, ready to score.
#[derive(Debug, Clone, PartialEq)]
pub struct Lexical {
    query_side: QuerySide,
    /// The documents' vectors.
    pub(super) rows: DocRows,
    /// Whether documents have words that are not in their text.
    beyond_text: bool,
}

impl Lexical {
    pub(crate) fn new(query_side: QuerySide, docs: Csr) -> Self {
        Lexical { query_side, rows: DocRows::new(docs), beyond_text: false }
    }

    /// The same for documents with words that are not in their text.
    pub(super) fn beyond_text(self) -> Self {
        Lexical { beyond_text: true, ..self }
    }

    /// The query's vector.
    pub fn query(&self, query: &QueryTerms) -> SparseVector {
        let mut indices = query.indices.clone();
        let mut values = query.counts.clone();
        match &self.query_side {
            QuerySide::Counts => {}
            QuerySide::CountsAndLength { known } => {
                // Words that no training document has weigh nothing, and are dropped from the
                // query's length, too.
                let known = |&(&term, _): &(&u32, &f32)| known[term as usize];
                let length =
                    query.indices.iter().zip(&query.counts).filter(known).map(|(_, &n)| n).sum();
                indices.push(self.rows.docs.n_cols() as u32 - 1);
                values.push(length);
            }
            QuerySide::TfIdf { idf } => {
                for (value, &term) in values.iter_mut().zip(&indices) {
                    *value = (1.0 + value.ln()) * idf[term as usize];
                }
                let norm = Row { indices: &indices, values: &values }.norm() as f32;
                if norm > 0.0 {
                    values.iter_mut().for_each(|value| *value /= norm);
                }
            }
        }
        (indices, values)
    }
}

impl Vectors for Lexical {
    fn rows(&self) -> &DocRows {
        &self.rows
    }

    fn vector(&self, _: &Counts, query: &QueryTerms) -> SparseVector {
        self.query(query)
    }

    fn is_lexical(&self) -> bool {
        true
    }

    fn is_sparse(&self) -> bool {
        self.beyond_text
    }
}

/// Occurrences of every term in the `text` of the training documents.
pub(super) fn occurrences<'a>(counts: &'a Counts, text: &Csr) -> Cow<'a, [f64]> {
    if std::ptr::eq(text, &counts.docs) {
        return Cow::Borrowed(&counts.collection().occurrences);
    }
    let mut found = vec![0.0f64; counts.n_terms()];
    for (j, row) in text.rows().enumerate() {
        if counts.held_out_documents.binary_search(&(j as u32)).is_err() {
            row.iter().for_each(|(term, f)| found[term as usize] += f64::from(f));
        }
    }
    Cow::Owned(found)
}

/// Fills documents × terms with `weight(document, term, count)`; `extra`, if given, fills one
/// more column for every document.
pub(crate) fn weigh(
    counts: &Csr,
    weight: impl Fn(usize, u32, f32) -> f64,
    extra: Option<&dyn Fn(usize) -> f64>,
) -> Result<Csr> {
    let n_terms = counts.n_cols();
    let mut starts = vec![0u64];
    let mut indices = Vec::with_capacity(counts.nnz());
    let mut values = Vec::with_capacity(counts.nnz());
    for (j, row) in counts.rows().enumerate() {
        for (term, count) in row.iter() {
            indices.push(term);
            values.push(weight(j, term, count) as f32);
        }
        if let Some(extra) = extra {
            indices.push(n_terms as u32);
            values.push(extra(j) as f32);
        }
        starts.push(indices.len() as u64);
    }
    Csr::new(n_terms + usize::from(extra.is_some()), starts, indices, values)
}

/// The sum of each row: the lengths of the documents.
pub(crate) fn lengths(counts: &Csr) -> Vec<f64> {
    counts.rows().map(length).collect()
}

/// The sum of a row: the length of a document.
pub(super) fn length(row: Row<'_>) -> f64 {
    row.values.iter().map(|&count| f64::from(count)).sum()
}
