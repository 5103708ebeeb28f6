//! Seeded random numbers from ChaCha. The distributions are implemented here, so that results do not
//! change with the version of a library.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers that depends on its seed and stream number alone.
pub struct Random {
    chacha: ChaCha8Rng,
    spare: Option<f64>,
}

impl Random {
    /// The stream `stream` of the seed `seed`. Streams are independent: with one per block of work,
    /// the numbers do not depend on the threads.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut chacha = ChaCha8Rng::seed_from_u64(seed);
        chacha.set_stream(stream);
        Random { chacha, spare: None }
    }

    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.chacha.next_u64()
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, without the bias of a plain remainder.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing lies below zero");
        // Lemire's method: the high half of a 128-bit product, redrawn in the rare biased zone.
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Standard normal (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let u = 2.0 * self.uniform() - 1.0;
            let v = 2.0 * self.uniform() - 1.0;
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * s.ln() / s).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Puts `items` in random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

/// 2⁶⁴ divided by the golden ratio, the increment of SplitMix64.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mixing function of SplitMix64: spreads the bits of a number over all 64.
pub fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let mut random = Random::new(7, 3);
        let drawn: Vec<u64> = (0..3).map(|_| random.below(1000)).collect();
        let mut again = Random::new(7, 3);
        assert_eq!(drawn, (0..3).map(|_| again.below(1000)).collect::<Vec<_>>());
        assert_ne!(Random::new(7, 3).bits(), Random::new(7, 4).bits());
    }

    #[test]
    fn normals_have_mean_zero_and_variance_one() {
        let mut random = Random::new(1, 0);
        let n = 100_000;
        let (sum, squares) = (0..n).fold((0.0, 0.0), |(s, q), _| {
            let z = random.normal();
            (s + z, q + z * z)
        });
        assert!((sum / n as f64).abs() < 0.02);
        assert!((squares / n as f64 - 1.0).abs() < 0.02);
    }

    #[test]
    fn below_reaches_every_value_about_equally_often() {
        let mut random = Random::new(2, 0);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
    }
}
