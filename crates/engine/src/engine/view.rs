//! A served model together with its unseen documents.
//!
//! Every score comes from the model itself, by the code that training and `liken search` use.

use std::borrow::Cow;
use std::sync::Arc;

use liken::features::QueryTerms;
use liken::index::{DocSet, EmbeddingIndex};
use liken::matchers::{Bilinear, Explanation, Model, Place, SparseVectors, UnseenDocuments};
use liken::ranking::Hit;
use liken::sparse::Row;
use liken::top_k::select;

use super::docs::Chunk;
use super::postings::Postings;
use super::served::{DocMapping, ServedModel, UNMAPPED};
use crate::Error;

/// With fewer allowed documents than this, all are scored.
const FEW_ALLOWED: usize = 4096;

/// A served model and its unseen documents in one snapshot.
#[derive(Clone)]
pub(crate) struct ModelView {
    pub served: Arc<ServedModel>,
    pub unseen: Unseen,
}

/// Unseen documents, by the method that scores them.
#[derive(Clone)]
pub(crate) enum Unseen {
    /// Folded in, in groups.
    FoldedIn(Vec<(Arc<Chunk>, Arc<UnseenDocuments>)>),
    /// By the model reopened with them, if its method cannot fold in: they follow the model's documents,
    /// in the order of the chunk.
    Reopened(Arc<Model>, Arc<Chunk>),
}

impl ModelView {
    /// The model that scores.
    pub fn model(&self) -> &Model {
        match &self.unseen {
            Unseen::FoldedIn(_) => &self.served.model,
            Unseen::Reopened(model, _) => model,
        }
    }

    /// The groups of folded-in documents.
    fn groups(&self) -> &[(Arc<Chunk>, Arc<UnseenDocuments>)] {
        match &self.unseen {
            Unseen::FoldedIn(groups) => groups,
            Unseen::Reopened(..) => &[],
        }
    }

    /// Finds document `no` among the unseen documents, or among those of training.
    fn find(&self, no: u32) -> Option<Position> {
        let unseen = match &self.unseen {
            Unseen::FoldedIn(groups) => groups
                .iter()
                .enumerate()
                .find_map(|(g, (chunk, _))| Some(Position::Unseen(g, chunk.find(no)?))),
            Unseen::Reopened(_, chunk) => {
                let first = self.served.model.counts.n_docs();
                chunk.find(no).map(|at| Position::InModel((first + at) as u32))
            }
        };
        unseen.or_else(|| self.served.in_model(no).map(Position::InModel))
    }

    /// The scores of documents; NaN for those that the model does not have.
    pub fn scores(&self, query: &QueryTerms, numbers: &[u32]) -> Vec<f32> {
        // A mix would score all documents for nothing.
        if numbers.is_empty() {
            return Vec::new();
        }
        let positions: Vec<Option<Position>> = numbers.iter().map(|&no| self.find(no)).collect();
        let groups = self.groups();
        // Groups without a candidate are not scored.
        let (mut in_model, mut wanted) = (Vec::new(), vec![false; groups.len()]);
        for position in positions.iter().flatten() {
            match *position {
                Position::InModel(doc) => in_model.push(doc),
                Position::Unseen(group, _) => wanted[group] = true,
            }
        }
        let mut starts = vec![0usize; groups.len()];
        let (mut asked, mut end) = (Vec::new(), 0);
        for (g, (_, unseen)) in groups.iter().enumerate().filter(|(g, _)| wanted[*g]) {
            starts[g] = end;
            end += unseen.len();
            asked.push(&**unseen);
        }
        let (of_model, of_unseen) = self.model().scores_with_unseen(query, Some(&in_model), &asked);
        let mut of_model = of_model.into_iter();
        let score = |position| match position {
            Some(Position::InModel(_)) => of_model.next().unwrap_or(f32::NAN),
            Some(Position::Unseen(group, at)) => of_unseen[starts[group] + at],
            None => f32::NAN,
        };
        positions.into_iter().map(score).collect()
    }

    /// All documents that the model scores, with their scores.
    pub fn all_scores(&self, query: &QueryTerms) -> Vec<(u32, f32)> {
        let n_trained = self.served.model.counts.n_docs();
        let mut all = Vec::with_capacity(n_trained);
        let (of_trained, of_unseen) = match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let unseen: Vec<&UnseenDocuments> =
                    groups.iter().map(|(_, docs)| &**docs).collect();
                self.model().scores_with_unseen(query, None, &unseen)
            }
            Unseen::Reopened(model, _) => {
                let mut scores = model.scores(query);
                let of_unseen = scores.split_off(n_trained);
                (scores, of_unseen)
            }
        };
        for (doc, score) in (0..).zip(of_trained) {
            all.extend(self.served.number(doc).map(|no| (no, score)));
        }
        all.extend(self.unseen_numbers().zip(of_unseen));
        all
    }

    /// The numbers of its unseen documents, in the order in which they are scored.
    fn unseen_numbers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.unseen {
            Unseen::FoldedIn(groups) => {
                Box::new(groups.iter().flat_map(|(chunk, _)| chunk.numbers.iter().copied()))
            }
            Unseen::Reopened(_, chunk) => Box::new(chunk.numbers.iter().copied()),
        }
    }

    /// The `depth` documents nearest to the query in the latent space, and the best `depth` unseen ones.
    pub fn neighbours(
        &self,
        index: &EmbeddingIndex,
        latent: &Bilinear,
        query: &QueryTerms,
        depth: usize,
        allowed: Option<&DocSet>,
    ) -> Vec<u32> {
        let embedding = latent.query_embedding(&self.served.model.counts, query);
        // No document is near a query of zero.
        if embedding.iter().all(|&number| number == 0.0) {
            return Vec::new();
        }
        let translated = self.allowed_in_model(allowed);
        let found = index.nearest(&embedding, depth, translated.as_ref().or(allowed));
        let mut numbers: Vec<u32> =
            found.iter().filter_map(|hit| self.served.number(hit.doc)).collect();
        numbers.extend(self.best_unseen(query, depth, allowed));
        numbers
    }

    /// The candidates among the documents by an inverted index, and the best `depth` unseen ones.
    pub fn by_postings(
        &self,
        postings: &Postings,
        vectors: &dyn SparseVectors,
        query: &QueryTerms,
        depth: usize,
        allowed: Option<&DocSet>,
    ) -> Vec<u32> {
        let model = &self.served.model;
        let translated = self.allowed_in_model(allowed);
        let in_model = translated.as_ref().or(allowed);
        let docs: Vec<u32> = match in_model {
            // Few documents are all scored.
            Some(few) if few.len() <= FEW_ALLOWED => {
                let n = model.counts.n_docs() as u32;
                few.iter().take_while(|&doc| doc < n).collect()
            }
            _ => {
                let (indices, values) = vectors.weights(&model.counts, query);
                let row = Row { indices: &indices, values: &values };
                postings.candidates(row, depth, in_model)
            }
        };
        let mut hits: Vec<Hit> = docs
            .iter()
            .zip(model.scores_of(query, &docs))
            .map(|(&doc, score)| Hit { doc, score })
            .collect();
        let zero_is_none = self.served.zero_is_none();
        hits.retain(|hit| hit.score.is_finite() && !(zero_is_none && hit.score == 0.0));
        select(&mut hits, depth, |a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        let mut numbers: Vec<u32> =
            hits.into_iter().filter_map(|hit| self.served.number(hit.doc)).collect();
        numbers.extend(self.best_unseen(query, depth, allowed));
        numbers
    }

    /// The allowed documents that the index has, by their numbers in the model, if these differ.
    fn allowed_in_model(&self, allowed: Option<&DocSet>) -> Option<DocSet> {
        // A model of another dataset knows documents that the index does not have.
        match &self.served.mapping {
            DocMapping::Mapped { in_model, .. } => Some(
                in_model
                    .iter()
                    .zip(0..)
                    .filter(|&(&doc, no)| {
                        doc != UNMAPPED && allowed.is_none_or(|allowed| allowed.contains(no))
                    })
                    .map(|(&doc, _)| doc)
                    .collect::<DocSet>(),
            ),
            DocMapping::Same => None,
        }
    }

    /// The best allowed unseen documents.
    fn best_unseen(
        &self,
        query: &QueryTerms,
        depth: usize,
        allowed: Option<&DocSet>,
    ) -> impl Iterator<Item = u32> {
        let (_, of_unseen) = match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let unseen: Vec<&UnseenDocuments> =
                    groups.iter().map(|(_, docs)| &**docs).collect();
                self.model().scores_with_unseen(query, Some(&[]), &unseen)
            }
            Unseen::Reopened(model, chunk) => {
                let first = self.served.model.counts.n_docs() as u32;
                let numbers: Vec<u32> = (first..first + chunk.len() as u32).collect();
                (Vec::new(), model.scores_of(query, &numbers))
            }
        };
        let mut scored: Vec<Hit> = self
            .unseen_numbers()
            .zip(of_unseen)
            .filter(|(no, score)| {
                score.is_finite() && allowed.is_none_or(|allowed| allowed.contains(*no))
            })
            .map(|(doc, score)| Hit { doc, score })
            .collect();
        select(&mut scored, depth, |a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        scored.into_iter().map(|hit| hit.doc)
    }

    /// Explains the score of document `no`, if the model can.
    pub fn explain(&self, text: &str, no: u32, most: usize) -> Result<Option<Explanation>, Error> {
        let place = match self.find(no) {
            None => return Ok(None),
            Some(Position::InModel(doc)) => Place::InModel(doc),
            Some(Position::Unseen(group, at)) => Place::Unseen(&self.groups()[group].1, at as u32),
        };
        Ok(Some(self.model().explain_at(text, place, most)?))
    }

    /// The embedding of document `no`, if the model has a latent space.
    pub fn embedding(&self, no: u32) -> Option<Cow<'_, [f32]>> {
        let part = self.model().parts.iter().position(|part| part.matcher.bilinear().is_some())?;
        let (matcher, doc) = match self.find(no)? {
            Position::InModel(doc) => (&*self.model().parts[part].matcher, doc),
            Position::Unseen(group, at) => (self.groups()[group].1.part(part), at as u32),
        };
        Some(matcher.bilinear()?.doc_embedding(doc))
    }
}

/// The place of a document in a [`ModelView`].
enum Position {
    /// Its number among the documents of the model.
    InModel(u32),
    /// The group of unseen documents, and the position there.
    Unseen(usize, usize),
}
