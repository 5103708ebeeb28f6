//! The transpose of a sparse matrix, by counting.
//!
//! The rows are cut into blocks; each block counts its entries per column, sums over the
//! blocks say where each block writes, and all blocks write at once. An entry's place is
//! fixed by the matrix alone, so neither the blocks nor the threads show in the result.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::Csr;

impl Csr {
    /// The transpose, its rows sorted.
    ///
    /// # Panics
    /// If there are 2³² rows or more: they could not be columns.
    pub fn transpose(&self) -> Csr {
        assert!(self.n_rows() <= u32::MAX as usize, "{} rows cannot be columns", self.n_rows());
        let blocks = row_blocks(self, rayon::current_num_threads());
        let mut places: Vec<Vec<u32>> = blocks
            .par_iter()
            .map(|rows| {
                let mut counts = vec![0u32; self.n_cols()];
                for i in rows.clone() {
                    self.row(i).indices.iter().for_each(|&column| counts[column as usize] += 1);
                }
                counts
            })
            .collect();
        let starts = starts_from_counts(&mut places, self.n_cols());

        // Blocks write to places that interleave but never meet. Relaxed atomics say so
        // without unsafe code and compile to plain stores.
        let indices = zeros(self.nnz());
        let values = zeros(self.nnz());
        blocks.par_iter().zip(&mut places).for_each(|(rows, places)| {
            for i in rows.clone() {
                for (column, value) in self.row(i).iter() {
                    let place = &mut places[column as usize];
                    let at = starts[column as usize] as usize + *place as usize;
                    *place += 1;
                    indices[at].store(i as u32, Relaxed);
                    values[at].store(value.to_bits(), Relaxed);
                }
            }
        });
        let indices = indices.into_iter().map(AtomicU32::into_inner).collect();
        let values = values.into_iter().map(|bits| f32::from_bits(bits.into_inner())).collect();
        // Proof: rows are visited in order, so every list of rows is sorted and unique.
        Csr::new(self.n_rows(), starts, indices, values).expect("the transpose of a valid matrix")
    }
}

/// Ranges of rows with about equally many entries, one per thread, fewer where the columns are
/// so many that counting them would cost more than it gains.
fn row_blocks(matrix: &Csr, n_threads: usize) -> Vec<Range<usize>> {
    let n_blocks = n_threads.min(matrix.nnz() / matrix.n_cols().max(1)).max(1);
    let ends = (1..=n_blocks).map(|block| {
        if block == n_blocks {
            return matrix.n_rows();
        }
        let entries = (matrix.nnz() as u128 * block as u128 / n_blocks as u128) as u64;
        matrix.starts().partition_point(|&start| start < entries).min(matrix.n_rows())
    });
    ends.scan(0, |first, end| Some(std::mem::replace(first, end)..end)).collect()
}

/// Turns each block's counts into its first place within each column, and returns where the
/// columns start.
fn starts_from_counts(counts: &mut [Vec<u32>], n_cols: usize) -> Vec<u64> {
    let mut filled = vec![0u32; n_cols];
    for block in counts {
        block.par_iter_mut().zip(&mut filled).with_min_len(4096).for_each(|(count, filled)| {
            let place = *filled;
            *filled += *count;
            *count = place;
        });
    }
    let mut starts = Vec::with_capacity(n_cols + 1);
    starts.push(0);
    let mut total = 0;
    for count in filled {
        total += u64::from(count);
        starts.push(total);
    }
    starts
}

fn zeros(n: usize) -> Vec<AtomicU32> {
    (0..n).map(|_| AtomicU32::new(0)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::{random_csr, same_at_any_thread_count, sparse};

    fn naive(matrix: &Csr) -> Csr {
        let triplets = (0..matrix.n_rows())
            .flat_map(|i| matrix.row(i).iter().map(move |(j, v)| (j, i as u32, v)))
            .collect();
        Csr::from_triplets(matrix.n_cols(), matrix.n_rows(), triplets).unwrap()
    }

    proptest! {
        #[test]
        fn transpose_agrees_with_swapped_triplets(matrix in sparse(0..20, 0..20)) {
            let transposed = matrix.transpose();
            prop_assert_eq!(&transposed, &naive(&matrix));
            prop_assert_eq!(&transposed.transpose(), &matrix);
        }
    }

    #[test]
    fn a_matrix_of_many_blocks_is_transposed_alike_at_any_thread_count() {
        let matrix = random_csr(3000, 40, 12, 1);
        assert_eq!(row_blocks(&matrix, 7).len(), 7);
        assert_eq!(same_at_any_thread_count(|| matrix.transpose()), naive(&matrix));
    }

    #[test]
    fn blocks_cover_all_rows_once_even_when_one_row_has_everything() {
        let mut triplets: Vec<_> = (0..10).map(|j| (50, j, 1.0)).collect();
        triplets.extend((100..200).map(|i| (i, 3, 1.0)));
        let matrix = Csr::from_triplets(300, 10, triplets).unwrap();
        for n_threads in [1, 2, 5, 100] {
            let rows: Vec<usize> = row_blocks(&matrix, n_threads).into_iter().flatten().collect();
            assert_eq!(rows, (0..300).collect::<Vec<_>>());
        }
        assert_eq!(matrix.transpose(), naive(&matrix));
    }
}
