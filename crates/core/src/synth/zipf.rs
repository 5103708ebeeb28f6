//! Random ranks, with probabilities proportional to decreasing weights such as those of Zipf's law.

use crate::random::Random;

pub(super) struct Zipf {
    /// The sums of the weights of the first 1, 2, … ranks.
    sums: Vec<f64>,
}

impl Zipf {
    /// Of at most `n` ranks; `weight` is called with ranks from 1.
    pub(super) fn new(n: usize, weight: impl Fn(f64) -> f64) -> Self {
        let mut sum = 0.0;
        let sums = (1..=n).map(|rank| {
            sum += weight(rank as f64);
            sum
        });
        Zipf { sums: sums.collect() }
    }

    /// The sum of the weights of the first `n` ranks.
    pub(super) fn total(&self, n: usize) -> f64 {
        self.sums[n - 1]
    }

    /// A number below `n`, 0 for the first rank.
    pub(super) fn draw(&self, n: usize, random: &mut Random) -> usize {
        let at = random.uniform() * self.total(n);
        self.sums[..n].partition_point(|&sum| sum <= at).min(n - 1)
    }
}
