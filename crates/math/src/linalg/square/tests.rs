//! Against dense algebra on small matrices, and against the models at both ends of λ.

use proptest::prelude::*;

use super::*;
use crate::linalg::{Centring, SvdParams, randomised_svd};
use crate::oracle::{Naive, full_csr, identity, random_csr, same_at_any_thread_count};
use crate::sparse::Csr;

fn params(dim: usize, lambda_x: f64, lambda_y: f64) -> SquareParams {
    SquareParams {
        dim,
        oversample: 10,
        lambda_x,
        lambda_y,
        tolerance: 1e-4,
        max_iterations: 300,
        max_steps: 500,
        seed: 1,
    }
}

fn operator(x: &Csr, r: &Csr, y: &Csr) -> Operator {
    Operator::new(x.clone(), r.clone(), y.clone(), Centring::None).unwrap()
}

fn fit(x: &Csr, r: &Csr, y: &Csr, params: &SquareParams) -> SquareFit {
    square_fit(&operator(x, r, y), [x.clone(), y.clone()], params, &Run::silent()).unwrap()
}

/// W = P·Σ·Qᵀ.
fn product(fit: &SquareFit) -> Naive {
    let (p, q) = (Naive::of_dense(&fit.p), Naive::of_dense(&fit.q));
    let scaled = Naive::from_fn(p.n_rows, p.n_cols, |i, k| p.get(i, k) * fit.sigma[k]);
    scaled.times(&q.transpose())
}

fn plus_diagonal(matrix: Naive, lambda: f64) -> Naive {
    Naive::from_fn(matrix.n_rows, matrix.n_cols, |i, j| {
        matrix.get(i, j) + if i == j { lambda } else { 0.0 }
    })
}

/// The lower triangle L with L·Lᵀ = `matrix`, and its inverse.
fn cholesky(matrix: &Naive) -> (Naive, Naive) {
    let n = matrix.n_rows;
    let mut l = Naive::from_fn(n, n, |_, _| 0.0);
    for j in 0..n {
        for i in j..n {
            let inner: f64 = (0..j).map(|k| l.get(i, k) * l.get(j, k)).sum();
            let rest = matrix.get(i, j) - inner;
            l.values[i * n + j] = if i == j { rest.sqrt() } else { rest / l.get(j, j) };
        }
    }
    let mut inverse = Naive::from_fn(n, n, |_, _| 0.0);
    for j in 0..n {
        for i in j..n {
            let inner: f64 = (j..i).map(|k| l.get(i, k) * inverse.get(k, j)).sum();
            let one = f64::from(u8::from(i == j));
            inverse.values[i * n + j] = (one - inner) / l.get(i, i);
        }
    }
    (l, inverse)
}

/// The best approximation of rank `d`, with the singular values, by faer.
fn truncate(matrix: &Naive, d: usize) -> (Naive, Vec<f64>) {
    let n = matrix.n_rows.max(matrix.n_cols);
    let padded = Mat::from_fn(n, n, |i, j| {
        if i < matrix.n_rows && j < matrix.n_cols { matrix.get(i, j) } else { 0.0 }
    });
    let svd = small::svd(&padded).unwrap();
    let cut = Naive::from_fn(matrix.n_rows, matrix.n_cols, |i, j| {
        (0..d.min(n)).map(|k| svd.u[(i, k)] * svd.sigma[k] * svd.v[(j, k)]).sum()
    });
    (cut, svd.sigma)
}

/// Everything by dense algebra.
struct Closed {
    x: Naive,
    r: Naive,
    y: Naive,
    lambda: (f64, f64),
}

impl Closed {
    fn new(x: &Csr, r: &Csr, y: &Csr, lambda: (f64, f64)) -> Self {
        Closed { x: Naive::of(x), r: Naive::of(r), y: Naive::of(y), lambda }
    }

    fn grams(&self) -> (Naive, Naive) {
        let gram = |m: &Naive, lambda| plus_diagonal(m.transpose().times(m), lambda);
        (gram(&self.x, self.lambda.0), gram(&self.y, self.lambda.1))
    }

    fn c(&self) -> Naive {
        self.x.transpose().times(&self.r).times(&self.y)
    }

    /// A⁻¹CB⁻¹.
    fn full(&self) -> Naive {
        let inverse = |m: &Naive| {
            let l = cholesky(m).1;
            l.transpose().times(&l)
        };
        let (a, b) = self.grams();
        inverse(&a).times(&self.c()).times(&inverse(&b))
    }

    /// The best W of rank d, and all singular values.
    fn best(&self, d: usize) -> (Naive, Vec<f64>) {
        let (a, b) = self.grams();
        let (la, lb) = (cholesky(&a).1, cholesky(&b).1);
        let (cut, sigma) = truncate(&la.times(&self.c()).times(&lb.transpose()), d);
        (la.transpose().times(&cut).times(&lb), sigma)
    }

    fn loss(&self, w: &Naive) -> f64 {
        let square = |m: &Naive| m.values.iter().map(|v| v * v).sum::<f64>();
        let (xw, wy) = (self.x.times(w), w.times(&self.y.transpose()));
        let fitted = self.x.times(&wy);
        let missed: f64 =
            self.r.values.iter().zip(&fitted.values).map(|(r, f)| (r - f).powi(2)).sum();
        let (lx, ly) = self.lambda;
        missed + lx * square(&wy) + ly * square(&xw) + lx * ly * square(w)
    }
}

fn assert_near(found: &Naive, expected: &Naive, tolerance: f64) {
    let size = expected.values.iter().fold(1e-12f64, |m, v| m.max(v.abs()));
    for (f, e) in found.values.iter().zip(&expected.values) {
        assert!((f - e).abs() < tolerance * size, "{f} {e}");
    }
}

fn random(seed: u64) -> (Csr, Csr, Csr) {
    let r = random_csr(40, 30, 3, seed + 1).map(|_, _, v| v.abs()).unwrap();
    (random_csr(40, 12, 4, seed), r, random_csr(30, 15, 5, seed + 2))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rank_d_agrees_with_the_dense_generalised_svd(
        seed in 0u64..1000, d in 1usize..8,
        lambda_x in prop_oneof![Just(0.1), Just(1.0), Just(10.0)],
        lambda_y in prop_oneof![Just(0.1), Just(1.0), Just(10.0)],
    ) {
        let (x, r, y) = random(seed);
        let closed = Closed::new(&x, &r, &y, (lambda_x, lambda_y));
        let (best, sigma) = closed.best(d);
        let fit = fit(&x, &r, &y, &params(d, lambda_x, lambda_y));
        prop_assert!(fit.converged && fit.solved, "{fit:?}");
        for (found, expected) in fit.sigma.iter().zip(&sigma) {
            prop_assert!((found - expected).abs() < 1e-3 * sigma[0], "{found} {expected}");
        }
        // Where two values nearly coincide, W itself is not unique, but its loss is.
        let w = product(&fit);
        let (loss, least) = (closed.loss(&w), closed.loss(&best));
        prop_assert!((loss - least).abs() < 1e-4 * least, "{loss} {least}");
        if sigma[d - 1] - sigma[d] > 0.05 * sigma[0] {
            assert_near(&w, &best, 0.02);
        }
        // The loss is ‖R‖² − Σσ².
        let size: f64 = r.values().iter().map(|&v| f64::from(v).powi(2)).sum();
        let explained: f64 = fit.sigma.iter().map(|s| s * s).sum();
        prop_assert!((size - explained - loss).abs() < 1e-3 * size);
    }

    #[test]
    fn full_rank_is_the_closed_form(seed in 0u64..1000) {
        let (x, r, y) = random(seed);
        let closed = Closed::new(&x, &r, &y, (0.5, 2.0));
        let fit = fit(&x, &r, &y, &params(12, 0.5, 2.0));
        assert_near(&product(&fit), &closed.full(), 0.02);
    }

    #[test]
    fn a_truncated_full_rank_answer_is_worse(seed in 0u64..1000) {
        let (x, r, y) = random(seed);
        let closed = Closed::new(&x, &r, &y, (0.1, 0.1));
        let plain = closed.loss(&truncate(&closed.full(), 3).0);
        let found = closed.loss(&product(&fit(&x, &r, &y, &params(3, 0.1, 0.1))));
        prop_assert!(found < plain, "{found} {plain}");
    }
}

#[test]
fn a_huge_lambda_gives_the_directions_of_pls_and_keeps_its_values() {
    let (x, r, y) = random(7);
    let lambda = 1e6;
    let fit = fit(&x, &r, &y, &SquareParams { tolerance: 1e-3, ..params(4, lambda, lambda) });
    let svd = randomised_svd(
        &operator(&x, &r, &y),
        &SvdParams { tolerance: 1e-5, ..SvdParams::of(4) },
        &Run::silent(),
    )
    .unwrap();
    for k in 0..4 {
        // PᵀAP = I with A ≈ λI: P = U/√λ, and M = C/λ.
        assert!((fit.sigma[k] * lambda / svd.sigma[k] - 1.0).abs() < 1e-3);
        for (p, u) in [(&fit.p, &svd.u), (&fit.q, &svd.v)] {
            for i in 0..p.n_rows() {
                let (p, u) = (f64::from(p.row(i)[k]) * lambda.sqrt(), f64::from(u.row(i)[k]));
                assert!((p - u).abs() < 0.02, "{k}: {p} {u}");
            }
        }
    }
}

/// Orthonormal columns by Gram and Schmidt.
fn gram_schmidt(matrix: &Naive) -> Naive {
    let mut q = matrix.clone();
    for k in 0..q.n_cols {
        for before in 0..k {
            let inner: f64 = (0..q.n_rows).map(|i| q.get(i, before) * q.get(i, k)).sum();
            for i in 0..q.n_rows {
                q.values[i * q.n_cols + k] -= inner * q.get(i, before);
            }
        }
        let norm = (0..q.n_rows).map(|i| q.get(i, k).powi(2)).sum::<f64>().sqrt();
        (0..q.n_rows).for_each(|i| q.values[i * q.n_cols + k] /= norm);
    }
    q
}

#[test]
fn pairs_one_to_one_and_no_lambda_are_canonical_correlations() {
    // Two noisy views of three hidden numbers.
    let hidden = Dense::gaussian(200, 3, 1);
    let view = |d: usize, seed: u64| {
        let (mix, noise) = (Dense::gaussian(3, d, seed), Dense::gaussian(200, d, seed + 1));
        Naive::from_fn(200, d, |i, j| {
            let signal: f32 = (0..3).map(|k| hidden.row(i)[k] * mix.row(k)[j]).sum();
            f64::from(signal + 0.5 * noise.row(i)[j])
        })
    };
    let (x, y) = (view(5, 10), view(6, 20));
    let fit = fit(&full_csr(&x), &identity(200), &full_csr(&y), &params(5, 1e-6, 1e-6));
    // The canonical correlations are the singular values of Q_xᵀQ_y.
    let inner = gram_schmidt(&x).transpose().times(&gram_schmidt(&y));
    let (_, expected) = truncate(&inner, 5);
    for (found, expected) in fit.sigma.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4, "{:?} {expected}", fit.sigma);
    }
    // The variates XP are orthonormal, and correlated with YQ by σ.
    let variates = (x.times(&Naive::of_dense(&fit.p)), y.times(&Naive::of_dense(&fit.q)));
    let cross = variates.0.transpose().times(&variates.1);
    for i in 0..5 {
        for j in 0..5 {
            let expected = if i == j { fit.sigma[i] } else { 0.0 };
            assert!((cross.get(i, j) - expected).abs() < 1e-3, "{i} {j}");
        }
    }
}

#[test]
fn more_dimensions_than_the_rank_are_left_out_and_told() {
    // Two distinct queries, however often they come.
    let x = Csr::from_triplets(6, 5, (0..6).map(|i| (i, i % 2, 1.0)).collect()).unwrap();
    let r = random_csr(6, 9, 3, 1);
    let y = random_csr(9, 7, 3, 2);
    let fit = fit(&x, &r, &y, &params(4, 0.5, 0.5));
    assert_eq!((fit.sigma.len(), fit.rank_deficient, fit.converged), (2, true, true));
    assert_near(&product(&fit), &Closed::new(&x, &r, &y, (0.5, 0.5)).full(), 0.01);
}

#[test]
fn without_clicks_or_features_there_is_nothing_to_fit() {
    let x = random_csr(5, 4, 2, 1);
    for (r, y) in
        [(Csr::empty(5, 3), random_csr(3, 4, 2, 2)), (random_csr(5, 3, 2, 1), Csr::empty(3, 4))]
    {
        let c = operator(&x, &r, &y);
        let error = square_fit(&c, [x.clone(), y.clone()], &params(2, 1.0, 1.0), &Run::silent())
            .unwrap_err()
            .to_string();
        assert!(error.contains("nothing to factorise"), "{error}");
    }
}

#[test]
fn too_few_iterations_or_steps_are_told() {
    let (x, r, y) =
        (random_csr(300, 80, 4, 1), random_csr(300, 200, 3, 2), random_csr(200, 90, 4, 3));
    let few = SquareParams { max_iterations: 1, oversample: 0, ..params(10, 0.01, 0.01) };
    let found = fit(&x, &r, &y, &few);
    assert!(!found.converged && found.residuals.iter().any(|&r| r > 1e-4), "{:?}", found.residuals);
    let found = fit(&x, &r, &y, &SquareParams { max_steps: 1, max_iterations: 3, ..few });
    assert!(!found.solved && found.solve_residual > 1e-4);
}

#[test]
fn the_fit_does_not_depend_on_the_threads() {
    let x = random_csr(5000, 3000, 4, 1);
    let r = random_csr(5000, 2500, 2, 2).map(|_, _, v| v.abs()).unwrap();
    let y = random_csr(2500, 2000, 6, 3);
    let c = operator(&x, &r, &y);
    let params = SquareParams { tolerance: 1e-2, max_iterations: 3, ..params(12, 1.0, 1.0) };
    same_at_any_thread_count(|| {
        square_fit(&c, [x.clone(), y.clone()], &params, &Run::silent()).unwrap()
    });
}

#[test]
fn a_stopped_fit_stops() {
    let (x, r, y) = random(1);
    let run = Run::new(&|_| {}, &|| true);
    let stopped =
        square_fit(&operator(&x, &r, &y), [x.clone(), y.clone()], &params(2, 1.0, 1.0), &run);
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
