//! Runs trials, and reuses what consecutive trials share: the counts while the preparation of the
//! text stays the same, the features while their parameters do, each model of a mix while its own
//! parameters do.

use std::time::Instant;

use serde_json::{Map, Value};

use super::spec::{Candidate, Tuning};
use super::{Setting, Trial};
use crate::data::{Dataset, SplitBy};
use crate::eval::{CompareParams, HeldOut, System, compare};
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Params, RmlsStep};
use crate::random::Random;
use crate::sparse::Csr;
use crate::training::fit_all;
use crate::{Error, Result, Run};

/// The stream of random numbers that samples training queries; draws of settings have others.
const SAMPLE_STREAM: u64 = u64::MAX;

/// A fitted model of a mix, and what it was fitted with.
struct Fitted {
    params: Params,
    system: System,
    report: FitReport,
}

pub(super) struct TrialRunner<'a> {
    dataset: &'a Dataset,
    tuning: &'a Tuning<'a>,
    counts: Option<(Preparation, Counts)>,
    /// The counts with the clicks of a sample of 1/n, and n.
    sample: Option<(u32, Counts)>,
    /// The models, fitted to 1/`fitted_to` of the training data.
    fitted: Vec<Option<Fitted>>,
    fitted_to: u32,
}

impl<'a> TrialRunner<'a> {
    pub(super) fn new(dataset: &'a Dataset, tuning: &'a Tuning<'a>) -> Self {
        let fitted = tuning.base.models.iter().map(|_| None).collect();
        TrialRunner { dataset, tuning, counts: None, sample: None, fitted, fitted_to: 1 }
    }

    /// Fits a setting to 1/`one_in` of the training data and measures it. A problem of the setting
    /// is recorded in the trial; a problem of the machine or the files is an error.
    pub(super) fn run(
        &mut self,
        candidate: &Candidate,
        one_in: u32,
        run: &Run<'_>,
    ) -> Result<Trial> {
        let mut trial = Trial { setting: candidate.values.clone(), one_in, ..Trial::default() };
        let outcome = smaller(&candidate.setting, one_in).and_then(|setting| {
            setting.check()?;
            let all = setting.models.iter().map(|(_, params)| params);
            self.prepare(&Params::prepared(&setting.preparation, all), one_in, run)?;
            let started = Instant::now();
            let outcome = self.fit_and_measure(&setting, one_in, run, &mut trial);
            trial.seconds = started.elapsed().as_secs_f64();
            outcome
        });
        match outcome {
            Ok(()) => Ok(trial),
            Err(
                error @ (Error::Cancelled
                | Error::Io { .. }
                | Error::Memory { .. }
                | Error::Damaged { .. }
                | Error::Unusable { .. }
                | Error::Newer { .. }),
            ) => Err(error),
            Err(error) => {
                trial.error = Some(error.to_string());
                trial.score = None;
                Ok(trial)
            }
        }
    }

    /// Makes the counts for `preparation` and the sample, unless they are there.
    fn prepare(&mut self, preparation: &Preparation, one_in: u32, run: &Run<'_>) -> Result<()> {
        if self.counts.as_ref().is_none_or(|(known, _)| known != preparation) {
            self.forget_fits();
            self.counts = None;
            self.sample = None;
            let counts = Counts::of(self.dataset, preparation, run)?.sharing_features();
            self.counts = Some((preparation.clone(), counts));
        }
        if one_in != self.fitted_to {
            self.forget_fits();
            self.fitted_to = one_in;
        }
        if one_in > 1
            && self.sample.as_ref().is_none_or(|&(known, _)| known != one_in)
            && let Some((_, counts)) = &self.counts
        {
            let by = self.dataset.about().split.by;
            let clicks = sampled(&counts.clicks, one_in, by, self.tuning.seed)?;
            self.sample = Some((one_in, counts.with_clicks(clicks)?.sharing_features()));
        }
        Ok(())
    }

    fn forget_fits(&mut self) {
        self.fitted.fill_with(|| None);
    }

    fn fit_and_measure(
        &mut self,
        setting: &Setting,
        one_in: u32,
        run: &Run<'_>,
        trial: &mut Trial,
    ) -> Result<()> {
        let counts = match (&self.sample, &self.counts) {
            (Some((known, counts)), _) if one_in > 1 && *known == one_in => counts,
            (_, Some((_, counts))) => counts,
            (_, None) => return Err(Error::Structure { problem: "no counts".into() }),
        };
        let tuning = self.tuning;
        for (place, (name, params)) in self.fitted.iter_mut().zip(&setting.models) {
            if place.as_ref().is_some_and(|fitted| &fitted.params == params) {
                continue;
            }
            *place = None;
            let model = [(name.clone(), params.clone())];
            let (candidates, variant) = (tuning.candidates, tuning.variant);
            let (mut systems, mut reports) =
                fit_all(self.dataset, counts, &model, candidates, variant, &mut run.steps(1))?;
            if let (Some(system), Some(report)) = (systems.pop(), reports.pop()) {
                *place = Some(Fitted { params: params.clone(), system, report });
            }
        }
        let mut systems = Vec::with_capacity(self.fitted.len());
        for fitted in self.fitted.iter().flatten() {
            trial.warnings.extend(fitted.report.warnings());
            trial.kept = trial.kept.take().or_else(|| kept(&fitted.report));
            systems.push(fitted.system.clone());
        }
        let params = CompareParams {
            rows: std::slice::from_ref(tuning.mixture),
            measures: &[tuning.measure],
            tune_on: tuning.measure,
            baseline: 0,
            on: HeldOut::Validation,
            candidates: tuning.candidates,
            variant: tuning.variant,
            seed: tuning.seed,
        };
        let mut comparison = compare(self.dataset, counts, &systems, &params, run)?;
        let Some(row) = comparison.rows.pop() else {
            return Err(Error::Structure { problem: "a comparison without its row".into() });
        };
        if row.weights.len() > 1 {
            trial.weights = row.weights.iter().map(|&(_, weight)| weight).collect();
        }
        trial.score = row.cells.first().and_then(|cell| cell.mean);
        if trial.score.is_none() {
            return Err(Error::Empty {
                what: "no validation query has a value of the measure".into(),
                advice: "choose another `measure`, or `empty = zero`".into(),
            });
        }
        if one_in == 1 {
            let rounded = |value: &f64| (value * 1e6).round() / 1e6;
            trial.values = row.values.first().into_iter().flatten().map(rounded).collect();
        }
        Ok(())
    }
}

/// The setting for a fit to 1/`one_in` of the training data, with the dimensions divided by
/// √`one_in`.
fn smaller(setting: &Setting, one_in: u32) -> Result<Setting> {
    let mut smaller = setting.clone();
    if one_in == 1 {
        return Ok(smaller);
    }
    for (_, params) in smaller.models.iter_mut().filter(|(_, params)| params.learns()) {
        let json = serde_json::to_value(&*params);
        let dim = json.ok().and_then(|json| json["params"]["dim"].as_u64());
        if let Some(dim) = dim {
            let fewer = (dim as f64 / f64::from(one_in).sqrt()).round().max(1.0) as u64;
            params.merge(&Map::from_iter([("dim".to_owned(), Value::from(fewer))]))?;
        }
    }
    Ok(smaller)
}

/// The sweep that validation chose, where there was a choice.
fn kept(report: &FitReport) -> Option<String> {
    match report {
        FitReport::Rmls(report) => report.steps.get(report.best).map(RmlsStep::name),
        _ => None,
    }
}

/// The clicks of a sample of 1/`one_in` of the training queries, or of the pairs where the dataset
/// is split by pairs. A smaller sample is always a subset of a larger one.
fn sampled(clicks: &Csr, one_in: u32, by: SplitBy, seed: u64) -> Result<Csr> {
    let mut random = Random::new(seed, SAMPLE_STREAM);
    let mut chosen = |n: usize| -> Vec<bool> {
        let mut order: Vec<usize> = (0..n).collect();
        random.shuffle(&mut order);
        let mut kept = vec![false; n];
        order[..n.div_ceil(one_in as usize)].iter().for_each(|&at| kept[at] = true);
        kept
    };
    let rows: Vec<usize> = (0..clicks.n_rows()).filter(|&i| !clicks.row(i).is_empty()).collect();
    let mut triplets = Vec::new();
    if by == SplitBy::Edges {
        let kept = chosen(clicks.nnz());
        let mut at = 0;
        for i in rows {
            for (j, value) in clicks.row(i).iter() {
                if kept[at] {
                    triplets.push((i as u32, j, value));
                }
                at += 1;
            }
        }
    } else {
        let kept = chosen(rows.len());
        for (&i, _) in rows.iter().zip(&kept).filter(|&(_, &kept)| kept) {
            triplets.extend(clicks.row(i).iter().map(|(j, value)| (i as u32, j, value)));
        }
    }
    Csr::from_triplets(clicks.n_rows(), clicks.n_cols(), triplets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_sample_is_within_a_larger_one() {
        let mut random = Random::new(3, 0);
        let mut pair = || (random.below(60) as u32, random.below(40) as u32, 1.0);
        let mut all: Vec<(u32, u32, f32)> = (0..300).map(|_| pair()).collect();
        all.sort_by_key(|&(i, j, _)| (i, j));
        all.dedup_by_key(|&mut (i, j, _)| (i, j));
        let clicks = Csr::from_triplets(61, 40, all).unwrap();
        let pairs = |csr: &Csr| -> Vec<(usize, u32)> {
            let rows = csr.rows().enumerate();
            rows.flat_map(|(i, row)| row.indices.iter().map(move |&j| (i, j))).collect()
        };
        for by in [SplitBy::Queries, SplitBy::Edges] {
            let third = sampled(&clicks, 3, by, 1).unwrap();
            let ninth = sampled(&clicks, 9, by, 1).unwrap();
            assert!(pairs(&ninth).iter().all(|pair| pairs(&third).contains(pair)));
            assert!(pairs(&third).iter().all(|pair| pairs(&clicks).contains(pair)));
            if by == SplitBy::Edges {
                assert_eq!(third.nnz(), clicks.nnz().div_ceil(3));
            } else {
                let queries = |csr: &Csr| csr.rows().filter(|row| !row.is_empty()).count();
                assert_eq!(queries(&third), queries(&clicks).div_ceil(3));
                // A query has all its clicks or none.
                for i in 0..clicks.n_rows() {
                    assert!(third.row(i).is_empty() || third.row(i) == clicks.row(i));
                }
            }
            assert_ne!(pairs(&sampled(&clicks, 3, by, 2).unwrap()), pairs(&third));
        }
    }
}
