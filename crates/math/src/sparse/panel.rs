//! A sparse matrix times a panel: a dense block of [`PANEL`] columns, stored by rows.
//!
//! Each entry of the matrix gathers one row of the panel, two cache lines at a random address. The
//! speed depends on the number of cache misses in flight. So the rows of later entries are
//! prefetched, which doubles the speed, and wide vector instructions are used, which adds a sixth:
//! the fewer instructions a row takes, the more rows fit into the processor's window. A panel of the
//! papers' one week (200,000 rows) takes 26 MB, about the size of the last-level cache; wider panels
//! do not fit, narrower ones waste half of each access.
//!
//! Rows are cut into tasks of equal work, not of equal length: the row of a frequent word may
//! have a million entries. Rows longer than [`LONG`] are summed in chunks by several threads. The
//! chunks depend on the length alone, so the sums are the same bits at any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::{Csr, SEGMENT};
use crate::dense::{PANEL, PanelRow};

/// Rows with more entries than this are summed in chunks of this many.
const LONG: usize = 1 << 14;
/// Distance of the prefetch, in entries.
const AHEAD: usize = 16;
/// The work of a task in entries, where a row itself counts as two: some microseconds.
const TASK: usize = 1 << 13;

/// A sparse matrix with its rows cut into tasks of equal work.
#[derive(Debug, Clone)]
pub struct TaskedCsr {
    matrix: Csr,
    tasks: Vec<Range<usize>>,
    /// The rows that are summed in chunks.
    long: Vec<usize>,
    /// The entries of all chunks, row after row.
    chunks: Vec<Range<usize>>,
}

impl TaskedCsr {
    /// Cuts the rows of `matrix` into tasks.
    pub fn new(matrix: Csr) -> Self {
        let mut tasks = Vec::new();
        let (mut long, mut chunks) = (Vec::new(), Vec::new());
        let (mut first, mut work) = (0, 0);
        for i in 0..matrix.n_rows() {
            let entries = matrix.row(i).len();
            if entries > LONG {
                long.push(i);
                let (start, end) = (matrix.starts()[i] as usize, matrix.starts()[i + 1] as usize);
                chunks.extend((start..end).step_by(LONG).map(|at| at..(at + LONG).min(end)));
            } else {
                work += entries;
            }
            work += 2;
            if work >= TASK {
                tasks.push(first..i + 1);
                (first, work) = (i + 1, 0);
            }
        }
        if first < matrix.n_rows() {
            tasks.push(first..matrix.n_rows());
        }
        TaskedCsr { matrix, tasks, long, chunks }
    }

    /// The matrix.
    pub fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// Calls `finish(i, sums, out_i, row_out_i)` with the product of every row i and the panel `b`.
    /// `values` replace the matrix's own. `finish` writes `out_i`, or leaves it as it is.
    ///
    /// # Panics
    /// If a shape does not fit.
    pub fn times<T: Send>(
        &self,
        values: &[f32],
        b: &[f32],
        out: &mut [f32],
        row_out: &mut [T],
        finish: impl Fn(usize, &mut PanelRow, &mut PanelRow, &mut T) + Sync,
    ) {
        self.times_by(Build::best(), values, b, out, row_out, finish);
    }

    fn times_by<T: Send>(
        &self,
        build: Build,
        values: &[f32],
        b: &[f32],
        out: &mut [f32],
        row_out: &mut [T],
        finish: impl Fn(usize, &mut PanelRow, &mut PanelRow, &mut T) + Sync,
    ) {
        let a = &self.matrix;
        assert_eq!(values.len(), a.nnz(), "one value per entry");
        assert_eq!(b.len(), a.n_cols() * PANEL, "one row of the panel per column of the matrix");
        assert_eq!(out.len(), a.n_rows() * PANEL, "one row of the product per row of the matrix");
        assert_eq!(row_out.len(), a.n_rows(), "one entry of `row_out` per row of the matrix");
        let (b, _) = b.as_chunks::<PANEL>();
        let long = self.long_rows(build, values, b);
        let inputs = TaskInputs { build, a, values, b, long_rows: &self.long, long: &long };
        self.in_tasks(out, row_out)
            .for_each(|(rows, out, row_out)| inputs.run(rows, out, row_out, &finish));
    }

    /// The products of the long rows: chunks in parallel, added in order for each row.
    fn long_rows(&self, build: Build, values: &[f32], b: &[PanelRow]) -> Vec<PanelRow> {
        let a = &self.matrix;
        let sum = |span: &Range<usize>| build.sum(a.indices(), values, span.clone(), b);
        let sums: Vec<PanelRow> = self.chunks.par_iter().map(sum).collect();
        let mut sums = sums.into_iter();
        self.long
            .iter()
            .map(|&i| {
                let n_chunks = a.row(i).len().div_ceil(LONG);
                sums.by_ref().take(n_chunks).fold([0.0; PANEL], added)
            })
            .collect()
    }

    /// The tasks, each with its rows of `panel` and `row_out`.
    fn in_tasks<'a, T: Send>(
        &'a self,
        panel: &'a mut [f32],
        row_out: &'a mut [T],
    ) -> impl ParallelIterator<Item = (Range<usize>, &'a mut [PanelRow], &'a mut [T])> {
        let (mut rows_left, _) = panel.as_chunks_mut::<PANEL>();
        let mut about_left = row_out;
        let mut parts = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let (rows, rows_rest) = rows_left.split_at_mut(task.len());
            let (row_out, about_rest) = about_left.split_at_mut(task.len());
            parts.push((task.clone(), rows, row_out));
            (rows_left, about_left) = (rows_rest, about_rest);
        }
        parts.into_par_iter()
    }
}

/// The instruction set that the loops are compiled for. Wider instructions give the same bits.
#[derive(Debug, Clone, Copy)]
enum Build {
    /// Any processor.
    Portable,
    /// AVX2. Only [`Build::avx2`] makes it, if the processor has it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Build {
    /// AVX2, if the processor has it.
    fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if crate::processor::has_avx2() {
            return Some(Build::Avx2);
        }
        None
    }

    fn best() -> Self {
        Build::avx2().unwrap_or(Build::Portable)
    }

    /// [`sum`], compiled for these instructions.
    fn sum(self, indices: &[u32], values: &[f32], span: Range<usize>, b: &[PanelRow]) -> PanelRow {
        match self {
            Build::Portable => sum(indices, values, span, b),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2.
            Build::Avx2 => unsafe { sum_avx2(indices, values, span, b) },
        }
    }
}

/// The inputs that all tasks of a product share.
#[derive(Clone, Copy)]
struct TaskInputs<'a> {
    build: Build,
    a: &'a Csr,
    values: &'a [f32],
    b: &'a [PanelRow],
    long_rows: &'a [usize],
    long: &'a [PanelRow],
}

impl TaskInputs<'_> {
    /// Computes the rows of one task.
    fn run<T>(
        self,
        rows: Range<usize>,
        out: &mut [PanelRow],
        row_out: &mut [T],
        finish: &impl Fn(usize, &mut PanelRow, &mut PanelRow, &mut T),
    ) {
        match self.build {
            Build::Portable => self.run_here(rows, out, row_out, finish),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has AVX2.
            Build::Avx2 => unsafe { self.run_avx2(rows, out, row_out, finish) },
        }
    }

    /// [`TaskInputs::run_here`], compiled for AVX2. Nothing is fused: that would change the bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_avx2<T>(
        self,
        rows: Range<usize>,
        out: &mut [PanelRow],
        row_out: &mut [T],
        finish: &impl Fn(usize, &mut PanelRow, &mut PanelRow, &mut T),
    ) {
        self.run_here(rows, out, row_out, finish);
    }

    #[inline(always)]
    fn run_here<T>(
        self,
        rows: Range<usize>,
        out: &mut [PanelRow],
        row_out: &mut [T],
        finish: &impl Fn(usize, &mut PanelRow, &mut PanelRow, &mut T),
    ) {
        let TaskInputs { a, values, b, long_rows, long, .. } = self;
        let mut next_long = long_rows.partition_point(|&i| i < rows.start);
        for ((i, out), row_out) in rows.zip(out).zip(row_out) {
            let span = a.starts()[i] as usize..a.starts()[i + 1] as usize;
            let mut sums = if span.len() > LONG {
                next_long += 1;
                long[next_long - 1]
            } else {
                sum(a.indices(), values, span, b)
            };
            finish(i, &mut sums, out, row_out);
        }
    }
}

/// [`sum`], compiled for AVX2. Nothing is fused: that would change the bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(indices: &[u32], values: &[f32], span: Range<usize>, b: &[PanelRow]) -> PanelRow {
    sum(indices, values, span, b)
}

/// Σ value·(row of b) over the entries `span`.
#[inline(always)]
fn sum(indices: &[u32], values: &[f32], span: Range<usize>, b: &[PanelRow]) -> PanelRow {
    if span.len() <= SEGMENT {
        return sum_segment(indices, values, span, b);
    }
    let mut total = [0.0; PANEL];
    for first in span.clone().step_by(SEGMENT) {
        let segment = first..(first + SEGMENT).min(span.end);
        total = added(total, sum_segment(indices, values, segment, b));
    }
    total
}

#[inline(always)]
fn sum_segment(indices: &[u32], values: &[f32], span: Range<usize>, b: &[PanelRow]) -> PanelRow {
    let mut sums = [0.0f32; PANEL];
    for at in span {
        if let Some(&coming) = indices.get(at + AHEAD) {
            prefetch(b, coming as usize);
        }
        let (value, row) = (values[at], &b[indices[at] as usize]);
        for (sum, &entry) in sums.iter_mut().zip(row) {
            *sum += value * entry;
        }
    }
    sums
}

#[inline(always)]
fn added(mut a: PanelRow, b: PanelRow) -> PanelRow {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

/// Prefetches row `i` of the panel.
#[inline(always)]
fn prefetch(b: &[PanelRow], i: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let row = b.as_ptr().wrapping_add(i).cast::<i8>();
        // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(row);
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (b, i);
}

/// out = a·b with `values` in place of those of `a`, summed as [`TaskedCsr::times`] does.
pub fn times_panel(a: &TaskedCsr, values: &[f32], b: &[f32], out: &mut [f32]) {
    let mut nothing = vec![(); a.matrix.n_rows()];
    a.times(values, b, out, &mut nothing, |_, sums, out, ()| *out = *sums);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dense::Dense;
    use crate::oracle::{Naive, random_csr, same_at_any_thread_count, sparse};

    fn product(a: &Csr, b: &Dense) -> Dense {
        let mut out = vec![f32::NAN; a.n_rows() * PANEL];
        times_panel(&TaskedCsr::new(a.clone()), a.values(), b.values(), &mut out);
        Dense::from_values(a.n_rows(), PANEL, out)
    }

    proptest! {
        #[test]
        fn a_panel_agrees_with_three_loops(a in sparse(0..12, 0..12), seed in 0u64..1000) {
            let b = Dense::gaussian(a.n_cols(), PANEL, seed);
            Naive::of(&a).times(&Naive::of_dense(&b)).assert_close(&product(&a, &b), 1e-5);
        }
    }

    /// A matrix with a row of 100,000 entries among short ones.
    fn with_a_long_row() -> Csr {
        let n = 100_000;
        let mut triplets: Vec<(u32, u32, f32)> =
            (0..n).map(|j| (7, j, 1.0 / (j + 1) as f32)).collect();
        triplets.extend((0..20).filter(|&i| i != 7).map(|i| (i, 3 * i, 2.0)));
        Csr::from_triplets(20, n as usize, triplets).unwrap()
    }

    #[test]
    fn long_rows_are_summed_alike_by_any_number_of_threads() {
        let a = with_a_long_row();
        let b = Dense::gaussian(a.n_cols(), PANEL, 3);
        let found = same_at_any_thread_count(|| product(&a, &b));
        let wide: f64 = a.row(7).iter().map(|(j, v)| f64::from(v * b.row(j as usize)[5])).sum();
        assert!((f64::from(found.row(7)[5]) - wide).abs() < 1e-4);
        assert_eq!(found.row(2), b.row(6).iter().map(|v| 2.0 * v).collect::<Vec<_>>());
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn wide_instructions_give_the_bits_of_portable_ones() {
        let Some(avx2) = Build::avx2() else {
            eprintln!("skipped: this processor has no AVX2");
            return;
        };
        // Rows of nothing, of one segment and more, and of more pieces than one.
        let lengths = [0, 1, 7, SEGMENT, SEGMENT + 1, 0, 3000, LONG, LONG + 1, 40, 2 * LONG + 9, 0];
        let n_cols = 2 * LONG + 9;
        let mut random = crate::random::Random::new(1, 0);
        let mut triplets = Vec::new();
        for (i, &length) in (0u32..).zip(&lengths) {
            let columns = (0..length).map(|at| (at * n_cols / length) as u32);
            triplets.extend(columns.map(|column| (i, column, random.normal() as f32)));
        }
        let a = Csr::from_triplets(lengths.len(), n_cols, triplets).unwrap();
        assert!(a.rows().zip(lengths).all(|(row, length)| row.len() == length));
        let b = Dense::gaussian(n_cols, PANEL, 2);
        for a in [a, random_csr(3000, n_cols, 12, 3)] {
            let tasked = TaskedCsr::new(a.clone());
            let bits = |build: Build| -> Vec<u32> {
                let mut out = vec![f32::NAN; a.n_rows() * PANEL];
                let mut nothing = vec![(); a.n_rows()];
                let keep = |_, sums: &mut PanelRow, out: &mut PanelRow, (): &mut ()| *out = *sums;
                tasked.times_by(build, a.values(), b.values(), &mut out, &mut nothing, keep);
                out.into_iter().map(f32::to_bits).collect()
            };
            assert!(bits(avx2) == bits(Build::Portable));
        }
    }

    #[test]
    fn tasks_cover_all_rows_and_share_the_work() {
        for a in [
            random_csr(9000, 500, 6, 1),
            with_a_long_row(),
            Csr::empty(0, 3),
            Csr::empty(40_000, 3),
        ] {
            let tasked = TaskedCsr::new(a.clone());
            let mut next = 0;
            for rows in &tasked.tasks {
                assert_eq!(rows.start, next);
                next = rows.end;
                let work: usize = rows
                    .clone()
                    .map(|i| 2 + if tasked.long.contains(&i) { 0 } else { a.row(i).len() })
                    .sum();
                assert!(work <= TASK + LONG);
            }
            assert_eq!(next, a.n_rows());
        }
    }

    #[test]
    fn a_long_row_of_equal_entries_keeps_its_precision() {
        let n = 1_000_000;
        let a = Csr::new(n, vec![0, n as u64], (0..n as u32).collect(), vec![0.1; n]).unwrap();
        let sum = product(&a, &Dense::from_fn(n, PANEL, |_, _| 1.0)).row(0)[0];
        assert!((sum / 100_000.0 - 1.0).abs() < 1e-4, "{sum}");
    }
}
