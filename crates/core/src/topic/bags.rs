//! The parts that PLSI and LDA share: matrices of topics in whole vectors, and the sum that every
//! update consists of,
//!
//! ```text
//! Σ_w n_w/t_w·φ_w,   t_w = Σ_k θ_k·φ_wk
//! ```
//! over the words of a document, and the same over the documents of a word. A row of θ follows
//! from the words of its document and a row of φ from the documents of its word, so each row is one
//! task, and sums over rows are added in the order of the rows.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::simd::{F32x8, LANES, add, copy_out, dot, wide};
use crate::linalg::Dense;
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

mod corpus;

pub use corpus::{BagCorpus, length};

/// Entries summed before they join the sum of the row, so that the error does not grow with the
/// length of the row.
const SEGMENT: usize = 64;
/// Entries whose rows are prefetched.
const AHEAD: usize = 6;
/// Rows whose columns are summed by one task.
const BLOCK: usize = 1024;

/// A dense matrix whose rows are filled up with zeros to whole vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct PaddedMatrix {
    dim: usize,
    lanes: usize,
    values: Vec<F32x8>,
}

impl PaddedMatrix {
    pub fn zeros(n_rows: usize, dim: usize) -> Self {
        let lanes = dim.div_ceil(LANES);
        PaddedMatrix { dim, lanes, values: vec![F32x8::default(); n_rows * lanes] }
    }

    /// Bytes of `n_rows` rows.
    pub fn bytes(n_rows: usize, dim: usize) -> u64 {
        (n_rows as u64).saturating_mul(dim.div_ceil(LANES) as u64 * size_of::<F32x8>() as u64)
    }

    /// Vectors in a row.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    pub fn n_rows(&self) -> usize {
        self.values.len() / self.lanes.max(1)
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> &[F32x8] {
        &self.values[i * self.lanes..][..self.lanes]
    }

    pub fn row_mut(&mut self, i: usize) -> &mut [F32x8] {
        &mut self.values[i * self.lanes..][..self.lanes]
    }

    pub fn par_rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [F32x8]> {
        self.values.par_chunks_mut(self.lanes.max(1))
    }

    /// The rows `span`, to be written in parallel.
    pub fn par_span_mut(
        &mut self,
        span: Range<usize>,
    ) -> impl IndexedParallelIterator<Item = &mut [F32x8]> {
        let lanes = self.lanes.max(1);
        self.values[span.start * lanes..span.end * lanes].par_chunks_mut(lanes)
    }

    pub fn to_dense(&self) -> Dense {
        let mut dense = Dense::zeros(self.n_rows(), self.dim);
        dense.rows_mut().enumerate().for_each(|(i, row)| copy_out(self.row(i), row));
        dense
    }

    /// The sum of every column, in f64: blocks of rows, added in order.
    pub fn column_sums(&self) -> Vec<f64> {
        let block = |rows: &[F32x8]| {
            let mut sums = vec![0.0f64; self.lanes * LANES];
            for row in rows.chunks(self.lanes) {
                for (sums, lane) in sums.chunks_mut(LANES).zip(row) {
                    sums.iter_mut().zip(lane.0).for_each(|(sum, value)| *sum += f64::from(value));
                }
            }
            sums
        };
        let blocks: Vec<Vec<f64>> =
            self.values.par_chunks(BLOCK * self.lanes.max(1)).map(block).collect();
        let mut sums = vec![0.0f64; self.lanes * LANES];
        for block in blocks {
            sums.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
        }
        sums.truncate(self.dim);
        sums
    }
}

/// The buffers of one accumulation.
pub struct Sums {
    /// The result of the last accumulation.
    pub sum: Vec<F32x8>,
    segment: Vec<F32x8>,
}

impl Sums {
    pub fn new(lanes: usize) -> Self {
        let zeros = || vec![F32x8::default(); lanes];
        Sums { sum: zeros(), segment: zeros() }
    }
}

wide! {
    /// Σ n/t·row over `entries`, where row is that of the entry in `matrix` and t = own·row.
    /// Entries with t = 0 are skipped.
    pub fn accumulate(entries: Row<'_>, matrix: &PaddedMatrix, own: &[F32x8], sums: &mut Sums) {
        accumulate_segments(entries, matrix, own, sums, |_, _| ());
    }
}

wide! {
    /// Σ n·ln t over words whose rows are adjacent, t = own·row.
    pub fn logs(words: &[F32x8], counts: &[f32], own: &[F32x8]) -> f64 {
        let mut log = 0.0f64;
        for (rows, counts) in words.chunks(LANES * own.len()).zip(counts.chunks(LANES)) {
            let mut ts = F32x8([1.0; LANES]);
            for (t, row) in ts.0.iter_mut().zip(rows.chunks_exact(own.len())) {
                let found = dot(own, row);
                *t = if found > 0.0 { found } else { 1.0 };
            }
            for (&count, l) in counts.iter().zip(ts.ln().0) {
                log += f64::from(count) * f64::from(l);
            }
        }
        log
    }
}

wide! {
    /// [`accumulate`], and Σ n·ln t.
    pub fn accumulate_with_log(
        entries: Row<'_>,
        matrix: &PaddedMatrix,
        own: &[F32x8],
        sums: &mut Sums,
    ) -> f64 {
        let mut log = 0.0f64;
        accumulate_segments(entries, matrix, own, sums, |ts, counts| {
            for (ts, counts) in ts.chunks(LANES).zip(counts.chunks(LANES)) {
                let mut lane = F32x8([1.0; LANES]);
                lane.0[..ts.len()].copy_from_slice(ts);
                let lane = lane.ln();
                for (&count, l) in counts.iter().zip(lane.0) {
                    log += f64::from(count) * f64::from(l);
                }
            }
        });
        log
    }
}

/// [`accumulate`] by segments. `seen` gets the t of a segment, 1 where t = 0, and its counts.
#[inline(always)]
fn accumulate_segments(
    entries: Row<'_>,
    matrix: &PaddedMatrix,
    own: &[F32x8],
    sums: &mut Sums,
    mut seen: impl FnMut(&[f32], &[f32]),
) {
    let Sums { sum, segment } = sums;
    sum.fill(F32x8::default());
    let mut ts = [1.0f32; SEGMENT];
    let segments = entries.indices.chunks(SEGMENT).zip(entries.values.chunks(SEGMENT));
    for (indices, counts) in segments {
        segment.fill(F32x8::default());
        for (at, (&index, &count)) in indices.iter().zip(counts).enumerate() {
            if let Some(&coming) = indices.get(at + AHEAD) {
                prefetch(&matrix.values, coming as usize * matrix.lanes, matrix.lanes);
            }
            let row = matrix.row(index as usize);
            let t = dot(own, row);
            ts[at] = if t > 0.0 { t } else { 1.0 };
            let scale = if t > 0.0 { count / t } else { 0.0 };
            add(scale, row, segment);
        }
        add(1.0, segment, sum);
        seen(&ts[..indices.len()], counts);
    }
}

/// Prefetches `lanes` vectors.
#[inline(always)]
fn prefetch(values: &[F32x8], first: usize, lanes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let row = values.as_ptr().wrapping_add(first);
        for line in (0..lanes).step_by(2) {
            // SAFETY: a prefetch reads nothing into the program and never faults, whatever the
            // address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(line).cast::<i8>()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, first, lanes);
}

/// Calls `work` on every row in parallel, with a `workspace` per thread, and adds up the results in
/// the order of the rows.
pub fn for_each_row<'a, R: Send>(
    rows: impl IndexedParallelIterator<Item = &'a mut [F32x8]>,
    run: &Run<'_>,
    workspace: impl Fn() -> R + Sync + Send,
    work: impl Fn(usize, &mut [F32x8], &mut R) -> f64 + Sync + Send,
) -> Result<f64> {
    let results: Vec<f64> = rows
        .enumerate()
        .map_init(&workspace, |workspace, (i, row)| {
            run.check()?;
            Ok(work(i, row, workspace))
        })
        .collect::<Result<_>>()?;
    Ok(results.iter().sum())
}

/// Learnt topics into which unseen bags of words are folded.
pub trait BagTopics: Send + Sync {
    /// Terms × topics, as learnt. Words that no training document has are rows of zeros.
    fn weights(&self) -> &Dense;

    /// Terms × topics: the probability of every word in a topic.
    fn probabilities(&self) -> Cow<'_, Dense>;

    /// The number of topics.
    fn dim(&self) -> usize {
        self.weights().n_cols()
    }

    /// Whether a training document has the word.
    fn knows(&self, term: u32) -> bool {
        self.weights().row(term as usize).iter().any(|&weight| weight > 0.0)
    }

    /// Writes the row of a known word, as [`BagTopics::infer`] needs it, to `row`, which is zeros.
    fn prepare(&self, term: u32, row: &mut [F32x8]);

    /// Replaces uniform shares in `theta` by those of the words in `workspace`, of which there is at
    /// least one.
    fn infer(&self, workspace: &mut Workspace, theta: &mut [f32]);

    /// Writes the share of every topic in `words` to `theta`; uniform shares if no word is known.
    fn fold_in(&self, words: Row<'_>, workspace: &mut Workspace, theta: &mut [f32]) {
        workspace.clear();
        for (term, count) in words.iter().filter(|&(term, count)| count > 0.0 && self.knows(term)) {
            self.prepare(term, workspace.push(count));
        }
        theta.fill(1.0 / theta.len() as f32);
        if !workspace.counts.is_empty() {
            self.infer(workspace, theta);
        }
    }

    /// Documents × topics: the shares for the rows of `docs` from number `first` on.
    fn fold_in_all(&self, docs: &Csr, first: usize, run: &Run<'_>) -> Result<Dense> {
        let mut theta = Dense::zeros(docs.n_rows() - first, self.dim());
        theta.rows_mut().enumerate().try_for_each_init(
            || Workspace::new(self.dim()),
            |workspace, (at, theta)| {
                run.check()?;
                self.fold_in(docs.row(first + at), workspace, theta);
                Ok(())
            },
        )?;
        Ok(theta)
    }
}

/// Scales numbers to sum 1, unless all are zero.
pub fn scale_to_one(row: &mut [f32]) {
    let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|value| *value = (f64::from(*value) / sum) as f32);
    }
}

/// The buffers for one document. The rows of its words are copied side by side, so that repeated
/// iterations read adjacent memory.
pub struct Workspace {
    /// The rows of the words, word after word.
    pub(super) words: Vec<F32x8>,
    /// The count of each word.
    pub(super) counts: Vec<f32>,
    /// The shares of the topics.
    pub(super) theta: Vec<F32x8>,
    /// Scratch of the same size.
    pub(super) other: Vec<F32x8>,
    /// Sums over the words.
    pub(super) sums: Sums,
}

impl Workspace {
    /// Buffers for `dim` topics.
    pub fn new(dim: usize) -> Self {
        let lanes = dim.div_ceil(LANES);
        let row = || vec![F32x8::default(); lanes];
        Workspace {
            words: Vec::new(),
            counts: Vec::new(),
            theta: row(),
            other: row(),
            sums: Sums::new(lanes),
        }
    }

    /// Removes all words.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.counts.clear();
    }

    /// Adds a word and returns its row, to be filled.
    pub(super) fn push(&mut self, count: f32) -> &mut [F32x8] {
        let (from, lanes) = (self.words.len(), self.theta.len());
        self.words.resize(from + lanes, F32x8::default());
        self.counts.push(count);
        &mut self.words[from..]
    }
}

/// Σ n/t·row over words whose rows are adjacent: the same bits as [`accumulate`].
#[inline(always)]
pub fn accumulate_adjacent(words: &[F32x8], counts: &[f32], own: &[F32x8], sums: &mut Sums) {
    let Sums { sum, segment } = sums;
    let lanes = own.len();
    sum.fill(F32x8::default());
    let segments = words.chunks(SEGMENT * lanes).zip(counts.chunks(SEGMENT));
    for (rows, counts) in segments {
        segment.fill(F32x8::default());
        for (row, &count) in rows.chunks_exact(lanes).zip(counts) {
            let t = dot(own, row);
            let scale = if t > 0.0 { count / t } else { 0.0 };
            add(scale, row, segment);
        }
        add(1.0, segment, sum);
    }
}

#[cfg(test)]
pub(super) mod tests;
