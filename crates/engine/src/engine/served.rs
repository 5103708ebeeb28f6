//! A model as it is served: the artefact of training, the images of the documents under it, and
//! the documents that it does not know from training.
//!
//! Every score comes from the model itself, by the code that training and `liken search` use.

use std::path::PathBuf;
use std::sync::Arc;

use liken::data::Document;
use liken::index::ImageIndex;
use liken::matchers::{Matcher, Model};

use super::docs::Chunk;
use crate::types::ModelAbout;

/// A model as it is served.
pub struct Served {
    /// Its name and version.
    pub about: ModelAbout,
    /// The model folder inside the index.
    pub folder: PathBuf,
    /// The model.
    pub model: Arc<Model>,
    /// What finds neighbours in its latent space, if it is one.
    pub(crate) neighbours: Option<ImageIndex>,
    /// Where the documents of the index stand in the model.
    pub(crate) places: Places,
    /// Whether its words are those of the text index.
    pub(crate) reads_alike: bool,
}

/// Where the documents of the index stand in a model.
pub(crate) enum Places {
    /// The model was trained on the index's own dataset: the numbers are the same.
    Same,
    /// By number of the index the number in the model.
    Mapped {
        own: Vec<u32>,
        /// By number of the model the number of the index, or [`NOWHERE`].
        back: Vec<u32>,
        /// Documents of the dataset that training did not know, or knew with other words.
        strangers: Arc<Chunk>,
        /// Their texts.
        documents: Vec<Document>,
    },
}

/// In the place of a number that does not exist.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Served {
    /// A model over the documents that it was trained on, which scores all of them.
    pub fn alone(about: ModelAbout, folder: PathBuf, model: Model) -> Self {
        let (neighbours, places) = (None, Places::Same);
        let model = Arc::new(model);
        Served { about, folder, model, neighbours, places, reads_alike: true }
    }

    /// Whether all it does is count words.
    pub fn is_lexical(&self) -> bool {
        self.model.is_lexical()
    }

    /// The one matcher of the model.
    fn only(&self) -> Option<&dyn Matcher> {
        match &self.model.parts[..] {
            [only] => Some(&*only.matcher),
            _ => None,
        }
    }

    /// Whether a score of 0 means that there is nothing to find.
    pub(crate) fn zero_is_none(&self) -> bool {
        self.only().is_some_and(Matcher::zero_is_none)
    }

    /// How it finds candidates in an index of more than a few documents.
    pub(crate) fn way(&self) -> Way<'_> {
        match self.only() {
            // The text index holds words as one model reads them, and no parts of words.
            Some(only) if only.is_lexical() => {
                match self.model.counts.preparation.analyzer.char_ngrams {
                    None if self.reads_alike => Way::Words,
                    _ => Way::All,
                }
            }
            Some(only) => match (&self.neighbours, only.bilinear()) {
                (Some(neighbours), Some(latent)) => Way::Neighbours(neighbours, latent),
                _ => Way::All,
            },
            None => Way::All,
        }
    }

    /// The documents that the model does not know from training.
    pub(crate) fn strangers(&self) -> Option<(&Arc<Chunk>, &[Document])> {
        match &self.places {
            Places::Mapped { strangers, documents, .. } if strangers.len() > 0 => {
                Some((strangers, documents))
            }
            _ => None,
        }
    }

    /// The number in the model of document `no` of the index.
    pub(super) fn own(&self, no: u32) -> Option<u32> {
        match &self.places {
            Places::Same => ((no as usize) < self.model.counts.n_docs()).then_some(no),
            Places::Mapped { own, .. } => {
                own.get(no as usize).copied().filter(|&own| own != NOWHERE)
            }
        }
    }

    /// The number in the index of document `own` of the model.
    pub(super) fn number(&self, own: u32) -> Option<u32> {
        match &self.places {
            Places::Same => Some(own),
            Places::Mapped { back, .. } => {
                back.get(own as usize).copied().filter(|&no| no != NOWHERE)
            }
        }
    }
}

/// How candidates are found.
pub(crate) enum Way<'a> {
    /// By the text index.
    Words,
    /// In the latent space.
    Neighbours(&'a ImageIndex, &'a liken::matchers::Bilinear),
    /// By scoring every document.
    All,
}
