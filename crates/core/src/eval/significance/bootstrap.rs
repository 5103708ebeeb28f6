//! Bootstrap interval of a mean: queries are resampled with replacement, and the interval is the
//! middle of the resampled means (the percentile method).
//!
//! Percentile, not BCa: for means over the tens to thousands of queries of a test set the two
//! differ by less than the interval's own uncertainty, and this one stays within the range of
//! the values and needs no correction that can fail on tied values.
//!
//! The bootstrap test resamples the differences shifted to mean zero (the null hypothesis) and counts
//! how often Student's t is at least as large as the observed one (Sakai 2006).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Test, effect_size, mean, monte_carlo_p};
use crate::random::Random;

/// Rounds after which the ends of a 95 % interval move by a few hundredths of a standard error.
pub const BOOTSTRAP_ROUNDS: usize = 10_000;

/// Rounds drawn from one stream: the unit of parallel work.
const BLOCK: usize = 64;

/// From `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The confidence interval of the mean of `values` at `level` (usually 0.95), by `rounds` bootstrap
/// samples. The result does not depend on the order of the values, nor on the number of threads.
///
/// No values give 0 to 0, one value or equal values give that value twice. Without rounds both ends
/// are the mean.
///
/// # Panics
/// If `level` is not between 0 and 1.
pub fn bootstrap_mean(values: &[f64], rounds: usize, level: f64, seed: u64) -> Interval {
    assert!((0.0..=1.0).contains(&level), "a confidence level lies between 0 and 1");
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
        return Interval { low: 0.0, high: 0.0 };
    };
    if least == most {
        return Interval { low: least, high: most };
    }
    if rounds == 0 {
        let mean = mean(&values);
        return Interval { low: mean, high: mean };
    }
    let mut means: Vec<f64> = (0..rounds.div_ceil(BLOCK))
        .into_par_iter()
        .flat_map_iter(|block| {
            let mut random = Random::new(seed, block as u64);
            let in_block = BLOCK.min(rounds - block * BLOCK);
            let values = &values;
            (0..in_block).map(move |_| resampled_mean(values, &mut random))
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    Interval { low: quantile(&means, tail), high: quantile(&means, 1.0 - tail) }
}

/// The paired bootstrap test, two-sided, shifted to the null and studentised; the statistic is
/// the mean difference, p = (1 + #{|t*| ≥ |t|}) / (rounds + 1). The result does not depend on
/// the order of the queries, nor on the number of threads.
///
/// With fewer than two differences, or none but zeros, p = 1. If all are equal and not zero, no draw
/// has a spread, and p is the smallest possible, 1 / (rounds + 1).
pub fn bootstrap_test(differences: &[f64], rounds: usize, seed: u64) -> Test {
    let (n, statistic) = (differences.len(), mean(differences));
    let p = match effect_size(differences) {
        None if n < 2 => 1.0,
        Some(0.0) => 1.0,
        None => 1.0 / (rounds + 1) as f64,
        Some(_) => {
            let (mean, shifted) = shifted(differences);
            let squares: f64 = shifted.iter().map(|d| d * d).sum();
            // A little less than t², since draws with an equal t in exact arithmetic count.
            let square = (1.0 - 1e-9) * mean * mean * (n * (n - 1)) as f64 / squares;
            monte_carlo_p(rounds, BLOCK, seed, |random| is_extreme(&shifted, square, random))
        }
    };
    Test { p, statistic, n }
}

/// The absolute mean, and the differences minus their mean, sorted, both in units of the largest, so
/// that neither the order of the queries nor the choice of the baseline changes the draws.
fn shifted(differences: &[f64]) -> (f64, Vec<f64>) {
    let mut sizes: Vec<f64> = differences.to_vec();
    sizes.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let largest = sizes.last().map_or(1.0, |d| d.abs());
    let side = |sign: f64| {
        let of_side = sizes.iter().map(|d| sign * d / largest).filter(|&d| d > 0.0);
        of_side.fold(0.0, |sum, d| sum + d)
    };
    let (above, below) = (side(1.0), side(-1.0));
    let sign = if above < below { -1.0 } else { 1.0 };
    let mean = (above - below).abs() / sizes.len() as f64;
    let mut shifted: Vec<f64> = sizes.iter().map(|d| sign * d / largest - mean).collect();
    shifted.sort_unstable_by(f64::total_cmp);
    (mean, shifted)
}

/// Whether t² of one draw is at least `square`. A draw of equal values other than zero has an
/// infinite t.
fn is_extreme(shifted: &[f64], square: f64, random: &mut Random) -> bool {
    let n = shifted.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..shifted.len() {
        let drawn = shifted[random.below(shifted.len() as u64) as usize];
        sum += drawn;
        squares += drawn * drawn;
    }
    let variance = ((squares - sum * sum / n) / (n - 1.0)).max(0.0);
    square == 0.0 || (sum != 0.0 && sum * sum / n >= square * variance)
}

fn resampled_mean(values: &[f64], random: &mut Random) -> f64 {
    // Two draws from each 64 bits. The bias of the plain product is at most n / 2³², far below the
    // error of a bootstrap.
    let n = values.len() as u64;
    let draw = |bits: u64| values[((bits * n) >> 32) as usize];
    let (mut even, mut odd) = (0.0, 0.0);
    for _ in 0..n / 2 {
        let bits = random.bits();
        even += draw(bits & u64::from(u32::MAX));
        odd += draw(bits >> 32);
    }
    if n % 2 == 1 {
        even += draw(random.bits() >> 32);
    }
    (even + odd) / n as f64
}

/// The value below which the share `at` of `sorted` lies, between neighbours in proportion.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[place.ceil() as usize]);
    low + (place - below) * (high - low)
}
