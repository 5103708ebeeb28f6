//! What models of bags of words share: rows of topics in eight lanes, and the sum that every
//! update is made of,
//!
//! ```text
//! Σ_w n_w/t_w·φ_w,   t_w = Σ_k θ_k·φ_wk
//! ```
//! over the words of a document, and the same over the documents of a word. A row of θ follows
//! from the words of its document and a row of φ from the documents of its word, so each is one
//! task, and nothing is added up across tasks but in the order of the rows.
//!
//! Rows are filled up with zeros to whole lanes. The loops are compiled a second time for AVX2,
//! with the same bits: nothing is fused.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::special::ln;
use crate::linalg::Dense;
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

mod corpus;

pub use corpus::{Corpus, length};

/// Topics side by side.
pub const LANES: usize = 8;
/// Entries whose sum is made before it joins the sum of all, so that the error does not grow with
/// the length of a row.
const SEGMENT: usize = 64;
/// Entries whose rows are asked for ahead of time.
const AHEAD: usize = 6;
/// Rows whose columns are summed by one task.
const BLOCK: usize = 1024;

/// Eight numbers that go through the processor together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(32))]
pub struct Lane(pub [f32; LANES]);

/// Makes a function that is compiled twice: for every machine, and for AVX2, where the machine has it.
macro_rules! wide {
    ($(#[$about:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$about])*
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn here($($arg: $type),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $type),*) $(-> $out)? {
                here($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if crate::topic::bags::has_avx2() {
                // SAFETY: the machine has what the function is compiled for.
                return unsafe { avx2($($arg),*) };
            }
            here($($arg),*)
        }
    };
}
pub(super) use wide;

/// Whether the machine has AVX2, unless a test wants the other loops.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2() -> bool {
    #[cfg(test)]
    if tests::PORTABLE.get() {
        return false;
    }
    std::arch::is_x86_feature_detected!("avx2")
}

/// A dense matrix whose rows are whole lanes.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    dim: usize,
    lanes: usize,
    values: Vec<Lane>,
}

impl Rows {
    pub fn zeros(n_rows: usize, dim: usize) -> Self {
        let lanes = dim.div_ceil(LANES);
        Rows { dim, lanes, values: vec![Lane::default(); n_rows * lanes] }
    }

    /// The bytes of so many rows.
    pub fn bytes(n_rows: usize, dim: usize) -> u64 {
        (n_rows as u64).saturating_mul(dim.div_ceil(LANES) as u64 * size_of::<Lane>() as u64)
    }

    /// The lanes of a row.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    pub fn n_rows(&self) -> usize {
        self.values.len() / self.lanes.max(1)
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> &[Lane] {
        &self.values[i * self.lanes..][..self.lanes]
    }

    pub fn row_mut(&mut self, i: usize) -> &mut [Lane] {
        &mut self.values[i * self.lanes..][..self.lanes]
    }

    pub fn par_rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [Lane]> {
        self.values.par_chunks_mut(self.lanes.max(1))
    }

    /// The rows `span`, to be written in parallel.
    pub fn par_span_mut(
        &mut self,
        span: Range<usize>,
    ) -> impl IndexedParallelIterator<Item = &mut [Lane]> {
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
        let block = |rows: &[Lane]| {
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

/// Copies a row of numbers into lanes.
pub fn copy_in(row: &[f32], lanes: &mut [Lane]) {
    for (lane, from) in lanes.iter_mut().zip(row.chunks(LANES)) {
        lane.0[..from.len()].copy_from_slice(from);
        lane.0[from.len()..].fill(0.0);
    }
}

/// Copies lanes into a row of numbers.
pub fn copy_out(lanes: &[Lane], row: &mut [f32]) {
    for (to, lane) in row.chunks_mut(LANES).zip(lanes) {
        to.copy_from_slice(&lane.0[..to.len()]);
    }
}

/// 1 for topics, 0 for what fills lanes up.
pub fn mask(dim: usize) -> Vec<Lane> {
    let mut lanes = vec![Lane::default(); dim.div_ceil(LANES)];
    copy_in(&vec![1.0; dim], &mut lanes);
    lanes
}

/// The sum of all lanes, in f64.
pub fn total(lanes: &[Lane]) -> f64 {
    lanes.iter().flat_map(|lane| lane.0).map(f64::from).sum()
}

/// The dot product: two sums of eight lanes, added as a tree.
#[inline(always)]
pub fn dot(a: &[Lane], b: &[Lane]) -> f32 {
    let mut sums = [Lane::default(); 2];
    let (a_pairs, a_rest) = a.as_chunks::<2>();
    let (b_pairs, b_rest) = b.as_chunks::<2>();
    for (a, b) in a_pairs.iter().zip(b_pairs) {
        for half in 0..2 {
            for lane in 0..LANES {
                sums[half].0[lane] += a[half].0[lane] * b[half].0[lane];
            }
        }
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        for lane in 0..LANES {
            sums[0].0[lane] += a.0[lane] * b.0[lane];
        }
    }
    for lane in 0..LANES {
        sums[0].0[lane] += sums[1].0[lane];
    }
    let eight = sums[0].0;
    let mut four = Lane::default();
    for lane in 0..4 {
        four.0[lane] = eight[lane] + eight[lane + 4];
    }
    (four.0[0] + four.0[2]) + (four.0[1] + four.0[3])
}

/// sum += scale·x.
#[inline(always)]
pub fn add(scale: f32, x: &[Lane], sum: &mut [Lane]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        for lane in 0..LANES {
            sum.0[lane] += scale * x.0[lane];
        }
    }
}

/// Where a walk adds up.
pub struct Sums {
    /// What the last walk found.
    pub sum: Vec<Lane>,
    part: Vec<Lane>,
}

impl Sums {
    pub fn new(lanes: usize) -> Self {
        Sums { sum: vec![Lane::default(); lanes], part: vec![Lane::default(); lanes] }
    }
}

wide! {
    /// Σ n/t·row over `entries`, where row is that of the entry in `matrix` and t = own·row;
    /// entries with t = 0 are left out.
    pub fn walk(entries: Row<'_>, matrix: &Rows, own: &[Lane], sums: &mut Sums) {
        each(entries, matrix, own, sums, |_, _| ());
    }
}

wide! {
    /// Σ n·ln t over words whose rows lie side by side, t = own·row.
    pub fn logs(words: &[Lane], counts: &[f32], own: &[Lane]) -> f64 {
        let mut log = 0.0f64;
        for (rows, counts) in words.chunks(LANES * own.len()).zip(counts.chunks(LANES)) {
            let mut ts = Lane([1.0; LANES]);
            for (t, row) in ts.0.iter_mut().zip(rows.chunks_exact(own.len())) {
                let found = dot(own, row);
                *t = if found > 0.0 { found } else { 1.0 };
            }
            for (&count, l) in counts.iter().zip(ln(ts).0) {
                log += f64::from(count) * f64::from(l);
            }
        }
        log
    }
}

wide! {
    /// [`walk`], and Σ n·ln t.
    pub fn walk_with_log(
        entries: Row<'_>,
        matrix: &Rows,
        own: &[Lane],
        sums: &mut Sums,
    ) -> f64 {
        let mut log = 0.0f64;
        each(entries, matrix, own, sums, |ts, counts| {
            for (ts, counts) in ts.chunks(LANES).zip(counts.chunks(LANES)) {
                let mut lane = Lane([1.0; LANES]);
                lane.0[..ts.len()].copy_from_slice(ts);
                let lane = ln(lane);
                for (&count, l) in counts.iter().zip(lane.0) {
                    log += f64::from(count) * f64::from(l);
                }
            }
        });
        log
    }
}

/// The walk, segment by segment; `seen` gets every t and its count, 1 where t = 0.
#[inline(always)]
fn each(
    entries: Row<'_>,
    matrix: &Rows,
    own: &[Lane],
    sums: &mut Sums,
    mut seen: impl FnMut(&[f32], &[f32]),
) {
    let Sums { sum, part } = sums;
    sum.fill(Lane::default());
    let mut ts = [1.0f32; SEGMENT];
    let segments = entries.indices.chunks(SEGMENT).zip(entries.values.chunks(SEGMENT));
    for (indices, counts) in segments {
        part.fill(Lane::default());
        for (at, (&index, &count)) in indices.iter().zip(counts).enumerate() {
            if let Some(&coming) = indices.get(at + AHEAD) {
                prefetch(&matrix.values, coming as usize * matrix.lanes, matrix.lanes);
            }
            let row = matrix.row(index as usize);
            let t = dot(own, row);
            ts[at] = if t > 0.0 { t } else { 1.0 };
            let scale = if t > 0.0 { count / t } else { 0.0 };
            add(scale, row, part);
        }
        add(1.0, part, sum);
        seen(&ts[..indices.len()], counts);
    }
}

/// Asks for `lanes` lanes without waiting for them.
#[inline(always)]
fn prefetch(values: &[Lane], first: usize, lanes: usize) {
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

/// Does one row after the other in parallel, each in a `workspace` of its thread, and adds up what
/// they return in order.
pub fn each_row<'a, R: Send>(
    rows: impl IndexedParallelIterator<Item = &'a mut [Lane]>,
    run: &Run<'_>,
    workspace: impl Fn() -> R + Sync + Send,
    work: impl Fn(usize, &mut [Lane], &mut R) -> f64 + Sync + Send,
) -> Result<f64> {
    let parts: Vec<f64> = rows
        .enumerate()
        .map_init(&workspace, |workspace, (i, row)| {
            run.check()?;
            Ok(work(i, row, workspace))
        })
        .collect::<Result<_>>()?;
    Ok(parts.iter().sum())
}

/// Topics of words, into which bags of words are folded while they stay as they are.
pub trait BagTopics: Send + Sync {
    /// Terms × topics, as learnt; rows of words that no document of training has are zero.
    fn weights(&self) -> &Dense;

    /// Terms × topics: the probability of every word in a topic.
    fn probabilities(&self) -> Cow<'_, Dense>;

    /// The number of topics.
    fn dim(&self) -> usize {
        self.weights().n_cols()
    }

    /// Whether training has the word.
    fn knows(&self, term: u32) -> bool {
        self.weights().row(term as usize).iter().any(|&weight| weight > 0.0)
    }

    /// The share of every topic in `words`; even where training has none of them.
    fn fold_in(&self, words: Row<'_>, workspace: &mut Workspace, theta: &mut [f32]);

    /// The same of the rows of `docs` from number `first`.
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

/// What one document needs while it is folded in: the rows of its words side by side, so that
/// many rounds read what lies near.
pub struct Workspace {
    /// The rows of the words, word after word.
    pub(super) words: Vec<Lane>,
    /// How often each occurs.
    pub(super) counts: Vec<f32>,
    /// A row for the topics of the document.
    pub(super) theta: Vec<Lane>,
    /// And one more.
    pub(super) other: Vec<Lane>,
    /// Sums over the words.
    pub(super) sums: Sums,
}

impl Workspace {
    /// Workspace for the documents of so many topics.
    pub fn new(dim: usize) -> Self {
        let lanes = dim.div_ceil(LANES);
        let row = || vec![Lane::default(); lanes];
        Workspace {
            words: Vec::new(),
            counts: Vec::new(),
            theta: row(),
            other: row(),
            sums: Sums::new(lanes),
        }
    }

    /// Empties the list of words.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.counts.clear();
    }

    /// Adds a word, and gives the place of its row.
    pub(super) fn push(&mut self, count: f32) -> &mut [Lane] {
        let (from, lanes) = (self.words.len(), self.theta.len());
        self.words.resize(from + lanes, Lane::default());
        self.counts.push(count);
        &mut self.words[from..]
    }
}

/// Σ n/t·row over words whose rows lie side by side, as [`walk`] sums it.
#[inline(always)]
pub fn gather(words: &[Lane], counts: &[f32], own: &[Lane], sums: &mut Sums) {
    let Sums { sum, part } = sums;
    let lanes = own.len();
    sum.fill(Lane::default());
    let segments = words.chunks(SEGMENT * lanes).zip(counts.chunks(SEGMENT));
    for (rows, counts) in segments {
        part.fill(Lane::default());
        for (row, &count) in rows.chunks_exact(lanes).zip(counts) {
            let t = dot(own, row);
            let scale = if t > 0.0 { count / t } else { 0.0 };
            add(scale, row, part);
        }
        add(1.0, part, sum);
    }
}

#[cfg(test)]
pub(super) mod tests;
