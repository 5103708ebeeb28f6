//! The rows of a table as a matrix X, and its products. Every sum is over fixed blocks in a fixed
//! order, so that the bits do not depend on the number of threads.

use std::borrow::Cow;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::rank::FeatureTable;
use crate::rank::scorer::or_zero;

/// Rows summed by one task.
const BLOCK: usize = 1024;
/// Rows whose second moments are computed at once, and features per task.
const CHUNK: usize = 4096;
const TILE: usize = 64;

/// The features of a table, with 0 for missing values.
pub(super) struct FeatureMatrix<'a> {
    values: Cow<'a, [f32]>,
    n_rows: usize,
    n_features: usize,
}

impl<'a> FeatureMatrix<'a> {
    /// The rows of `table`.
    pub fn of(table: &'a FeatureTable) -> Self {
        let values = match table.values().iter().any(|value| value.is_nan()) {
            false => Cow::Borrowed(table.values()),
            true => Cow::Owned(table.values().iter().map(|&value| or_zero(value)).collect()),
        };
        FeatureMatrix { values, n_rows: table.n_rows(), n_features: table.n_features() }
    }

    pub fn n_features(&self) -> usize {
        self.n_features
    }

    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The features of a row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.n_features..(row + 1) * self.n_features]
    }

    /// X·w.
    pub fn times(&self, weights: &[f64]) -> Vec<f64> {
        let blocks = (0..self.n_rows.div_ceil(BLOCK)).into_par_iter();
        let of_block = |block: usize| {
            let end = ((block + 1) * BLOCK).min(self.n_rows);
            (block * BLOCK..end).map(|row| dot(self.row(row), weights)).collect::<Vec<f64>>()
        };
        blocks.map(of_block).collect::<Vec<_>>().concat()
    }

    /// Xᵀ·y.
    pub fn transposed(&self, y: &[f64]) -> Vec<f64> {
        let of_block = |block: usize| {
            let mut sum = vec![0.0; self.n_features];
            let rows = block * BLOCK..((block + 1) * BLOCK).min(self.n_rows);
            for (row, &y) in rows.clone().zip(&y[rows]) {
                add_scaled(&mut sum, y, self.row(row));
            }
            sum
        };
        let blocks = (0..self.n_rows.div_ceil(BLOCK)).into_par_iter();
        let blocks: Vec<Vec<f64>> = blocks.map(of_block).collect();
        let mut sum = vec![0.0; self.n_features];
        for block in blocks {
            sum.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Σ c_i z_i z_iᵀ with z_i = (x_i − shift, 1): its last row and column belong to the 1.
    pub fn second_moments(&self, counts: &[f64], shift: &[f64]) -> Mat<f64> {
        let width = self.n_features + 1;
        let mut moments = Mat::zeros(width, width);
        let (mut plain, mut counted) = (vec![], vec![]);
        for start in (0..self.n_rows).step_by(CHUNK) {
            let n = CHUNK.min(self.n_rows - start);
            plain.resize(n * width, 0.0);
            counted.resize(n * width, 0.0);
            let rows = plain.par_chunks_mut(width).zip(counted.par_chunks_mut(width));
            rows.enumerate().for_each(|(at, (plain, counted))| {
                let count = counts[start + at];
                for (k, &value) in self.row(start + at).iter().enumerate() {
                    plain[k] = f64::from(value) - shift[k];
                    counted[k] = count * plain[k];
                }
                plain[width - 1] = 1.0;
                counted[width - 1] = count;
            });
            add_products(&mut moments, &plain, &counted, n);
        }
        moments
    }
}

/// Adds AᵀB to `sum`; A and B have `n` rows and are row-major. Every task has its own columns of the
/// sum.
pub(super) fn add_products(sum: &mut Mat<f64>, a: &[f64], b: &[f64], n: usize) {
    let width = sum.ncols();
    let (a, b) =
        (MatRef::from_row_major_slice(a, n, width), MatRef::from_row_major_slice(b, n, width));
    let tile = |tile: usize| {
        let n_columns = TILE.min(width - tile * TILE);
        let mut columns = Mat::zeros(width, n_columns);
        let b = b.subcols(tile * TILE, n_columns);
        matmul(columns.as_mut(), Accum::Add, a.transpose(), b, 1.0, Par::Seq);
        columns
    };
    let tiles: Vec<Mat<f64>> = (0..width.div_ceil(TILE)).into_par_iter().map(tile).collect();
    for (tile, columns) in tiles.iter().enumerate() {
        for j in 0..columns.ncols() {
            for i in 0..width {
                sum[(i, tile * TILE + j)] += columns[(i, j)];
            }
        }
    }
}

/// ⟨x, w⟩, as eight partial sums for SIMD.
#[inline]
pub(super) fn dot(row: &[f32], weights: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (row, row_rest) = row.as_chunks::<8>();
    let (weights, weights_rest) = weights.as_chunks::<8>();
    for (x, w) in row.iter().zip(weights) {
        for lane in 0..8 {
            lanes[lane] += f64::from(x[lane]) * w[lane];
        }
    }
    let rest = row_rest.iter().zip(weights_rest).fold(0.0, |sum, (&x, w)| sum + f64::from(x) * w);
    lanes.iter().sum::<f64>() + rest
}

/// sum += scale·x.
#[inline]
pub(super) fn add_scaled(sum: &mut [f64], scale: f64, row: &[f32]) {
    if scale != 0.0 {
        sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += scale * f64::from(x));
    }
}

/// ⟨a, b⟩.
pub(super) fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}
