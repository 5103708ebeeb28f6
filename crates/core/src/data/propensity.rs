//! Examination propensities by rank, estimated from the log with the position-based model
//! ```text
//!   P(click | query q, document d, rank k) = θ_k · γ_qd
//! ```
//! with examination θ and attractiveness γ (Richardson, Dominowska and Ragno 2007; Craswell et al.
//! 2008). Only θ relative to the first rank is identifiable: θ_1 = 1.
//!
//! # Data
//! Only pairs (q, d) that were shown at several ranks tell ranks apart, because a document that is
//! always first may be relevant or merely examined. All other pairs are ignored.
//!
//! # Estimate
//! With n_qdk impressions and c_qdk clicks, the expected clicks are n_qdk·θ_k·γ_qd. The estimate
//! solves "expected = observed" for every rank and for every pair,
//! ```text
//!   Σ_qd (c_qdk − n_qdk θ_k γ_qd) = 0        Σ_k (c_qdk − n_qdk θ_k γ_qd) = 0
//! ```
//! in alternation: γ_qd ← Σ_k c / Σ_k nθ, then θ_k ← Σ_qd c / Σ_qd nγ. These are the steps of
//! maximum likelihood for clicks as Poisson counts. Each maximises over its own variables, so the
//! likelihood never falls; in the logarithms of θ and γ it is concave, so the solution does not
//! depend on the start. It is consistent if the means are right, and a pair with three impressions
//! does no harm: given its number of clicks, their distribution over ranks depends on θ alone. EM for
//! Bernoulli clicks (hidden: examined or not) has the same solution where pairs have many
//! impressions. Where many have few, its θ are too large by several per cent, as each pair's γ is
//! fitted to its own noise, and a prior on γ makes them too small instead. On the demo log, whose
//! truth is known, the Poisson estimate was the nearest.
//!
//! # Missing information
//! The effective clicks of a rank are e_k = Σ_qd c_qd·p_k(1 − p_k) with p_k = n_k θ_k / Σ n θ, the
//! information in the log on log θ_k. A line log θ = a − η·log k is fitted to the estimates,
//! weighted by e, and every rank is shrunk to it with the weight of [`PRIOR`] effective clicks: a rank
//! with many follows the log, one with none (or one that no pair links to the others) the line. With
//! fewer than [`MIN_CLICKS`] effective clicks in all there is no estimate.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::impression_counts::ImpressionCounts;
use crate::{Result, Run};

/// The weight of the line against a rank's own estimate, in effective clicks.
const PRIOR: f64 = 10.0;
/// The effective clicks needed for an estimate.
const MIN_CLICKS: f64 = 20.0;
/// The smallest propensity, so that one click cannot outweigh a hundred.
const FLOOR: f64 = 0.05;
/// The relative change of every θ at which the iteration stops.
const TOLERANCE: f64 = 1e-8;
const MAX_STEPS: usize = 2_000;
/// Pairs in a block, the unit of parallel sums.
const BLOCK: usize = 4_096;

/// Examination propensities by rank, relative to the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Propensities {
    /// The propensities θ by rank, from the first, which has 1.
    pub by_rank: Vec<f64>,
    /// The effective clicks by rank: the information in the log on each.
    #[serde(rename = "telling")]
    pub effective_clicks: Vec<f64>,
    /// Clicked pairs of query and document that were shown at several ranks.
    pub pairs: usize,
    /// The slope of the line that supplies missing information: θ_k ∝ k^−slope.
    pub slope: f64,
}

impl Propensities {
    /// Estimates them; `None` where the log cannot tell ranks apart.
    pub(crate) fn of(seen: &ImpressionCounts, run: &Run<'_>) -> Result<Option<Self>> {
        let table = RankClicks::of(seen);
        if table.pairs() == 0 {
            return Ok(None);
        }
        let theta = table.fit(run)?;
        let mut effective_clicks = table.effective_clicks(&theta);
        if !table.keep_largest(&mut effective_clicks) {
            return Ok(None);
        }
        let (by_rank, slope) = smooth(&theta, &effective_clicks);
        Ok(Some(Propensities { by_rank, effective_clicks, pairs: table.pairs(), slope }))
    }

    /// The propensity of `rank`, never below 0.05.
    pub fn at(&self, rank: u32) -> f64 {
        let n = self.by_rank.len();
        let theta = match self.by_rank.get((rank.max(1) as usize) - 1) {
            Some(&theta) => theta,
            None => {
                let last = self.by_rank.last().copied().unwrap_or(1.0);
                last * (f64::from(rank) / n.max(1) as f64).powf(-self.slope)
            }
        };
        theta.max(FLOOR)
    }
}

/// Clicks and impressions by rank of the pairs that were clicked and shown at several ranks.
struct RankClicks {
    starts: Vec<usize>,
    /// By pair: rank − 1, and the impressions there.
    cells: Vec<(usize, f64)>,
    /// Clicks of each pair.
    clicks: Vec<f64>,
    /// Clicks at each rank.
    by_rank: Vec<f64>,
}

impl RankClicks {
    fn of(seen: &ImpressionCounts) -> Self {
        let n_ranks = seen.by_rank.len().saturating_sub(1);
        let mut table = RankClicks {
            starts: vec![0],
            cells: Vec::new(),
            clicks: Vec::new(),
            by_rank: vec![0.0; n_ranks],
        };
        for p in 0..seen.pairs.len() {
            let known = || seen.cells(p).iter().filter(|cell| cell.rank > 0);
            let clicks: f64 = known().map(|cell| cell.clicked).sum();
            if known().count() < 2 || clicks == 0.0 {
                continue;
            }
            for cell in known() {
                table.cells.push((cell.rank as usize - 1, cell.shown));
                table.by_rank[cell.rank as usize - 1] += cell.clicked;
            }
            table.starts.push(table.cells.len());
            table.clicks.push(clicks);
        }
        table
    }

    fn pairs(&self) -> usize {
        self.clicks.len()
    }

    fn cells(&self, p: usize) -> &[(usize, f64)] {
        &self.cells[self.starts[p]..self.starts[p + 1]]
    }

    /// Sums over the pairs what `add` adds for each, in an order independent of the threads.
    fn sum(&self, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let n_blocks = self.pairs().div_ceil(BLOCK);
        let blocks: Vec<Vec<f64>> = (0..n_blocks)
            .into_par_iter()
            .map(|block| {
                let mut sums = vec![0.0; self.by_rank.len()];
                let end = ((block + 1) * BLOCK).min(self.pairs());
                (block * BLOCK..end).for_each(|p| add(p, &mut sums));
                sums
            })
            .collect();
        let mut all = vec![0.0; self.by_rank.len()];
        for sums in blocks {
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        all
    }

    /// The expected examinations of pair `p`: Σ_k n θ.
    fn examinations(&self, p: usize, theta: &[f64]) -> f64 {
        self.cells(p).iter().map(|&(k, shown)| shown * theta[k]).sum()
    }

    /// One step: the best γ for `theta`, then the best θ for these γ.
    fn step(&self, theta: &[f64]) -> Vec<f64> {
        let expected = self.sum(|p, sums| {
            let gamma = self.clicks[p] / self.examinations(p, theta);
            self.cells(p).iter().for_each(|&(k, shown)| sums[k] += shown * gamma);
        });
        // Half a click where there is none: no log proves that a rank is never examined.
        let new: Vec<f64> = self
            .by_rank
            .iter()
            .zip(&expected)
            .map(
                |(&clicks, &expected)| {
                    if expected > 0.0 { clicks.max(0.5) / expected } else { 0.0 }
                },
            )
            .collect();
        // The scale is free.
        let most = new.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        new.into_iter().map(|theta| theta / most).collect()
    }

    fn fit(&self, run: &Run<'_>) -> Result<Vec<f64>> {
        let mut theta: Vec<f64> = (1..=self.by_rank.len()).map(|k| (k as f64).powf(-0.5)).collect();
        for step in 0..MAX_STEPS {
            if step % 10 == 0 {
                run.step("estimating examination propensities", step as u64, None)?;
            }
            let new = self.step(&theta);
            let moved = new
                .iter()
                .zip(&theta)
                .filter(|&(&new, _)| new > 0.0)
                .map(|(new, old)| (new / old - 1.0).abs())
                .fold(0.0, f64::max);
            theta = new;
            if moved < TOLERANCE {
                break;
            }
        }
        Ok(theta)
    }

    /// The effective clicks of each rank.
    fn effective_clicks(&self, theta: &[f64]) -> Vec<f64> {
        self.sum(|p, sums| {
            let all = self.examinations(p, theta);
            for &(k, shown) in self.cells(p) {
                let part = shown * theta[k] / all;
                sums[k] += self.clicks[p] * part * (1.0 - part);
            }
        })
    }

    /// Ranks that no chain of pairs links cannot be compared: keeps the effective clicks of the
    /// linked ranks with the most, and sets the rest to 0. `false` if too few are left.
    fn keep_largest(&self, effective: &mut [f64]) -> bool {
        let mut group: Vec<usize> = (0..effective.len()).collect();
        fn root(group: &mut [usize], mut k: usize) -> usize {
            while group[k] != k {
                group[k] = group[group[k]];
                k = group[k];
            }
            k
        }
        for p in 0..self.pairs() {
            let cells = self.cells(p);
            for &(k, _) in &cells[1..] {
                let (one, other) = (root(&mut group, cells[0].0), root(&mut group, k));
                group[one.max(other)] = one.min(other);
            }
        }
        let roots: Vec<usize> = (0..group.len()).map(|k| root(&mut group, k)).collect();
        let mut sums = vec![0.0; effective.len()];
        roots.iter().zip(&*effective).for_each(|(&root, effective)| sums[root] += effective);
        let Some(best) = (0..sums.len()).rev().max_by(|&a, &b| sums[a].total_cmp(&sums[b])) else {
            return false;
        };
        for (root, effective) in roots.into_iter().zip(effective) {
            if root != best {
                *effective = 0.0;
            }
        }
        // Every click informs at least two ranks.
        sums[best] / 2.0 >= MIN_CLICKS
    }
}

/// Shrinks every rank to the line through all of them; returns the propensities and the slope.
fn smooth(theta: &[f64], effective: &[f64]) -> (Vec<f64>, f64) {
    let point = |k: usize| (((k + 1) as f64).ln(), theta[k].max(f64::MIN_POSITIVE).ln());
    let informed: Vec<usize> = (0..theta.len()).filter(|&k| effective[k] > 0.0).collect();
    let weight: f64 = informed.iter().map(|&k| effective[k]).sum();
    let mean = |of: &dyn Fn(usize) -> f64| {
        informed.iter().map(|&k| effective[k] * of(k)).sum::<f64>() / weight
    };
    let (x, y) = (mean(&|k| point(k).0), mean(&|k| point(k).1));
    let with = mean(&|k| (point(k).0 - x) * (point(k).1 - y));
    let spread = mean(&|k| (point(k).0 - x).powi(2));
    // The line never rises with the rank.
    let slope = if spread > 0.0 { (-with / spread).max(0.0) } else { 0.0 };
    let drawn: Vec<f64> = (0..theta.len())
        .map(|k| {
            let line = y - slope * (point(k).0 - x);
            match effective[k] {
                e if e > 0.0 => ((e * point(k).1 + PRIOR * line) / (e + PRIOR)).exp(),
                _ => line.exp(),
            }
        })
        .collect();
    let first = drawn.first().copied().unwrap_or(1.0);
    (drawn.into_iter().map(|theta| theta / first).collect(), slope)
}

#[cfg(test)]
mod tests;
