//! The transpose of a sparse matrix, by a radix sort of its entries in two passes.
//!
//! Writing every entry directly to its position would access memory at random. So entries go first
//! to one of a few hundred buckets of neighbouring columns, few enough to write to alternately,
//! then to their positions within the bucket, which fits into the cache. That takes twelve bytes
//! per entry temporarily, more than the transpose itself, and about three fifths of the time of
//! the direct way.
//!
//! Both passes are parallel over disjoint memory: blocks of rows, each with its own part of every
//! bucket, then buckets. The matrix alone fixes the position of an entry, so the result depends
//! neither on blocks nor on threads.

use std::ops::Range;
use std::slice::IterMut;

use rayon::prelude::*;

use super::Csr;

/// About the number of write positions that the first-level cache and the TLB can hold.
const MAX_BUCKETS: usize = 512;
/// The fewest entries worth a thread.
const ENTRIES_PER_BLOCK: usize = 4096;

/// Column, row and the bits of the value. An array, because the system provides zeroed memory for
/// free.
type Entry = [u32; 3];

impl Csr {
    /// The transpose, its rows sorted.
    ///
    /// # Panics
    /// If there are 2³² rows or more: they could not be columns.
    pub fn transpose(&self) -> Csr {
        assert!(self.n_rows() <= u32::MAX as usize, "{} rows cannot be columns", self.n_rows());
        let bucket_width = self.n_cols().div_ceil(MAX_BUCKETS).next_power_of_two();
        let bucket_of = |column: u32| (column >> bucket_width.trailing_zeros()) as usize;
        let n_buckets = self.n_cols().div_ceil(bucket_width);

        let blocks = row_blocks(self, rayon::current_num_threads());
        let counts: Vec<Vec<usize>> = blocks
            .par_iter()
            .map(|rows| {
                let mut counts = vec![0; n_buckets];
                let span = self.starts()[rows.start] as usize..self.starts()[rows.end] as usize;
                self.indices()[span].iter().for_each(|&column| counts[bucket_of(column)] += 1);
                counts
            })
            .collect();
        let mut entries: Vec<Entry> = vec![[0; 3]; self.nnz()];
        let parts = parts_of_buckets(&mut entries, &counts);
        blocks.par_iter().zip(parts).for_each(|(rows, mut parts)| {
            for i in rows.clone() {
                for (column, value) in self.row(i).iter() {
                    // There is always a next one: the same entries were counted.
                    if let Some(entry) = parts[bucket_of(column)].next() {
                        *entry = [column, i as u32, value.to_bits()];
                    }
                }
            }
        });

        let mut starts = vec![0u64; self.n_cols() + 1];
        let mut indices = vec![0u32; self.nnz()];
        let mut values = vec![0.0f32; self.nnz()];
        let sizes = (0..n_buckets).map(|bucket| counts.iter().map(|block| block[bucket]).sum());
        let mut buckets = Vec::with_capacity(n_buckets);
        let (mut entries, mut places) = (&entries[..], (&mut indices[..], &mut values[..]));
        let mut first_place = 0;
        for (ends, size) in starts[1..].chunks_mut(bucket_width).zip(sizes) {
            let first_column = buckets.len() * bucket_width;
            let (rows, values);
            let here: &[Entry];
            (here, entries) = entries.split_at(size);
            (rows, places.0) = places.0.split_at_mut(size);
            (values, places.1) = places.1.split_at_mut(size);
            buckets.push(Bucket { first_column, first_place, entries: here, ends, rows, values });
            first_place += size;
        }
        buckets.into_par_iter().for_each(Bucket::sort);
        // Rows are visited in order, so every list of rows is sorted and unique.
        Csr::new(self.n_rows(), starts, indices, values).expect("the transpose of a valid matrix")
    }
}

/// The entries of some neighbouring columns, and their part of the transpose.
struct Bucket<'a> {
    first_column: usize,
    /// The number of entries in earlier buckets.
    first_place: usize,
    /// In order of row.
    entries: &'a [Entry],
    /// For each column, the end of its entries in the transpose.
    ends: &'a mut [u64],
    rows: &'a mut [u32],
    values: &'a mut [f32],
}

impl Bucket<'_> {
    fn sort(self) {
        let mut places = vec![0usize; self.ends.len()];
        for &[column, ..] in self.entries {
            places[column as usize - self.first_column] += 1;
        }
        let mut total = 0;
        for (place, end) in places.iter_mut().zip(self.ends) {
            total += std::mem::replace(place, total);
            *end = (self.first_place + total) as u64;
        }
        for &[column, row, bits] in self.entries {
            let place = &mut places[column as usize - self.first_column];
            self.rows[*place] = row;
            self.values[*place] = f32::from_bits(bits);
            *place += 1;
        }
    }
}

/// Ranges of rows with about equally many entries: one per thread, fewer for small matrices.
fn row_blocks(matrix: &Csr, n_threads: usize) -> Vec<Range<usize>> {
    let n_blocks = n_threads.min(matrix.nnz() / ENTRIES_PER_BLOCK).max(1);
    let ends = (1..=n_blocks).map(|block| {
        if block == n_blocks {
            return matrix.n_rows();
        }
        let entries = (matrix.nnz() as u128 * block as u128 / n_blocks as u128) as u64;
        matrix.starts().partition_point(|&start| start < entries).min(matrix.n_rows())
    });
    ends.scan(0, |first, end| Some(std::mem::replace(first, end)..end)).collect()
}

/// Cuts `entries` into buckets and each bucket into parts, one per block of rows. Returns the parts
/// of each block.
fn parts_of_buckets<'a>(
    mut entries: &'a mut [Entry],
    counts: &[Vec<usize>],
) -> Vec<Vec<IterMut<'a, Entry>>> {
    let n_buckets = counts.first().map_or(0, Vec::len);
    let mut parts: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(n_buckets)).collect();
    for bucket in 0..n_buckets {
        for (parts, counts) in parts.iter_mut().zip(counts) {
            let part;
            (part, entries) = entries.split_at_mut(counts[bucket]);
            parts.push(part.iter_mut());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{random_csr, same_at_any_thread_count, sparse};

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
    fn many_blocks_and_wide_buckets_are_transposed_alike_at_any_thread_count() {
        for n_cols in [40, MAX_BUCKETS + 1, 3000] {
            let matrix = random_csr(6000, n_cols, 12, 1);
            assert_eq!(row_blocks(&matrix, 7).len(), 7);
            assert_eq!(same_at_any_thread_count(|| matrix.transpose()), naive(&matrix));
        }
    }

    #[test]
    fn blocks_cover_all_rows_once_even_when_one_row_has_everything() {
        let n = 10 * ENTRIES_PER_BLOCK as u32;
        let mut triplets: Vec<_> = (0..n).map(|j| (50, j, 1.0)).collect();
        triplets.extend((100..n / 2).map(|i| (i, 3, 1.0)));
        let matrix = Csr::from_triplets(n as usize, n as usize, triplets).unwrap();
        for n_threads in [1, 2, 5, 100] {
            let rows: Vec<usize> = row_blocks(&matrix, n_threads).into_iter().flatten().collect();
            assert_eq!(rows, (0..n as usize).collect::<Vec<_>>());
        }
        assert_eq!(same_at_any_thread_count(|| matrix.transpose()), naive(&matrix));
    }
}
