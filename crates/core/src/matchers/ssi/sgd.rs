//! The training loop of all forms: triples are drawn and scored with the values before their batch,
//! and those within the margin move W. Moves of a number are added in the order of the triples, so
//! the number of threads does not change a bit.
//!
//! W = αI + what the form learns; α moves by λ·qᵀ(d⁺ − d⁻), where it is learnt.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::data::{Data, Triple};
use super::draws::Draws;
use super::fitted::{Identity, Indexed, Learnt};
use super::params::Ssi;
use crate::early_stopping::EarlyStopping;
use crate::matchers::dots::DocRows;
use crate::matchers::epochs::{MIN_PER_THREAD, NOTHING_DRAWN, Progress, diverged, speed};
use crate::matchers::method::{Fitting, Matcher};
use crate::matchers::{Maps, StepsReport};
use crate::{Result, Run};

/// The column of the loss in the report of an epoch.
pub(super) const LOSS: usize = 1;
/// About how many triples are drawn together.
const DRAWN: usize = 1 << 12;

/// A batch of triples to score, with the moves of the batch before.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub data: &'a Data,
    /// The triples of the batch before that move W.
    pub moved: &'a [Moved],
    pub now: &'a [Triple],
    pub rate: f32,
}

/// A form of W in training, without the identity.
pub(super) trait WeightForm: Sync {
    /// Moves W by rate·q(d⁺ − d⁻)ᵀ, or what the form learns instead, for the triples `moved`, then
    /// writes qᵀW(d⁺ − d⁻) of the triples `now` to `scores`.
    fn step(&mut self, batch: &Batch<'_>, scores: &mut [f32]) -> Result<()>;

    /// W by words.
    fn learnt(&self, data: &Data) -> Result<Learnt<Maps>>;

    /// The numbers of W that scoring a triple reads.
    fn touched(&self, data: &Data, triple: Triple) -> u64;

    /// Further figures of an epoch for the report.
    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// A triple of a batch that moves W, and its place in the batch.
pub(super) struct Moved {
    pub slot: usize,
    pub triple: Triple,
}

/// Writes the score of each of the triples `now` to `scores`, in parallel.
pub(super) fn score_all(now: &[Triple], scores: &mut [f32], of: impl Fn(Triple) -> f32 + Sync) {
    let scores = scores.par_iter_mut().with_min_len(MIN_PER_THREAD);
    scores.zip(now).for_each(|(score, &triple)| *score = of(triple));
}

/// Sums over the triples of an epoch.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct EpochSums {
    pub triples: u64,
    pub violating: u64,
    pub loss: f64,
    /// Triples whose negative came from impressions.
    pub shown: u64,
    /// Bytes of W read and written.
    pub bytes: u64,
}

/// Learns W of the form `shape` and returns the best epoch by validation, or the last.
pub(super) fn fit(
    params: &Ssi,
    shape: &mut dyn WeightForm,
    data: &Data,
    draws: &Draws<'_>,
    fitting: &Fitting<'_>,
) -> Result<(Box<dyn Matcher>, StepsReport)> {
    let &Fitting { counts, scorer, run, .. } = fitting;
    let steps = params.triples(draws.n_pairs());
    let rows = Arc::new(DocRows::over(data.documents()));
    let indexed = |shape: &dyn WeightForm, identity: Identity, epoch: usize| {
        let learnt = shape.learnt(data)?;
        if !learnt.is_finite() || !identity.weight.is_finite() {
            return Err(diverged("W", epoch, params.rate));
        }
        Indexed::over(counts, Arc::clone(&rows), identity, learnt)
    };
    let validation_score = |matcher: &Indexed| {
        scorer.map(|scorer| {
            scorer(&|query, docs| matcher.scores(counts, &counts.query(query as usize), docs))
        })
    };
    let mut identity = params.identity_at_start();
    // Epoch 0 is the start. Without validation the last epoch is the best one.
    let mut stopping = EarlyStopping::new(params.patience);
    let start = indexed(shape, identity, 0)?;
    let start_value = validation_score(&start);
    stopping.save(0, start_value.unwrap_or(f64::NEG_INFINITY), start);
    let mut report = StepsReport {
        step: "epoch".into(),
        figures: ["violating %", "loss", "GB moved"].map(str::to_owned).to_vec(),
        notes: vec![format!(
            "{steps} triples per epoch from {} clicked pairs, {} per batch",
            draws.n_pairs(),
            params.batch
        )],
        ..StepsReport::default()
    };
    if params.frequent > data.n_words() {
        let words = data.n_words();
        report
            .notes
            .push(format!("frequent = {}: all {words} words of the vocabulary", params.frequent));
    }
    report.notes.extend(draws.note());
    report.figures.extend(shape.figures().into_iter().map(|(name, _)| name.to_owned()));
    if identity.learnt {
        report.figures.push("identity".into());
    }
    if let Some(value) = start_value {
        report.figures.push("validation".into());
        report.notes.push(format!("validation before the first epoch: {value:.4}"));
    }
    let mut all = EpochSums::default();
    let mut speeds = Vec::new();
    for epoch in 1..=params.epochs {
        let start = Instant::now();
        let seen = one_epoch(params, shape, &mut identity, data, draws, (epoch, steps), run)?;
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        speeds.push(seen.triples as f64 / seconds);
        all.triples += seen.triples;
        all.shown += seen.shown;
        let of = |sum: f64| sum / seen.triples.max(1) as f64;
        let mut figures =
            vec![of(100.0 * seen.violating as f64), of(seen.loss), seen.bytes as f64 / 1e9];
        figures.extend(shape.figures().into_iter().map(|(_, value)| value));
        figures.extend(identity.learnt.then_some(f64::from(identity.weight)));
        let mut stop = false;
        // A matcher is needed only for validation and after the last epoch.
        if scorer.is_some() || epoch == params.epochs {
            let matcher = indexed(shape, identity, epoch)?;
            let value = validation_score(&matcher);
            figures.extend(value);
            stop = stopping.observe(epoch, value.unwrap_or(f64::INFINITY), || matcher);
        }
        report.steps.push(figures);
        if stop {
            break;
        }
    }
    report.times.extend(speed(&speeds, "triples"));
    report.notes.extend(draws.sources(all.triples, all.shown));
    let (best_epoch, _, best) = stopping.into_best().expect("the start was saved");
    if best_epoch < report.steps.len() {
        report.kept = best_epoch.checked_sub(1);
    }
    if all.triples == 0 && params.epochs > 0 {
        report.warnings.push(NOTHING_DRAWN.into());
    } else if best_epoch == 0 && params.epochs > 0 {
        report.warnings.push(
            "no epoch is better on validation than the start, which is the result; another `rate` or `negative` may help".into(),
        );
    }
    Ok((Box::new(best), report))
}

/// Runs `epoch`, counted from one, of `steps` triples.
pub(super) fn one_epoch(
    params: &Ssi,
    shape: &mut dyn WeightForm,
    identity: &mut Identity,
    data: &Data,
    draws: &Draws<'_>,
    (epoch, steps): (usize, usize),
    run: &Run<'_>,
) -> Result<EpochSums> {
    let before = (epoch as u64 - 1) * steps as u64;
    let rate = params.rate as f32;
    let at_once = params.batch * (DRAWN / params.batch).max(1);
    let (mut now, mut cosines, mut moved) = (Vec::new(), Vec::new(), Vec::<Moved>::new());
    let mut scores: Vec<f32> = Vec::new();
    let mut seen = EpochSums::default();
    let mut progress = Progress::start(epoch, steps, run)?;
    for first in (0..steps).step_by(at_once) {
        let numbers = first..(first + at_once).min(steps);
        let draw = |number: usize| {
            let drawn = draws.draw(before + number as u64)?;
            let cosine = if identity.weight == 0.0 && !identity.learnt {
                0.0
            } else {
                data.cosines(drawn.triple)
            };
            Some((drawn, cosine))
        };
        let drawn: Vec<_> =
            numbers.into_par_iter().with_min_len(MIN_PER_THREAD).map(draw).collect();
        for (batch, drawn) in drawn.chunks(params.batch).enumerate() {
            progress.at(first + batch * params.batch)?;
            now.clear();
            now.extend(drawn.iter().flatten().map(|(drawn, _)| drawn.triple));
            scores.resize(now.len(), 0.0);
            shape.step(&Batch { data, moved: &moved, now: &now, rate }, &mut scores)?;
            // The identity moves with the rest: after its last batch, before this one's scores use it.
            for moved in &moved {
                identity.step(rate, cosines[moved.slot]);
            }
            cosines.clear();
            cosines.extend(drawn.iter().flatten().map(|(_, cosine)| *cosine));
            moved.clear();
            for (slot, ((drawn, cosine), score)) in drawn.iter().flatten().zip(&scores).enumerate()
            {
                let score = score + identity.weight * cosine;
                // `max` would turn NaN into a number.
                let loss = if score >= 1.0 { 0.0 } else { 1.0 - score };
                if !loss.is_finite() {
                    return Err(diverged("the score of a triple", epoch, params.rate));
                }
                let violates = loss > 0.0;
                seen.triples += 1;
                seen.violating += u64::from(violates);
                seen.loss += f64::from(loss);
                seen.shown += u64::from(drawn.shown);
                seen.bytes += 4 * shape.touched(data, drawn.triple) * (1 + 2 * u64::from(violates));
                if violates {
                    moved.push(Moved { slot, triple: drawn.triple });
                }
            }
        }
    }
    shape.step(&Batch { data, moved: &moved, now: &[], rate }, &mut [])?;
    moved.iter().for_each(|moved| identity.step(rate, cosines[moved.slot]));
    Ok(seen)
}
