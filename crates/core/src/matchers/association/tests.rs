//! Scores against the formula in plain loops, against the sketch, and against RMLS with many dimensions.

use super::*;
use crate::Run;
use crate::linalg::Side;
use crate::matchers::{Map, Rmls, Start};
use crate::oracle::{Naive, random_csr, same_at_any_thread_count};

/// Clicks of 300 queries on 90 documents.
fn data() -> Weighted {
    let positive = |matrix: Csr| matrix.map(|_, _, value| value.abs()).unwrap();
    Weighted {
        x: positive(random_csr(300, 60, 4, 1)),
        y: positive(random_csr(90, 50, 6, 2)),
        r: positive(random_csr(300, 90, 3, 3)),
    }
}

fn params(depth: Depth) -> Association {
    Association { depth, ..Association::default() }
}

/// `matrix` with its rows divided by their norm to the power `power`.
fn rows_divided(matrix: &Naive, power: f64) -> Naive {
    let norms: Vec<f64> = (0..matrix.n_rows)
        .map(|i| (0..matrix.n_cols).map(|j| matrix.get(i, j).powi(2)).sum::<f64>().sqrt())
        .collect();
    Naive::from_fn(matrix.n_rows, matrix.n_cols, |i, j| match norms[i] {
        0.0 => 0.0,
        norm => matrix.get(i, j) / norm.powf(power),
    })
}

/// The matrix between features, by the formula.
fn expected(params: &Association, data: &Weighted) -> Naive {
    let Weighted { x, y, r } = data;
    let c = Naive::of(x).transpose().times(&Naive::of(r)).times(&Naive::of(y));
    let hat = rows_divided(&c, params.x_power);
    match params.depth {
        Depth::Half => {
            let norms = rows_divided(&c.transpose(), params.y_power.unwrap_or(0.25));
            let by_column = |u: usize, v: usize| {
                let all = c.get(u, v);
                if all == 0.0 { 0.0 } else { norms.get(v, u) / all }
            };
            Naive::from_fn(c.n_rows, c.n_cols, |u, v| hat.get(u, v) * by_column(u, v))
        }
        Depth::One => {
            let second = c.transpose().times(&hat);
            hat.times(&rows_divided(&second, params.y_power.unwrap_or(1.0)).transpose())
        }
    }
}

/// The matrix between features that the kernel applies, row by row.
fn found(params: &Association, data: Weighted) -> Naive {
    let (scales, _) = Scales::of(&data, params, &Run::silent()).unwrap();
    let Weighted { x, y, r } = data;
    let kernel = Kernel::new(params.depth, x, r, Arc::new(y), scales).unwrap();
    // Some products are with rows of C, others with its factors.
    assert!(kernel.n_formed() > 0 && kernel.n_formed() < 60, "{}", kernel.n_formed());
    // New query features have no weights, and the others the same ones.
    let kernel = kernel.widened(2).unwrap();
    kernel.with(Row { indices: &[61], values: &[1.0] }, |weights| {
        assert_eq!(weights.entries().count(), 0)
    });
    let rows: Vec<Vec<f64>> = (0..60)
        .map(|u| {
            kernel.with(Row { indices: &[u], values: &[1.0] }, |weights| weights.sums().to_vec())
        })
        .collect();
    Naive::from_fn(60, 50, |u, v| rows[u][v])
}

fn close(found: &Naive, expected: &Naive, tolerance: f64) {
    let size = expected.values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for (found, expected) in found.values.iter().zip(&expected.values) {
        assert!((found - expected).abs() <= tolerance * size, "{found} {expected}");
    }
}

#[test]
fn half_a_sweep_is_c_with_scaled_rows() {
    for (x_power, y_power) in [(1.0, None), (0.0, Some(0.0)), (0.5, Some(0.5)), (1.0, Some(1.0))] {
        let params = Association { x_power, y_power, ..params(Depth::Half) };
        close(&found(&params, data()), &expected(&params, &data()), 1e-6);
    }
}

#[test]
fn one_sweep_is_c_times_its_transpose_times_c() {
    for (x_power, y_power) in [(1.0, None), (1.0, Some(0.0)), (0.5, Some(0.5))] {
        let params = Association { x_power, y_power, ..params(Depth::One) };
        close(&found(&params, data()), &expected(&params, &data()), 1e-6);
    }
}

#[test]
fn a_sketch_of_the_second_product_has_its_norms_within_its_error() {
    let data = data();
    let params = Association { sketch: 4096, ..params(Depth::One) };
    let (exact, _) = Scales::of(&data, &params, &Run::silent()).unwrap();
    let run = Run::silent();
    let mut computation = norms::NormComputation::new(&data, &params, &run);
    let sketched = computation.sketched_ct_c_hat(&exact.x).unwrap();
    for (norm, factor) in sketched.iter().zip(&exact.y) {
        assert!((norm * f64::from(*factor) - 1.0).abs() < 0.06 || *norm == 0.0, "{norm} {factor}");
    }
}

#[test]
fn powers_are_at_most_two() {
    for key in ["x_power", "y_power"] {
        for value in ["2.5", "-1.0"] {
            let mut params = crate::matchers::Params::named("association").unwrap();
            params.set(key, value).unwrap();
            let message = params.check().unwrap_err().to_string();
            assert!(message.contains("a number from 0 to 2"), "{message}");
        }
    }
}

#[test]
fn a_sketch_has_the_norms_within_its_error() {
    let data = data();
    let params = Association { sketch: 2048, ..params(Depth::Half) };
    let run = Run::silent();
    let mut norming = norms::NormComputation::new(&data, &params, &run);
    let (sketched, exact) = (norming.sketched(Side::X).unwrap(), norming.exact(Side::X).unwrap());
    let off = sketched.iter().zip(&exact).map(|(s, e)| if *e > 0.0 { s / e - 1.0 } else { *s });
    let off: Vec<f64> = off.collect();
    let square = off.iter().map(|off| off * off).sum::<f64>() / off.len() as f64;
    // Rows with few entries have less than the usual error of 1/√4096.
    assert!(square.sqrt() < 1.2 / 64.0 && square > 0.0, "{}", square.sqrt());
    let columns = norming.sketched(Side::Y).unwrap();
    let exact = norming.exact(Side::Y).unwrap();
    assert!(columns.iter().zip(&exact).all(|(s, e)| (s - e).abs() <= 0.08 * e));
}

#[test]
fn norms_do_not_depend_on_the_threads() {
    let data = data();
    for depth in [Depth::Half, Depth::One] {
        same_at_any_thread_count(|| Scales::of(&data, &params(depth), &Run::silent()).unwrap());
    }
}

/// With more and more dimensions the maps of a random start score as the kernel does.
#[test]
fn it_is_the_limit_of_rmls() {
    for (depth, best) in [(Depth::Half, 0), (Depth::One, 1)] {
        let rmls = Rmls { dim: 4000, start: Start::Random, sweeps: Some(1), ..Rmls::default() };
        let mut steps = 0;
        let mut validate = |_: &crate::linalg::Panels, _: &crate::linalg::Panels| {
            steps += 1;
            Ok(if steps - 1 == best { 1.0 } else { 0.0 })
        };
        let (maps, _) = rmls.fit(data(), &Run::silent(), Some(&mut validate)).unwrap();
        let dense = |map: &Map| Naive::of_dense(&map.clone().into_dense());
        let limit = dense(&maps.l_x).times(&dense(&maps.l_y).transpose());
        let y_power = Some(if depth == Depth::One { 1.0 } else { 0.0 });
        let exact = Association { y_power, sketch: 4096, ..params(depth) };
        close(&limit, &found(&exact, data()), 0.12);
    }
}

#[test]
fn what_does_not_fit_the_counts_is_refused() {
    let Weighted { x, y, r } = data();
    let scales = Scales { x: vec![1.0; 3], y: vec![1.0; 50] };
    let error = Kernel::new(Depth::Half, x, r, Arc::new(y), scales).err().unwrap();
    assert!(error.to_string().contains("norms of 3 query features"), "{error}");
}

#[test]
fn norms_beyond_numbers_end_the_fit() {
    let Weighted { x, y, r } = data();
    let huge = Weighted { x, y, r: r.map(|_, _, value| value * 1e30).unwrap() };
    let params = Association { x_power: 2.0, ..params(Depth::Half) };
    let error = Scales::of(&huge, &params, &Run::silent()).unwrap_err();
    assert!(error.to_string().contains("is not finite"), "{error}");
    assert!(error.advice().contains("response"), "{}", error.advice());
}

#[test]
fn no_feature_scores_zero_without_a_sign() {
    let nothing = Row { indices: &[], values: &[] };
    assert_eq!(sum_of(nothing, &[]).to_bits(), 0);
}
