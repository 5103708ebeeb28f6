//! A served model together with its unseen documents.
//!
//! Every score comes from the model itself, by the code that training and `liken search` use.

use std::borrow::Cow;
use std::sync::Arc;

use liken::features::QueryTerms;
use liken::index::{DocSet, EmbeddingIndex};
use liken::matchers::{Bilinear, Explanation, Model, Place, UnseenDocuments};
use liken::ranking::Hit;
use liken::top_k::select;

use super::docs::Chunk;
use super::served::{DocMapping, ServedModel, UNMAPPED};
use crate::Error;

/// A served model and its unseen documents in one snapshot.
#[derive(Clone)]
pub(crate) struct ModelView {
    pub served: Arc<ServedModel>,
    pub unseen: Unseen,
}

/// How unseen documents are scored.
#[derive(Clone)]
pub(crate) enum Unseen {
    /// Folded in, in groups.
    FoldedIn(Vec<(Arc<Chunk>, Arc<UnseenDocuments>)>),
    /// By the model reopened with them, if its method cannot fold in: they follow its own documents,
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

    /// Finds document `no` in a group of unseen documents, or among those of training.
    fn find(&self, no: u32) -> Option<Position> {
        match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let mut found = groups.iter().enumerate();
                let found = found.find_map(|(g, (chunk, _))| Some((g, chunk.find(no)?)));
                match found {
                    Some((group, at)) => Some(Position::Unseen(group, at)),
                    None => self.served.own(no).map(Position::Own),
                }
            }
            Unseen::Reopened(_, chunk) => match chunk.find(no) {
                Some(at) => Some(Position::Own((self.served.model.counts.n_docs() + at) as u32)),
                None => self.served.own(no).map(Position::Own),
            },
        }
    }

    /// The scores of documents; NaN for those that the model does not have.
    pub fn scores(&self, query: &QueryTerms, numbers: &[u32]) -> Vec<f32> {
        let positions: Vec<Option<Position>> = numbers.iter().map(|&no| self.find(no)).collect();
        let groups = match &self.unseen {
            Unseen::FoldedIn(groups) => &groups[..],
            Unseen::Reopened(..) => &[],
        };
        // Groups without a candidate are not scored.
        let (mut own, mut wanted) = (Vec::new(), vec![false; groups.len()]);
        for position in positions.iter().flatten() {
            match *position {
                Position::Own(doc) => own.push(doc),
                Position::Unseen(group, _) => wanted[group] = true,
            }
        }
        let mut starts = vec![0usize; groups.len()];
        let (mut asked, mut end) = (Vec::new(), 0);
        for (g, (_, new)) in groups.iter().enumerate().filter(|(g, _)| wanted[*g]) {
            starts[g] = end;
            end += new.len();
            asked.push(&**new);
        }
        let (own_scores, new_scores) = self.model().scores_with_unseen(query, Some(&own), &asked);
        let mut own_scores = own_scores.into_iter();
        let score = |position| match position {
            Some(Position::Own(_)) => own_scores.next().unwrap_or(f32::NAN),
            Some(Position::Unseen(group, at)) => new_scores[starts[group] + at],
            None => f32::NAN,
        };
        positions.into_iter().map(score).collect()
    }

    /// All documents that the model scores, with their scores.
    pub fn all_scores(&self, query: &QueryTerms) -> Vec<(u32, f32)> {
        let n_own = self.served.model.counts.n_docs();
        let mut all = Vec::with_capacity(n_own);
        let (own_scores, unseen) = match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let new: Vec<&UnseenDocuments> = groups.iter().map(|(_, new)| &**new).collect();
                self.model().scores_with_unseen(query, None, &new)
            }
            Unseen::Reopened(model, _) => {
                let mut scores = model.scores(query);
                let unseen = scores.split_off(n_own);
                (scores, unseen)
            }
        };
        for (own, score) in (0..).zip(own_scores) {
            all.extend(self.served.number(own).map(|no| (no, score)));
        }
        all.extend(self.unseen_numbers().zip(unseen));
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
        // A model of another dataset knows documents that the index does not have.
        let translated = match &self.served.mapping {
            DocMapping::Mapped { own, .. } => Some(
                own.iter()
                    .zip(0..)
                    .filter(|&(&own, no)| {
                        own != UNMAPPED && allowed.is_none_or(|allowed| allowed.contains(no))
                    })
                    .map(|(&own, _)| own)
                    .collect::<DocSet>(),
            ),
            DocMapping::Same => None,
        };
        let found = index.nearest(&embedding, depth, translated.as_ref().or(allowed));
        let mut numbers: Vec<u32> =
            found.iter().filter_map(|hit| self.served.number(hit.doc)).collect();
        let (_, unseen) = match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let new: Vec<&UnseenDocuments> = groups.iter().map(|(_, new)| &**new).collect();
                self.model().scores_with_unseen(query, Some(&[]), &new)
            }
            Unseen::Reopened(model, chunk) => {
                let first = self.served.model.counts.n_docs() as u32;
                let numbers: Vec<u32> = (first..first + chunk.len() as u32).collect();
                (Vec::new(), model.scores_of(query, &numbers))
            }
        };
        let mut scored: Vec<Hit> = self
            .unseen_numbers()
            .zip(unseen)
            .filter(|(no, score)| {
                score.is_finite() && allowed.is_none_or(|allowed| allowed.contains(*no))
            })
            .map(|(doc, score)| Hit { doc, score })
            .collect();
        select(&mut scored, depth, |a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        numbers.extend(scored.iter().map(|hit| hit.doc));
        numbers
    }

    /// Explains the score of document `no`, if the model can.
    pub fn explain(&self, text: &str, no: u32, most: usize) -> Result<Option<Explanation>, Error> {
        let place = match (self.find(no), &self.unseen) {
            (None, _) => return Ok(None),
            (Some(Position::Own(own)), _) => Place::Own(own),
            (Some(Position::Unseen(group, at)), Unseen::FoldedIn(groups)) => {
                Place::New(&groups[group].1, at as u32)
            }
            (Some(Position::Unseen(..)), Unseen::Reopened(..)) => return Ok(None),
        };
        Ok(Some(self.model().explain_at(text, place, most)?))
    }

    /// The embedding of document `no`, if the model has a latent space.
    pub fn embedding(&self, no: u32) -> Option<Cow<'_, [f32]>> {
        let part = self.model().parts.iter().position(|part| part.matcher.bilinear().is_some())?;
        match (self.find(no)?, &self.unseen) {
            (Position::Own(own), _) => {
                let latent = self.model().parts[part].matcher.bilinear()?;
                Some(latent.doc_embedding(own))
            }
            (Position::Unseen(group, at), Unseen::FoldedIn(groups)) => {
                let latent = groups[group].1.part(part).bilinear()?;
                Some(latent.doc_embedding(at as u32))
            }
            (Position::Unseen(..), Unseen::Reopened(..)) => None,
        }
    }
}

/// Where the model has a document.
enum Position {
    /// Its number among the documents of the model.
    Own(u32),
    /// The group of unseen documents, and the position there.
    Unseen(usize, usize),
}
