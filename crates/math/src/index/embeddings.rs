//! The embeddings of documents in a file: n × d numbers by rows, mapped into memory.

use std::io::{BufWriter, Write};
use std::path::Path;

use rayon::prelude::*;

use super::mapped::{HEADER, Layout, Mapped, header, mixed};
use crate::file::NewFile;
use crate::{Error, Result, Run};

/// What a file of embeddings begins with.
const MARK: &[u8; 8] = b"likenimg";
/// Numbers that are produced before they are written.
const BLOCK: usize = 1 << 20;
/// Rows that one task produces.
const ROWS_PER_TASK: usize = 16;
/// The most dimensions: sums of codes stay within 32 bits.
const MOST_DIM: usize = 1 << 16;

/// One vector a document, in the order of the documents' numbers.
pub struct Embeddings {
    file: Mapped,
    n: usize,
    dim: usize,
    start: usize,
}

impl Embeddings {
    /// Writes `n` embeddings of `dim` numbers to `path`; `embedding` fills the one of the document whose
    /// number it is given, on several threads.
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

    /// The same for embeddings that come in order: `fill` is given the number of a document and room
    /// for its embedding and those of some documents after it, all zeros.
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
            return Err(Error::parameter("documents", n, "fewer than 2³²: that many have numbers"));
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
        // Only now the header says what the file holds.
        io(new.writer()?.write_all(&header(MARK, &[n as u64, dim as u64, sum])))?;
        new.commit()
    }

    /// Opens what [`Embeddings::write`] wrote. The header and the length are checked; the numbers are
    /// read when they are asked for.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Mapped::open(path, MARK)?;
        let n = u32::try_from(file.fields[0]).ok().map(|n| n as usize);
        let dim = usize::try_from(file.fields[1]).ok().filter(|dim| (1..=MOST_DIM).contains(dim));
        let (Some(n), Some(dim)) = (n, dim) else {
            let problem = format!("{} embeddings of {} numbers", file.fields[0], file.fields[1]);
            return Err(file.damaged(problem));
        };
        let mut layout = Layout::new();
        let start = layout.place::<f32>(n, dim);
        file.check_len(layout.end())?;
        Ok(Embeddings { file, n, dim, start })
    }

    /// How many embeddings there are.
    pub fn n_rows(&self) -> usize {
        self.n
    }

    /// How many numbers an embedding has.
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

    /// All embeddings, one after another.
    #[inline]
    pub fn values(&self) -> &[f32] {
        self.file.array(self.start, self.n * self.dim)
    }

    /// The checksum of all numbers, as it was when they were written.
    pub fn checksum(&self) -> u64 {
        self.file.fields[2]
    }

    /// Reads all numbers: an error if they are not what was written.
    pub fn verify(&self) -> Result<()> {
        let rows = (BLOCK / self.dim).next_multiple_of(ROWS_PER_TASK);
        let found = self.values().chunks(rows * self.dim).fold(0, checksum);
        if found == self.checksum() {
            return Ok(());
        }
        Err(self.file.damaged("the embeddings do not fit their checksum"))
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }
}

// The first embedding follows the header at once.
const _: () = assert!(HEADER.is_multiple_of(64));

/// The checksum of `sum` and a block of numbers.
fn checksum(sum: u64, block: &[f32]) -> u64 {
    let (pairs, rest) = block.as_chunks::<2>();
    let word = |pair: &[f32; 2]| u64::from(pair[0].to_bits()) << 32 | u64::from(pair[1].to_bits());
    let sum = pairs.iter().fold(sum, |sum, pair| mixed(sum, &[word(pair)]));
    rest.iter().fold(sum, |sum, value| mixed(sum, &[u64::from(value.to_bits())]))
}
