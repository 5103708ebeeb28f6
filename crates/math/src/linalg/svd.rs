//! The leading singular triplets of the operator C, by filtered subspace iteration.
//!
//! From an orthonormal V with CᵀC·V ≈ V·Λ, again and again:
//! ```text
//!   Z = T(CᵀC)·V     T a Chebyshev polynomial that damps unwanted directions (chebyshev.rs)
//!   ZᵀZ = RᵀR        Cholesky of the f64 Gram matrix (orthonormal.rs)
//!   W = C·Z          R⁻ᵀ(WᵀW)R⁻¹ = P·Λ·Pᵀ            (Rayleigh–Ritz)
//!   V = Z·R⁻¹·P      σ = √λ
//! ```
//! At the end U = C·V·Σ⁻¹. Then Cv = σu holds by construction, and CᵀC·V, the first product of the
//! next filter, gives the residual of Cᵀu = σv: residuals cost nothing.
//!
//! A tall dense product of k columns costs k/c times a sparse one, c the non-zeros per row of
//! the factors: a hundredfold at k = 1000. So orthonormalise seldom and filter much: where the
//! spectrum is flat (λ = 1.1·b), a filter of degree 6 gains as much as thirty powers of CᵀC.

use faer::Mat;
use faer::linalg::matmul::triangular::BlockStructure;
use rayon::prelude::*;

use super::chebyshev::{self, WIDTH, apply_gram};
use super::columns::{
    column_norms, column_sums, copy_columns, ranges, reshape, scale_columns, signs,
};
use super::orthonormal::{Factor, gram, multiply_right, n_groups, orthonormalise_in, rotate};
use super::{Dense, Operator, small};
use crate::{Error, Result, Run};

/// Singular values below this share of the largest are rounding errors of f32 products.
pub(super) const NUMERICAL_ZERO: f64 = 1e-5;
/// The same as a share of the centring's norm, for a C that the centring makes nearly zero.
pub const CENTRING_ERROR: f64 = 1e-6;
/// Residual, as a share of the triplet's own singular value, that is refined in any case. Beside
/// one dominant direction, as uncentred clicks have it, every other residual is small against σ₁
/// while its vectors are still those of the random start.
const OWN_SHARE: f64 = 0.05;
/// Below this share of the largest singular value, C·v/σ is not orthonormal to f32 by itself.
const STEEP: f64 = 1e-2;
/// A filter aims this far below the wanted residual.
const SAFETY: f64 = 1.5;

/// The number of triplets and their accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct SvdParams {
    /// The number of triplets wanted.
    pub dim: usize,
    /// Columns iterated beside the wanted ones.
    pub oversample: usize,
    /// Residual, as a share of the largest singular value, at which a triplet has converged.
    pub tolerance: f64,
    /// The most iterations.
    pub max_iterations: usize,
    /// Seed of the random start.
    pub seed: u64,
}

impl SvdParams {
    /// The `dim` leading triplets with the defaults: a fifth as many spare columns as wanted
    /// ones (at least ten), tolerance 10⁻³, at most 50 iterations, seed 0.
    ///
    /// Spare columns cost memory and dense products, which grow with the square of the width; a
    /// filter of one degree more makes up for fewer of them.
    pub fn of(dim: usize) -> Self {
        let oversample = (dim / 5).max(10);
        SvdParams { dim, oversample, tolerance: 1e-3, max_iterations: 50, seed: 0 }
    }

    /// The number of iterated columns.
    fn width(&self, d_x: usize, d_y: usize) -> usize {
        self.dim.saturating_add(self.oversample).min(d_x).min(d_y)
    }

    fn check(&self) -> Result<()> {
        if self.dim == 0 {
            return Err(Error::parameter("dim", self.dim, "1 or more"));
        }
        if self.tolerance.is_nan() || self.tolerance <= 0.0 {
            return Err(Error::parameter("tolerance", self.tolerance, "a number above 0"));
        }
        if self.max_iterations == 0 {
            return Err(Error::parameter("max_iterations", self.max_iterations, "1 or more"));
        }
        Ok(())
    }
}

/// The leading singular triplets C ≈ U·diag(σ)·Vᵀ, σ descending. The sign of a pair u, v is the
/// one that makes u's entry of largest size positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd {
    /// Left singular vectors, one column each: query features × k.
    pub u: Dense,
    /// Singular values.
    pub sigma: Vec<f64>,
    /// Right singular vectors, one column each: document features × k.
    pub v: Dense,
    /// max(‖Cv − σu‖, ‖Cᵀu − σv‖)/σ₁ of each triplet.
    pub residuals: Vec<f64>,
    /// Iterations done.
    pub iterations: usize,
    /// Whether all residuals are within the tolerance and small against their own σ.
    pub converged: bool,
    /// Whether C has fewer triplets than wanted; the others are missing.
    pub rank_deficient: bool,
}

/// Computes the leading singular triplets of `c`.
pub fn randomised_svd(c: &Operator, params: &SvdParams, run: &Run<'_>) -> Result<Svd> {
    randomised_svd_from(c, params, None, run)
}

/// Computes the leading singular triplets of `c`, beginning with the columns of `start` (one
/// row per document feature) instead of random ones. The nearer they span the right singular
/// vectors, the fewer iterations; the result is the same within the tolerance.
pub fn randomised_svd_from(
    c: &Operator,
    params: &SvdParams,
    start: Option<&Dense>,
    run: &Run<'_>,
) -> Result<Svd> {
    params.check()?;
    let width = params.width(c.d_x(), c.d_y());
    if width == 0 {
        return Err(nothing_there());
    }
    let total = Some(params.max_iterations as u64);
    run.step("singular vectors", 0, total)?;
    let (mut v, mut other, mut factor) = first_basis(c, params, width, start, run)?;
    let mut rank = 0;
    for iteration in 1.. {
        run.step("singular vectors", iteration as u64, total)?;
        let lambda = rayleigh_ritz(c, &mut v, factor, &mut other, iteration, run)?;
        let sigma: Vec<f64> = lambda.iter().map(|value| value.max(0.0).sqrt()).collect();
        let floor = (NUMERICAL_ZERO * sigma[0]).max(CENTRING_ERROR * c.correction_norm());
        let before = std::mem::replace(&mut rank, sigma.partition_point(|&s| s > floor));
        if rank == 0 {
            return Err(nothing_there());
        }
        // Where the spectrum falls steeply, a random start cannot tell small values from
        // rounding: add random directions as long as they find more.
        let refilled = rank < width && rank > before;
        if refilled {
            refill(c, &mut v, rank, params.seed.wrapping_add(iteration as u64), run)?;
        }

        let sigma = &sigma[..rank.min(params.dim)];
        let steep = sigma[sigma.len() - 1] < STEEP * sigma[0];
        let residuals = if steep {
            residuals_of_both(c, &v, &mut other, sigma, run)?
        } else {
            residuals(c, &v, &mut other, sigma, run)?
        };
        let gains = gains(&residuals, sigma, params.tolerance);
        let searched = rank >= params.dim || !refilled;
        let converged = searched && gains.iter().all(|&gain| gain <= 1.0);
        if converged || iteration == params.max_iterations {
            let (u, v) = pairs(c, v, other, sigma, steep);
            let rank_deficient = sigma.len() < params.dim;
            let (sigma, iterations) = (sigma.to_vec(), iteration);
            return Ok(Svd { u, sigma, v, residuals, iterations, converged, rank_deficient });
        }
        let bound = if rank < width { floor * floor } else { lambda[width - 1] };
        let product = (!steep).then_some(&other);
        let batches = chebyshev::batches(&lambda, bound, &gains);
        chebyshev::filter(c, &mut v, product, &lambda, bound, &batches, run)?;
        factor = finite_factor(&v, iteration + 1, run)?;
    }
    unreachable!("the last iteration returns")
}

/// The basis after one power of CᵀC, a block of scratch, and the basis's factor.
fn first_basis(
    c: &Operator,
    params: &SvdParams,
    width: usize,
    start: Option<&Dense>,
    run: &Run<'_>,
) -> Result<(Dense, Dense, Factor)> {
    let mut v = Dense::gaussian(c.d_y(), width, params.seed);
    if let Some(start) = start {
        put_first(start, &mut v);
    }
    let mut other = Dense::zeros(c.d_x(), width);
    c.apply(&v, &mut other);
    run.check()?;
    c.apply_transpose(&other, &mut v);
    // Beside a dominant direction, one power of CᵀC leaves little of the others: if the factor
    // shows that, orthonormalise in between.
    let mut factor = finite_factor(&v, 1, run)?;
    if !factor.well_conditioned {
        orthonormalise_in(&mut other, run)?;
        c.apply_transpose(&other, &mut v);
        factor = finite_factor(&v, 1, run)?;
    }
    Ok((v, other, factor))
}

/// By which factor each triplet must still grow against unwanted directions; 1 if it has converged.
fn gains(residuals: &[f64], sigma: &[f64], tolerance: f64) -> Vec<f64> {
    let gain = |(&residual, &s): (&f64, &f64)| {
        let own = (OWN_SHARE * s / sigma[0]).max(NUMERICAL_ZERO);
        let target = tolerance.min(own);
        if residual <= target { 1.0 } else { SAFETY * residual / target }
    };
    residuals.iter().zip(sigma).map(gain).collect()
}

/// The left and right singular vectors of `sigma`, in the memory of `other` and `v`. Where the
/// spectrum is steep, `other` holds the left ones already.
fn pairs(c: &Operator, v: Dense, other: Dense, sigma: &[f64], steep: bool) -> (Dense, Dense) {
    let mut v = keep_columns(v, sigma.len());
    let mut u = other;
    if steep {
        u = keep_columns(u, sigma.len());
    } else {
        reshape(&mut u, c.d_x(), sigma.len());
        c.apply(&v, &mut u);
        let inverse: Vec<f32> = sigma.iter().map(|s| (1.0 / s) as f32).collect();
        scale_columns(&mut u, &inverse);
    }
    let signs = signs(&u);
    scale_columns(&mut u, &signs);
    scale_columns(&mut v, &signs);
    (u, v)
}

/// The most bytes that [`randomised_svd`] holds at once, with its result and without the operator.
pub fn svd_bytes(d_x: usize, d_y: usize, params: &SvdParams) -> u64 {
    let width = params.width(d_x, d_y) as u64;
    let (x, y) = (d_x as u64, d_y as u64);
    let batch = width.min(WIDTH as u64);
    let blocks = 4 * width * (y + x.max(y));
    let batches = 4 * batch * (x + 3 * y);
    let small = 8 * width * width;
    // The allocator reuses the partial sums of a Gram matrix for the next one.
    blocks + batches + small * (n_groups(width as usize) as u64 + 2).max(10)
}

/// Replaces the first random columns by those of `start`, scaled to one length.
fn put_first(start: &Dense, v: &mut Dense) {
    assert_eq!(start.n_rows(), v.n_rows(), "one row of the start per document feature");
    let n = start.n_cols().min(v.n_cols());
    let length = (v.n_rows() as f64).sqrt();
    let scales: Vec<f32> = column_norms(start)[..n]
        .iter()
        .map(|&norm| if norm > 0.0 { (length / norm) as f32 } else { 0.0 })
        .collect();
    v.rows_mut().enumerate().for_each(|(i, row)| {
        for ((value, &begun), &scale) in row.iter_mut().zip(start.row(i)).zip(&scales) {
            // A column of zeros keeps the random one.
            if scale > 0.0 {
                *value = begun * scale;
            }
        }
    });
}

/// The error for C = 0.
pub fn nothing_there() -> Error {
    Error::Empty {
        what: "C = XᵀRY is zero: there is nothing to factorise".to_owned(),
        advice: "check that the training clicks join queries and documents that have features, \
                 and try another centring"
            .to_owned(),
    }
}

/// Turns a basis with its factor into approximate right singular vectors; returns the squares
/// of their singular values, descending. `other` is scratch.
fn rayleigh_ritz(
    c: &Operator,
    z: &mut Dense,
    mut factor: Factor,
    other: &mut Dense,
    iteration: usize,
    run: &Run<'_>,
) -> Result<Vec<f64>> {
    if !factor.well_conditioned {
        multiply_right(z, &factor.inverse, BlockStructure::TriangularUpper, run)?;
        factor = finite_factor(z, iteration, run)?;
    }
    reshape(other, c.d_x(), z.n_cols());
    c.apply(z, other);
    let mut energy = finite_gram(other, iteration, run)?;
    for j in 0..energy.ncols() {
        for i in 0..j {
            energy[(i, j)] = energy[(j, i)];
        }
    }
    let energy = factor.inverse.transpose() * (energy * &factor.inverse);
    let eigen = small::symmetric_eigen(&energy).ok_or_else(|| not_finite(iteration))?;
    run.check()?;
    rotate(z, &(&factor.inverse * &eigen.vectors), run)?;
    Ok(eigen.values)
}

fn finite_gram(block: &Dense, iteration: usize, run: &Run<'_>) -> Result<Mat<f64>> {
    let gram = gram(block, run)?;
    let finite = (0..gram.nrows()).all(|k| gram[(k, k)].is_finite());
    if finite { Ok(gram) } else { Err(not_finite(iteration)) }
}

fn finite_factor(block: &Dense, iteration: usize, run: &Run<'_>) -> Result<Factor> {
    Ok(Factor::of(&finite_gram(block, iteration, run)?))
}

fn not_finite(iteration: usize) -> Error {
    super::not_finite("the product of C and its singular vectors", iteration)
}

/// ‖Cᵀu − σv‖/σ₁ with u = Cv/σ for the first columns. `other` becomes CᵀC·V.
fn residuals(
    c: &Operator,
    v: &Dense,
    other: &mut Dense,
    sigma: &[f64],
    run: &Run<'_>,
) -> Result<Vec<f64>> {
    reshape(other, v.n_rows(), v.n_cols());
    let [mut left, mut right, mut product] = [(); 3].map(|()| Dense::zeros(0, 0));
    for range in ranges(v.n_cols(), WIDTH) {
        run.check()?;
        copy_columns(v, range.clone(), &mut right);
        reshape(&mut left, c.d_x(), range.len());
        reshape(&mut product, c.d_y(), range.len());
        apply_gram(c, &right, &mut left, &mut product);
        let product = &product;
        other.block_mut(range).for_each_row(1024, |i, row| row.copy_from_slice(product.row(i)));
    }
    let product = &*other;
    let squares = column_sums(v.n_rows(), sigma.len(), |i, sums| {
        for (((sum, &v), &product), s) in
            sums.iter_mut().zip(v.row(i)).zip(product.row(i)).zip(sigma)
        {
            let miss = f64::from(product) / s - s * f64::from(v);
            *sum += miss * miss;
        }
    });
    Ok(squares.into_iter().map(|square| square.sqrt() / sigma[0]).collect())
}

/// max(‖Cv − σu‖, ‖Cᵀu − σv‖)/σ₁ of the first columns, where `other` becomes the u: C·V made
/// orthonormal, since the error of Cv/σ matters beside large singular values.
fn residuals_of_both(
    c: &Operator,
    v: &Dense,
    other: &mut Dense,
    sigma: &[f64],
    run: &Run<'_>,
) -> Result<Vec<f64>> {
    reshape(other, c.d_x(), v.n_cols());
    c.apply(v, other);
    orthonormalise_in(other, run)?;
    let [mut left, mut right] = [(); 2].map(|()| Dense::zeros(0, 0));
    let [mut to_left, mut to_right] = [(); 2].map(|()| Dense::zeros(0, 0));
    let mut residuals = Vec::with_capacity(sigma.len());
    for range in ranges(sigma.len(), WIDTH) {
        run.check()?;
        copy_columns(other, range.clone(), &mut left);
        copy_columns(v, range.clone(), &mut right);
        reshape(&mut to_left, c.d_x(), range.len());
        reshape(&mut to_right, c.d_y(), range.len());
        c.apply(&right, &mut to_left);
        c.apply_transpose(&left, &mut to_right);
        let sigma_here = &sigma[range];
        let misses = |product: &Dense, side: &Dense| {
            column_sums(side.n_rows(), sigma_here.len(), |i, sums| {
                let row = product.row(i).iter().zip(side.row(i)).zip(sigma_here);
                for (sum, ((&product, &side), s)) in sums.iter_mut().zip(row) {
                    let miss = f64::from(product) - s * f64::from(side);
                    *sum += miss * miss;
                }
            })
        };
        let (at_left, at_right) = (misses(&to_left, &left), misses(&to_right, &right));
        let larger = at_left.iter().zip(&at_right).map(|(a, b)| a.max(*b).sqrt() / sigma[0]);
        residuals.extend(larger);
    }
    Ok(residuals)
}

/// Replaces all columns but the first `rank` by random directions orthogonal to them. These lie in
/// the range of Cᵀ, so that a feature without any entry keeps a row of zeros.
fn refill(c: &Operator, v: &mut Dense, rank: usize, seed: u64, run: &Run<'_>) -> Result<()> {
    let mut fresh = Dense::zeros(c.d_y(), v.n_cols() - rank);
    c.apply_transpose(&Dense::gaussian(c.d_x(), fresh.n_cols(), seed), &mut fresh);
    let fresh = &fresh;
    v.block_mut(rank..rank + fresh.n_cols())
        .for_each_row(1024, |i, row| row.copy_from_slice(fresh.row(i)));
    orthonormalise_in(v, run)?;
    Ok(())
}

/// Cuts a block to its first `n` columns, in place.
fn keep_columns(block: Dense, n: usize) -> Dense {
    let (n_rows, width) = (block.n_rows(), block.n_cols());
    let mut values = block.into_values();
    for i in 1..n_rows {
        values.copy_within(i * width..i * width + n, i * n);
    }
    values.truncate(n_rows * n);
    values.shrink_to_fit();
    Dense::from_values(n_rows, n, values)
}

#[cfg(test)]
mod tests;
