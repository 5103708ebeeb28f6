//! Sums of gradients by bin.
//!
//! Gradients and second derivatives are rounded to whole numbers before they are added: sums of
//! whole numbers do not depend on their order, so a tree is the same at any number of threads, and
//! the histogram of a child is exactly its parent's minus its sibling's. The rounding is as fine as
//! 64 bits allow, 2⁻⁴⁰ of the largest gradient for half a million rows.

use super::bins::{BinnedFeature, WIDTH};
use super::prefetch::{AHEAD, prefetch};

/// Sums over rows: of gradients, of second derivatives and of the number of rows, the latter two in
/// one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(16))]
pub(super) struct Sums {
    pub gradient: i64,
    /// The second derivatives above, the count in the lowest bits.
    pub rest: u64,
}

impl Sums {
    /// The sum of both, as one SIMD addition.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn plus(self, other: Sums) -> Sums {
        use std::arch::x86_64::{__m128i, _mm_add_epi64};
        let pair = |sums: Sums| bytemuck::cast::<_, __m128i>([sums.gradient as u64, sums.rest]);
        // SAFETY: every x86-64 has SSE2.
        let sum = unsafe { _mm_add_epi64(pair(self), pair(other)) };
        let [gradient, rest]: [u64; 2] = bytemuck::cast(sum);
        Sums { gradient: gradient as i64, rest }
    }

    /// The sum of both.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub fn plus(self, other: Sums) -> Sums {
        self.plus_portable(other)
    }

    #[cfg(any(test, not(target_arch = "x86_64")))]
    #[inline(always)]
    fn plus_portable(self, other: Sums) -> Sums {
        Sums {
            gradient: self.gradient.wrapping_add(other.gradient),
            rest: self.rest.wrapping_add(other.rest),
        }
    }

    #[inline(always)]
    pub fn minus(self, other: Sums) -> Sums {
        Sums {
            gradient: self.gradient.wrapping_sub(other.gradient),
            rest: self.rest.wrapping_sub(other.rest),
        }
    }
}

/// The rounding of gradients to whole numbers of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GradientScale {
    /// Steps in a gradient of 1.
    pub gradient: f64,
    /// Steps in a second derivative of 1.
    pub hessian: f64,
    /// The number of bits of the count of rows.
    pub count_bits: u32,
}

/// Adding and subtracting it rounds to whole numbers.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;

impl GradientScale {
    /// The scale for `n` rows with this largest gradient and second derivative.
    pub fn new(n: usize, gradient: f64, hessian: f64) -> Self {
        let count_bits = (usize::BITS - n.leading_zeros()).max(1);
        let steps = |bits: u32| (1u64 << bits.min(50)) as f64 - 1.0;
        let over = |steps: f64, most: f64| if most > 0.0 { steps / most } else { 0.0 };
        GradientScale {
            gradient: over(steps(62 - count_bits), gradient),
            hessian: over(steps(64 - 2 * count_bits), hessian),
            count_bits,
        }
    }

    /// The sums of one row.
    #[inline(always)]
    pub fn row(&self, gradient: f64, hessian: f64) -> Sums {
        let whole = |number: f64| ((number + ROUND) - ROUND) as i64;
        Sums {
            gradient: whole(gradient * self.gradient),
            rest: (whole(hessian * self.hessian) as u64) << self.count_bits | 1,
        }
    }

    /// The number of rows in `sums`.
    #[inline(always)]
    pub fn count(&self, sums: Sums) -> usize {
        (sums.rest & ((1 << self.count_bits) - 1)) as usize
    }

    /// The gradients, in steps.
    #[inline(always)]
    pub fn gradient_steps(&self, sums: Sums) -> f64 {
        sums.gradient as f64
    }

    /// The second derivatives, in steps.
    #[inline(always)]
    pub fn hessian_steps(&self, sums: Sums) -> f64 {
        (sums.rest >> self.count_bits) as i64 as f64
    }

    /// The sum of gradients, from the whole numbers that it is kept in.
    pub fn gradient(&self, sums: Sums) -> f64 {
        if self.gradient > 0.0 { sums.gradient as f64 / self.gradient } else { 0.0 }
    }

    /// The second derivatives.
    pub fn hessian(&self, sums: Sums) -> f64 {
        if self.hessian > 0.0 { self.hessian_steps(sums) / self.hessian } else { 0.0 }
    }
}

/// The sums by bin for the features of a block.
pub(super) type Block = [[Sums; 256]; WIDTH];

/// The sums by bin for all features.
pub(super) type Histogram = Vec<Block>;

/// An empty histogram of `n_blocks` blocks.
pub(super) fn empty(n_blocks: usize) -> Histogram {
    vec![[[Sums::default(); 256]; WIDTH]; n_blocks]
}

/// Fills `block` with the sums by bin of `rows`; `sums` has those of each row.
pub(super) fn fill(
    block: &mut Block,
    columns: &[BinnedFeature],
    bins: &[[u8; WIDTH]],
    rows: &[u32],
    sums: &[Sums],
) {
    for (lane, column) in columns.iter().enumerate() {
        block[lane][..column.n_bins()].fill(Sums::default());
    }
    for (at, (&row, &sums)) in rows.iter().zip(sums).enumerate() {
        if let Some(&coming) = rows.get(at + AHEAD) {
            prefetch(bins, coming as usize);
        }
        let bins = bins[row as usize];
        for lane in 0..WIDTH {
            let cell = &mut block[lane][bins[lane] as usize];
            *cell = cell.plus(sums);
        }
    }
}

/// Subtracts `less` from `block`.
pub(super) fn subtract(block: &mut Block, less: &Block, columns: &[BinnedFeature]) {
    for (lane, column) in columns.iter().enumerate() {
        let n = column.n_bins();
        for (cell, &less) in block[lane][..n].iter_mut().zip(&less[lane][..n]) {
            *cell = cell.minus(less);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_with_and_without_vector_registers() {
        let extremes = [0, 1, -1, 77, i64::MIN, i64::MAX];
        for (gradient, other) in extremes.iter().flat_map(|&a| extremes.map(|b| (a, b))) {
            let (a, b) = (
                Sums { gradient, rest: other as u64 },
                Sums { gradient: other, rest: gradient as u64 },
            );
            assert_eq!(a.plus(b), a.plus_portable(b));
        }
    }

    #[test]
    fn sums_are_as_fine_as_they_say() {
        let n = 500_000;
        let scale = GradientScale::new(n, 3.0, 0.25);
        let mut random = crate::random::Random::new(5, 0);
        let (mut sums, mut gradients, mut hessians) = (Sums::default(), 0.0, 0.0);
        for _ in 0..n {
            let (gradient, hessian) = (6.0 * random.uniform() - 3.0, 0.25 * random.uniform());
            gradients += gradient;
            hessians += hessian;
            sums = sums.plus(scale.row(gradient, hessian));
        }
        assert_eq!(scale.count(sums), n);
        assert!((scale.gradient(sums) - gradients).abs() < 1e-6);
        assert!((scale.hessian(sums) / hessians - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_largest_sums_fit() {
        for n in [1, 2, 3, 255, 256, (1 << 19) - 1] {
            let scale = GradientScale::new(n, 2.0, 7.0);
            let row = scale.row(-2.0, 7.0);
            let mut sums = Sums::default();
            (0..n).for_each(|_| sums = sums.plus(row));
            assert_eq!(scale.count(sums), n);
            assert!((scale.gradient(sums) / n as f64 + 2.0).abs() < 1e-6);
            assert!((scale.hessian(sums) / n as f64 - 7.0).abs() < 1e-5);
            assert_eq!(sums.minus(row).plus(row), sums);
        }
    }
}
