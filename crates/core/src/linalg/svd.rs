//! The leading singular triplets of the operator C, by randomised subspace iteration.
//!
//! From a random orthonormal V, again and again:
//! ```text
//!   Z = C·V          Q_x = orthonormal basis of Z
//!   W = Cᵀ·Q_x       W = Q_y·S,  S = O·Σ·Pᵀ          (Rayleigh–Ritz)
//!   U = Q_x·P        V = Q_y·O
//! ```
//! Then Cᵀu = σv holds by construction, and the next Z = C·V shows what Cv = σu still lacks:
//! the residual of a triplet costs one subtraction. A step shrinks the error of triplet k by
//! (σ_{k+p}/σ_k)² with p spare columns, so spare columns are what a slowly falling spectrum
//! needs; they cost memory, which a block Krylov method would need much more of.

use faer::Mat;
use faer::linalg::matmul::triangular::BlockStructure;
use rayon::prelude::*;

use super::orthonormal::{Factor, gram, multiply_right, orthonormalise};
use super::{Dense, Operator, small};
use crate::{Error, Result, Run};

/// Singular values below this share of the largest are rounding errors of f32 products.
const NUMERICAL_ZERO: f64 = 1e-5;
/// The same for what is left where a centring has taken nearly everything off.
pub(crate) const CENTRING_ERROR: f64 = 1e-6;
/// Residual, as a share of the triplet's own singular value, that is refined in any case. One
/// dominant direction, as uncentred clicks have it, makes every other residual small beside
/// σ₁ while its vectors are still those of the random start.
const OWN_SHARE: f64 = 0.05;
/// Rows whose residual is summed by one thread.
const ROWS_PER_SUM: usize = 4096;

/// What to compute, and how exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct SvdParams {
    /// The number of triplets wanted.
    pub dim: usize,
    /// Columns iterated beside the wanted ones.
    pub oversample: usize,
    /// Residual, as a share of the largest singular value, at which a triplet will do.
    pub tolerance: f64,
    /// Iterations after which to stop even if the residuals are larger.
    pub max_iterations: usize,
    /// Seed of the random start.
    pub seed: u64,
}

impl SvdParams {
    /// The `dim` leading triplets with the defaults: half as many spare columns as wanted
    /// ones (at least ten), tolerance 10⁻³, at most 50 iterations, seed 0.
    ///
    /// A quarter of spare columns takes half as many iterations again, as many as wanted ones
    /// a third fewer: on spectra falling like k^−0.3 to k^−0.8 half is within a tenth of the
    /// fastest everywhere.
    pub fn of(dim: usize) -> Self {
        let oversample = (dim / 2).max(10);
        SvdParams { dim, oversample, tolerance: 1e-3, max_iterations: 50, seed: 0 }
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

/// The leading singular triplets C ≈ U·diag(σ)·Vᵀ, σ falling. The sign of a pair u, v is the
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
    /// Whether all residuals are within the tolerance and small beside their own σ.
    pub converged: bool,
    /// Whether C has fewer than the wanted number of triplets; the others are not there.
    pub rank_deficient: bool,
}

/// Computes the leading singular triplets of `c`.
pub fn randomised_svd(c: &Operator, params: &SvdParams, run: &Run<'_>) -> Result<Svd> {
    params.check()?;
    let width = params.dim.saturating_add(params.oversample).min(c.d_x()).min(c.d_y());
    if width == 0 {
        return Err(nothing_there());
    }
    let mut v = Dense::gaussian(c.d_y(), width, params.seed);
    orthonormalise(&mut v);
    let mut u = Dense::zeros(c.d_x(), width);
    let mut z = Dense::zeros(c.d_x(), width);
    let mut sigma: Vec<f64> = Vec::new();
    let mut rank = 0;
    for iteration in 0.. {
        run.step("singular vectors", iteration as u64, Some(params.max_iterations as u64))?;
        c.apply(&v, &mut z)?;
        if iteration > 0 {
            let wanted = rank.min(params.dim);
            let residuals = residuals(&z, &u, &sigma[..wanted]);
            let converged = residuals.iter().zip(&sigma).all(|(&residual, &s)| {
                residual <= params.tolerance
                    && residual <= (OWN_SHARE * s / sigma[0]).max(NUMERICAL_ZERO)
            });
            if converged || iteration == params.max_iterations {
                return Ok(finish(Found { u, v, sigma, residuals }, iteration, converged, params));
            }
        }
        run.check()?;
        orthonormalise(&mut z);
        std::mem::swap(&mut u, &mut z);
        c.apply_transpose(&u, &mut v)?;
        let (found, rotation) = rayleigh_ritz(&mut v, iteration + 1)?;
        multiply_right(&mut u, &rotation, BlockStructure::Rectangular);
        sigma = found;

        let floor = (NUMERICAL_ZERO * sigma[0]).max(CENTRING_ERROR * c.correction_norm());
        let before = std::mem::replace(&mut rank, sigma.partition_point(|&s| s > floor));
        if rank == 0 {
            return Err(nothing_there());
        }
        // Where the spectrum falls steeply a random start cannot tell small values from
        // rounding: look for more beside what was found, for as long as there is more.
        if rank < width && rank > before {
            refill(&mut v, rank, params.seed.wrapping_add(iteration as u64 + 1));
        }
    }
    unreachable!("the last iteration returns")
}

/// The error of a C without anything in it.
pub(crate) fn nothing_there() -> Error {
    Error::Empty {
        what: "C = XᵀRY is zero: there is nothing to factorise".to_owned(),
        advice: "check that the training clicks join queries and documents that have features, \
                 and try another centring"
            .to_owned(),
    }
}

/// Turns W = Cᵀ·Q_x into right singular vectors; returns the singular values and the rotation
/// that turns Q_x into left ones.
fn rayleigh_ritz(w: &mut Dense, iteration: usize) -> Result<(Vec<f64>, Mat<f64>)> {
    let not_finite = || Error::NotFinite {
        what: "the product of C and its singular vectors",
        sweep: iteration,
        advice: "look for extreme values in the features and the click weights; \
                 rows of norm one and log clicks keep them small"
            .to_owned(),
    };
    let mut factor = finite_factor(w).ok_or_else(not_finite)?;
    let mut s = factor.r.clone();
    if !factor.well_conditioned {
        multiply_right(w, &factor.inverse, BlockStructure::TriangularUpper);
        factor = finite_factor(w).ok_or_else(not_finite)?;
        s = &factor.r * s;
    }
    let svd = small::svd(&s).ok_or_else(not_finite)?;
    multiply_right(w, &(&factor.inverse * &svd.u), BlockStructure::Rectangular);
    Ok((svd.sigma, svd.v))
}

fn finite_factor(block: &Dense) -> Option<Factor> {
    let gram = gram(block);
    (0..gram.nrows()).all(|k| gram[(k, k)].is_finite()).then(|| Factor::of(&gram))
}

/// ‖z_k − σ_k·u_k‖/σ₁ of the first columns.
fn residuals(z: &Dense, u: &Dense, sigma: &[f64]) -> Vec<f64> {
    let n = sigma.len();
    let k = z.n_cols();
    let shares: Vec<Vec<f64>> = z
        .values()
        .par_chunks(ROWS_PER_SUM * k)
        .zip(u.values().par_chunks(ROWS_PER_SUM * k))
        .map(|(z, u)| {
            let mut squares = vec![0.0; n];
            for (z, u) in z.chunks_exact(k).zip(u.chunks_exact(k)) {
                for (j, square) in squares.iter_mut().enumerate() {
                    let difference = f64::from(z[j]) - sigma[j] * f64::from(u[j]);
                    *square += difference * difference;
                }
            }
            squares
        })
        .collect();
    (0..n).map(|j| shares.iter().map(|share| share[j]).sum::<f64>().sqrt() / sigma[0]).collect()
}

/// Puts random directions, orthogonal to the first `rank` columns, in place of the others.
fn refill(v: &mut Dense, rank: usize, seed: u64) {
    let fresh = Dense::gaussian(v.n_rows(), v.n_cols() - rank, seed);
    v.rows_mut().enumerate().for_each(|(i, row)| row[rank..].copy_from_slice(fresh.row(i)));
    orthonormalise(v);
}

struct Found {
    u: Dense,
    v: Dense,
    sigma: Vec<f64>,
    residuals: Vec<f64>,
}

fn finish(found: Found, iterations: usize, converged: bool, params: &SvdParams) -> Svd {
    let kept = found.residuals.len();
    let mut u = found.u.first_columns(kept);
    let mut v = found.v.first_columns(kept);
    let signs = signs(&u);
    for side in [&mut u, &mut v] {
        side.rows_mut()
            .for_each(|row| row.iter_mut().zip(&signs).for_each(|(value, sign)| *value *= sign));
    }
    Svd {
        u,
        v,
        sigma: found.sigma[..kept].to_vec(),
        residuals: found.residuals,
        iterations,
        converged,
        rank_deficient: kept < params.dim,
    }
}

/// The sign of each column's first entry of largest size.
fn signs(u: &Dense) -> Vec<f32> {
    let mut largest = vec![0.0f32; u.n_cols()];
    for i in 0..u.n_rows() {
        for (largest, &value) in largest.iter_mut().zip(u.row(i)) {
            if value.abs() > largest.abs() {
                *largest = value;
            }
        }
    }
    largest.into_iter().map(|value| if value < 0.0 { -1.0 } else { 1.0 }).collect()
}

#[cfg(test)]
mod tests;
