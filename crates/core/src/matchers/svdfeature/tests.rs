//! Plain matrix factorisation, finite differences, and what the loop promises.

use super::samples::Sample;
use super::sgd::{Learner, Slot, one_epoch};
use super::*;
use crate::Run;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::Preparation;
use crate::file::{Tensors, TensorsWriter};
use crate::oracle::same_at_any_thread_count;

const LOSSES: [Loss; 3] = [Loss::Squared, Loss::Logistic, Loss::Pairwise];

/// Documents and queries of the words given; query q was clicked for q, q + 1 and q + 2, the
/// last one disliked.
fn data(path: &std::path::Path, docs: &[String], queries: &[String]) -> Dataset {
    let ids: Vec<String> = (0..docs.len()).map(|i| format!("d{i}")).collect();
    let documents: Vec<_> = ids
        .iter()
        .zip(docs)
        .map(|(id, text)| (id.as_str(), serde_json::json!({ "title": text })))
        .collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let n = docs.len() as u32;
    let clicks: Vec<(u32, u32, f32)> = (0..queries.len() as u32)
        .flat_map(|q| [(q, q % n, 3.0), (q, (q + 1) % n, 1.0), (q, (q + 2) % n, -1.0)])
        .collect();
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }.open(path)
}

fn counted(docs: &[String], queries: &[String]) -> Counts {
    let dir = tempfile::tempdir().unwrap();
    let data = data(&dir.path().join("d"), docs, queries);
    Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap()
}

/// Words of its own for every query and document, so that features are indicators.
fn indicators() -> Counts {
    let name = |kind: &str, n: usize| (0..n).map(|i| format!("{kind}{i}")).collect::<Vec<_>>();
    counted(&name("d", 6), &name("q", 4))
}

/// Some words that are shared, and some queries.
fn drawn() -> Counts {
    let mut random = crate::random::Random::new(5, 0);
    let names = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"];
    let mut text = |n: usize| -> String {
        (0..n).map(|_| names[random.below(8) as usize]).collect::<Vec<_>>().join(" ")
    };
    let docs: Vec<String> = (0..10).map(|_| text(5)).collect();
    let queries: Vec<String> = (0..5).map(|i| format!("{} q{i}", text(2))).collect();
    counted(&docs, &queries)
}

fn samples<'a>(params: &SvdFeature, counts: &'a Counts) -> Samples<'a> {
    let featurizer = Featurizer::new(counts, &params.features).unwrap();
    let (x, y) = (featurizer.queries(counts).unwrap(), featurizer.docs(counts).unwrap());
    Samples::of(params, counts, x, y).unwrap()
}

fn fitted(params: &SvdFeature, counts: &Counts) -> (Box<dyn Matcher>, FitReport) {
    let run = Run::silent();
    params.fit_to(Fitting { counts, init: None, scorer: None, run: &run }).unwrap()
}

fn small(loss: Loss) -> SvdFeature {
    let (rate, decay, init_scale, features) = (0.2, 1.0, 0.5, Features::default());
    let lambda = 0.03;
    let default = SvdFeature::default();
    SvdFeature { dim: 3, loss, rate, decay, lambda, init_scale, epochs: 4, features, ..default }
}

fn scores(matcher: &dyn Matcher, counts: &Counts) -> Vec<f32> {
    (0..counts.n_queries()).flat_map(|q| matcher.scores(counts, &counts.query(q), None)).collect()
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Matrix factorisation with biases as anybody would write it: a row and a bias for every user
/// and item, one sample after the other.
struct Plain {
    base: f64,
    user: Vec<(Vec<f64>, f64)>,
    item: Vec<(Vec<f64>, f64)>,
}

impl Plain {
    fn score(&self, i: usize, j: usize) -> f64 {
        let ((p, b), (q, c)) = (&self.user[i], &self.item[j]);
        self.base + b + c + p.iter().zip(q).map(|(p, q)| p * q).sum::<f64>()
    }

    fn step(&mut self, params: &SvdFeature, sample: Sample) {
        let (i, j) = (sample.query as usize, sample.doc as usize);
        let (rate, lambda, target) = (params.rate, params.lambda, f64::from(sample.target));
        let (score, weight) = (self.score(i, j), f64::from(sample.weight));
        let Some(other) = sample.other.map(|other| other as usize) else {
            let e = match params.loss {
                Loss::Squared => score - target,
                _ => weight * (sigmoid(score) - target),
            };
            let ((p, b), (q, c)) = (&mut self.user[i], &mut self.item[j]);
            for (p, q) in p.iter_mut().zip(q) {
                (*p, *q) = (*p - rate * (e * *q + lambda * *p), *q - rate * (e * *p + lambda * *q));
            }
            *b -= rate * (e + lambda * *b);
            *c -= rate * (e + lambda * *c);
            return;
        };
        let e = -weight * sigmoid(self.score(i, other) - score);
        for k in 0..params.dim {
            let (p, q, r) = (self.user[i].0[k], self.item[j].0[k], self.item[other].0[k]);
            self.user[i].0[k] -= rate * (e * (q - r) + lambda * p);
            self.item[j].0[k] -= rate * (e * p + lambda * q);
            self.item[other].0[k] -= rate * (-e * p + lambda * r);
        }
        self.user[i].1 *= 1.0 - rate * lambda;
        self.item[j].1 -= rate * (e + lambda * self.item[j].1);
        self.item[other].1 -= rate * (-e + lambda * self.item[other].1);
    }
}

#[test]
fn with_indicators_as_features_it_is_plain_matrix_factorisation() {
    let counts = indicators();
    for loss in LOSSES {
        let features = Features::words();
        let params = SvdFeature { batch: 1, features, ..small(loss) };
        let samples = samples(&params, &counts);
        let learner = Learner::new(&params, &samples);
        let start = |row: crate::sparse::Row<'_>, map: &crate::linalg::Dense| {
            assert_eq!(row.len(), 1);
            assert!((row.values[0] - 1.0).abs() < 1e-6);
            let entries = map.row(row.indices[0] as usize);
            (entries[..3].iter().map(|&v| v.into()).collect(), 0.0)
        };
        let mut plain = Plain {
            base: samples.base().into(),
            user: samples.x.rows().map(|row| start(row, &learner.p)).collect(),
            item: samples.y.rows().map(|row| start(row, &learner.q)).collect(),
        };
        for epoch in 0..params.epochs {
            let order = samples.order(epoch);
            for number in 0..samples.len() {
                plain.step(&params, samples.draw(epoch, &order, number).unwrap());
            }
        }
        let found = scores(&*fitted(&params, &counts).0, &counts);
        for (k, &found) in found.iter().enumerate() {
            let expected = plain.score(k / counts.n_docs(), k % counts.n_docs());
            assert!((f64::from(found) - expected).abs() < 1e-4, "{loss:?}: {found} {expected}");
        }
    }
}

/// All numbers that are learnt, one after the other.
fn numbers(learner: &Learner) -> Vec<f64> {
    let all = learner.p.values().iter().chain(learner.q.values()).chain([&learner.global]);
    all.map(|&value| value.into()).collect()
}

/// The loss of a sample by its definition, with the penalty on what it touches.
fn objective(params: &SvdFeature, samples: &Samples<'_>, sample: Sample, numbers: &[f64]) -> f64 {
    let (dim, n_x) = (params.dim, samples.x.n_cols());
    let row = |i: usize| &numbers[i * (dim + 1)..(i + 1) * (dim + 1)];
    let global = numbers[numbers.len() - 1];
    let x = samples.x.row(sample.query as usize);
    let score = |doc: u32| {
        let y = samples.y.row(doc as usize);
        let mut score = f64::from(samples.base());
        score += global * f64::from(samples.popularity[doc as usize]);
        score += x.iter().map(|(u, x)| f64::from(x) * row(u as usize)[dim]).sum::<f64>();
        score += y.iter().map(|(v, y)| f64::from(y) * row(n_x + v as usize)[dim]).sum::<f64>();
        for (u, x) in x.iter() {
            for (v, y) in y.iter() {
                let inner: f64 =
                    (0..dim).map(|k| row(u as usize)[k] * row(n_x + v as usize)[k]).sum();
                score += f64::from(x) * f64::from(y) * inner;
            }
        }
        score
    };
    let (target, weight) = (f64::from(sample.target), f64::from(sample.weight));
    let loss = match (params.loss, sample.other) {
        (Loss::Squared, _) => 0.5 * (score(sample.doc) - target).powi(2),
        (Loss::Logistic, _) if target > 0.0 => -weight * sigmoid(score(sample.doc)).ln(),
        (Loss::Logistic, _) => -weight * (1.0 - sigmoid(score(sample.doc))).ln(),
        (Loss::Pairwise, other) => {
            -weight * sigmoid(score(sample.doc) - score(other.unwrap())).ln()
        }
    };
    let mut touched: Vec<usize> = x.indices.iter().map(|&u| u as usize).collect();
    let mut docs: Vec<usize> = [Some(sample.doc), sample.other]
        .into_iter()
        .flatten()
        .flat_map(|doc| samples.y.row(doc as usize).indices.iter().map(|&v| n_x + v as usize))
        .collect();
    docs.sort_unstable();
    docs.dedup();
    touched.extend(docs);
    let squares = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>();
    let mut penalty: f64 = touched.into_iter().map(|i| squares(row(i))).sum();
    let of = |doc: u32| samples.popularity[doc as usize];
    if of(sample.doc) != sample.other.map_or(0.0, of) {
        penalty += global * global;
    }
    loss + params.lambda / 2.0 * penalty
}

#[test]
fn the_step_is_the_gradient_of_the_loss() {
    let counts = drawn();
    for loss in LOSSES {
        let params = SvdFeature { popularity: true, init_scale: 2.0, ..small(loss) };
        let samples = samples(&params, &counts);
        let mut learner = Learner::new(&params, &samples);
        learner.global = 0.4;
        for map in [&mut learner.p, &mut learner.q] {
            for i in 0..map.n_rows() {
                map.row_mut(i)[params.dim] = 0.1 * (i % 5) as f32 - 0.2;
            }
        }
        let order = samples.order(0);
        let batch: Vec<Sample> = (0..7).filter_map(|n| samples.draw(0, &order, n)).collect();
        let before = numbers(&learner);
        let sum = |numbers: &[f64]| -> f64 {
            batch.iter().map(|&sample| objective(&params, &samples, sample, numbers)).sum()
        };
        let mut slots: Vec<Slot> = batch
            .iter()
            .map(|&sample| {
                let mut slot = Slot::default();
                learner.evaluate(&params, &samples, sample, &mut slot);
                slot
            })
            .collect();
        slots.push(Slot::default());
        // A rate of one subtracts the gradient.
        learner.step(&params, &samples, &slots, 1.0);
        let h = 1e-5;
        for (at, after) in numbers(&learner).into_iter().enumerate() {
            let (mut up, mut down) = (before.clone(), before.clone());
            up[at] += h;
            down[at] -= h;
            let slope = (sum(&up) - sum(&down)) / (2.0 * h);
            let moved = before[at] - after;
            assert!((slope - moved).abs() < 1e-4, "{loss:?} {at}: {slope} {moved}");
        }
    }
}

#[test]
fn the_loss_falls_and_the_batch_changes_little() {
    let counts = drawn();
    for loss in LOSSES {
        let of = |batch: usize| {
            let params = SvdFeature { batch, epochs: 30, lambda: 0.0, rate: 0.05, ..small(loss) };
            let FitReport::Steps(report) = fitted(&params, &counts).1 else { panic!("no steps") };
            report.steps.iter().map(|step| step[0]).collect::<Vec<_>>()
        };
        let (one, many) = (of(1), of(8));
        assert!(one[29] < 0.8 * one[0], "{loss:?}: {one:?}");
        assert!((one[29] - many[29]).abs() < 0.1 * one[0], "{loss:?}: {one:?} {many:?}");
    }
}

#[test]
fn the_same_bits_at_any_thread_count() {
    let counts = drawn();
    for loss in LOSSES {
        let params = SvdFeature { batch: 6, popularity: true, ..small(loss) };
        same_at_any_thread_count(|| {
            let samples = samples(&params, &counts);
            let mut learner = Learner::new(&params, &samples);
            let losses: Vec<f64> = (0..3)
                .map(|epoch| {
                    one_epoch(&params, &mut learner, &samples, epoch, &Run::silent()).unwrap()
                })
                .collect();
            (losses, numbers(&learner))
        });
    }
}

#[test]
fn scores_biases_and_explanations_belong_together() {
    let counts = drawn();
    let dir = tempfile::tempdir().unwrap();
    for loss in LOSSES {
        for (biases, popularity) in [(true, true), (true, false), (false, false)] {
            let params = SvdFeature { biases, popularity, batch: 4, ..small(loss) };
            let (matcher, _) = fitted(&params, &counts);
            let all = scores(&*matcher, &counts);
            for (k, &score) in all.iter().enumerate() {
                let (query, doc) = (k / counts.n_docs(), k % counts.n_docs());
                let lines = matcher.contributions(&counts, &counts.query(query), doc as u32);
                let sum: f64 = lines.iter().map(|line| line.value).sum();
                assert!((sum - f64::from(score)).abs() < 1e-5, "{sum} {score}");
            }
            assert_eq!(matcher.bilinear().is_some(), !biases);
            if let Some(bilinear) = matcher.bilinear() {
                assert_eq!(scores(bilinear, &counts), all);
            }
            let path = dir.path().join(format!("{loss:?}{biases}{popularity}"));
            let mut tensors = TensorsWriter::new();
            matcher.save_state(&mut tensors);
            tensors.write(&path).unwrap();
            let kept = Tensors::open(&path).unwrap();
            let again = params.restore(&counts, SavedState(Some(&kept))).unwrap();
            assert_eq!(scores(&*again, &counts), all);
        }
    }
}

#[test]
fn validation_sees_the_scores_of_the_matcher_and_keeps_the_best_epoch() {
    let counts = drawn();
    let params = SvdFeature { popularity: true, epochs: 6, patience: 2, ..small(Loss::Squared) };
    let seen = std::cell::RefCell::new(Vec::new());
    let scorer = |score: &crate::matchers::Score<'_>| {
        let mut seen = seen.borrow_mut();
        seen.push((0..5).flat_map(|query| score(query, None)).collect::<Vec<f32>>());
        // The second epoch is the best.
        if seen.len() == 2 { 1.0 } else { 0.5 }
    };
    let run = Run::silent();
    let fitting = Fitting { counts: &counts, init: None, scorer: Some(&scorer), run: &run };
    let (matcher, FitReport::Steps(report)) = params.fit_to(fitting).unwrap() else {
        panic!("no steps")
    };
    assert_eq!((report.steps.len(), report.kept), (4, Some(1)));
    assert_eq!(scores(&*matcher, &counts), seen.borrow()[1]);
}

#[test]
fn clicked_documents_are_never_drawn() {
    let counts = drawn();
    for loss in LOSSES {
        let params = SvdFeature { negatives: 5, ..small(loss) };
        let samples = samples(&params, &counts);
        let order = samples.order(0);
        for number in 0..samples.len() {
            let sample = samples.draw(0, &order, number).unwrap();
            let clicks = |doc: u32| counts.clicks.row(sample.query as usize).get(doc);
            if let Some(other) = sample.other {
                assert!(clicks(sample.doc) > 0.0 && clicks(other) <= 0.0);
            } else if number % 6 > 0 {
                assert!(clicks(sample.doc) <= 0.0 && sample.target == 0.0);
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bad = [
        SvdFeature { dim: 0, ..SvdFeature::default() },
        SvdFeature { loss: Loss::Pairwise, negatives: 0, ..SvdFeature::default() },
        SvdFeature { rate: 0.0, ..SvdFeature::default() },
        SvdFeature { decay: 1.5, ..SvdFeature::default() },
        SvdFeature { lambda: f64::NAN, ..SvdFeature::default() },
        SvdFeature { lambda: 1.0, batch: 64, ..SvdFeature::default() },
        SvdFeature { epochs: 0, ..SvdFeature::default() },
    ];
    for params in bad {
        assert!(params.check().is_err(), "{params:?}");
    }
    // Steps too large for the logistic loss make it grow; it is still a number.
    let grows = [3.0, 10.0, 30.0, 100.0].into_iter().any(|rate| {
        let params = SvdFeature { popularity: true, lambda: 0.0, rate, ..small(Loss::Logistic) };
        let (counts, run) = (drawn(), Run::silent());
        let fitting = Fitting { counts: &counts, init: None, scorer: None, run: &run };
        let warnings = params.fit_to(fitting).map(|(_, report)| report.warnings());
        warnings.is_ok_and(|warnings| warnings.iter().any(|w| w.contains("lower `rate`")))
    });
    assert!(grows);
    let wild = SvdFeature { rate: 1e20, lambda: 0.0, ..small(Loss::Squared) };
    let counts = drawn();
    let run = Run::silent();
    let fitting = Fitting { counts: &counts, init: None, scorer: None, run: &run };
    let message = wild.fit_to(fitting).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("lower `rate`"), "{message}");
}

#[test]
fn a_rate_that_is_too_high_is_halved_until_nothing_runs_away() {
    let counts = drawn();
    let high = SvdFeature { dim: 3, rate: 40.0, ..SvdFeature::default() };
    let (matcher, report) = fitted(&high, &counts);
    let warnings = report.warnings();
    let said = warnings.iter().find(|warning| warning.contains("diverged at rate = 40 ")).unwrap();
    // At the rate that it names, the same comes out at once.
    let rate = said.split("repeated at ").nth(1).unwrap().split(':').next().unwrap();
    let lower = SvdFeature { rate: rate.parse().unwrap(), ..high };
    let (again, report) = fitted(&lower, &counts);
    assert!(report.warnings().iter().all(|warning| !warning.contains("diverged")));
    let query = counts.query(0);
    let scores = matcher.scores(&counts, &query, None);
    assert!(scores.iter().all(|score| score.is_finite()));
    assert_eq!(scores, again.scores(&counts, &query, None));
}

#[test]
fn where_every_document_was_clicked_pairs_teach_nothing_and_that_is_said() {
    let name = |kind: &str, n: usize| (0..n).map(|i| format!("{kind}{i}")).collect::<Vec<_>>();
    let counts = counted(&name("d", 2), &name("q", 3));
    let params = SvdFeature { dim: 3, loss: Loss::Pairwise, ..SvdFeature::default() };
    let (matcher, report) = fitted(&params, &counts);
    assert!(report.warnings().iter().any(|warning| warning.contains("nothing is learnt")));
    assert_eq!(matcher.scores(&counts, &counts.query(0), None), [0.0, 0.0]);
}
