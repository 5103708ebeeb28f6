//! Weights from query features directly to documents: score(x, j) = Σ_u x_u·w_uj, the bilinear form
//! with the documents themselves as their features. A document is only its weights, so one without
//! training clicks scores zero.

use std::borrow::Cow;

use super::method::SparseVectors;
use super::sparse_vector::{SparseVector, row_of};
use super::{Contribution, Matcher};
use crate::Result;
use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::file::TensorsWriter;
use crate::params::check::check_shape;
use crate::sparse::{Csr, Row};

/// A fitted matcher with a weight for every pair of a query feature and a document, most of
/// them zero.
pub struct Direct {
    featurizer: Featurizer,
    /// Query features × documents.
    weights: Csr,
}

impl Direct {
    /// Puts learnt weights together with the counts they were learnt from.
    pub fn new(counts: &Counts, features: &Features, weights: Csr) -> Result<Self> {
        let featurizer = Featurizer::new(counts, features)?;
        check_shape("weights", &weights, featurizer.d_x(), counts.n_docs())?;
        Ok(Direct { featurizer, weights })
    }

    /// The weights, query features × documents.
    pub fn weights(&self) -> &Csr {
        &self.weights
    }
}

impl Matcher for Direct {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        score_row(row_of(&self.featurizer.query_terms(counts, query)), &self.weights, out);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        out.fill(0.0);
        for (u, x) in row_of(&self.featurizer.query_terms(counts, query)).iter() {
            let row = self.weights.row(u as usize);
            for (score, &doc) in out.iter_mut().zip(docs) {
                if let Ok(at) = row.indices.binary_search(&doc) {
                    *score += x * row.values[at];
                }
            }
        }
    }

    /// One contribution per query feature.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let contribution = |(u, x): (u32, f32)| Contribution {
            query: self.featurizer.query_feature(counts, u),
            doc: format!("document {}", counts.doc_ids[doc as usize]),
            value: f64::from(x) * f64::from(self.weights.row(u as usize).get(doc)),
        };
        let features = self.featurizer.query_terms(counts, query);
        let all = row_of(&features).iter().map(contribution);
        all.filter(|contribution| contribution.value != 0.0).collect()
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.csr("weights", &self.weights);
    }

    /// New documents have no weights.
    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let mut starts = self.weights.starts().to_vec();
        // Clicked documents are features of queries; the new ones have no clicks.
        if self.weights.n_rows() > counts.n_terms() {
            starts.resize(starts.len() + n_new, self.weights.nnz() as u64);
        }
        let (indices, values) = (self.weights.indices().to_vec(), self.weights.values().to_vec());
        let weights = Csr::new(self.weights.n_cols() + n_new, starts, indices, values)?;
        Ok(Some(Box::new(Direct::new(counts, self.featurizer.features(), weights)?)))
    }

    fn no_match(&self) -> &'static str {
        "no training query with a click has a word of this one; ridge+bm25 also uses the words of documents"
    }

    fn sparse(&self) -> Option<&dyn SparseVectors> {
        Some(self)
    }
}

impl SparseVectors for Direct {
    fn lists(&self, _: &Counts) -> Result<Cow<'_, Csr>> {
        Ok(Cow::Borrowed(&self.weights))
    }

    fn weights(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        self.featurizer.query_terms(counts, query)
    }
}

/// out = xᵀ·W.
pub(super) fn score_row(x: Row<'_>, weights: &Csr, out: &mut [f32]) {
    out.fill(0.0);
    for (u, x) in x.iter() {
        for (doc, weight) in weights.row(u as usize).iter() {
            out[doc as usize] += x * weight;
        }
    }
}
