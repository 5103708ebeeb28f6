//! Weights that lead from query features straight to documents: score(x, j) = Σ_u x_u·w_uj,
//! the bilinear form with the documents themselves as their features. Nothing is known of a
//! document but its weights, so one that training saw no click of scores zero.

use super::{Contribution, Matcher};
use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::file::TensorsWriter;
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

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
        let expected = (featurizer.d_x(), counts.n_docs());
        if (weights.n_rows(), weights.n_cols()) != expected {
            return Err(Error::Structure {
                problem: format!(
                    "the weights are {} × {}, but there are {} query features and {} documents",
                    weights.n_rows(),
                    weights.n_cols(),
                    expected.0,
                    expected.1
                ),
            });
        }
        Ok(Direct { featurizer, weights })
    }

    /// The weights, query features × documents.
    pub fn weights(&self) -> &Csr {
        &self.weights
    }
}

impl Matcher for Direct {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        score_row(Row { indices: &indices, values: &values }, &self.weights, out);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        out.fill(0.0);
        for (&u, &x) in indices.iter().zip(&values) {
            let row = self.weights.row(u as usize);
            for (score, &doc) in out.iter_mut().zip(docs) {
                if let Ok(at) = row.indices.binary_search(&doc) {
                    *score += x * row.values[at];
                }
            }
        }
    }

    /// What every query feature adds.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let line = |(&u, &x): (&u32, &f32)| Contribution {
            query: self.featurizer.query_feature(counts, u),
            doc: format!("document {}", counts.doc_ids[doc as usize]),
            value: f64::from(x) * f64::from(self.weights.row(u as usize).get(doc)),
        };
        indices.iter().zip(&values).map(line).filter(|line| line.value != 0.0).collect()
    }

    fn keep<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.csr("weights", &self.weights);
    }

    /// New documents have no weights.
    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let mut starts = self.weights.starts().to_vec();
        // Clicked documents are features of queries; nobody clicked the new ones.
        if self.weights.n_rows() > counts.n_terms() {
            starts.resize(starts.len() + n_new, self.weights.nnz() as u64);
        }
        let (indices, values) = (self.weights.indices().to_vec(), self.weights.values().to_vec());
        let weights = Csr::new(self.weights.n_cols() + n_new, starts, indices, values)?;
        Ok(Some(Box::new(Direct::new(counts, self.featurizer.features(), weights)?)))
    }

    fn nothing(&self) -> &'static str {
        "no training query with a click has a word of this one; ridge+bm25 also looks at the documents' words"
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
