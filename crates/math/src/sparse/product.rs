//! Products with sparse matrices: sparse × dense block, sparse × vector, and the explicit
//! C = Xᵀ R Y of the papers' Algorithm 1 with the count of its non-zeros.
//!
//! A row of a sparse × dense product is summed in f32 in registers: rows are short, the
//! result is stored in f32, and f64 would halve the speed. So that the error does not grow with the
//! length of the few long rows (frequent words), every [`SEGMENT`] entries are summed before they
//! are added to the row.
//!
//! The explicit products go by rows (Gustavson 1978): a stamp per column says whether the current
//! row has it, so only the columns found are sorted, and counting C takes no memory of its size.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::{Csr, Row, RowBlock, SEGMENT};
use crate::dense::{BlockMut, BlockRef};
use crate::{Error, Result};

/// Columns summed at once: eight vector registers of the smallest x86-64.
const TILE: usize = 32;
const ROWS_PER_TASK: usize = 128;

/// out = a·b. A value does not depend on how columns are cut into blocks.
///
/// # Panics
/// If the shapes do not fit.
pub fn csr_times_dense(a: &Csr, b: BlockRef<'_>, out: BlockMut<'_>) {
    assert_eq!(a.n_cols(), b.n_rows(), "columns of the sparse, rows of the dense factor");
    assert_eq!(a.n_rows(), out.n_rows(), "rows of the sparse factor, rows of the product");
    assert_eq!(b.width(), out.width(), "columns of the dense factor, columns of the product");
    out.for_each_row(ROWS_PER_TASK, |i, out| row_times_block(a.row(i), b, out));
}

/// out = row·b, on the thread that calls: one row of [`csr_times_dense`].
pub fn row_times_block(row: Row<'_>, b: BlockRef<'_>, out: &mut [f32]) {
    out.fill(0.0);
    for (indices, values) in row.indices.chunks(SEGMENT).zip(row.values.chunks(SEGMENT)) {
        let segment = Row { indices, values };
        let mut first = 0;
        while first + TILE <= out.len() {
            add_tile::<TILE>(segment, b, first, out);
            first += TILE;
        }
        while first + 8 <= out.len() {
            add_tile::<8>(segment, b, first, out);
            first += 8;
        }
        while first < out.len() {
            add_tile::<1>(segment, b, first, out);
            first += 1;
        }
    }
}

/// Adds the segment's share of the columns `first..first + N`, summed in registers.
#[inline(always)]
fn add_tile<const N: usize>(segment: Row<'_>, b: BlockRef<'_>, first: usize, out: &mut [f32]) {
    let mut sums = [0.0f32; N];
    for (j, a) in segment.iter() {
        let b = &b.row(j as usize)[first..first + N];
        for k in 0..N {
            sums[k] += a * b[k];
        }
    }
    for (out, sum) in out[first..first + N].iter_mut().zip(sums) {
        *out += sum;
    }
}

impl Csr {
    /// The sum of every row, in f64.
    pub fn row_sums(&self) -> Vec<f64> {
        (0..self.n_rows())
            .into_par_iter()
            .with_min_len(ROWS_PER_TASK)
            .map(|i| self.row(i).values.iter().map(|&value| f64::from(value)).sum())
            .collect()
    }

    /// The product with a vector, in f64.
    ///
    /// # Panics
    /// If the vector's length is not the number of columns.
    pub fn times_vector(&self, vector: &[f64]) -> Vec<f64> {
        self.mapped_times_vector(vector, |value| value)
    }

    /// The product of the absolute values with a vector, in f64.
    ///
    /// # Panics
    /// If the vector's length is not the number of columns.
    pub fn abs_times_vector(&self, vector: &[f64]) -> Vec<f64> {
        self.mapped_times_vector(vector, f64::abs)
    }

    fn mapped_times_vector(&self, vector: &[f64], f: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
        assert_eq!(vector.len(), self.n_cols(), "a vector with one entry per column");
        (0..self.n_rows())
            .into_par_iter()
            .with_min_len(ROWS_PER_TASK)
            .map(|i| self.row(i).iter().map(|(j, a)| f(f64::from(a)) * vector[j as usize]).sum())
            .collect()
    }
}

/// The number of stored entries of C = Xᵀ R Y, without forming it. Entries that cancel to zero or
/// come from stored zeros count: the structure is counted.
///
/// # Panics
/// If the shapes do not fit.
pub fn nnz_of_product3(x_t: &Csr, r: &Csr, y: &Csr) -> u64 {
    nnz_of_product3_up_to(x_t, r, y, u64::MAX).unwrap_or(u64::MAX)
}

/// [`nnz_of_product3`], or `None` as soon as it is known to exceed `most`.
///
/// # Panics
/// If the shapes do not fit.
pub fn nnz_of_product3_up_to(x_t: &Csr, r: &Csr, y: &Csr, most: u64) -> Option<u64> {
    let counted = AtomicU64::new(0);
    assert_eq!(x_t.n_cols(), r.n_rows(), "one row of R per query");
    assert_eq!(r.n_cols(), y.n_rows(), "one column of R per document");
    (0..x_t.n_rows())
        .into_par_iter()
        .map_init(
            || (Marker::new(r.n_cols()), Marker::new(y.n_cols())),
            |(docs, features), u| {
                // Whether the sum is above `most` does not depend on who adds first.
                if counted.load(Ordering::Relaxed) > most {
                    return None;
                }
                mark_row(x_t.row(u), r, docs);
                features.clear();
                for &j in &docs.found {
                    y.row(j as usize).indices.iter().for_each(|&v| features.mark(v));
                }
                let found = features.found.len() as u64;
                counted.fetch_add(found, Ordering::Relaxed);
                Some(found)
            },
        )
        .sum::<Option<u64>>()
        .filter(|&sum| sum <= most)
}

/// C = Xᵀ R Y formed explicitly: the papers' Algorithm 1. An entry is stored wherever the structure
/// has one, even if its value cancels to zero; sums are in f64.
pub fn explicit_c(x: &Csr, r: &Csr, y: &Csr) -> Result<Csr> {
    check_shapes(x, r, y)?;
    let x_t = x.transpose();
    Csr::from_blocks(y.n_cols(), x_t.n_rows(), rows_of_c(&x_t, r, y), 0..x_t.n_rows())
}

/// [`explicit_c`] from Xᵀ, for matrices of checked shapes; `None` if an entry overflows an f32.
pub fn finite_c(x_t: &Csr, r: &Csr, y: &Csr) -> Result<Option<Csr>> {
    let blocks = rows_of_c(x_t, r, y);
    if blocks.iter().flat_map(RowBlock::values).any(|value| !value.is_finite()) {
        return Ok(None);
    }
    Csr::from_blocks(y.n_cols(), x_t.n_rows(), blocks, 0..x_t.n_rows()).map(Some)
}

fn rows_of_c(x_t: &Csr, r: &Csr, y: &Csr) -> Vec<RowBlock> {
    let rows_per_block = x_t.n_rows().div_ceil(256).max(16);
    let n_blocks = x_t.n_rows().div_ceil(rows_per_block);
    (0..n_blocks)
        .into_par_iter()
        .map_init(
            || (RowSum::new(r.n_cols()), RowSum::new(y.n_cols())),
            |(docs, features), block| {
                let mut rows = RowBlock::default();
                let first = block * rows_per_block;
                for u in first..(first + rows_per_block).min(x_t.n_rows()) {
                    docs.set(x_t.row(u).iter().map(|(i, a)| (i, f64::from(a))), r);
                    docs.sort();
                    features.set(docs.entries(), y);
                    features.sort();
                    rows.push(features.entries().map(|(v, sum)| (v, sum as f32)));
                }
                rows
            },
        )
        .collect()
}

/// Refuses X, R and Y whose shapes do not fit.
pub fn check_shapes(x: &Csr, r: &Csr, y: &Csr) -> Result<()> {
    let problem = if x.n_rows() != r.n_rows() {
        format!(
            "X has {} rows but R has {}: both count the queries (X is queries × query features, \
             R is queries × documents)",
            x.n_rows(),
            r.n_rows()
        )
    } else if y.n_rows() != r.n_cols() {
        format!(
            "Y has {} rows but R has {} columns: both count the documents (Y is documents × \
             document features, R is queries × documents)",
            y.n_rows(),
            r.n_cols()
        )
    } else {
        return Ok(());
    };
    Err(Error::Structure { problem })
}

fn mark_row(row: Row<'_>, r: &Csr, docs: &mut Marker) {
    docs.clear();
    for &i in row.indices {
        r.row(i as usize).indices.iter().for_each(|&j| docs.mark(j));
    }
}

/// A set of columns that is emptied in constant time: a column is in it if its stamp is that of the
/// current round.
struct Marker {
    stamps: Vec<u32>,
    round: u32,
    found: Vec<u32>,
}

impl Marker {
    fn new(n_cols: usize) -> Self {
        Marker { stamps: vec![0; n_cols], round: 0, found: Vec::new() }
    }

    fn clear(&mut self) {
        self.found.clear();
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.stamps.fill(0);
            1
        });
    }

    #[inline]
    fn mark(&mut self, column: u32) {
        let stamp = &mut self.stamps[column as usize];
        if *stamp != self.round {
            *stamp = self.round;
            self.found.push(column);
        }
    }
}

/// A weighted sum of sparse rows, with a place for every column. It is emptied in the time that its
/// entries take, so that one serves many sums.
pub struct RowSum {
    columns: Marker,
    sums: Vec<f64>,
}

impl RowSum {
    /// An empty sum over `n_cols` columns.
    pub fn new(n_cols: usize) -> Self {
        RowSum { columns: Marker::new(n_cols), sums: vec![0.0; n_cols] }
    }

    /// Sets the sum to Σ factor·(row of `matrix`). Its entries are in the order in which their columns
    /// occur first.
    pub fn set(&mut self, factors: impl Iterator<Item = (u32, f64)>, matrix: &Csr) {
        for &column in &self.columns.found {
            self.sums[column as usize] = 0.0;
        }
        self.columns.clear();
        self.add(factors, matrix);
    }

    /// Adds Σ factor·(row of `matrix`).
    pub fn add(&mut self, factors: impl Iterator<Item = (u32, f64)>, matrix: &Csr) {
        for (i, factor) in factors {
            for (column, value) in matrix.row(i as usize).iter() {
                self.columns.mark(column);
                self.sums[column as usize] += factor * f64::from(value);
            }
        }
    }

    /// Sorts the entries by column.
    pub fn sort(&mut self) {
        self.columns.found.sort_unstable();
    }

    /// Multiplies every entry by the factor of its column.
    pub fn scale(&mut self, factors: &[f32]) {
        for &column in &self.columns.found {
            self.sums[column as usize] *= f64::from(factors[column as usize]);
        }
    }

    /// The entries: columns and sums.
    pub fn entries(&self) -> impl Iterator<Item = (u32, f64)> + Clone + '_ {
        self.columns.found.iter().map(|&column| (column, self.sums[column as usize]))
    }

    /// The sum of every column.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dense::Dense;
    use crate::oracle::{Naive, random_csr, same_at_any_thread_count, sparse, sparse_triple};

    fn times(a: &Csr, b: &Dense) -> Dense {
        let mut out = Dense::from_fn(a.n_rows(), b.n_cols(), |_, _| f32::NAN);
        csr_times_dense(a, b.block(0..b.n_cols()), out.block_mut(0..b.n_cols()));
        out
    }

    proptest! {
        #[test]
        fn sparse_times_dense_agrees_with_three_loops(
            a in sparse(0..12, 0..12), width in 0usize..75, seed in 0u64..1000
        ) {
            let b = Dense::gaussian(a.n_cols(), width, seed);
            Naive::of(&a).times(&Naive::of_dense(&b)).assert_close(&times(&a, &b), 1e-5);
        }

        #[test]
        fn explicit_c_and_its_count_agree_with_dense_products((x, r, y) in sparse_triple()) {
            let c = explicit_c(&x, &r, &y).unwrap();
            let naive = Naive::of(&x).transpose().times(&Naive::of(&r)).times(&Naive::of(&y));
            naive.assert_close_sparse(&c, 1e-4);
            let pattern = |matrix: &Csr| Naive::of(&matrix.map(|_, _, _| 1.0).unwrap());
            let structure = pattern(&x).transpose().times(&pattern(&r)).times(&pattern(&y));
            let non_zeros = structure.values.iter().filter(|&&value| value > 0.0).count();
            prop_assert_eq!(c.nnz(), non_zeros);
            prop_assert_eq!(nnz_of_product3(&x.transpose(), &r, &y), non_zeros as u64);
        }
    }

    #[test]
    fn cutting_columns_into_blocks_does_not_change_a_bit() {
        let a = random_csr(300, 500, 20, 1);
        let b = Dense::gaussian(500, 77, 2);
        let whole = times(&a, &b);
        let mut cut = Dense::zeros(300, 77);
        for (first, end) in [(0, 5), (5, 45), (45, 76), (76, 77)] {
            csr_times_dense(&a, b.block(first..end), cut.block_mut(first..end));
        }
        assert_eq!(whole, cut);
    }

    #[test]
    fn a_long_row_of_equal_entries_keeps_its_precision() {
        let n = 1_000_000;
        let a = Csr::new(n, vec![0, n as u64], (0..n as u32).collect(), vec![0.1; n]).unwrap();
        let sum = times(&a, &Dense::from_fn(n, 1, |_, _| 1.0)).row(0)[0];
        assert!((sum / 100_000.0 - 1.0).abs() < 1e-4, "{sum}");
    }

    #[test]
    fn products_do_not_depend_on_the_threads() {
        let x = random_csr(2000, 700, 6, 3);
        let r = random_csr(2000, 1500, 3, 4);
        let y = random_csr(1500, 600, 8, 5);
        let b = Dense::gaussian(600, 40, 6);
        same_at_any_thread_count(|| times(&y, &b));
        same_at_any_thread_count(|| y.row_sums());
        same_at_any_thread_count(|| y.times_vector(&vec![0.3; 600]));
        let c = same_at_any_thread_count(|| explicit_c(&x, &r, &y).unwrap());
        let x_t = x.transpose();
        let count = same_at_any_thread_count(|| nnz_of_product3(&x_t, &r, &y));
        assert_eq!(count, c.nnz() as u64);
    }

    #[test]
    fn matrices_that_do_not_belong_together_are_refused_by_axis() {
        let message = |x: &Csr, r: &Csr, y: &Csr| explicit_c(x, r, y).unwrap_err().to_string();
        let r = Csr::empty(3, 4);
        assert!(message(&Csr::empty(2, 5), &r, &Csr::empty(4, 5)).contains("count the queries"));
        assert!(message(&Csr::empty(3, 5), &r, &Csr::empty(5, 5)).contains("count the documents"));
    }

    #[test]
    fn a_marker_whose_rounds_run_out_starts_again() {
        let mut marker = Marker::new(2);
        marker.round = u32::MAX - 1;
        marker.clear();
        marker.mark(1);
        marker.clear();
        marker.mark(1);
        marker.mark(1);
        assert_eq!(marker.found, [1]);
    }
}
