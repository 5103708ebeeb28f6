//! Is the difference between two systems significant? All tests are paired over queries: the input
//! is one finite difference per query, the system's value minus the baseline's.
//!
//! Student's t is what most of the field reports; Fisher's randomisation test assumes less and
//! agrees with it in practice, and so does the [bootstrap](bootstrap_test); the sign test, which
//! some of the papers use, ignores the sizes of differences and has less power. When several
//! systems are compared with one baseline, [`holm`] adjusts the p-values, or [`benjamini_hochberg`],
//! which allows a share of false discoveries. No result is NaN: every function documents its result
//! for little data.

mod beta;
mod bootstrap;
mod randomisation;

#[cfg(test)]
mod tests;

pub use bootstrap::{BOOTSTRAP_ROUNDS, Interval, bootstrap_mean, bootstrap_test};
pub use randomisation::{RANDOMISATION_ROUNDS, randomisation};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::random::Random;
use beta::incomplete_beta;

/// The result of a two-sided test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The probability of a difference at least this large under the null hypothesis.
    pub p: f64,
    /// The test statistic, which every test defines.
    pub statistic: f64,
    /// The number of differences used.
    pub n: usize,
}

/// The differences `ours − baseline`, query by query.
///
/// # Panics
/// If the lengths differ.
pub fn differences(ours: &[f64], baseline: &[f64]) -> Vec<f64> {
    assert_eq!(ours.len(), baseline.len(), "the values are paired over queries");
    ours.iter().zip(baseline).map(|(ours, baseline)| ours - baseline).collect()
}

/// Student's paired t-test; the statistic is t = mean / (s / √n) with n − 1 degrees of freedom.
///
/// With fewer than two differences, or none but zeros, t = 0 and p = 1. If all are the same
/// and not zero, t is infinite and p = 0.
pub fn paired_t(differences: &[f64]) -> Test {
    let n = differences.len();
    let Some(effect) = effect_size(differences) else {
        // No spread: the one difference, or many equal ones.
        let certain = n > 1;
        let statistic = if certain { f64::INFINITY.copysign(differences[0]) } else { 0.0 };
        return Test { p: if certain { 0.0 } else { 1.0 }, statistic, n };
    };
    let t = effect * (n as f64).sqrt();
    Test { p: student_two_sided(t, (n - 1) as f64), statistic: t, n }
}

/// The exact sign test: ties are dropped, the statistic is the number of positive
/// differences among the `n` others. With no difference p = 1.
pub fn sign(differences: &[f64]) -> Test {
    let (wins, _, losses) = wins_ties_losses(differences);
    let (n, fewer) = (wins + losses, wins.min(losses));
    // P(X ≤ m) for X binomial with n throws of a fair coin is I_½(n − m, m + 1).
    let p = if wins.abs_diff(losses) <= 1 {
        // The two tails are everything.
        1.0
    } else {
        2.0 * incomplete_beta((n - fewer) as f64, (fewer + 1) as f64, 0.5, 0.5)
    };
    Test { p: p.min(1.0), statistic: wins as f64, n }
}

/// The p-values of several comparisons, adjusted by Holm's step-down procedure so that the
/// chance of a single false claim among all of them stays below the level chosen. In the
/// order given; never below the raw value, never above 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0f64;
    for (step, &at) in order.iter().enumerate() {
        largest = largest.max((p.len() - step) as f64 * p[at]).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// The p-values of several comparisons, adjusted by the step-up procedure of Benjamini and
/// Hochberg: among the claims at a level, the expected share of false ones is that level at most. In
/// the order given; never below the raw value, never above 1, and never above [`holm`]'s.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut smallest = 1.0f64;
    for (step, &at) in order.iter().enumerate().rev() {
        // In this order n / n is 1, so that the largest stays unchanged.
        smallest = smallest.min(p[at] * (p.len() as f64 / (step + 1) as f64));
        adjusted[at] = smallest;
    }
    adjusted
}

/// Numbers of differences above, at and below zero.
pub fn wins_ties_losses(differences: &[f64]) -> (usize, usize, usize) {
    let wins = differences.iter().filter(|&&d| d > 0.0).count();
    let losses = differences.iter().filter(|&&d| d < 0.0).count();
    (wins, differences.len() - wins - losses, losses)
}

/// The mean; 0 of no values.
pub fn mean(values: &[f64]) -> f64 {
    // From 0, since `sum` starts at −0, which would print with its sign.
    values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64
}

/// The standard error of the mean, √(Σ(v − mean)² / (n − 1) / n); nothing of fewer than two.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt())
}

/// Cohen's d_z, the mean difference in units of the differences' standard deviation; about
/// 0.2 is called small, 0.5 medium, 0.8 large. 0 if all are zero; not defined with fewer than
/// two differences, or where all are the same and not zero.
pub fn effect_size(differences: &[f64]) -> Option<f64> {
    let (&first, rest) = differences.split_first()?;
    if rest.is_empty() {
        return None;
    }
    // Not by the mean: in floating point the mean of equal numbers may differ from them.
    if rest.iter().all(|&d| d == first) {
        return (first == 0.0).then_some(0.0);
    }
    // Divided by the largest, so that squares of tiny differences do not underflow.
    let largest = differences.iter().fold(0.0f64, |largest, d| largest.max(d.abs()));
    let scaled: Vec<f64> = differences.iter().map(|d| d / largest).collect();
    let mean = mean(&scaled);
    let squares: f64 = scaled.iter().map(|d| (d - mean) * (d - mean)).sum();
    Some(mean / (squares / rest.len() as f64).sqrt())
}

/// (1 + n) / (rounds + 1), with n the number of rounds that are `extreme`. The unit of parallel work is
/// a block of rounds, drawn from one stream.
fn monte_carlo_p(
    rounds: usize,
    block: usize,
    seed: u64,
    extreme: impl Fn(&mut Random) -> bool + Sync,
) -> f64 {
    let n: usize = (0..rounds.div_ceil(block))
        .into_par_iter()
        .map(|b| {
            let mut random = Random::new(seed, b as u64);
            (0..block.min(rounds - b * block)).filter(|_| extreme(&mut random)).count()
        })
        .sum();
    (1 + n) as f64 / (rounds + 1) as f64
}

/// The probability that |T| ≥ |t| for Student's T: I_x(ν/2, ½) with x = ν / (ν + t²).
fn student_two_sided(t: f64, freedom: f64) -> f64 {
    let square = t * t;
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square))
}
