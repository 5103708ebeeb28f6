//! Tuning of maximal marginal relevance on judgments: the share of relevance and the similarity.

use super::{Candidates, JudgedCandidates, Mmr, mean};
use crate::eval::diversity::DiversityMeasure;
use crate::{Error, Result};

/// The best parameters of maximal marginal relevance.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedMmr {
    /// With the best share of relevance.
    pub mmr: Mmr,
    /// The place of the best similarity.
    pub kind: usize,
    /// Their mean score.
    pub score: f64,
}

impl Mmr {
    /// The order of `candidates` by their first relevance score and the similarity `kind`.
    pub fn order_of(&self, candidates: &Candidates, kind: usize, k: usize) -> Vec<usize> {
        let relevance = |at: usize| candidates.relevance(at).first().copied().unwrap_or_default();
        let scores: Vec<f64> = (0..candidates.len()).map(relevance).collect();
        self.order(&scores, |a, b| candidates.similarities().of(kind, a, b), k)
    }
}

/// The share of relevance, in twentieths, and the similarity of `kinds` for which `measure` is best
/// on `queries`. Of equal ones, the largest share, then the first similarity.
pub fn tune_mmr(
    mmr: &Mmr,
    kinds: &[usize],
    queries: &[JudgedCandidates],
    measure: &DiversityMeasure,
) -> Result<TunedMmr> {
    let mut best: Option<TunedMmr> = None;
    for twentieth in (0..=20).rev() {
        let mmr = Mmr { lambda: f64::from(twentieth) / 20.0, ..mmr.clone() };
        for &kind in kinds {
            let order = |candidates: &Candidates| mmr.order_of(candidates, kind, measure.k);
            let Some(score) = mean(measure, queries, order) else { continue };
            if best.as_ref().is_none_or(|best| score > best.score) {
                best = Some(TunedMmr { mmr: mmr.clone(), kind, score });
            }
        }
    }
    best.ok_or_else(|| Error::Empty {
        what: "no query to tune on, or no similarity of documents".into(),
        advice: "the judgments must name the queries as the run does".into(),
    })
}
