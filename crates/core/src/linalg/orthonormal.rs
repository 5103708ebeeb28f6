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

/// Rows that are turned into f64 and multiplied together.
const ROWS_PER_PRODUCT: usize = 256;
/// All partial Gram matrices together take about this many numbers at most.
const PARTIAL_SUMS: usize = 1 << 24;
/// A column is dependent if the square of the part of it that is new is below this.
const DEPENDENT: f64 = 1e-10;
/// A column is nothing if its squared norm is below this, times the largest one's.
const NEGLIGIBLE: f64 = 1e-12;
/// A smallest pivot above this leaves Q orthonormal to f32 after one pass.
const WELL_CONDITIONED: f64 = 1e-4;

/// Makes the columns of `block` orthonormal, each in the span of itself and the columns
/// before it. Columns that depend on earlier ones become zero; returns how many did not.
///
/// The values must be finite: a column that holds another makes everything NaN.
pub fn orthonormalise(block: &mut Dense) -> usize {
    let first = Factor::of(&gram(block));
    multiply_right(block, &first.inverse, BlockStructure::TriangularUpper);
    if first.well_conditioned {
        return first.rank;
    }
    let second = Factor::of(&gram(block));
    multiply_right(block, &second.inverse, BlockStructure::TriangularUpper);
    second.rank
}

/// The triangular factor of a Gram matrix ZᵀZ = RᵀR. Dropped columns have no pivot: their
/// row of R and their row and column of R⁻¹ are zero.
pub(crate) struct Factor {
    pub r: Mat<f64>,
    pub inverse: Mat<f64>,
    /// Columns kept.
    pub rank: usize,
    /// Whether Z·R⁻¹ needs no second pass.
    pub well_conditioned: bool,
}

impl Factor {
    pub fn of(gram: &Mat<f64>) -> Self {
        let k = gram.nrows();
        let norms: Vec<f64> = (0..k).map(|j| gram[(j, j)].sqrt()).collect();
        let largest = norms.iter().fold(0.0, |a: f64, &b| a.max(b));
        let scale = |&norm: &f64| {
            if norm * norm <= NEGLIGIBLE * largest * largest { 0.0 } else { 1.0 / norm }
        };
        let scale: Vec<f64> = norms.iter().map(scale).collect();

        // By rows of R, so that the inner loops run along memory and need no reordered sums.
        let mut r: Vec<Vec<f64>> = (0..k)
            .map(|i| {
                (0..k)
                    .map(|j| if j < i { 0.0 } else { gram[(j, i)] * scale[i] * scale[j] })
                    .collect()
            })
            .collect();
        let mut smallest: f64 = 1.0;
        let mut rank = 0;
        for j in 0..k {
            let (above, below) = r.split_at_mut(j + 1);
            let row = &mut above[j];
            let pivot = row[j];
            if pivot <= DEPENDENT {
                row[j..].fill(0.0);
                continue;
            }
            rank += 1;
            smallest = smallest.min(pivot);
            let root = pivot.sqrt();
            row[j..].iter_mut().for_each(|value| *value /= root);
            for (i, lower) in (j + 1..).zip(below) {
                let factor = row[i];
                lower[i..].iter_mut().zip(&row[i..]).for_each(|(a, b)| *a -= factor * b);
            }
        }
        let inverse = upper_inverse(&r);
        Factor {
            r: Mat::from_fn(k, k, |i, j| r[i][j] * norms[j]),
            inverse: Mat::from_fn(k, k, |i, j| scale[i] * inverse[i][j]),
            rank,
            well_conditioned: smallest > WELL_CONDITIONED,
        }
    }
}

/// The inverse of an upper triangle, where a row without a pivot stays zero.
fn upper_inverse(r: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let k = r.len();
    let mut inverse = vec![vec![0.0; k]; k];
    for i in (0..k).rev() {
        if r[i][i] == 0.0 {
            continue;
        }
        let (head, below) = inverse.split_at_mut(i + 1);
        let row = &mut head[i];
        row[i] = 1.0;
        for (j, lower) in (i + 1..).zip(below) {
            let factor = r[i][j];
            row[j..].iter_mut().zip(&lower[j..]).for_each(|(a, b)| *a -= factor * b);
        }
        row[i..].iter_mut().for_each(|value| *value /= r[i][i]);
    }
    inverse
}

/// BᵀB in f64, its lower triangle alone. The rows are cut into groups by the shape alone and the
/// groups' sums are added in order.
pub(crate) fn gram(block: &Dense) -> Mat<f64> {
    let k = block.n_cols();
    if k == 0 {
        return Mat::zeros(0, 0);
    }
    let n_groups = (PARTIAL_SUMS / (k * k)).clamp(8, 64);
    let rows_per_group =
        block.n_rows().div_ceil(n_groups).next_multiple_of(ROWS_PER_PRODUCT).max(ROWS_PER_PRODUCT);
    let sums: Vec<Mat<f64>> = block
        .values()
        .par_chunks(rows_per_group * k)
        .map(|group| {
            let mut sum = Mat::zeros(k, k);
            let mut wide = Vec::new();
            for rows in group.chunks(ROWS_PER_PRODUCT * k) {
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
            sum
        })
        .collect();
    sums.into_iter().reduce(|total, sum| total + sum).unwrap_or_else(|| Mat::zeros(k, k))
}

/// block ← block·m for a square m of the given structure, summed in f64.
pub(crate) fn multiply_right(block: &mut Dense, m: &Mat<f64>, structure: BlockStructure) {
    let k = block.n_cols();
    assert_eq!((m.nrows(), m.ncols()), (k, k), "a square matrix with one row per column");
    if k == 0 {
        return;
    }
    block.values_mut().par_chunks_mut(ROWS_PER_PRODUCT * k).for_each_init(
        || (Vec::new(), vec![0.0f64; ROWS_PER_PRODUCT * k]),
        |(wide, product), rows| {
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
        },
    );
}

fn widen(narrow: &[f32], wide: &mut Vec<f64>) {
    wide.clear();
    wide.extend(narrow.iter().map(|&value| f64::from(value)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::{Naive, same_at_any_thread_count};

    /// The largest entry of QᵀQ − I over the columns that are not zero, and their number.
    fn loss(q: &Dense) -> (f64, usize) {
        let gram = gram(q);
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
        assert!(!Factor::of(&gram(&block)).well_conditioned);
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

    proptest! {
        #[test]
        fn q_times_r_is_the_block(n in 1usize..60, k in 1usize..12, seed in 0u64..500) {
            let block = Dense::gaussian(n, k, seed);
            let factor = Factor::of(&gram(&block));
            prop_assert_eq!(factor.rank, n.min(k));
            let mut q = block.clone();
            multiply_right(&mut q, &factor.inverse, BlockStructure::TriangularUpper);
            let r = Naive::from_fn(k, k, |i, j| factor.r[(i, j)]);
            Naive::of_dense(&q).times(&r).assert_close(&block, 1e-3);
        }

        #[test]
        fn gram_agrees_with_the_naive_product(n in 0usize..600, k in 1usize..9, seed in 0u64..99) {
            let block = Dense::gaussian(n, k, seed);
            let naive = Naive::of_dense(&block);
            let expected = naive.transpose().times(&naive);
            let found = gram(&block);
            for i in 0..k {
                for j in 0..=i {
                    prop_assert!((found[(i, j)] - expected.get(i, j)).abs() <= 1e-9 * n as f64);
                }
            }
        }
    }
}
