//! What the tests of the kernels share: slow and obvious matrices to compare with, random
//! sparse matrices, and the promise of the same bits at any thread count.

use std::ops::Range;

use proptest::prelude::*;

use crate::dense::Dense;
use crate::random::Random;
use crate::sparse::Csr;

/// A dense f64 matrix with the products everybody knows.
#[derive(Debug, Clone)]
pub struct Naive {
    pub n_rows: usize,
    pub n_cols: usize,
    pub values: Vec<f64>,
}

impl Naive {
    pub fn from_fn(n_rows: usize, n_cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..n_rows * n_cols).map(|at| f(at / n_cols, at % n_cols)).collect();
        Naive { n_rows, n_cols, values }
    }

    pub fn of(matrix: &Csr) -> Self {
        Naive::from_fn(matrix.n_rows(), matrix.n_cols(), |i, j| matrix.row(i).get(j as u32).into())
    }

    pub fn of_dense(matrix: &Dense) -> Self {
        Naive::from_fn(matrix.n_rows(), matrix.n_cols(), |i, j| matrix.row(i)[j].into())
    }

    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.n_cols + j]
    }

    pub fn transpose(&self) -> Self {
        Naive::from_fn(self.n_cols, self.n_rows, |i, j| self.get(j, i))
    }

    pub fn times(&self, other: &Naive) -> Self {
        assert_eq!(self.n_cols, other.n_rows);
        Naive::from_fn(self.n_rows, other.n_cols, |i, j| {
            (0..self.n_cols).map(|k| self.get(i, k) * other.get(k, j)).sum()
        })
    }

    /// Compares entry by entry; `tolerance` is absolute for values up to one, else relative.
    pub fn assert_close(&self, found: &Dense, tolerance: f64) {
        assert_eq!((self.n_rows, self.n_cols), (found.n_rows(), found.n_cols()));
        for i in 0..self.n_rows {
            for j in 0..self.n_cols {
                let (expected, found) = (self.get(i, j), f64::from(found.row(i)[j]));
                let error = (expected - found).abs() / expected.abs().max(1.0);
                assert!(error < tolerance, "({i}, {j}): expected {expected}, found {found}");
            }
        }
    }

    pub fn assert_close_sparse(&self, found: &Csr, tolerance: f64) {
        let dense =
            Dense::from_fn(found.n_rows(), found.n_cols(), |i, j| found.row(i).get(j as u32));
        self.assert_close(&dense, tolerance);
    }
}

/// Sparse matrices with empty rows, empty columns, no rows at all and stored zeros.
pub fn sparse(n_rows: Range<usize>, n_cols: Range<usize>) -> impl Strategy<Value = Csr> {
    (n_rows, n_cols).prop_flat_map(|(n_rows, n_cols)| sparse_of(n_rows, n_cols))
}

fn sparse_of(n_rows: usize, n_cols: usize) -> impl Strategy<Value = Csr> {
    let value = prop_oneof![3 => -2.0f32..2.0, 1 => Just(0.0f32)];
    let cell = prop_oneof![2 => Just(None), 1 => value.prop_map(Some)];
    proptest::collection::vec(cell, n_rows * n_cols).prop_map(move |cells| {
        let triplets = cells
            .into_iter()
            .enumerate()
            .filter_map(|(at, cell)| {
                cell.map(|value| ((at / n_cols) as u32, (at % n_cols) as u32, value))
            })
            .collect();
        Csr::from_triplets(n_rows, n_cols, triplets).unwrap()
    })
}

/// X, R and Y of shapes that fit.
pub fn sparse_triple() -> impl Strategy<Value = (Csr, Csr, Csr)> {
    (0usize..8, 0usize..8, 0usize..8, 0usize..8).prop_flat_map(|(n_x, n_y, d_x, d_y)| {
        (sparse_of(n_x, d_x), sparse_of(n_x, n_y), sparse_of(n_y, d_y))
    })
}

/// A matrix with up to `per_row` normal entries in each row.
pub fn random_csr(n_rows: usize, n_cols: usize, per_row: usize, seed: u64) -> Csr {
    let mut random = Random::new(seed, 0);
    let triplets = (0..n_rows * per_row)
        .map(|at| {
            let column = random.below(n_cols as u64) as u32;
            ((at / per_row) as u32, column, random.normal() as f32)
        })
        .collect();
    Csr::from_triplets(n_rows, n_cols, triplets).unwrap()
}

/// A sparse matrix that stores every entry of a dense one.
pub fn full_csr(matrix: &Naive) -> Csr {
    let triplets = (0..matrix.n_rows)
        .flat_map(|i| (0..matrix.n_cols).map(move |j| (i as u32, j as u32)))
        .map(|(i, j)| (i, j, matrix.get(i as usize, j as usize) as f32))
        .collect();
    Csr::from_triplets(matrix.n_rows, matrix.n_cols, triplets).unwrap()
}

/// The identity.
pub fn identity(n: usize) -> Csr {
    Csr::from_triplets(n, n, (0..n as u32).map(|i| (i, i, 1.0)).collect()).unwrap()
}

/// Runs `work` on one, two and seven threads, asserts that nothing differs and returns it.
pub fn same_at_any_thread_count<T: PartialEq + Send>(work: impl Fn() -> T + Sync) -> T {
    let on = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(&work)
    };
    let one = on(1);
    for n_threads in [2, 7] {
        assert!(on(n_threads) == one, "{n_threads} threads give something else than one");
    }
    one
}
