//! Fusion of several rankings of the same queries: by reciprocal ranks, or by sums of normalised
//! scores. And re-ranking by a model's scores: [`rerank()`].
//!
//! With s_r(d) the normalised score of document d in run r, w_r the run's weight (1 unless
//! given) and rank_r(d) its rank from 1:
//!
//! ```text
//! rrf   Σ_r w_r / (rank_constant + rank_r(d)), over the runs that found d
//! sum   Σ_r w_r s_r(d)                         CombSUM
//! mnz   (runs that found d) · Σ_r w_r s_r(d)   CombMNZ
//! max   max_r w_r s_r(d), over the runs that found d
//! min   min_r w_r s_r(d), over the runs that found d
//! ```
//!
//! In `sum` a document that a run did not find has the score 0 there, or the lowest score of the run
//! for the query if that is below 0, as under `z-score`, so that a missing document is never above
//! the last one found. A run without results for a query is left out.
//!
//! The terms of a document are added in the order of their size, so that the result is bit-identical
//! for any order of the runs.

mod normalise;
mod rerank;
mod tune;

#[cfg(test)]
mod tests;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use normalise::Normalise;
pub use rerank::rerank;
pub use tune::{TunedWeights, tune};

use crate::eval::trec::{Ranked, TrecRun};
use crate::matchers::RRF_K;
use crate::ranking::unsigned_zero;
use crate::{Error, Result};

/// Parameters of the fusion of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFusion {
    /// The formula of the fused score.
    pub method: FusionMethod,
    /// The normalisation of scores; reciprocal rank fusion does not use scores.
    pub normalise: Normalise,
    /// Added to every rank in reciprocal rank fusion: the larger, the smaller the weight of the first
    /// ranks.
    pub rank_constant: f64,
    /// One weight per run; `None` means equal weights.
    pub weights: Option<Vec<f64>>,
}

/// The formula of a document's fused score.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FusionMethod {
    /// Reciprocal rank fusion.
    #[default]
    Rrf,
    /// CombSUM; with weights the weighted sum.
    Sum,
    /// CombMNZ.
    Mnz,
    /// CombMAX.
    Max,
    /// CombMIN.
    Min,
}

impl Default for RunFusion {
    fn default() -> Self {
        RunFusion {
            method: FusionMethod::Rrf,
            normalise: Normalise::MinMax,
            rank_constant: RRF_K.into(),
            weights: None,
        }
    }
}

/// One query's fused ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused<'a> {
    /// The query's id.
    pub id: &'a str,
    /// Documents with their scores, best first; of equal scores the larger id first.
    pub hits: Vec<(&'a str, f32)>,
}

impl RunFusion {
    /// Refuses parameters out of range, or weights for other than `n_runs` runs.
    pub fn check(&self, n_runs: usize) -> Result<()> {
        let wrong = |name: &str, value: String, expected: &str| {
            Err(Error::parameter(name, value, expected))
        };
        if n_runs == 0 {
            return wrong("runs", "none".into(), "at least one run");
        }
        if !(self.rank_constant.is_finite() && self.rank_constant >= 0.0) {
            return wrong("rank_constant", self.rank_constant.to_string(), "0 or more, such as 60");
        }
        if self.method == FusionMethod::Mnz && self.normalise == Normalise::ZScore {
            // A score below zero would become worse with every run that found the document.
            let expected = "min-max, sum or rank, because mnz needs scores of 0 or more";
            return wrong("normalise", "z-score".into(), expected);
        }
        let Some(weights) = &self.weights else { return Ok(()) };
        let sound = weights.len() == n_runs
            && weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
            && weights.iter().any(|weight| *weight > 0.0);
        if sound {
            return Ok(());
        }
        let given: Vec<String> = weights.iter().map(ToString::to_string).collect();
        let expected =
            format!("{n_runs} numbers, one for each run, none below 0 and not all of them 0");
        wrong("weights", given.join(","), &expected)
    }

    /// Fuses every query of the runs, in the byte order of their ids, and keeps the first `k` documents
    /// of each.
    pub fn fuse<'a>(&self, runs: &'a [TrecRun], k: usize) -> Result<Vec<Fused<'a>>> {
        self.check(runs.len())?;
        self.check_scores(runs)?;
        let ids = query_ids(runs);
        let fused = ids.into_par_iter().map(|id| {
            let lists: Vec<Option<Ranked<'a>>> =
                runs.iter().map(|run| run.find(id).map(|at| run.query(at))).collect();
            let mut hits = self.query(&lists);
            hits.truncate(k);
            if hits.iter().all(|hit| hit.1.is_finite()) {
                return Ok(Fused { id, hits });
            }
            let name = format!("the fused scores of {id}");
            let expected = "finite numbers; choose another normalisation";
            Err(Error::parameter(&name, f32::INFINITY, expected))
        });
        fused.collect()
    }

    /// Refuses scores below zero if they are divided by the largest or multiplied by the number of
    /// runs.
    fn check_scores(&self, runs: &[TrecRun]) -> Result<()> {
        let keeps_sign = matches!(self.normalise, Normalise::None | Normalise::Max | Normalise::L2);
        let needs_positive = match self.method {
            FusionMethod::Rrf => false,
            FusionMethod::Mnz => keeps_sign,
            _ => self.normalise == Normalise::Max,
        };
        if !needs_positive {
            return Ok(());
        }
        for (run, query) in runs.iter().flat_map(|run| run.queries().map(move |q| (run, q))) {
            if let Some(hit) = query.hits().last().filter(|hit| hit.score < 0.0) {
                let name = format!("the score of {} for {} in run {}", hit.doc, query.id, run.tag);
                let expected =
                    "0 or more for this method and normalisation; choose min-max or rank";
                return Err(Error::parameter(&name, hit.score, expected));
            }
        }
        Ok(())
    }

    /// Fuses the rankings of one query, one per run, `None` for a run without results. The parameters
    /// must have passed [`RunFusion::check`].
    pub fn query<'a>(&self, lists: &[Option<Ranked<'a>>]) -> Vec<(&'a str, f32)> {
        // Every document with the number of a run and its weighted term there.
        let mut found: Vec<(&'a str, usize, f64)> = Vec::new();
        // The term of a document in a run that did not find it.
        let mut missing = vec![0.0f64; lists.len()];
        for (r, list) in lists.iter().enumerate() {
            let Some(list) = list else { continue };
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[r]);
            let hits: Vec<_> = list.hits().collect();
            let terms: Vec<f64> = match self.method {
                FusionMethod::Rrf => {
                    (1..=hits.len()).map(|rank| 1.0 / (self.rank_constant + rank as f64)).collect()
                }
                _ => {
                    let scores: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
                    self.normalise.of(&scores)
                }
            };
            if self.method == FusionMethod::Sum {
                missing[r] = weight * terms.iter().copied().fold(0.0, f64::min);
            }
            found.extend(hits.iter().zip(terms).map(|(hit, term)| (hit.doc, r, weight * term)));
        }
        found.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let mut hits: Vec<(&str, f32)> = found
            .chunk_by(|a, b| a.0 == b.0)
            .map(|terms| (terms[0].0, self.combine(terms, &missing) as f32))
            .collect();
        hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0)));
        hits
    }

    /// One document's score from its terms, in the order of the runs.
    fn combine(&self, terms: &[(&str, usize, f64)], missing: &[f64]) -> f64 {
        let mut values: Vec<f64> = terms.iter().map(|&(_, _, term)| term).collect();
        let n_found = values.len();
        if self.method == FusionMethod::Sum {
            let absent = |r: &usize| terms.binary_search_by_key(r, |&(_, run, _)| run).is_err();
            values.extend((0..missing.len()).filter(absent).map(|r| missing[r]));
        }
        values.sort_unstable_by(|a, b| b.total_cmp(a));
        // The sum starts from 0, so it is never −0.
        let sum = values.iter().fold(0.0, |sum, value| sum + value);
        match self.method {
            FusionMethod::Rrf | FusionMethod::Sum => sum,
            FusionMethod::Mnz => sum * n_found as f64,
            FusionMethod::Max => unsigned_zero(values[0]),
            FusionMethod::Min => values[n_found - 1] + 0.0,
        }
    }
}

/// The ids of all queries of the runs, in byte order.
pub fn query_ids(runs: &[TrecRun]) -> Vec<&str> {
    let mut ids: Vec<&str> =
        runs.iter().flat_map(|run| run.queries().map(|query| query.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
