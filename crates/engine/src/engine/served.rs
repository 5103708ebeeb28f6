//! A served model: the artefact of training, the embeddings of the documents, and the mapping from the
//! documents of the index to those of the model.

use std::path::PathBuf;
use std::sync::Arc;

use liken::data::Document;
use liken::index::EmbeddingIndex;
use liken::matchers::{Bilinear, Matcher, Model, SparseVectors};

use super::docs::Chunk;
use super::postings::Postings;
use crate::types::ModelAbout;

/// A loaded version of a model.
pub struct ServedModel {
    /// Name, version and how neighbours are found.
    pub about: ModelAbout,
    /// The model folder inside the index.
    pub folder: PathBuf,
    /// The artefact of training.
    pub model: Arc<Model>,
    /// The nearest-neighbour index, if the model has a latent space.
    pub(crate) neighbours: Option<EmbeddingIndex>,
    /// The inverted index of a large collection, if the model has sparse vectors.
    pub(crate) postings: Option<Postings>,
    /// The numbers of the index's documents in the model.
    pub(crate) mapping: DocMapping,
    /// Whether it reads text as the text index does.
    pub(crate) same_reading: bool,
}

/// The correspondence of the documents of the index and of a model.
pub(crate) enum DocMapping {
    /// The model was trained on the index's own dataset: the numbers are the same.
    Same,
    /// The model was trained on another dataset.
    Mapped {
        /// By number in the index, the number in the model, or [`UNMAPPED`].
        in_model: Vec<u32>,
        /// By number in the model, the number in the index, or [`UNMAPPED`].
        in_index: Vec<u32>,
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
        ServedModel {
            about,
            folder,
            model: Arc::new(model),
            neighbours: None,
            postings: None,
            mapping: DocMapping::Same,
            same_reading: true,
        }
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

    /// The retrieval of candidates in a large index.
    pub(crate) fn retrieval(&self) -> Retrieval<'_> {
        let Some(only) = self.only() else { return Retrieval::Exhaustive };
        if let (Some(postings), Some(vectors)) = (&self.postings, only.sparse()) {
            return Retrieval::Postings(postings, vectors);
        }
        if let (Some(neighbours), Some(latent)) = (&self.neighbours, only.bilinear()) {
            return Retrieval::Neighbours(neighbours, latent);
        }
        // The text index has whole words of one analyser, and the text of documents alone.
        let whole_words = self.model.counts.preparation.analyzer.char_ngrams.is_none();
        match only.is_lexical() && only.sparse().is_none() && whole_words && self.same_reading {
            true => Retrieval::TextIndex,
            false => Retrieval::Exhaustive,
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
    pub(super) fn in_model(&self, no: u32) -> Option<u32> {
        match &self.mapping {
            DocMapping::Same => ((no as usize) < self.model.counts.n_docs()).then_some(no),
            DocMapping::Mapped { in_model, .. } => {
                in_model.get(no as usize).copied().filter(|&doc| doc != UNMAPPED)
            }
        }
    }

    /// The number in the index of document `doc` of the model.
    pub(super) fn number(&self, doc: u32) -> Option<u32> {
        match &self.mapping {
            DocMapping::Same => Some(doc),
            DocMapping::Mapped { in_index, .. } => {
                in_index.get(doc as usize).copied().filter(|&no| no != UNMAPPED)
            }
        }
    }
}

/// A method of retrieving candidates.
pub(crate) enum Retrieval<'a> {
    /// By the text index.
    TextIndex,
    /// In the latent space.
    Neighbours(&'a EmbeddingIndex, &'a Bilinear),
    /// By the inverted index of sparse vectors.
    Postings(&'a Postings, &'a dyn SparseVectors),
    /// By scoring every document.
    Exhaustive,
}
