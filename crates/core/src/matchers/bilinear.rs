//! A bilinear model: queries and documents are mapped into one latent space, and the dot
//! product of their embeddings is the score, match(x, y) = xᵀ L_x L_yᵀ y.
//!
//! The score is a sum over pairs of a query feature and a document feature,
//! Σ_u Σ_v x_u·y_v·⟨l_xu, l_yv⟩, which is what an explanation shows.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::map::Map;
use super::{Contribution, Matcher, SavedState, TopicsView};
use crate::features::{Counts, Features, Featurizer, NewDocuments, QueryTerms};
use crate::file::{Tensors, TensorsWriter};
use crate::index::Embeddings;
use crate::linalg::{Dense, dot, dot_f64, scale_to};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// The two maps that a bilinear trainer learns.
#[derive(Debug, Clone, PartialEq)]
pub struct Maps {
    /// Query features × latent dimensions.
    pub l_x: Map,
    /// Document features × latent dimensions.
    pub l_y: Map,
}

/// A fitted bilinear model, ready to score the documents of its counts.
pub struct Bilinear {
    featurizer: Arc<Featurizer>,
    maps: Arc<Maps>,
    /// Documents × document features.
    y: Arc<Csr>,
    /// The documents' embeddings, made when they are needed first. A sparse map has none: there it
    /// is cheaper, in memory and in time, to score the features and add these up.
    embeddings: OnceLock<DocEmbeddings>,
    /// Whether embeddings are scaled to norm one, so that the score is their cosine.
    cosine: bool,
}

/// The embeddings of documents: documents × latent dimensions.
enum DocEmbeddings {
    /// In memory, or in a scratch file.
    Made(Dense),
    /// In the file of an index.
    SavedState(Embeddings),
}

impl DocEmbeddings {
    fn row(&self, doc: usize) -> &[f32] {
        match self {
            DocEmbeddings::Made(embeddings) => embeddings.row(doc),
            DocEmbeddings::SavedState(embeddings) => embeddings.row(doc),
        }
    }
}

impl Maps {
    /// The maps that a model folder keeps.
    pub fn read(tensors: &Tensors) -> Result<Self> {
        Ok(Maps { l_x: Map::read(tensors, "l_x")?, l_y: Map::read(tensors, "l_y")? })
    }
}

impl Bilinear {
    /// Puts the maps that a model folder keeps together with the counts they were learnt from.
    pub(super) fn restored(
        counts: &Counts,
        features: &Features,
        kept: SavedState<'_>,
    ) -> Result<Box<dyn Matcher>> {
        let maps = Maps::read(kept.tensors()?)?;
        Ok(Box::new(Bilinear::new(counts, features, maps)?))
    }

    /// Puts learnt maps together with the counts they were learnt from.
    pub fn new(counts: &Counts, features: &Features, maps: Maps) -> Result<Self> {
        Bilinear::placed(counts, features, maps, None)
    }

    /// The same with the embeddings of the documents in a scratch file in `folder`, if it is given.
    pub(super) fn placed(
        counts: &Counts,
        features: &Features,
        maps: Maps,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let y = Arc::new(Featurizer::new(counts, features)?.docs(counts)?);
        Bilinear::over(counts, features, maps, y, folder)
    }

    /// The same where the documents' features are there already.
    pub(super) fn over(
        counts: &Counts,
        features: &Features,
        maps: Maps,
        y: Arc<Csr>,
        folder: Option<&Path>,
    ) -> Result<Self> {
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
        let embeddings = match (&maps.l_y, folder) {
            (Map::Dense(_), Some(_)) => {
                OnceLock::from(DocEmbeddings::Made(maps.l_y.embeddings_in(&y, folder)?))
            }
            _ => OnceLock::new(),
        };
        let (featurizer, maps) = (Arc::new(featurizer), Arc::new(maps));
        Ok(Bilinear { featurizer, maps, y, embeddings, cosine: false })
    }

    /// The embeddings of the documents, where scores are read off them. Whoever opens a model to look
    /// at something else need not wait for them.
    fn embeddings(&self) -> Option<&DocEmbeddings> {
        (self.cosine || matches!(self.maps.l_y, Map::Dense(_))).then(|| {
            self.embeddings.get_or_init(|| {
                let mut embeddings = self.maps.l_y.embeddings(&self.y);
                if self.cosine {
                    embeddings.scale_rows_to(1.0);
                }
                DocEmbeddings::Made(embeddings)
            })
        })
    }

    /// Reads the embeddings of the documents from the file of an index instead of making them; they
    /// must be the ones that [`Bilinear::doc_embedding`] gave. Without effect where embeddings are made
    /// already, or where scores are not read off them.
    pub fn read_embeddings(&self, embeddings: Embeddings) -> Result<()> {
        if (embeddings.n_rows(), embeddings.dim()) != (self.y.n_rows(), self.dim()) {
            return Err(Error::Structure {
                problem: format!(
                    "the embeddings are {} × {}, but the model has {} documents and {} dimensions",
                    embeddings.n_rows(),
                    embeddings.dim(),
                    self.y.n_rows(),
                    self.dim()
                ),
            });
        }
        if self.cosine || matches!(self.maps.l_y, Map::Dense(_)) {
            // Whoever was first made the same ones.
            let _ = self.embeddings.set(DocEmbeddings::SavedState(embeddings));
        }
        Ok(())
    }

    /// The same model with the cosine of the embeddings as its score.
    pub fn with_cosine(self) -> Self {
        Bilinear { embeddings: OnceLock::new(), cosine: true, ..self }
    }

    /// The same model for `counts` whose last `n_new` documents training did not know.
    pub(super) fn extended(&self, counts: &Counts, n_new: usize) -> Result<Self> {
        let mut maps = Maps::clone(&self.maps);
        // Clicked documents are features of queries; nobody clicked the new ones.
        if maps.l_x.n_rows() > counts.n_terms() {
            maps.l_x = maps.l_x.with_zero_rows(n_new)?;
        }
        let fitted = Bilinear::new(counts, self.featurizer.features(), maps)?;
        Ok(if self.cosine { fitted.with_cosine() } else { fitted })
    }

    /// The learnt maps.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// What makes features of queries and documents.
    pub(super) fn featurizer(&self) -> &Featurizer {
        &self.featurizer
    }

    /// Documents × document features.
    pub(super) fn docs(&self) -> &Csr {
        &self.y
    }

    /// Whether documents are made of words alone.
    fn is_of_words(&self) -> bool {
        let features = self.featurizer.features();
        features.doc_words > 0.0 && features.doc_clicks == 0.0
    }

    /// The latent dimension.
    pub fn dim(&self) -> usize {
        self.maps.l_x.n_cols()
    }

    /// The embedding of a document of the counts.
    pub fn doc_embedding(&self, doc: u32) -> Cow<'_, [f32]> {
        match self.embeddings() {
            Some(embeddings) => Cow::Borrowed(embeddings.row(doc as usize)),
            None => Cow::Owned(embedding_of(self.y.row(doc as usize), &self.maps.l_y)),
        }
    }

    /// The embedding of a query, known or new.
    pub fn query_embedding(&self, counts: &Counts, query: &QueryTerms) -> Vec<f32> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let mut embedding =
            embedding_of(Row { indices: &indices, values: &values }, &self.maps.l_x);
        if self.cosine {
            scale_to(&mut embedding, 1.0);
        }
        embedding
    }

    /// The embedding of every query of the counts.
    pub fn query_embeddings(&self, counts: &Counts) -> Result<Dense> {
        let mut embeddings = self.maps.l_x.embeddings(&self.featurizer.queries(counts)?);
        if self.cosine {
            embeddings.scale_rows_to(1.0);
        }
        Ok(embeddings)
    }
}

impl Matcher for Bilinear {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let embedding = self.query_embedding(counts, query);
        match self.embeddings() {
            Some(embeddings) => {
                for (doc, score) in out.iter_mut().enumerate() {
                    *score = dot(&embedding, embeddings.row(doc));
                }
            }
            None => {
                let l_y = &self.maps.l_y;
                let features: Vec<f32> =
                    (0..l_y.n_rows()).map(|v| l_y.dot(v, &embedding)).collect();
                for (doc, score) in out.iter_mut().enumerate() {
                    *score = sum_of(self.y.row(doc), |v| features[v]);
                }
            }
        }
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let (embedding, embeddings) = (self.query_embedding(counts, query), self.embeddings());
        for (score, &doc) in out.iter_mut().zip(docs) {
            *score = match embeddings {
                Some(embeddings) => dot(&embedding, embeddings.row(doc as usize)),
                None => sum_of(self.y.row(doc as usize), |v| self.maps.l_y.dot(v, &embedding)),
            };
        }
    }

    /// What every pair of features adds.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let features = self.y.row(doc as usize);
        let norm = |row, map| {
            let embedding = embedding_of(row, map);
            dot_f64(&embedding, &embedding).sqrt()
        };
        let query = Row { indices: &indices, values: &values };
        let lengths = match self.cosine {
            true => norm(query, &self.maps.l_x) * norm(features, &self.maps.l_y),
            false => 1.0,
        };
        let mut pairs = Vec::with_capacity(indices.len() * features.len());
        for (&u, &x) in indices.iter().zip(&values) {
            let l_xu = self.maps.l_x.row(u as usize);
            for (v, y) in features.iter() {
                let inner = dot_f64(&l_xu, &self.maps.l_y.row(v as usize));
                let value = f64::from(x) * f64::from(y) * inner / lengths;
                // Without an embedding there is no angle, and nothing to add.
                if value != 0.0 && value.is_finite() {
                    pairs.push((u, v, value));
                }
            }
        }
        pairs
            .into_iter()
            .map(|(u, v, value)| Contribution {
                query: self.featurizer.query_feature(counts, u),
                doc: self.featurizer.doc_feature(counts, v),
                value,
            })
            .collect()
    }

    fn keep<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.maps.l_x.keep("l_x", tensors);
        self.maps.l_y.keep("l_y", tensors);
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(Some(Box::new(self.extended(counts, n_new)?)))
    }

    fn beside(&self, _: &Counts, new: &NewDocuments) -> Result<Option<Box<dyn Matcher>>> {
        let y = Csr::by_rows(self.featurizer.d_y(), new.ids.len(), |j| {
            Ok(self.featurizer.doc(new.docs.row(j), None))
        })?;
        let (featurizer, maps) = (Arc::clone(&self.featurizer), Arc::clone(&self.maps));
        let embeddings = OnceLock::new();
        let beside = Bilinear { featurizer, maps, y: Arc::new(y), embeddings, cosine: self.cosine };
        Ok(Some(Box::new(beside)))
    }

    fn nothing(&self) -> &'static str {
        "the model has learnt nothing about this query: every document scores 0"
    }

    fn zero_is_none(&self) -> bool {
        false
    }

    fn bilinear(&self) -> Option<&Bilinear> {
        Some(self)
    }

    /// The latent dimensions, where documents are made of words alone, as in LSI.
    fn topics(&self) -> Option<TopicsView<'_>> {
        self.is_of_words().then(|| TopicsView {
            weights: Cow::Borrowed(&self.maps.l_y),
            n_shared: self.dim(),
            per_class: 0,
            classes: &[],
            class_of: &[],
            documents: match self.embeddings() {
                Some(DocEmbeddings::Made(embeddings)) => Cow::Borrowed(embeddings),
                Some(DocEmbeddings::SavedState(embeddings)) => Cow::Owned(Dense::from_values(
                    embeddings.n_rows(),
                    embeddings.dim(),
                    embeddings.values().to_vec(),
                )),
                None => Cow::Owned(self.maps.l_y.embeddings(&self.y)),
            },
            non_negative: false,
        })
    }

    fn topics_of(&self, counts: &Counts, query: &QueryTerms) -> Option<(Option<u32>, Vec<f32>)> {
        self.is_of_words().then(|| (None, self.query_embedding(counts, query)))
    }
}

/// The embedding of one sparse row under a map.
pub(crate) fn embedding_of(row: Row<'_>, map: &Map) -> Vec<f32> {
    let mut embedding = vec![0.0; map.n_cols()];
    row.iter().for_each(|(feature, value)| map.add_to(feature as usize, value, &mut embedding));
    embedding
}

/// Σ_v y_v·(score of feature v), in f32 like a dot product of embeddings.
fn sum_of(row: Row<'_>, feature: impl Fn(usize) -> f32) -> f32 {
    row.iter().map(|(v, y)| y * feature(v as usize)).sum()
}
