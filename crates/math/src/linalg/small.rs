//! Factorisations of small dense f64 matrices with faer.
//!
//! faer's factorisations depend on the number of threads, so they run on the calling thread, on
//! matrices of latent size only.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::{Mat, MatMut, Par};

use super::Dense;
use super::orthonormal::gram;
use crate::Run;

/// A = U·diag(σ)·Vᵀ of a square matrix, σ descending.
pub struct SmallSvd {
    pub u: Mat<f64>,
    pub sigma: Vec<f64>,
    pub v: Mat<f64>,
}

/// The SVD of a square matrix of finite numbers; `None` if it does not converge.
pub fn svd(matrix: &Mat<f64>) -> Option<SmallSvd> {
    let n = matrix.nrows();
    let (mut u, mut v, mut s) = (Mat::zeros(n, n), Mat::zeros(n, n), Diag::zeros(n));
    let thin = ComputeSvdVectors::Thin;
    let mut scratch =
        MemBuffer::new(svd::svd_scratch::<f64>(n, n, thin, thin, Par::Seq, Default::default()));
    svd::svd(
        matrix.as_ref(),
        s.as_mut(),
        Some(u.as_mut()),
        Some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut scratch),
        Default::default(),
    )
    .ok()?;
    let sigma = s.column_vector().iter().copied().collect();
    Some(SmallSvd { u, sigma, v })
}

/// A = P·diag(λ)·Pᵀ of a symmetric matrix, λ descending.
pub struct Eigen {
    pub values: Vec<f64>,
    /// One eigenvector per column.
    pub vectors: Mat<f64>,
}

/// The eigen-decomposition of a symmetric matrix of finite numbers; `None` if it does not
/// converge. Only the lower triangle is read.
pub fn symmetric_eigen(matrix: &Mat<f64>) -> Option<Eigen> {
    let n = matrix.nrows();
    let mut p = Mat::zeros(n, n);
    let mut values = ascending_eigenvalues(matrix, Some(p.as_mut()))?;
    values.reverse();
    Some(Eigen { values, vectors: Mat::from_fn(n, n, |i, j| p[(i, n - 1 - j)]) })
}

/// The eigenvalues of a symmetric matrix and, if `vectors` is given, the eigenvectors; `None` if
/// they do not converge.
fn ascending_eigenvalues(matrix: &Mat<f64>, vectors: Option<MatMut<'_, f64>>) -> Option<Vec<f64>> {
    let n = matrix.nrows();
    let mut s = Diag::zeros(n);
    let compute =
        if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut scratch = MemBuffer::new(evd::self_adjoint_evd_scratch::<f64>(
        n,
        compute,
        Par::Seq,
        Default::default(),
    ));
    evd::self_adjoint_evd(
        matrix.as_ref(),
        s.as_mut(),
        vectors,
        Par::Seq,
        MemStack::new(&mut scratch),
        Default::default(),
    )
    .ok()?;
    Some(s.column_vector().iter().copied().collect())
}

/// The effective rank of the rows (Roy and Vetterli 2007): exp of the entropy of
/// p_k = λ_k(LᵀL)/tr(LᵀL). It lies between one (all rows parallel) and the number of columns; zero
/// for a matrix of zeros, NaN if a value is not finite.
pub fn effective_rank(sample_rows: &Dense) -> f64 {
    let (n_rows, n_cols) = (sample_rows.n_rows(), sample_rows.n_cols());
    // LᵀL and LLᵀ have the same non-zero eigenvalues: take the smaller.
    let gram = if n_rows < n_cols {
        gram(&Dense::from_fn(n_cols, n_rows, |i, j| sample_rows.row(j)[i]), &Run::silent())
    } else {
        gram(sample_rows, &Run::silent())
    };
    let Ok(gram) = gram else { return f64::NAN };
    let trace: f64 = (0..gram.nrows()).map(|k| gram[(k, k)]).sum();
    if trace == 0.0 {
        return 0.0;
    }
    if !trace.is_finite() {
        return f64::NAN;
    }
    let Some(eigenvalues) = ascending_eigenvalues(&gram, None) else { return f64::NAN };
    let entropy: f64 = eigenvalues
        .iter()
        .map(|value| value / trace)
        .filter(|&p| p > 0.0)
        .map(|p| -p * p.ln())
        .sum();
    entropy.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::same_at_any_thread_count;

    #[test]
    fn effective_rank_of_parallel_rows_is_one() {
        let rows = Dense::from_fn(50, 8, |i, j| ((i + 1) * (j + 2)) as f32);
        assert!((effective_rank(&rows) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn effective_rank_of_equal_orthogonal_directions_is_their_number() {
        let rows = Dense::from_fn(60, 8, |i, j| f32::from(u8::from(i % 6 == j)));
        assert!((effective_rank(&rows) - 6.0).abs() < 1e-9);
        let wide = Dense::from_fn(5, 80, |i, j| f32::from(u8::from(i == j)));
        assert!((effective_rank(&wide) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn effective_rank_follows_its_formula() {
        // λ = 9, 1: p = 0.9, 0.1.
        let rows = Dense::from_fn(2, 2, |i, j| if i != j { 0.0 } else { [3.0, 1.0][i] });
        let expected = (-(0.9f64 * 0.9f64.ln()) - 0.1 * 0.1f64.ln()).exp();
        assert!((effective_rank(&rows) - expected).abs() < 1e-9);
    }

    #[test]
    fn effective_rank_of_nothing_is_zero_and_of_nan_is_nan() {
        assert_eq!(effective_rank(&Dense::zeros(5, 3)), 0.0);
        assert_eq!(effective_rank(&Dense::zeros(0, 3)), 0.0);
        assert!(effective_rank(&Dense::from_fn(2, 2, |_, _| f32::NAN)).is_nan());
    }

    #[test]
    fn effective_rank_does_not_depend_on_the_threads() {
        let rows = Dense::gaussian(4096, 50, 3);
        let rank = same_at_any_thread_count(|| effective_rank(&rows).to_bits());
        assert!((45.0..50.0).contains(&f64::from_bits(rank)));
    }
}
