//! Operations on the columns of dense blocks: sums, norms, signs, copies.

use std::ops::Range;

use rayon::prelude::*;

use super::Dense;
use crate::dense::PANEL;

/// Rows per task.
pub(super) const ROWS: usize = 2048;

/// The ranges of `width` columns, the last one shorter.
pub(super) fn ranges(n_cols: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n_cols).step_by(width).map(move |first| first..(first + width).min(n_cols))
}

/// Sums per column of a panel, added in the order of the blocks of rows.
pub(super) fn added(shares: &[[f64; PANEL]]) -> [f64; PANEL] {
    shares.iter().fold([0.0; PANEL], |mut total, share| {
        total.iter_mut().zip(share).for_each(|(total, share)| *total += share);
        total
    })
}

/// Reuses the memory of a block for another shape; its values are arbitrary.
pub(super) fn reshape(block: &mut Dense, n_rows: usize, n_cols: usize) {
    let taken = std::mem::replace(block, Dense::zeros(0, 0));
    let mut values = taken.into_values();
    values.resize(n_rows * n_cols, 0.0);
    *block = Dense::from_values(n_rows, n_cols, values);
}

/// Sets `copy` to the columns `range` of a matrix.
pub(super) fn copy_columns(matrix: &Dense, range: Range<usize>, copy: &mut Dense) {
    reshape(copy, matrix.n_rows(), range.len());
    let block = matrix.block(range.clone());
    copy.block_mut(0..range.len()).for_each_row(ROWS, |i, row| row.copy_from_slice(block.row(i)));
}

/// Multiplies each column by its factor.
pub fn scale_columns(block: &mut Dense, factors: &[f32]) {
    block.rows_mut().for_each(|row| {
        row.iter_mut().zip(factors).for_each(|(value, &factor)| *value *= factor);
    });
}

/// The sign of each column's first entry of largest size.
pub(super) fn signs(block: &Dense) -> Vec<f32> {
    let mut largest = vec![0.0f32; block.n_cols()];
    for i in 0..block.n_rows() {
        for (largest, &value) in largest.iter_mut().zip(block.row(i)) {
            if value.abs() > largest.abs() {
                *largest = value;
            }
        }
    }
    largest.into_iter().map(|value| if value < 0.0 { -1.0 } else { 1.0 }).collect()
}

/// The norm of each column.
pub(super) fn column_norms(block: &Dense) -> Vec<f64> {
    column_sums(block.n_rows(), block.n_cols(), |i, sums| {
        for (sum, &value) in sums.iter_mut().zip(block.row(i)) {
            *sum += f64::from(value) * f64::from(value);
        }
    })
    .into_iter()
    .map(f64::sqrt)
    .collect()
}

/// Sums over rows, in f64 over fixed blocks of them; `add` adds the share of one row.
pub(super) fn column_sums(
    n_rows: usize,
    n_cols: usize,
    add: impl Fn(usize, &mut [f64]) + Sync,
) -> Vec<f64> {
    let shares: Vec<Vec<f64>> = (0..n_rows.div_ceil(ROWS))
        .into_par_iter()
        .map(|chunk| {
            let mut sums = vec![0.0; n_cols];
            (chunk * ROWS..((chunk + 1) * ROWS).min(n_rows)).for_each(|i| add(i, &mut sums));
            sums
        })
        .collect();
    (0..n_cols).map(|j| shares.iter().map(|share| share[j]).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::same_at_any_thread_count;

    #[test]
    fn norms_and_signs_are_those_of_the_columns_at_any_thread_count() {
        let block = Dense::from_fn(5000, 3, |i, j| [1.0, -2.0, 0.0][j] * ((i % 2) as f32));
        let norms = same_at_any_thread_count(|| column_norms(&block));
        assert_eq!(norms, [2500f64.sqrt(), 10_000f64.sqrt(), 0.0]);
        assert_eq!(signs(&block), [1.0, -1.0, 1.0]);
        let mut scaled = block.clone();
        scale_columns(&mut scaled, &[2.0, 0.5, 1.0]);
        assert_eq!(scaled.row(1), [2.0, -1.0, 0.0]);
    }

    #[test]
    fn some_columns_are_copied_into_memory_that_is_reused() {
        let matrix = Dense::from_fn(4, 5, |i, j| (10 * i + j) as f32);
        let mut copy = Dense::zeros(9, 9);
        copy_columns(&matrix, 1..3, &mut copy);
        assert_eq!((copy.n_rows(), copy.n_cols(), copy.row(2)), (4, 2, &[21.0, 22.0][..]));
    }
}
