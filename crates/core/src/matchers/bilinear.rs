//! A bilinear model: queries and documents are mapped into one latent space, and the dot
//! product of their images is the score, match(x, y) = xᵀ L_x L_yᵀ y.
//!
//! The score is a sum over pairs of a query feature and a document feature,
//! Σ_u Σ_v x_u·y_v·⟨l_xu, l_yv⟩, which is what an explanation shows.

use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::linalg::{Dense, dot, dot_f64};
use crate::sparse::{Csr, Row, csr_times_dense};
use crate::{Error, Result};

/// The two maps that a bilinear trainer learns.
#[derive(Debug, Clone, PartialEq)]
pub struct Maps {
    /// Query features × latent dimensions.
    pub l_x: Dense,
    /// Document features × latent dimensions.
    pub l_y: Dense,
}

/// A fitted bilinear model, ready to score the documents of its counts.
pub struct Bilinear {
    featurizer: Featurizer,
    maps: Maps,
    /// Documents × document features.
    y: Csr,
    /// The documents' images: documents × latent dimensions.
    images: Dense,
}

/// What one pair of features adds to a score.
#[derive(Debug, Clone, PartialEq)]
pub struct PairContribution {
    /// The query's feature.
    pub query: String,
    /// The document's feature.
    pub doc: String,
    /// What the pair adds.
    pub value: f64,
}

impl Bilinear {
    /// Puts learnt maps together with the counts they were learnt from.
    pub fn new(counts: &Counts, features: &Features, maps: Maps) -> Result<Self> {
        let featurizer = Featurizer::new(counts, features)?;
        let fits = (maps.l_x.n_rows(), maps.l_y.n_rows()) == (featurizer.d_x(), featurizer.d_y());
        if !fits || maps.l_x.n_cols() != maps.l_y.n_cols() {
            return Err(Error::Structure {
                problem: format!(
                    "the maps are {} × {} and {} × {}, but there are {} query features and {} document features",
                    maps.l_x.n_rows(),
                    maps.l_x.n_cols(),
                    maps.l_y.n_rows(),
                    maps.l_y.n_cols(),
                    featurizer.d_x(),
                    featurizer.d_y()
                ),
            });
        }
        let y = featurizer.docs(counts)?;
        let images = image(&y, &maps.l_y);
        Ok(Bilinear { featurizer, maps, y, images })
    }

    /// The learnt maps.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// The latent dimension.
    pub fn dim(&self) -> usize {
        self.maps.l_x.n_cols()
    }

    /// The image of a document of the counts.
    pub fn doc_image(&self, doc: u32) -> &[f32] {
        self.images.row(doc as usize)
    }

    /// The images of all documents.
    pub fn doc_images(&self) -> &Dense {
        &self.images
    }

    /// The image of a query, known or new.
    pub fn query_image(&self, counts: &Counts, query: &QueryTerms) -> Vec<f32> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        image_of(Row { indices: &indices, values: &values }, &self.maps.l_x)
    }

    /// The image of every query of the counts.
    pub fn query_images(&self, counts: &Counts) -> Result<Dense> {
        Ok(image(&self.featurizer.queries(counts)?, &self.maps.l_x))
    }

    /// Scores every document.
    pub fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let image = self.query_image(counts, query);
        for (doc, score) in out.iter_mut().enumerate() {
            *score = dot(&image, self.images.row(doc));
        }
    }

    /// Scores the documents `docs` alone; the same bits as [`Bilinear::score_all`].
    pub fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let image = self.query_image(counts, query);
        for (score, &doc) in out.iter_mut().zip(docs) {
            *score = dot(&image, self.images.row(doc as usize));
        }
    }

    /// What every pair of features adds to the score, largest first.
    pub fn contributions(
        &self,
        counts: &Counts,
        query: &QueryTerms,
        doc: u32,
    ) -> Vec<PairContribution> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let features = self.y.row(doc as usize);
        let mut pairs = Vec::with_capacity(indices.len() * features.len());
        for (&u, &x) in indices.iter().zip(&values) {
            for (v, y) in features.iter() {
                let inner = dot_f64(self.maps.l_x.row(u as usize), self.maps.l_y.row(v as usize));
                let value = f64::from(x) * f64::from(y) * inner;
                if value != 0.0 {
                    pairs.push((u, v, value));
                }
            }
        }
        pairs.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then((a.0, a.1).cmp(&(b.0, b.1))));
        pairs
            .into_iter()
            .map(|(u, v, value)| PairContribution {
                query: self.featurizer.query_feature(counts, u),
                doc: self.featurizer.doc_feature(counts, v),
                value,
            })
            .collect()
    }
}

/// The images of sparse rows under a map.
pub(crate) fn image(rows: &Csr, map: &Dense) -> Dense {
    let mut images = Dense::zeros(rows.n_rows(), map.n_cols());
    let all = 0..map.n_cols();
    csr_times_dense(rows, map.block(all.clone()), images.block_mut(all));
    images
}

/// The image of one sparse row under a map.
pub(crate) fn image_of(row: Row<'_>, map: &Dense) -> Vec<f32> {
    let mut image = vec![0.0; map.n_cols()];
    for (feature, value) in row.iter() {
        for (sum, &entry) in image.iter_mut().zip(map.row(feature as usize)) {
            *sum += value * entry;
        }
    }
    image
}
