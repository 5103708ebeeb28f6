//! Steps against finite differences, and the loop against a plain one.

use super::*;
use crate::sparse::Row;

#[test]
fn a_step_goes_against_the_gradient_by_finite_differences() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    let mut all = Vec::new();
    for form in FORMS {
        all.extend([true, false].map(|identity| Ssi { identity, rate: 1.0, ..small(form) }));
    }
    all.push(Ssi { identity_weight: 0.3, rate: 1.0, ..small(Form::Hash) });
    all.push(Ssi { identity: false, diagonal: false, rate: 1.0, ..small(Form::Full) });
    for params in all {
        let form = params.form;
        let bench = Bench::of(&params, &counts);
        with_shape!(&params, n, shape => {
            // A few steps away from the start, where the cells of `full` are all 0.
            let slowly = Ssi { rate: 0.02, ..params.clone() };
            let before = free(form, numbers(&bench.run(&slowly, shape, 5)));
            let triple = bench.triple(0);
            let after = free(form, numbers(&bench.run(&params, shape, 1)));
            let [q, good, bad] = bench.data.features(triple).map(|row| dense(row, n));
            let at = |numbers: &[f64]| loss(&w(&params, numbers, n), &q, &good, &bad);
            assert!(at(&before) > 0.0, "{form:?}");
            for i in 0..before.len() {
                let moved = |by: f64| {
                    let mut numbers = before.clone();
                    numbers[i] += by;
                    at(&numbers)
                };
                let gradient = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let step = after[i] - before[i];
                assert!((step + gradient).abs() < 1e-4, "{params:?} {i}: {step} {gradient}");
            }
        });
    }
}

/// The loss of a triple by the features of every view and place, with the maps and the factor of
/// every view: max(0, 1 − α·cosines − Σ factor·(Ux)·V(y⁺ − y⁻)).
fn loss_of_views(
    bench: &Bench<'_>,
    triple: Triple,
    views: &[(&[f64], &[f64], f64)],
    dim: usize,
    identity: f64,
) -> f64 {
    let mut score = identity * f64::from(bench.data.cosines(triple));
    for (view, (u, v, factor)) in views.iter().enumerate() {
        for place in 0..bench.data.places(view) {
            let n = u.len() / dim;
            let rows = bench.data.rows(view, triple, place).map(|row| dense(row, n));
            for k in 0..dim {
                let embedding = |map: &[f64], row: &[f64]| -> f64 {
                    (0..n).map(|i| map[i * dim + k] * row[i]).sum()
                };
                score += factor
                    * embedding(u, &rows[0])
                    * (embedding(v, &rows[1]) - embedding(v, &rows[2]));
            }
        }
    }
    (1.0 - score).max(0.0)
}

#[test]
fn exact_bins_the_mix_and_a_learnt_identity_go_against_the_gradient() {
    let counts = counts(&[]);
    let mix = Ssi { frequent: 5, bins: 2, rare: true, ..small(Form::LowRank) };
    for params in [
        mix.clone(),
        Ssi { exact: true, ..mix.clone() },
        Ssi { exact: true, rare: false, learn_identity: true, ..mix.clone() },
        Ssi { learn_identity: true, identity_weight: 0.5, ..mix.clone() },
    ] {
        let bench = Bench::of(&params, &counts);
        let (n, dim) = (5, 3);
        let maps: Vec<Dense> = (1..5).map(|seed| start(n, dim, seed)).collect();
        let mut mixed = mixed::Mixed::new(&[&maps[0], &maps[1]], &[&maps[2], &maps[3]]).unwrap();
        let mut alone = Latent::new(0, &[&maps[0], &maps[1]]).unwrap();
        let mut identity = params.identity_at_start();
        // The numbers: the maps one after the other, the factor, the weight of the identity.
        let taken = |mixed: &mixed::Mixed, alone: &Latent, identity: Identity| {
            let maps = match params.rare {
                true => vec![
                    mixed.frequent.map(0),
                    mixed.frequent.map(1),
                    mixed.rare.map(0),
                    mixed.rare.map(1),
                ],
                false => vec![alone.map(0), alone.map(1)],
            };
            let mut all: Vec<f64> =
                maps.iter().flat_map(|map| map.values()).map(|&value| value.into()).collect();
            all.push(mixed.factor.into());
            all.push(identity.weight.into());
            all
        };
        for number in 0..8 {
            let triple = bench.triple(number);
            let one = Ssi { rate: if number < 7 { 0.2 } else { 1.0 }, ..params.clone() };
            let before = taken(&mixed, &alone, identity);
            let mut scores = [0.0];
            let shape: &mut dyn WeightForm = if params.rare { &mut mixed } else { &mut alone };
            let mut batch = Batch { data: &bench.data, moved: &[], now: &[triple], rate: 1.0 };
            shape.step(&batch, &mut scores).unwrap();
            let moved = [Moved { slot: 0, triple }];
            (batch.moved, batch.now, batch.rate) = (&moved, &[], one.rate as f32);
            shape.step(&batch, &mut []).unwrap();
            identity.step(one.rate as f32, bench.data.cosines(triple));
            let after = taken(&mixed, &alone, identity);
            let at = |all: &[f64]| {
                let map = |which: usize| &all[which * n * dim..(which + 1) * n * dim];
                let mut views = vec![(map(0), map(1), 1.0)];
                if params.rare {
                    views.push((map(2), map(3), all[all.len() - 2]));
                }
                loss_of_views(&bench, triple, &views, dim, all[all.len() - 1])
            };
            let score = f64::from(scores[0]);
            let cosine = before[before.len() - 1] * f64::from(bench.data.cosines(triple));
            assert!((at(&before) - (1.0 - score - cosine)).abs() < 1e-5, "{params:?}");
            for i in 0..before.len() {
                // The factor of a mix that is none, and a weight that is set, stay.
                let stays = (i == before.len() - 2 && !params.rare)
                    || (i == before.len() - 1 && !params.learn_identity);
                let moved = |by: f64| {
                    let mut all = before.clone();
                    all[i] += by;
                    at(&all)
                };
                let gradient = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let step = (after[i] - before[i]) / one.rate;
                let expected = if stays { 0.0 } else { -gradient };
                assert!((step - expected).abs() < 1e-4, "{params:?} {i}: {step} {expected}");
            }
        }
    }
}

#[test]
fn one_at_a_time_is_a_plain_loop() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    for form in FORMS {
        let params = Ssi { rate: 0.3, ..small(form) };
        let bench = Bench::of(&params, &counts);
        with_shape!(&params, n, shape => {
            let mut plain = free(form, numbers(&shape.learnt(&bench.data).unwrap()));
            let found = free(form, numbers(&bench.run(&params, shape, 60)));
            for number in 0..60 {
                let features = bench.data.features(bench.triple(number));
                let [q, good, bad] = features.map(|row| dense(row, n));
                if loss(&w(&params, &plain, n), &q, &good, &bad) > 0.0 {
                    plain_step(&params, &mut plain, n, &q, &good, &bad);
                }
            }
            for (a, b) in found.iter().zip(&plain) {
                assert!((a - b).abs() < 1e-4, "{form:?}: {a} {b}");
            }
        });
    }
}

#[test]
fn a_batch_uses_the_values_before_it() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    // Two triples in one batch: their gradients at the start, added.
    for form in FORMS {
        let one = Ssi { rate: 0.3, ..small(form) };
        let two = Ssi { batch: 2, ..one.clone() };
        let bench = Bench::of(&one, &counts);
        let both = with_shape!(&one, n, shape => free(form, numbers(&bench.run(&two, shape, 2))));
        let start = with_shape!(&one, n, shape => {
            free(form, numbers(&shape.learnt(&bench.data).unwrap()))
        });
        let mut sum = start.clone();
        for number in 0..2 {
            let [q, good, bad] = bench.data.features(bench.triple(number)).map(|row| dense(row, n));
            let mut moved = start.clone();
            if loss(&w(&one, &start, n), &q, &good, &bad) > 0.0 {
                plain_step(&one, &mut moved, n, &q, &good, &bad);
            }
            sum.iter_mut().zip(moved.iter().zip(&start)).for_each(|(s, (m, b))| *s += m - b);
        }
        for (a, b) in both.iter().zip(&sum) {
            assert!((a - b).abs() < 1e-5, "{form:?}: {a} {b}");
        }
    }
}

#[test]
fn strips_of_any_width_are_a_plain_loop() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    for dim in [1, 7, 8, 9, 17, 33, 100] {
        let params = Ssi { dim, rate: 0.3, batch: 3, ..small(Form::LowRank) };
        let bench = Bench::of(&params, &counts);
        let (mut u, mut v) = (start(n, dim, 1), start(n, dim, 2));
        let found = numbers(&bench.run(&params, &mut Latent::new(0, &[&u, &v]).unwrap(), 30));
        for first in (0..30).step_by(3) {
            let (before_u, before_v) = (u.clone(), v.clone());
            for number in first..first + 3 {
                let triple = bench.triple(number);
                let [q, good, bad] = bench.data.features(triple);
                let embedding = |map: &Dense, row: Row<'_>, k: usize| -> f32 {
                    row.iter().map(|(i, value)| value * map.row(i as usize)[k]).sum()
                };
                let uq: Vec<f32> = (0..dim).map(|k| embedding(&before_u, q, k)).collect();
                let vd: Vec<f32> = (0..dim)
                    .map(|k| embedding(&before_v, good, k) - embedding(&before_v, bad, k))
                    .collect();
                let score: f32 = uq.iter().zip(&vd).map(|(a, b)| a * b).sum();
                if score + bench.data.cosines(triple) < 1.0 {
                    let add = |map: &mut Dense, row: Row<'_>, factor: f32, embedding: &[f32]| {
                        for (i, value) in row.iter() {
                            let row = map.row_mut(i as usize).iter_mut();
                            row.zip(embedding)
                                .for_each(|(to, embedding)| *to += factor * value * embedding);
                        }
                    };
                    add(&mut u, q, 0.3, &vd);
                    add(&mut v, good, 0.3, &uq);
                    add(&mut v, bad, -0.3, &uq);
                }
            }
        }
        for (a, b) in found.iter().zip(u.values().iter().chain(v.values())) {
            assert!((a - f64::from(*b)).abs() < 1e-4, "{dim}: {a} {b}");
        }
    }
}

#[test]
fn the_same_bits_at_any_thread_count() {
    let counts = counts(&[]);
    let more = [
        Ssi { dim: 100, batch: 64, ..small(Form::LowRank) },
        Ssi { dim: 50, frequent: 5, bins: 2, rare: true, exact: true, ..small(Form::LowRank) },
        // Enough cells for more than one part of the weights.
        Ssi { learn_identity: true, weights: 1 << 17, batch: 512, ..small(Form::Hash) },
    ];
    for params in FORMS.map(small).into_iter().chain(more) {
        for negative in [Negative::Uniform, Negative::Popularity, Negative::Bm25] {
            let batch = params.batch.max(16);
            let params = Ssi { batch, epochs: 2, steps: 200, negative, ..params.clone() };
            same_at_any_thread_count(|| {
                let (matcher, report) = fitted(&params, &counts).unwrap();
                let FitReport::Steps(StepsReport { steps, .. }) = report else { unreachable!() };
                (scores(&*matcher, &counts), steps)
            });
        }
    }
}
