//! A model as it is served: the artefact of training, the embeddings of the documents, and how the
//! documents of the index correspond to its own.

use std::path::PathBuf;
use std::sync::Arc;

use liken::data::Document;
use liken::index::EmbeddingIndex;
use liken::matchers::{Matcher, Model};

use super::docs::Chunk;
use crate::types::ModelAbout;

/// A model as it is served.
pub struct ServedModel {
    /// Name, version and how neighbours are found.
    pub about: ModelAbout,
    /// The model folder inside the index.
    pub folder: PathBuf,
    /// The artefact of training.
    pub model: Arc<Model>,
    /// The nearest-neighbour index, if the model has a latent space.
    pub(crate) neighbours: Option<EmbeddingIndex>,
    /// How documents of the index correspond to those of the model.
    pub(crate) mapping: DocMapping,
    /// Whether it reads text as the text index does.
    pub(crate) same_reading: bool,
}

/// How documents of the index correspond to those of a model.
pub(crate) enum DocMapping {
    /// The model was trained on the index's own dataset: the numbers are the same.
    Same,
    /// The model was trained on another dataset.
    Mapped {
        /// By number of the index the number of the model, or [`UNMAPPED`].
        own: Vec<u32>,
        /// By number of the model the number of the index, or [`UNMAPPED`].
        back: Vec<u32>,
        /// Documents of the dataset that training did not see, or saw with other words.
        unseen: Arc<Chunk>,
        /// The contents of those.
        documents: Vec<Document>,
    },
}

/// Marks a document without counterpart.
pub(crate) const UNMAPPED: u32 = u32::MAX;

impl ServedModel {
    /// A model that scores the documents of its training.
    pub fn alone(about: ModelAbout, folder: PathBuf, model: Model) -> Self {
        let (neighbours, mapping) = (None, DocMapping::Same);
        let model = Arc::new(model);
        ServedModel { about, folder, model, neighbours, mapping, same_reading: true }
    }

    /// The one matcher of the model.
    fn only(&self) -> Option<&dyn Matcher> {
        match &self.model.parts[..] {
            [only] => Some(&*only.matcher),
            _ => None,
        }
    }

    /// Whether a score of 0 means that the document was not found.
    pub(crate) fn zero_is_none(&self) -> bool {
        self.only().is_some_and(Matcher::zero_is_none)
    }

    /// How candidates are retrieved in a large index.
    pub(crate) fn retrieval(&self) -> Retrieval<'_> {
        match self.only() {
            // The text index has whole words of one analyser.
            Some(only) if only.is_lexical() => {
                match self.model.counts.preparation.analyzer.char_ngrams {
                    None if self.same_reading => Retrieval::TextIndex,
                    _ => Retrieval::Exhaustive,
                }
            }
            Some(only) => match (&self.neighbours, only.bilinear()) {
                (Some(neighbours), Some(latent)) => Retrieval::Neighbours(neighbours, latent),
                _ => Retrieval::Exhaustive,
            },
            None => Retrieval::Exhaustive,
        }
    }

    /// The documents of the dataset that training did not see.
    pub(crate) fn unseen(&self) -> Option<(&Arc<Chunk>, &[Document])> {
        match &self.mapping {
            DocMapping::Mapped { unseen, documents, .. } if unseen.len() > 0 => {
                Some((unseen, documents))
            }
            _ => None,
        }
    }

    /// The number in the model of document `no` of the index.
    pub(super) fn own(&self, no: u32) -> Option<u32> {
        match &self.mapping {
            DocMapping::Same => ((no as usize) < self.model.counts.n_docs()).then_some(no),
            DocMapping::Mapped { own, .. } => {
                own.get(no as usize).copied().filter(|&own| own != UNMAPPED)
            }
        }
    }

    /// The number in the index of document `own` of the model.
    pub(super) fn number(&self, own: u32) -> Option<u32> {
        match &self.mapping {
            DocMapping::Same => Some(own),
            DocMapping::Mapped { back, .. } => {
                back.get(own as usize).copied().filter(|&no| no != UNMAPPED)
            }
        }
    }
}

/// How candidates are retrieved.
pub(crate) enum Retrieval<'a> {
    /// By the text index.
    TextIndex,
    /// In the latent space.
    Neighbours(&'a EmbeddingIndex, &'a liken::matchers::Bilinear),
    /// By scoring every document.
    Exhaustive,
}
