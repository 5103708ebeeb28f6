//! PLS and RMLS on small matrices: against scikit-learn, against each other, and the ways in
//! which they end.

use std::sync::{Arc, OnceLock};

use super::*;
use crate::linalg::scale_to;
use crate::matchers::bilinear::embedding_of;

fn weighted(x: &[&[f32]], r: Csr, y: &[&[f32]]) -> Weighted {
    let matrix = |rows: &[&[f32]]| {
        let triplets = rows.iter().enumerate().flat_map(|(i, row)| {
            row.iter().enumerate().map(move |(j, &value)| (i as u32, j as u32, value))
        });
        Csr::from_triplets(rows.len(), rows[0].len(), triplets.collect()).unwrap()
    };
    Weighted { x: matrix(x), y: matrix(y), r }
}

fn identity_matrix(n: u32) -> Csr {
    Csr::from_triplets(n as usize, n as usize, (0..n).map(|i| (i, i, 1.0)).collect()).unwrap()
}

/// scikit-learn 1.9.1, PLSSVD(n_components=2, scale=False), on these columns, which have mean
/// 0: x_weights_, y_weights_, and the singular values of XᵀY from numpy.
#[test]
fn pls_agrees_with_scikit_learns_plssvd() {
    let x: [&[f32]; 8] = [
        &[-4.0, -4.5, -3.375, -1.125],
        &[-1.0, 0.5, 3.625, -3.125],
        &[2.0, 5.5, -2.375, -5.125],
        &[5.0, -2.5, 4.625, 5.875],
        &[-5.0, 2.5, -1.375, 3.875],
        &[-2.0, -5.5, 5.625, 1.875],
        &[1.0, -0.5, -0.375, -0.125],
        &[4.0, 4.5, -6.375, -2.125],
    ];
    let y: [&[f32]; 8] = [
        &[-3.75, -3.625, -2.75],
        &[3.25, 6.375, -1.75],
        &[-1.75, -3.625, 4.25],
        &[3.25, -0.625, 4.25],
        &[-3.75, 4.375, -1.75],
        &[-0.75, 0.375, -2.75],
        &[1.25, -1.625, 1.25],
        &[2.25, -1.625, -0.75],
    ];
    let pls = Pls { dim: 2, tolerance: 1e-6, ..Pls::default() };
    let (maps, report) = pls.fit(weighted(&x, identity_matrix(8), &y), &Run::silent()).unwrap();
    let x_weights = [
        [0.9589324895, -0.0790786562],
        [0.2696485977, 0.1140146755],
        [0.0673612074, 0.9374578605],
        [-0.0565736874, 0.3192490873],
    ];
    let y_weights =
        [[0.6379126519, 0.4087940936], [-0.3257943392, 0.911161079], [0.6978004708, 0.0516998753]];
    for (map, golden) in [(&maps.l_x, &x_weights[..]), (&maps.l_y, &y_weights[..])] {
        for (i, row) in golden.iter().enumerate() {
            for (found, golden) in map.row(i).iter().zip(row) {
                assert!((f64::from(*found) - golden).abs() < 1e-4, "{map:?}");
            }
        }
    }
    for (found, golden) in report.sigma.iter().zip([87.8220686735, 59.9548290283]) {
        assert!((found - golden).abs() < 1e-3, "{:?}", report.sigma);
    }
}

#[test]
fn pls_scores_carry_sigma_when_asked() {
    let data = || {
        weighted(
            &[&[1.0, 0.0], &[0.0, 1.0]],
            Csr::from_triplets(2, 2, vec![(0, 0, 4.0), (1, 1, 1.0)]).unwrap(),
            &[&[1.0, 0.0], &[0.0, 1.0]],
        )
    };
    for (sigma, expected) in [(0.0, 1.0), (0.5, 2.0), (1.0, 4.0)] {
        let pls = Pls { dim: 2, sigma, ..Pls::default() };
        let (maps, _) = pls.fit(data(), &Run::silent()).unwrap();
        assert!((dot_f64(&maps.l_x.row(0), &maps.l_y.row(0)) - expected).abs() < 1e-5);
    }
}

/// A log of two overlapping groups with non-negative weights.
pub(super) fn two_groups() -> Weighted {
    let x: [&[f32]; 4] = [&[1.0, 0.2, 0.0], &[0.8, 0.0, 0.1], &[0.0, 1.0, 0.5], &[0.1, 0.0, 1.0]];
    let y: [&[f32]; 3] = [&[1.0, 0.0, 0.3, 0.0], &[0.0, 1.0, 0.2, 0.1], &[0.0, 0.1, 0.0, 1.0]];
    let r = Csr::from_triplets(
        4,
        3,
        vec![(0, 0, 3.0), (1, 0, 2.0), (1, 1, 0.5), (2, 1, 2.0), (3, 2, 1.0), (3, 1, 0.5)],
    )
    .unwrap();
    weighted(&x, r, &y)
}

#[test]
fn every_half_sweep_of_rmls_raises_the_objective() {
    for penalty in [Penalty::None, Penalty::Absolute, Penalty::Bound] {
        let threshold = if penalty == Penalty::Absolute { 0.05 } else { 0.0 };
        let (lambda_x, lambda_y) = if penalty == Penalty::Bound { (1.2, 1.3) } else { (3.0, 3.0) };
        let rmls = Rmls {
            dim: 3,
            start: Start::Random,
            sweeps: Some(6),
            penalty,
            beta: threshold,
            gamma: threshold,
            lambda_x,
            lambda_y,
            min_change: 0.0,
            ..Rmls::default()
        };
        let (maps, report) = rmls.fit(two_groups(), &Run::silent(), None).unwrap();
        assert_eq!(report.steps.len(), 12);
        assert_eq!(report.best, 11, "without validation the last sweep is kept");
        for pair in report.steps.windows(2) {
            assert!(
                pair[1].objective >= pair[0].objective - 1e-5,
                "{penalty:?}: {:?}",
                report.steps
            );
        }
        for map in [&maps.l_x, &maps.l_y] {
            for i in 0..map.n_rows() {
                assert!(dot_f64(&map.row(i), &map.row(i)).sqrt() < 1.0 + 1e-5);
            }
        }
    }
}

#[test]
fn rmls_on_non_negative_data_collapses_and_says_so() {
    let x: Vec<Vec<f32>> =
        (0..40).map(|i| (0..40).map(|j| if i == j { 1.0 } else { 0.05 }).collect()).collect();
    let rows: Vec<&[f32]> = x.iter().map(Vec::as_slice).collect();
    let rmls = Rmls { dim: 30, start: Start::Random, sweeps: Some(8), ..Rmls::default() };
    let (_, report) =
        rmls.fit(weighted(&rows, identity_matrix(40), &rows), &Run::silent(), None).unwrap();
    let last = report.steps.last().unwrap();
    assert!(last.effective_rank_x < 1.5, "{last:?}");
    assert!(report.collapsed.is_some());
    assert!(FitReport::Rmls(report).warnings()[0].contains("collapses"));
}

#[test]
fn rmls_stops_on_validation_and_returns_the_best_sweep() {
    let rmls =
        Rmls { dim: 3, start: Start::Random, sweeps: Some(9), patience: 2, ..Rmls::default() };
    let mut calls = 0.0;
    let mut validate = |_: &Panels, _: &Panels| {
        calls += 1.0;
        Ok(if calls == 2.0 { 1.0 } else { 1.0 / (10.0 + calls) })
    };
    let (maps, report) = rmls.fit(two_groups(), &Run::silent(), Some(&mut validate)).unwrap();
    assert_eq!((report.best, report.steps.len()), (1, 6));
    let one = Rmls { sweeps: Some(1), ..rmls };
    let (first, _) = one.fit(two_groups(), &Run::silent(), None).unwrap();
    assert_eq!(maps, first, "the best sweep is what one sweep alone gives");
}

#[test]
fn a_spectral_start_without_sweeps_is_pls_with_scaled_rows() {
    let rmls = Rmls { dim: 2, start: Start::Spectral, sweeps: Some(0), ..Rmls::default() };
    let (maps, report) = rmls.fit(two_groups(), &Run::silent(), None).unwrap();
    let (mut pls, _) = Pls { dim: 2, ..Pls::default() }.fit(two_groups(), &Run::silent()).unwrap();
    for map in [&mut pls.l_x, &mut pls.l_y] {
        if let Map::Dense(map) = map {
            (0..map.n_rows()).for_each(|i| scale_to(map.row_mut(i), 1.0));
        }
    }
    for (map, expected) in [(&maps.l_x, &pls.l_x), (&maps.l_y, &pls.l_y)] {
        for i in 0..map.n_rows() {
            let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
            assert!(map.row(i).iter().zip(expected.row(i).iter()).all(close), "{map:?}");
        }
    }
    assert_eq!(report.steps.len(), 1);
}

#[test]
fn the_first_half_sweep_from_the_spectral_start_meets_u_again() {
    let rmls = Rmls {
        dim: 2,
        start: Start::Spectral,
        sweeps: Some(1),
        tolerance: 1e-6,
        ..Rmls::default()
    };
    let data = two_groups();
    let c = explicit_c(&data.x, &data.r, &data.y).unwrap();
    let (_, report) = rmls.fit(data, &Run::silent(), None).unwrap();
    assert_eq!(c.n_rows(), 3);
    // Rows of L_x at the start are rownorm(U); C·V·Σ⁻¹ = U, so they do not move.
    assert!(report.steps[1].change < 1e-3, "{:?}", report.steps);
}

#[test]
fn a_penalty_that_empties_a_side_names_the_largest_entry() {
    let rmls = Rmls {
        dim: 2,
        start: Start::Random,
        penalty: Penalty::Absolute,
        beta: 1e6,
        ..Rmls::default()
    };
    let error = rmls.fit(two_groups(), &Run::silent(), None).err().unwrap().to_string();
    assert!(
        error.contains("empties all of L_x in sweep 1") && error.contains("largest |ω| is"),
        "{error}"
    );
    assert!(error.contains("beta"), "{error}");
}

#[test]
fn negative_responses_push_apart() {
    let x: [&[f32]; 2] = [&[1.0, 0.0], &[0.0, 1.0]];
    let r = Csr::from_triplets(2, 2, vec![(0, 0, 1.0), (0, 1, -1.0), (1, 1, 1.0), (1, 0, -1.0)])
        .unwrap();
    let rmls = Rmls { dim: 2, start: Start::Random, sweeps: Some(5), ..Rmls::default() };
    let (maps, _) = rmls.fit(weighted(&x, r, &x), &Run::silent(), None).unwrap();
    assert!(dot_f64(&maps.l_x.row(0), &maps.l_y.row(0)) > 0.9);
    assert!(dot_f64(&maps.l_x.row(0), &maps.l_y.row(1)) < -0.9);
}

#[test]
fn every_result_of_rmls_obeys_its_own_penalty() {
    for start in [Start::Random, Start::Spectral] {
        let rmls = Rmls {
            dim: 3,
            start,
            sweeps: Some(3),
            patience: 9,
            penalty: Penalty::Bound,
            lambda_x: 1.1,
            lambda_y: 1.2,
            ..Rmls::default()
        };
        // Whichever step validation prefers, both maps keep the bounds.
        for preferred in 0..7 {
            let mut calls = 0;
            let mut validate = |_: &Panels, _: &Panels| {
                calls += 1;
                Ok(if calls - 1 == preferred { 1.0 } else { 0.0 })
            };
            let (maps, _) = rmls.fit(two_groups(), &Run::silent(), Some(&mut validate)).unwrap();
            for (map, bound) in [(&maps.l_x, 1.1), (&maps.l_y, 1.2)] {
                for i in 0..map.n_rows() {
                    let l1: f32 = map.row(i).iter().map(|value| value.abs()).sum();
                    let l2 = dot_f64(&map.row(i), &map.row(i)).sqrt();
                    assert!(l1 < bound + 1e-4 && l2 < 1.0 + 1e-4, "{start:?} {preferred}: {map:?}");
                }
            }
        }
    }
}

#[test]
fn a_log_that_centring_empties_is_refused_from_either_start() {
    for start in [Start::Random, Start::Spectral] {
        let rmls = Rmls { dim: 1, start, centring: Centring::Mean, ..Rmls::default() };
        let one: [&[f32]; 1] = [&[0.3, 0.7]];
        let error = rmls.fit(weighted(&one, identity_matrix(1), &one), &Run::silent(), None);
        let message = error.err().unwrap().to_string();
        assert!(message.contains("nothing to factorise"), "{start:?}: {message}");
    }
}

#[test]
fn every_matcher_takes_signed_weights_and_learns_from_them() {
    let dir = tempfile::tempdir().unwrap();
    // The same words on both sides; only the sign says which document is good for "star".
    let docs = [("good", "alpha beta"), ("bad", "gamma delta"), ("other", "epsilon")];
    let clicks = [(0, 0, 2.0), (0, 1, -3.0), (1, 2, 4.0), (2, 1, -1.0), (3, 1, 5.0)];
    let queries = ["star", "moon", "star dust", "comet"];
    let data = dataset(&dir.path().join("d"), &docs, &queries, &clicks);
    for name in every() {
        let name = name.as_str();
        let model = train(&data, name).model;
        let scores = model.scores(&model.read_query("star").unwrap());
        assert!(scores.iter().all(|score| score.is_finite()), "{name}");
        // No word of the query is in a document: whoever learns nothing of words and other words
        // knows nothing.
        if !conformance::learns_of_other_words(name) {
            assert_eq!(scores[0], scores[1], "{name}: {scores:?}");
        } else {
            assert!(scores[0] > scores[1], "{name}: {scores:?}");
        }
        if ["pls", "rmls", "square", "ridge"].contains(&name) {
            assert!(scores[0] > 0.0 && scores[1] < 0.0, "{name}: {scores:?}");
        }
    }
}

#[test]
fn sampled_negatives_are_trained_on_and_may_cancel_the_clicks() {
    let dir = tempfile::tempdir().unwrap();
    let data = checkerboard(&dir.path().join("d"));
    for name in ["pls", "rmls"] {
        let mixture = Mixture::parse(name).unwrap();
        let fit = |settings: &[(&str, &str)]| {
            let mut params = small(name);
            params.set("negatives.per_click", "2").unwrap();
            settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
            let (prepared, run) = (Preparation::default(), Run::silent());
            crate::training::train(&data, &prepared, &mixture, &[params], &run)
        };
        // Queries of one group still find that group, and now dislike the others.
        let model = fit(&[]).unwrap().model;
        let scores = model.scores(&model.read_query("high blood").unwrap());
        let best = |group: usize| scores[3 * group..3 * group + 3].iter().sum::<f32>();
        assert!(best(2) > 0.0 && best(0) < best(2) / 4.0 && best(1) < best(2) / 4.0, "{scores:?}");
        let again = fit(&[]).unwrap().model;
        assert_eq!(scores, again.scores(&again.read_query("high blood").unwrap()));
        // With weight one the responses of every query sum to zero.
        let cancelled = fit(&[("negatives.weight", "1.0"), ("centring", "clicks")]);
        let message = cancelled.err().unwrap().to_string();
        assert!(message.contains("sum to zero") && message.contains("centring"), "{message}");
        assert!(fit(&[("negatives.weight", "1.0"), ("centring", "mean")]).is_ok());
        assert!(fit(&[("negatives.weight", "0")]).is_err());
    }
}

#[test]
fn embeddings_are_computed_while_every_worker_asks_for_them() {
    let dir = tempfile::tempdir().unwrap();
    let model = train(&conformance::fifty(&dir.path().join("d"), false), "pls").model;
    let bilinear = model.parts[0].matcher.bilinear().unwrap();
    // So many documents that the second worker, a moment late, still finds a part of the work to do. If
    // the first worker ends before it, it takes up the next query, and must not wait for itself.
    let (n_docs, d_y) = (300_000, bilinear.maps.l_y.n_rows() as u32);
    let features = (0..n_docs).map(|doc| (doc, doc % d_y, 1.0)).collect();
    let y = Arc::new(Csr::from_triplets(n_docs as usize, d_y as usize, features).unwrap());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for round in 0..10 {
        let fresh = Arc::new(Bilinear {
            featurizer: Arc::clone(&bilinear.featurizer),
            maps: Arc::clone(&bilinear.maps),
            y: Arc::clone(&y),
            embeddings: OnceLock::new(),
            cosine: round % 2 == 0,
            by_words: false,
        });
        let (done, finished) = std::sync::mpsc::channel();
        let (started, second) = std::sync::mpsc::channel();
        pool.spawn(move || {
            second.recv().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        });
        for doc in (0..n_docs).step_by(30_000) {
            let (fresh, done, started) = (Arc::clone(&fresh), done.clone(), started.clone());
            pool.spawn(move || {
                // Only the first is waited for.
                let _ = started.send(());
                let mut expected = embedding_of(fresh.y.row(doc as usize), &fresh.maps.l_y);
                if fresh.cosine {
                    scale_to(&mut expected, 1.0);
                }
                done.send(fresh.embeddings().unwrap().row(doc as usize) == expected).unwrap();
            });
        }
        for _ in (0..n_docs).step_by(30_000) {
            let same = finished.recv_timeout(std::time::Duration::from_secs(60));
            assert_eq!(same, Ok(true), "a worker waits for itself, or the embeddings differ");
        }
    }
}
