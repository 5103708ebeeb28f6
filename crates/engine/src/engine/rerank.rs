//! Re-ranking of given documents: those of the index by id, others with their fields.

use std::collections::HashSet;
use std::time::Instant;

use super::candidates::Scores;
use super::embeddings::documents;
use super::fold_in::view_of_given;
use super::rankers::NONE;
use super::search::Ranked;
use super::{Engine, milliseconds};
use crate::types::{Hit, RerankRequest, RerankResponse, SearchRequest};
use crate::{Error, checks};

impl Engine {
    /// Scores and orders given documents.
    pub fn rerank(&self, request: &RerankRequest) -> Result<RerankResponse, Error> {
        let started = Instant::now();
        checks::rerank(request, &self.settings.limits)?;
        let state = self.state();
        let search = SearchRequest {
            query: request.query.clone(),
            models: request.models.clone(),
            fusion: request.fusion.clone(),
            ranker: ranker_of(request)?,
            ..SearchRequest::default()
        };
        let asked = self.resolve(&state, &search)?;
        let (mut unknown_ids, mut numbers) = (Vec::new(), Vec::new());
        for (id, no) in request.ids.iter().zip(self.numbers(&state, &request.ids)?) {
            match no {
                Some(no) => numbers.push(no),
                None => unknown_ids.push(id.clone()),
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        let mut of_models = asked.scores(&numbers);
        // Given documents get numbers above all others.
        let given = documents(&request.documents)?;
        let mut named: HashSet<&str> = request.ids.iter().map(String::as_str).collect();
        if let Some(twice) = given.iter().find(|document| !named.insert(&document.id)) {
            return Err(Error::invalid(format!(
                "documents: {:?} is the id of two documents; expected one id per document",
                twice.id
            )));
        }
        let given_numbers: Vec<u32> = (state.end..).take(given.len()).collect();
        for ((view, query), scores) in asked.views.iter().zip(&asked.queries).zip(&mut of_models) {
            match query {
                Some(query) => {
                    let view = view_of_given(&view.served, &given, state.end)?;
                    scores.extend(view.scores(query, &given_numbers));
                }
                None => scores.resize(numbers.len() + given.len(), f32::NAN),
            }
        }
        numbers.extend(given_numbers);
        let id = |no: u32| match no.checked_sub(state.end) {
            Some(at) => given[at as usize].id.as_str(),
            None => state.id(no),
        };
        let scores = Scores { numbers, of_models };
        let mut ranked = Ranked::of(&asked, scores, usize::MAX, |no| (0.0, id(no)));
        if let Some(ranker) = &asked.ranker {
            ranked.rerank(&state, &asked, ranker, usize::MAX);
        }
        let hit = |(rank, &(no, score)): (usize, &(u32, f64))| Hit {
            rank,
            id: id(no).to_owned(),
            score,
            scores: ranked.named(&asked, no),
            ..Hit::default()
        };
        let most = request.k.unwrap_or(usize::MAX);
        Ok(RerankResponse {
            models: asked.models(),
            ranker: ranked.reranked.as_ref().map(|reranked| reranked.ranker().to_owned()),
            hits: (1..).zip(ranked.order.iter().take(most)).map(hit).collect(),
            unknown_ids,
            took_ms: milliseconds(started),
        })
    }
}

/// The ranker of the request. Documents that are not in the index lack most features.
fn ranker_of(request: &RerankRequest) -> Result<Option<String>, Error> {
    match &request.ranker {
        Some(name) if name != NONE && !request.documents.is_empty() => {
            Err(Error::invalid(format!(
                "ranker: {name} re-ranks documents of the index; give their ids, or omit the ranker \
                 to rank by the fused scores"
            )))
        }
        Some(name) => Ok(Some(name.clone())),
        None => Ok((!request.documents.is_empty()).then(|| NONE.to_owned())),
    }
}
