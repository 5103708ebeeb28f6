//! Where forms, and SSI and other models, are the same.

use super::*;
use crate::features::Weighted;
use crate::matchers::Bilinear;
use crate::sparse::{Csr, explicit_c};

/// A matcher of W = αI + what was learnt.
fn indexed(counts: &Counts, params: &Ssi, learnt: Learnt<Maps>) -> Indexed {
    Indexed::new(counts, params.identity_at_start(), learnt).unwrap()
}

#[test]
fn before_the_first_epoch_diagonal_full_and_hash_are_the_cosine() {
    let counts = counts(&[]);
    let (vsm, _) = Params::named("vsm").unwrap().fit(&counts, None, &Run::silent()).unwrap();
    for form in [Form::Diagonal, Form::Full, Form::Hash] {
        for identity_weight in [1.0, 0.25] {
            let params = Ssi { epochs: 0, identity_weight, ..small(form) };
            let (matcher, _) = fitted(&params, &counts).unwrap();
            for (a, b) in scores(&*matcher, &counts).into_iter().zip(scores(&*vsm, &counts)) {
                assert!((a - identity_weight as f32 * b).abs() < 1e-6, "{form:?}: {a} {b}");
            }
        }
        // Without the identity nothing is known yet.
        let params = Ssi { epochs: 0, identity: false, ..small(form) };
        let (matcher, _) = fitted(&params, &counts).unwrap();
        assert!(scores(&*matcher, &counts).iter().all(|&score| score == 0.0));
    }
}

#[test]
fn symmetric_is_low_rank_with_its_maps_tied() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    let params = Ssi { rate: 0.2, batch: 4, ..small(Form::Symmetric) };
    let bench = Bench::of(&params, &counts);
    let u = Dense::gaussian(n, 3, 5);
    let (mut tied, mut apart) =
        (Latent::new(0, &[&u]).unwrap(), Latent::new(0, &[&u, &u]).unwrap());
    assert_eq!(bench.look(&mut tied, 20), bench.look(&mut apart, 20));
    // One batch: the step of the tied map is the sum of the steps of the two.
    let one = numbers(&bench.run(&params, &mut tied, 4));
    let two = numbers(&bench.run(&params, &mut apart, 4));
    for i in 0..n * 3 {
        let start = f64::from(u.values()[i]);
        let sum = start + (two[i] - start) + (two[n * 3 + i] - start);
        assert!((one[i] - sum).abs() < 1e-5);
    }
    let maps = Maps { l_x: tied.map(0).into(), l_y: tied.map(0).into() };
    let learnt = tied.learnt(&bench.data).unwrap();
    assert_eq!(
        scores(&indexed(&counts, &params, learnt), &counts),
        scores(&indexed(&counts, &params, Learnt::Latent(maps)), &counts)
    );
}

#[test]
fn without_the_identity_low_rank_is_the_bilinear_model_of_its_maps() {
    let counts = counts(&[]);
    let params = Ssi { identity: false, epochs: 2, ..small(Form::LowRank) };
    let (matcher, _) = fitted(&params, &counts).unwrap();
    let maps = matcher.bilinear().unwrap().maps().clone();
    let bilinear = Bilinear::new(&counts, &Features::words(), maps.clone()).unwrap();
    assert_eq!(scores(&*matcher, &counts), scores(&bilinear, &counts));
    // With it, the cosine is added.
    let (vsm, _) = Params::named("vsm").unwrap().fit(&counts, None, &Run::silent()).unwrap();
    let with = indexed(&counts, &small(Form::LowRank), Learnt::Latent(maps));
    assert!(with.bilinear().is_none());
    let sums = scores(&bilinear, &counts).into_iter().zip(scores(&*vsm, &counts));
    for (found, (latent, cosine)) in scores(&with, &counts).into_iter().zip(sums) {
        assert!((found - latent - cosine).abs() < 1e-5);
    }
}

#[test]
fn hash_kernels_without_collisions_are_the_full_form() {
    let counts = counts(&[]);
    let n = counts.n_terms() as u32;
    let apart = |h: usize| {
        let places = (0..n).flat_map(|s| (0..n).map(move |t| hashes::Hashes::of(s, h).at(t)));
        places.collect::<std::collections::HashSet<_>>().len() == (n * n) as usize
    };
    let weights = (500..5000).find(|&h| apart(h)).unwrap();
    let hash = Ssi { weights, batch: 3, rate: 0.3, ..small(Form::Hash) };
    let bench = Bench::of(&hash, &counts);
    let mut hashed = hashed::Hashed::new(weights);
    let mut full = full::Full::new(n as usize, 1 << 30, true);
    for steps in [1, 7, 50] {
        let of_hash = bench.run(&hash, &mut hashed, steps);
        let of_full =
            bench.run(&Ssi { batch: 3, rate: 0.3, ..small(Form::Full) }, &mut full, steps);
        let Learnt::Full(cells) = &of_full else { unreachable!() };
        for s in 0..n {
            for t in 0..n {
                let weight = hashed.weights[hashes::Hashes::of(s, weights).at(t)];
                assert_eq!(weight, cells.row(s as usize).get(t));
            }
        }
        let (a, b) = (indexed(&counts, &hash, of_hash), indexed(&counts, &hash, of_full));
        for (a, b) in scores(&a, &counts).into_iter().zip(scores(&b, &counts)) {
            assert!((a - b).abs() < 1e-6);
        }
    }
}

#[test]
fn hashed_weights_moved_in_parts_are_the_same_bits() {
    let counts = counts(&[]);
    for weights in [5, 17, 1000] {
        let bench = Bench::of(&Ssi { weights, ..small(Form::Hash) }, &counts);
        let moved = |slot: usize| Moved { slot, triple: bench.triple(slot as u64) };
        let moved: Vec<Moved> = (0..40).map(moved).collect();
        let mut whole = hashed::Hashed::new(weights);
        let batch = Batch { data: &bench.data, moved: &moved, now: &[], rate: 0.3 };
        whole.update(&batch, 1);
        for parts in [2, 3, 5] {
            let mut cut = hashed::Hashed::new(weights);
            cut.update(&batch, parts);
            assert_eq!(cut.weights, whole.weights);
        }
    }
}

#[test]
fn the_diagonal_of_the_first_batch_of_full_is_the_form_diagonal() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    let params = |form| Ssi { batch: 64, rate: 0.3, ..small(form) };
    let bench = Bench::of(&params(Form::Full), &counts);
    let run = |form: Form, diagonal: bool, identity: bool| {
        let params = Ssi { diagonal, identity, ..params(form) };
        with_shape!(&params, n, shape => numbers(&bench.run(&params, shape, 64)))
    };
    for identity in [true, false] {
        let (full, weights) =
            (run(Form::Full, true, identity), run(Form::Diagonal, true, identity));
        for s in 0..n {
            assert!((full[s * n + s] - weights[s]).abs() < 1e-5);
        }
        assert!(weights.iter().any(|&weight| weight != 0.0));
    }
    // Without the diagonal, the rest is the same and the diagonal is nothing.
    let (full, synonyms) = (run(Form::Full, true, false), run(Form::Full, false, false));
    for s in 0..n {
        for t in 0..n {
            let expected = if s == t { 0.0 } else { full[s * n + t] };
            assert_eq!(synonyms[s * n + t], expected);
        }
    }
}

#[test]
fn from_nothing_one_map_moves_and_the_other_stays() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    let params = Ssi { rate: 0.5, ..small(Form::LowRank) };
    let bench = Bench::of(&params, &counts);
    let v = Dense::gaussian(n, 3, 5);
    let mut shape = Latent::new(0, &[&Dense::zeros(n, 3), &v]).unwrap();
    bench.run(&params, &mut shape, 1);
    assert_eq!(shape.map(1), v);
    let [q, good, bad] = bench.data.features(bench.triple(0));
    for s in 0..n {
        for k in 0..3 {
            let embedding = |row: crate::sparse::Row<'_>| -> f32 {
                row.iter().map(|(t, value)| value * v.row(t as usize)[k]).sum()
            };
            let expected = 0.5 * q.get(s as u32) * (embedding(good) - embedding(bad));
            assert!((shape.map(0).row(s)[k] - expected).abs() < 1e-6);
        }
    }
}

/// From W = 0 every triple violates, and a batch of all of them moves W by rate·XᵀRY, where R is 1
/// for every click and −1 for every negative that was drawn: the first thing that SSI learns is the
/// C = M_S − M_D that PLS and RMLS align with.
#[test]
fn the_first_batch_of_everything_is_the_c_of_pls_with_negatives() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    let params = Ssi { identity: false, batch: 500, rate: 0.01, ..small(Form::Full) };
    let bench = Bench::of(&params, &counts);
    let learnt = bench.run(&params, &mut full::Full::new(n, 1 << 30, true), 500);
    let Learnt::Full(cells) = learnt else { unreachable!() };
    let mut responses = Vec::new();
    for number in 0..500 {
        let Triple { query, good, bad } = bench.triple(number);
        responses.extend([(query, good, 1.0), (query, bad, -1.0)]);
    }
    let featurizer = Featurizer::new(&counts, &Features::words()).unwrap();
    let data = Weighted {
        x: featurizer.queries(&counts).unwrap(),
        y: featurizer.docs(&counts).unwrap(),
        r: Csr::from_triplets(counts.n_queries(), counts.n_docs(), responses).unwrap(),
    };
    let c = explicit_c(&data.x, &data.r, &data.y).unwrap();
    assert!(c.nnz() > 0);
    for s in 0..n {
        for t in 0..n as u32 {
            let (found, expected) = (cells.row(s).get(t), 0.01 * c.row(s).get(t));
            assert!((found - expected).abs() < 1e-4, "{s} {t}: {found} {expected}");
        }
    }
}

#[test]
fn one_bin_is_exact() {
    let counts = counts(&[]);
    let params = Ssi { frequent: 5, bins: 1, epochs: 2, ..small(Form::LowRank) };
    let exact = Ssi { exact: true, ..params.clone() };
    let of = |params: &Ssi| scores(&*fitted(params, &counts).unwrap().0, &counts);
    assert_eq!(of(&params), of(&exact));
    let two = |exact| Ssi { bins: 2, exact, ..params.clone() };
    assert_ne!(of(&two(false)), of(&two(true)));
}

/// The fitted model is by words and knows no bins: it scores as the features do.
#[test]
fn by_words_and_by_features_the_score_is_the_same() {
    let counts = counts(&[]);
    let mix = Ssi { frequent: 5, bins: 2, rare: true, identity: false, ..small(Form::LowRank) };
    for params in [
        mix.clone(),
        Ssi { exact: true, ..mix.clone() },
        Ssi { exact: true, rare: false, ..mix.clone() },
        Ssi { form: Form::Symmetric, ..mix.clone() },
    ] {
        let bench = Bench::of(&params, &counts);
        let maps: Vec<Dense> = (1..5).map(|seed| start(5, 3, seed)).collect();
        let one = params.form == Form::Symmetric;
        let pick = |first: usize| match one {
            true => vec![&maps[first]],
            false => vec![&maps[first], &maps[first + 1]],
        };
        let mut mixed = mixed::Mixed::new(&pick(0), &pick(2)).unwrap();
        mixed.factor = 0.7;
        let mut alone = Latent::new(0, &pick(0)).unwrap();
        let (found, learnt) = match params.rare {
            true => (bench.look(&mut mixed, 30), mixed.learnt(&bench.data)),
            false => (bench.look(&mut alone, 30), alone.learnt(&bench.data)),
        };
        let matcher = indexed(&counts, &params, learnt.unwrap());
        for (number, found) in found.into_iter().enumerate() {
            let Triple { query, good, bad } = bench.triple(number as u64);
            let query = counts.query(query as usize);
            let both = matcher.scores(&counts, &query, Some(&[good, bad]));
            assert!((both[0] - both[1] - found).abs() < 1e-5, "{params:?}");
        }
    }
}
