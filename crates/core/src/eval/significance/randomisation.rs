//! Fisher's randomisation test: if two systems are equally good, each difference is as likely to
//! have the other sign. p is the share of all sign patterns whose mean is at least as far from zero
//! as the observed one.
//!
//! Up to [`EXACT`] non-zero differences all patterns are enumerated; beyond, B are drawn,
//! with p = (1 + #{|d*| ≥ |d|}) / (B + 1). Sums over four signs at a time are looked up,
//! so a round costs n/4 additions.

use super::{Test, mean, monte_carlo_p};
use crate::random::Random;

/// Rounds that make p = 0.05 certain to about 0.004.
pub const RANDOMISATION_ROUNDS: usize = 10_000;

/// The most differences whose 2^n patterns are enumerated, a million at most.
const EXACT: usize = 20;

/// Rounds drawn from one stream: the unit of parallel work.
const BLOCK: usize = 256;

/// Fisher's paired randomisation test; the statistic is the mean difference. The result does
/// not depend on the order of the queries, nor on the number of threads. With no difference but
/// zeros, or with a single one, p = 1.
pub fn randomisation(differences: &[f64], rounds: usize, seed: u64) -> Test {
    let (n, statistic) = (differences.len(), mean(differences));
    // The patterns depend on absolute values alone; sorted, so that the draws do not depend on the
    // order of the queries.
    let mut sizes: Vec<f64> =
        differences.iter().map(|d| d.abs()).filter(|&size| size > 0.0).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let seen: f64 = differences.iter().sum();
    // Patterns with an equal sum in exact arithmetic must count despite rounding.
    let threshold = seen.abs() - 1e-12 * sizes.iter().sum::<f64>();
    let p = if sizes.len() <= EXACT {
        exact(&sizes, threshold)
    } else {
        drawn(&sizes, threshold, rounds, seed)
    };
    Test { p, statistic, n }
}

fn exact(sizes: &[f64], threshold: f64) -> f64 {
    // The sums of each half of the pattern are computed once.
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let (left, right) = (signed_sums(left), signed_sums(right));
    let extreme: usize = left
        .iter()
        .map(|left| right.iter().filter(|&right| (left + right).abs() >= threshold).count())
        .sum();
    extreme as f64 / (left.len() * right.len()) as f64
}

fn drawn(sizes: &[f64], threshold: f64, rounds: usize, seed: u64) -> f64 {
    let sums: Vec<[f64; 16]> = sizes
        .chunks(4)
        .map(|four| {
            // Padded with zeros, whose sign is irrelevant.
            let mut padded = [0.0; 4];
            padded[..four.len()].copy_from_slice(four);
            let sums = signed_sums(&padded);
            std::array::from_fn(|pattern| sums[pattern])
        })
        .collect();
    monte_carlo_p(rounds, BLOCK, seed, |random| one_round(&sums, random).abs() >= threshold)
}

/// The sum with random signs; 64 bits are the signs of sixteen groups of four.
fn one_round(sums: &[[f64; 16]], random: &mut Random) -> f64 {
    let mut total = 0.0;
    for groups in sums.chunks(16) {
        let mut bits = random.bits();
        for group in groups {
            total += group[(bits & 15) as usize];
            bits >>= 4;
        }
    }
    total
}

/// The sums of `sizes` under all sign patterns; bit i of the index is the sign, 1 for plus.
fn signed_sums(sizes: &[f64]) -> Vec<f64> {
    (0..1usize << sizes.len())
        .map(|pattern| {
            let signed =
                |(i, &size): (usize, &f64)| if pattern >> i & 1 == 1 { size } else { -size };
            sizes.iter().enumerate().map(signed).sum()
        })
        .collect()
}
