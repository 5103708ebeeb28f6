//! A bilinear model as a matcher: scores are dot products of embeddings, and an explanation is the
//! sum over pairs of a query feature and a document feature, Σ_u Σ_v x_u·y_v·⟨l_xu, l_yv⟩.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::bilinear::{Bilinear, DocEmbeddings, embedding_of};
use super::by_words::BY_WORDS;
use super::map::Maps;
use super::method::{Matcher, SavedState};
use super::{Contribution, TopicsView};
use crate::Result;
use crate::features::{Counts, Features, QueryTerms, UnseenCounts};
use crate::file::TensorsWriter;
use crate::linalg::{Dense, dot, dot_f64};
use crate::sparse::{Csr, Row};

impl Bilinear {
    /// Puts the maps that a model folder keeps together with the counts they were learnt from.
    pub(super) fn restored(
        counts: &Counts,
        features: &Features,
        state: SavedState<'_>,
    ) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let by_words = tensors.has(BY_WORDS)?;
        Ok(Box::new(Bilinear::placed(counts, features, Maps::read(tensors)?, by_words, None)?))
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
        let mut contributions = Vec::new();
        for (&u, &x) in indices.iter().zip(&values) {
            let l_xu = self.maps.l_x.row(u as usize);
            for (v, y) in features.iter() {
                let inner = dot_f64(&l_xu, &self.maps.l_y.row(v as usize));
                let value = f64::from(x) * f64::from(y) * inner / lengths;
                // The cosine with an embedding of zeros is undefined, and adds nothing.
                if value != 0.0 && value.is_finite() {
                    contributions.push(Contribution {
                        query: self.featurizer.query_feature(counts, u),
                        doc: self.featurizer.doc_feature(counts, v),
                        value,
                    });
                }
            }
        }
        contributions
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        self.maps.l_x.save_state("l_x", tensors);
        self.maps.l_y.save_state("l_y", tensors);
        if self.by_words {
            tensors.array(BY_WORDS, &[1], &[1.0f32]);
        }
    }

    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(Some(Box::new(self.extended(counts, n_new)?)))
    }

    fn fold_in(&self, _: &Counts, new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        let y = Csr::by_rows(self.featurizer.d_y(), new.ids.len(), |j| {
            Ok(self.featurizer.doc(new.docs.row(j), None))
        })?;
        let (featurizer, maps) = (Arc::clone(&self.featurizer), Arc::clone(&self.maps));
        let embeddings = OnceLock::new();
        let (y, cosine, by_words) = (Arc::new(y), self.cosine, self.by_words);
        Ok(Some(Box::new(Bilinear { featurizer, maps, y, embeddings, cosine, by_words })))
    }

    fn no_match(&self) -> &'static str {
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
                Some(DocEmbeddings::Computed(embeddings)) => Cow::Borrowed(embeddings),
                Some(DocEmbeddings::Mapped(embeddings)) => Cow::Owned(Dense::from_values(
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

/// Σ_v y_v·(score of feature v), in f32 like a dot product of embeddings.
fn sum_of(row: Row<'_>, feature: impl Fn(usize) -> f32) -> f32 {
    row.iter().map(|(v, y)| y * feature(v as usize)).sum()
}
