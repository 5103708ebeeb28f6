use super::*;
use crate::linalg::orthonormalise;
use crate::linalg::{Centring, dot_f64};
use crate::oracle::{Naive, full_csr, identity, random_csr, same_at_any_thread_count};
use crate::sparse::{Csr, explicit_c};

/// A matrix as an operator: X and Y are identities, R is the matrix.
fn operator(matrix: &Naive, centring: Centring) -> Operator {
    let (x, y) = (identity(matrix.n_rows), identity(matrix.n_cols));
    Operator::new(x, full_csr(matrix), y, centring).unwrap()
}

/// U·diag(s)·Vᵀ for random orthonormal U and V, with the two.
fn with_spectrum(n_rows: usize, n_cols: usize, s: &[f64]) -> (Naive, Dense, Dense) {
    let mut u = Dense::gaussian(n_rows, s.len(), 11);
    let mut v = Dense::gaussian(n_cols, s.len(), 12);
    orthonormalise(&mut u);
    orthonormalise(&mut v);
    let scaled = Naive::from_fn(n_rows, s.len(), |i, k| f64::from(u.row(i)[k]) * s[k]);
    (scaled.times(&Naive::of_dense(&v).transpose()), u, v)
}

fn solve(c: &Operator, params: &SvdParams) -> Svd {
    randomised_svd(c, params, &Run::silent()).unwrap()
}

fn column(matrix: &Dense, k: usize) -> Vec<f32> {
    (0..matrix.n_rows()).map(|i| matrix.row(i)[k]).collect()
}

fn assert_orthonormal(matrix: &Dense) {
    for i in 0..matrix.n_cols() {
        for j in 0..=i {
            let product = dot_f64(&column(matrix, i), &column(matrix, j));
            assert!((product - f64::from(u8::from(i == j))).abs() < 1e-5, "{i} {j}: {product}");
        }
    }
}

/// Singular values of the explicit matrix, by faer.
fn dense_singular_values(c: &Naive) -> Vec<f64> {
    Mat::from_fn(c.n_rows, c.n_cols, |i, j| c.get(i, j)).singular_values().unwrap()
}

#[test]
fn a_known_construction_is_found_again() {
    let s = [8.0, 4.0, 2.0, 1.0, 0.5, 0.25];
    let (c, u, v) = with_spectrum(90, 70, &s);
    let svd =
        solve(&operator(&c, Centring::None), &SvdParams { tolerance: 1e-6, ..SvdParams::of(4) });
    assert!(svd.converged && !svd.rank_deficient);
    assert_orthonormal(&svd.u);
    assert_orthonormal(&svd.v);
    for (k, s) in s.into_iter().enumerate().take(4) {
        assert!((svd.sigma[k] - s).abs() < 1e-5, "{:?}", svd.sigma);
        let left = dot_f64(&column(&svd.u, k), &column(&u, k));
        let right = dot_f64(&column(&svd.v, k), &column(&v, k));
        assert!((left.abs() - 1.0).abs() < 1e-5);
        assert!((left - right).abs() < 1e-5, "u and v have one sign: {left} {right}");
        let largest = column(&svd.u, k).into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs()));
        assert!(largest.unwrap() > 0.0);
    }
}

#[test]
fn sparse_factors_agree_with_a_dense_svd_of_the_explicit_matrix() {
    let x = random_csr(300, 80, 4, 1);
    let r = random_csr(300, 200, 2, 2).map(|_, _, value| value.abs()).unwrap();
    let y = random_csr(200, 60, 5, 3);
    let explicit = Naive::of(&explicit_c(&x, &r, &y).unwrap());
    let expected = dense_singular_values(&explicit);
    let c = Operator::new(x.clone(), r.clone(), y.clone(), Centring::None).unwrap();
    let svd = solve(&c, &SvdParams { tolerance: 1e-5, ..SvdParams::of(12) });
    assert!(svd.converged, "{:?}", svd.residuals);
    for (k, (found, expected)) in svd.sigma.iter().zip(&expected).enumerate() {
        assert!((found / expected - 1.0).abs() < 1e-4, "{k}: {found} for {expected}");
        // The vectors, by what defines them.
        let cv = explicit.times(&Naive::from_fn(60, 1, |i, _| svd.v.row(i)[k].into()));
        let ctu = explicit.transpose().times(&Naive::from_fn(80, 1, |i, _| svd.u.row(i)[k].into()));
        let miss = |product: &Naive, other: &Dense| -> f64 {
            let squares = (0..product.n_rows)
                .map(|i| (product.values[i] - found * f64::from(other.row(i)[k])).powi(2));
            squares.sum::<f64>().sqrt() / expected.max(1e-9)
        };
        assert!(miss(&cv, &svd.u) < 1e-3 && miss(&ctu, &svd.v) < 1e-3);
    }
}

#[test]
fn centring_is_part_of_what_is_factorised() {
    let matrix = Naive::from_fn(30, 20, |i, j| 1.0 + ((7 * i + 3 * j) % 11) as f64 / 5.0);
    let total: f64 = matrix.values.iter().sum();
    let row = |i: usize| (0..20).map(|j| matrix.get(i, j)).sum::<f64>();
    let col = |j: usize| (0..30).map(|i| matrix.get(i, j)).sum::<f64>();
    let centred = Naive::from_fn(30, 20, |i, j| matrix.get(i, j) - row(i) * col(j) / total);
    let expected = dense_singular_values(&centred);
    let svd = solve(&operator(&matrix, Centring::Clicks), &SvdParams::of(5));
    for (found, expected) in svd.sigma.iter().zip(&expected) {
        assert!((found / expected - 1.0).abs() < 1e-4, "{:?} for {expected:?}", svd.sigma);
    }
}

#[test]
fn residuals_are_what_they_say() {
    let s: Vec<f64> = (1..=60).map(|k| 1.0 / f64::from(k).sqrt()).collect();
    let (c, _, _) = with_spectrum(100, 80, &s);
    let params = SvdParams { max_iterations: 1, oversample: 2, ..SvdParams::of(10) };
    let svd = solve(&operator(&c, Centring::None), &params);
    assert!(!svd.converged && svd.iterations == 1);
    for k in 0..10 {
        let miss = |c: &Naive, from: &Dense, to: &Dense| {
            let embedding = c.times(&Naive::from_fn(c.n_cols, 1, |i, _| from.row(i)[k].into()));
            let misses = (0..c.n_rows)
                .map(|i| (embedding.values[i] - svd.sigma[k] * f64::from(to.row(i)[k])).powi(2));
            misses.sum::<f64>().sqrt() / svd.sigma[0]
        };
        let larger = miss(&c, &svd.v, &svd.u).max(miss(&c.transpose(), &svd.u, &svd.v));
        assert!((larger - svd.residuals[k]).abs() < 1e-5, "{larger} {:?}", svd.residuals);
        assert!(larger > 1e-3, "nothing is converged after one iteration");
    }
}

#[test]
fn a_slowly_falling_spectrum_converges_in_few_iterations() {
    let s: Vec<f64> = (1..=300).map(|k| f64::from(k).powf(-0.5)).collect();
    let (c, _, _) = with_spectrum(320, 310, &s);
    let svd = solve(&operator(&c, Centring::None), &SvdParams::of(60));
    assert!(svd.converged && svd.iterations <= 12, "{} iterations", svd.iterations);
}

#[test]
fn triplets_in_the_shadow_of_a_dominant_one_are_refined_too() {
    let mut s: Vec<f64> = (1..=150).map(|k| f64::from(k).powf(-0.5)).collect();
    s[0] = 2000.0;
    let (c, _, _) = with_spectrum(200, 180, &s);
    let svd = solve(&operator(&c, Centring::None), &SvdParams::of(30));
    assert!(svd.converged && svd.iterations > 1);
    for (found, expected) in svd.sigma.iter().zip(&s) {
        assert!((found / expected - 1.0).abs() < 0.03, "{found} for {expected}");
    }
}

#[test]
fn a_steeply_falling_spectrum_is_found_down_to_numerical_zero() {
    let s: Vec<f64> = (0..12).map(|k| 10f64.powf(-0.4 * f64::from(k))).collect();
    let (c, _, _) = with_spectrum(60, 50, &s);
    let svd = solve(&operator(&c, Centring::None), &SvdParams::of(12));
    assert_eq!(svd.sigma.len(), 12, "{:?}", svd.sigma);
    for (found, expected) in svd.sigma.iter().zip(&s) {
        assert!((found - expected).abs() < 1e-3 * expected + 1e-6, "{:?}", svd.sigma);
    }
}

#[test]
fn a_steep_spectrum_of_more_columns_than_f32_can_tell_apart_is_found() {
    // Far more of it lies below what the first products show than above, so that columns are
    // refilled, and the random ones meet directions that outgrow all bounds.
    for (decades, n) in [(5.0, 150), (7.0, 150), (9.0, 150), (7.0, 300), (12.0, 300)] {
        let s: Vec<f64> =
            (0..n).map(|k| 10f64.powf(-decades * f64::from(k) / f64::from(n))).collect();
        let (c, _, _) = with_spectrum(340, 320, &s);
        let svd = solve(&operator(&c, Centring::None), &SvdParams::of(250));
        for (found, expected) in svd.sigma.iter().zip(&s).take_while(|(_, s)| **s > 1e-4) {
            assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
        }
    }
}

#[test]
fn more_dimensions_than_the_matrix_has_are_dropped_and_said_so() {
    let (c, _, _) = with_spectrum(40, 30, &[3.0, 2.0, 1.0]);
    let svd = solve(&operator(&c, Centring::None), &SvdParams::of(10));
    assert!(svd.rank_deficient && svd.converged);
    assert_eq!((svd.sigma.len(), svd.u.n_cols(), svd.v.n_cols()), (3, 3, 3));
    assert_orthonormal(&svd.u);

    let (c, _, _) = with_spectrum(6, 9, &[3.0, 2.5, 2.0, 1.5, 1.0, 0.5]);
    let svd = solve(&operator(&c, Centring::None), &SvdParams::of(100));
    assert!(svd.rank_deficient && svd.converged && svd.sigma.len() == 6);
    assert_orthonormal(&svd.v);
}

#[test]
fn nothing_to_factorise_is_an_error() {
    let empty = |x: Csr, r: Csr, y: Csr, centring| {
        let c = Operator::new(x, r, y, centring).unwrap();
        let error = randomised_svd(&c, &SvdParams::of(2), &Run::silent()).unwrap_err();
        assert!(matches!(error, Error::Empty { .. }), "{error}");
    };
    empty(identity(4), Csr::empty(4, 5), identity(5), Centring::None);
    empty(Csr::empty(4, 0), Csr::empty(4, 5), identity(5), Centring::None);
    empty(Csr::empty(0, 3), Csr::empty(0, 0), Csr::empty(0, 3), Centring::Mean);
    // A constant matrix is all mean: centring leaves rounding errors and nothing else.
    let constant = full_csr(&Naive::from_fn(40, 30, |_, _| 0.3));
    empty(identity(40), constant, identity(30), Centring::Clicks);
}

#[test]
fn values_that_overflow_stop_with_the_iteration() {
    let huge = full_csr(&Naive::from_fn(20, 20, |i, j| if i == j { 3e38 } else { 1e38 }));
    let c = Operator::new(huge.clone(), huge, identity(20), Centring::None).unwrap();
    let error = randomised_svd(&c, &SvdParams::of(2), &Run::silent()).unwrap_err();
    assert!(matches!(error, Error::NotFinite { step: 1, .. }), "{error}");
}

#[test]
fn the_caller_can_stop_and_sees_progress() {
    let (c, _, _) = with_spectrum(20, 20, &[2.0, 1.0]);
    let c = operator(&c, Centring::None);
    let stopped = randomised_svd(&c, &SvdParams::of(2), &Run::new(&|_| {}, &|| true));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let (c, _, _) = with_spectrum(20, 20, &[2.0, 1.0]);
    let c = operator(&c, Centring::None);
    for params in [
        SvdParams::of(0),
        SvdParams { tolerance: 0.0, ..SvdParams::of(2) },
        SvdParams { tolerance: f64::NAN, ..SvdParams::of(2) },
        SvdParams { max_iterations: 0, ..SvdParams::of(2) },
    ] {
        let refused = randomised_svd(&c, &params, &Run::silent());
        assert!(matches!(refused, Err(Error::Parameter { .. })));
    }
}

#[test]
fn triplets_do_not_depend_on_the_threads() {
    let x = random_csr(6000, 5000, 4, 1);
    let r = random_csr(6000, 4000, 2, 2).map(|_, _, value| value.abs()).unwrap();
    let y = random_csr(4000, 4500, 5, 3);
    for centring in [Centring::None, Centring::Clicks] {
        let c = Operator::new(x.clone(), r.clone(), y.clone(), centring).unwrap();
        let params = SvdParams { max_iterations: 3, ..SvdParams::of(30) };
        let svd = same_at_any_thread_count(|| solve(&c, &params));
        assert_eq!(svd.sigma.len(), 30);
    }
}

/// The values and vectors of `svd` beside the ones that were put in.
fn assert_found(svd: &Svd, c: &Naive, s: &[f64], tolerance: f64) {
    assert!(svd.converged, "{} iterations, {:?}", svd.iterations, svd.residuals);
    for (found, expected) in svd.sigma.iter().zip(s) {
        assert!((found - expected).abs() < tolerance * s[0], "{found} for {expected}");
    }
    assert_orthonormal(&svd.u);
    assert_orthonormal(&svd.v);
    for k in 0..svd.sigma.len() {
        let cv = c.times(&Naive::from_fn(c.n_cols, 1, |i, _| svd.v.row(i)[k].into()));
        let miss = (0..c.n_rows)
            .map(|i| (cv.values[i] - svd.sigma[k] * f64::from(svd.u.row(i)[k])).powi(2))
            .sum::<f64>()
            .sqrt();
        assert!(miss < tolerance * s[0], "{k}: {miss}");
    }
}

#[test]
fn clusters_plateaus_and_cliffs_are_found() {
    let cluster = |k: u32| if k <= 20 { 3.0 } else { 1.0 / f64::from(k - 19) };
    let plateau = |k: u32| 1.0 + f64::from(200 - k) * 1e-3;
    let cliff = |k: u32| if k <= 30 { 5.0 - f64::from(k) * 0.1 } else { 1e-3 };
    let slope = |k: u32| f64::from(k).powf(-0.3);
    let spectra: [(&str, &dyn Fn(u32) -> f64); 4] =
        [("cluster", &cluster), ("plateau", &plateau), ("cliff", &cliff), ("slope", &slope)];
    for (name, spectrum) in spectra {
        let s: Vec<f64> = (1..=200).map(spectrum).collect();
        let (c, _, _) = with_spectrum(260, 230, &s);
        let svd = solve(&operator(&c, Centring::None), &SvdParams::of(30));
        assert!(svd.iterations <= 12, "{name}: {} iterations", svd.iterations);
        assert_found(&svd, &c, &s, 2e-3);
    }
}

#[test]
fn what_a_dominant_direction_hides_is_looked_for() {
    // One power of CᵀC in f32 leaves nothing of the others.
    let mut s: Vec<f64> = (1..=60).map(|k| f64::from(k).powf(-0.5)).collect();
    s[0] = 2e4;
    let (c, _, _) = with_spectrum(100, 90, &s);
    let svd = solve(&operator(&c, Centring::None), &SvdParams::of(5));
    assert_eq!(svd.sigma.len(), 5, "{:?}", svd.sigma);
    for (found, expected) in svd.sigma.iter().zip(&s) {
        assert!((found / expected - 1.0).abs() < 0.1, "{:?}", svd.sigma);
    }
}

#[test]
fn features_without_entries_have_rows_of_zeros() {
    // Rank three, so that random directions are tried beside what is found.
    let (c, _, _) = with_spectrum(40, 30, &[3.0, 2.0, 1.0]);
    let c = Naive::from_fn(40, 30, |i, j| if i == 7 || j == 4 { 0.0 } else { c.get(i, j) });
    let kept = (0..40 * 30).filter(|at| c.values[*at] != 0.0);
    let triplets = kept.map(|at| ((at / 30) as u32, (at % 30) as u32, c.values[at] as f32));
    let r = Csr::from_triplets(40, 30, triplets.collect()).unwrap();
    let c = Operator::new(identity(40), r, identity(30), Centring::None).unwrap();
    let svd = solve(&c, &SvdParams::of(8));
    assert!(svd.u.row(7).iter().chain(svd.v.row(4)).all(|&value| value == 0.0));
}

#[test]
fn memory_grows_with_the_blocks() {
    let bytes = |d_x, d_y, dim| svd_bytes(d_x, d_y, &SvdParams::of(dim));
    let (small, large) = (bytes(200_000, 200_000, 100), bytes(200_000, 200_000, 1000));
    // Two blocks of 1.2·d columns and little beside them.
    assert!(large > 8 * 200_000 * 1200 && large < 10 * 200_000 * 1200, "{large}");
    assert!(small < large / 4);
    assert_eq!(bytes(0, 10, 5), 0);
}

#[test]
fn a_start_near_the_answer_saves_iterations_and_changes_nothing_else() {
    let of = |extra: u32| {
        let r = random_csr(400, 300, 6, 2).map(|_, _, value| value.abs()).unwrap();
        // A few more clicks: the log has grown.
        let more =
            r.map(|i, j, value| value * if (i as u32 + j) % 50 == extra { 1.3 } else { 1.0 });
        let (x, y) = (random_csr(400, 200, 5, 1), random_csr(300, 250, 5, 3));
        Operator::new(x, more.unwrap(), y, Centring::None).unwrap()
    };
    let params = SvdParams { tolerance: 1e-4, ..SvdParams::of(8) };
    let run = Run::silent();
    let old = randomised_svd(&of(60), &params, &run).unwrap();
    let (c, zero) = (of(7), Dense::zeros(250, 3));
    let scratch = randomised_svd(&c, &params, &run).unwrap();
    let begun = randomised_svd_from(&c, &params, Some(&old.v), &run).unwrap();
    assert!(scratch.converged && begun.converged);
    assert!(begun.iterations <= scratch.iterations, "{} {}", begun.iterations, scratch.iterations);
    for (a, b) in scratch.sigma.iter().zip(&begun.sigma) {
        assert!((a - b).abs() < 1e-4 * scratch.sigma[0], "{a} {b}");
    }
    // The very answer needs one iteration to be seen as such; columns of zeros do no harm.
    let again = randomised_svd_from(&c, &params, Some(&scratch.v), &run).unwrap();
    assert!(again.iterations <= 2, "{}", again.iterations);
    let nothing = randomised_svd_from(&c, &params, Some(&zero), &run).unwrap();
    assert_eq!(nothing, scratch);
}
