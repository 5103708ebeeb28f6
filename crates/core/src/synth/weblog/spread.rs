//! Whole numbers of a given distribution with an exact sum.
//!
//! The averages of a log must be exact, not only in expectation. So the numbers are the quantiles of
//! their distribution, adjusted to the sum and shuffled: they are as close to it as whole numbers can
//! be, and no seed gives an unusual tail.

use crate::random::Random;

/// Weights of the values `least`, `least + 1`, ….
pub struct Distribution {
    least: u32,
    weights: Vec<f64>,
}

impl Distribution {
    /// The shifted power law p(n) ∝ (n + a)^−`tail` on 1..=`most`, with the shift a that
    /// gives the mean `mean`. The smaller `tail`, the heavier the tail.
    pub fn power(mean: f64, tail: f64, most: usize) -> Self {
        let at = |shift: f64| {
            let weights = (1..=most).map(|n| (n as f64 + shift).powf(-tail)).collect();
            Distribution { least: 1, weights }
        };
        // The mean grows with the shift, from 1 at −1 towards the middle of the range.
        let (mut low, mut high) = (-1.0 + 1e-9, 1e4);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if at(middle).mean() < mean { low = middle } else { high = middle }
        }
        at(low)
    }

    /// `least` plus a Poisson number, with the mean `mean`, cut off where it is negligible.
    pub fn poisson(least: u32, mean: f64) -> Self {
        let rate = mean - f64::from(least);
        let most = (rate + 6.0 * rate.sqrt() + 6.0) as usize;
        let mut weights = vec![1.0];
        for n in 1..=most {
            weights.push(weights[n - 1] * rate / n as f64);
        }
        Distribution { least, weights }
    }

    /// One less than the least value with probability `share`, else of this distribution.
    pub fn or_one_less(mut self, share: f64) -> Self {
        let sum: f64 = self.weights.iter().sum();
        self.weights.insert(0, sum * share / (1.0 - share));
        self.least -= 1;
        self
    }

    fn mean(&self) -> f64 {
        let sum: f64 = self.weights.iter().sum();
        let first = self.weights.iter().enumerate().map(|(k, w)| k as f64 * w).sum::<f64>();
        f64::from(self.least) + first / sum
    }

    /// `n` numbers of this distribution, in random order, with its mean as closely as possible.
    pub fn spread_freely(&self, n: usize, random: &mut Random) -> Vec<u32> {
        self.spread(n, (self.mean() * n as f64).round() as usize, random)
    }

    /// `n` numbers of this distribution, in random order, with sum `total`.
    ///
    /// # Panics
    /// If `n` numbers in the range of the distribution cannot have that sum.
    pub fn spread(&self, n: usize, total: usize, random: &mut Random) -> Vec<u32> {
        let most = self.least + self.weights.len() as u32 - 1;
        assert!(
            (n * self.least as usize..=n * most as usize).contains(&total),
            "{n} numbers from {} to {most} cannot sum to {total}",
            self.least
        );
        let sum: f64 = self.weights.iter().sum();
        let mut numbers = Vec::with_capacity(n);
        let mut below = 0.0;
        for (value, weight) in (self.least..).zip(&self.weights) {
            below += weight / sum;
            let until = (below * n as f64).round() as usize;
            numbers.resize(until.clamp(numbers.len(), n), value);
        }
        numbers.resize(n, most);
        let mut now: usize = numbers.iter().map(|&number| number as usize).sum();
        while now != total {
            let number = &mut numbers[random.below(n as u64) as usize];
            if now < total && *number < most {
                *number += 1;
                now += 1;
            } else if now > total && *number > self.least {
                *number -= 1;
                now -= 1;
            }
        }
        random.shuffle(&mut numbers);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_sum_asked_for_and_the_range_of_its_distribution() {
        for tail in [2.5, 4.0] {
            let distribution = Distribution::power(1.74, tail, 200);
            assert!((distribution.mean() - 1.74).abs() < 1e-6);
            let numbers = distribution.spread(10_000, 17_400, &mut Random::new(3, 0));
            assert_eq!(numbers.iter().sum::<u32>(), 17_400);
            assert_eq!(numbers.iter().min(), Some(&1));
            assert!(numbers.iter().max() > Some(&10));
        }
    }

    #[test]
    fn a_smaller_exponent_makes_a_heavier_tail() {
        let squares = |tail| {
            let numbers =
                Distribution::power(2.0, tail, 200).spread(10_000, 20_000, &mut Random::new(1, 0));
            numbers.iter().map(|n| n * n).sum::<u32>()
        };
        assert!(squares(3.0) > squares(5.0));
    }

    #[test]
    fn a_share_can_be_one_less() {
        let distribution = Distribution::poisson(2, 2.5).or_one_less(0.25);
        let numbers = distribution.spread(1_000, 2_125, &mut Random::new(1, 0));
        let ones = numbers.iter().filter(|&&n| n == 1).count();
        assert!((240..=260).contains(&ones), "{ones}");
    }
}
