//! A fitted factorisation, ready to score: the dot product of the embeddings, and the biases.

use super::samples::popularity;
use crate::Result;
use crate::features::{Counts, Features, QueryTerms};
use crate::file::{Tensors, TensorsWriter};
use crate::linalg::dot;
use crate::matchers::{Bilinear, Contribution, Maps, Matcher};
use crate::params::check::bad_state;
use crate::sparse::{Csr, Row};

/// All learnt parameters except the maps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Biases {
    /// μ and b_g.
    pub shared: [f32; 2],
    /// b_u.
    pub x: Vec<f32>,
    /// b_v.
    pub y: Vec<f32>,
}

impl Biases {
    pub fn read(tensors: &Tensors) -> Result<Self> {
        let (_, shared) = tensors.array::<f32>("shared")?;
        let [base, global] = shared[..] else {
            return Err(bad_state(format!("there are {} shared numbers, not 2", shared.len())));
        };
        let (x, y) = (tensors.array("bias_x")?.1, tensors.array("bias_y")?.1);
        Ok(Biases { shared: [base, global], x, y })
    }

    /// Whether the score is the dot product alone.
    fn are_zero(&self) -> bool {
        self.shared.iter().chain(&self.x).chain(&self.y).all(|&bias| bias == 0.0)
    }
}

/// Σ value·bias of a row of features.
pub(super) fn bias_of(row: Row<'_>, biases: &[f32]) -> f32 {
    row.iter().map(|(feature, value)| value * biases[feature as usize]).sum()
}

/// The part of a document's scores that does not depend on the query: its biases and popularity.
pub(super) fn doc_biases(y: &Csr, biases: &Biases, popularity: &[f32]) -> Vec<f32> {
    let global = |doc: usize| biases.shared[1] * popularity.get(doc).copied().unwrap_or(0.0);
    (0..y.n_rows()).map(|doc| bias_of(y.row(doc), &biases.y) + global(doc)).collect()
}

/// One score, with the same order of sums everywhere.
pub(super) fn score(query: &[f32], query_bias: f32, doc: &[f32], doc_bias: f32) -> f32 {
    dot(query, doc) + (query_bias + doc_bias)
}

/// A fitted matcher.
pub(super) struct Factors {
    latent: Bilinear,
    biases: Biases,
    /// The global feature of every document; none if its weight is 0.
    popularity: Vec<f32>,
    docs: Vec<f32>,
}

impl Factors {
    /// Puts what was learnt together with the counts it was learnt from.
    pub fn new(counts: &Counts, features: &Features, maps: Maps, biases: Biases) -> Result<Self> {
        if (biases.x.len(), biases.y.len()) != (maps.l_x.n_rows(), maps.l_y.n_rows()) {
            return Err(bad_state(format!(
                "there are {} and {} biases, but maps of {} and {} features",
                biases.x.len(),
                biases.y.len(),
                maps.l_x.n_rows(),
                maps.l_y.n_rows()
            )));
        }
        let latent = Bilinear::new(counts, features, maps)?;
        let popularity = if biases.shared[1] != 0.0 { popularity(counts) } else { Vec::new() };
        let docs = doc_biases(latent.docs(), &biases, &popularity);
        Ok(Factors { latent, biases, popularity, docs })
    }

    /// The embedding of a query, and the part of its scores that does not depend on the document.
    fn query(&self, counts: &Counts, query: &QueryTerms) -> (Vec<f32>, f32) {
        let (indices, values) = self.latent.featurizer().query_terms(counts, query);
        let bias = bias_of(Row { indices: &indices, values: &values }, &self.biases.x);
        (self.latent.query_embedding(counts, query), self.biases.shared[0] + bias)
    }
}

impl Matcher for Factors {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let (embedding, bias) = self.query(counts, query);
        for (doc, out) in out.iter_mut().enumerate() {
            *out = score(&embedding, bias, &self.latent.doc_embedding(doc as u32), self.docs[doc]);
        }
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let (embedding, bias) = self.query(counts, query);
        for (out, &doc) in out.iter_mut().zip(docs) {
            *out =
                score(&embedding, bias, &self.latent.doc_embedding(doc), self.docs[doc as usize]);
        }
    }

    /// The pairs of features, then the biases.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let mut lines = self.latent.contributions(counts, query, doc);
        let featurizer = self.latent.featurizer();
        let (any_query, any_doc) = ("any query", "any document");
        let mut push = |query: String, doc: String, value: f64| {
            if value != 0.0 {
                lines.push(Contribution { query, doc, value });
            }
        };
        push(any_query.into(), any_doc.into(), self.biases.shared[0].into());
        if let Some(&global) = self.popularity.get(doc as usize) {
            let value = f64::from(self.biases.shared[1]) * f64::from(global);
            push(any_query.into(), "the document's popularity".into(), value);
        }
        let (indices, values) = featurizer.query_terms(counts, query);
        for (&u, &x) in indices.iter().zip(&values) {
            let value = f64::from(x) * f64::from(self.biases.x[u as usize]);
            push(featurizer.query_feature(counts, u), any_doc.into(), value);
        }
        for (v, y) in self.latent.docs().row(doc as usize).iter() {
            let value = f64::from(y) * f64::from(self.biases.y[v as usize]);
            push(any_query.into(), featurizer.doc_feature(counts, v), value);
        }
        lines
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.latent.save_state(tensors);
        tensors.array("shared", &[2], &self.biases.shared);
        tensors.array("bias_x", &[self.biases.x.len()], &self.biases.x);
        tensors.array("bias_y", &[self.biases.y.len()], &self.biases.y);
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let (mut maps, mut biases) = (self.latent.maps().clone(), self.biases.clone());
        // Clicked documents are features of queries; nobody clicked the new ones.
        if maps.l_x.n_rows() > counts.n_terms() {
            maps.l_x = maps.l_x.with_zero_rows(n_new)?;
            biases.x.resize(maps.l_x.n_rows(), 0.0);
        }
        let features = self.latent.featurizer().features();
        Ok(Some(Box::new(Factors::new(counts, features, maps, biases)?)))
    }

    fn no_match(&self) -> &'static str {
        self.latent.no_match()
    }

    fn zero_is_none(&self) -> bool {
        false
    }

    /// The latent space, if there are no biases.
    fn bilinear(&self) -> Option<&Bilinear> {
        self.biases.are_zero().then_some(&self.latent)
    }
}
