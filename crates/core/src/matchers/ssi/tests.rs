//! Gradients against finite differences, the loop against a plain one, and the identities
//! between forms and models.

// Formulas by their indices.
#![allow(clippy::needless_range_loop)]

use super::sgd::one_epoch;
use super::*;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::Preparation;
use crate::linalg::oracle::{Naive, same_at_any_thread_count};
use crate::matchers::{Map, Params, StepsReport};
use crate::{Result, Run};

/// Twelve documents and six queries of words that are drawn, with clicks between them.
fn drawn(path: &std::path::Path, held_out: &[u32]) -> Dataset {
    let mut random = crate::random::Random::new(3, 0);
    let names = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi"];
    let mut text = |n: usize| -> String {
        (0..n).map(|_| names[random.below(11) as usize]).collect::<Vec<_>>().join(" ")
    };
    let ids: Vec<String> = (0..12).map(|i| format!("d{i}")).collect();
    let documents: Vec<_> =
        ids.iter().map(|id| (id.as_str(), serde_json::json!({ "title": text(6) }))).collect();
    let queries: Vec<String> = (0..6).map(|i| format!("{} q{i}", text(2))).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let clicks: Vec<(u32, u32, f32)> =
        (0..6).flat_map(|q| [(q, q, 2.0), (q, q + 6, 1.0), (q, (q + 3) % 6, 5.0)]).collect();
    let clicks: Vec<_> = clicks.into_iter().filter(|c| !held_out.contains(&c.1)).collect();
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out }.open(path)
}

fn counts(held_out: &[u32]) -> Counts {
    let dir = tempfile::tempdir().unwrap();
    Counts::of(&drawn(&dir.path().join("d"), held_out), &Preparation::default(), &Run::silent())
        .unwrap()
}

fn fitted(params: &Ssi, counts: &Counts) -> Result<(Box<dyn Matcher>, FitReport)> {
    params.fit_to(Fitting { counts, init: None, judge: None, run: &Run::silent() })
}

/// Scores of all queries of `counts` with all documents.
fn scores(matcher: &dyn Matcher, counts: &Counts) -> Vec<f32> {
    (0..counts.n_queries()).flat_map(|q| matcher.scores(counts, &counts.query(q), None)).collect()
}

/// The vectors and triples of `params`, as the loop sees them.
struct Bench<'a> {
    data: Data,
    draws: Draws<'a>,
}

impl<'a> Bench<'a> {
    fn of(params: &Ssi, counts: &'a Counts) -> Self {
        let featurizer = Featurizer::new(counts, &Features::words()).unwrap();
        let (x, y) = (featurizer.queries(counts).unwrap(), featurizer.docs(counts).unwrap());
        let run = Run::silent();
        let draws = Draws::of(params, counts, &x, &y, &run).unwrap();
        let bins = Bins::of(params, counts, &run).unwrap();
        Bench { data: Data::new(x, y, bins, params.identity).unwrap(), draws }
    }

    /// Takes `steps` triples as one epoch.
    fn run<S: sgd::Shape>(&self, params: &Ssi, shape: &mut S, steps: usize) -> Learnt {
        one_epoch(params, shape, &self.data, &self.draws, 1, steps, &Run::silent()).unwrap();
        shape.learnt(&self.data).unwrap()
    }
}

fn small(form: Form) -> Ssi {
    let mut params = Ssi { form, batch: 1, ..Ssi::default() };
    if form.has_maps() {
        params = Ssi { dim: 3, init_scale: 1.0, ..params };
    }
    if form == Form::Hash {
        params.weights = 17;
    }
    params
}

/// A dense vector of a sparse row.
fn dense(row: crate::sparse::Row<'_>, n: usize) -> Vec<f64> {
    (0..n).map(|i| row.get(i as u32).into()).collect()
}

/// The numbers of what was learnt, as they stand.
fn numbers(learnt: &Learnt) -> Vec<f64> {
    let map = |map: &Map| -> Vec<f64> {
        (0..map.n_rows()).flat_map(|i| map.row(i).into_owned()).map(f64::from).collect()
    };
    match learnt {
        Learnt::Maps(maps) => [map(&maps.l_x), map(&maps.l_y)].concat(),
        Learnt::Diagonal(weights) | Learnt::Hashed(weights) => {
            weights.iter().map(|&w| w.into()).collect()
        }
        Learnt::Full(cells) => Naive::of(cells).values,
    }
}

/// W of a form by its definition; `numbers` as above, but one map alone for `symmetric`.
fn w(params: &Ssi, numbers: &[f64], n: usize) -> Naive {
    let dim = params.dim;
    let row = |s: usize| &numbers[s * dim..(s + 1) * dim];
    let inner = |s: usize, t: usize| row(s).iter().zip(row(t)).map(|(a, b)| a * b).sum::<f64>();
    Naive::from_fn(n, n, |s, t| {
        let same = f64::from(u8::from(s == t));
        let learnt = match params.form {
            Form::LowRank => inner(s, n + t),
            Form::Symmetric => inner(s, t),
            Form::Diagonal => same * numbers[s],
            Form::Full => numbers[s * n + t],
            Form::Hash => numbers[hashed::hash(s as u32, t as u32, params.weights)],
        };
        learnt + if params.identity { same } else { 0.0 }
    })
}

/// max(0, 1 − qᵀW(d⁺ − d⁻)).
fn loss(w: &Naive, q: &[f64], good: &[f64], bad: &[f64]) -> f64 {
    let mut score = 0.0;
    for (s, q) in q.iter().enumerate() {
        for t in 0..good.len() {
            score += q * w.get(s, t) * (good[t] - bad[t]);
        }
    }
    (1.0 - score).max(0.0)
}

/// Runs `f` on the form of `params` at its start.
macro_rules! with_shape {
    ($params:expr, $n:expr, $shape:ident => $body:expr) => {{
        let (params, n): (&Ssi, usize) = ($params, $n);
        let map = |seed| {
            let mut map = Dense::gaussian(n, params.dim, seed);
            map.values_mut().iter_mut().for_each(|value| *value *= 0.4);
            map
        };
        match params.form {
            Form::LowRank => {
                let $shape = &mut low_rank::LowRank { u: map(1), v: map(2) };
                $body
            }
            Form::Symmetric => {
                let $shape = &mut symmetric::Symmetric { u: map(1) };
                $body
            }
            Form::Diagonal => {
                let $shape = &mut diagonal::Diagonal { weights: vec![0.0; n] };
                $body
            }
            Form::Full => {
                let $shape = &mut full::Full::new(n, 1 << 30);
                $body
            }
            Form::Hash => {
                let $shape = &mut hashed::Hashed::new(params.weights);
                $body
            }
        }
    }};
}

const FORMS: [Form; 5] = [Form::LowRank, Form::Symmetric, Form::Diagonal, Form::Full, Form::Hash];

/// The numbers that are moved: one map of `symmetric`, which is kept twice.
fn free(form: Form, mut numbers: Vec<f64>) -> Vec<f64> {
    if form == Form::Symmetric {
        numbers.truncate(numbers.len() / 2);
    }
    numbers
}

#[test]
fn a_step_goes_against_the_gradient_by_finite_differences() {
    let counts = counts(&[]);
    let n = counts.n_terms();
    for form in FORMS {
        for identity in [true, false] {
            let params = Ssi { identity, rate: 1.0, ..small(form) };
            let bench = Bench::of(&params, &counts);
            with_shape!(&params, n, shape => {
                // A few steps away from the start, where the cells of `full` are all 0.
                let slowly = Ssi { rate: 0.02, ..params.clone() };
                let before = free(form, numbers(&bench.run(&slowly, shape, 5)));
                let triple = bench.draws.draw(0).unwrap();
                let after = free(form, numbers(&bench.run(&params, shape, 1)));
                let (q, good, bad) = bench.data.features(triple);
                let (q, good, bad) = (dense(q, n), dense(good, n), dense(bad, n));
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
                    assert!((step + gradient).abs() < 1e-4, "{form:?} {i}: {step} {gradient}");
                }
            });
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
            let mut plain = free(form, numbers(&shape_start(shape, &bench)));
            let found = free(form, numbers(&bench.run(&params, shape, 60)));
            for number in 0..60 {
                let (q, good, bad) = bench.data.features(bench.draws.draw(number).unwrap());
                let (q, good, bad) = (dense(q, n), dense(good, n), dense(bad, n));
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

fn shape_start<S: sgd::Shape>(shape: &S, bench: &Bench<'_>) -> Learnt {
    shape.learnt(&bench.data).unwrap()
}

/// The updates of the head of `mod.rs`, entry by entry.
fn plain_step(params: &Ssi, to: &mut [f64], n: usize, q: &[f64], good: &[f64], bad: &[f64]) {
    let (rate, dim) = (params.rate, params.dim);
    let diff: Vec<f64> = good.iter().zip(bad).map(|(a, b)| a - b).collect();
    let before = to.to_vec();
    let image = |first: usize, row: &[f64], k: usize| -> f64 {
        (0..n).map(|s| row[s] * before[(first + s) * dim + k]).sum()
    };
    for s in 0..n {
        match params.form {
            Form::LowRank => {
                for k in 0..dim {
                    to[s * dim + k] += rate * q[s] * image(n, &diff, k);
                    to[(n + s) * dim + k] += rate * diff[s] * image(0, q, k);
                }
            }
            Form::Symmetric => {
                for k in 0..dim {
                    let by = q[s] * image(0, &diff, k) + diff[s] * image(0, q, k);
                    to[s * dim + k] += rate * by;
                }
            }
            Form::Diagonal => to[s] += rate * q[s] * diff[s],
            Form::Full => (0..n).for_each(|t| to[s * n + t] += rate * q[s] * diff[t]),
            Form::Hash => {
                for (t, diff) in diff.iter().enumerate() {
                    to[hashed::hash(s as u32, t as u32, params.weights)] += rate * q[s] * diff;
                }
            }
        }
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
        let start = with_shape!(&one, n, shape => free(form, numbers(&shape_start(shape, &bench))));
        let mut sum = start.clone();
        for number in 0..2 {
            let (q, good, bad) = bench.data.features(bench.draws.draw(number).unwrap());
            let (q, good, bad) = (dense(q, n), dense(good, n), dense(bad, n));
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
fn the_same_bits_at_any_thread_count() {
    let counts = counts(&[]);
    for form in FORMS {
        for negative in [Negative::Uniform, Negative::Popularity, Negative::Bm25] {
            let params = Ssi { batch: 16, epochs: 2, steps: 200, negative, ..small(form) };
            same_at_any_thread_count(|| {
                let (matcher, report) = fitted(&params, &counts).unwrap();
                let FitReport::Steps(StepsReport { steps, .. }) = report else { unreachable!() };
                (scores(&*matcher, &counts), steps)
            });
        }
    }
}

#[test]
fn before_the_first_epoch_diagonal_full_and_hash_are_the_cosine() {
    let counts = counts(&[]);
    let (vsm, _) = Params::named("vsm").unwrap().fit(&counts, None, &Run::silent()).unwrap();
    for form in [Form::Diagonal, Form::Full, Form::Hash] {
        let params = Ssi { epochs: 0, ..small(form) };
        let (matcher, _) = fitted(&params, &counts).unwrap();
        for (a, b) in scores(&*matcher, &counts).into_iter().zip(scores(&*vsm, &counts)) {
            assert!((a - b).abs() < 1e-6, "{form:?}: {a} {b}");
        }
        // Without the identity nothing is known yet.
        let (matcher, _) = fitted(&Ssi { identity: false, ..params }, &counts).unwrap();
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
    let mut tied = symmetric::Symmetric { u: u.clone() };
    let mut apart = low_rank::LowRank { u: u.clone(), v: u.clone() };
    // One batch: the step of the tied map is the sum of the steps of the two.
    let one = numbers(&bench.run(&params, &mut tied, 4));
    let two = numbers(&bench.run(&params, &mut apart, 4));
    for i in 0..n * 3 {
        let start = f64::from(u.values()[i]);
        let sum = start + (two[i] - start) + (two[n * 3 + i] - start);
        assert!((one[i] - sum).abs() < 1e-5);
    }
    let learnt = |l_x: &Dense, l_y: &Dense| {
        let maps = Maps { l_x: l_x.clone().into(), l_y: l_y.clone().into() };
        scores(&Indexed::new(&counts, true, Learnt::Maps(maps)).unwrap(), &counts)
    };
    let Learnt::Maps(maps) = sgd::Shape::learnt(&tied, &bench.data).unwrap() else {
        unreachable!()
    };
    let matcher = Indexed::new(&counts, true, Learnt::Maps(maps)).unwrap();
    assert_eq!(scores(&matcher, &counts), learnt(&tied.u, &tied.u));
}

#[test]
fn without_the_identity_low_rank_is_the_bilinear_model() {
    let counts = counts(&[]);
    let params = Ssi { identity: false, epochs: 2, ..small(Form::LowRank) };
    let (matcher, _) = fitted(&params, &counts).unwrap();
    let bilinear = matcher.bilinear().unwrap();
    assert_eq!(scores(&*matcher, &counts), scores(bilinear, &counts));
    let (matcher, _) = fitted(&Ssi { identity: true, ..params }, &counts).unwrap();
    assert!(matcher.bilinear().is_none());
}

#[test]
fn words_that_are_not_frequent_count_through_the_identity_alone() {
    let counts = counts(&[]);
    for form in [Form::LowRank, Form::Symmetric, Form::Diagonal, Form::Full] {
        let params = Ssi { frequent: 4, epochs: 3, ..small(form) };
        let bench = Bench::of(&params, &counts);
        let n = counts.n_terms();
        let learnt =
            with_shape!(&params, bench.data.n_features(), shape => bench.run(&params, shape, 300));
        let kept: Vec<u32> = (0..4).map(|f| bench.data.word(f)).collect();
        let numbers = numbers(&learnt);
        let width = numbers.len() / if form.has_maps() { 2 * n } else { n };
        let moved = numbers.chunks(width).map(|row| row.iter().any(|&value| value != 0.0));
        for (word, moved) in moved.enumerate() {
            let word = (word % n) as u32;
            assert!(!moved || kept.contains(&word), "{form:?} {word}");
        }
        let (a, b) = (fitted(&params, &counts).unwrap().0, fitted(&params, &counts).unwrap().0);
        assert_eq!(scores(&*a, &counts), scores(&*b, &counts));
    }
}

#[test]
fn every_form_explains_itself_scores_alike_and_is_restored() {
    let counts = counts(&[]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kept.safetensors");
    let more = [
        Ssi { frequent: 6, bins: 2, ..small(Form::LowRank) },
        Ssi { frequent: 6, ..small(Form::Full) },
    ];
    for params in FORMS.map(small).into_iter().chain(more) {
        for identity in [true, false] {
            let params = Ssi { identity, epochs: 2, steps: 100, ..params.clone() };
            let (matcher, _) = fitted(&params, &counts).unwrap();
            let mut tensors = crate::file::TensorsWriter::new();
            matcher.keep(&mut tensors);
            tensors.write(&path).unwrap();
            let kept = crate::file::Tensors::open(&path).unwrap();
            let again = params.restore(&counts, Kept(Some(&kept))).unwrap();
            assert_eq!(scores(&*matcher, &counts), scores(&*again, &counts), "{params:?}");
            for q in 0..counts.n_queries() {
                let query = counts.query(q);
                let all = matcher.scores(&counts, &query, None);
                let some = matcher.scores(&counts, &query, Some(&[7, 2]));
                assert_eq!(some, [all[7], all[2]], "{params:?}");
                for (doc, score) in all.iter().enumerate() {
                    let lines = matcher.lines(&counts, &query, doc as u32);
                    let sum: f64 = lines.iter().map(|line| line.value).sum();
                    assert!((sum - f64::from(*score)).abs() < 1e-5, "{params:?} {sum} {score}");
                }
            }
        }
    }
}

#[test]
fn clicked_and_held_out_documents_are_never_drawn() {
    let counts = counts(&[3, 8]);
    for negative in [Negative::Uniform, Negative::Popularity, Negative::Bm25] {
        let params = Ssi { negative, ..Ssi::default() };
        let draws = Bench::of(&params, &counts).draws;
        let mut bad = [0; 12];
        for number in 0..3000 {
            let triple = draws.draw(number).unwrap();
            let clicks = counts.clicks.row(triple.query as usize);
            assert!(clicks.get(triple.good) > 0.0 && clicks.get(triple.bad) == 0.0);
            bad[triple.bad as usize] += 1;
        }
        assert_eq!((bad[3], bad[8]), (0, 0));
        assert!(bad.iter().filter(|&&n| n > 0).count() > 5, "{negative:?} {bad:?}");
    }
}

#[test]
fn a_query_for_which_all_was_clicked_has_no_triple() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [
        ("a", serde_json::json!({ "title": "red" })),
        ("b", serde_json::json!({ "title": "blue" })),
    ];
    let clicks = [(0, 0, 1.0), (0, 1, 1.0)];
    let fixture =
        Fixture { documents: &documents, queries: &["red"], clicks: &clicks, held_out: &[] };
    let dataset = fixture.open(&dir.path().join("d"));
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    let (_, report) = fitted(&Ssi { epochs: 1, ..small(Form::LowRank) }, &counts).unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    assert_eq!(report.steps[0][..2], [0.0, 0.0]);
}

#[test]
fn a_rate_that_diverges_is_said_with_epoch_and_rate() {
    let counts = counts(&[]);
    let params = Ssi { rate: 1e30, ..small(Form::LowRank) };
    let message = fitted(&params, &counts).err().unwrap().to_string();
    assert!(message.contains("epoch 1") && message.contains("rate = 1"), "{message}");
}

#[test]
fn cells_keep_to_their_memory() {
    let counts = counts(&[]);
    let params = small(Form::Full);
    let bench = Bench::of(&params, &counts);
    let mut full = full::Full::new(counts.n_terms(), 100);
    let run = Run::silent();
    let error = one_epoch(&params, &mut full, &bench.data, &bench.draws, 1, 50, &run).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn the_best_epoch_by_validation_is_kept_and_patience_ends_the_fit() {
    let counts = counts(&[]);
    let params = Ssi { epochs: 20, patience: 2, steps: 20, ..small(Form::LowRank) };
    // Says 0 at the start, then 1, 2, 5, 4, 3.
    let said = std::sync::atomic::AtomicUsize::new(0);
    let judge: &crate::matchers::Judge<'_> = &|score| {
        assert_eq!(score(0, None).len(), 12);
        let n = said.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        [0.0, 1.0, 2.0, 5.0, 4.0, 3.0][n]
    };
    let run = Run::silent();
    let (best, report) = params
        .fit_to(Fitting { counts: &counts, init: None, judge: Some(judge), run: &run })
        .unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    assert_eq!((report.kept, report.steps.len()), (Some(2), 5));
    let (third, _) = fitted(&Ssi { epochs: 3, ..params.clone() }, &counts).unwrap();
    assert_eq!(scores(&*best, &counts), scores(&*third, &counts));
    // Nothing better than the start.
    let judge: &crate::matchers::Judge<'_> = &|_| 0.5;
    let (_, report) = params
        .fit_to(Fitting { counts: &counts, init: None, judge: Some(judge), run: &run })
        .unwrap();
    assert!(report.warnings()[0].contains("than the start"));
}

#[test]
fn parameters_that_would_be_ignored_are_refused() {
    for (settings, words) in [
        (&[("alpha", "0.7")][..], "negative = \"popularity\""),
        (&[("hard", "7")], "negative = \"bm25\""),
        (&[("form", "full"), ("dim", "7")], "form = \"low_rank\""),
        (&[("form", "diagonal"), ("init_scale", "7")], "form = \"low_rank\""),
        (&[("weights", "7")], "form = \"hash\""),
        (&[("form", "hash"), ("frequent", "7")], "frequent = 7"),
        (&[("bins", "2")], "frequent = 0"),
        (&[("bins", "9"), ("frequent", "5")], "bins = 9"),
        (&[("form", "full"), ("bins", "2"), ("frequent", "5")], "form = \"low_rank\""),
        (&[("rate", "0")], "rate = 0"),
        (&[("batch", "0")], "batch = 0"),
    ] {
        let mut params = Params::named("ssi").unwrap();
        settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
        let message = params.check().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}
