//! Candidates of which it is known what they answer: what is learnt from and measured on.

use rayon::prelude::*;

use super::Candidates;
use crate::eval::diversity::{DiversityMeasure, Intents};

/// The candidates of one judged query, in the order in which they came.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCandidates {
    /// The candidates.
    pub candidates: Candidates,
    /// The subtopics that each answers.
    pub subtopics: Vec<Vec<u32>>,
    /// What all judged documents answer, candidates or not.
    pub intents: Intents,
}

impl JudgedCandidates {
    /// What an `order` of the candidates is worth.
    pub fn value(&self, measure: &DiversityMeasure, order: &[usize]) -> f64 {
        let ranked: Vec<&[u32]> = order.iter().map(|&at| &self.subtopics[at][..]).collect();
        measure.of(&ranked, &self.intents)
    }
}

/// The mean over `queries` of what the orders that `order` gives are worth; nothing where there
/// are none.
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
