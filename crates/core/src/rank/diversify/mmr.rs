//! Maximal marginal relevance: the next document is the one with the largest
//! ```text
//! λ·relevance(d) − (1 − λ)·max similarity(d, s) over the documents s chosen before
//! ```
//! Carbonell and Goldstein, The use of MMR, diversity-based reranking for reordering documents
//! and producing summaries, SIGIR 1998.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GreedyState, greedy_order};
use crate::fusion::Normalise;
use crate::{Error, Result};

/// Maximal marginal relevance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mmr {
    /// The share of relevance, from 0 to 1; 1 leaves the order as it is.
    pub lambda: f64,
    /// Normalisation of the scores of a query.
    #[schemars(with = "String")]
    pub normalise: Normalise,
}

impl Default for Mmr {
    fn default() -> Self {
        Mmr { lambda: 0.5, normalise: Normalise::MinMax }
    }
}

impl Mmr {
    /// Refuses values that make no sense.
    pub fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.lambda) {
            return Ok(());
        }
        Err(Error::parameter("lambda", self.lambda, "a share from 0 to 1"))
    }

    /// The order of candidates with these relevance `scores`: the best `k` chosen greedily, then the
    /// others by score. `similarity` takes two places and is called at most n·k times. Of equal
    /// candidates the first is chosen; a score that is not finite is the lowest.
    pub fn order(
        &self,
        scores: &[f64],
        similarity: impl FnMut(usize, usize) -> f64,
        k: usize,
    ) -> Vec<usize> {
        let mut by_score: Vec<usize> = (0..scores.len()).collect();
        let known = |at: usize| if scores[at].is_finite() { scores[at] } else { f64::NEG_INFINITY };
        by_score.sort_by(|&a, &b| known(b).total_cmp(&known(a)));
        let n_known = by_score.partition_point(|&at| scores[at].is_finite());
        let sorted: Vec<f64> = by_score[..n_known].iter().map(|&at| scores[at]).collect();
        let mut relevance = self.normalise.of(&sorted);
        let lowest = relevance.last().copied().unwrap_or_default();
        relevance.resize(scores.len(), lowest);
        let most_similar = vec![None; scores.len()];
        let mut state = MmrState {
            lambda: self.lambda,
            relevance,
            most_similar,
            similarity,
            by_score: &by_score,
        };
        let order = greedy_order(scores.len(), k, &mut state);
        order.into_iter().map(|place| by_score[place]).collect()
    }
}

struct MmrState<'a, F> {
    lambda: f64,
    /// By place in the order of scores, like the similarities.
    relevance: Vec<f64>,
    /// The largest similarity to a chosen candidate.
    most_similar: Vec<Option<f64>>,
    similarity: F,
    by_score: &'a [usize],
}

impl<F: FnMut(usize, usize) -> f64> GreedyState for MmrState<'_, F> {
    fn value(&self, candidate: usize) -> f64 {
        let relevant = self.lambda * self.relevance[candidate];
        // With λ = 1 the similarity has no weight and may be NaN.
        match self.most_similar[candidate] {
            Some(similar) if self.lambda < 1.0 => relevant - (1.0 - self.lambda) * similar,
            _ => relevant,
        }
    }

    fn choose(&mut self, chosen: usize, left: &[usize]) {
        if self.lambda == 1.0 {
            return;
        }
        for &candidate in left {
            let similarity = (self.similarity)(self.by_score[candidate], self.by_score[chosen]);
            let most = &mut self.most_similar[candidate];
            *most = Some(most.map_or(similarity, |most| most.max(similarity)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything anew at every step.
    fn slow(mmr: &Mmr, scores: &[f64], similar: &[Vec<f64>], k: usize) -> Vec<usize> {
        let (least, most) = scores
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &s| (a.min(s), b.max(s)));
        let relevance = |d: usize| (scores[d] - least) / (most - least).max(1e-9);
        let mut rest: Vec<usize> = (0..scores.len()).collect();
        rest.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < k && !rest.is_empty() {
            let worth = |d: usize| {
                let nearest = chosen.iter().map(|&s| similar[d][s]).fold(f64::NAN, f64::max);
                let nearest = if nearest.is_nan() { 0.0 } else { nearest };
                mmr.lambda * relevance(d) - (1.0 - mmr.lambda) * nearest
            };
            let best = rest.iter().map(|&d| worth(d)).fold(f64::NEG_INFINITY, f64::max);
            let at = rest.iter().position(|&d| worth(d) == best).unwrap();
            chosen.push(rest.remove(at));
        }
        chosen.extend(rest);
        chosen
    }

    fn table() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<f64>>)> {
        (1usize..9).prop_flat_map(|n| {
            let score = prop_oneof![-3.0f64..3.0, (0u8..3).prop_map(f64::from)];
            let row = prop::collection::vec(prop_oneof![-1.0f64..1.0, Just(0.5)], n);
            (prop::collection::vec(score, n), prop::collection::vec(row, n))
        })
    }

    proptest! {
        #[test]
        fn every_choice_is_the_best_there_is(
            (scores, similar) in table(), k in 0usize..10, lambda in 0.0f64..1.0,
        ) {
            let mmr = Mmr { lambda, ..Mmr::default() };
            let mut asked = 0;
            let found = mmr.order(&scores, |a, b| { asked += 1; similar[a][b] }, k);
            prop_assert_eq!(found, slow(&mmr, &scores, &similar, k));
            prop_assert!(asked <= scores.len() * k);
        }

        #[test]
        fn all_relevance_leaves_the_order_as_it_is((scores, _) in table(), k in 0usize..10) {
            let mmr = Mmr { lambda: 1.0, ..Mmr::default() };
            let mut by_score: Vec<usize> = (0..scores.len()).collect();
            by_score.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            prop_assert_eq!(mmr.order(&scores, |_, _| f64::NAN, k), by_score);
        }
    }

    #[test]
    fn no_number_comes_last_and_nothing_is_fine() {
        let mmr = Mmr::default();
        assert_eq!(
            mmr.order(&[f64::NAN, 1.0, f64::NEG_INFINITY, 2.0], |_, _| 0.0, 4),
            [3, 1, 0, 2]
        );
        assert_eq!(mmr.order(&[f64::NAN, f64::NAN], |_, _| f64::NAN, 2), [0, 1]);
        assert!(mmr.order(&[], |_, _| 0.0, 4).is_empty());
        assert!(Mmr { lambda: 1.5, ..Mmr::default() }.check().is_err());
        assert!(Mmr { lambda: f64::NAN, ..Mmr::default() }.check().is_err());
    }
}
