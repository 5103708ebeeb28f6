//! Dense row-major f32 matrices, and views of a range of their columns.
//!
//! Rows of latent vectors are read and written whole, hence row-major; a view of a few dozen columns
//! keeps the scratch of a product small.

mod buffer;

use std::ops::{Deref, DerefMut, Range};
use std::path::Path;

use rayon::prelude::*;

use crate::Result;
use crate::random::Random;

pub use buffer::Buffer;

/// The number of columns of a panel: two cache lines of f32.
pub const PANEL: usize = 32;

/// One row of a panel.
pub type PanelRow = [f32; PANEL];

/// Rows drawn from one stream of random numbers. The result of a seed depends on it: never change it.
const ROWS_PER_STREAM: usize = 1024;

/// Independent sums in a dot product, so that the compiler can use vector registers without
/// reordering a sum.
const LANES: usize = 16;

/// A dense matrix by rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    n_rows: usize,
    n_cols: usize,
    values: Numbers,
}

/// The storage of a matrix. A clone is in memory.
#[derive(Debug)]
enum Numbers {
    Memory(Vec<f32>),
    File(Buffer),
}

impl Deref for Numbers {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        match self {
            Numbers::Memory(values) => values,
            Numbers::File(values) => values,
        }
    }
}

impl DerefMut for Numbers {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        match self {
            Numbers::Memory(values) => values,
            Numbers::File(values) => values,
        }
    }
}

impl Clone for Numbers {
    fn clone(&self) -> Self {
        Numbers::Memory(self.to_vec())
    }
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

/// A view of a range of columns of a [`Dense`].
#[derive(Debug, Clone, Copy)]
pub struct BlockRef<'a> {
    values: &'a [f32],
    n_rows: usize,
    stride: usize,
    first: usize,
    width: usize,
}

/// A mutable view of a range of columns of a [`Dense`].
#[derive(Debug)]
pub struct BlockMut<'a> {
    values: &'a mut [f32],
    n_rows: usize,
    stride: usize,
    first: usize,
    width: usize,
}

impl Dense {
    /// A matrix of zeros.
    pub fn zeros(n_rows: usize, n_cols: usize) -> Self {
        Dense { n_rows, n_cols, values: Numbers::Memory(vec![0.0; n_rows * n_cols]) }
    }

    /// A matrix of zeros in memory, or in a scratch file in `folder` if one is given.
    pub fn placed(n_rows: usize, n_cols: usize, folder: Option<&Path>) -> Result<Self> {
        let Some(folder) = folder else { return Ok(Dense::zeros(n_rows, n_cols)) };
        let values = Numbers::File(Buffer::scratch(n_rows * n_cols, folder)?);
        Ok(Dense { n_rows, n_cols, values })
    }

    /// Whether the values lie in a scratch file.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.values, Numbers::File(_))
    }

    /// A matrix whose entry in row `i` and column `j` is `f(i, j)`.
    pub fn from_fn(n_rows: usize, n_cols: usize, f: impl Fn(usize, usize) -> f32 + Sync) -> Self {
        let mut matrix = Dense::zeros(n_rows, n_cols);
        matrix.rows_mut().enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().for_each(|(j, value)| *value = f(i, j));
        });
        matrix
    }

    /// A matrix of independent standard normals that depend on seed and shape alone.
    pub fn gaussian(n_rows: usize, n_cols: usize, seed: u64) -> Self {
        let mut matrix = Dense::zeros(n_rows, n_cols);
        let block = (ROWS_PER_STREAM * n_cols).max(1);
        matrix.values.par_chunks_mut(block).enumerate().for_each(|(stream, values)| {
            let mut random = Random::new(seed, stream as u64);
            values.iter_mut().for_each(|value| *value = random.normal() as f32);
        });
        matrix
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// Row `i`, mutable.
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.values[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// All rows, to write in parallel.
    pub fn rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [f32]> {
        // A matrix without columns has no values and no chunks, but the width must not be 0.
        self.values.par_chunks_mut(self.n_cols.max(1))
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, row after row, to write.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// All values, row after row, as a vector.
    pub fn into_values(self) -> Vec<f32> {
        match self.values {
            Numbers::Memory(values) => values,
            Numbers::File(values) => values.to_vec(),
        }
    }

    /// A matrix of these values, row after row.
    ///
    /// # Panics
    /// If there are not `n_rows`·`n_cols` values.
    pub fn from_values(n_rows: usize, n_cols: usize, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), n_rows * n_cols, "{n_rows} rows of {n_cols} values");
        Dense { n_rows, n_cols, values: Numbers::Memory(values) }
    }

    /// A view of `columns`.
    ///
    /// # Panics
    /// If the range reaches beyond the last column.
    pub fn block(&self, columns: Range<usize>) -> BlockRef<'_> {
        assert!(columns.end <= self.n_cols, "columns {columns:?} of {}", self.n_cols);
        BlockRef {
            values: &self.values,
            n_rows: self.n_rows,
            stride: self.n_cols,
            first: columns.start,
            width: columns.len(),
        }
    }

    /// A mutable view of `columns`.
    ///
    /// # Panics
    /// If the range reaches beyond the last column.
    pub fn block_mut(&mut self, columns: Range<usize>) -> BlockMut<'_> {
        assert!(columns.end <= self.n_cols, "columns {columns:?} of {}", self.n_cols);
        BlockMut {
            values: &mut self.values,
            n_rows: self.n_rows,
            stride: self.n_cols,
            first: columns.start,
            width: columns.len(),
        }
    }

    /// Copies `columns` into a panel; its other columns become zero.
    ///
    /// # Panics
    /// If the panel has another number of rows, or fewer columns than are copied.
    pub fn copy_to_panel(&self, columns: Range<usize>, panel: &mut [f32]) {
        assert_eq!(panel.len(), self.n_rows * PANEL, "a panel with the same number of rows");
        let (rows, _) = panel.as_chunks_mut::<PANEL>();
        rows.par_iter_mut().enumerate().with_min_len(ROWS_PER_STREAM).for_each(|(i, row)| {
            let (filled, rest) = row.split_at_mut(columns.len());
            filled.copy_from_slice(&self.row(i)[columns.clone()]);
            rest.fill(0.0);
        });
    }

    /// Copies the first columns of a panel into `columns`.
    ///
    /// # Panics
    /// If the panel has another number of rows, or fewer columns than are copied.
    pub fn copy_from_panel(&mut self, columns: Range<usize>, panel: &[f32]) {
        assert_eq!(panel.len(), self.n_rows * PANEL, "a panel with the same number of rows");
        let (rows, _) = panel.as_chunks::<PANEL>();
        self.rows_mut().zip(rows).with_min_len(ROWS_PER_STREAM).for_each(|(row, from)| {
            row[columns.clone()].copy_from_slice(&from[..columns.len()]);
        });
    }

    /// A copy of the first `n` columns.
    pub fn first_columns(&self, n: usize) -> Dense {
        let mut kept = Dense::zeros(self.n_rows, n);
        kept.rows_mut().enumerate().for_each(|(i, row)| row.copy_from_slice(&self.row(i)[..n]));
        kept
    }
}

impl<'a> BlockRef<'a> {
    /// The number of rows.
    pub fn n_rows(self) -> usize {
        self.n_rows
    }

    /// The number of columns.
    pub fn width(self) -> usize {
        self.width
    }

    /// Row `i`.
    #[inline]
    pub fn row(self, i: usize) -> &'a [f32] {
        &self.values[i * self.stride + self.first..][..self.width]
    }
}

impl<'a> BlockMut<'a> {
    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Calls `f(i, row)` on every row, in parallel in tasks of `rows_per_task` rows.
    pub fn for_each_row(self, rows_per_task: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
        let BlockMut { values, stride, first, width, .. } = self;
        if width == 0 {
            return;
        }
        values.par_chunks_mut(stride * rows_per_task).enumerate().for_each(|(task, rows)| {
            for (k, row) in rows.chunks_exact_mut(stride).enumerate() {
                f(task * rows_per_task + k, &mut row[first..first + width]);
            }
        });
    }
}

/// Scales a vector to the Euclidean norm `theta`; zeros stay zeros.
pub fn scale_to(row: &mut [f32], theta: f32) {
    let norm = dot_f64(row, row).sqrt();
    if norm > 0.0 {
        let scale = f64::from(theta) / norm;
        row.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
    }
}

/// The dot product in f32, summed in an order that depends on the length alone: sixteen interleaved
/// sums, added as a tree.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "vectors of the same length");
    let mut sums = [0.0f32; LANES];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += x * y;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The cosine of the angle between two vectors; 0 if one of them is zero.
///
/// # Panics
/// If the lengths differ.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let lengths = (dot_f64(a, a) * dot_f64(b, b)).sqrt();
    if lengths > 0.0 { dot_f64(a, b) / lengths } else { 0.0 }
}

/// The dot product in f64, summed in the same order as [`dot`].
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn dot_f64(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of the same length");
    let mut sums = [0.0f64; LANES];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += f64::from(*x) * f64::from(*y);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::same_at_any_thread_count;

    #[test]
    fn gaussian_draws_do_not_depend_on_the_threads() {
        let drawn = same_at_any_thread_count(|| Dense::gaussian(3000, 7, 5));
        assert_ne!(drawn, Dense::gaussian(3000, 7, 6));
        let sum: f64 = drawn.values().iter().map(|&v| f64::from(v)).sum();
        assert!((sum / 21_000.0).abs() < 0.03);
    }

    #[test]
    fn rows_scaled_to_theta_have_that_norm_and_zero_rows_stay_zero() {
        let mut matrix = Dense::from_fn(3, 2, |i, j| (i * (j + 1)) as f32);
        (0..3).for_each(|i| scale_to(matrix.row_mut(i), 2.0));
        assert_eq!(matrix.row(0), [0.0, 0.0]);
        for i in 1..3 {
            assert!((dot_f64(matrix.row(i), matrix.row(i)) - 4.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_matrix_in_a_scratch_file_is_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let expected = Dense::gaussian(50, 7, 1);
        let mut matrix = Dense::placed(50, 7, Some(folder.path())).unwrap();
        assert_eq!(matrix, Dense::placed(50, 7, None).unwrap());
        matrix.values_mut().copy_from_slice(expected.values());
        assert_eq!(matrix, expected);
        assert!(matrix.is_on_disk() && !matrix.clone().is_on_disk());
        assert_eq!(matrix.into_values(), expected.into_values());
    }

    #[test]
    fn a_block_sees_its_columns_only() {
        let mut matrix = Dense::from_fn(5, 6, |i, j| (10 * i + j) as f32);
        assert_eq!(matrix.block(2..4).row(3), [32.0, 33.0]);
        matrix.block_mut(4..6).for_each_row(2, |i, row| row.fill(i as f32));
        assert_eq!(matrix.row(3), [30.0, 31.0, 32.0, 33.0, 3.0, 3.0]);
        matrix.block_mut(6..6).for_each_row(2, |_, _| unreachable!());
        assert_eq!(matrix.first_columns(2).row(4), [40.0, 41.0]);
        assert_eq!(Dense::zeros(4, 0).first_columns(0).n_rows(), 4);
    }

    proptest! {
        #[test]
        fn dot_products_agree_with_the_plain_sum(
            pairs in proptest::collection::vec((-10.0f32..10.0, -10.0f32..10.0), 0..100)
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            prop_assert!((dot_f64(&a, &b) - plain).abs() < 1e-9);
            prop_assert!((f64::from(dot(&a, &b)) - plain).abs() < 1e-2);
        }
    }
}
