//! Candidates with judged subtopics, for training and evaluation.

use rayon::prelude::*;

use super::Candidates;
use crate::eval::diversity::{DiversityMeasure, JudgedSubtopics};

/// The candidates of one judged query, in their original order.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCandidates {
    /// Relevance scores and similarities of the candidates.
    pub candidates: Candidates,
    /// The subtopics that each candidate answers.
    pub subtopics: Vec<Vec<u32>>,
    /// The subtopics of all judged documents, candidates or not.
    pub judged: JudgedSubtopics,
}

impl JudgedCandidates {
    /// The value of `measure` for an `order` of the candidates.
    pub fn value(&self, measure: &DiversityMeasure, order: &[usize]) -> f64 {
        let ranked: Vec<&[u32]> = order.iter().map(|&at| &self.subtopics[at][..]).collect();
        measure.evaluate(&ranked, &self.judged)
    }
}

/// The mean of `measure` over `queries`, each in the order that `order` gives; nothing without
/// queries.
pub fn mean(
    measure: &DiversityMeasure,
    queries: &[JudgedCandidates],
    order: impl Fn(&Candidates) -> Vec<usize> + Sync,
) -> Option<f64> {
    let value = |query: &JudgedCandidates| query.value(measure, &order(&query.candidates));
    let values: Vec<f64> = queries.par_iter().map(value).collect();
    let sum = values.iter().fold(0.0, |sum, value| sum + value);
    (!values.is_empty()).then(|| sum / values.len() as f64)
}
