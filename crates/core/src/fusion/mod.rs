//! Several rankings of the same queries as one: reciprocal rank fusion, and sums of scores
//! made comparable first. And one ranking in the order of a model's scores: [`rerank()`].
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
//! In `sum` a document that a run did not find counts as 0 there, or as the lowest score that
//! the run gave to any document of the query if that is below 0, as under `z-score`: not to be
//! found is never better than to be found last. Where a run has no results for a query, the
//! others decide alone.
//!
//! The terms of a document are added in the order of their size, so that the order in which
//! runs are given changes not a bit.

mod normalise;
mod rerank;
mod tune;

#[cfg(test)]
mod tests;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use normalise::Normalise;
pub use rerank::rerank;
pub use tune::{Tuned, tune};

use crate::eval::trec::{Ranked, TrecRun};
use crate::{Error, Result};

/// How rankings become one.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFusion {
    /// The formula.
    pub method: FusionMethod,
    /// What is done to scores before; reciprocal rank fusion does not look at them.
    pub normalise: Normalise,
    /// What is added to every rank in reciprocal rank fusion: the larger, the less the first
    /// ranks stand out.
    pub rank_constant: f64,
    /// One weight a run; none means the same for all.
    pub weights: Option<Vec<f64>>,
}

/// How the scores or ranks of a document become one score.
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
            rank_constant: 60.0,
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
    /// An error if this cannot fuse `n_runs` runs.
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
            // A score below zero would become worse by being found more often.
            return wrong("normalise", "z-score".into(), "another one: mnz needs scores from 0 on");
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

    /// Fuses every query that a run knows, in the byte order of their ids, and keeps the first
    /// `k` documents of each.
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
            let name = format!("the scores of {id} put together");
            let found = f32::INFINITY;
            Err(Error::parameter(&name, found, "finite numbers; take another normalisation"))
        });
        fused.collect()
    }

    /// An error if a score is below zero where only others make sense: divided by the largest,
    /// or multiplied by the number of runs.
    fn check_scores(&self, runs: &[TrecRun]) -> Result<()> {
        let kept = matches!(self.normalise, Normalise::None | Normalise::Max | Normalise::L2);
        let counts = match self.method {
            FusionMethod::Rrf => false,
            FusionMethod::Mnz => kept,
            FusionMethod::Sum | FusionMethod::Max | FusionMethod::Min => {
                self.normalise == Normalise::Max
            }
        };
        if !counts {
            return Ok(());
        }
        for (run, query) in runs.iter().flat_map(|run| run.queries().map(move |q| (run, q))) {
            if let Some(hit) = query.hits().last().filter(|hit| hit.score < 0.0) {
                let name = format!("the score of {} for {} in run {}", hit.doc, query.id, run.tag);
                let expected = "0 or more for this method and normalisation; take min-max or rank";
                return Err(Error::parameter(&name, hit.score, expected));
            }
        }
        Ok(())
    }

    /// Fuses the rankings of one query, one for each run or none where a run has no results.
    /// To be called on what passed [`RunFusion::check`].
    pub fn query<'a>(&self, lists: &[Option<Ranked<'a>>]) -> Vec<(&'a str, f32)> {
        // Every document with the number of the run and its weighted term there.
        let mut found: Vec<(&'a str, usize, f64)> = Vec::new();
        // What a document counts in a run that did not find it.
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
        // Adding zero makes −0 a plain 0.
        let sum = values.iter().fold(0.0, |sum, value| sum + value);
        match self.method {
            FusionMethod::Rrf | FusionMethod::Sum => sum,
            FusionMethod::Mnz => sum * n_found as f64,
            FusionMethod::Max => values[0] + 0.0,
            FusionMethod::Min => values[n_found - 1] + 0.0,
        }
    }
}

/// The ids of all queries that a run knows, in byte order.
pub fn query_ids(runs: &[TrecRun]) -> Vec<&str> {
    let mut ids: Vec<&str> =
        runs.iter().flat_map(|run| run.queries().map(|query| query.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
