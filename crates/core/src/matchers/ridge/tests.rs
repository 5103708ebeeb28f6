//! Against the closed form, and the ways in which it ends.

use proptest::prelude::*;

use super::*;
use crate::linalg::{Centring, Operator, SquareParams, square_fit};
use crate::oracle::{Naive, identity, random_csr, same_at_any_thread_count};

fn data(seed: u64) -> Weighted {
    let r = random_csr(30, 100, 4, seed + 1).map(|_, _, value| value.abs()).unwrap();
    Weighted { x: random_csr(30, 12, 3, seed), r, y: Csr::empty(100, 1) }
}

fn exact() -> Ridge {
    Ridge { lambda: 0.3, mass: 1.0, tolerance: 1e-5, ..Ridge::default() }
}

fn loss(data: &Weighted, lambda: f64, w: &Naive) -> f64 {
    let fitted = Naive::of(&data.x).times(w);
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let missed = Naive::of(&data.r).values.into_iter().zip(fitted.values).map(|(r, f)| r - f);
    square(&mut missed.into_iter()) + lambda * square(&mut w.values.iter().copied())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn weights_satisfy_the_normal_equations(seed in 0u64..1000) {
        let data = data(seed);
        let (weights, report) = exact().fit(&data, &Run::silent()).unwrap();
        prop_assert!(report.converged && report.mass == 1.0 && report.cut == 0, "{report:?}");
        // (XᵀX + λI)·W = XᵀR, with λ in units of a row's squared length.
        let x = Naive::of(&data.x);
        let size: f64 = x.values.iter().map(|v| v * v).sum();
        prop_assert!((report.lambda - 0.3 * size / 30.0).abs() < 1e-6);
        let gram = x.transpose().times(&x);
        let a = Naive::from_fn(12, 12, |i, j| {
            gram.get(i, j) + if i == j { report.lambda } else { 0.0 }
        });
        let left = a.times(&Naive::of(&weights));
        let right = x.transpose().times(&Naive::of(&data.r));
        for (l, r) in left.values.iter().zip(&right.values) {
            prop_assert!((l - r).abs() < 2e-3, "{l} {r}");
        }
    }

    #[test]
    fn it_is_the_square_loss_at_full_rank_with_documents_as_features(seed in 0u64..100) {
        let data = data(seed);
        let (weights, report) = exact().fit(&data, &Run::silent()).unwrap();
        let (x, y) = (data.x.clone(), identity(100));
        let c = Operator::new(data.x, data.r, y.clone(), Centring::None).unwrap();
        let params = SquareParams {
            dim: 12, oversample: 0, lambda_x: report.lambda, lambda_y: 0.0,
            tolerance: 1e-4, max_iterations: 300, max_steps: 500, seed: 1,
        };
        let fit = square_fit(&c, [x, y], &params, &Run::silent()).unwrap();
        let (p, q) = (Naive::of_dense(&fit.p), Naive::of_dense(&fit.q));
        let scaled = Naive::from_fn(12, p.n_cols, |i, k| p.get(i, k) * fit.sigma[k]);
        let w = scaled.times(&q.transpose());
        for (a, b) in w.values.iter().zip(&Naive::of(&weights).values) {
            prop_assert!((a - b).abs() < 1e-2, "{a} {b}");
        }
    }

    #[test]
    fn pruning_keeps_the_largest_weights_and_says_how_much(seed in 0u64..1000, keep in 1usize..8) {
        let data = data(seed);
        let (all, _) = exact().fit(&data, &Run::silent()).unwrap();
        let (few, report) = Ridge { keep, ..exact() }.fit(&data, &Run::silent()).unwrap();
        let (all, few) = (all.transpose(), few.transpose());
        let (mut whole, mut held) = (0.0, 0.0);
        for j in 0..100 {
            let mut sizes: Vec<f32> = all.row(j).values.iter().map(|w| w.abs()).collect();
            sizes.sort_by(|a, b| b.total_cmp(a));
            let mut kept: Vec<f32> = few.row(j).values.iter().map(|w| w.abs()).collect();
            kept.sort_by(|a, b| b.total_cmp(a));
            whole += sizes.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
            held += kept.iter().map(|&w| f64::from(w).powi(2)).sum::<f64>();
            sizes.truncate(keep);
            prop_assert_eq!(kept, sizes);
        }
        prop_assert!((report.mass - held / whole).abs() < 1e-9);
        prop_assert_eq!(report.weights, few.nnz() as u64);
        let (share, shared) = Ridge { mass: 0.9, ..exact() }.fit(&data, &Run::silent()).unwrap();
        prop_assert!(shared.mass >= 0.9 && share.nnz() < all.nnz());
    }
}

#[test]
fn any_other_weights_are_worse() {
    let data = data(1);
    let (weights, report) = exact().fit(&data, &Run::silent()).unwrap();
    let best = Naive::of(&weights);
    let least = loss(&data, report.lambda, &best);
    for at in [0, 17, 500, 1100] {
        for step in [-0.1, 0.1] {
            let mut other = best.clone();
            other.values[at] += step;
            assert!(loss(&data, report.lambda, &other) > least);
        }
    }
}

#[test]
fn documents_without_clicks_have_no_weight_and_are_counted() {
    let x = Csr::from_triplets(2, 9, vec![(0, 3, 1.0), (1, 7, 1.0)]).unwrap();
    let r = Csr::from_triplets(2, 4, vec![(0, 1, 2.0), (1, 3, 4.0)]).unwrap();
    let data = Weighted { x, r, y: Csr::empty(4, 1) };
    let (weights, report) = Ridge { lambda: 1.0, ..exact() }.fit(&data, &Run::silent()).unwrap();
    assert_eq!((report.features, report.documents, report.without_clicks), (2, 2, 2));
    assert_eq!((weights.n_rows(), weights.n_cols(), weights.nnz()), (9, 4, 2));
    // r/(1 + λ) for a query with a word of its own.
    assert!((weights.row(3).get(1) - 1.0).abs() < 1e-4);
    assert!((weights.row(7).get(3) - 2.0).abs() < 1e-4);
    let warnings = report.warnings().join(" ");
    assert!(warnings.contains("2 of 4 documents") && warnings.contains("ridge+bm25"), "{warnings}");
}

#[test]
fn what_cannot_be_done_is_refused_with_advice() {
    let error = |ridge: &Ridge, data: &Weighted| {
        ridge.fit(data, &Run::silent()).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let good = data(1);
    let no_clicks = Weighted { r: Csr::empty(30, 100), ..data(1) };
    assert!(error(&exact(), &no_clicks).contains("nothing to learn weights from"));
    let no_words = Weighted { x: Csr::empty(30, 12), ..data(1) };
    assert!(error(&exact(), &no_words).contains("nothing to learn weights from"));
    for (ridge, name) in [
        (Ridge { lambda: f64::NAN, ..exact() }, "lambda"),
        (Ridge { lambda: -1.0, ..exact() }, "lambda"),
        (Ridge { keep: 0, ..exact() }, "keep"),
        (Ridge { mass: 1.5, ..exact() }, "mass"),
        (Ridge { tolerance: 0.0, ..exact() }, "tolerance"),
    ] {
        assert!(error(&ridge, &good).starts_with(name), "{}", error(&ridge, &good));
    }
    let small = exact().fit_within(&good, 1 << 10, &Run::silent()).unwrap_err().to_string();
    assert!(small.contains("are free") && small.contains("lower `keep`"), "{small}");
    let huge = Csr::empty(1, 500_000);
    let many = exact().check_size(&huge, 500_000, u64::MAX).unwrap_err().to_string();
    assert!(many.contains("more than its limit") && many.contains("train square"), "{many}");
}

#[test]
fn too_few_steps_are_told() {
    let hasty = Ridge { steps: 1, tolerance: 1e-6, lambda: 1e-3, ..exact() };
    let (_, report) = hasty.fit(&data(3), &Run::silent()).unwrap();
    assert!(!report.converged && report.warnings()[0].contains("raise `steps`"), "{report:?}");
}

#[test]
fn weights_do_not_depend_on_the_threads() {
    let r = random_csr(3000, 500, 3, 2).map(|_, _, value| value.abs()).unwrap();
    let data = Weighted { x: random_csr(3000, 2500, 4, 1), r, y: Csr::empty(500, 1) };
    same_at_any_thread_count(|| Ridge::default().fit(&data, &Run::silent()).unwrap().0);
}

#[test]
fn a_stopped_fit_stops() {
    let run = Run::new(&|_| {}, &|| true);
    assert!(matches!(exact().fit(&data(1), &run), Err(Error::Cancelled)));
}
