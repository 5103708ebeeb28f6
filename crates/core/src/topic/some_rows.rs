//! Sparse rows made in blocks, and the matrix of all of them.

use crate::Result;
use crate::sparse::Csr;

/// Some sparse rows, made one after the other.
#[derive(Default)]
pub(super) struct SomeRows {
    lengths: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl SomeRows {
    /// One more row, of which zeros are not kept.
    pub fn push(&mut self, row: &[f32]) {
        let before = self.indices.len();
        for (k, &value) in (0u32..).zip(row) {
            if value != 0.0 {
                self.indices.push(k);
                self.values.push(value);
            }
        }
        self.lengths.push((self.indices.len() - before) as u32);
    }

    /// A matrix of `n_rows` rows, of which those called `numbers`, rising, are the rows of `blocks`.
    pub fn together(
        blocks: Vec<SomeRows>,
        numbers: impl Iterator<Item = usize>,
        n_rows: usize,
        n_cols: usize,
    ) -> Result<Csr> {
        let nnz = blocks.iter().map(|block| block.indices.len()).sum();
        let (mut indices, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
        let mut starts = vec![0u64; n_rows + 1];
        let lengths = blocks.iter().flat_map(|block| &block.lengths);
        lengths.zip(numbers).for_each(|(&length, row)| starts[row + 1] = length.into());
        for row in 0..n_rows {
            starts[row + 1] += starts[row];
        }
        for block in blocks {
            indices.extend(block.indices);
            values.extend(block.values);
        }
        Csr::new(n_cols, starts, indices, values)
    }
}
