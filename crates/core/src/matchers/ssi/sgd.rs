//! The one loop: triples are drawn, looked at with the values before their batch, and those
//! within the margin move W. What a number gets is added in the order of the triples, so the
//! number of threads changes no bit.
//!
//! W = αI + what the form learns; α moves by λ·qᵀ(d⁺ − d⁻), where it is learnt.

use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::Ssi;
use super::data::{Data, Triple};
use super::draws::Draws;
use super::fitted::{Identity, Indexed, Learnt};
use crate::early_stopping::EarlyStopping;
use crate::matchers::dots::DocRows;
use crate::matchers::epochs::{FEWEST_A_THREAD, NOTHING_DRAWN, Progress, diverged, speed};
use crate::matchers::method::{Fitting, Matcher};
use crate::matchers::{Maps, StepsReport};
use crate::{Result, Run};

/// About how many triples are drawn at once.
const DRAWN: usize = 1 << 12;

/// A form of W while it is learnt, less the identity.
pub(super) trait WeightForm: Sync {
    /// Moves W by rate·q(d⁺ − d⁻)ᵀ, or what is learnt in its place, for the triples `moved` of
    /// the batch before, then writes qᵀW(d⁺ − d⁻) of the triples `now` to `scores`.
    fn turn(
        &mut self,
        data: &Data,
        moved: &[Moved],
        now: &[Triple],
        rate: f32,
        scores: &mut [f32],
    ) -> Result<()>;

    /// W by words.
    fn learnt(&self, data: &Data) -> Result<Learnt<Maps>>;

    /// The numbers that are read to look at a triple.
    fn touched(&self, data: &Data, triple: Triple) -> u64;

    /// What else an epoch has to say.
    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// A triple of a batch that moves W, and its place in the batch.
pub(super) struct Moved {
    pub slot: usize,
    pub triple: Triple,
}

/// Writes what `look` says of the triples `now` to `scores`, in parallel.
pub(super) fn look_all(now: &[Triple], scores: &mut [f32], look: impl Fn(Triple) -> f32 + Sync) {
    let scores = scores.par_iter_mut().with_min_len(FEWEST_A_THREAD);
    scores.zip(now).for_each(|(score, &triple)| *score = look(triple));
}

/// What an epoch saw.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub triples: u64,
    pub violating: u64,
    pub loss: f64,
    /// Triples whose negative came from a page of results.
    pub shown: u64,
    /// Bytes of W read and written.
    pub bytes: u64,
}

/// Learns W and keeps the best epoch by validation, or the last.
pub(super) fn fit<S: WeightForm>(
    params: &Ssi,
    mut shape: S,
    data: &Data,
    draws: &Draws<'_>,
    fitting: &Fitting<'_>,
) -> Result<(Box<dyn Matcher>, StepsReport)> {
    let &Fitting { counts, scorer, run, .. } = fitting;
    let steps = params.triples(draws.n_pairs());
    let rows = Arc::new(DocRows::over(data.documents()));
    let indexed = |shape: &S, identity: Identity, epoch: usize| {
        let learnt = shape.learnt(data)?;
        if !learnt.is_finite() || !identity.weight.is_finite() {
            return Err(diverged("W", epoch, params.rate));
        }
        Indexed::over(counts, Arc::clone(&rows), identity, learnt)
    };
    let judged = |matcher: &Indexed| {
        scorer.map(|scorer| {
            scorer(&|query, docs| matcher.scores(counts, &counts.query(query as usize), docs))
        })
    };
    let mut identity = params.identity_at_start();
    // Epoch 0 is the start. Without validation the last epoch is the best one.
    let mut stopping = EarlyStopping::new(params.patience);
    let start = indexed(&shape, identity, 0)?;
    let start_value = judged(&start);
    stopping.save(0, start_value.unwrap_or(f64::NEG_INFINITY), start);
    let mut report = StepsReport {
        step: "epoch".into(),
        figures: ["violating %", "loss", "GB moved"].map(str::to_owned).to_vec(),
        notes: vec![format!(
            "{steps} triples an epoch from {} clicked pairs, {} at a time",
            draws.n_pairs(),
            params.batch
        )],
        ..StepsReport::default()
    };
    if params.frequent > data.n_words() {
        let words = data.n_words();
        report.notes.push(format!("frequent = {}: all {words} words there are", params.frequent));
    }
    report.notes.extend(draws.note());
    report.figures.extend(shape.figures().into_iter().map(|(name, _)| name.to_owned()));
    if identity.learnt {
        report.figures.push("identity".into());
    }
    if let Some(value) = start_value {
        report.figures.push("validation".into());
        report.notes.push(format!("validation before the first epoch {value:.4}"));
    }
    let mut all = Seen::default();
    let mut speeds = Vec::new();
    for epoch in 1..=params.epochs {
        let start = Instant::now();
        let seen = one_epoch(params, &mut shape, &mut identity, data, draws, (epoch, steps), run)?;
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
        // Only what can be judged or is the last needs to be put together.
        if scorer.is_some() || epoch == params.epochs {
            let matcher = indexed(&shape, identity, epoch)?;
            let value = judged(&matcher);
            figures.extend(value);
            stop = stopping.observe(epoch, value.unwrap_or(f64::INFINITY), || matcher);
        }
        report.steps.push(figures);
        if stop {
            break;
        }
    }
    report.times.extend(speed(&speeds, "triplets"));
    report.notes.extend(draws.sources(all.triples, all.shown));
    let (best_epoch, _, best) = stopping.into_best().expect("the start was saved");
    if best_epoch < report.steps.len() {
        report.kept = best_epoch.checked_sub(1);
    }
    if all.triples == 0 && params.epochs > 0 {
        report.warnings.push(NOTHING_DRAWN.into());
    } else if best_epoch == 0 && params.epochs > 0 {
        report.warnings.push(
            "no epoch is better on validation than the start: nothing learnt is kept; another `rate` or `negative` may help".into(),
        );
    }
    Ok((Box::new(best), report))
}

/// One epoch, counted from one, of so many triples.
pub(super) fn one_epoch<S: WeightForm>(
    params: &Ssi,
    shape: &mut S,
    identity: &mut Identity,
    data: &Data,
    draws: &Draws<'_>,
    (epoch, steps): (usize, usize),
    run: &Run<'_>,
) -> Result<Seen> {
    let before = (epoch as u64 - 1) * steps as u64;
    let rate = params.rate as f32;
    let at_once = params.batch * (DRAWN / params.batch).max(1);
    let (mut now, mut cosines, mut moved) = (Vec::new(), Vec::new(), Vec::<Moved>::new());
    let mut scores: Vec<f32> = Vec::new();
    let mut seen = Seen::default();
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
            numbers.into_par_iter().with_min_len(FEWEST_A_THREAD).map(draw).collect();
        for (batch, drawn) in drawn.chunks(params.batch).enumerate() {
            progress.at(first + batch * params.batch)?;
            now.clear();
            now.extend(drawn.iter().flatten().map(|(drawn, _)| drawn.triple));
            scores.resize(now.len(), 0.0);
            shape.turn(data, &moved, &now, rate, &mut scores)?;
            // The identity moves with the rest: after its last batch, before it is looked at.
            for moved in &moved {
                identity.step(rate, cosines[moved.slot]);
            }
            cosines.clear();
            cosines.extend(drawn.iter().flatten().map(|(_, cosine)| *cosine));
            moved.clear();
            for (slot, ((drawn, cosine), score)) in drawn.iter().flatten().zip(&scores).enumerate()
            {
                let score = score + identity.weight * cosine;
                // `max` would make a number of what is none.
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
    shape.turn(data, &moved, &[], rate, &mut [])?;
    moved.iter().for_each(|moved| identity.step(rate, cosines[moved.slot]));
    Ok(seen)
}
