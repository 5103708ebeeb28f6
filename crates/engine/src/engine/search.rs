//! Retrieve → match → fuse → re-rank → diversify.
//!
//! Retrieval: every model contributes its best `candidate_depth` documents. In a small index it
//! scores all documents; in a large one the text index or the nearest-neighbour index finds them.
//! All models then score all candidates, and the scores are fused. Re-ranking: a trained ranker
//! orders the candidates if the search names one. There is one order; a page is a slice of it, so
//! scores and ranks are the same on every page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use liken::rank::diversify::Mmr;

use super::candidates::Scores;
use super::fuse::ScoreScale;
use super::query::as_typed;
use super::rankers::ServedRanker;
use super::ranking::{self, Reranked};
use super::resolve::ResolvedSearch;
use super::snapshot::{IndexState, Snapshot};
use super::view::ModelView;
use super::{Engine, milliseconds};
use crate::Error;
use crate::limits::HITS;
use crate::types::{Hit, SearchRequest, SearchResponse};
use crate::{checks, snippet};

/// The most candidates that are diversified: each is compared with all chosen before.
const DIVERSE: usize = 1000;
/// Characters of a highlight.
const SHOWN: usize = 240;

/// The candidates of a search, best first.
pub(super) struct Ranked {
    /// Numbers of documents with their scores, sorted as far as the request needs.
    pub order: Vec<(u32, f64)>,
    /// Their scores under every model.
    pub scores: Scores,
    /// The map from score to contribution, per model.
    pub scales: Vec<ScoreScale>,
    /// The re-ranking, if there is a ranker.
    pub reranked: Option<Reranked>,
}

impl Engine {
    /// The best documents for a query.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResponse, Error> {
        Ok(self.search_in(&self.snapshot(), request, 0)?.0)
    }

    /// Searches in a snapshot, which several searches may share. Also returns the ids of the first
    /// `n_first` documents, on every page.
    pub fn search_in(
        &self,
        Snapshot(state): &Snapshot,
        request: &SearchRequest,
        n_first: usize,
    ) -> Result<(SearchResponse, Vec<String>), Error> {
        let started = Instant::now();
        checks::search(request, &self.settings.limits)?;
        let asked = self.resolve(state, request)?;
        let ranked = self.rank(state, &asked, n_first)?;
        let page: Vec<(u32, f64)> =
            ranked.order.iter().skip(request.offset).take(asked.k).copied().collect();
        let mut hits = Vec::with_capacity(page.len());
        for (rank, &(no, score)) in (request.offset + 1..).zip(&page) {
            hits.push(Hit {
                rank,
                id: state.id(no).to_owned(),
                score,
                scores: ranked.named(&asked, no),
                explanation: match request.explain {
                    true => Some(self.explain_hit(state, &asked, &ranked, no, None)?),
                    false => None,
                },
                features: match &ranked.reranked {
                    Some(reranked) if request.log_features => reranked.features(no),
                    _ => Default::default(),
                },
                ..Hit::default()
            });
        }
        let numbers: Vec<u32> = page.iter().map(|&(no, _)| no).collect();
        self.fill(&mut hits, &numbers, &asked)?;
        let mut notes = asked.notes.clone();
        if !asked.unscored.is_empty() && !ranked.order.is_empty() {
            notes.push(format!(
                "no model was trained with {}: documents that contain it are found by the text index, \
                 but it contributes nothing to their scores",
                as_typed(&asked.typed.plain, &asked.unscored, &self.analyzer).join(", ")
            ));
        }
        notes.extend(ranked.partly_reranked(request.offset + asked.k));
        if ranked.order.is_empty() {
            notes.push(asked.why_empty(state));
        } else if request.offset + asked.k > ranked.order.len() && ranked.order.len() >= asked.depth
        {
            notes.push(format!(
                "only the best {} candidates were ranked; a larger candidate_depth finds more",
                ranked.order.len()
            ));
        }
        let first = ranked.order.iter().take(n_first).map(|&(no, _)| state.id(no).to_owned());
        let first = first.collect();
        let answer = SearchResponse {
            query: request.query.clone(),
            unknown_words: asked.unknown_words.clone(),
            models: asked.models(),
            ranker: ranked.reranked.as_ref().map(|reranked| reranked.ranker().to_owned()),
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

    /// Retrieves, scores and ranks the candidates, at least the first `n_first`.
    pub(super) fn rank(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        n_first: usize,
    ) -> Result<Ranked, Error> {
        let allowed = self.allowed(state, asked)?;
        let mut candidates: Vec<u32> = Vec::new();
        for (view, query) in asked.views.iter().zip(&asked.queries) {
            if let Some(query) = query {
                candidates.extend(self.retrieve(state, asked, view, query, allowed.as_ref())?);
            }
        }
        let unscored = self.retrieve_unscored(state, asked, allowed.as_ref())?;
        candidates.extend(unscored.keys());
        candidates.sort_unstable();
        candidates.dedup();
        let of_models = asked.scores(&candidates);
        let scores = Scores { numbers: candidates, of_models };
        let text = |no: u32| unscored.get(&no).copied().unwrap_or(0.0);
        // Re-ranking and diversification need the whole order.
        let last = match (&asked.ranker, &asked.request.diversify) {
            (None, None) => (asked.request.offset + asked.k).max(n_first),
            _ => usize::MAX,
        };
        let mut ranked = Ranked::of(asked, scores, last, |no| (text(no), state.id(no)));
        if let Some(ranker) = &asked.ranker {
            ranked.rerank(state, asked, ranker, asked.depth);
        }
        if let Some(spec) = &asked.request.diversify {
            let last = (asked.request.offset + asked.k).max(HITS).max(n_first);
            diversify(&mut ranked.order, state, asked, spec.lambda, last);
        }
        Ok(ranked)
    }

    /// Adds fields and highlights to hits.
    fn fill(
        &self,
        hits: &mut [Hit],
        numbers: &[u32],
        asked: &ResolvedSearch<'_>,
    ) -> Result<(), Error> {
        let request = asked.request;
        let no_fields = request.fields.as_ref().is_some_and(Vec::is_empty);
        if no_fields && !request.highlight {
            return Ok(());
        }
        for (hit, fields) in hits.iter_mut().zip(self.store.bodies(numbers)?) {
            let Some(fields) = fields else { continue };
            if request.highlight {
                let marked = |term: &str| asked.typed.terms.contains(term);
                for name in &self.about.reading.fields {
                    let Some(text) = fields.get(name).and_then(|value| value.as_str()) else {
                        continue;
                    };
                    let fragments = snippet::fragments(text, &marked, &self.analyzer, SHOWN);
                    hit.highlights.insert(name.clone(), fragments);
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
    /// Documents in the order of their fused scores, sorted up to rank `last`. Equal scores are
    /// ordered by `after`, a number and the id: as in trec_eval the larger one first.
    pub fn of<'a>(
        asked: &ResolvedSearch<'_>,
        scores: Scores,
        last: usize,
        after: impl Fn(u32) -> (f32, &'a str),
    ) -> Self {
        let scale = |(view, of_model): (&&ModelView, &Vec<f32>)| match &asked.views[..] {
            [_] => ScoreScale::identity(),
            _ => {
                let weight = asked.fusion.weights.get(&view.served.about.model.name);
                let weight = weight.copied().unwrap_or(1.0);
                ScoreScale::new(&asked.fusion, weight, of_model, view.served.zero_is_none())
            }
        };
        let scales: Vec<ScoreScale> =
            asked.views.iter().zip(&scores.of_models).map(scale).collect();
        let fused = |place: usize| {
            let scores = scales.iter().zip(scores.at(place));
            // Adding zero turns −0 into 0.
            scores.map(|(scale, score)| scale.contribution(score)).sum::<f64>() + 0.0
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
        Ranked { order, scores, scales, reranked: None }
    }

    /// Re-ranks the first `depth` candidates.
    pub fn rerank(
        &mut self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        ranker: &Arc<ServedRanker>,
        depth: usize,
    ) {
        let reranked = ranking::rank(state, asked, ranker, &self.scores, &mut self.order, depth);
        self.reranked = Some(reranked);
    }

    /// A note if the ranker did not re-rank all candidates up to rank `last`.
    fn partly_reranked(&self, last: usize) -> Option<String> {
        let last = last.min(self.order.len());
        let reranked = self.reranked.as_ref().filter(|reranked| reranked.len() < last)?;
        Some(format!(
            "{} re-ranked the first {} of {} candidates; the others follow in the order of the \
             fused scores",
            reranked.ranker(),
            reranked.len(),
            self.order.len()
        ))
    }

    /// The scores of a candidate by model.
    pub fn named(&self, asked: &ResolvedSearch<'_>, no: u32) -> BTreeMap<String, f64> {
        let Some(place) = self.scores.find(no) else { return BTreeMap::new() };
        let names = asked.views.iter().map(|view| view.served.about.model.name.clone());
        let scores = self.scores.at(place).map(f64::from);
        names.zip(scores).filter(|(_, score)| score.is_finite()).collect()
    }
}

/// Diversifies by maximal marginal relevance, up to rank `last`: documents are chosen one by one, so
/// the document at a rank does not depend on `last`. The similarity is the cosine of the embeddings;
/// without a latent space, nothing is done. Candidates after the first [`DIVERSE`] keep their ranks.
fn diversify(
    order: &mut Vec<(u32, f64)>,
    state: &IndexState,
    asked: &ResolvedSearch<'_>,
    lambda: f64,
    last: usize,
) {
    let has_embeddings =
        |view: &&ModelView| view.model().parts.iter().any(|part| part.matcher.bilinear().is_some());
    let view = asked.views.iter().copied().find(has_embeddings);
    let Some(view) = view.or_else(|| state.models.iter().find(has_embeddings)) else { return };
    let rest = order.split_off(order.len().min(DIVERSE));
    let embeddings: Vec<_> = order.iter().map(|&(no, _)| view.embedding(no)).collect();
    let similarity = |a: usize, b: usize| match (&embeddings[a], &embeddings[b]) {
        (Some(a), Some(b)) => liken::linalg::cosine(a, b),
        _ => 0.0,
    };
    let scores: Vec<f64> = order.iter().map(|&(_, score)| score).collect();
    let mmr = Mmr { lambda, ..Mmr::default() };
    *order = mmr.order(&scores, similarity, last).into_iter().map(|at| order[at]).collect();
    order.extend(rest);
}
