//! What the tests share: a small log, the loop on it, and W by its definition.

// Formulas by their indices.
#![allow(clippy::needless_range_loop)]

mod bins;
mod draws;
mod fits;
mod gradients;
mod identities;

use super::data::Triple;
use super::fitted::Identity;
use super::sgd::{Batch, Moved, WeightForm, one_epoch};
use super::*;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::Preparation;
use crate::matchers::{Map, Params, StepsReport};
use crate::oracle::{Naive, same_at_any_thread_count};
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
    params.fit_to(Fitting { counts, init: None, scorer: None, run: &Run::silent() })
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
        Bench { data: Data::new(x, y, bins).unwrap(), draws }
    }

    /// Takes `steps` triples as one epoch.
    fn run<S: WeightForm>(&self, params: &Ssi, shape: &mut S, steps: usize) -> Learnt<Maps> {
        self.run_from(params, shape, &mut params.identity_at_start(), steps);
        shape.learnt(&self.data).unwrap()
    }

    fn run_from<S: WeightForm>(
        &self,
        params: &Ssi,
        shape: &mut S,
        identity: &mut Identity,
        n: usize,
    ) {
        let run = Run::silent();
        one_epoch(params, shape, identity, &self.data, &self.draws, (1, n), &run).unwrap();
    }

    fn triple(&self, number: u64) -> Triple {
        self.draws.draw(number).unwrap().triple
    }

    /// What `shape` says of the first `n` triples.
    fn look<S: WeightForm>(&self, shape: &mut S, n: usize) -> Vec<f32> {
        let triples: Vec<Triple> = (0..n as u64).map(|number| self.triple(number)).collect();
        let mut scores = vec![f32::NAN; n];
        let batch = Batch { data: &self.data, moved: &[], now: &triples, rate: 1.0 };
        shape.step(&batch, &mut scores).unwrap();
        scores
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
fn numbers(learnt: &Learnt<Maps>) -> Vec<f64> {
    let map = |map: &Map| -> Vec<f64> {
        (0..map.n_rows()).flat_map(|i| map.row(i).into_owned()).map(f64::from).collect()
    };
    match learnt {
        Learnt::Latent(maps) => [map(&maps.l_x), map(&maps.l_y)].concat(),
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
            Form::Full if params.diagonal => numbers[s * n + t],
            Form::Full => (1.0 - same) * numbers[s * n + t],
            Form::Hash => numbers[hashes::Hashes::of(s as u32, params.weights).at(t as u32)],
        };
        learnt + if params.identity { params.identity_weight * same } else { 0.0 }
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

/// A map to begin with.
fn start(n: usize, dim: usize, seed: u64) -> Dense {
    let mut map = Dense::gaussian(n, dim, seed);
    map.values_mut().iter_mut().for_each(|value| *value *= 0.4);
    map
}

/// Runs `f` on the form of `params` at its start.
macro_rules! with_shape {
    ($params:expr, $n:expr, $shape:ident => $body:expr) => {{
        let (params, n): (&Ssi, usize) = ($params, $n);
        let map = |seed| start(n, params.dim, seed);
        match params.form {
            Form::LowRank => {
                let $shape = &mut Latent::new(0, &[&map(1), &map(2)]).unwrap();
                $body
            }
            Form::Symmetric => {
                let $shape = &mut Latent::new(0, &[&map(1)]).unwrap();
                $body
            }
            Form::Diagonal => {
                let $shape = &mut diagonal::Diagonal { weights: vec![0.0; n] };
                $body
            }
            Form::Full => {
                let $shape = &mut full::Full::new(n, 1 << 30, params.diagonal);
                $body
            }
            Form::Hash => {
                let $shape = &mut hashed::Hashed::new(params.weights);
                $body
            }
        }
    }};
}
use with_shape;

const FORMS: [Form; 5] = [Form::LowRank, Form::Symmetric, Form::Diagonal, Form::Full, Form::Hash];

/// The numbers that are moved: one map of `symmetric`, which is kept twice.
fn free(form: Form, mut numbers: Vec<f64>) -> Vec<f64> {
    if form == Form::Symmetric {
        numbers.truncate(numbers.len() / 2);
    }
    numbers
}

/// The updates of the head of `mod.rs`, entry by entry.
fn plain_step(params: &Ssi, to: &mut [f64], n: usize, q: &[f64], good: &[f64], bad: &[f64]) {
    let (rate, dim) = (params.rate, params.dim);
    let diff: Vec<f64> = good.iter().zip(bad).map(|(a, b)| a - b).collect();
    let before = to.to_vec();
    let embedding = |first: usize, row: &[f64], k: usize| -> f64 {
        (0..n).map(|s| row[s] * before[(first + s) * dim + k]).sum()
    };
    for s in 0..n {
        match params.form {
            Form::LowRank => {
                for k in 0..dim {
                    to[s * dim + k] += rate * q[s] * embedding(n, &diff, k);
                    to[(n + s) * dim + k] += rate * diff[s] * embedding(0, q, k);
                }
            }
            Form::Symmetric => {
                for k in 0..dim {
                    let by = q[s] * embedding(0, &diff, k) + diff[s] * embedding(0, q, k);
                    to[s * dim + k] += rate * by;
                }
            }
            Form::Diagonal => to[s] += rate * q[s] * diff[s],
            Form::Full => (0..n).for_each(|t| to[s * n + t] += rate * q[s] * diff[t]),
            Form::Hash => {
                for (t, diff) in diff.iter().enumerate() {
                    let hashes = hashes::Hashes::of(s as u32, params.weights);
                    to[hashes.at(t as u32)] += rate * q[s] * diff;
                }
            }
        }
    }
}
