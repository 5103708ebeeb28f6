//! A bilinear model: queries and documents are mapped into one latent space, and the dot product
//! of their embeddings is the score, match(x, y) = xᵀ L_x L_yᵀ y. Here are the space and its
//! embeddings; `bilinear_matcher.rs` scores and explains with them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::map::{Map, Maps};
use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::index::Embeddings;
use crate::linalg::{Dense, scale_to};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Fewer documents than this are not worth a thread.
const MIN_DOCS_PER_THREAD: usize = 512;

/// A fitted bilinear model, ready to score the documents of its counts.
pub struct Bilinear {
    pub(super) featurizer: Arc<Featurizer>,
    pub(super) maps: Arc<Maps>,
    /// Documents × document features.
    pub(super) y: Arc<Csr>,
    /// The documents' embeddings, computed when first needed. A sparse map has none: there it takes
    /// less memory and time to score the features and add up their scores.
    pub(super) embeddings: OnceLock<DocEmbeddings>,
    /// Whether embeddings are scaled to norm one, so that the score is their cosine.
    pub(super) cosine: bool,
    /// Whether documents are scored by their words alone, though the maps have click features, too.
    pub(super) by_words: bool,
}

/// The embeddings of documents: documents × latent dimensions.
pub(super) enum DocEmbeddings {
    /// In memory, or in a scratch file.
    Computed(Dense),
    /// In the file of an index.
    Mapped(Embeddings),
}

impl DocEmbeddings {
    pub fn row(&self, doc: usize) -> &[f32] {
        match self {
            DocEmbeddings::Computed(embeddings) => embeddings.row(doc),
            DocEmbeddings::Mapped(embeddings) => embeddings.row(doc),
        }
    }
}

impl Bilinear {
    /// Puts learnt maps together with the counts they were learnt from.
    pub fn new(counts: &Counts, features: &Features, maps: Maps) -> Result<Self> {
        Bilinear::placed(counts, features, maps, false, None)
    }

    /// The same for documents that are scored by their words alone, if `by_words`, and with their
    /// embeddings in a scratch file in `folder`, if given.
    pub(super) fn placed(
        counts: &Counts,
        features: &Features,
        maps: Maps,
        by_words: bool,
        folder: Option<&Path>,
    ) -> Result<Self> {
        let featurizer = Featurizer::new(counts, features)?;
        let y = if by_words { featurizer.docs_by_words(counts) } else { featurizer.docs(counts) };
        let bilinear = Bilinear::over(counts, features, maps, Arc::new(y?), folder)?;
        Ok(Bilinear { by_words, ..bilinear })
    }

    /// The same for documents whose features `y` are already computed.
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
                OnceLock::from(DocEmbeddings::Computed(maps.l_y.embeddings_in(&y, folder)?))
            }
            _ => OnceLock::new(),
        };
        let (featurizer, maps) = (Arc::new(featurizer), Arc::new(maps));
        Ok(Bilinear { featurizer, maps, y, embeddings, cosine: false, by_words: false })
    }

    /// Whether scores are dot products of documents' embeddings, and not sums over their features.
    fn scores_by_embeddings(&self) -> bool {
        self.cosine || matches!(self.maps.l_y, Map::Dense(_))
    }

    /// The documents' embeddings, where scores are computed from them; the first call computes them.
    pub(super) fn embeddings(&self) -> Option<&DocEmbeddings> {
        self.scores_by_embeddings().then(|| {
            self.embeddings.get_or_init(|| DocEmbeddings::Computed(self.compute_embeddings()))
        })
    }

    /// Computes the documents' embeddings on threads of its own. rayon's would deadlock: a worker that
    /// waits for a parallel loop takes up another query meanwhile, which waits for these embeddings.
    fn compute_embeddings(&self) -> Dense {
        let mut embeddings = Dense::zeros(self.y.n_rows(), self.dim());
        let dim = self.dim().max(1);
        let threads = rayon::current_num_threads();
        let rows_per_thread = self.y.n_rows().div_ceil(threads).max(MIN_DOCS_PER_THREAD);
        let embed = |(part, values): (usize, &mut [f32])| {
            for (i, embedding) in values.chunks_mut(dim).enumerate() {
                self.maps.l_y.embed(self.y.row(part * rows_per_thread + i), embedding);
                if self.cosine {
                    scale_to(embedding, 1.0);
                }
            }
        };
        std::thread::scope(|scope| {
            let mut parts = embeddings.values_mut().chunks_mut(rows_per_thread * dim).enumerate();
            let first = parts.next();
            parts.for_each(|part| drop(scope.spawn(move || embed(part))));
            first.into_iter().for_each(embed);
        });
        embeddings
    }

    /// Uses the documents' embeddings in the file of an index instead of computing them; they must
    /// equal those of [`Bilinear::doc_embedding`]. Has no effect where embeddings are computed already,
    /// or where scores do not need them.
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
        if self.scores_by_embeddings() {
            // If another thread was first, it computed the same ones.
            let _ = self.embeddings.set(DocEmbeddings::Mapped(embeddings));
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
        let features = self.featurizer.features();
        let fitted = Bilinear::placed(counts, features, maps, self.by_words, None)?;
        Ok(if self.cosine { fitted.with_cosine() } else { fitted })
    }

    /// The learnt maps.
    pub fn maps(&self) -> &Maps {
        &self.maps
    }

    /// Computes features of queries and documents.
    pub(super) fn featurizer(&self) -> &Featurizer {
        &self.featurizer
    }

    /// Documents × document features.
    pub(super) fn docs(&self) -> &Csr {
        &self.y
    }

    /// Whether words are the only features of documents.
    pub(super) fn is_of_words(&self) -> bool {
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
}

/// The embedding of one sparse row under a map.
pub(crate) fn embedding_of(row: Row<'_>, map: &Map) -> Vec<f32> {
    let mut embedding = vec![0.0; map.n_cols()];
    row.iter().for_each(|(feature, value)| map.add_to(feature as usize, value, &mut embedding));
    embedding
}
