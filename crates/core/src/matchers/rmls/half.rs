//! One half-sweep: Ω = C·L (or Cᵀ·L) panel by panel, each panel thresholded as it is made, and
//! the rows scaled at the end.
//!
//! The threshold of `relative` hangs on the largest entry of a row, which is known only after
//! the last panel. Until then everything above its share of the largest entry so far is kept,
//! which is never too little, and pruned at the end. A bound on the ℓ1 norm needs whole rows.

use std::path::Path;

use rayon::prelude::*;

use super::{Penalty, Rmls, row};
use crate::linalg::{Buffer, Operator, Packed, Panel, Panels, Scratch, Side, n_panels, squared};
use crate::linalg::{Lane, PANEL};
use crate::{Error, Result, Run};

/// Rows that one thread takes at a time where whole rows are looked at.
const BLOCK: usize = 256;

/// What is known of a row of Ω and of the row made of it.
#[derive(Debug, Clone, Copy, Default)]
struct RowSums {
    /// Σ l² of the thresholded row.
    squares: f64,
    /// Σ |l| of the thresholded row.
    l1: f64,
    /// ⟨ω, l⟩ where no formula gives it.
    inner: f64,
    /// The largest |ω|.
    largest: f32,
    filled: u32,
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
    /// Numbers that are not zero.
    pub filled: u64,
    /// Whether some number is not finite.
    pub broken: bool,
}

/// What the half-sweeps of a fit share.
pub(super) struct HalfSweeps<'a> {
    pub params: &'a Rmls,
    pub operator: &'a Operator,
    pub scratch: Scratch,
    /// Where maps without a penalty lie if memory cannot hold them.
    pub on_disk: Option<&'a Path>,
    /// Bytes that both maps together may take.
    pub placement: u64,
}

impl HalfSweeps<'_> {
    /// Makes the map of `side` from `source`, the map of the other side. The panels of `old`, the
    /// map as it was, are used again.
    pub fn half_sweep(
        &mut self,
        side: Side,
        source: &Panels,
        old: Panels,
        run: &Run<'_>,
    ) -> Result<(Panels, Sums)> {
        let params = self.params;
        let (n_rows, dim) = (self.operator.d(side), source.n_cols());
        let first = self.operator.scaled(side, source.scale());
        let rule = Rule::of(params, side);
        let free = params.penalty == Penalty::None;
        let mut squares = vec![0.0f64; if free { n_rows } else { 0 }];
        let mut rows = vec![RowSums::default(); if free { 0 } else { n_rows }];
        let mut made = Panels::new(n_rows, dim);
        let mut old = old.into_panels();
        let (mut placement, mut spare) = (source.room()?, None);
        for p in 0..n_panels(dim) {
            run.check()?;
            let b = source.panel(p, &mut placement);
            let mut out = match (old.next(), spare.take()) {
                (Some(Panel::Dense(buffer)), _) | (_, Some(buffer)) => buffer,
                _ => Buffer::placed(n_rows * PANEL, self.on_disk)?,
            };
            let scratch = &mut self.scratch;
            // Without a penalty a row has little to say, and the loop is bound by how little it does.
            if free {
                let sum = |_, w: &mut Lane, out: &mut Lane, squares: &mut f64| {
                    *squares += squared(w);
                    *out = *w;
                };
                self.operator.times_panel(&first, b, scratch, &mut out, &mut squares, sum);
            } else {
                let thresholded = |_, w: &mut Lane, out: &mut Lane, row: &mut RowSums| {
                    rule.panel(w, row);
                    *out = *w;
                };
                self.operator.times_panel(&first, b, scratch, &mut out, &mut rows, thresholded);
            }
            let panel;
            (panel, spare) = if rule.sparse { Panel::of(out)? } else { (Panel::Dense(out), None) };
            made.push(panel);
            self.check_room(&made, source, p + 1)?;
        }
        // The norm is at least the largest entry, and all of a row is filled or none.
        rows.extend(squares.into_iter().map(|squares| RowSums {
            squares,
            largest: squares.sqrt() as f32,
            filled: if squares > 0.0 { dim as u32 } else { 0 },
            ..RowSums::default()
        }));
        finish(made, &rule, rows)
    }

    /// Turns the rows of a start into rows that obey the penalty and have their norm.
    pub fn scale_start(&self, side: Side, start: Panels) -> Result<(Panels, Sums)> {
        // The scale-free penalties apply to the start, too; an absolute threshold is made for
        // Ω and would mean something else here.
        let free = Rmls { penalty: Penalty::None, ..self.params.clone() };
        let params = if self.params.penalty == Penalty::Absolute { &free } else { self.params };
        let rule = Rule::of(params, side);
        let mut made = start;
        let mut rows = vec![RowSums::default(); made.n_rows()];
        for panel in made.panels_mut() {
            if let Panel::Dense(values) = panel {
                let (lanes, _) = values.as_chunks_mut::<PANEL>();
                lanes
                    .par_iter_mut()
                    .zip(&mut rows)
                    .with_min_len(BLOCK)
                    .for_each(|(lane, row)| rule.panel(lane, row));
            }
        }
        finish(made, &rule, rows)
    }

    /// tr(L_xᵀ C L_y).
    pub fn inner(&mut self, l_x: &Panels, l_y: &Panels) -> Result<f64> {
        let first = self.operator.scaled(Side::X, l_y.scale());
        let mut sums = vec![0.0f64; l_x.n_rows()];
        let mut out = Buffer::zeros(l_x.n_rows() * PANEL)?;
        let (mut room_x, mut room_y) = (l_x.room()?, l_y.room()?);
        for p in 0..n_panels(l_x.n_cols()) {
            let (b, scratch) = (l_y.panel(p, &mut room_y), &mut self.scratch);
            let (mine, _) = l_x.panel(p, &mut room_x).as_chunks::<PANEL>();
            self.operator.times_panel(&first, b, scratch, &mut out, &mut sums, |u, w, _, sum| {
                *sum +=
                    w.iter().zip(&mine[u]).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
            });
        }
        let scale = |u: usize| l_x.scale().map_or(1.0, |scale| f64::from(scale[u]));
        Ok(sums.iter().enumerate().map(|(u, sum)| sum * scale(u)).sum())
    }

    /// Stops a fit whose penalty leaves more than memory holds, before the system does.
    fn check_room(&self, made: &Panels, source: &Panels, done: usize) -> Result<()> {
        if self.on_disk.is_some() || made.bytes() + source.bytes() <= self.placement {
            return Ok(());
        }
        let all = n_panels(made.n_cols());
        let share = made.bytes() as f64 / (4 * PANEL * done * made.n_rows()) as f64;
        Err(Error::Memory {
            what: format!(
                "after {done} of {all} panels the maps take {} MiB, more than the {} MiB there are for them; the penalty leaves about {:.0} % of the entries",
                (made.bytes() + source.bytes()) >> 20,
                self.placement >> 20,
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

    /// What can be done with 32 entries of a row when they are made.
    #[inline(always)]
    fn panel(&self, omega: &mut Lane, row: &mut RowSums) {
        let largest = largest(omega, row.largest);
        row.largest = largest;
        match self.penalty {
            Penalty::None => {
                row.squares += squared(omega);
                row.filled += omega.iter().map(|&w| u32::from(w != 0.0)).sum::<u32>();
            }
            Penalty::Bound => {}
            Penalty::Absolute => {
                row::threshold(omega, self.threshold);
                self.add(omega, row);
            }
            Penalty::Relative => {
                // Written so that what is not a number stays.
                let least = self.share * largest;
                omega.iter_mut().for_each(|w| *w = if w.abs() <= least { 0.0 } else { *w });
            }
        }
    }

    fn add(&self, thresholded: &[f32], row: &mut RowSums) {
        for &l in thresholded {
            row.squares += f64::from(l) * f64::from(l);
            row.l1 += f64::from(l.abs());
            row.filled += u32::from(l != 0.0);
        }
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
            _ if row.squares > 0.0 => (self.theta / row.squares.sqrt()) as f32,
            _ => 0.0,
        }
    }

    /// The sums over all rows, in their order.
    fn sums(&self, rows: &[RowSums]) -> Sums {
        let mut sums = Sums::default();
        for row in rows {
            let threshold = f64::from(self.threshold_of(row));
            sums.broken |= !(row.squares + row.inner).is_finite() || !row.largest.is_finite();
            sums.largest = sums.largest.max(f64::from(row.largest));
            if self.penalty == Penalty::Bound {
                sums.inner += row.inner;
            } else if row.squares > 0.0 {
                // With S = S_t(ω): ⟨ω, S⟩ = ‖S‖² + t·|S|₁.
                let scale = self.theta / row.squares.sqrt();
                sums.inner += scale * (row.squares + threshold * row.l1);
                sums.penalty += threshold * scale * row.l1;
            }
            sums.filled += u64::from(row.filled);
        }
        sums
    }
}

/// The largest |w|, or `least`. Eight maxima side by side, since one after the other would take
/// longer than the product itself; what is not a number is passed over here and seen in the sums.
#[inline(always)]
fn largest(omega: &Lane, least: f32) -> f32 {
    let mut maxima = [least; 8];
    for eight in omega.as_chunks::<8>().0 {
        for (max, w) in maxima.iter_mut().zip(eight) {
            *max = if w.abs() > *max { w.abs() } else { *max };
        }
    }
    maxima.into_iter().fold(least, f32::max)
}

/// Does what needs whole rows, and gives each its factor.
fn finish(mut made: Panels, rule: &Rule, mut rows: Vec<RowSums>) -> Result<(Panels, Sums)> {
    match rule.penalty {
        Penalty::None | Penalty::Absolute => {}
        Penalty::Relative => prune(&mut made, rule, &mut rows)?,
        Penalty::Bound => bound(&mut made, rule, &mut rows),
    }
    made.set_scale(rows.iter().map(|row| rule.scale(row)).collect());
    Ok((made, rule.sums(&rows)))
}

/// Thresholds rows whose largest entry is known by now.
fn prune(made: &mut Panels, rule: &Rule, rows: &mut [RowSums]) -> Result<()> {
    let prune = |values: &mut [f32], row: &mut RowSums| {
        row::threshold(values, rule.share * row.largest);
        rule.add(values, row);
    };
    for panel in made.panels_mut() {
        match panel {
            Panel::Packed(packed) => packed.update(rows, prune)?,
            Panel::Dense(values) => {
                let (lanes, _) = values.as_chunks_mut::<PANEL>();
                lanes
                    .par_iter_mut()
                    .zip(&mut *rows)
                    .with_min_len(BLOCK)
                    .for_each(|(lane, row)| prune(lane, row));
                if let Some(packed) = Packed::if_smaller(values)? {
                    *panel = Panel::Packed(packed);
                }
            }
            Panel::Random(_) => {}
        }
    }
    Ok(())
}

/// Finds the best rows within both bounds.
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
    let mut blocks: Vec<Vec<&mut [Lane]>> = Vec::new();
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
            row.inner = row::inner(&omega, &l);
            rule.add(&l, row);
            for (panel, part) in panels.iter_mut().zip(l.chunks(PANEL)) {
                panel[k][..part.len()].copy_from_slice(part);
            }
        }
    });
}
