//! The norms of the rows and columns of C, and of the rows of CᵀĈ: exactly, or by a sketch.
//!
//! A row of C is the sum of a few rows of Y for a rare feature and of most of them for a frequent one.
//! All rows are formed one after the other where that takes fewer steps than a sketch, or a second or two. The
//! sketch is the product of C with k random rows of norm one, as in the first half-sweep of RMLS; the norm of a
//! row of it is that of the row of C, with a relative error of about 1/√(2k).

use rayon::prelude::*;

use super::params::{Association, Depth};
use crate::counted;
use crate::features::Weighted;
use crate::linalg::{
    Buffer, Centring, Operator, PANEL, PanelRow, Panels, Side, n_panels, squared_norm,
};
use crate::sparse::{Csr, RowSum};
use crate::{Error, Result, Run};

/// Multiply-adds of a sketch that take as long as one of the exact norms: it multiplies whole panels.
const SKETCH_SPEED: u64 = 8;
/// Multiply-adds that take a second or two are not worth a sketch.
const EXACT_MULTIPLY_ADDS: u64 = 1 << 31;
/// Blocks of rows, between which progress is shown.
const BLOCKS: usize = 256;

/// The factors that values of query and document features are multiplied with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scales {
    /// One factor per query feature.
    pub x: Vec<f32>,
    /// One factor per document feature.
    pub y: Vec<f32>,
}

impl Scales {
    /// The factors for `data`, and how they were computed.
    pub fn of(data: &Weighted, params: &Association, run: &Run<'_>) -> Result<(Self, Vec<String>)> {
        let powers = params.powers();
        let mut norms = NormComputation::new(data, params, run);
        let x = norms.factors("rows of C", powers[0], |norms| norms.of_c(Side::X))?;
        let y = match params.depth {
            Depth::Half => norms.factors("columns of C", powers[1], |norms| norms.of_c(Side::Y))?,
            Depth::One => {
                norms.factors("rows of CᵀĈ", powers[1], |norms| norms.of_ct_c_hat(&x))?
            }
        };
        Ok((Scales { x, y }, norms.notes))
    }
}

/// Computes norms of C and of CᵀĈ; makes the operator when a sketch needs it.
pub(super) struct NormComputation<'a> {
    data: &'a Weighted,
    params: &'a Association,
    run: &'a Run<'a>,
    /// Made when a sketch is needed.
    operator: Option<Operator>,
    notes: Vec<String>,
}

/// Norms, and whether they are exact.
type Found = (Vec<f64>, bool);

impl<'a> NormComputation<'a> {
    pub fn new(data: &'a Weighted, params: &'a Association, run: &'a Run<'a>) -> Self {
        NormComputation { data, params, run, operator: None, notes: Vec::new() }
    }

    /// 1/norm^power of every row, 0 for empty rows; notes how the norms were computed.
    fn factors(
        &mut self,
        what: &str,
        power: f64,
        norms: impl FnOnce(&mut Self) -> Result<Found>,
    ) -> Result<Vec<f32>> {
        let (norms, exact) = norms(self)?;
        if power > 0.0 {
            let way = match exact {
                true => "exact".to_owned(),
                false => format!(
                    "from {} random directions, with a relative error of {:.1} %",
                    self.params.sketch,
                    100.0 / (2.0 * self.params.sketch as f64).sqrt()
                ),
            };
            let filled = norms.iter().filter(|&&norm| norm > 0.0).count();
            self.notes.push(format!(
                "norms of {} ({what}), to the power {power}: {way}",
                counted(filled, "feature")
            ));
        }
        norms.into_iter().map(|norm| factor(norm, power)).collect()
    }

    /// The norms of the rows of C, or of its columns for `Side::Y`.
    fn of_c(&mut self, side: Side) -> Result<Found> {
        let (x, r, y) = (&self.data.x, &self.data.r, &self.data.y);
        if self.params.powers()[side as usize] == 0.0 {
            // To the power 0 every norm is 1.
            let n = if side == Side::X { x.n_cols() } else { y.n_cols() };
            return Ok((vec![1.0; n], true));
        }
        let sketched = (x.nnz() + r.nnz() + y.nnz()) as u64 * self.params.sketch as u64;
        if multiply_adds(x, r, y) <= (sketched / SKETCH_SPEED).max(EXACT_MULTIPLY_ADDS) {
            return Ok((self.exact(side)?, true));
        }
        Ok((self.sketched(side)?, false))
    }

    /// The norms of the rows of C (X) or of its columns (Y), formed one after the other.
    pub fn exact(&self, side: Side) -> Result<Vec<f64>> {
        let Weighted { x, r, y } = self.data;
        match side {
            Side::X => exact_norms(&x.transpose(), r, y, self.run),
            Side::Y => exact_norms(&y.transpose(), &r.transpose(), x, self.run),
        }
    }

    /// The norms of the rows of C (X) or of its columns (Y), from its product with random directions.
    pub fn sketched(&mut self, side: Side) -> Result<Vec<f64>> {
        let (params, run) = (self.params, self.run);
        let operator = self.operator()?;
        let random = Panels::random(operator.d(side.other()), params.sketch, params.seed, 1.0);
        let mut squares = vec![0.0; operator.d(side)];
        let mut out = Buffer::zeros(squares.len() * PANEL)?;
        let (mut scratch, mut drawn) = (operator.scratch()?, random.scratch_panel()?);
        let first = operator.scaled(side, random.scale());
        let n = n_panels(params.sketch);
        for p in 0..n {
            run.step("norms by random directions", p as u64, Some(n as u64))?;
            let panel = random.panel(p, &mut drawn);
            operator.times_panel(&first, panel, &mut scratch, &mut out, &mut squares, add_squares);
        }
        Ok(squares.into_iter().map(f64::sqrt).collect())
    }

    /// The norms of the rows of CᵀĈ, whose rows of C are multiplied with `x`.
    fn of_ct_c_hat(&mut self, x: &[f32]) -> Result<Found> {
        if self.params.powers()[1] == 0.0 {
            return Ok((vec![1.0; self.data.y.n_cols()], true));
        }
        let factors = self.data.x.nnz() + self.data.r.nnz() + self.data.y.nnz();
        // A row is at most the product of a feature with all factors of C and then of Cᵀ.
        if (2 * factors as u64).saturating_mul(self.data.y.n_cols() as u64) <= EXACT_MULTIPLY_ADDS {
            return Ok((self.exact_ct_c_hat(x), true));
        }
        Ok((self.sketched_ct_c_hat(x)?, false))
    }

    /// The norms of the rows of CᵀĈ, formed one after the other.
    fn exact_ct_c_hat(&self, scale: &[f32]) -> Vec<f64> {
        let Weighted { x, r, y } = self.data;
        let [x_t, r_t, y_t] = [x, r, y].map(Csr::transpose);
        let sums = || [r.n_cols(), r.n_rows(), x.n_cols(), y.n_cols()].map(RowSum::new);
        let norm = |[docs, queries, query_features, features]: &mut [RowSum; 4], v| {
            queries.set(y_t.row(v).iter().map(|(j, y)| (j, f64::from(y))), &r_t);
            query_features.set(queries.entries(), x);
            query_features.scale(scale);
            queries.set(query_features.entries(), &x_t);
            docs.set(queries.entries(), r);
            features.set(docs.entries(), y);
            norm_of(features)
        };
        (0..y.n_cols()).into_par_iter().map_init(sums, norm).collect()
    }

    /// The norms of the rows of CᵀĈ, from its product with random directions.
    pub fn sketched_ct_c_hat(&mut self, x: &[f32]) -> Result<Vec<f64>> {
        let (params, run) = (self.params, self.run);
        let operator = self.operator()?;
        let random = Panels::random(operator.d_y(), params.sketch, params.seed, 1.0);
        let mut squares = vec![0.0; operator.d_y()];
        let mut once = Buffer::zeros(operator.d_x() * PANEL)?;
        let mut twice = Buffer::zeros(operator.d_y() * PANEL)?;
        let (mut scratch, mut drawn) = (operator.scratch()?, random.scratch_panel()?);
        let first = operator.scaled(Side::X, random.scale());
        let second = operator.scaled(Side::Y, Some(x));
        let mut nothing = vec![(); operator.d_x()];
        let n = n_panels(params.sketch);
        for p in 0..n {
            run.step("norms by random directions", p as u64, Some(n as u64))?;
            let panel = random.panel(p, &mut drawn);
            let keep = |_, sums: &mut PanelRow, out: &mut PanelRow, (): &mut ()| *out = *sums;
            operator.times_panel(&first, panel, &mut scratch, &mut once, &mut nothing, keep);
            operator.times_panel(
                &second,
                &once,
                &mut scratch,
                &mut twice,
                &mut squares,
                add_squares,
            );
        }
        Ok(squares.into_iter().map(f64::sqrt).collect())
    }

    fn operator(&mut self) -> Result<&Operator> {
        let operator = match self.operator.take() {
            Some(operator) => operator,
            None => {
                let Weighted { x, r, y } = self.data.clone();
                Operator::new(x, r, y, Centring::None)?
            }
        };
        Ok(self.operator.insert(operator))
    }
}

fn add_squares(_: usize, sums: &mut PanelRow, _: &mut PanelRow, squares: &mut f64) {
    *squares += squared_norm(sums);
}

fn factor(norm: f64, power: f64) -> Result<f32> {
    let factor = if norm == 0.0 { 0.0 } else { norm.powf(-power) as f32 };
    if norm > 0.0 && !factor.is_normal() || norm.is_nan() {
        return Err(Error::NotFinite {
            what: "a power of a norm of C",
            step: 1,
            advice: "look for huge weights in the clicks, use response = \"log\" or \"binary\", or lower `x_power` and `y_power`".into(),
        });
    }
    Ok(factor)
}

fn norm_of(row: &RowSum) -> f64 {
    row.entries().map(|(_, sum)| sum * sum).sum::<f64>().sqrt()
}

/// A bound on the multiply-adds that form all rows of C, or all columns.
fn multiply_adds(x: &Csr, r: &Csr, y: &Csr) -> u64 {
    let pairs = |i: usize| r.row(i).indices.iter().map(|&j| y.row(j as usize).len() as u64).sum();
    (0..x.n_rows())
        .into_par_iter()
        .map(|i| {
            let pairs: u64 = pairs(i);
            pairs.saturating_mul(x.row(i).len() as u64)
        })
        .reduce(|| 0, u64::saturating_add)
}

/// The norm of every row of XᵀRY, formed one after the other.
fn exact_norms(x_t: &Csr, r: &Csr, y: &Csr, run: &Run<'_>) -> Result<Vec<f64>> {
    let mut norms = vec![0.0; x_t.n_rows()];
    let threads = rayon::current_num_threads();
    let mut sums: Vec<(RowSum, RowSum)> =
        (0..threads).map(|_| (RowSum::new(r.n_cols()), RowSum::new(y.n_cols()))).collect();
    let per_block = x_t.n_rows().div_ceil(BLOCKS).max(1);
    for (block, norms) in norms.chunks_mut(per_block).enumerate() {
        run.step("norms of rows", block as u64, Some(BLOCKS as u64))?;
        let first = block * per_block;
        // Rows are assigned to threads round-robin: frequent features, whose rows are long, are often neighbours.
        let mut shares: Vec<Vec<(usize, &mut f64)>> = (0..threads).map(|_| Vec::new()).collect();
        for (at, norm) in norms.iter_mut().enumerate() {
            shares[at % threads].push((first + at, norm));
        }
        shares.into_par_iter().zip(&mut sums).for_each(|(share, (docs, features))| {
            for (u, norm) in share {
                docs.set(x_t.row(u).iter().map(|(i, a)| (i, f64::from(a))), r);
                features.set(docs.entries(), y);
                *norm = norm_of(features);
            }
        });
    }
    Ok(norms)
}
