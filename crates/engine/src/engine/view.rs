//! A served model with the documents that came after training, as a request sees both.
//!
//! Every score comes from the model itself, by the code that training and `liken search` use.

use std::borrow::Cow;
use std::sync::Arc;

use liken::features::QueryTerms;
use liken::index::{DocSet, ImageIndex};
use liken::matchers::{Bilinear, Explanation, Model, Newcomers, Place};
use liken::ranking::Hit;
use liken::top_k::select;

use super::docs::Chunk;
use super::served::{NOWHERE, Places, Served};
use crate::Error;

/// A served model with the documents that came after training, as a request sees both.
#[derive(Clone)]
pub(crate) struct View {
    pub served: Arc<Served>,
    pub later: Later,
}

/// How later documents are scored.
#[derive(Clone)]
pub(crate) enum Later {
    /// Beside the model.
    Beside(Vec<(Arc<Chunk>, Arc<Newcomers>)>),
    /// By the model made anew with them: it has no shorter way. They stand after its own, in this
    /// order.
    Within(Arc<Model>, Arc<Chunk>),
}

impl View {
    /// The model that scores.
    pub fn model(&self) -> &Model {
        match &self.later {
            Later::Beside(_) => &self.served.model,
            Later::Within(model, _) => model,
        }
    }

    /// Where document `no` stands: the group of later documents and the place in it, or the
    /// model's own.
    fn find(&self, no: u32) -> Option<Found> {
        match &self.later {
            Later::Beside(groups) => {
                let mut found = groups.iter().enumerate();
                let found = found.find_map(|(g, (chunk, _))| Some((g, chunk.find(no)?)));
                match found {
                    Some((group, at)) => Some(Found::Later(group, at)),
                    None => self.served.own(no).map(Found::Own),
                }
            }
            Later::Within(_, chunk) => match chunk.find(no) {
                Some(at) => Some(Found::Own((self.served.model.counts.n_docs() + at) as u32)),
                None => self.served.own(no).map(Found::Own),
            },
        }
    }

    /// The scores of documents; not a number for those that nobody knows.
    pub fn scores(&self, query: &QueryTerms, numbers: &[u32]) -> Vec<f32> {
        let places: Vec<Option<Found>> = numbers.iter().map(|&no| self.find(no)).collect();
        let own: Vec<u32> = places
            .iter()
            .filter_map(|place| match place {
                Some(Found::Own(own)) => Some(*own),
                _ => None,
            })
            .collect();
        let groups = match &self.later {
            Later::Beside(groups) => &groups[..],
            Later::Within(..) => &[],
        };
        // Groups without a candidate are not scored.
        let wanted: Vec<bool> = (0..groups.len())
            .map(|g| {
                places.iter().any(|p| matches!(p, Some(Found::Later(group, _)) if *group == g))
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
                Some(Found::Later(group, at)) => new_scores[starts[group] + at],
                None => f32::NAN,
            })
            .collect()
    }

    /// Every document that the model scores, by number, with its score.
    pub fn all_scores(&self, query: &QueryTerms) -> Vec<(u32, f32)> {
        let n_own = self.served.model.counts.n_docs();
        let mut all = Vec::with_capacity(n_own);
        let (own_scores, later) = match &self.later {
            Later::Beside(groups) => {
                let new: Vec<&Newcomers> = groups.iter().map(|(_, new)| &**new).collect();
                self.model().scores_beside(query, None, &new)
            }
            Later::Within(model, _) => {
                let mut scores = model.scores(query);
                let later = scores.split_off(n_own);
                (scores, later)
            }
        };
        for (own, score) in (0..).zip(own_scores) {
            all.extend(self.served.number(own).map(|no| (no, score)));
        }
        all.extend(self.later_numbers().zip(later));
        all
    }

    fn later_numbers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.later {
            Later::Beside(groups) => {
                Box::new(groups.iter().flat_map(|(chunk, _)| chunk.numbers.iter().copied()))
            }
            Later::Within(_, chunk) => Box::new(chunk.numbers.iter().copied()),
        }
    }

    /// The `depth` documents nearest to the query in the latent space, and as many of those that
    /// came later.
    pub fn neighbours(
        &self,
        index: &ImageIndex,
        latent: &Bilinear,
        query: &QueryTerms,
        depth: usize,
        allowed: Option<&DocSet>,
    ) -> Vec<u32> {
        let image = latent.query_image(&self.served.model.counts, query);
        // All documents are equally far from nowhere.
        if image.iter().all(|&number| number == 0.0) {
            return Vec::new();
        }
        // A model of another dataset knows documents that the index does not have.
        let translated = match &self.served.places {
            Places::Mapped { own, .. } => Some(
                own.iter()
                    .zip(0..)
                    .filter(|&(&own, no)| {
                        own != NOWHERE && allowed.is_none_or(|allowed| allowed.contains(no))
                    })
                    .map(|(&own, _)| own)
                    .collect::<DocSet>(),
            ),
            Places::Same => None,
        };
        let found = index.nearest(&image, depth, translated.as_ref().or(allowed));
        let mut numbers: Vec<u32> =
            found.iter().filter_map(|hit| self.served.number(hit.doc)).collect();
        let (_, later) = match &self.later {
            Later::Beside(groups) => {
                let new: Vec<&Newcomers> = groups.iter().map(|(_, new)| &**new).collect();
                self.model().scores_beside(query, Some(&[]), &new)
            }
            Later::Within(model, chunk) => {
                let first = self.served.model.counts.n_docs() as u32;
                let numbers: Vec<u32> = (first..first + chunk.len() as u32).collect();
                (Vec::new(), model.scores_of(query, &numbers))
            }
        };
        let mut scored: Vec<Hit> = self
            .later_numbers()
            .zip(later)
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
        let place = match (self.find(no), &self.later) {
            (None, _) => return Ok(None),
            (Some(Found::Own(own)), _) => Place::Own(own),
            (Some(Found::Later(group, at)), Later::Beside(groups)) => {
                Place::New(&groups[group].1, at as u32)
            }
            (Some(Found::Later(..)), Later::Within(..)) => return Ok(None),
        };
        Ok(Some(self.model().explain_at(text, place, most)?))
    }

    /// The image of document `no` in the latent space, if the model is one.
    pub fn image(&self, no: u32) -> Option<Cow<'_, [f32]>> {
        let part = self.model().parts.iter().position(|part| part.matcher.bilinear().is_some())?;
        match (self.find(no)?, &self.later) {
            (Found::Own(own), _) => {
                let latent = self.model().parts[part].matcher.bilinear()?;
                Some(latent.doc_image(own))
            }
            (Found::Later(group, at), Later::Beside(groups)) => {
                let latent = groups[group].1.part(part).bilinear()?;
                Some(latent.doc_image(at as u32))
            }
            (Found::Later(..), Later::Within(..)) => None,
        }
    }
}

#[derive(Clone, Copy)]
enum Found {
    Own(u32),
    Later(usize, usize),
}
