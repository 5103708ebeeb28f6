//! Matchers whose scores are features: fitted to the extractor's counts, or models with their own.

use std::collections::HashMap;
use std::sync::Arc;

use crate::features::{Counts, QueryTerms};
use crate::matchers::{Matcher, Model};

/// A query to compute features of.
#[derive(Debug, Clone, Copy)]
pub struct FeatureQuery<'a> {
    /// Its words, as terms of the extractor's counts.
    pub terms: &'a QueryTerms,
    /// Its id, or the empty string.
    pub id: &'a str,
    /// Its text, for models with a vocabulary of their own.
    pub text: &'a str,
}

impl<'a> FeatureQuery<'a> {
    /// The query with these `terms`, with its id and text if it is one of the dataset's.
    pub fn known(counts: &'a Counts, terms: &'a QueryTerms) -> Self {
        let known = terms.known.map(|known| known as usize);
        let of = |texts: &'a [String]| known.map_or("", |known| texts[known].as_str());
        FeatureQuery { terms, id: of(&counts.query_ids), text: of(&counts.query_texts) }
    }
}

/// A matcher whose score is a feature.
#[derive(Clone)]
pub enum Source {
    /// A matcher fitted to the counts of the extractor.
    Fitted(Arc<dyn Matcher>),
    /// A model that has its own counts.
    Opened(Arc<Opened>),
}

/// A model with its own numbers of documents.
pub struct Opened {
    model: Model,
    /// By document of the extractor's counts, its number in the model; nothing if the numbers are
    /// the same.
    numbers: Option<Vec<Option<u32>>>,
}

impl Source {
    /// `model` over the documents of `counts`, matched by their ids.
    pub fn opened(model: Model, counts: &Counts) -> Self {
        let numbers = (model.counts.doc_ids != counts.doc_ids).then(|| {
            let ids = model.counts.doc_ids.iter().map(String::as_str);
            let known: HashMap<&str, u32> = ids.zip(0..).collect();
            counts.doc_ids.iter().map(|id| known.get(id.as_str()).copied()).collect()
        });
        Source::Opened(Arc::new(Opened { model, numbers }))
    }

    /// Number of documents of the counts that are unknown to it.
    pub fn unknown(&self) -> usize {
        match self {
            Source::Opened(opened) => {
                opened.numbers.iter().flatten().filter(|number| number.is_none()).count()
            }
            Source::Fitted(_) => 0,
        }
    }

    /// Whether a score of 0 means no match.
    pub(super) fn zero_is_none(&self) -> bool {
        match self {
            Source::Fitted(matcher) => matcher.zero_is_none(),
            Source::Opened(opened) => {
                opened.model.parts.len() == 1 && opened.model.parts[0].matcher.zero_is_none()
            }
        }
    }

    /// Scores the documents `docs` of `counts`; the score of an unknown document is missing.
    pub(super) fn score_some(
        &self,
        counts: &Counts,
        query: &FeatureQuery<'_>,
        docs: &[u32],
        out: &mut [f32],
    ) {
        let opened = match self {
            Source::Fitted(matcher) => {
                return matcher.score_some(counts, query.terms, docs, out);
            }
            Source::Opened(opened) => opened,
        };
        let model = &opened.model;
        let terms = model.counts.read_query_of(query.id, query.text);
        match &opened.numbers {
            None => out.copy_from_slice(&model.scores_of(&terms, docs)),
            Some(numbers) => {
                let own: Vec<Option<u32>> =
                    docs.iter().map(|&doc| numbers.get(doc as usize).copied().flatten()).collect();
                let known: Vec<u32> = own.iter().copied().flatten().collect();
                let mut scores = model.scores_of(&terms, &known).into_iter();
                for (out, own) in out.iter_mut().zip(&own) {
                    *out = match own {
                        Some(_) => scores.next().unwrap_or(f32::NAN),
                        None => f32::NAN,
                    };
                }
            }
        }
    }

    /// Scores all documents of `counts`.
    pub(super) fn score_all(&self, counts: &Counts, query: &FeatureQuery<'_>) -> Vec<f32> {
        match self {
            Source::Fitted(matcher) => matcher.scores(counts, query.terms, None),
            Source::Opened(_) => {
                let all: Vec<u32> = (0..counts.n_docs() as u32).collect();
                let mut scores = vec![f32::NAN; all.len()];
                self.score_some(counts, query, &all, &mut scores);
                scores
            }
        }
    }
}
