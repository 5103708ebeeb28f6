//! The best W of rank d in the square loss over all pairs of a query and a document,
//!
//! ```text
//! ‖R − X W Yᵀ‖² + λ_x‖WYᵀ‖² + λ_y‖XW‖² + λ_xλ_y‖W‖²
//! ```
//! With A = XᵀX + λ_xI, B = YᵀY + λ_yI and C = XᵀRY this is ‖R‖² − ‖M‖² + ‖M − A^½WB^½‖² for
//! M = A^−½CB^−½, so the answer is W = P·Σ·Qᵀ with P = A^−½U and Q = B^−½V from the leading
//! singular triplets of M. They are found without any root, by subspace iteration:
//!
//! ```text
//!   Z = A⁻¹·C·Q       P = Z made A-orthonormal, PᵀAP = I
//!   T = B⁻¹·Cᵀ·P      T = Q·S with QᵀBQ = I,  S = O·Σ·Vᵀ
//!   P ← P·V           Q ← Q·O
//! ```
//! Then CᵀP = BQΣ holds by construction, and the next Z gives the residual of CQ = APΣ: that of a
//! triplet is ‖z − σp‖ in the norm of A, which is ‖Mv − σu‖. P·Σ is also the
//! first guess of the next solve, so the solves get cheaper as the subspace converges.
//!
//! A plain truncation of the full-rank answer A⁻¹CB⁻¹ is not optimal: it measures W in the
//! wrong norm.

use faer::Mat;
use faer::linalg::matmul::triangular::BlockStructure;
use rayon::prelude::*;

use super::columns::{scale_columns, signs};
use super::orthonormal::{Factor, multiply_right};
use super::ridge::{CgParams, RidgeSolver, RidgeWorkspace, SolveStats};
use super::svd::NUMERICAL_ZERO;
use super::{Dense, Operator, nothing_there, small};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// The tolerance of the solves as a share of that of the triplets.
const SOLVE_SHARE: f64 = 0.1;
/// The smallest residual of a solve that f32 reaches.
const SMALLEST_RESIDUAL: f64 = 2e-6;

/// The rank, the regularisation and the accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct SquareParams {
    /// The rank of W.
    pub dim: usize,
    /// Columns iterated beside the wanted ones.
    pub oversample: usize,
    /// λ_x.
    pub lambda_x: f64,
    /// λ_y.
    pub lambda_y: f64,
    /// Residual, as a share of the largest singular value, at which a triplet has converged.
    pub tolerance: f64,
    /// The most iterations.
    pub max_iterations: usize,
    /// The most steps of conjugate gradients per solve.
    pub max_steps: usize,
    /// Seed of the random start.
    pub seed: u64,
}

/// W = P·diag(σ)·Qᵀ, σ descending. The sign of a pair p, q is the one that makes p's entry of
/// largest size positive.
#[derive(Debug, Clone, PartialEq)]
pub struct SquareFit {
    /// Query features × k, with PᵀAP = I.
    pub p: Dense,
    /// The singular values of A^−½CB^−½; the loss is ‖R‖² − Σσ².
    pub sigma: Vec<f64>,
    /// Document features × k, with QᵀBQ = I.
    pub q: Dense,
    /// ‖A⁻¹Cq − σp‖/σ₁ in the norm of A, of each triplet.
    pub residuals: Vec<f64>,
    /// Iterations done.
    pub iterations: usize,
    /// Whether all residuals are within the tolerance.
    pub converged: bool,
    /// Whether C has fewer triplets than wanted; the others are missing.
    pub rank_deficient: bool,
    /// The most steps of conjugate gradients that a solve took.
    pub steps: usize,
    /// The largest ‖b − A·z‖/‖b‖ of the last solves.
    pub solve_residual: f64,
    /// Whether all solves reached their tolerance.
    pub solved: bool,
}

impl SquareParams {
    fn solve_tolerance(&self) -> f64 {
        (SOLVE_SHARE * self.tolerance).max(SMALLEST_RESIDUAL)
    }

    /// Bytes that a fit takes beside its input, from the rows, features and non-zeros of both sides.
    pub fn bytes(&self, n: (usize, usize), d: (usize, usize), nnz: (usize, usize)) -> u64 {
        let columns = (self.dim + self.oversample).min(d.0).min(d.1) as u64;
        let solve = RidgeWorkspace::bytes(n.0, d.0).max(RidgeWorkspace::bytes(n.1, d.1));
        let (n, d) = ((n.0 as u64, n.1 as u64), (d.0 as u64, d.1 as u64));
        // P, Z and CQ; Q and CᵀP; X·P or Y·Q; the buffers of a solve; two transposes.
        let blocks = 4 * columns * (3 * d.0 + 2 * d.1 + n.0.max(n.1));
        blocks + solve + 8 * (nnz.0 + nnz.1) as u64 + 8 * (d.0 + d.1)
    }
}

/// Computes the best W of rank `params.dim` for the X, R and Y of `c`; `x` and `y` are those same
/// X and Y.
pub fn square_fit(
    c: &Operator,
    [x, y]: [Csr; 2],
    params: &SquareParams,
    run: &Run<'_>,
) -> Result<SquareFit> {
    let width = params.dim.saturating_add(params.oversample).min(c.d_x()).min(c.d_y());
    if width == 0 {
        return Err(nothing_there());
    }
    let a = RidgeSolver::new(x, params.lambda_x);
    let b = RidgeSolver::new(y, params.lambda_y);
    let accuracy = CgParams { tolerance: params.solve_tolerance(), max_steps: params.max_steps };
    let mut q = Dense::gaussian(c.d_y(), width, params.seed);
    orthonormalise(&b, &mut q, 1, run)?;
    let mut p = Dense::zeros(c.d_x(), width);
    let mut z = Dense::zeros(c.d_x(), width);
    let mut right_x = Dense::zeros(c.d_x(), width);
    let mut right_y = Dense::zeros(c.d_y(), width);
    let mut sigma = vec![0.0; width];
    let (mut rank, mut iteration) = (0, 0);
    let mut solved = SolveStats::default();
    let (residuals, converged) = loop {
        run.step("square loss", iteration as u64, Some(params.max_iterations as u64))?;
        c.apply(&q, &mut right_x);
        set_scaled(&mut z, &p, &sigma);
        let mut now = a.solve(&right_x, &mut z, accuracy, run)?;
        if iteration > 0 {
            let wanted = rank.min(params.dim);
            let residuals = residuals(&a, &z, &mut right_x, &p, &sigma, wanted)?;
            let converged = residuals.iter().all(|&residual| residual <= params.tolerance);
            if converged || iteration == params.max_iterations {
                solved = solved.worst(now);
                break (residuals, converged);
            }
        }
        iteration += 1;
        std::mem::swap(&mut p, &mut z);
        orthonormalise(&a, &mut p, iteration, run)?;
        c.apply_transpose(&p, &mut right_y);
        let scales: Vec<f32> = sigma.iter().map(|&s| s as f32).collect();
        scale_columns(&mut q, &scales);
        now = now.worst(b.solve(&right_y, &mut q, accuracy, run)?);
        let r = orthonormalise(&b, &mut q, iteration, run)?;
        let svd = small::svd(&r).ok_or_else(|| not_finite(iteration))?;
        multiply_right(&mut q, &svd.u, BlockStructure::Rectangular, run)?;
        multiply_right(&mut p, &svd.v, BlockStructure::Rectangular, run)?;
        sigma = svd.sigma;
        // Only the accuracy of the last solves matters.
        solved = SolveStats { steps: solved.steps.max(now.steps), residual: now.residual };
        rank = sigma.partition_point(|&s| s > NUMERICAL_ZERO * sigma[0]);
        if rank == 0 {
            return Err(nothing_there());
        }
    };
    let kept = residuals.len();
    let (mut p, mut q) = (p.first_columns(kept), q.first_columns(kept));
    let signs = signs(&p);
    scale_columns(&mut p, &signs);
    scale_columns(&mut q, &signs);
    sigma.truncate(kept);
    Ok(SquareFit {
        p,
        q,
        sigma,
        residuals,
        iterations: iteration,
        converged,
        rank_deficient: kept < params.dim,
        steps: solved.steps,
        solve_residual: solved.residual,
        solved: solved.residual <= 2.0 * params.solve_tolerance(),
    })
}

/// Makes the columns of `block` orthonormal in the inner product of `ridge`; returns R of
/// block = Q·R. Columns that depend on earlier ones become zero.
fn orthonormalise(
    ridge: &RidgeSolver,
    block: &mut Dense,
    iteration: usize,
    run: &Run<'_>,
) -> Result<Mat<f64>> {
    let mut pass = || -> Result<Factor> {
        let gram = ridge.inner(block, run)?;
        if !(0..gram.nrows()).all(|k| gram[(k, k)].is_finite()) {
            return Err(not_finite(iteration));
        }
        let factor = Factor::of(&gram);
        multiply_right(block, &factor.inverse, BlockStructure::TriangularUpper, run)?;
        Ok(factor)
    };
    let first = pass()?;
    if first.well_conditioned {
        return Ok(first.r);
    }
    Ok(&pass()?.r * first.r)
}

/// ‖z − σp‖/σ₁ in the norm of A, of the first `n` columns. `scratch` is overwritten.
fn residuals(
    a: &RidgeSolver,
    z: &Dense,
    scratch: &mut Dense,
    p: &Dense,
    sigma: &[f64],
    n: usize,
) -> Result<Vec<f64>> {
    scratch.rows_mut().enumerate().for_each(|(i, row)| {
        for (((out, &z), &p), &s) in row.iter_mut().zip(z.row(i)).zip(p.row(i)).zip(sigma) {
            *out = (f64::from(z) - s * f64::from(p)) as f32;
        }
    });
    Ok(a.squares(scratch)?[..n].iter().map(|square| square.sqrt() / sigma[0]).collect())
}

/// out = block·diag(factors).
fn set_scaled(out: &mut Dense, block: &Dense, factors: &[f64]) {
    out.rows_mut().enumerate().for_each(|(i, row)| {
        for ((out, &value), &factor) in row.iter_mut().zip(block.row(i)).zip(factors) {
            *out = (f64::from(value) * factor) as f32;
        }
    });
}

fn not_finite(iteration: usize) -> Error {
    super::not_finite("the square loss", iteration)
}

#[cfg(test)]
mod tests;
