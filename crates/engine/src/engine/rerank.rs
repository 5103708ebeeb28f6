//! Re-ranking of given documents: of the index, by id, or texts that come with the request.

use std::collections::HashSet;
use std::time::Instant;

use liken::data::Document;
use liken::features::QueryTerms;

use super::candidates::Scores;
use super::embeddings::{documents, fold_in};
use super::rankers::NONE;
use super::search::Ranked;
use super::view::View;
use super::{Engine, milliseconds, ranking};
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
        // Texts that are not in the index have numbers behind all others.
        let given = documents(&request.documents)?;
        let mut named: HashSet<&str> = request.ids.iter().map(String::as_str).collect();
        if let Some(twice) = given.iter().find(|document| !named.insert(&document.id)) {
            return Err(Error::invalid(format!(
                "documents: two are called {:?}; give each an id of its own",
                twice.id
            )));
        }
        for ((view, query), scores) in asked.views.iter().zip(&asked.queries).zip(&mut of_models) {
            match query {
                Some(query) => scores.extend(scores_of(view, query, &given)?),
                None => scores.resize(numbers.len() + given.len(), f32::NAN),
            }
        }
        numbers.extend((state.end..).take(given.len()));
        let id = |no: u32| match no.checked_sub(state.end) {
            Some(at) => given[at as usize].id.as_str(),
            None => state.id(no),
        };
        let scores = Scores { numbers, of_models };
        let mut ranked = Ranked::of(&asked, scores, usize::MAX, |no| (0.0, id(no)));
        if let Some(ranker) = &asked.ranker {
            ranking::rank(&state, &asked, ranker, &mut ranked, usize::MAX);
        }
        let hit = |(rank, &(no, score)): (usize, &(u32, f64))| Hit {
            rank,
            id: id(no).to_owned(),
            score,
            scores: ranked.named(&asked, no),
            document: Default::default(),
            highlights: Default::default(),
            explanation: None,
            features: Default::default(),
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

/// The ranker that is asked for. A text that is not in the index lacks most features.
fn ranker_of(request: &RerankRequest) -> Result<Option<String>, Error> {
    match &request.ranker {
        Some(name) if name != NONE && !request.documents.is_empty() => {
            Err(Error::invalid(format!(
                "ranker: {name} re-ranks documents of the index; give their ids, or leave the ranker out \
             for the order of the fused scores"
            )))
        }
        Some(name) => Ok(Some(name.clone())),
        None => Ok((!request.documents.is_empty()).then(|| NONE.to_owned())),
    }
}

/// The scores of texts that the index does not have.
fn scores_of(view: &View, query: &QueryTerms, given: &[Document]) -> Result<Vec<f32>, Error> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    Ok(match fold_in(view, given)? {
        Ok(new) => view.served.model.scores_beside(query, Some(&[]), &[&new]).1,
        Err(model) => {
            let first = view.served.model.counts.n_docs() as u32;
            let numbers: Vec<u32> = (first..first + given.len() as u32).collect();
            model.scores_of(query, &numbers)
        }
    })
}
