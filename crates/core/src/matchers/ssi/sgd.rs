//! The one loop: triples are drawn, looked at with the values before their batch, and those
//! within the margin move W. Looking is parallel over the triples of a batch, moving over the
//! rows that are moved; what a row gets is added in the order of the triples, so the number of
//! threads changes no bit.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::Ssi;
use super::bins::Bins;
use super::draws::Draws;
use super::fitted::{Indexed, Learnt};
use crate::linalg::Dense;
use crate::matchers::method::{Fitting, Matcher};
use crate::matchers::{FitReport, StepsReport};
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

/// Fewest triples of an epoch, unless they are said.
const FEWEST: usize = 16;
/// Fewest triples that a thread takes at once.
const FEWEST_A_THREAD: usize = 4;
/// How often progress is said.
const OFTEN: Duration = Duration::from_millis(200);

/// A query, a document clicked for it, and one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Triple {
    pub query: u32,
    pub good: u32,
    pub bad: u32,
}

/// A form of W while it is learnt, less the identity.
pub(super) trait Shape: Sync {
    /// What a step needs to know of a triple that was looked at.
    type Look: Default + Send + Sync;

    /// qᵀW(d⁺ − d⁻).
    fn look(&self, data: &Data, triple: Triple, look: &mut Self::Look) -> f32;

    /// Moves W by rate·q(d⁺ − d⁻)ᵀ, or what is learnt in its place, for every violating triple.
    fn step(&mut self, data: &Data, slots: &[Slot<Self::Look>], rate: f32) -> Result<()>;

    /// W by words.
    fn learnt(&self, data: &Data) -> Result<Learnt>;

    /// The numbers that are read to look at a triple whose query has `query` features and whose
    /// documents have `docs`.
    fn touched(&self, query: usize, docs: usize) -> u64;
}

/// The vectors of queries and documents.
pub(super) struct Data {
    x: Csr,
    y: Csr,
    /// Queries, documents, and how words became their features, where words are not the features.
    binned: Option<(Csr, Csr, Bins)>,
    identity: bool,
}

impl Data {
    pub fn new(x: Csr, y: Csr, bins: Option<Bins>, identity: bool) -> Result<Self> {
        let binned = match bins {
            Some(bins) => Some((bins.apply(&x)?, bins.apply(&y)?, bins)),
            None => None,
        };
        Ok(Data { x, y, binned, identity })
    }

    /// The features that W is learnt over.
    pub fn n_features(&self) -> usize {
        self.binned.as_ref().map_or(self.x.n_cols(), |(.., bins)| bins.n_features())
    }

    pub fn n_words(&self) -> usize {
        self.x.n_cols()
    }

    /// The word of a feature.
    pub fn word(&self, feature: usize) -> u32 {
        self.binned.as_ref().map_or(feature as u32, |(.., bins)| bins.word(feature))
    }

    /// The image of every word.
    pub fn of_words(&self, map: &Dense) -> Dense {
        self.binned.as_ref().map_or_else(|| map.clone(), |(.., bins)| bins.of_words(map))
    }

    /// The features of a triple: of the query, of the good document, of the bad one.
    pub fn features(&self, triple: Triple) -> (Row<'_>, Row<'_>, Row<'_>) {
        let (x, y) = match &self.binned {
            Some((x, y, _)) => (x, y),
            None => (&self.x, &self.y),
        };
        (x.row(triple.query as usize), y.row(triple.good as usize), y.row(triple.bad as usize))
    }

    /// qᵀ(d⁺ − d⁻) if the identity is part of W.
    fn cosines(&self, triple: Triple) -> f32 {
        if !self.identity {
            return 0.0;
        }
        let (good, bad) = (self.y.row(triple.good as usize), self.y.row(triple.bad as usize));
        let query = self.x.row(triple.query as usize);
        query.iter().map(|(s, q)| q * (good.get(s) - bad.get(s))).sum()
    }
}

/// One triple of a batch.
#[derive(Default)]
pub(super) struct Slot<L> {
    triple: Option<Triple>,
    loss: f32,
    look: L,
}

/// The triples of a batch whose loss is not 0.
pub(super) fn violating<L>(slots: &[Slot<L>]) -> impl Iterator<Item = (Triple, &L)> {
    slots
        .iter()
        .filter(|slot| slot.loss > 0.0)
        .filter_map(|slot| slot.triple.map(|triple| (triple, &slot.look)))
}

/// What an epoch saw.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub triples: u64,
    pub violating: u64,
    pub loss: f64,
    /// Bytes of W read and written.
    pub bytes: u64,
}

/// Learns W and keeps the best epoch by validation, or the last.
pub(super) fn fit<S: Shape>(
    params: &Ssi,
    mut shape: S,
    data: &Data,
    draws: &Draws<'_>,
    fitting: Fitting<'_>,
) -> Result<(Box<dyn Matcher>, FitReport)> {
    let Fitting { counts, judge, run, .. } = fitting;
    let steps = if params.steps > 0 { params.steps } else { draws.n_pairs().max(FEWEST) };
    let indexed = |shape: &S, epoch: usize| {
        let learnt = shape.learnt(data)?;
        if !learnt.is_finite() {
            return Err(diverged("W", epoch, params.rate));
        }
        Indexed::new(counts, params.identity, learnt)
    };
    let judged = |matcher: &Indexed| {
        judge.map(|judge| {
            judge(&|query, docs| matcher.scores(counts, &counts.query(query as usize), docs))
        })
    };
    let mut best = indexed(&shape, 0)?;
    // The epoch that `best` is of: 0 is the start.
    let (mut best_epoch, mut best_value) = (0, judged(&best));
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
    if let Some(value) = best_value {
        report.figures.push("validation".into());
        report.notes.push(format!("validation before the first epoch {value:.4}"));
    }
    for epoch in 1..=params.epochs {
        let start = Instant::now();
        let seen = one_epoch(params, &mut shape, data, draws, epoch, steps, run)?;
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        report
            .times
            .push(format!("epoch {epoch}: {:.0} triplets a second", seen.triples as f64 / seconds));
        let of = |sum: f64| sum / seen.triples.max(1) as f64;
        let mut figures =
            vec![of(100.0 * seen.violating as f64), of(seen.loss), seen.bytes as f64 / 1e9];
        // Only what can be judged or is the last needs to be put together.
        if judge.is_some() || epoch == params.epochs {
            let matcher = indexed(&shape, epoch)?;
            let value = judged(&matcher);
            figures.extend(value);
            if value.is_none() || value > best_value {
                (best, best_epoch, best_value) = (matcher, epoch, value);
            }
        }
        report.steps.push(figures);
        if judge.is_some() && epoch - best_epoch >= params.patience {
            break;
        }
    }
    if best_epoch < report.steps.len() {
        report.kept = best_epoch.checked_sub(1);
    }
    if best_epoch == 0 && params.epochs > 0 {
        report.warnings.push(
            "no epoch is better on validation than the start: nothing learnt is kept; another `rate` or `negative` may help".into(),
        );
    }
    Ok((Box::new(best), FitReport::Steps(report)))
}

/// One epoch, counted from one.
pub(super) fn one_epoch<S: Shape>(
    params: &Ssi,
    shape: &mut S,
    data: &Data,
    draws: &Draws<'_>,
    epoch: usize,
    steps: usize,
    run: &Run<'_>,
) -> Result<Seen> {
    let stage = format!("epoch {epoch}");
    let before = (epoch as u64 - 1) * steps as u64;
    let mut slots: Vec<Slot<S::Look>> = Vec::new();
    slots.resize_with(params.batch.min(steps), Slot::default);
    let mut seen = Seen::default();
    let mut said = Instant::now();
    run.step(&stage, 0, Some(steps as u64))?;
    for first in (0..steps).step_by(params.batch) {
        if said.elapsed() >= OFTEN {
            run.step(&stage, first as u64, Some(steps as u64))?;
            said = Instant::now();
        }
        let slots = &mut slots[..params.batch.min(steps - first)];
        let now = &*shape;
        slots.par_iter_mut().with_min_len(FEWEST_A_THREAD).enumerate().for_each(|(k, slot)| {
            slot.triple = draws.draw(before + (first + k) as u64);
            slot.loss = slot.triple.map_or(0.0, |triple| {
                let score = now.look(data, triple, &mut slot.look) + data.cosines(triple);
                // `max` would make a number of what is none.
                if score >= 1.0 { 0.0 } else { 1.0 - score }
            });
        });
        for slot in slots.iter() {
            let Some(triple) = slot.triple else { continue };
            if !slot.loss.is_finite() {
                return Err(diverged("the score of a triple", epoch, params.rate));
            }
            let violates = u64::from(slot.loss > 0.0);
            let (query, good, bad) = data.features(triple);
            seen.triples += 1;
            seen.violating += violates;
            seen.loss += f64::from(slot.loss);
            seen.bytes +=
                4 * shape.touched(query.len(), good.len() + bad.len()) * (1 + 2 * violates);
        }
        shape.step(data, slots, params.rate as f32)?;
    }
    Ok(seen)
}

fn diverged(what: &'static str, epoch: usize, rate: f64) -> Error {
    Error::NotFinite {
        what,
        sweep: epoch,
        advice: format!("training diverged in epoch {epoch} at rate = {rate}: lower `rate`"),
    }
}
