//! The sweeps against the formula in plain loops, however the maps are kept.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::bytes::{dense_bytes, scratch_bytes};
use super::*;
use crate::Error;
use crate::linalg::{Centring, Side, soft_threshold};
use crate::matchers::Map;
use crate::oracle::{Naive, random_csr, same_at_any_thread_count};
use crate::sparse::{Csr, explicit_c};

const IN_MEMORY: MemoryPlacement =
    MemoryPlacement { maps: u64::MAX, maps_on_disk: false, best_on_disk: false };

fn matrices() -> (Csr, Csr, Csr) {
    let positive = |matrix: Csr| matrix.map(|_, _, value| value.abs()).unwrap();
    (
        positive(random_csr(2000, 1500, 5, 1)),
        positive(random_csr(2000, 900, 2, 2)),
        positive(random_csr(900, 1700, 8, 3)),
    )
}

fn operator() -> Operator {
    let (x, r, y) = matrices();
    Operator::new(x, r, y, Centring::None).unwrap()
}

fn params(penalty: Penalty) -> Rmls {
    Rmls {
        dim: 70,
        start: Start::Random,
        sweeps: Some(2),
        penalty,
        beta: if penalty == Penalty::Absolute { 0.02 } else { 0.0 },
        gamma: if penalty == Penalty::Absolute { 0.1 } else { 0.0 },
        rho_x: 0.4,
        rho_y: 0.5,
        theta_x: 2.0,
        lambda_x: 4.0,
        lambda_y: 3.0,
        ..Rmls::default()
    }
}

/// The next map of a side: Ω = C·L row by row, thresholded and scaled.
fn plain_half_sweep(params: &Rmls, side: Side, c: &Naive, map: &Naive) -> Naive {
    let omega = c.times(map);
    let (threshold, share, lambda, theta) = match side {
        Side::X => (params.beta, params.rho_x, params.lambda_x, params.theta_x),
        Side::Y => (params.gamma, params.rho_y, params.lambda_y, params.theta_y),
    };
    let mut made = omega.clone();
    for row in made.values.chunks_mut(omega.n_cols) {
        let largest = row.iter().fold(0.0f64, |m, w| m.max(w.abs()));
        let threshold = match params.penalty {
            Penalty::Absolute => threshold,
            Penalty::Relative => share * largest,
            Penalty::None => 0.0,
            Penalty::Bound => {
                let mut narrow: Vec<f32> = row.iter().map(|&w| w as f32).collect();
                let mut scratch = narrow.clone();
                row::bounded(&mut narrow, lambda as f32, theta as f32, &mut scratch);
                row.iter_mut().zip(narrow).for_each(|(w, l)| *w = l.into());
                continue;
            }
        };
        row.iter_mut().for_each(|w| *w = f64::from(soft_threshold(*w as f32, threshold as f32)));
        let norm = row.iter().map(|l| l * l).sum::<f64>().sqrt();
        row.iter_mut().for_each(|l| *l *= if norm > 0.0 { theta / norm } else { 0.0 });
    }
    made
}

#[test]
fn sweeps_do_what_the_formula_says_and_alike_at_any_thread_count() {
    let (x, r, y) = matrices();
    let c = Naive::of(&explicit_c(&x, &r, &y).unwrap());
    for penalty in [Penalty::None, Penalty::Absolute, Penalty::Relative, Penalty::Bound] {
        let params = Rmls { sweeps: Some(1), ..params(penalty) };
        let (maps, report) = same_at_any_thread_count(|| {
            fit::fit(IN_MEMORY, &params, operator(), None, None, None, &Run::silent()).unwrap()
        });
        let start = Panels::random(1700, 70, params.seed, params.theta_y as f32);
        let l_y = Naive::of_dense(&start.to_dense().unwrap());
        let l_x = plain_half_sweep(&params, Side::X, &c, &l_y);
        let l_y = plain_half_sweep(&params, Side::Y, &c.transpose(), &l_x);
        for (map, plain) in [(&maps.l_x, &l_x), (&maps.l_y, &l_y)] {
            let mut off = 0;
            for i in 0..map.n_rows() {
                for (found, expected) in map.row(i).iter().zip(&plain.values[i * 70..]) {
                    off += usize::from((f64::from(*found) - expected).abs() > 1e-3);
                }
            }
            // A bisection in f32 may fall on either side of a tie.
            assert!(off < 10, "{penalty:?}: {off} entries differ");
        }
        let trace: f64 = l_x
            .times(&Naive::from_fn(70, 1700, |k, v| l_y.get(v, k)))
            .values
            .iter()
            .zip(&c.values)
            .map(|(a, b)| a * b)
            .sum();
        let penalty_of = |map: &Naive, thresholds: &dyn Fn(&[f64]) -> f64| -> f64 {
            let rows = map.values.chunks(70);
            rows.map(|row| thresholds(row) * row.iter().map(|l| l.abs()).sum::<f64>()).sum()
        };
        if penalty != Penalty::Relative {
            let expected =
                trace - penalty_of(&l_x, &|_| params.beta) - penalty_of(&l_y, &|_| params.gamma);
            let found = report.steps[1].objective;
            assert!((found / expected - 1.0).abs() < 1e-4, "{penalty:?}: {found} {expected}");
        }
        let filled = l_y.values.iter().filter(|&&l| l != 0.0).count() as f64 / (1700.0 * 70.0);
        assert!((report.steps[1].density_y - filled).abs() < 1e-3, "{penalty:?}: {filled}");
    }
}

#[test]
fn sparse_maps_come_out_sparse() {
    let (maps, _) = fit::fit(
        IN_MEMORY,
        &params(Penalty::Relative),
        operator(),
        None,
        None,
        None,
        &Run::silent(),
    )
    .unwrap();
    assert!(matches!((maps.l_x, maps.l_y), (Map::Sparse(_), Map::Sparse(_))));
}

#[test]
fn where_the_maps_lie_does_not_change_a_bit() {
    let folder = tempfile::tempdir().unwrap();
    let silent = Run::silent();
    let run = silent.with_scratch(folder.path());
    for penalty in [Penalty::None, Penalty::Relative] {
        let params = Rmls { sweeps: Some(4), patience: 9, ..params(penalty) };
        let fit = |placement: MemoryPlacement| {
            let mut calls = 0;
            let mut validate = |_: &Panels, _: &Panels| {
                calls += 1;
                Ok(if calls == 3 { 1.0 } else { 0.0 })
            };
            fit::fit(placement, &params, operator(), None, None, Some(&mut validate), &run).unwrap()
        };
        let expected = fit(IN_MEMORY);
        assert_eq!(expected.1.best, 2);
        let maps_on_disk = penalty == Penalty::None;
        let found = fit(MemoryPlacement { maps_on_disk, best_on_disk: true, ..IN_MEMORY });
        assert_eq!(found, expected);
        for map in [found.0.l_x, found.0.l_y] {
            assert_eq!(matches!(&map, Map::Dense(map) if map.is_on_disk()), maps_on_disk);
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "scratch files are left");
}

#[test]
fn maps_that_exceed_memory_end_the_fit_with_advice() {
    let placement = MemoryPlacement { maps: 40_000, ..IN_MEMORY };
    let error = fit::fit(
        placement,
        &params(Penalty::Relative),
        operator(),
        None,
        None,
        None,
        &Run::silent(),
    );
    let message = error.err().unwrap().to_string();
    assert!(message.contains("not enough memory: after "), "{message}");
    assert!(message.contains("raise the penalty"), "{message}");
}

#[test]
fn the_place_of_the_maps_follows_from_the_memory() {
    let shape = operator().shape();
    let (fixed, dense) = (scratch_bytes(shape), dense_bytes(shape, 70));
    let placement =
        |penalty, validated, left| MemoryPlacement::of(&params(penalty), shape, validated, left);
    let ample = placement(Penalty::None, true, fixed + 2 * dense).unwrap();
    assert_eq!((ample.maps_on_disk, ample.best_on_disk), (false, false));
    let tight = placement(Penalty::None, true, fixed + 2 * dense - 1).unwrap();
    assert_eq!((tight.maps_on_disk, tight.best_on_disk), (false, true));
    let small = placement(Penalty::None, false, fixed + dense - 1).unwrap();
    assert_eq!((small.maps_on_disk, small.best_on_disk), (true, true));
    let sparse = placement(Penalty::Relative, false, fixed + dense - 1).unwrap();
    assert!(!sparse.maps_on_disk);
    for refused in [
        placement(Penalty::Bound, false, fixed + dense - 1),
        placement(Penalty::None, false, fixed - 1),
    ] {
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("not enough memory") && message.contains("`max_memory = SIZE`"),
            "{message}"
        );
    }
}

#[test]
fn a_fit_stopped_in_a_half_sweep_leaves_no_scratch_file() {
    let folder = tempfile::tempdir().unwrap();
    let params = Rmls { sweeps: Some(4), patience: 9, ..params(Penalty::None) };
    let placement = MemoryPlacement { maps_on_disk: true, best_on_disk: true, ..IN_MEMORY };
    // A half-sweep asks before it begins and at each of its three panels; this is inside the
    // first of the second sweep, when maps and a copy of the best lie in files.
    let asked = AtomicUsize::new(0);
    let cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= 2 * 4 + 2;
    let run = Run::new(&|_| {}, &cancelled).with_scratch(folder.path());
    let mut calls = 0;
    let mut validate = |_: &Panels, _: &Panels| {
        calls += 1;
        Ok(0.5)
    };
    let error = fit::fit(placement, &params, operator(), None, None, Some(&mut validate), &run)
        .err()
        .unwrap();
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!((calls, asked.into_inner()), (2, 11));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "scratch files are left");
}

#[test]
fn the_objective_of_a_spectral_start_counts_an_absolute_penalty() {
    let (x, r, y) = matrices();
    let c = Naive::of(&explicit_c(&x, &r, &y).unwrap());
    let params = Rmls {
        dim: 5,
        sweeps: Some(1),
        start: Start::Spectral,
        beta: 0.03,
        gamma: 3.0,
        ..params(Penalty::Absolute)
    };
    let mut seen = Vec::new();
    let mut validate = |l_x: &Panels, l_y: &Panels| {
        seen.push([l_x.to_dense()?, l_y.to_dense()?].map(|map| Naive::of_dense(&map)));
        Ok(seen.len() as f64)
    };
    let run = Run::silent();
    let (_, report) =
        fit::fit(IN_MEMORY, &params, operator(), None, None, Some(&mut validate), &run).unwrap();
    assert_eq!(report.steps.len(), 3);
    for (step, [l_x, l_y]) in report.steps.iter().zip(&seen) {
        let omega = c.times(l_y);
        let trace: f64 = omega.values.iter().zip(&l_x.values).map(|(w, l)| w * l).sum();
        let l1 = |map: &Naive| map.values.iter().map(|l| l.abs()).sum::<f64>();
        let (beta, gamma) = (params.beta * l1(l_x), params.gamma * l1(l_y));
        let (found, expected) = (step.objective, trace - beta - gamma);
        assert!((found - expected).abs() < 1e-5 * trace, "{}: {found} {expected}", step.step);
        assert!(beta.min(gamma) > 1e-4 * trace, "penalties that cannot be seen: {beta} {gamma}");
    }
}

#[test]
fn going_on_from_a_sparse_model_does_as_from_the_same_numbers_in_full() {
    let absolute = Rmls { beta: 1.5, gamma: 3.0, ..params(Penalty::Absolute) };
    for params in [params(Penalty::Relative), absolute] {
        let fit = |init: Option<Maps>| {
            fit::fit(IN_MEMORY, &params, operator(), None, init, None, &Run::silent()).unwrap()
        };
        let (maps, _) = fit(None);
        assert!(matches!((&maps.l_x, &maps.l_y), (Map::Sparse(_), Map::Sparse(_))));
        let full = |map: &Map| Map::Dense(map.clone().into_dense());
        let dense = Maps { l_x: full(&maps.l_x), l_y: full(&maps.l_y) };
        assert_eq!(fit(Some(maps)), fit(Some(dense)));
    }
}

/// A fit whose validation score is best at step `best`.
fn fit_with_best(
    placement: MemoryPlacement,
    start: Start,
    init: Option<Maps>,
    best: usize,
    run: &Run<'_>,
) -> (Maps, RmlsReport) {
    let params = Rmls { start, sweeps: Some(1), dim: 8, ..params(Penalty::None) };
    let mut steps = 0;
    let mut validate = |_: &Panels, _: &Panels| {
        steps += 1;
        Ok(if steps - 1 == best { 1.0 } else { 0.5 / steps as f64 })
    };
    fit::fit(placement, &params, operator(), None, init, Some(&mut validate), run).unwrap()
}

#[test]
fn the_better_of_both_starts_is_the_result_with_the_bits_of_that_start_alone() {
    let folder = tempfile::tempdir().unwrap();
    let silent = Run::silent();
    let run = silent.with_scratch(folder.path());
    let on_disk = MemoryPlacement { maps_on_disk: true, best_on_disk: true, ..IN_MEMORY };
    // The spectral start has three steps, the random one two.
    for best in 0..5 {
        let (start, step) =
            if best < 3 { (Start::Spectral, best) } else { (Start::Random, best - 3) };
        let expected = fit_with_best(IN_MEMORY, start, None, step, &run);
        for placement in [IN_MEMORY, on_disk] {
            let (maps, report) = fit_with_best(placement, Start::Auto, None, best, &run);
            assert_eq!(maps, expected.0, "{best}");
            assert_eq!(report.best, best);
            let names: Vec<&str> = report.steps.iter().map(|step| &*step.step).collect();
            let sweep = ["sweep 1, L_x", "sweep 1, L_y"];
            assert_eq!(names, [&["start"][..], &sweep, &sweep].concat());
            let steps: Vec<_> = report.branches().into_iter().map(|(_, steps)| steps).collect();
            assert_eq!(steps, [0..3, 3..5]);
            let chosen = if best < 3 { "spectral start 1.0000" } else { "random start 1.0000" };
            let told = report.remarks().remove(0);
            assert!(told.starts_with(&format!("start chosen on validation: {chosen}")), "{told}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "scratch files are left");
}

#[test]
fn a_warm_start_is_compared_with_both_other_starts() {
    let run = Run::silent();
    let (maps, _) = fit_with_best(IN_MEMORY, Start::Random, None, 1, &run);
    for best in [0, 2, 3, 7] {
        let (found, report) = fit_with_best(IN_MEMORY, Start::Auto, Some(maps.clone()), best, &run);
        let origins: Vec<_> = report.branches().into_iter().map(|(origin, _)| origin).collect();
        assert_eq!(
            origins,
            [Some(Origin::Init), Some(Origin::Spectral), Some(Origin::Random)],
            "{best}"
        );
        assert_eq!(report.best, best);
        let alone = match best {
            0 => Some(maps.clone()),
            7 => Some(fit_with_best(IN_MEMORY, Start::Random, None, 1, &run).0),
            _ => None,
        };
        assert!(alone.is_none_or(|alone| alone == found), "{best}");
    }
}

#[test]
fn an_absolute_penalty_takes_the_random_start_in_whose_units_it_is() {
    let fit = |start: Start| {
        let params = Rmls { start, ..params(Penalty::Absolute) };
        let mut validate = |_: &Panels, _: &Panels| Ok(0.5);
        fit::fit(IN_MEMORY, &params, operator(), None, None, Some(&mut validate), &Run::silent())
            .unwrap()
    };
    let ((chosen, report), (random, _)) = (fit(Start::Auto), fit(Start::Random));
    assert_eq!(chosen, random);
    assert!(report.remarks()[0].contains("absolute penalty"), "{:?}", report.remarks());
}

#[test]
fn sweeps_end_when_they_change_nothing() {
    let fit = |min_change: f64| {
        let params =
            Rmls { dim: 1, min_change, sweeps: Some(500), patience: 0, ..params(Penalty::None) };
        fit::fit(IN_MEMORY, &params, operator(), None, None, None, &Run::silent()).unwrap().1
    };
    let report = fit(1e-4);
    let last = |at: usize| report.steps[report.steps.len() - at].change;
    assert!(report.steps.len() < 1000, "{}", report.steps.len());
    assert!(last(1).max(last(2)) < 1e-4 && last(3).max(last(4)) >= 1e-4);
    assert_eq!(report.best, report.steps.len() - 1);
}

#[test]
fn without_validation_the_spectrum_decides() {
    // Queries and documents of one word each, with clicks within a subject of 50 words, and a feature of
    // clicks that all queries have, which does not count.
    let data = |subjects: u32| {
        let n = 50 * subjects;
        let words = |more: u32| {
            let rows =
                (0..n).flat_map(|i| [(i, i, 1.0), (i, n, 30.0)].into_iter().take(more as usize));
            Csr::from_triplets(n as usize, n as usize + 1, rows.collect()).unwrap()
        };
        let clicks =
            (0..n).flat_map(|i| (0..50).map(move |j| (i, i / 50 * 50 + j, 1.0 + (i % 7) as f32)));
        // Negative responses between subjects connect nothing.
        let negatives = (0..n).map(|i| (i, (i + 50) % n, -1.0));
        let clicks = clicks.chain(negatives).collect();
        let r = Csr::from_triplets(n as usize, n as usize, clicks).unwrap();
        (Weighted { x: words(2), r, y: words(1) }, n as usize)
    };
    let params = Rmls { dim: 20, ..Rmls::default() };
    for (subjects, origin) in [(4, Origin::Spectral), (40, Origin::Random)] {
        let (data, n_words) = data(subjects);
        let (_, report) = params.fit_words(data, n_words, None, &Run::silent(), None).unwrap();
        assert!(report.steps.iter().all(|step| step.origin == Some(origin)), "{}", report.reason);
        let found = report.participation_ratio.unwrap();
        assert!((found / f64::from(subjects) - 1.0).abs() < 0.5, "{found}");
        assert_eq!(report.remarks()[0], report.reason);
    }
}
