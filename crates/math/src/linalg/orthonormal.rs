//! Orthonormal bases of tall blocks by CholeskyQR2.
//!
//! Z = Q·R with ZᵀZ = RᵀR and Q = Z·R⁻¹, then once more on Q where the first pass was badly
//! conditioned. Householder QR is more robust, but the Gram matrix is two passes over the
//! rows in any order, parallel and the same at any thread count. Squaring the condition
//! number costs nothing here: the block holds f32, the Gram matrix is f64, and columns are
//! scaled to norm one before it is factorised. A column that the ones before it explain, to
//! what f32 can tell, becomes zero and is not counted.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Dense;
use crate::{Result, Run};

/// Rows converted to f64 and multiplied at once.
const ROWS_PER_PRODUCT: usize = 256;
/// About the most numbers in all partial Gram matrices together.
const PARTIAL_SUMS: usize = 1 << 24;
/// Rows and columns of a triangle per block.
const BLOCK: usize = 64;
/// Rows of a triangle per task.
const STRIPE: usize = 16;
/// A unit column is dependent if the squared norm of its new part is below this.
const DEPENDENT: f64 = 1e-10;
/// A column counts as zero if its squared norm is below this share of the largest one's.
const NEGLIGIBLE: f64 = 1e-12;
/// A smallest pivot above this leaves Q orthonormal to f32 after one pass.
const WELL_CONDITIONED: f64 = 1e-4;

/// Makes the columns of `block` orthonormal, each in the span of itself and the columns
/// before it. Columns that depend on earlier ones become zero; returns how many did not.
///
/// The values must be finite: one that is not makes everything NaN.
pub fn orthonormalise(block: &mut Dense) -> usize {
    // A silent run is never stopped.
    orthonormalise_in(block, &Run::silent()).unwrap_or(0)
}

/// [`orthonormalise`], cancellable.
pub fn orthonormalise_in(block: &mut Dense, run: &Run<'_>) -> Result<usize> {
    let first = Factor::of(&gram(block, run)?);
    multiply_right(block, &first.inverse, BlockStructure::TriangularUpper, run)?;
    if first.well_conditioned {
        return Ok(first.rank);
    }
    let second = Factor::of(&gram(block, run)?);
    multiply_right(block, &second.inverse, BlockStructure::TriangularUpper, run)?;
    Ok(second.rank)
}

/// The triangular factor of a Gram matrix ZᵀZ = RᵀR. Dropped columns have no pivot: their row of R
/// and their row and column of R⁻¹ are zero.
pub struct Factor {
    pub inverse: Mat<f64>,
    /// Columns kept.
    pub rank: usize,
    /// Whether Z·R⁻¹ needs no second pass.
    pub well_conditioned: bool,
    pub r: Mat<f64>,
}

impl Factor {
    /// Factorises a Gram matrix, of which only the lower triangle is read.
    pub fn of(gram: &Mat<f64>) -> Self {
        let k = gram.nrows();
        let norms: Vec<f64> = (0..k).map(|j| gram[(j, j)].sqrt()).collect();
        let largest = norms.iter().fold(0.0, |a: f64, &b| a.max(b));
        let scale = |&norm: &f64| {
            if norm * norm <= NEGLIGIBLE * largest * largest { 0.0 } else { 1.0 / norm }
        };
        let scale: Vec<f64> = norms.iter().map(scale).collect();

        // By rows of R, so that the inner loops read adjacent memory and reorder no sums.
        let mut r = vec![0.0; k * k];
        r.par_chunks_mut(k.max(1)).enumerate().for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate().skip(i) {
                *value = gram[(j, i)] * scale[i] * scale[j];
            }
        });
        let (rank, smallest) = cholesky(&mut r, k);
        let inverse = upper_inverse(&r, k);
        Factor {
            inverse: Mat::from_fn(k, k, |i, j| scale[i] * inverse[i * k + j]),
            rank,
            well_conditioned: smallest > WELL_CONDITIONED,
            r: Mat::from_fn(k, k, |i, j| r[i * k + j] * norms[j]),
        }
    }
}

/// Turns the upper triangle of a symmetric matrix with ones on its diagonal, by rows, into its
/// Cholesky factor. Returns the number of pivots and the smallest of them.
fn cholesky(r: &mut [f64], k: usize) -> (usize, f64) {
    let (mut rank, mut smallest) = (0, 1.0f64);
    for start in (0..k).step_by(BLOCK) {
        let end = (start + BLOCK).min(k);
        let (above, below) = r.split_at_mut(end * k);
        let rows = &mut above[start * k..];
        for j in start..end {
            let (done, rest) = rows.split_at_mut((j + 1 - start) * k);
            let row = &mut done[(j - start) * k..];
            let pivot = row[j];
            if pivot <= DEPENDENT {
                row[j..].fill(0.0);
                continue;
            }
            rank += 1;
            smallest = smallest.min(pivot);
            let root = pivot.sqrt();
            row[j..].iter_mut().for_each(|value| *value /= root);
            for (i, lower) in (j + 1..).zip(rest.chunks_exact_mut(k)) {
                let factor = row[i];
                lower[i..].iter_mut().zip(&row[i..]).for_each(|(a, b)| *a -= factor * b);
            }
        }
        let rows = MatRef::from_row_major_slice(rows, end - start, k);
        below.par_chunks_mut(STRIPE * k).enumerate().for_each(|(stripe, lower)| {
            let (first, n) = (end + stripe * STRIPE, lower.len() / k);
            let lower = MatMut::from_row_major_slice_mut(lower, n, k);
            matmul(
                lower.subcols_mut(first, k - first),
                BlockStructure::Rectangular,
                Accum::Add,
                rows.subcols(first, n).transpose(),
                BlockStructure::Rectangular,
                rows.subcols(first, k - first),
                BlockStructure::Rectangular,
                -1.0,
                Par::Seq,
            );
        });
    }
    (rank, smallest)
}

/// The inverse of an upper triangle by rows, where a row without a pivot stays zero.
fn upper_inverse(r: &[f64], k: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; k * k];
    for start in (0..k).step_by(BLOCK).rev() {
        let end = (start + BLOCK).min(k);
        let (above, below) = inverse.split_at_mut(end * k);
        let rows = &mut above[start * k..];
        // −R[block, right]·R⁻¹[right, right], which the diagonal block then divides.
        if end < k {
            let right = MatRef::from_row_major_slice(below, k - end, k).subcols(end, k - end);
            rows.par_chunks_mut(STRIPE * k).enumerate().for_each(|(stripe, rows)| {
                let (first, n) = (start + stripe * STRIPE, rows.len() / k);
                let factors = MatRef::from_row_major_slice(&r[first * k..(first + n) * k], n, k);
                matmul(
                    MatMut::from_row_major_slice_mut(rows, n, k).subcols_mut(end, k - end),
                    BlockStructure::Rectangular,
                    Accum::Replace,
                    factors.subcols(end, k - end),
                    BlockStructure::Rectangular,
                    right,
                    BlockStructure::TriangularUpper,
                    -1.0,
                    Par::Seq,
                );
            });
        }
        for i in (start..end).rev() {
            let (head, below) = rows.split_at_mut((i + 1 - start) * k);
            let row = &mut head[(i - start) * k..];
            let pivot = r[i * k + i];
            if pivot == 0.0 {
                row.fill(0.0);
                continue;
            }
            row[i] = 1.0;
            for (j, lower) in (i + 1..end).zip(below.chunks_exact(k)) {
                let factor = r[i * k + j];
                row[j..].iter_mut().zip(&lower[j..]).for_each(|(a, b)| *a -= factor * b);
            }
            row[i..].iter_mut().for_each(|value| *value /= pivot);
        }
    }
    inverse
}

/// BᵀB in f64, its lower triangle alone. The rows are cut into groups by the shape alone and the
/// groups' sums are added in order.
pub fn gram(block: &Dense, run: &Run<'_>) -> Result<Mat<f64>> {
    gram_of(block.values(), block.n_cols(), run)
}

/// [`gram`] of a slice with rows of `k` numbers.
pub fn gram_of(values: &[f32], k: usize, run: &Run<'_>) -> Result<Mat<f64>> {
    if k == 0 {
        return Ok(Mat::zeros(0, 0));
    }
    let rows_per_group = (values.len() / k)
        .div_ceil(n_groups(k))
        .next_multiple_of(ROWS_PER_PRODUCT)
        .max(ROWS_PER_PRODUCT);
    let sums: Vec<Mat<f64>> = values
        .par_chunks(rows_per_group * k)
        .map(|group| {
            let mut sum = Mat::zeros(k, k);
            let mut wide = Vec::new();
            for rows in group.chunks(ROWS_PER_PRODUCT * k) {
                run.check()?;
                widen(rows, &mut wide);
                let rows = MatRef::from_row_major_slice(&wide, wide.len() / k, k);
                matmul(
                    sum.as_mut(),
                    BlockStructure::TriangularLower,
                    Accum::Add,
                    rows.transpose(),
                    BlockStructure::Rectangular,
                    rows,
                    BlockStructure::Rectangular,
                    1.0,
                    Par::Seq,
                );
            }
            Ok(sum)
        })
        .collect::<Result<_>>()?;
    Ok(sums.into_iter().reduce(|total, sum| total + sum).unwrap_or_else(|| Mat::zeros(k, k)))
}

/// The number of groups of rows whose Gram matrices [`gram`] holds at once.
pub fn n_groups(k: usize) -> usize {
    (PARTIAL_SUMS / (k * k).max(1)).clamp(8, 64)
}

/// block ← block·m for a square m of the given structure, summed in f64.
pub fn multiply_right(
    block: &mut Dense,
    m: &Mat<f64>,
    structure: BlockStructure,
    run: &Run<'_>,
) -> Result<()> {
    let k = block.n_cols();
    assert_eq!((m.nrows(), m.ncols()), (k, k), "a square matrix with one row per column");
    if k == 0 {
        return Ok(());
    }
    block.values_mut().par_chunks_mut(ROWS_PER_PRODUCT * k).try_for_each_init(
        || (Vec::new(), vec![0.0f64; ROWS_PER_PRODUCT * k]),
        |(wide, product), rows| {
            run.check()?;
            widen(rows, wide);
            let n = wide.len() / k;
            matmul(
                MatMut::from_row_major_slice_mut(&mut product[..n * k], n, k),
                BlockStructure::Rectangular,
                Accum::Replace,
                MatRef::from_row_major_slice(wide, n, k),
                BlockStructure::Rectangular,
                m.as_ref(),
                structure,
                1.0,
                Par::Seq,
            );
            rows.iter_mut().zip(product.iter()).for_each(|(out, &value)| *out = value as f32);
            Ok(())
        },
    )
}

/// block ← block·m, summed in f32: half the time of `multiply_right`, accurate enough for a nearly
/// orthonormal m.
pub fn rotate(block: &mut Dense, m: &Mat<f64>, run: &Run<'_>) -> Result<()> {
    let k = block.n_cols();
    assert_eq!((m.nrows(), m.ncols()), (k, k), "a square matrix with one row per column");
    if k == 0 {
        return Ok(());
    }
    let m = Mat::from_fn(k, k, |i, j| m[(i, j)] as f32);
    block.values_mut().par_chunks_mut(ROWS_PER_PRODUCT * k).try_for_each_init(
        || vec![0.0f32; ROWS_PER_PRODUCT * k],
        |product, rows| {
            run.check()?;
            let n = rows.len() / k;
            matmul(
                MatMut::from_row_major_slice_mut(&mut product[..n * k], n, k),
                BlockStructure::Rectangular,
                Accum::Replace,
                MatRef::from_row_major_slice(rows, n, k),
                BlockStructure::Rectangular,
                m.as_ref(),
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
            rows.copy_from_slice(&product[..n * k]);
            Ok(())
        },
    )
}

fn widen(narrow: &[f32], wide: &mut Vec<f64>) {
    wide.clear();
    wide.extend(narrow.iter().map(|&value| f64::from(value)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{Naive, same_at_any_thread_count};

    fn all_gram(block: &Dense) -> Mat<f64> {
        gram(block, &Run::silent()).unwrap()
    }

    /// The largest entry of QᵀQ − I over the columns that are not zero, and their number.
    fn loss(q: &Dense) -> (f64, usize) {
        let gram = all_gram(q);
        let used = |j: usize| gram[(j, j)] > 0.5;
        let mut worst: f64 = 0.0;
        for i in 0..q.n_cols() {
            for j in 0..=i {
                let expected = f64::from(u8::from(i == j && used(j)));
                worst = worst.max((gram[(i, j)] - expected).abs());
            }
        }
        (worst, (0..q.n_cols()).filter(|&j| used(j)).count())
    }

    #[test]
    fn a_random_block_becomes_orthonormal_alike_at_any_thread_count() {
        let start = Dense::gaussian(5000, 70, 1);
        let q = same_at_any_thread_count(|| {
            let mut block = start.clone();
            assert_eq!(orthonormalise(&mut block), 70);
            block
        });
        assert!(loss(&q).0 < 1e-6, "{:?}", loss(&q));
    }

    #[test]
    fn columns_that_nearly_coincide_become_orthonormal_in_two_passes() {
        let start = Dense::gaussian(3000, 20, 2);
        // Column j is the first one plus 10⁻³ of its own: pivots of about 10⁻⁶.
        let mut block = Dense::from_fn(3000, 20, |i, j| start.row(i)[0] + 1e-3 * start.row(i)[j]);
        assert!(!Factor::of(&all_gram(&block)).well_conditioned);
        assert_eq!(orthonormalise(&mut block), 20);
        assert!(loss(&block).0 < 1e-6, "{:?}", loss(&block));
    }

    #[test]
    fn scales_from_tiny_to_huge_do_not_matter() {
        let start = Dense::gaussian(500, 8, 3);
        let mut block =
            Dense::from_fn(500, 8, |i, j| start.row(i)[j] * 1e-18 * 4f32.powi(j as i32));
        assert_eq!(orthonormalise(&mut block), 8);
        assert!(loss(&block).0 < 1e-6);
    }

    #[test]
    fn dependent_columns_become_zero_and_are_not_counted() {
        let start = Dense::gaussian(400, 6, 4);
        let mut block = Dense::from_fn(400, 6, |i, j| {
            let row = start.row(i);
            match j {
                2 => row[0] - 2.0 * row[1],
                4 => 0.0,
                5 => row[3] * 3.0,
                _ => row[j],
            }
        });
        assert_eq!(orthonormalise(&mut block), 3);
        assert!(
            block.values().chunks(6).all(|row| row[2] == 0.0 && row[4] == 0.0 && row[5] == 0.0)
        );
        let (worst, used) = loss(&block);
        assert!(worst < 1e-6 && used == 3);
    }

    #[test]
    fn a_block_wider_than_tall_has_at_most_its_rows_as_rank() {
        let mut block = Dense::gaussian(3, 7, 5);
        assert_eq!(orthonormalise(&mut block), 3);
        assert_eq!(orthonormalise(&mut Dense::zeros(0, 4)), 0);
        assert_eq!(orthonormalise(&mut Dense::zeros(4, 0)), 0);
    }

    #[test]
    fn blocks_of_a_wide_triangle_fit_together_and_dropped_columns_stay_zero() {
        let start = Dense::gaussian(700, 200, 6);
        // Columns 70 and 150 repeat earlier ones, in blocks of their own.
        let block = Dense::from_fn(700, 200, |i, j| match j {
            70 => start.row(i)[3],
            150 => start.row(i)[149] - start.row(i)[80],
            _ => start.row(i)[j],
        });
        let factor = same_at_any_thread_count(|| {
            let factor = Factor::of(&all_gram(&block));
            (factor.rank, Naive::from_fn(200, 200, |i, j| factor.inverse[(i, j)]).values)
        });
        assert_eq!(factor.0, 198);
        let mut q = block.clone();
        assert_eq!(orthonormalise(&mut q), 198);
        let (worst, used) = loss(&q);
        assert!(worst < 1e-6 && used == 198, "{worst} {used}");
        assert!((0..700).all(|i| q.row(i)[70] == 0.0 && q.row(i)[150] == 0.0));
    }

    #[test]
    fn a_rotation_in_f32_keeps_a_basis_orthonormal() {
        let mut q = Dense::gaussian(3000, 90, 7);
        orthonormalise(&mut q);
        let mut turn = Dense::gaussian(90, 90, 8);
        orthonormalise(&mut turn);
        let m = Mat::from_fn(90, 90, |i, j| f64::from(turn.row(i)[j]));
        let turned = same_at_any_thread_count(|| {
            let mut block = q.clone();
            rotate(&mut block, &m, &Run::silent()).unwrap();
            block
        });
        assert!(loss(&turned).0 < 1e-6);
        Naive::of_dense(&q).times(&Naive::of_dense(&turn)).assert_close(&turned, 1e-6);
    }

    proptest! {
        #[test]
        fn q_times_r_is_the_block(n in 1usize..60, k in 1usize..12, seed in 0u64..500) {
            let block = Dense::gaussian(n, k, seed);
            let factor = Factor::of(&all_gram(&block));
            // One pass over a badly conditioned block may take a column of rounding for one of
            // its own; two passes do not.
            let rank = orthonormalise(&mut block.clone());
            prop_assert_eq!(rank, n.min(k));
            prop_assert!(factor.rank == rank || !factor.well_conditioned);
            let mut q = block.clone();
            multiply_right(&mut q, &factor.inverse, BlockStructure::TriangularUpper, &Run::silent()).unwrap();
            let r = Naive::from_fn(k, k, |i, j| factor.r[(i, j)]);
            Naive::of_dense(&q).times(&r).assert_close(&block, 1e-3);
        }

        #[test]
        fn gram_agrees_with_the_naive_product(n in 0usize..600, k in 1usize..9, seed in 0u64..99) {
            let block = Dense::gaussian(n, k, seed);
            let naive = Naive::of_dense(&block);
            let expected = naive.transpose().times(&naive);
            let found = all_gram(&block);
            for i in 0..k {
                for j in 0..=i {
                    prop_assert!((found[(i, j)] - expected.get(i, j)).abs() <= 1e-9 * n as f64);
                }
            }
        }
    }
}
