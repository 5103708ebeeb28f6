//! A file of embeddings: n × d numbers by rows, mapped into memory.

use std::io::{BufWriter, Write};
use std::path::Path;

use rayon::prelude::*;

use super::mapped::{ArrayLayout, HEADER, Mapped, extend_checksum, header};
use crate::file::NewFile;
use crate::{Error, Result, Run};

/// The first bytes of a file of embeddings.
const MARK: &[u8; 8] = b"likenimg";
/// Numbers computed between two writes.
const BLOCK: usize = 1 << 20;
/// Rows per task.
const ROWS_PER_TASK: usize = 16;
/// The most dimensions: sums of codes stay within 32 bits.
const MOST_DIM: usize = 1 << 16;

/// One vector per document, in the order of the documents' numbers.
pub struct Embeddings {
    file: Mapped,
    n: usize,
    dim: usize,
    start: usize,
}

impl Embeddings {
    /// Writes `n` embeddings of `dim` numbers to `path`. `embedding(doc, row)` computes one, on
    /// several threads.
    pub fn write(
        path: &Path,
        n: usize,
        dim: usize,
        run: &Run<'_>,
        embedding: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<()> {
        Embeddings::write_blocks(path, n, dim, |first, rows| {
            run.step("embeddings of documents", first as u64, Some(n as u64))?;
            rows.par_chunks_mut(dim * ROWS_PER_TASK).enumerate().for_each(|(task, rows)| {
                for (at, row) in rows.chunks_exact_mut(dim).enumerate() {
                    embedding(first + task * ROWS_PER_TASK + at, row);
                }
            });
            Ok(())
        })
    }

    /// Writes embeddings that come in order: `fill(first, rows)` computes those of some consecutive
    /// documents, from `first` on, into `rows`, which holds zeros.
    pub fn write_blocks(
        path: &Path,
        n: usize,
        dim: usize,
        mut fill: impl FnMut(usize, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        if !(1..=MOST_DIM).contains(&dim) {
            return Err(Error::parameter("dim", dim, &format!("between 1 and {MOST_DIM}")));
        }
        if u32::try_from(n).is_err() {
            return Err(Error::parameter(
                "documents",
                n,
                "fewer than 2³², since documents have 32-bit numbers",
            ));
        }
        let new = NewFile::create(path)?;
        let mut file = BufWriter::new(new.writer()?);
        let io = |result: std::io::Result<()>| result.map_err(Error::io("write", path));
        io(file.write_all(&header(MARK, &[])))?;
        let rows = (BLOCK / dim).next_multiple_of(ROWS_PER_TASK);
        let mut sum = 0;
        let mut block = Vec::new();
        for first in (0..n).step_by(rows) {
            block.clear();
            block.resize(rows.min(n - first) * dim, 0.0f32);
            fill(first, &mut block)?;
            sum = checksum(sum, &block);
            io(file.write_all(bytemuck::cast_slice(&block)))?;
        }
        io(file.flush())?;
        drop(file);
        // The header is written last, so that an incomplete file is recognised.
        io(new.writer()?.write_all(&header(MARK, &[n as u64, dim as u64, sum])))?;
        new.commit()
    }

    /// Opens a file that [`Embeddings::write`] wrote. Header and length are checked at once; the
    /// numbers are read on demand.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Mapped::open(path, MARK)?;
        let n = u32::try_from(file.fields[0]).ok().map(|n| n as usize);
        let dim = usize::try_from(file.fields[1]).ok().filter(|dim| (1..=MOST_DIM).contains(dim));
        let (Some(n), Some(dim)) = (n, dim) else {
            let problem = format!("{} embeddings of {} numbers", file.fields[0], file.fields[1]);
            return Err(file.damaged(problem));
        };
        let mut layout = ArrayLayout::new();
        let start = layout.place::<f32>(n, dim);
        file.check_len(layout.end())?;
        Ok(Embeddings { file, n, dim, start })
    }

    /// The number of embeddings.
    pub fn n_rows(&self) -> usize {
        self.n
    }

    /// The number of dimensions.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The embedding of document `doc`.
    ///
    /// # Panics
    /// If there is no such document.
    #[inline]
    pub fn row(&self, doc: usize) -> &[f32] {
        &self.values()[doc * self.dim..(doc + 1) * self.dim]
    }

    /// All embeddings, concatenated.
    #[inline]
    pub fn values(&self) -> &[f32] {
        self.file.array(self.start, self.n * self.dim)
    }

    /// The checksum of all numbers from the header.
    pub fn checksum(&self) -> u64 {
        self.file.fields[2]
    }

    /// Reads all numbers and compares them with the checksum.
    pub fn verify(&self) -> Result<()> {
        let rows = (BLOCK / self.dim).next_multiple_of(ROWS_PER_TASK);
        let found = self.values().chunks(rows * self.dim).fold(0, checksum);
        if found == self.checksum() {
            return Ok(());
        }
        Err(self.file.damaged("the embeddings do not match their checksum"))
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }
}

// The first embedding follows the header without padding.
const _: () = assert!(HEADER.is_multiple_of(64));

/// Continues the checksum `sum` with a block of numbers.
fn checksum(sum: u64, block: &[f32]) -> u64 {
    let (pairs, rest) = block.as_chunks::<2>();
    let word = |pair: &[f32; 2]| u64::from(pair[0].to_bits()) << 32 | u64::from(pair[1].to_bits());
    let sum = pairs.iter().fold(sum, |sum, pair| extend_checksum(sum, &[word(pair)]));
    rest.iter().fold(sum, |sum, value| extend_checksum(sum, &[u64::from(value.to_bits())]))
}
