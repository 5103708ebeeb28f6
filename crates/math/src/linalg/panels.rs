//! A tall matrix, such as a map from features into the latent space, stored as panels of
//! [`PANEL`] columns and one factor per row.
//!
//! A trainer computes such a matrix panel by panel and knows the norm of a row only after the last
//! panel: the factor scales the row without touching it again. Panels are dense, or packed where
//! that is clearly smaller, or not stored at all: the random start is recomputed from
//! (seed, row, column) whenever it is read.

use std::path::Path;

use rayon::prelude::*;

use super::normals::NormalField;
use super::packed::{BLOCK, Packed};
use super::{Buffer, Dense};
use crate::Result;
use crate::dense::{PANEL, PanelRow};
use crate::sparse::{Csr, TaskedCsr, times_panel};

/// Rows per task.
const ROWS_PER_TASK: usize = 1024;

/// A tall matrix of panels whose rows are scaled by factors.
#[derive(Debug)]
pub struct Panels {
    n_rows: usize,
    n_cols: usize,
    panels: Vec<Panel>,
    scale: Option<Vec<f32>>,
}

/// One panel.
#[derive(Debug)]
pub enum Panel {
    /// All values are stored.
    Dense(Buffer),
    /// Only non-zero values are stored.
    Packed(Packed),
    /// Standard normals, computed when they are read.
    Random(NormalField),
}

impl Panel {
    /// A panel of `values`, packed if that saves at least a quarter; then the buffer is returned.
    pub fn of(values: Buffer) -> Result<(Self, Option<Buffer>)> {
        Ok(match Packed::if_smaller(&values)? {
            Some(packed) => (Panel::Packed(packed), Some(values)),
            None => (Panel::Dense(values), None),
        })
    }
}

/// The number of panels for `dim` columns.
pub fn n_panels(dim: usize) -> usize {
    dim.div_ceil(PANEL)
}

impl Panels {
    /// A matrix without panels, which [`Panels::push`] adds in order.
    pub fn new(n_rows: usize, n_cols: usize) -> Self {
        Panels { n_rows, n_cols, panels: Vec::new(), scale: None }
    }

    /// Normals whose rows are scaled to the norm `theta`. Only the factors are stored.
    pub fn random(n_rows: usize, n_cols: usize, seed: u64, theta: f32) -> Self {
        let field = NormalField::new(seed);
        let norm = |i: usize| {
            let mut squares = 0.0;
            for p in 0..n_panels(n_cols) {
                squares += squared_norm(&field.row(i, p, n_cols));
            }
            (f64::from(theta) / f64::sqrt(squares)) as f32
        };
        let scale = (0..n_rows).into_par_iter().with_min_len(ROWS_PER_TASK).map(norm).collect();
        let panels = (0..n_panels(n_cols)).map(|_| Panel::Random(field.clone())).collect();
        Panels { n_rows, n_cols, panels, scale: Some(scale) }
    }

    /// A copy of `matrix` in dense panels.
    pub fn from_dense(matrix: &Dense) -> Result<Self> {
        let mut made = Panels::new(matrix.n_rows(), matrix.n_cols());
        for p in 0..n_panels(matrix.n_cols()) {
            let mut buffer = Buffer::zeros(matrix.n_rows() * PANEL)?;
            matrix.copy_to_panel(made.columns(p), &mut buffer);
            made.panels.push(Panel::Dense(buffer));
        }
        Ok(made)
    }

    /// A copy of `matrix`. Panels are packed where that is clearly smaller.
    pub fn from_csr(matrix: &Csr) -> Result<Self> {
        let mut made = Panels::new(matrix.n_rows(), matrix.n_cols());
        let mut spare = None;
        for p in 0..n_panels(matrix.n_cols()) {
            let columns = made.columns(p);
            let mut values = match spare.take() {
                Some(buffer) => buffer,
                None => Buffer::zeros(matrix.n_rows() * PANEL)?,
            };
            let (rows, _) = values.as_chunks_mut::<PANEL>();
            rows.par_iter_mut().enumerate().with_min_len(ROWS_PER_TASK).for_each(|(i, out)| {
                out.fill(0.0);
                let row = matrix.row(i);
                let before = |end: usize| row.indices.partition_point(|&c| (c as usize) < end);
                for at in before(columns.start)..before(columns.end) {
                    out[row.indices[at] as usize - columns.start] = row.values[at];
                }
            });
            let panel;
            (panel, spare) = Panel::of(values)?;
            made.push(panel);
        }
        Ok(made)
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The factors of the rows; `None` if all are one.
    pub fn scale(&self) -> Option<&[f32]> {
        self.scale.as_deref()
    }

    /// Sets the factor of every row.
    pub fn set_scale(&mut self, scale: Vec<f32>) {
        self.scale = Some(scale);
    }

    /// The panels in order, without the factors.
    pub fn into_panels(self) -> impl Iterator<Item = Panel> {
        self.panels.into_iter()
    }

    /// Adds the next panel.
    pub fn push(&mut self, panel: Panel) {
        self.panels.push(panel);
    }

    /// The panels, to write.
    pub fn panels_mut(&mut self) -> &mut [Panel] {
        &mut self.panels
    }

    /// The unscaled values of panel `p`. `scratch` holds them if the panel is not dense.
    pub fn panel<'a>(&'a self, p: usize, scratch: &'a mut Buffer) -> &'a [f32] {
        match &self.panels[p] {
            Panel::Dense(values) => values,
            Panel::Packed(packed) => {
                packed.unpack(scratch);
                scratch
            }
            Panel::Random(field) => {
                let (rows, _) = scratch.as_chunks_mut::<PANEL>();
                rows.par_iter_mut()
                    .enumerate()
                    .with_min_len(ROWS_PER_TASK)
                    .for_each(|(i, row)| *row = field.row(i, p, self.n_cols));
                scratch
            }
        }
    }

    /// The scratch for [`Panels::panel`]; empty if all panels are dense.
    pub fn scratch_panel(&self) -> Result<Buffer> {
        let dense = self.panels.iter().all(|panel| matches!(panel, Panel::Dense(_)));
        Buffer::zeros(if dense { 0 } else { self.n_rows * PANEL })
    }

    /// Writes row `i`, scaled, to `out`.
    ///
    /// # Panics
    /// If `out` has not one place per column.
    pub fn row_into(&self, i: usize, out: &mut [f32]) {
        assert_eq!(out.len(), self.n_cols, "one place per column");
        let scale = self.scale.as_ref().map_or(1.0, |scale| scale[i]);
        for (p, out) in (0..self.panels.len()).zip(out.chunks_mut(PANEL)) {
            out.iter_mut().zip(self.panel_row(p, i)).for_each(|(out, value)| *out = value * scale);
        }
    }

    /// Row `i` of panel `p`, unscaled.
    fn panel_row(&self, p: usize, i: usize) -> PanelRow {
        match &self.panels[p] {
            Panel::Dense(values) => values.as_chunks::<PANEL>().0[i],
            Panel::Packed(packed) => packed.row(i),
            Panel::Random(field) => field.row(i, p, self.n_cols),
        }
    }

    /// `f` of every scaled row, in order.
    pub fn map_rows<T: Send>(&self, f: impl Fn(&[f32]) -> T + Sync) -> Vec<T> {
        (0..self.n_rows.div_ceil(BLOCK))
            .into_par_iter()
            .flat_map_iter(|block| {
                let mut made = Vec::with_capacity(BLOCK);
                let mut row = vec![0.0; self.n_cols];
                let rows = self.rows_of_block(block);
                for k in 0..BLOCK.min(self.n_rows - block * BLOCK) {
                    self.scaled_row(&rows, block, k, &mut row);
                    made.push(f(&row));
                }
                made
            })
            .collect()
    }

    /// Writes row `k` of a block, scaled, to `out`; `rows` are those of all panels.
    fn scaled_row(&self, rows: &[Vec<PanelRow>], block: usize, k: usize, out: &mut [f32]) {
        let scale = self.scale.as_ref().map_or(1.0, |scale| scale[block * BLOCK + k]);
        for (panel, out) in rows.iter().zip(out.chunks_mut(PANEL)) {
            out.iter_mut().zip(panel[k]).for_each(|(out, value)| *out = value * scale);
        }
    }

    /// The matrix by rows, scaled.
    pub fn to_dense(&self) -> Result<Dense> {
        self.to_dense_in(None)
    }

    /// The matrix by rows, scaled, in memory or in a scratch file in `folder` if one is given.
    /// Panels and rows are read and written in order, so either may lie in a file.
    pub fn to_dense_in(&self, folder: Option<&Path>) -> Result<Dense> {
        let mut matrix = Dense::placed(self.n_rows, self.n_cols, folder)?;
        let n_cols = self.n_cols.max(1);
        matrix.values_mut().par_chunks_mut(BLOCK * n_cols).enumerate().for_each(|(block, out)| {
            let rows = self.rows_of_block(block);
            for (k, out) in out.chunks_mut(n_cols).enumerate() {
                self.scaled_row(&rows, block, k, out);
            }
        });
        Ok(matrix)
    }

    /// The matrix by rows without its zeros, scaled.
    pub fn to_csr(&self) -> Result<Csr> {
        let n_blocks = self.n_rows.div_ceil(BLOCK);
        let counts: Vec<u32> = (0..n_blocks)
            .into_par_iter()
            .flat_map_iter(|block| self.filled_in_block(block))
            .collect();
        let mut starts = Vec::with_capacity(self.n_rows + 1);
        starts.push(0);
        counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + u64::from(*count)));
        drop(counts);
        let nnz = starts[self.n_rows] as usize;
        let (mut indices, mut values) = (vec![0u32; nnz], vec![0.0f32; nnz]);
        let (mut indices_left, mut values_left) = (&mut indices[..], &mut values[..]);
        let mut blocks = Vec::new();
        for first in (0..self.n_rows).step_by(BLOCK) {
            let end = (first + BLOCK).min(self.n_rows);
            let here = (starts[end] - starts[first]) as usize;
            let (block_indices, indices_rest) = indices_left.split_at_mut(here);
            let (block_values, values_rest) = values_left.split_at_mut(here);
            blocks.push((block_indices, block_values));
            (indices_left, values_left) = (indices_rest, values_rest);
        }
        blocks.into_par_iter().enumerate().for_each(|(block, (indices, values))| {
            let rows = self.rows_of_block(block);
            let mut places = indices.iter_mut().zip(values);
            for (k, i) in (block * BLOCK..((block + 1) * BLOCK).min(self.n_rows)).enumerate() {
                let scale = self.scale.as_ref().map_or(1.0, |scale| scale[i]);
                for (p, panel) in rows.iter().enumerate() {
                    let entries = panel[k].iter().enumerate().filter(|(_, value)| **value != 0.0);
                    for ((column, &value), place) in entries.zip(&mut places) {
                        (*place.0, *place.1) = ((p * PANEL + column) as u32, value * scale);
                    }
                }
            }
        });
        Csr::new(self.n_cols, starts, indices, values)
    }

    /// The unscaled rows of a block, for every panel.
    fn rows_of_block(&self, block: usize) -> Vec<Vec<PanelRow>> {
        let span = block * BLOCK..((block + 1) * BLOCK).min(self.n_rows);
        let rows = |(p, panel): (usize, &Panel)| match panel {
            Panel::Dense(values) => values.as_chunks::<PANEL>().0[span.clone()].to_vec(),
            Panel::Packed(packed) => {
                let mut rows = vec![[0.0; PANEL]; span.len()];
                packed.unpack_block(block, &mut rows);
                rows
            }
            Panel::Random(field) => span.clone().map(|i| field.row(i, p, self.n_cols)).collect(),
        };
        self.panels.iter().enumerate().map(rows).collect()
    }

    /// The number of non-zero values of each row of a block.
    fn filled_in_block(&self, block: usize) -> Vec<u32> {
        let mut counts = vec![0; BLOCK.min(self.n_rows - block * BLOCK)];
        for (p, panel) in self.panels.iter().enumerate() {
            match panel {
                Panel::Packed(packed) => {
                    counts.iter_mut().zip(packed.filled_in_block(block)).for_each(|(n, k)| *n += k);
                }
                Panel::Dense(_) | Panel::Random(_) => {
                    for (k, count) in counts.iter_mut().enumerate() {
                        let row = self.panel_row(p, block * BLOCK + k);
                        *count += row.iter().filter(|&&value| value != 0.0).count() as u32;
                    }
                }
            }
        }
        counts
    }

    /// `rows` times this matrix: the embeddings of sparse rows.
    pub fn embeddings(&self, rows: &Csr) -> Result<Dense> {
        let mut embeddings = Dense::zeros(rows.n_rows(), self.n_cols);
        let rows = TaskedCsr::new(match &self.scale {
            Some(scale) => rows.map(|_, column, value| value * scale[column as usize])?,
            None => rows.clone(),
        });
        let mut out = Buffer::zeros(embeddings.n_rows() * PANEL)?;
        let mut scratch = self.scratch_panel()?;
        for p in 0..self.panels.len() {
            let panel = self.panel(p, &mut scratch);
            times_panel(&rows, rows.matrix().values(), panel, &mut out);
            embeddings.copy_from_panel(self.columns(p), &out);
        }
        Ok(embeddings)
    }

    /// The embeddings of the rows `which` of `rows`, the same bits as [`Panels::embeddings`]. Only the
    /// rows of this matrix that they need are read, and no scratch for a whole panel is taken.
    pub fn embeddings_of(&self, rows: &Csr, which: &[u32]) -> Result<Dense> {
        let chosen = || which.iter().map(|&i| rows.row(i as usize));
        let mut met: Vec<u32> = chosen().flat_map(|row| row.indices).copied().collect();
        met.sort_unstable();
        met.dedup();
        let (mut starts, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for row in chosen() {
            for (column, value) in row.iter() {
                indices.push(met.partition_point(|&other| other < column) as u32);
                let scale = self.scale.as_ref().map(|scale| scale[column as usize]);
                values.push(scale.map_or(value, |scale| value * scale));
            }
            starts.push(indices.len() as u64);
        }
        let rows = TaskedCsr::new(Csr::new(met.len(), starts, indices, values)?);
        let mut embeddings = Dense::zeros(which.len(), self.n_cols);
        let (mut panel, mut out) = (vec![[0.0; PANEL]; met.len()], vec![0.0; which.len() * PANEL]);
        for p in 0..self.panels.len() {
            panel.iter_mut().zip(&met).for_each(|(row, &i)| *row = self.panel_row(p, i as usize));
            times_panel(&rows, rows.matrix().values(), panel.as_flattened(), &mut out);
            embeddings.copy_from_panel(self.columns(p), &out);
        }
        Ok(embeddings)
    }

    /// The number of non-zero values.
    pub fn filled(&self) -> u64 {
        let filled = |(p, panel): (usize, &Panel)| match panel {
            Panel::Dense(values) => values.par_iter().filter(|&&v| v != 0.0).count() as u64,
            Panel::Packed(packed) => packed.filled(),
            Panel::Random(_) => (self.n_rows * self.columns(p).len()) as u64,
        };
        self.panels.iter().enumerate().map(filled).sum()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        let factors = self.scale.as_ref().map_or(0, |scale| 4 * scale.len() as u64);
        let panels = self.panels.iter().map(|panel| match panel {
            Panel::Dense(values) => 4 * values.len() as u64,
            Panel::Packed(packed) => packed.bytes(),
            Panel::Random(_) => 0,
        });
        factors + panels.sum::<u64>()
    }

    /// The columns of panel `p`.
    pub fn columns(&self, p: usize) -> std::ops::Range<usize> {
        p * PANEL..((p + 1) * PANEL).min(self.n_cols)
    }

    /// A copy in memory, or in scratch files in `folder` if one is given.
    pub fn copy(&self, folder: Option<&Path>) -> Result<Self> {
        let mut panels = Vec::with_capacity(self.panels.len());
        for panel in &self.panels {
            panels.push(match panel {
                Panel::Dense(values) => Panel::Dense(values.copy(folder)?),
                Panel::Packed(packed) => Panel::Packed(packed.copy(folder)?),
                Panel::Random(field) => Panel::Random(field.clone()),
            });
        }
        let (n_rows, n_cols, scale) = (self.n_rows, self.n_cols, self.scale.clone());
        Ok(Panels { n_rows, n_cols, panels, scale })
    }
}

/// Σ v², in f64.
#[inline(always)]
pub fn squared_norm(row: &PanelRow) -> f64 {
    let mut sums = [0.0f64; 8];
    for eight in row.as_chunks::<8>().0 {
        for (sum, &value) in sums.iter_mut().zip(eight) {
            *sum += f64::from(value) * f64::from(value);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot_f64;
    use crate::oracle::{Naive, random_csr, same_at_any_thread_count};

    #[test]
    fn a_dense_matrix_comes_back_from_its_panels() {
        let matrix = Dense::gaussian(700, 70, 1);
        let panels = Panels::from_dense(&matrix).unwrap();
        assert_eq!(panels.to_dense().unwrap(), matrix);
        let mut row = vec![0.0; 70];
        panels.row_into(5, &mut row);
        assert_eq!(row, matrix.row(5));
        assert_eq!(panels.filled(), 49_000);
        Naive::of_dense(&matrix).assert_close_sparse(&panels.to_csr().unwrap(), 1e-9);
        let folder = tempfile::tempdir().unwrap();
        for place in [None, Some(folder.path())] {
            assert_eq!(panels.copy(place).unwrap().to_dense_in(place).unwrap(), matrix);
        }
    }

    #[test]
    fn a_random_start_is_drawn_alike_again_and_again_with_rows_of_one_norm() {
        let drawn =
            same_at_any_thread_count(|| Panels::random(3000, 45, 7, 2.0).to_dense().unwrap());
        for i in [0, 17, 2999] {
            assert!((dot_f64(drawn.row(i), drawn.row(i)).sqrt() - 2.0).abs() < 1e-5);
            let mut row = vec![0.0; 45];
            Panels::random(3000, 45, 7, 2.0).row_into(i, &mut row);
            assert_eq!(row, drawn.row(i));
        }
        assert_eq!(Panels::random(3000, 45, 7, 2.0).filled(), 135_000);
        assert_ne!(drawn, Panels::random(3000, 45, 8, 2.0).to_dense().unwrap());
        let sum: f64 = drawn.values().iter().map(|&v| f64::from(v)).sum();
        assert!((sum / 135_000.0).abs() < 0.01, "{sum}");
    }

    #[test]
    fn packed_panels_give_the_same_rows() {
        let mut sparse = Dense::gaussian(2500, 40, 3);
        sparse.values_mut().iter_mut().for_each(|v| *v = if *v < 1.0 { 0.0 } else { *v });
        let mut panels = Panels::from_dense(&sparse).unwrap();
        panels.set_scale((0..2500).map(|i| 1.0 + i as f32).collect());
        let (dense, csr) = (panels.to_dense().unwrap(), panels.to_csr().unwrap());
        for panel in panels.panels_mut() {
            if let Panel::Dense(values) = panel {
                *panel = Panel::Packed(Packed::of(values).unwrap());
            }
        }
        assert_eq!(panels.to_dense().unwrap(), dense);
        assert_eq!(panels.to_csr().unwrap(), csr);
        assert_eq!(panels.filled(), csr.nnz() as u64);
        assert!(panels.bytes() < 4 * 2500 * 40);
        assert_eq!(panels.map_rows(<[f32]>::to_vec).concat(), dense.values());
    }

    #[test]
    fn a_sparse_matrix_has_the_panels_of_the_same_matrix_in_full() {
        let mut full = Dense::gaussian(2500, 70, 3);
        full.values_mut().iter_mut().for_each(|v| *v = if *v < 1.0 { 0.0 } else { *v });
        // The middle panel is not worth packing.
        full.rows_mut().for_each(|row| row[34..64].fill(1.0));
        let full = Panels::from_dense(&full).unwrap();
        let panels = Panels::from_csr(&full.to_csr().unwrap()).unwrap();
        let (mut scratch, mut none) =
            (panels.scratch_panel().unwrap(), full.scratch_panel().unwrap());
        for p in 0..3 {
            assert_eq!(panels.panel(p, &mut scratch), full.panel(p, &mut none));
        }
        assert!(matches!(panels.panels[..], [Panel::Packed(_), Panel::Dense(_), Panel::Packed(_)]));
    }

    #[test]
    fn embeddings_are_the_product_with_the_scaled_rows() {
        let map = Dense::gaussian(50, 40, 1);
        let rows = random_csr(30, 50, 6, 2);
        let mut panels = Panels::from_dense(&map).unwrap();
        panels.set_scale((0..50).map(|i| 1.0 + i as f32).collect());
        let scaled = panels.to_dense().unwrap();
        let expected = Naive::of(&rows).times(&Naive::of_dense(&scaled));
        let embeddings = panels.embeddings(&rows).unwrap();
        expected.assert_close(&embeddings, 1e-4);
        let some = panels.embeddings_of(&rows, &[7, 3, 29, 7]).unwrap();
        for (k, i) in [7, 3, 29, 7].into_iter().enumerate() {
            assert_eq!(some.row(k), embeddings.row(i));
        }
        assert_eq!(panels.embeddings_of(&rows, &[]).unwrap(), Dense::zeros(0, 40));
    }
}
