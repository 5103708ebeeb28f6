//! Vectors quantised to small integers, and their dot products.
//!
//! ```text
//! x ≈ scale·code, code in −127..=127        the largest |x_j| sets the scale
//! q ≈ scale·code, code of 16 bits           the multiply instruction widens codes to 16 bits
//!                                           anyway, so the query keeps its precision
//! ```

/// The codes of a row are padded with zeros to a multiple of this.
pub(super) const LANES: usize = 16;

/// The largest code of an embedding.
const LARGEST: f32 = 127.0;

/// Bytes of the codes of a row of `dim` numbers.
pub(super) fn stride(dim: usize) -> usize {
    dim.next_multiple_of(LANES)
}

/// Writes the codes of `row` to `codes`, padded, and returns the scale.
pub(super) fn encode(row: &[f32], codes: &mut [i8]) -> f32 {
    let largest = row.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let scale = largest / LARGEST;
    codes.fill(0);
    if scale > 0.0 {
        for (code, value) in codes.iter_mut().zip(row) {
            // The cast saturates, which matters for subnormal scales.
            *code = (value / scale).round() as i8;
        }
    }
    scale
}

/// A quantised query.
pub(super) struct Coded {
    /// One per code of a row, padding included.
    codes: Vec<i16>,
    /// The value of code 1.
    pub scale: f32,
}

impl Coded {
    /// The codes of `query`.
    pub fn new(query: &[f32]) -> Self {
        let stride = stride(query.len());
        // The sum over a row fits into 32 bits, even if all codes are the largest.
        let most = (i32::MAX / 128 / stride.max(1) as i32).min(i32::from(i16::MAX)).max(1) as f32;
        let largest = query.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let scale = largest / most;
        let mut codes = vec![0; stride];
        if scale > 0.0 {
            for (code, value) in codes.iter_mut().zip(query) {
                *code = (value / scale).round().clamp(-most, most) as i16;
            }
        }
        Coded { codes, scale }
    }

    /// The dot product with each row of `rows`, into `sums`.
    pub fn dots(&self, rows: &[i8], sums: &mut [i32]) {
        debug_assert_eq!(rows.len(), sums.len() * self.codes.len());
        #[cfg(target_arch = "x86_64")]
        if crate::processor::has_avx2() {
            // SAFETY: the processor has AVX2.
            unsafe { dots_avx2(&self.codes, rows, sums) };
            return;
        }
        dots_anywhere(&self.codes, rows, sums);
    }
}

/// [`Coded::dots`] on any processor.
fn dots_anywhere(query: &[i16], rows: &[i8], sums: &mut [i32]) {
    for (row, sum) in rows.chunks_exact(query.len()).zip(sums) {
        *sum = row.iter().zip(query).map(|(&x, &q)| i32::from(x) * i32::from(q)).sum();
    }
}

/// [`Coded::dots`] with sixteen products at a time. Integer sums are exact, hence the same.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(query: &[i16], rows: &[i8], sums: &mut [i32]) {
    use std::arch::x86_64::*;

    let (query_lanes, _) = query.as_chunks::<LANES>();
    for (row, sum) in rows.chunks_exact(query.len()).zip(sums) {
        let (lanes, _) = row.as_chunks::<LANES>();
        let mut total = _mm256_setzero_si256();
        for (x, q) in lanes.iter().zip(query_lanes) {
            // SAFETY: both arrays have the loaded length, and the loads need no alignment.
            let (x, q) = unsafe {
                (_mm_loadu_si128(x.as_ptr().cast()), _mm256_loadu_si256(q.as_ptr().cast()))
            };
            total = _mm256_add_epi32(total, _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), q));
        }
        let half =
            _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256::<1>(total));
        let pair = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
        let one = _mm_add_epi32(pair, _mm_shuffle_epi32::<0b10_11_00_01>(pair));
        *sum = _mm_cvtsi128_si32(one);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn wide_instructions_give_the_same_integers(
            dim in 1usize..200, n in 0usize..5, seed: u64, extreme: bool,
        ) {
            let mut random = crate::random::Random::new(seed, 0);
            let mut draw = || if extreme { 1.0 } else { random.normal() as f32 };
            let query = Coded::new(&(0..dim).map(|_| draw()).collect::<Vec<_>>());
            let stride = stride(dim);
            let mut rows = vec![0i8; n * stride];
            for row in rows.chunks_exact_mut(stride) {
                encode(&(0..dim).map(|_| draw()).collect::<Vec<_>>(), row);
            }
            let (mut found, mut expected) = (vec![7; n], vec![8; n]);
            query.dots(&rows, &mut found);
            dots_anywhere(&query.codes, &rows, &mut expected);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn products_of_codes_are_close_to_products(
            pairs in prop::collection::vec((-5f32..5.0, -5f32..5.0), 1..300),
        ) {
            let (x, q): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let mut codes = vec![1i8; stride(x.len())];
            let scale = encode(&x, &mut codes);
            let query = Coded::new(&q);
            let mut sum = [0];
            query.dots(&codes, &mut sum);
            let found = sum[0] as f32 * scale * query.scale;
            let expected: f32 = x.iter().zip(&q).map(|(x, q)| x * q).sum();
            // Half a code off everywhere at the most.
            let bound: f32 = q.iter().map(|q| (q.abs() + 0.01) * scale * 0.51).sum();
            prop_assert!((found - expected).abs() <= bound + 1e-3, "{found} for {expected}");
        }
    }

    #[test]
    fn the_longest_rows_of_the_largest_codes_do_not_overflow() {
        let dim = 1 << 16;
        let query = Coded::new(&vec![1.0; dim]);
        let rows = vec![i8::MIN; dim];
        let (mut found, mut expected) = ([0], [0]);
        query.dots(&rows, &mut found);
        dots_anywhere(&query.codes, &rows, &mut expected);
        assert_eq!(found, expected);
        assert!(found[0] < 0);
    }

    #[test]
    fn zeros_and_numbers_next_to_zero_have_codes() {
        let mut codes = [1i8; 16];
        assert_eq!(encode(&[0.0; 3], &mut codes), 0.0);
        assert_eq!(codes, [0; 16]);
        encode(&[1e-45, -1e-45], &mut codes);
        assert!(Coded::new(&[0.0]).codes.iter().all(|&code| code == 0));
        assert!(Coded::new(&[1e-45]).scale.is_finite());
    }
}
