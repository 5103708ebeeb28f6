//! Re-ranking: a trained ranker orders the candidates of a search.
//!
//! The first `candidate_depth` candidates by fused score become rows of features, by the code that
//! made the training table and in the order of their numbers. Candidates further down stay below
//! these, in their order.
//!
//! Of an unseen document, features are the scores of the models, which fold it in, and the length of
//! the query. Its other features are missing: text, clicks and numbers are only counted when an
//! index is built.

use std::collections::BTreeMap;
use std::sync::Arc;

use liken::rank::features::FeatureQuery;

use super::candidates::Scores;
use super::rankers::{ExtractedFeatures, FeatureSource, ServedRanker};
use super::resolve::ResolvedSearch;
use super::snapshot::IndexState;
use crate::types::{FeatureContribution, RankerExplanation};

/// The candidates that a ranker re-ranked, with their features.
pub(super) struct Reranked {
    served: Arc<ServedRanker>,
    /// The candidates, ascending.
    numbers: Vec<u32>,
    /// Their features, row by row.
    values: Vec<f32>,
    /// Their scores.
    scores: Vec<f64>,
}

/// Re-ranks the first `depth` candidates of `order`, whose scores under the models are `scores`.
pub(super) fn rank(
    state: &IndexState,
    asked: &ResolvedSearch<'_>,
    served: &Arc<ServedRanker>,
    scores: &Scores,
    order: &mut Vec<(u32, f64)>,
    depth: usize,
) -> Reranked {
    let rest = order.split_off(depth.min(order.len()));
    let mut numbers: Vec<u32> = order.iter().map(|&(no, _)| no).collect();
    numbers.sort_unstable();
    let values = rows(state, asked, served, scores, &numbers);
    // Adding zero turns −0 into 0.
    let scores = served.ranker.score_rows(&mut values.clone()).into_iter().map(|score| score + 0.0);
    let reranked =
        Reranked { served: Arc::clone(served), numbers, values, scores: scores.collect() };
    *order = reranked.numbers.iter().copied().zip(reranked.scores.iter().copied()).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| state.id(b.0).cmp(state.id(a.0))));
    // The others keep their distances, with the first one below the last.
    let least = order.last().map_or(0.0, |last| last.1) - 1.0;
    let most = rest.first().map_or(0.0, |first| first.1);
    order.extend(rest.into_iter().map(|(no, score)| (no, least + (score - most))));
    reranked
}

/// The features of the documents `numbers`, row by row.
fn rows(
    state: &IndexState,
    asked: &ResolvedSearch<'_>,
    served: &ServedRanker,
    scores: &Scores,
    numbers: &[u32],
) -> Vec<f32> {
    let n = served.sources.len();
    let mut values = vec![f32::NAN; numbers.len() * n];
    let mut put = |column: usize, of_column: Vec<f32>| {
        values.iter_mut().skip(column).step_by(n).zip(of_column).for_each(|(to, from)| *to = from);
    };
    for (c, column) in served.sources.iter().enumerate() {
        if let FeatureSource::Model(name) = column {
            put(c, model_scores(state, asked, name, scores, numbers));
        }
    }
    let Some(extracted) = &served.extracted else { return values };
    let made = extracted_rows(asked, extracted, numbers);
    let width = extracted.extractor.features().len();
    for (c, column) in served.sources.iter().enumerate() {
        if let FeatureSource::Extracted(at) = column {
            put(c, made.iter().copied().skip(*at).step_by(width).collect());
        }
    }
    values
}

/// The scores of a model: those of the search if the model is one of its models, else computed now.
fn model_scores(
    state: &IndexState,
    asked: &ResolvedSearch<'_>,
    name: &str,
    scores: &Scores,
    numbers: &[u32],
) -> Vec<f32> {
    let place = asked.views.iter().position(|view| view.served.about.model.name == name);
    if let Some(place) = place.filter(|&place| asked.queries[place].is_some()) {
        let score = |no: &u32| Some(scores.of_models.get(place)?[scores.find(*no)?]);
        return numbers.iter().map(|no| score(no).unwrap_or(f32::NAN)).collect();
    }
    let view = state.models.iter().find(|view| view.served.about.model.name == name);
    match view {
        // A query without a known word has scores, as in training.
        Some(view) => view.scores(&view.model().counts.read_query(&asked.typed.plain), numbers),
        None => vec![f32::NAN; numbers.len()],
    }
}

/// The features that are no scores of models, row by row.
fn extracted_rows(
    asked: &ResolvedSearch<'_>,
    extracted: &ExtractedFeatures,
    numbers: &[u32],
) -> Vec<f32> {
    let counts = &extracted.model.counts;
    let terms = counts.read_query(&asked.typed.plain);
    let query = FeatureQuery { terms: &terms, id: "", text: &asked.typed.plain };
    let known = numbers.partition_point(|&no| (no as usize) < counts.n_docs());
    let mut values = extracted.extractor.rows(counts, &query, &numbers[..known]);
    let length: f32 = terms.counts.iter().sum();
    let of_unseen = |about: &liken::rank::features::FeatureInfo| match about.name.as_str() {
        "query_length" => length,
        _ => f32::NAN,
    };
    let unseen: Vec<f32> = extracted.extractor.features().iter().map(of_unseen).collect();
    numbers[known..].iter().for_each(|_| values.extend_from_slice(&unseen));
    values
}

impl Reranked {
    /// The name of the ranker.
    pub fn ranker(&self) -> &str {
        &self.served.name
    }

    /// The number of candidates that were re-ranked.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The features of document `no`, as the ranker was given them.
    pub fn features(&self, no: u32) -> BTreeMap<String, Option<f32>> {
        let row = self.row(no).unwrap_or(&[]);
        self.names().cloned().zip(row.iter().map(|&value| given(value))).collect()
    }

    /// The contribution of every feature to the score of document `no`, if it was re-ranked.
    pub fn explain(&self, no: u32) -> Option<RankerExplanation> {
        let at = self.numbers.binary_search(&no).ok()?;
        let row = self.row(no)?;
        let contributions = self.served.ranker.contributions(&mut self.values.clone(), at);
        let mut features: Vec<FeatureContribution> = self
            .names()
            .zip(row)
            .zip(&contributions)
            .map(|((name, &value), &contribution)| FeatureContribution {
                name: name.clone(),
                value: given(value),
                contribution: contribution + 0.0,
            })
            .collect();
        features.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
        Some(RankerExplanation {
            ranker: self.served.name.clone(),
            score: self.scores[at],
            base: contributions.last().copied().unwrap_or(0.0),
            features,
        })
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.served.ranker.about.features.iter()
    }

    fn row(&self, no: u32) -> Option<&[f32]> {
        let at = self.numbers.binary_search(&no).ok()?;
        self.values.chunks_exact(self.served.sources.len()).nth(at)
    }
}

/// A value, or `None` if it is missing.
fn given(value: f32) -> Option<f32> {
    Some(value).filter(|value| !value.is_nan())
}
