//! Eight f32 at once: sums, exponentials, logarithms and digamma.
//!
//! The loops have no branch and call nothing, so that the compiler uses vector registers, and
//! `wide!` compiles them a second time for AVX2. The results are the same bits with any
//! instructions: nothing is fused and no sum is reordered. The price is a fixed layout: a row of
//! numbers is filled up with zeros to whole vectors.

/// Numbers in a vector.
pub const LANES: usize = 8;

const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// Adding and subtracting it rounds a small number to an integer; the low bits of the sum are that
/// integer.
const ROUNDS: f32 = 12_582_912.0;
/// Beyond it 1/x + … + 1/(x + 3) is negligible beside ln x, and its square is still finite.
const LARGE: f32 = 1e8;
/// The least argument of digamma.
const LEAST: f32 = 1e-12;

/// Eight numbers in one vector register.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(32))]
pub struct F32x8(pub [f32; LANES]);

/// Compiles a function twice, for every machine and for AVX2, and chooses at run time.
macro_rules! wide {
    ($(#[$about:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$about])*
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn here($($arg: $type),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $type),*) $(-> $out)? {
                here($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if crate::topic::simd::has_avx2() {
                // SAFETY: the machine has what the function is compiled for.
                return unsafe { avx2($($arg),*) };
            }
            here($($arg),*)
        }
    };
}
pub(super) use wide;

/// Whether the machine has AVX2; a test may ask for the portable loops.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2() -> bool {
    #[cfg(test)]
    if tests::PORTABLE.get() {
        return false;
    }
    crate::processor::has_avx2()
}

impl F32x8 {
    /// eˣ for x from −87 to 88.
    #[inline(always)]
    pub fn exp(self) -> F32x8 {
        let mut out = F32x8::default();
        for lane in 0..LANES {
            let x = self.0[lane];
            let shifted = x * std::f32::consts::LOG2_E + ROUNDS;
            let n = shifted - ROUNDS;
            let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
            // Taylor's series: |r| ≤ ½·ln 2, so that the next term is below 2⁻²⁶.
            let mut p = 1.0 / 5040.0;
            p = p * r + 1.0 / 720.0;
            p = p * r + 1.0 / 120.0;
            p = p * r + 1.0 / 24.0;
            p = p * r + 1.0 / 6.0;
            p = p * r + 0.5;
            p = p * r + 1.0;
            p = p * r + 1.0;
            out.0[lane] = p * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
        }
        out
    }

    /// ln x of normal numbers above zero.
    #[inline(always)]
    pub fn ln(self) -> F32x8 {
        let mut out = F32x8::default();
        for lane in 0..LANES {
            out.0[lane] = ln_of(self.0[lane]);
        }
        out
    }

    /// ψ(x) for x above zero: ψ(x + 4) by its asymptotic series, less 1/x + … + 1/(x + 3).
    #[inline(always)]
    pub fn digamma(self) -> F32x8 {
        let mut out = F32x8::default();
        for lane in 0..LANES {
            let x = self.0[lane].max(LEAST);
            let z = x + 4.0;
            let i = 1.0 / z;
            let i2 = i * i;
            let series = i2 * (1.0 / 12.0 - i2 * (1.0 / 120.0 - i2 * (1.0 / 252.0)));
            // With u = x·(x + 3) the four fractions are (2x + 3)·(1/u + 1/(u + 2)).
            let y = x.min(LARGE);
            let u = y * (y + 3.0);
            let four = (2.0 * y + 3.0) * (2.0 * u + 2.0) / (u * (u + 2.0));
            out.0[lane] = (ln_of(z) - 0.5 * i - series) - four;
        }
        out
    }
}

/// ln x = e·ln 2 + ln m with √½ ≤ m < √2, and ln m = 2·artanh((m − 1)/(m + 1)).
#[inline(always)]
fn ln_of(x: f32) -> f32 {
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(ROOT_HALF);
    let e = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(ROOT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = s2 * (2.0 / 3.0 + s2 * (2.0 / 5.0 + s2 * (2.0 / 7.0 + s2 * (2.0 / 9.0))));
    e * LN_2_HIGH + (e * LN_2_LOW + (s * series + 2.0 * s))
}

/// Copies numbers into vectors and fills the last one up with zeros.
pub fn copy_in(row: &[f32], lanes: &mut [F32x8]) {
    for (lane, from) in lanes.iter_mut().zip(row.chunks(LANES)) {
        lane.0[..from.len()].copy_from_slice(from);
        lane.0[from.len()..].fill(0.0);
    }
}

/// Copies vectors into a row of numbers.
pub fn copy_out(lanes: &[F32x8], row: &mut [f32]) {
    for (to, lane) in row.chunks_mut(LANES).zip(lanes) {
        to.copy_from_slice(&lane.0[..to.len()]);
    }
}

/// 1 for `dim` numbers, 0 for the padding.
pub fn mask(dim: usize) -> Vec<F32x8> {
    let mut lanes = vec![F32x8::default(); dim.div_ceil(LANES)];
    copy_in(&vec![1.0; dim], &mut lanes);
    lanes
}

/// The sum of all numbers, in f64.
pub fn total(lanes: &[F32x8]) -> f64 {
    lanes.iter().flat_map(|lane| lane.0).map(f64::from).sum()
}

/// The dot product: two interleaved vectors of sums, added as a tree.
#[inline(always)]
pub fn dot(a: &[F32x8], b: &[F32x8]) -> f32 {
    let mut sums = [F32x8::default(); 2];
    let (a_pairs, a_rest) = a.as_chunks::<2>();
    let (b_pairs, b_rest) = b.as_chunks::<2>();
    for (a, b) in a_pairs.iter().zip(b_pairs) {
        for half in 0..2 {
            for lane in 0..LANES {
                sums[half].0[lane] += a[half].0[lane] * b[half].0[lane];
            }
        }
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        for lane in 0..LANES {
            sums[0].0[lane] += a.0[lane] * b.0[lane];
        }
    }
    for lane in 0..LANES {
        sums[0].0[lane] += sums[1].0[lane];
    }
    let eight = sums[0].0;
    let mut four = F32x8::default();
    for lane in 0..4 {
        four.0[lane] = eight[lane] + eight[lane + 4];
    }
    (four.0[0] + four.0[2]) + (four.0[1] + four.0[3])
}

/// sum += scale·x.
#[inline(always)]
pub fn add(scale: f32, x: &[F32x8], sum: &mut [F32x8]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        for lane in 0..LANES {
            sum.0[lane] += scale * x.0[lane];
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::special::digamma;

    thread_local! {
        /// Whether this thread leaves out the loops for AVX2.
        pub static PORTABLE: Cell<bool> = const { Cell::new(false) };
    }

    /// Asserts that `work`, on this thread, gives the same with and without AVX2.
    pub fn same_with_any_instructions<T: PartialEq>(work: impl Fn() -> T) {
        let wide = work();
        PORTABLE.set(true);
        let portable = work();
        PORTABLE.set(false);
        assert!(wide == portable, "AVX2 gives something else");
    }

    #[test]
    fn eight_at_once_are_as_good_as_f32_can_be() {
        let near = |found: F32x8, expected: f64, relative: f64, x: f32| {
            let found = f64::from(found.0[3]);
            let error = (found - expected).abs();
            assert!(error <= relative * expected.abs().max(1e-30), "{x}: {found} {expected}");
        };
        for i in -8600..8700 {
            let x = i as f32 / 100.0;
            near(F32x8([x; LANES]).exp(), f64::from(x).exp(), 4e-7, x);
        }
        let mut x = 1e-30f32;
        while x < 1e30 {
            let exact = f64::from(x).ln();
            let found = f64::from(F32x8([x; LANES]).ln().0[0]);
            assert!((found - exact).abs() <= 1e-7 + 2e-7 * exact.abs(), "{x}: {found} {exact}");
            x *= 1.03;
        }
        let mut x = 1e-6f32;
        while x < 1e12 {
            let exact = digamma(f64::from(x));
            let found = f64::from(F32x8([x; LANES]).digamma().0[7]);
            assert!((found - exact).abs() <= 1e-6 + 4e-7 * exact.abs(), "{x}: {found} {exact}");
            x *= 1.01;
        }
        assert!(F32x8([0.0; LANES]).digamma().0.iter().all(|psi| psi.is_finite()));
    }
}
