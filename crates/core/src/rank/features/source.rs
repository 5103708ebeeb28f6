//! Who scores: a matcher that was fitted to the counts at hand, or a model with its own.

use std::collections::HashMap;
use std::sync::Arc;

use super::Question;
use crate::features::Counts;
use crate::matchers::{Matcher, Model};

/// A matcher whose score is a feature.
#[derive(Clone)]
pub enum Source {
    /// Fitted to the counts of the extractor.
    Fitted(Arc<dyn Matcher>),
    /// A model that has its own counts.
    Opened(Arc<Opened>),
}

/// A model, and what it calls the documents.
pub struct Opened {
    model: Model,
    /// By document of the extractor's counts its number in the model; nothing if both number
    /// them alike.
    numbers: Option<Vec<Option<u32>>>,
}

impl Source {
    /// `model` for the documents of `counts`, which it knows by their ids.
    pub fn opened(model: Model, counts: &Counts) -> Self {
        let numbers = (model.counts.doc_ids != counts.doc_ids).then(|| {
            let ids = model.counts.doc_ids.iter().map(String::as_str);
            let known: HashMap<&str, u32> = ids.zip(0..).collect();
            counts.doc_ids.iter().map(|id| known.get(id.as_str()).copied()).collect()
        });
        Source::Opened(Arc::new(Opened { model, numbers }))
    }

    /// The documents of the counts that it does not know.
    pub fn unknown(&self) -> usize {
        match self {
            Source::Opened(opened) => {
                opened.numbers.iter().flatten().filter(|number| number.is_none()).count()
            }
            Source::Fitted(_) => 0,
        }
    }

    /// Whether a score of 0 means that query and document have nothing to do with each other.
    pub(super) fn zero_is_none(&self) -> bool {
        match self {
            Source::Fitted(matcher) => matcher.zero_is_none(),
            Source::Opened(opened) => {
                opened.model.parts.len() == 1 && opened.model.parts[0].matcher.zero_is_none()
            }
        }
    }

    /// Scores the documents `docs` of `counts`; what it does not know is missing.
    pub(super) fn score_some(
        &self,
        counts: &Counts,
        question: &Question<'_>,
        docs: &[u32],
        out: &mut [f32],
    ) {
        let opened = match self {
            Source::Fitted(matcher) => {
                return matcher.score_some(counts, question.terms, docs, out);
            }
            Source::Opened(opened) => opened,
        };
        let model = &opened.model;
        let terms = model.counts.read_query_of(question.id, question.text);
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
    pub(super) fn score_all(&self, counts: &Counts, question: &Question<'_>) -> Vec<f32> {
        match self {
            Source::Fitted(matcher) => matcher.scores(counts, question.terms, None),
            Source::Opened(_) => {
                let all: Vec<u32> = (0..counts.n_docs() as u32).collect();
                let mut scores = vec![f32::NAN; all.len()];
                self.score_some(counts, question, &all, &mut scores);
                scores
            }
        }
    }
}
