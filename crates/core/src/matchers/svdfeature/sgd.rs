//! The training loop: the samples of a batch are scored in parallel with the values before it; then
//! the rows that they touch are moved, in parallel over the rows. Moves of a row are added in the
//! order of the samples, so the number of threads does not change a bit.

use std::time::Instant;

use rayon::prelude::*;

use super::fitted::{Biases, Factors, bias_of, doc_biases, score};
use super::samples::{Sample, Samples};
use super::{Loss, SvdFeature};
use crate::early_stopping::EarlyStopping;
use crate::linalg::{Dense, dot};
use crate::matchers::bilinear::embedding_of;
use crate::matchers::epochs::{MIN_PER_THREAD, NOTHING_DRAWN, Progress, diverged, speed};
use crate::matchers::method::{Fitting, Matcher};
use crate::matchers::validation::scores_of;
use crate::matchers::{Maps, StepsReport, ValidationScorer};
use crate::sparse::Row;
use crate::{Result, Run, counted};

/// Parts of a map that are updated in parallel. Rows are independent, so the number does not change
/// a bit.
const PARTS: usize = 16;
/// Fewest batches of an epoch: a small log has smaller batches, or it would hardly move the maps.
const FEWEST_BATCHES: usize = 32;
/// Turns the seed of one map into that of the other.
const Y_SALT: u64 = 0x5eed_0000_0000_0002;

/// The maps in training. The bias of a feature is stored after the last dimension of its row, so
/// that one step moves both.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Learner {
    pub p: Dense,
    pub q: Dense,
    pub base: f32,
    pub global: f32,
}

/// One sample of a batch.
#[derive(Default)]
pub(super) struct Slot {
    sample: Option<Sample>,
    doc: (Vec<u32>, Vec<f32>),
    /// The global feature.
    global: f32,
    /// The embeddings, with what moves a bias of the other side after the last dimension.
    query_embedding: Vec<f32>,
    doc_embedding: Vec<f32>,
    /// The loss and its derivative by the score.
    pub loss: f32,
    pub slope: f32,
}

impl Learner {
    /// Small random maps of the features that samples have, no biases.
    pub fn new(params: &SvdFeature, samples: &Samples<'_>) -> Self {
        let dim = params.dim;
        let scale = (params.init_scale / (dim as f64).sqrt()) as f32;
        // Rows that no sample touches would stay random: they are 0 instead.
        let map = |learnt: Vec<bool>, seed: u64| {
            let drawn = Dense::gaussian(learnt.len(), dim, seed);
            Dense::from_fn(learnt.len(), dim + 1, |i, k| match drawn.row(i).get(k) {
                Some(z) if learnt[i] => scale * z,
                _ => 0.0,
            })
        };
        let (of_queries, of_docs) = samples.touched();
        Learner {
            p: map(of_queries, params.seed),
            q: map(of_docs, params.seed ^ Y_SALT),
            base: if params.biases { samples.base() } else { 0.0 },
            global: 0.0,
        }
    }

    /// Computes the loss of a sample, its derivative and what moves.
    pub fn evaluate(
        &self,
        params: &SvdFeature,
        samples: &Samples<'_>,
        sample: Sample,
        slot: &mut Slot,
    ) {
        let dim = params.dim;
        slot.sample = Some(sample);
        slot.global = samples.doc(sample, &mut slot.doc);
        embedding(&self.p, samples.query(sample), &mut slot.query_embedding);
        let doc = Row { indices: &slot.doc.0, values: &slot.doc.1 };
        embedding(&self.q, doc, &mut slot.doc_embedding);
        let mut score = dot(&slot.query_embedding[..dim], &slot.doc_embedding[..dim])
            + (slot.doc_embedding[dim] + self.global * slot.global);
        if params.loss != Loss::Pairwise {
            score += self.base + slot.query_embedding[dim];
        }
        (slot.loss, slot.slope) = loss(params.loss, score, sample);
        let has = |has: bool| f32::from(params.biases && has);
        slot.query_embedding[dim] = has(true);
        slot.doc_embedding[dim] = has(params.loss != Loss::Pairwise);
    }

    /// Moves the rows that the samples of a batch touch.
    pub fn step(&mut self, params: &SvdFeature, samples: &Samples<'_>, slots: &[Slot], rate: f32) {
        let shrink = rate * params.lambda as f32;
        let seen = || slots.iter().filter_map(|slot| Some((slot, slot.sample?)));
        let queries = || {
            seen().map(|(slot, sample)| Update {
                row: samples.query(sample),
                factor: -rate * slot.slope,
                embedding: &slot.doc_embedding,
            })
        };
        let docs = || {
            seen().map(|(slot, _)| Update {
                row: Row { indices: &slot.doc.0, values: &slot.doc.1 },
                factor: -rate * slot.slope,
                embedding: &slot.query_embedding,
            })
        };
        move_rows(&mut self.p, queries, shrink);
        move_rows(&mut self.q, docs, shrink);
        let before = self.global;
        for (slot, _) in seen().filter(|(slot, _)| slot.global != 0.0) {
            self.global -= rate * slot.slope * slot.global + shrink * before;
        }
    }

    /// The maps and the biases apart.
    pub fn learnt(&self) -> (Maps, Biases) {
        let dim = self.p.n_cols() - 1;
        let bias = |map: &Dense| (0..map.n_rows()).map(|i| map.row(i)[dim]).collect();
        let maps =
            Maps { l_x: self.p.first_columns(dim).into(), l_y: self.q.first_columns(dim).into() };
        let shared = [self.base, self.global];
        (maps, Biases { shared, x: bias(&self.p), y: bias(&self.q) })
    }

    fn is_finite(&self) -> bool {
        let mut values = self.p.values().iter().chain(self.q.values());
        values.all(|value| value.is_finite()) && self.global.is_finite()
    }
}

/// The loss of a score and its derivative.
fn loss(loss: Loss, score: f32, sample: Sample) -> (f32, f32) {
    // ln(1 + exp(z)), without overflow.
    let softplus = |z: f32| z.max(0.0) + (-z.abs()).exp().ln_1p();
    let sigmoid = |z: f32| 1.0 / (1.0 + (-z).exp());
    let Sample { target, weight, .. } = sample;
    match loss {
        Loss::Squared => {
            let away = score - target;
            (0.5 * away * away, away)
        }
        Loss::Logistic => {
            (weight * (softplus(score) - target * score), weight * (sigmoid(score) - target))
        }
        Loss::Pairwise => (weight * softplus(-score), -weight * sigmoid(-score)),
    }
}

/// The embedding of a row of features, the sum of their biases after it.
fn embedding(map: &Dense, row: Row<'_>, embedding: &mut Vec<f32>) {
    embedding.clear();
    embedding.resize(map.n_cols(), 0.0);
    let (fours, rest) = row.indices.as_chunks::<4>();
    let (values, rest_values) = row.values.as_chunks::<4>();
    // Four rows at a time, so that the sums are loaded and stored a quarter as often; each sum
    // still grows in order.
    for (at, &[p, q, r, s]) in fours.iter().zip(values) {
        let [a, b, c, d] = at.map(|i| map.row(i as usize));
        for (sum, (((a, b), c), d)) in embedding.iter_mut().zip(a.iter().zip(b).zip(c).zip(d)) {
            *sum = (((*sum + p * a) + q * b) + r * c) + s * d;
        }
    }
    for (&i, &value) in rest.iter().zip(rest_values) {
        embedding
            .iter_mut()
            .zip(map.row(i as usize))
            .for_each(|(sum, entry)| *sum += value * entry);
    }
}

/// A rank-one update of a map: adds factor·value_i·embedding to row i for every entry of `row`.
struct Update<'a> {
    row: Row<'a>,
    factor: f32,
    embedding: &'a [f32],
}

/// Shrinks every touched row by `shrink` per touch, then adds all updates.
fn move_rows<'a, I>(map: &mut Dense, moves: impl Fn() -> I + Sync, shrink: f32)
where
    I: Iterator<Item = Update<'a>>,
{
    let (n_rows, width) = (map.n_rows(), map.n_cols());
    let rows = n_rows.div_ceil(PARTS).max(1);
    map.values_mut().par_chunks_mut(rows * width).enumerate().for_each(|(part, values)| {
        let first = part * rows;
        let span = first as u32..(first + values.len() / width) as u32;
        let place = |i: u32| (i as usize - first) * width;
        if shrink > 0.0 {
            let mut touched: Vec<u32> = Vec::new();
            for moved in moves() {
                touched.extend_from_slice(moved.row.within(span.clone()).indices);
            }
            touched.sort_unstable();
            for same in touched.chunk_by(|a, b| a == b) {
                let keep = 1.0 - shrink * same.len() as f32;
                let start = place(same[0]);
                values[start..start + width].iter_mut().for_each(|entry| *entry *= keep);
            }
        }
        for moved in moves() {
            for (i, value) in moved.row.within(span.clone()).iter() {
                let (start, factor) = (place(i), moved.factor * value);
                let entries = &mut values[start..start + width];
                entries
                    .iter_mut()
                    .zip(moved.embedding)
                    .for_each(|(entry, by)| *entry += factor * by);
            }
        }
    });
}

/// Samples of a batch.
fn batch_of(params: &SvdFeature, samples: &Samples<'_>) -> usize {
    params.batch.min((samples.len() / FEWEST_BATCHES).max(1))
}

/// Runs an epoch, counted from 0; returns its mean loss.
pub(super) fn one_epoch(
    params: &SvdFeature,
    learner: &mut Learner,
    samples: &Samples<'_>,
    epoch: usize,
    run: &Run<'_>,
) -> Result<f64> {
    let n = samples.len();
    let rate = (params.rate * params.decay.powi(epoch as i32)) as f32;
    let order = samples.order(epoch);
    let batch = batch_of(params, samples);
    let mut slots: Vec<Slot> = Vec::new();
    slots.resize_with(batch, Slot::default);
    let (mut sum, mut seen) = (0.0f64, 0u64);
    let mut progress = Progress::start(epoch + 1, n, run)?;
    for first in (0..n).step_by(batch) {
        progress.at(first)?;
        let slots = &mut slots[..batch.min(n - first)];
        let now = &*learner;
        slots.par_iter_mut().with_min_len(MIN_PER_THREAD).enumerate().for_each(|(k, slot)| {
            match samples.draw(epoch, &order, first + k) {
                Some(sample) => now.evaluate(params, samples, sample, slot),
                None => slot.sample = None,
            }
        });
        for slot in slots.iter().filter(|slot| slot.sample.is_some()) {
            if !slot.loss.is_finite() {
                return Err(diverged("the loss of a sample", epoch + 1, params.rate));
            }
            sum += f64::from(slot.loss);
            seen += 1;
        }
        learner.step(params, samples, slots, rate);
    }
    if !learner.is_finite() {
        return Err(diverged("a map", epoch + 1, params.rate));
    }
    Ok(sum / seen.max(1) as f64)
}

/// Learns and returns the best epoch by validation, or the last.
pub(super) fn fit(
    params: &SvdFeature,
    samples: &Samples<'_>,
    fitting: &Fitting<'_>,
) -> Result<(Box<dyn Matcher>, StepsReport)> {
    let &Fitting { counts, scorer, run, .. } = fitting;
    let mut learner = Learner::new(params, samples);
    let mut report = StepsReport {
        step: "epoch".into(),
        figures: vec!["loss".into()],
        notes: vec![format!(
            "{} per epoch from {}, {} per batch",
            counted(samples.len(), "sample"),
            counted(samples.n_pairs(), "pair"),
            batch_of(params, samples)
        )],
        ..StepsReport::default()
    };
    if scorer.is_some() {
        report.figures.push("validation".into());
    }
    if !samples.any() {
        report.warnings.push(NOTHING_DRAWN.into());
    }
    let mut speeds = Vec::new();
    let mut stopping = EarlyStopping::new(params.patience);
    for epoch in 0..params.epochs {
        let start = Instant::now();
        let loss = one_epoch(params, &mut learner, samples, epoch, run)?;
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        speeds.push(samples.len() as f64 / seconds);
        let mut figures = vec![loss];
        let Some(scorer) = scorer else {
            report.steps.push(figures);
            continue;
        };
        let (maps, biases) = learner.learnt();
        let value = validation_score(scorer, samples, &maps, &biases);
        figures.push(value);
        report.steps.push(figures);
        if stopping.observe(epoch, value, || (maps, biases)) {
            break;
        }
    }
    report.times.extend(speed(&speeds, "samples"));
    if let [first, .., last] = &report.steps[..]
        && last[0] > first[0]
    {
        report.warnings.push(format!(
            "the loss grew from {:.4} to {:.4}: lower `rate`, or raise `lambda`",
            first[0], last[0]
        ));
    }
    let (maps, biases) = match stopping.into_best() {
        Some((epoch, _, learnt)) => {
            report.kept = (epoch + 1 < report.steps.len()).then_some(epoch);
            learnt
        }
        None => learner.learnt(),
    };
    let fitted = Factors::new(counts, &params.features, maps, biases)?;
    Ok((Box::new(fitted), report))
}

/// The validation score that the fitted matcher would have.
fn validation_score(
    scorer: &ValidationScorer<'_>,
    samples: &Samples<'_>,
    maps: &Maps,
    biases: &Biases,
) -> f64 {
    let (embeddings, n_docs) = (maps.l_y.embeddings(&samples.y), samples.y.n_rows());
    let docs = doc_biases(&samples.y, biases, &samples.popularity);
    scorer(&|query, candidates| {
        let row = samples.x.row(query as usize);
        let embedding = embedding_of(row, &maps.l_x);
        let bias = biases.shared[0] + bias_of(row, &biases.x);
        let of = |doc: usize| score(&embedding, bias, embeddings.row(doc), docs[doc]);
        scores_of(candidates, n_docs, of)
    })
}
