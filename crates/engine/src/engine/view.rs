//! A served model together with the documents that training did not see.
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
use super::served::{DocMapping, Served, UNMAPPED};
use crate::Error;

/// A served model and its unseen documents, as one snapshot has them.
#[derive(Clone)]
pub(crate) struct View {
    pub served: Arc<Served>,
    pub unseen: Unseen,
}

/// How unseen documents are scored.
#[derive(Clone)]
pub(crate) enum Unseen {
    /// Folded in, in groups.
    FoldedIn(Vec<(Arc<Chunk>, Arc<UnseenDocuments>)>),
    /// By the model opened again with them, if its method cannot fold in. They follow its own
    /// documents, in this order.
    Reopened(Arc<Model>, Arc<Chunk>),
}

impl View {
    /// The model that scores.
    pub fn model(&self) -> &Model {
        match &self.unseen {
            Unseen::FoldedIn(_) => &self.served.model,
            Unseen::Reopened(model, _) => model,
        }
    }

    /// Where document `no` is: in a group of unseen documents, or among those of training.
    fn find(&self, no: u32) -> Option<Found> {
        match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let mut found = groups.iter().enumerate();
                let found = found.find_map(|(g, (chunk, _))| Some((g, chunk.find(no)?)));
                match found {
                    Some((group, at)) => Some(Found::Unseen(group, at)),
                    None => self.served.own(no).map(Found::Own),
                }
            }
            Unseen::Reopened(_, chunk) => match chunk.find(no) {
                Some(at) => Some(Found::Own((self.served.model.counts.n_docs() + at) as u32)),
                None => self.served.own(no).map(Found::Own),
            },
        }
    }

    /// The scores of documents; not a number for those that the model does not have.
    pub fn scores(&self, query: &QueryTerms, numbers: &[u32]) -> Vec<f32> {
        let places: Vec<Option<Found>> = numbers.iter().map(|&no| self.find(no)).collect();
        let own: Vec<u32> = places
            .iter()
            .filter_map(|place| match place {
                Some(Found::Own(own)) => Some(*own),
                _ => None,
            })
            .collect();
        let groups = match &self.unseen {
            Unseen::FoldedIn(groups) => &groups[..],
            Unseen::Reopened(..) => &[],
        };
        // Groups without a candidate are not scored.
        let wanted: Vec<bool> = (0..groups.len())
            .map(|g| {
                places.iter().any(|p| matches!(p, Some(Found::Unseen(group, _)) if *group == g))
            })
            .collect();
        let mut starts = vec![0usize; groups.len()];
        let (mut asked, mut end) = (Vec::new(), 0);
        for (g, (_, new)) in groups.iter().enumerate().filter(|(g, _)| wanted[*g]) {
            starts[g] = end;
            end += new.len();
            asked.push(&**new);
        }
        let (own_scores, new_scores) = self.model().scores_beside(query, Some(&own), &asked);
        let mut own_scores = own_scores.into_iter();
        places
            .into_iter()
            .map(|place| match place {
                Some(Found::Own(_)) => own_scores.next().unwrap_or(f32::NAN),
                Some(Found::Unseen(group, at)) => new_scores[starts[group] + at],
                None => f32::NAN,
            })
            .collect()
    }

    /// Every document that the model scores, by number, with its score.
    pub fn all_scores(&self, query: &QueryTerms) -> Vec<(u32, f32)> {
        let n_own = self.served.model.counts.n_docs();
        let mut all = Vec::with_capacity(n_own);
        let (own_scores, unseen) = match &self.unseen {
            Unseen::FoldedIn(groups) => {
                let new: Vec<&UnseenDocuments> = groups.iter().map(|(_, new)| &**new).collect();
                self.model().scores_beside(query, None, &new)
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

    fn unseen_numbers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.unseen {
            Unseen::FoldedIn(groups) => {
                Box::new(groups.iter().flat_map(|(chunk, _)| chunk.numbers.iter().copied()))
            }
            Unseen::Reopened(_, chunk) => Box::new(chunk.numbers.iter().copied()),
        }
    }

    /// The `depth` documents nearest to the query in the latent space, and as many unseen ones.
    pub fn neighbours(
        &self,
        index: &EmbeddingIndex,
        latent: &Bilinear,
        query: &QueryTerms,
        depth: usize,
        allowed: Option<&DocSet>,
    ) -> Vec<u32> {
        let embedding = latent.query_embedding(&self.served.model.counts, query);
        // All documents are equally far from nowhere.
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
                self.model().scores_beside(query, Some(&[]), &new)
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

    /// Why document `no` has its score.
    pub fn explain(&self, text: &str, no: u32, most: usize) -> Result<Option<Explanation>, Error> {
        let place = match (self.find(no), &self.unseen) {
            (None, _) => return Ok(None),
            (Some(Found::Own(own)), _) => Place::Own(own),
            (Some(Found::Unseen(group, at)), Unseen::FoldedIn(groups)) => {
                Place::New(&groups[group].1, at as u32)
            }
            (Some(Found::Unseen(..)), Unseen::Reopened(..)) => return Ok(None),
        };
        Ok(Some(self.model().explain_at(text, place, most)?))
    }

    /// The embedding of document `no`, if the model has a latent space.
    pub fn embedding(&self, no: u32) -> Option<Cow<'_, [f32]>> {
        let part = self.model().parts.iter().position(|part| part.matcher.bilinear().is_some())?;
        match (self.find(no)?, &self.unseen) {
            (Found::Own(own), _) => {
                let latent = self.model().parts[part].matcher.bilinear()?;
                Some(latent.doc_embedding(own))
            }
            (Found::Unseen(group, at), Unseen::FoldedIn(groups)) => {
                let latent = groups[group].1.part(part).bilinear()?;
                Some(latent.doc_embedding(at as u32))
            }
            (Found::Unseen(..), Unseen::Reopened(..)) => None,
        }
    }
}

#[derive(Clone, Copy)]
enum Found {
    Own(u32),
    Unseen(usize, usize),
}
