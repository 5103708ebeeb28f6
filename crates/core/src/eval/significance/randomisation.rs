//! Fisher's randomisation test: if two scorers are equally good, each difference might as
//! well have had the other sign. p is the share of all sign patterns whose mean is at least
//! as far from zero as the one seen.
//!
//! Up to [`EXACT`] differences that are not zero, all patterns are looked at; beyond, B random
//! ones, with p = (1 + #{|d*| ≥ |d|}) / (B + 1). Sums over four signs at a time are looked up,
//! so a round costs n/4 additions.

use rayon::prelude::*;

use super::{Test, mean};
use crate::random::Random;

/// Rounds that make p = 0.05 certain to about 0.004.
pub const RANDOMISATION_ROUNDS: usize = 10_000;

/// With so many differences or fewer all 2^n patterns are looked at, a million at most.
const EXACT: usize = 20;

/// Rounds drawn from one stream: the unit of parallel work.
const BLOCK: usize = 256;

/// Fisher's paired randomisation test; the statistic is the mean difference. The result does
/// not depend on the order of the queries, nor on the number of threads. If all differences
/// are zero, or there are none, p = 1; a single one that is not zero says nothing either.
pub fn randomisation(differences: &[f64], rounds: usize, seed: u64) -> Test {
    let (n, statistic) = (differences.len(), mean(differences));
    // Only sizes matter to the patterns; in order of size, so that the draws do not depend
    // on the order of the queries.
    let mut sizes: Vec<f64> =
        differences.iter().map(|d| d.abs()).filter(|&size| size > 0.0).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let seen: f64 = differences.iter().sum();
    // Patterns with the same sum in exact arithmetic must count even if rounding parts them.
    let threshold = seen.abs() - 1e-12 * sizes.iter().sum::<f64>();
    let p = if sizes.len() <= EXACT {
        exact(&sizes, threshold)
    } else {
        drawn(&sizes, threshold, rounds, seed)
    };
    Test { p, statistic, n }
}

fn exact(sizes: &[f64], threshold: f64) -> f64 {
    // The pattern is cut in two halves, and each half's sums are made once.
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
            // Padded with zeros, whose sign does not matter.
            let mut padded = [0.0; 4];
            padded[..four.len()].copy_from_slice(four);
            let sums = signed_sums(&padded);
            std::array::from_fn(|pattern| sums[pattern])
        })
        .collect();
    let extreme: usize = (0..rounds.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut random = Random::new(seed, block as u64);
            let in_block = BLOCK.min(rounds - block * BLOCK);
            (0..in_block).filter(|_| one_round(&sums, &mut random).abs() >= threshold).count()
        })
        .sum();
    (1 + extreme) as f64 / (rounds + 1) as f64
}

/// The sum under random signs; 64 bits are the signs of sixteen groups of four.
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

/// The sums of `sizes` under all sign patterns; bit i of the index set means plus.
fn signed_sums(sizes: &[f64]) -> Vec<f64> {
    (0..1usize << sizes.len())
        .map(|pattern| {
            let signed =
                |(i, &size): (usize, &f64)| if pattern >> i & 1 == 1 { size } else { -size };
            sizes.iter().enumerate().map(signed).sum()
        })
        .collect()
}
