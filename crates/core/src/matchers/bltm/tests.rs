use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::data::Dataset;
use crate::data::fixture::{Fixture, many};
use crate::features::Preparation;
use crate::matchers::Params;
use crate::oracle::same_at_any_thread_count;

const N: usize = 5;

/// Queries, documents, and weights of all pairs, some of them 0.
fn toy() -> impl Strategy<Value = (Csr, Csr, Csr)> {
    let bags = |rows: usize| {
        let cell = prop_oneof![2 => Just(0.0f32), 1 => Just(1.0), 1 => Just(2.0)];
        proptest::collection::vec(cell, rows * N).prop_map(move |cells| csr(&cells, rows, N))
    };
    (1usize..4, 1usize..4).prop_flat_map(move |(n_queries, n_docs)| {
        let weight = prop_oneof![1 => Just(0.0f32), 2 => 0.5f32..4.0];
        let weights = proptest::collection::vec(weight, n_queries * n_docs);
        let weights = weights.prop_map(move |cells| csr(&cells, n_queries, n_docs));
        (bags(n_queries), bags(n_docs), weights)
    })
}

fn csr(cells: &[f32], n_rows: usize, n_cols: usize) -> Csr {
    let triplets = cells
        .iter()
        .enumerate()
        .filter(|&(_, &value)| value != 0.0)
        .map(|(at, &value)| ((at / n_cols) as u32, (at % n_cols) as u32, value))
        .collect();
    Csr::from_triplets(n_rows, n_cols, triplets).unwrap()
}

fn sides(queries: &Csr, docs: &Csr, weights: &Csr, dim: usize) -> [em::Side; 2] {
    let asked = (0..weights.n_rows()).filter(|&i| !weights.row(i).is_empty());
    let by_doc = weights.transpose();
    let clicked = (0..by_doc.n_rows()).filter(|&j| !by_doc.row(j).is_empty());
    let mut sides = [
        em::Side::of(asked.map(|i| queries.row(i)), N, dim),
        em::Side::of(clicked.map(|j| docs.row(j)), N, dim),
    ];
    for (s, side) in sides.iter_mut().enumerate() {
        for (at, phi) in side.phi.iter_mut().enumerate() {
            *phi = 1.0 + ((7 * at + 3 * s) % 5) as f64;
        }
        side.normalise();
    }
    sides
}

/// The same two half-iterations from the formulas, every responsibility written out.
struct BruteForce {
    words: Vec<(usize, usize, u32, f64)>,
    weights: Vec<f64>,
    theta: Vec<Vec<f64>>,
    phi: [Vec<Vec<f64>>; 2],
    has: [Vec<bool>; 2],
    alpha: f64,
    beta: f64,
}

impl BruteForce {
    fn p(&self, (pair, side, word, _): (usize, usize, u32, f64), z: usize) -> f64 {
        self.theta[pair][z] * self.phi[side][z][word as usize]
    }

    fn posterior(&self) -> f64 {
        let dim = self.theta[0].len();
        let mut log = 0.0;
        for &word in &self.words {
            let p: f64 = (0..dim).map(|z| self.p(word, z)).sum();
            log += self.weights[word.0] * word.3 * p.ln();
        }
        for (theta, weight) in self.theta.iter().zip(&self.weights) {
            log += weight * self.alpha * theta.iter().map(|t| t.ln()).sum::<f64>();
        }
        for side in 0..2 {
            for phi in &self.phi[side] {
                for (p, _) in phi.iter().zip(&self.has[side]).filter(|(_, has)| **has) {
                    log += self.beta * p.ln();
                }
            }
        }
        log
    }

    fn responsibility(&self, word: (usize, usize, u32, f64), z: usize) -> f64 {
        let all: f64 = (0..self.theta[0].len()).map(|z| self.p(word, z)).sum();
        self.p(word, z) / all
    }

    fn iterate(&mut self) {
        let dim = self.theta[0].len();
        let mut theta = vec![vec![self.alpha; dim]; self.theta.len()];
        for &word in &self.words {
            for (z, t) in theta[word.0].iter_mut().enumerate() {
                *t += word.3 * self.responsibility(word, z);
            }
        }
        for t in &mut theta {
            let sum: f64 = t.iter().sum();
            t.iter_mut().for_each(|t| *t /= sum);
        }
        self.theta = theta;
        let mut phi = [0, 1].map(|side| {
            let row: Vec<f64> =
                self.has[side].iter().map(|&has| if has { self.beta } else { 0.0 }).collect();
            vec![row; dim]
        });
        for &word in &self.words {
            for (z, phi) in phi[word.1].iter_mut().enumerate() {
                let count = self.weights[word.0] * word.3 * self.responsibility(word, z);
                phi[word.2 as usize] += count;
            }
        }
        for row in phi.iter_mut().flatten() {
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|p| *p /= sum);
            }
        }
        self.phi = phi;
    }
}

proptest! {
    #[test]
    fn em_is_the_brute_force_and_the_log_posterior_never_falls(
        (queries, docs, weights) in toy(),
        dim in 1usize..4,
        alpha in prop_oneof![Just(0.1), Just(1.0)],
        beta in prop_oneof![Just(0.01), Just(0.5)],
    ) {
        prop_assume!(weights.nnz() > 0);
        let params = Bltm { dim, alpha, beta, ..Bltm::default() };
        let sides = sides(&queries, &docs, &weights, dim);
        let of = |side: &em::Side, z: usize| -> Vec<f64> {
            (0..N).map(|w| match side.rows[w] {
                NONE => 0.0,
                row => side.phi[row as usize * dim + z],
            }).collect()
        };
        let mut words = Vec::new();
        let mut pair = 0;
        for (i, row) in weights.rows().enumerate() {
            for &j in row.indices {
                let (query, doc) = (queries.row(i), docs.row(j as usize));
                words.extend(query.iter().map(|(w, f)| (pair, 0, w, f64::from(f))));
                words.extend(doc.iter().map(|(w, f)| (pair, 1, w, f64::from(f))));
                pair += 1;
            }
        }
        let mut brute = BruteForce {
            words,
            weights: weights.values().iter().map(|&v| f64::from(v)).collect(),
            theta: vec![vec![1.0 / dim as f64; dim]; pair],
            phi: [0, 1].map(|s: usize| (0..dim).map(|z| of(&sides[s], z)).collect()),
            has: [0, 1].map(|s: usize| sides[s].rows.iter().map(|&row| row != NONE).collect()),
            alpha,
            beta,
        };
        let total: f64 = brute.words.iter().map(|w| brute.weights[w.0] * w.3).sum();
        prop_assume!(total > 0.0);
        let data = em::Pairs::new(&queries, &docs, weights.clone());
        let mut trainer = em::Trainer::new(&params, data, sides, u64::MAX).unwrap();
        let mut before = f64::NEG_INFINITY;
        for _ in 0..6 {
            let posterior = trainer.iterate(&Run::silent()).unwrap();
            prop_assert!(posterior >= before - 1e-9 * before.abs(), "{before} {posterior}");
            let expected = brute.posterior() / total;
            prop_assert!((posterior - expected).abs() < 1e-8 * (1.0 + expected.abs()));
            brute.iterate();
            before = posterior;
        }
        for (p, theta) in trainer.theta.chunks(dim).enumerate() {
            for (found, expected) in theta.iter().zip(&brute.theta[p]) {
                prop_assert!((found - expected).abs() < 1e-8);
            }
        }
        let found = trainer.into_topics();
        for s in 0..2 {
            for z in 0..dim {
                for (found, expected) in of(&found[s], z).iter().zip(&brute.phi[s][z]) {
                    prop_assert!((found - expected).abs() < 1e-8, "{found} {expected}");
                }
            }
        }
    }
}

fn small(path: &Path) -> Dataset {
    let documents = [
        ("a", serde_json::json!({ "title": "automobile insurance policy" })),
        ("b", serde_json::json!({ "title": "automobile engine repair" })),
        ("c", serde_json::json!({ "title": "hypertension treatment" })),
        ("d", serde_json::json!({ "title": "" })),
    ];
    let queries = ["car insurance", "fix my car", "blood pressure"];
    let clicks = [(0, 0, 5.0), (1, 1, 3.0), (2, 2, 2.0), (0, 1, 1.0)];
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }.open(path)
}

#[test]
fn scores_are_the_mixture_and_more_topics_than_documents_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = small(&dir.path().join("d"));
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    let text = &counts.docs;
    for dim in [1, 2, 9] {
        let params = Bltm { dim, ..Bltm::default() };
        let (matcher, report) = Params::Bltm(params).fit(&counts, None, &Run::silent()).unwrap();
        let FitReport::Steps(report) = report else { unreachable!() };
        assert!(report.steps.is_sorted_by(|a, b| a[0] <= b[0] + 1e-9), "{:?}", report.steps);
        let scores = matcher.scores(&counts, &counts.read_query("car pressure"), None);
        assert!(scores.iter().all(|score| score.is_finite()), "{scores:?}");
    }
    let params = Bltm { dim: 2, ..Bltm::default() };
    let mut side = em::Side::of(text.rows(), counts.n_terms(), 2);
    side.phi.iter_mut().enumerate().for_each(|(at, p)| *p = 1.0 + (at % 3) as f64);
    side.normalise();
    let theta = vec![0.25, 0.75, 1.0, 0.0, 0.5, 0.5, 0.5, 0.5];
    let topics =
        Topics::new(&counts, &params, side.to_f32(), side.to_f32(), theta.clone()).unwrap();
    let query = counts.read_query("insurance automobile automobile");
    for (doc, score) in topics.scores(&counts, &query, None).into_iter().enumerate() {
        let mut expected = 0.0;
        for (word, count) in query.row().iter() {
            let phi = topics.query.of(word).unwrap();
            let mixed = f64::from(phi[0] * theta[2 * doc] + phi[1] * theta[2 * doc + 1]);
            let length: f64 = text.row(doc).values.iter().map(|&f| f64::from(f)).sum();
            let own = f64::from(text.row(doc).get(word)) / length.max(1.0);
            let all = topics.collection[word as usize];
            let (m, c) = (params.document, params.collection);
            expected += f64::from(count) * ((1.0 - m - c) * mixed + m * own + c * all).ln();
        }
        assert!((f64::from(score) - expected).abs() < 1e-5, "{score} {expected}");
    }
}

#[test]
fn folding_in_climbs_to_the_best_theta() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = small(&dir.path().join("d"));
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    let params = Bltm { dim: 2, alpha: 0.5, fold_in: 500, ..Bltm::default() };
    let mut side = em::Side::of(counts.docs.rows(), counts.n_terms(), 2);
    side.phi.iter_mut().enumerate().for_each(|(at, p)| *p = 1.0 + (at % 5) as f64);
    side.normalise();
    let topics = Topics::new(&counts, &params, side.to_f32(), side.to_f32(), Vec::new()).unwrap();
    let theta = topics.fold_in_all(&counts.docs, 0, &Run::silent()).unwrap();
    for doc in 0..3 {
        let log = |first: f64| {
            let mut sum = 0.5 * (first.ln() + (1.0 - first).ln());
            for (word, f) in counts.docs.row(doc).iter() {
                let phi = topics.doc.of(word).unwrap();
                let p = first * f64::from(phi[0]) + (1.0 - first) * f64::from(phi[1]);
                sum += f64::from(f) * p.ln();
            }
            sum
        };
        let best = (1..10_000).map(|i| log(f64::from(i) / 1e4)).fold(f64::MIN, f64::max);
        assert!((log(f64::from(theta[2 * doc])) - best).abs() < 1e-6);
    }
    // A document without a word is even.
    assert_eq!(theta[6..], [0.5, 0.5]);
}

#[test]
fn topics_are_the_same_at_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    // More documents and queries than a block of bags has.
    let dataset = many(&dir.path().join("d"), 2500);
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent()).unwrap();
    let query = counts.query(7);
    same_at_any_thread_count(|| {
        let params = Params::Bltm(Bltm { dim: 3, iterations: 4, ..Bltm::default() });
        let (matcher, report) = params.fit(&counts, None, &Run::silent()).unwrap();
        (matcher.scores(&counts, &query, None), report)
    });
}

#[test]
fn weights_that_leave_less_than_nothing_are_refused() {
    for (key, value) in
        [("document", "0.95"), ("collection", "0"), ("alpha", "-1"), ("beta", "nan"), ("dim", "0")]
    {
        let mut params = Params::named("bltm").unwrap();
        assert!(params.set(key, value).and_then(|()| params.check()).is_err(), "{key}={value}");
    }
}
