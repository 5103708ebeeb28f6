//! A search resolved against a snapshot: its models, its ranker, and the query as they read it. What
//! does not depend on the index is checked before, by `checks.rs`.

use std::sync::Arc;

use liken::features::QueryTerms;
use liken::suggest::did_you_mean;

use super::Engine;
use super::query::{ParsedQuery, as_typed};
use super::rankers::ServedRanker;
use super::snapshot::IndexState;
use super::view::ModelView;
use crate::Error;
use crate::limits::HITS;
use crate::text::Filter;
use crate::types::{FusionSpec, ModelRef, SearchRequest};

/// A search of one snapshot of the index.
pub(super) struct ResolvedSearch<'a> {
    pub request: &'a SearchRequest,
    pub typed: ParsedQuery,
    pub views: Vec<&'a ModelView>,
    /// The ranker that re-ranks the candidates.
    pub ranker: Option<Arc<ServedRanker>>,
    /// One per view: the query as the model reads it; `None` if it knows no word of it.
    pub queries: Vec<Option<QueryTerms>>,
    pub fusion: FusionSpec,
    pub k: usize,
    pub depth: usize,
    pub filter: Option<Filter>,
    pub excluded: Vec<u32>,
    pub unknown_words: Vec<String>,
    /// Words that training did not see, as terms of the text index, if a model is lexical.
    pub unscored: Vec<String>,
    pub notes: Vec<String>,
}

impl Engine {
    /// Resolves a search that was checked.
    pub(super) fn resolve<'a>(
        &self,
        state: &'a IndexState,
        request: &'a SearchRequest,
    ) -> Result<ResolvedSearch<'a>, Error> {
        let settings = &self.settings;
        let k = request.k.unwrap_or(HITS);
        let depth = request.candidate_depth.unwrap_or(settings.candidate_depth);
        let views = self.views(state, &request.models)?;
        let ranker = request.ranker.as_deref().or(settings.ranker.as_deref());
        let ranker = state.rankers.find(ranker)?;
        let fusion = request.fusion.clone().unwrap_or_default();
        check_fusion(&fusion, &views)?;
        let filter = match &request.filter {
            Some(filter) => Some(Filter::parse(filter).map_err(Error::invalid)?),
            None => None,
        };
        // Most searches exclude nothing and need no access to the database.
        let excluded = match &request.exclude_ids[..] {
            [] => Vec::new(),
            ids => self.numbers(state, ids)?.into_iter().flatten().collect(),
        };
        let typed = ParsedQuery::read(&request.query, &self.analyzer);
        let (mut queries, mut notes) = (Vec::new(), Vec::new());
        let mut unknown: Option<Vec<String>> = None;
        for view in &views {
            let read = view.model().counts.read_query(&typed.plain);
            unknown = Some(match unknown {
                None => read.unknown.clone(),
                Some(unknown) => {
                    unknown.into_iter().filter(|word| read.unknown.contains(word)).collect()
                }
            });
            match view.model().read_query(&typed.plain) {
                Ok(query) => queries.push(Some(query)),
                Err(error) => {
                    let reason = error.to_string().replace("\n  ", ": ");
                    notes.push(format!("{}: {reason}", view.served.about.model.name));
                    queries.push(None);
                }
            }
        }
        let mut unknown_words = unknown.unwrap_or_default();
        // Character n-grams are not readable.
        unknown_words.retain(|word| !word.starts_with('~') && !word.contains(' '));
        let has_lexical = views.iter().any(|view| view.served.model.is_lexical());
        let unscored = match has_lexical {
            true => {
                typed.words.terms.iter().filter(|&t| unknown_words.contains(t)).cloned().collect()
            }
            false => Vec::new(),
        };
        unknown_words = as_typed(&typed.plain, &unknown_words, &self.analyzer);
        Ok(ResolvedSearch {
            request,
            typed,
            views,
            ranker,
            queries,
            fusion,
            k,
            depth,
            filter,
            excluded,
            unknown_words,
            unscored,
            notes,
        })
    }

    /// The models of a search by name; the default ones of the settings if it names none.
    pub(super) fn views<'a>(
        &self,
        state: &'a IndexState,
        names: &[String],
    ) -> Result<Vec<&'a ModelView>, Error> {
        let names = if names.is_empty() { &self.settings.models } else { names };
        if names.is_empty() {
            return Ok(state.models.iter().take(1).collect());
        }
        let mut views: Vec<&ModelView> = Vec::new();
        for name in names {
            let named = |view: &&ModelView| view.served.about.model.name == *name;
            let view = state.models.iter().find(named).ok_or_else(|| {
                let there: Vec<&str> =
                    state.models.iter().map(|view| view.served.about.model.name.as_str()).collect();
                let advice = format!("there are {}", there.join(", "));
                let advice = did_you_mean(name, there, &advice);
                Error::invalid(format!("no model is called {name:?}; {advice}"))
            })?;
            views.push(view);
        }
        Ok(views)
    }
}

impl ResolvedSearch<'_> {
    /// The scores of the documents `numbers`, one list per model.
    pub fn scores(&self, numbers: &[u32]) -> Vec<Vec<f32>> {
        let of_model = |(view, query): (&&ModelView, &Option<QueryTerms>)| match query {
            Some(query) => view.scores(query, numbers),
            None => vec![f32::NAN; numbers.len()],
        };
        self.views.iter().zip(&self.queries).map(of_model).collect()
    }

    /// The models of the search, with their versions.
    pub fn models(&self) -> Vec<ModelRef> {
        self.views.iter().map(|view| view.served.about.model.clone()).collect()
    }

    /// The reason why no document was found.
    pub fn why_empty(&self, state: &IndexState) -> String {
        if state.alive == 0 {
            return "the index has no documents".into();
        }
        if self.filter.is_some()
            || !self.typed.words.phrases.is_empty()
            || !self.excluded.is_empty()
        {
            return "no document that the filter, the phrases and exclude_ids allow matches the query"
                .into();
        }
        let reason = |view: &&ModelView| match &view.model().parts[..] {
            [only] => only.matcher.no_match().to_owned(),
            _ => "no document scores above 0".to_owned(),
        };
        self.views.iter().map(reason).next().unwrap_or_default()
    }
}

/// An error if the weights do not fit the models of the search.
fn check_fusion(fusion: &FusionSpec, views: &[&ModelView]) -> Result<(), Error> {
    for name in fusion.weights.keys() {
        if !views.iter().any(|view| view.served.about.model.name == *name) {
            return Err(Error::invalid(format!(
                "fusion.weights: {name:?} is not among the models of this search"
            )));
        }
    }
    let weight = |view: &&ModelView| {
        fusion.weights.get(&view.served.about.model.name).copied().unwrap_or(1.0)
    };
    if !views.iter().any(|view| weight(view) > 0.0) {
        return Err(Error::invalid("fusion.weights: expected a weight above 0, found none"));
    }
    Ok(())
}
