//! Retrieve → match → fuse → rank → diversify.
//!
//! Every model that is asked proposes its best `candidate_depth` documents: all documents scored
//! where there are few of them, else by the text index or the neighbours in the latent space. All
//! models then score all candidates, and the candidates have one order, by a trained ranker if one
//! is asked for. A page is a part of that order, so scores and order are the same on every page.

use std::collections::BTreeMap;
use std::time::Instant;

use liken::rank::diversify::Mmr;

use super::ask::Asked;
use super::candidates::Scores;
use super::fuse::Column;
use super::query::as_typed;
use super::ranking::{self, Seen};
use super::state::{Generation, State};
use super::view::View;
use super::{Engine, milliseconds};
use crate::Error;
use crate::limits::HITS;
use crate::types::{Hit, Piece, SearchRequest, SearchResponse};
use crate::{checks, snippet};

/// The most candidates among which different ones are chosen: each is compared with all chosen.
const DIVERSE: usize = 1000;
/// Characters of text shown of a long field.
const SHOWN: usize = 240;

/// The candidates of a search, best first.
pub(super) struct Ranked {
    /// Numbers of documents with their scores; in order as far as they are asked for.
    pub order: Vec<(u32, f64)>,
    /// What the models say of them.
    pub scores: Scores,
    /// How each model's score counts.
    pub columns: Vec<Column>,
    /// What the ranker saw, if there is one.
    pub seen: Option<Seen>,
}

impl Engine {
    /// The best documents for a query.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResponse, Error> {
        Ok(self.search_in(&self.now(), request, 0)?.0)
    }

    /// The same in a generation that several searches share, and the ids of the first `look`
    /// documents in their order, whatever page is asked for.
    pub fn search_in(
        &self,
        Generation(state): &Generation,
        request: &SearchRequest,
        look: usize,
    ) -> Result<(SearchResponse, Vec<String>), Error> {
        let started = Instant::now();
        checks::search(request, &self.settings.limits)?;
        let asked = self.ask(state, request)?;
        let ranked = self.rank(state, &asked, look)?;
        let page = ranked.order.iter().enumerate().skip(request.offset).take(asked.k);
        let mut hits = Vec::with_capacity(asked.k);
        for (at, &(no, score)) in page {
            hits.push(Hit {
                rank: at + 1,
                id: state.id(no).to_owned(),
                score,
                scores: ranked.named(&asked, no),
                document: Default::default(),
                highlights: Default::default(),
                explanation: match request.explain {
                    true => Some(self.explain_hit(state, &asked, &ranked, no, None)?),
                    false => None,
                },
                features: match &ranked.seen {
                    Some(seen) if request.log_features => seen.features(no),
                    _ => Default::default(),
                },
            });
        }
        let numbers: Vec<u32> =
            ranked.order.iter().skip(request.offset).take(asked.k).map(|&(no, _)| no).collect();
        self.fill(&mut hits, &numbers, &asked)?;
        let mut notes = asked.notes.clone();
        if !asked.unscored.is_empty() && !ranked.order.is_empty() {
            notes.push(format!(
                "the models know nothing of {}: documents that hold it are found, but it adds \
                 nothing to their scores until a model is trained with them",
                as_typed(&asked.typed.plain, &asked.unscored, &self.analyzer).join(", ")
            ));
        }
        notes.extend(ranked.unseen(request.offset + asked.k));
        if ranked.order.is_empty() {
            notes.push(asked.nothing(state));
        } else if request.offset + asked.k > ranked.order.len() && ranked.order.len() >= asked.depth
        {
            notes.push(format!(
                "only the best {} candidates were put in order; a larger candidate_depth finds more",
                ranked.order.len()
            ));
        }
        let first = ranked.order.iter().take(look).map(|&(no, _)| state.id(no).to_owned());
        let first = first.collect();
        let answer = SearchResponse {
            query: request.query.clone(),
            unknown_words: asked.unknown_words.clone(),
            models: asked.models(),
            ranker: ranked.seen.as_ref().map(|seen| seen.ranker().to_owned()),
            fusion: (asked.views.len() > 1).then(|| asked.fusion.clone()),
            candidate_depth: asked.depth,
            candidates: ranked.order.len(),
            offset: request.offset,
            hits,
            notes,
            took_ms: milliseconds(started),
        };
        Ok((answer, first))
    }

    /// Finds the candidates, scores them and puts them in order, at least the first `look`.
    pub(super) fn rank(
        &self,
        state: &State,
        asked: &Asked<'_>,
        look: usize,
    ) -> Result<Ranked, Error> {
        let allowed = self.allowed(state, asked)?;
        let mut candidates: Vec<u32> = Vec::new();
        for (view, query) in asked.views.iter().zip(&asked.queries) {
            if let Some(query) = query {
                candidates.extend(self.propose(state, asked, view, query, allowed.as_ref())?);
            }
        }
        let unscored = self.hold_unscored(state, asked, allowed.as_ref())?;
        candidates.extend(unscored.keys());
        candidates.sort_unstable();
        candidates.dedup();
        let of_models = asked.scores(&candidates);
        let scores = Scores { numbers: candidates, of_models };
        let text = |no: u32| unscored.get(&no).copied().unwrap_or(0.0);
        // A ranker and a search for variety look at all of them in their order.
        let last = match (&asked.ranker, &asked.request.diversify) {
            (None, None) => (asked.request.offset + asked.k).max(look),
            _ => usize::MAX,
        };
        let mut ranked = Ranked::of(asked, scores, last, |no| (text(no), state.id(no)));
        if let Some(ranker) = &asked.ranker {
            ranking::rank(state, asked, ranker, &mut ranked, asked.depth);
        }
        if let Some(spec) = &asked.request.diversify {
            let last = (asked.request.offset + asked.k).max(HITS).max(look);
            diversify(&mut ranked.order, state, asked, spec.lambda, last);
        }
        Ok(ranked)
    }

    /// Puts text into hits.
    fn fill(&self, hits: &mut [Hit], numbers: &[u32], asked: &Asked<'_>) -> Result<(), Error> {
        let request = asked.request;
        let no_fields = request.fields.as_ref().is_some_and(Vec::is_empty);
        if no_fields && !request.highlight {
            return Ok(());
        }
        for (hit, fields) in hits.iter_mut().zip(self.bodies(numbers)?) {
            let Some(fields) = fields else { continue };
            if request.highlight {
                let marked = |term: &str| asked.typed.terms.contains(term);
                for name in &self.about.reading.fields {
                    let Some(text) = fields.get(name).and_then(|value| value.as_str()) else {
                        continue;
                    };
                    let pieces: Vec<Piece> = snippet::pieces(text, &marked, &self.analyzer, SHOWN);
                    hit.highlights.insert(name.clone(), pieces);
                }
            }
            hit.document = match &request.fields {
                None => fields,
                Some(wanted) => {
                    fields.into_iter().filter(|(name, _)| wanted.contains(name)).collect()
                }
            };
        }
        Ok(())
    }
}

impl Ranked {
    /// Documents in the order of their fused scores, as far as rank `last`; what follows is in no
    /// order. `after` says what comes next where scores are equal, first a number, then the id: as
    /// in trec_eval the larger one first.
    pub fn of<'a>(
        asked: &Asked<'_>,
        scores: Scores,
        last: usize,
        after: impl Fn(u32) -> (f32, &'a str),
    ) -> Self {
        let column = |(view, of_model): (&&View, &Vec<f32>)| match &asked.views[..] {
            [_] => Column::plain(),
            _ => {
                let weight = asked.fusion.weights.get(&view.served.about.model.name);
                let weight = weight.copied().unwrap_or(1.0);
                Column::new(&asked.fusion, weight, of_model, view.served.zero_is_none())
            }
        };
        let columns: Vec<Column> = asked.views.iter().zip(&scores.of_models).map(column).collect();
        let fused = |place: usize| {
            let scores = columns.iter().zip(scores.at(place));
            // Adding zero turns −0 into 0.
            scores.map(|(column, score)| column.adds(score)).sum::<f64>() + 0.0
        };
        let places = scores.numbers.iter().enumerate();
        let mut order: Vec<(u32, f64)> = places.map(|(place, &no)| (no, fused(place))).collect();
        let better = |a: &(u32, f64), b: &(u32, f64)| {
            b.1.total_cmp(&a.1).then_with(|| {
                let ((text_a, id_a), (text_b, id_b)) = (after(a.0), after(b.0));
                text_b.total_cmp(&text_a).then_with(|| id_b.cmp(id_a))
            })
        };
        if last < order.len() {
            order.select_nth_unstable_by(last, better);
        }
        let last = last.min(order.len());
        order[..last].sort_unstable_by(better);
        Ranked { order, scores, columns, seen: None }
    }

    /// Says so where the ranker did not see all candidates up to rank `last`.
    fn unseen(&self, last: usize) -> Option<String> {
        let last = last.min(self.order.len());
        let seen = self.seen.as_ref().filter(|seen| seen.len() < last)?;
        Some(format!(
            "{} put the first {} of {} candidates in order; the others follow in the order of the \
             models, with scores below",
            seen.ranker(),
            seen.len(),
            self.order.len()
        ))
    }

    /// The scores of a candidate by model.
    pub fn named(&self, asked: &Asked<'_>, no: u32) -> BTreeMap<String, f64> {
        let Some(place) = self.scores.find(no) else { return BTreeMap::new() };
        let names = asked.views.iter().map(|view| view.served.about.model.name.clone());
        let scores = self.scores.at(place).map(f64::from);
        names.zip(scores).filter(|(_, score)| score.is_finite()).collect()
    }
}

/// Puts different documents first, up to rank `last`: they are chosen one by one, so that what
/// stands at a rank does not depend on how many are asked for. Two documents are as similar as
/// the angle between their images is small; without a latent space, nothing is done. Candidates
/// behind the first [`DIVERSE`] stay where they are.
fn diversify(
    order: &mut Vec<(u32, f64)>,
    state: &State,
    asked: &Asked<'_>,
    lambda: f64,
    last: usize,
) {
    let has_images =
        |view: &&View| view.model().parts.iter().any(|part| part.matcher.bilinear().is_some());
    let view = asked.views.iter().copied().find(has_images);
    let Some(view) = view.or_else(|| state.models.iter().find(has_images)) else { return };
    let rest = order.split_off(order.len().min(DIVERSE));
    let images: Vec<_> = order.iter().map(|&(no, _)| view.image(no)).collect();
    let similarity = |a: usize, b: usize| match (&images[a], &images[b]) {
        (Some(a), Some(b)) => liken::linalg::cosine(a, b),
        _ => 0.0,
    };
    let scores: Vec<f64> = order.iter().map(|&(_, score)| score).collect();
    let mmr = Mmr { lambda, ..Mmr::default() };
    *order = mmr.order(&scores, similarity, last).into_iter().map(|at| order[at]).collect();
    order.extend(rest);
}
