//! One half-sweep: Ω = C·L (or Cᵀ·L) panel by panel, each panel thresholded as it is made, and
//! the rows scaled at the end.
//!
//! The threshold of `relative` depends on the largest entry of a row, known only after the last
//! panel. Until then all entries above that share of the largest so far are kept, which is never too
//! few, and the rest is pruned at the end. A bound on the ℓ1 norm needs whole rows.

use std::path::Path;

use rayon::prelude::*;

use super::params::{Penalty, Rmls};
use super::row;
use crate::linalg::{
    Buffer, FixedPointSum, Operator, PANEL, Packed, Panel, PanelRow, Panels, Scratch, Side,
    dot_f64, n_panels, squared_norm,
};
use crate::{Error, Result, Run};

/// Rows of one parallel task where whole rows are updated.
const BLOCK: usize = 256;

/// Sums over a row of Ω and over the row of the map made of it.
#[derive(Debug, Clone, Copy)]
struct RowSums {
    /// Σ l² of the thresholded row.
    squares: FixedPointSum,
    /// Σ |l| of the thresholded row.
    l1: FixedPointSum,
    /// ⟨ω, l⟩, for penalties where no formula gives it.
    inner: f64,
    /// The largest |ω|.
    largest: f32,
    filled: u32,
}

impl RowSums {
    /// No sums yet, of a row of `dim` entries whose norm is at most `bound`.
    fn up_to(bound: f64, dim: usize) -> Self {
        RowSums {
            squares: FixedPointSum::up_to(bound * bound),
            l1: FixedPointSum::up_to(bound * (dim as f64).sqrt()),
            inner: 0.0,
            largest: 0.0,
            filled: 0,
        }
    }
}

/// Sums over the rows of a half-sweep.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Σ ⟨ω, l⟩.
    pub inner: f64,
    /// Σ threshold·|l|₁.
    pub penalty: f64,
    /// The largest |ω|.
    pub largest: f64,
    /// The number of non-zeros.
    pub filled: u64,
    /// Whether a number is infinite or NaN.
    pub not_finite: bool,
}

/// The shared input and workspace of the half-sweeps of a fit.
pub(super) struct HalfSweeps<'a> {
    pub params: &'a Rmls,
    pub operator: &'a Operator,
    pub scratch: Scratch,
    /// Where maps without a penalty lie if memory cannot hold them.
    pub on_disk: Option<&'a Path>,
    /// Bytes that both maps together may take.
    pub memory: u64,
    /// Largest norms of the rows of Ω of both sides, for rows of norm one on the other side.
    pub bounds: [Vec<f64>; 2],
}

impl HalfSweeps<'_> {
    /// Computes the map of `side` from `source`, the map of the other side, whose rows have the norms
    /// `norms`, or at most θ. Reuses the panels of `old`, the previous map.
    pub fn half_sweep(
        &mut self,
        side: Side,
        source: &Panels,
        norms: Option<&[f64]>,
        old: Panels,
        run: &Run<'_>,
    ) -> Result<(Panels, Sums)> {
        let params = self.params;
        let (n_rows, dim) = (self.operator.d(side), source.n_cols());
        let first = self.operator.scaled(side, source.scale());
        let rule = Rule::of(params, side);
        let free = params.penalty == Penalty::None;
        let bounds = self.row_bounds(side, norms);
        let (mut squares, mut rows) = (Vec::new(), Vec::new());
        if free {
            squares.extend(bounds.iter().map(|bound| FixedPointSum::up_to(bound * bound)));
        } else {
            rows.extend(bounds.iter().map(|&bound| RowSums::up_to(bound, dim)));
        }
        drop(bounds);
        let mut made = Panels::new(n_rows, dim);
        let mut old = old.into_panels();
        let (mut drawn, mut spare) = (source.scratch_panel()?, None);
        for p in 0..n_panels(dim) {
            run.check()?;
            let b = source.panel(p, &mut drawn);
            let mut out = match (old.next(), spare.take()) {
                (Some(Panel::Dense(buffer)), _) | (_, Some(buffer)) => buffer,
                _ => Buffer::placed(n_rows * PANEL, self.on_disk)?,
            };
            let scratch = &mut self.scratch;
            // Without a penalty the loop is memory-bound, so it computes only the squares.
            if free {
                let sum = |_, w: &mut PanelRow, out: &mut PanelRow, squares: &mut FixedPointSum| {
                    squares.add(squared_norm(w));
                    *out = *w;
                };
                self.operator.times_panel(&first, b, scratch, &mut out, &mut squares, sum);
            } else {
                let thresholded = |_, w: &mut PanelRow, out: &mut PanelRow, row: &mut RowSums| {
                    rule.panel(w, row);
                    *out = *w;
                };
                self.operator.times_panel(&first, b, scratch, &mut out, &mut rows, thresholded);
            }
            let panel;
            (panel, spare) = if rule.sparse { Panel::of(out)? } else { (Panel::Dense(out), None) };
            made.push(panel);
            self.check_memory(&made, source, p + 1)?;
        }
        // The norm is at least the largest entry, and all of a row is filled or none.
        rows.extend(squares.into_iter().map(|squares| RowSums {
            squares,
            largest: squares.value().sqrt() as f32,
            filled: if squares.value() > 0.0 { dim as u32 } else { 0 },
            ..RowSums::up_to(0.0, dim)
        }));
        finish(made, &rule, rows)
    }

    /// Bounds on the norms of the rows of Ω: the sum of the other side's norms, weighted by |C|.
    fn row_bounds(&mut self, side: Side, norms: Option<&[f64]>) -> Vec<f64> {
        if let Some(norms) = norms {
            return self.operator.magnitudes(side, norms);
        }
        let theta = match side {
            Side::X => self.params.theta_y,
            Side::Y => self.params.theta_x,
        };
        let bounds = &mut self.bounds[side as usize];
        if bounds.is_empty() {
            *bounds = self.operator.magnitudes(side, &vec![1.0; self.operator.d(side.other())]);
        }
        bounds.iter().map(|bound| theta * bound).collect()
    }

    /// Makes the rows of a start satisfy the penalty and have their norm.
    pub fn scale_start(&self, side: Side, start: Panels) -> Result<(Panels, Sums)> {
        // Scale-free penalties also apply to the start; an absolute threshold is in units of Ω,
        // which the start is not.
        let free = Rmls { penalty: Penalty::None, ..self.params.clone() };
        let params = if self.params.penalty == Penalty::Absolute { &free } else { self.params };
        let rule = Rule::of(params, side);
        let mut made = start;
        // Rows of orthonormal columns are no longer than one.
        let mut rows = vec![RowSums::up_to(1.0, made.n_cols()); made.n_rows()];
        for panel in made.panels_mut() {
            if let Panel::Dense(values) = panel {
                for_each_row(values, &mut rows, |lane, row| rule.panel(lane, row));
            }
        }
        finish(made, &rule, rows)
    }

    /// tr(L_xᵀ C L_y).
    pub fn inner(&mut self, l_x: &Panels, l_y: &Panels) -> Result<f64> {
        let first = self.operator.scaled(Side::X, l_y.scale());
        let mut sums = vec![0.0f64; l_x.n_rows()];
        let mut out = Buffer::zeros(l_x.n_rows() * PANEL)?;
        let (mut scratch_x, mut scratch_y) = (l_x.scratch_panel()?, l_y.scratch_panel()?);
        for p in 0..n_panels(l_x.n_cols()) {
            let (b, scratch) = (l_y.panel(p, &mut scratch_y), &mut self.scratch);
            let (mine, _) = l_x.panel(p, &mut scratch_x).as_chunks::<PANEL>();
            self.operator.times_panel(&first, b, scratch, &mut out, &mut sums, |u, w, _, sum| {
                *sum +=
                    w.iter().zip(&mine[u]).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
            });
        }
        let scale = |u: usize| l_x.scale().map_or(1.0, |scale| f64::from(scale[u]));
        Ok(sums.iter().enumerate().map(|(u, sum)| sum * scale(u)).sum())
    }

    /// Stops a fit whose maps exceed memory, before the system does.
    fn check_memory(&self, made: &Panels, source: &Panels, done: usize) -> Result<()> {
        if self.on_disk.is_some() || made.bytes() + source.bytes() <= self.memory {
            return Ok(());
        }
        let all = n_panels(made.n_cols());
        let share = made.bytes() as f64 / (4 * PANEL * done * made.n_rows()) as f64;
        Err(Error::Memory {
            what: format!(
                "after {done} of {all} panels the maps take {} MiB, more than the {} MiB free for them; the penalty leaves about {:.0} % of the entries",
                (made.bytes() + source.bytes()) >> 20,
                self.memory >> 20,
                100.0 * share
            ),
            advice: "raise the penalty (rho_x, rho_y, or beta, gamma), use fewer dimensions, or give more memory (`max_memory`)".into(),
        })
    }
}

/// How the rows of one side are made.
#[derive(Clone, Copy)]
struct Rule {
    penalty: Penalty,
    /// β or γ.
    threshold: f32,
    /// ρ.
    share: f32,
    lambda: f32,
    theta: f64,
    /// Whether rows may have zeros.
    sparse: bool,
}

impl Rule {
    fn of(params: &Rmls, side: Side) -> Self {
        let (threshold, share, lambda, theta) = match side {
            Side::X => (params.beta, params.rho_x, params.lambda_x, params.theta_x),
            Side::Y => (params.gamma, params.rho_y, params.lambda_y, params.theta_y),
        };
        let penalty = params.penalty;
        let sparse = matches!(penalty, Penalty::Absolute | Penalty::Relative);
        let (threshold, share, lambda) = (threshold as f32, share as f32, lambda as f32);
        Rule { penalty, threshold, share, lambda, theta, sparse }
    }

    /// Processes 32 entries of a row as soon as they are computed.
    #[inline(always)]
    fn panel(&self, omega: &mut PanelRow, row: &mut RowSums) {
        let largest = largest(omega, row.largest);
        row.largest = largest;
        match self.penalty {
            Penalty::None => {
                row.squares.add(squared_norm(omega));
                row.filled += omega.iter().map(|&w| u32::from(w != 0.0)).sum::<u32>();
            }
            Penalty::Bound => {}
            Penalty::Absolute => {
                row::threshold(omega, self.threshold);
                self.add(omega, row);
            }
            Penalty::Relative => {
                // Keeps NaN.
                let least = self.share * largest;
                omega.iter_mut().for_each(|w| *w = if w.abs() <= least { 0.0 } else { *w });
            }
        }
    }

    fn add(&self, thresholded: &[f32], row: &mut RowSums) {
        let (mut squares, mut l1) = (0.0, 0.0);
        for &l in thresholded {
            squares += f64::from(l) * f64::from(l);
            l1 += f64::from(l.abs());
            row.filled += u32::from(l != 0.0);
        }
        row.squares.add(squares);
        row.l1.add(l1);
    }

    fn threshold_of(&self, row: &RowSums) -> f32 {
        match self.penalty {
            Penalty::None | Penalty::Bound => 0.0,
            Penalty::Absolute => self.threshold,
            Penalty::Relative => self.share * row.largest,
        }
    }

    fn scale(&self, row: &RowSums) -> f32 {
        match self.penalty {
            Penalty::Bound => 1.0,
            _ => match row.squares.value() {
                squares if squares > 0.0 => (self.theta / squares.sqrt()) as f32,
                _ => 0.0,
            },
        }
    }

    /// The sums over all rows, in their order.
    fn sums(&self, rows: &[RowSums]) -> Sums {
        let mut sums = Sums::default();
        for row in rows {
            let threshold = f64::from(self.threshold_of(row));
            let (squares, l1) = (row.squares.value(), row.l1.value());
            sums.not_finite |= !(squares + row.inner).is_finite() || !row.largest.is_finite();
            sums.largest = sums.largest.max(f64::from(row.largest));
            if self.penalty == Penalty::Bound {
                sums.inner += row.inner;
            } else if squares > 0.0 {
                // With S = S_t(ω): ⟨ω, S⟩ = ‖S‖² + t·|S|₁.
                let scale = self.theta / squares.sqrt();
                sums.inner += scale * (squares + threshold * l1);
                sums.penalty += threshold * scale * l1;
            }
            sums.filled += u64::from(row.filled);
        }
        sums
    }
}

/// The largest |w|, or `least`. Eight independent maxima, since a single chain would take longer than
/// the product itself; NaN is ignored here and found in the sums.
#[inline(always)]
fn largest(omega: &PanelRow, least: f32) -> f32 {
    let mut maxima = [least; 8];
    for eight in omega.as_chunks::<8>().0 {
        for (max, w) in maxima.iter_mut().zip(eight) {
            *max = if w.abs() > *max { w.abs() } else { *max };
        }
    }
    maxima.into_iter().fold(least, f32::max)
}

/// Applies what needs whole rows, and sets the scale of each.
fn finish(mut made: Panels, rule: &Rule, mut rows: Vec<RowSums>) -> Result<(Panels, Sums)> {
    match rule.penalty {
        Penalty::None | Penalty::Absolute => {}
        Penalty::Relative => prune(&mut made, rule, &mut rows)?,
        Penalty::Bound => bound(&mut made, rule, &mut rows),
    }
    made.set_scale(rows.iter().map(|row| rule.scale(row)).collect());
    Ok((made, rule.sums(&rows)))
}

/// Thresholds the rows, whose largest entry is now known.
fn prune(made: &mut Panels, rule: &Rule, rows: &mut [RowSums]) -> Result<()> {
    let prune = |values: &mut [f32], row: &mut RowSums| {
        row::threshold(values, rule.share * row.largest);
        rule.add(values, row);
    };
    for panel in made.panels_mut() {
        match panel {
            Panel::Packed(packed) => packed.update(rows, prune)?,
            Panel::Dense(values) => {
                for_each_row(values, rows, |lane, row| prune(lane, row));
                if let Some(packed) = Packed::if_smaller(values)? {
                    *panel = Panel::Packed(packed);
                }
            }
            Panel::Random(_) => {}
        }
    }
    Ok(())
}

/// Calls `update` with every row of a panel and its sums, in parallel.
fn for_each_row(
    panel: &mut [f32],
    rows: &mut [RowSums],
    update: impl Fn(&mut PanelRow, &mut RowSums) + Sync,
) {
    let (lanes, _) = panel.as_chunks_mut::<PANEL>();
    let rows = lanes.par_iter_mut().zip(rows).with_min_len(BLOCK);
    rows.for_each(|(lane, row)| update(lane, row));
}

/// Sets every row to the optimal one within both bounds.
fn bound(made: &mut Panels, rule: &Rule, rows: &mut [RowSums]) {
    let dim = made.n_cols();
    let mut pieces: Vec<_> = made
        .panels_mut()
        .iter_mut()
        .filter_map(|panel| match panel {
            Panel::Dense(values) => Some(values.as_chunks_mut::<PANEL>().0.chunks_mut(BLOCK)),
            _ => None,
        })
        .collect();
    let mut blocks: Vec<Vec<&mut [PanelRow]>> = Vec::new();
    for _ in 0..rows.len().div_ceil(BLOCK) {
        blocks.push(pieces.iter_mut().filter_map(Iterator::next).collect());
    }
    blocks.into_par_iter().zip(rows.par_chunks_mut(BLOCK)).for_each(|(mut panels, rows)| {
        let (mut omega, mut l) = (vec![0.0f32; dim], vec![0.0f32; dim]);
        let mut scratch = vec![0.0f32; dim];
        for (k, row) in rows.iter_mut().enumerate() {
            for (panel, part) in panels.iter().zip(omega.chunks_mut(PANEL)) {
                part.copy_from_slice(&panel[k][..part.len()]);
            }
            l.copy_from_slice(&omega);
            row::bounded(&mut l, rule.lambda, rule.theta as f32, &mut scratch);
            row.inner = dot_f64(&omega, &l);
            row.filled = l.iter().map(|&l| u32::from(l != 0.0)).sum();
            for (panel, part) in panels.iter_mut().zip(l.chunks(PANEL)) {
                panel[k][..part.len()].copy_from_slice(part);
            }
        }
    });
}
