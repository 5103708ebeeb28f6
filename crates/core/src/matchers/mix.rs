//! Mixes of matchers. Linear: a·A + (1 − a)·B over scores standardised per query, with the
//! weights given or tuned on validation. By ranks (reciprocal rank fusion, Cormack et al., 2009):
//! Σ 1/(60 + rank), which has nothing to tune.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::standardise::Standard;
use crate::{Error, Result};

/// Combination of the scores of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MixKind {
    /// A weighted sum of standardised scores.
    #[default]
    Linear,
    /// A sum of 1/(60 + rank).
    Rrf,
}

/// The prefix of a mix by ranks.
const RRF: &str = "rrf:";
/// The constant of reciprocal rank fusion, which damps the first ranks.
pub const RRF_K: f32 = 60.0;

/// A mix as a user writes it: `pls+bm25`, `0.8*pls+0.2*bm25`, `rrf:pls+bm25`, or just `bm25`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Combination of the scores.
    #[serde(default)]
    pub fusion: MixKind,
    /// The names mixed, each with its weight where one was given.
    pub parts: Vec<(Option<f64>, String)>,
}

impl Mixture {
    /// Parses `text`. Either all parts have weights or none has.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::parameter(
                "models",
                text,
                "names joined by +, with weights before all of them or none: pls+bm25, 0.8*pls+0.2*bm25; or by ranks, without weights: rrf:pls+bm25",
            )
        };
        let mut parts = Vec::new();
        let (fusion, names) = match text.trim().strip_prefix(RRF) {
            Some(names) => (MixKind::Rrf, names),
            None => (MixKind::Linear, text),
        };
        for part in names.split('+') {
            let (weight, name) = match part.split_once('*') {
                Some((weight, name)) => {
                    let weight: f64 = weight.trim().parse().map_err(|_| wrong())?;
                    if !weight.is_finite() {
                        return Err(wrong());
                    }
                    (Some(weight), name.trim())
                }
                None => (None, part.trim()),
            };
            if name.is_empty() {
                return Err(wrong());
            }
            parts.push((weight, name.to_owned()));
        }
        let weighted = parts.iter().filter(|(weight, _)| weight.is_some()).count();
        if weighted != 0 && weighted != parts.len() {
            return Err(wrong());
        }
        // Ranks have no weights, and the ranks of a single model are no mix.
        if fusion == MixKind::Rrf && (weighted > 0 || parts.len() < 2) {
            return Err(wrong());
        }
        // A weight of a single model has no effect, and weights of zero leave no score.
        let idle = match &parts[..] {
            [(weight, _)] => weight.is_some(),
            all => weighted > 0 && all.iter().all(|&(weight, _)| weight == Some(0.0)),
        };
        if idle {
            return Err(Error::parameter(
                "models",
                text,
                "weights for a mix of several models, not all 0",
            ));
        }
        Ok(Mixture { fusion, parts })
    }

    /// The weights, unless they must be tuned.
    pub fn weights(&self) -> Option<Vec<f64>> {
        if self.fusion == MixKind::Rrf {
            return Some(vec![1.0; self.parts.len()]);
        }
        if self.parts.len() == 1 {
            return Some(vec![self.parts[0].0.unwrap_or(1.0)]);
        }
        self.parts.iter().map(|&(weight, _)| weight).collect()
    }
}

impl fmt::Display for Mixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fusion == MixKind::Rrf {
            write!(f, "{RRF}")?;
        }
        for (i, (weight, name)) in self.parts.iter().enumerate() {
            let plus = if i == 0 { "" } else { "+" };
            match weight {
                Some(weight) => write!(f, "{plus}{weight}*{name}")?,
                None => write!(f, "{plus}{name}")?,
            }
        }
        Ok(())
    }
}

/// Shifts and scales `scores` to mean 0 and standard deviation 1 over the first `n_own`, and returns
/// both; scores that are all the same become 0.
pub fn standardise(scores: &mut [f32], n_own: usize) -> (f64, f64) {
    let standard = Standard::z_score(scores[..n_own].iter().map(|&score| f64::from(score)));
    let Standard { shift: mean, scale: deviation } = standard;
    let factor = if standard.is_constant() { 0.0 } else { 1.0 / deviation };
    scores.iter_mut().for_each(|s| *s = ((f64::from(*s) - mean) * factor) as f32);
    (mean, deviation)
}

/// Replaces every score by 1/(60 + rank), with rank 1 for the best; equal scores share the best of
/// their ranks. Ranks are those among the first `n_own` scores.
pub fn reciprocal_ranks(scores: &mut [f32], n_own: usize) {
    let mut order = scores[..n_own].to_vec();
    order.sort_unstable_by(|a, b| b.total_cmp(a));
    for score in scores.iter_mut() {
        let better = order.partition_point(|other| other > score);
        *score = 1.0 / (RRF_K + 1.0 + better as f32);
    }
}

/// All weights of `n` parts in tenths that add up to 1, each at least one tenth.
pub fn weight_grid(n: usize) -> Vec<Vec<f64>> {
    fn fill(tenths: u32, parts: usize, so_far: &mut Vec<f64>, all: &mut Vec<Vec<f64>>) {
        if parts == 1 {
            so_far.push(f64::from(tenths) / 10.0);
            all.push(so_far.clone());
            so_far.pop();
            return;
        }
        for share in 1..=tenths.saturating_sub(parts as u32 - 1) {
            so_far.push(f64::from(share) / 10.0);
            fill(tenths - share, parts - 1, so_far, all);
            so_far.pop();
        }
    }
    let mut all = Vec::new();
    if (1..=10).contains(&n) {
        fill(10, n, &mut Vec::new(), &mut all);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_read_as_written() {
        assert_eq!(Mixture::parse("pls+bm25").unwrap().weights(), None);
        assert_eq!(Mixture::parse("0.8*pls + 0.2*bm25").unwrap().weights(), Some(vec![0.8, 0.2]));
        assert_eq!(Mixture::parse("bm25").unwrap().weights(), Some(vec![1.0]));
        for wrong in [
            "",
            "pls+",
            "0.5*pls+bm25",
            "x*pls+0.1*bm25",
            "inf*pls+0.1*bm25",
            "2*bm25",
            "0*pls+0*bm25",
            "rrf:pls",
            "rrf:0.5*pls+0.5*bm25",
            "rrf:",
        ] {
            assert!(Mixture::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranks_are_fused_without_weights_and_ties_share_the_best() {
        let mix = Mixture::parse("rrf:pls+bm25").unwrap();
        assert_eq!((mix.weights(), mix.to_string()), (Some(vec![1.0; 2]), "rrf:pls+bm25".into()));
        let mut scores = [0.5, 2.0, 0.5, -1.0, 0.7];
        reciprocal_ranks(&mut scores, 4);
        assert_eq!(scores, [1.0 / 62.0, 1.0 / 61.0, 1.0 / 62.0, 1.0 / 64.0, 1.0 / 62.0]);
    }

    #[test]
    fn the_grid_for_two_is_the_papers() {
        let grid = weight_grid(2);
        assert_eq!(grid.len(), 9);
        assert_eq!(grid[0], [0.1, 0.9]);
        assert_eq!(weight_grid(3).len(), 36);
        assert!(weight_grid(3).iter().all(|w| (w.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert!(weight_grid(11).is_empty());
    }

    #[test]
    fn equal_scores_standardise_to_zero() {
        let mut scores = [0.1f32; 5];
        assert_eq!(standardise(&mut scores, 5).1, 0.0);
        assert_eq!(scores, [0.0; 5]);
        let mut scores = [1.0, 3.0];
        assert_eq!(standardise(&mut scores, 2), (2.0, 1.0));
        assert_eq!(scores, [-1.0, 1.0]);
    }
}
