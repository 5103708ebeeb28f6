//! Compressed sparse rows. Their invariants are checked once, when a matrix is made or loaded, so
//! that kernels can rely on them.

use std::ops::Range;

use rayon::prelude::*;

use crate::{Error, Result};

/// A sparse matrix by rows. Within a row, columns are sorted, unique and in range, and every
/// value is finite. Row starts are u64, so there may be more than 2³² non-zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    n_cols: usize,
    starts: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

/// One row of a [`Csr`], or any sparse vector in the same form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<'a> {
    /// Columns, sorted and unique.
    pub indices: &'a [u32],
    /// The value in each of those columns.
    pub values: &'a [f32],
}

impl<'a> Row<'a> {
    /// The stored (column, value) pairs in order of column.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = (u32, f32)> + Clone + 'a {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// The number of stored entries.
    #[inline]
    pub fn len(self) -> usize {
        self.indices.len()
    }

    /// Whether no entry is stored.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.indices.is_empty()
    }

    /// The entries in the columns `span`.
    pub fn within(self, span: Range<u32>) -> Row<'a> {
        let start = self.indices.partition_point(|&column| column < span.start);
        let end = start + self.indices[start..].partition_point(|&column| column < span.end);
        Row { indices: &self.indices[start..end], values: &self.values[start..end] }
    }

    /// The value in `column`, zero where nothing is stored.
    #[inline]
    pub fn get(self, column: u32) -> f32 {
        self.indices.binary_search(&column).map_or(0.0, |at| self.values[at])
    }

    /// Whether `column` has a stored entry, which may be zero.
    pub fn contains(self, column: u32) -> bool {
        self.indices.binary_search(&column).is_ok()
    }

    /// The Euclidean norm, summed in f64.
    pub fn norm(self) -> f64 {
        self.values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt()
    }
}

/// Consecutive rows of a matrix that is made in parallel; [`Csr::from_blocks`] joins them.
#[derive(Debug, Default)]
pub struct RowBlock {
    lengths: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl RowBlock {
    /// Adds a row of (column, value) pairs in order of column.
    pub fn push(&mut self, row: impl Iterator<Item = (u32, f32)>) {
        let before = self.indices.len();
        for (column, value) in row {
            self.indices.push(column);
            self.values.push(value);
        }
        self.lengths.push((self.indices.len() - before) as u32);
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

impl Csr {
    /// A matrix from its three arrays; an error if they break an invariant.
    pub fn new(
        n_cols: usize,
        starts: Vec<u64>,
        indices: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Self> {
        check_frame(n_cols, &starts, &indices, &values)?;
        let broken = (0..starts.len() - 1).into_par_iter().find_map_first(|row| {
            let span = starts[row] as usize..starts[row + 1] as usize;
            row_problem(n_cols, &indices[span.clone()], &values[span])
                .map(|problem| format!("row {row}: {problem}"))
        });
        match broken {
            Some(problem) => Err(Error::Structure { problem }),
            None => Ok(Csr { n_cols, starts, indices, values }),
        }
    }

    /// A matrix without entries.
    pub fn empty(n_rows: usize, n_cols: usize) -> Self {
        Csr { n_cols, starts: vec![0; n_rows + 1], indices: Vec::new(), values: Vec::new() }
    }

    /// A matrix from (row, column, value) in any order; values of the same cell are summed in the
    /// order given.
    pub fn from_triplets(
        n_rows: usize,
        n_cols: usize,
        mut triplets: Vec<(u32, u32, f32)>,
    ) -> Result<Self> {
        // A stable sort, so that sums do not depend on the algorithm.
        triplets.par_sort_by_key(|&(row, column, _)| (row, column));
        if let Some(&(row, ..)) = triplets.iter().find(|&&(row, ..)| row as usize >= n_rows) {
            let problem = format!("row {row} of a matrix with {n_rows} rows");
            return Err(Error::Structure { problem });
        }
        triplets.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut starts = vec![0u64; n_rows + 1];
        triplets.iter().for_each(|&(row, ..)| starts[row as usize + 1] += 1);
        (0..n_rows).for_each(|row| starts[row + 1] += starts[row]);
        let (indices, values) = triplets.iter().map(|&(_, column, value)| (column, value)).unzip();
        Csr::new(n_cols, starts, indices, values)
    }

    /// A matrix made row by row, in parallel over fixed blocks; `row` returns sorted columns and
    /// their values.
    pub fn by_rows(
        n_cols: usize,
        n_rows: usize,
        row: impl Fn(usize) -> Result<(Vec<u32>, Vec<f32>)> + Sync + Send,
    ) -> Result<Self> {
        const BLOCK: usize = 4096;
        let block = |block: usize| {
            let mut rows = RowBlock::default();
            for i in block * BLOCK..((block + 1) * BLOCK).min(n_rows) {
                let (indices, values) = row(i)?;
                if indices.len() != values.len() {
                    return Err(Error::Structure {
                        problem: format!(
                            "row {i} has {} columns but {} values",
                            indices.len(),
                            values.len()
                        ),
                    });
                }
                rows.push(indices.into_iter().zip(values));
            }
            Ok(rows)
        };
        let blocks =
            (0..n_rows.div_ceil(BLOCK)).into_par_iter().map(block).collect::<Result<Vec<_>>>()?;
        Csr::from_blocks(n_cols, n_rows, blocks, 0..n_rows)
    }

    /// A matrix of `n_rows` rows. The rows of `blocks`, in order, get the numbers `rows`,
    /// ascending; the others are empty.
    pub fn from_blocks(
        n_cols: usize,
        n_rows: usize,
        blocks: Vec<RowBlock>,
        rows: impl Iterator<Item = usize>,
    ) -> Result<Self> {
        let nnz: usize = blocks.iter().map(|block| block.indices.len()).sum();
        let mut starts = vec![0u64; n_rows + 1];
        let lengths = blocks.iter().flat_map(|block| &block.lengths);
        lengths.zip(rows).for_each(|(&length, row)| starts[row + 1] = length.into());
        (0..n_rows).for_each(|row| starts[row + 1] += starts[row]);
        let mut blocks = blocks.into_iter();
        // The first block is moved, so that a single one is not copied.
        let RowBlock { mut indices, mut values, .. } = blocks.next().unwrap_or_default();
        indices.reserve_exact(nnz - indices.len());
        values.reserve_exact(nnz - values.len());
        for block in blocks {
            indices.extend(block.indices);
            values.extend(block.values);
        }
        Csr::new(n_cols, starts, indices, values)
    }

    /// The entries above zero.
    pub fn positive(&self) -> Result<Self> {
        Csr::by_rows(self.n_cols, self.n_rows(), |i| {
            Ok(self.row(i).iter().filter(|&(_, value)| value > 0.0).unzip())
        })
    }

    /// The same entries with more columns.
    pub fn widened(&self, n_cols: usize) -> Result<Self> {
        let (indices, values) = (self.indices.clone(), self.values.clone());
        Csr::new(n_cols, self.starts.clone(), indices, values)
    }

    /// The number of rows.
    #[inline]
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    #[inline]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The number of stored entries.
    #[inline]
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// For every column, whether one of `rows` has an entry in it.
    pub fn columns_of(&self, rows: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut has = vec![false; self.n_cols()];
        for row in rows {
            self.row(row).indices.iter().for_each(|&column| has[column as usize] = true);
        }
        has
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        let span = self.starts[i] as usize..self.starts[i + 1] as usize;
        Row { indices: &self.indices[span.clone()], values: &self.values[span] }
    }

    /// Reads a part of each of the `rows`. Rows lie far apart in memory: asked for all at once, they come
    /// together, and whoever reads them next does not wait for one after the other.
    pub fn touch(&self, rows: &[u32]) {
        let part = |&i: &u32| {
            let row = self.row(i as usize);
            let middle = row.len() / 2;
            Some(row.indices.first()? ^ row.indices[middle] ^ row.values[middle].to_bits())
        };
        std::hint::black_box(rows.iter().filter_map(part).fold(0, |all, part| all ^ part));
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.n_rows()).map(|i| self.row(i))
    }

    /// Where each row starts in `indices` and `values`; one more entry than rows.
    #[inline]
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The columns of all entries, row after row.
    #[inline]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all entries, row after row.
    #[inline]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The same structure with the values `f(row, column, value)`.
    pub fn map(&self, f: impl Fn(usize, u32, f32) -> f32 + Sync) -> Result<Self> {
        let mut values = self.values.clone();
        for i in 0..self.n_rows() {
            let span = self.starts[i] as usize..self.starts[i + 1] as usize;
            for (value, &column) in values[span].iter_mut().zip(self.row(i).indices) {
                *value = f(i, column, *value);
            }
        }
        Csr::new(self.n_cols, self.starts.clone(), self.indices.clone(), values)
    }
}

fn check_frame(n_cols: usize, starts: &[u64], indices: &[u32], values: &[f32]) -> Result<()> {
    let problem = if starts.first() != Some(&0) {
        "the row starts do not begin with 0".to_owned()
    } else if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
        format!("row {row} starts after it ends")
    } else if starts[starts.len() - 1] != indices.len() as u64 {
        format!(
            "the rows end at {}, but there are {} columns stored",
            starts[starts.len() - 1],
            indices.len()
        )
    } else if indices.len() != values.len() {
        format!("{} columns but {} values", indices.len(), values.len())
    } else if n_cols > u32::MAX as usize {
        format!("{n_cols} columns, more than 2³² − 1")
    } else {
        return Ok(());
    };
    Err(Error::Structure { problem })
}

fn row_problem(n_cols: usize, indices: &[u32], values: &[f32]) -> Option<String> {
    if let Some(pair) = indices.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Some(format!("column {} comes before column {}", pair[0], pair[1]));
    }
    if let Some(&last) = indices.last().filter(|&&last| last as usize >= n_cols) {
        return Some(format!("column {last} of a matrix with {n_cols} columns"));
    }
    let at = values.iter().position(|value| !value.is_finite())?;
    Some(format!("the value in column {} is {}", indices[at], values[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(n_cols: usize, starts: &[u64], indices: &[u32], values: &[f32]) -> String {
        match Csr::new(n_cols, starts.to_vec(), indices.to_vec(), values.to_vec()) {
            Err(Error::Structure { problem }) => problem,
            other => panic!("expected a broken rule, got {other:?}"),
        }
    }

    #[test]
    fn every_rule_is_checked() {
        assert_eq!(problem(3, &[1, 1], &[0], &[1.0]), "the row starts do not begin with 0");
        assert_eq!(problem(3, &[], &[], &[]), "the row starts do not begin with 0");
        assert_eq!(problem(3, &[0, 2, 1], &[0], &[1.0]), "row 1 starts after it ends");
        assert_eq!(
            problem(3, &[0, 2], &[0], &[1.0]),
            "the rows end at 2, but there are 1 columns stored"
        );
        assert_eq!(problem(3, &[0, 1], &[0], &[]), "1 columns but 0 values");
        assert_eq!(
            problem(3, &[0, 2], &[1, 1], &[1.0, 1.0]),
            "row 0: column 1 comes before column 1"
        );
        assert_eq!(problem(3, &[0, 1], &[3], &[1.0]), "row 0: column 3 of a matrix with 3 columns");
        assert_eq!(problem(3, &[0, 1], &[2], &[f32::NAN]), "row 0: the value in column 2 is NaN");
    }

    #[test]
    fn triplets_are_sorted_and_summed() {
        let matrix =
            Csr::from_triplets(3, 4, vec![(2, 1, 1.0), (0, 3, 2.0), (2, 1, 4.0), (0, 0, 1.0)])
                .unwrap();
        assert_eq!(matrix.starts(), &[0, 2, 2, 3]);
        assert_eq!(matrix.row(0).iter().collect::<Vec<_>>(), [(0, 1.0), (3, 2.0)]);
        assert_eq!(matrix.row(2).get(1), 5.0);
        assert!(matrix.row(1).is_empty());
    }
}
