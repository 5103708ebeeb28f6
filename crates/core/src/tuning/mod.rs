//! Which parameters are best here? A grid, or successive halving over settings drawn at random,
//! each trial fitted on training and measured on validation. Test is never looked at.
//!
//! The first trial is always the setting that everything else is measured against: the defaults,
//! or what the user set in their place. Trials go into a [`Journal`], and whatever it holds is not
//! made again, so that an interrupted tuning goes on where it was.
//!
//! A trial of a lower rung of successive halving is a fit to a part s of the training queries, drawn by
//! seed (of the pairs, where pairs were dealt out), with √s of the dimensions asked for. Fewer
//! queries alone would save little: most of a fit is dense algebra on maps that have a row for
//! every word, whose cost grows with the square of the dimensions. So both shrink, and a trial
//! costs about s of a full one. They also pull against each other: with less data fewer dimensions
//! are best, so a ladder with all of them would favour settings with few, and one with fewer
//! dimensions alone would favour settings with many. Neither is quite level (on the demo log the
//! lowest rung leans towards many dimensions), and a smaller log favours words over clicks; that
//! is why a third goes on and not only the best. A looser tolerance of the solver saves next to
//! nothing, and sweeps are few.

mod journal;
mod schedule;
mod setting;
mod space;
mod table;
mod trial_runner;

#[cfg(test)]
mod tests;

pub use journal::{About, Journal, Trial};
pub use schedule::{KEEP_ONE_IN, MOST_BUDGET, Rung, rungs};
pub use setting::Setting;
pub use space::{Space, Values};
pub use table::{Row, Tuned};

use serde_json::{Map, Value, json};

use crate::data::Dataset;
use crate::eval::HeldOut::Validation;
use crate::eval::{Candidates, Measure, Variant, check_choice, check_comparable};
use crate::matchers::{Mixture, Params};
use crate::random::Random;
use crate::training::check_models;
use crate::{Error, Progress, Result, Run};
use table::{Found, in_order, restored};
use trial_runner::TrialRunner;

/// How to go through the space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Every combination.
    Grid,
    /// Successive halving for the price of so many full fits.
    Budget(usize),
}

/// What to tune, and how.
pub struct Tuning<'a> {
    /// The method or mix.
    pub mixture: &'a Mixture,
    /// Everything that does not vary, and the setting that others are measured against.
    pub base: &'a Setting,
    /// What varies.
    pub space: &'a Space,
    /// How to go through it.
    pub plan: Plan,
    /// What is measured on validation.
    pub measure: Measure,
    /// Which documents are ranked.
    pub candidates: Candidates,
    /// The variant of the measure.
    pub variant: Variant,
    /// Seed of the settings drawn, of the parts of the training data, and of the bootstrap.
    pub seed: u64,
}

/// A setting to be tried: the values of what varies, and everything.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    values: Map<String, Value>,
    setting: Setting,
}

impl Tuning<'_> {
    /// What a journal of this tuning says of itself. The plan is no part of it: a larger budget
    /// goes on with what a smaller one found.
    pub fn about(&self, dataset: &Dataset) -> Result<About> {
        let json = |value: serde_json::Result<Value>| {
            value.map_err(|error| Error::Setting { problem: error.to_string() })
        };
        let measure = json!({
            "measure": self.measure.to_string(),
            "candidates": json(serde_json::to_value(self.candidates))?,
            "variant": json(serde_json::to_value(self.variant))?,
        });
        let base = json(serde_json::to_value(self.base))?;
        let (method, identity) = (self.mixture.to_string(), dataset.folder.identity());
        Ok(About::new(method, identity, measure, self.space.to_json(), base, self.seed))
    }

    /// Refuses what cannot be tuned, before any work.
    pub fn check(&self, dataset: &Dataset) -> Result<()> {
        self.variant.check()?;
        self.base.check()?;
        check_comparable(dataset, std::slice::from_ref(self.mixture), Some(Validation))?;
        let path = dataset.folder.path.display();
        let advice = "every trial would score the same: lower `relevant_from`, or import it again with other judgments or grades (`grades = CODE=GRADE`)";
        check_choice(dataset, self.measure, &self.variant, "", advice)?;
        let models = self.base.models.iter().map(|(_, params)| params);
        check_models(dataset, models, &self.variant)?;
        let from_clicks = |params: &Params| params.learns() && params.weighs_clicks();
        let learns = self.base.models.iter().any(|(_, params)| from_clicks(params));
        if learns && dataset.clicks.nnz() == 0 {
            return Err(Error::Empty {
                what: format!("{path} has no training clicks to learn from"),
                advice: "import a click log or links, or judged pairs with `split = queries`; without any, tune bm25, lm, lsi or a topic model such as rlsi".into(),
            });
        }
        if self.space.keys.is_empty() {
            let expected = format!(
                "parameters to tune, because {} has none by itself; name some in `grid` or `space`, such as preparation.min_df",
                self.mixture
            );
            return Err(Error::parameter("space", "empty", &expected));
        }
        if let Plan::Budget(budget) = self.plan
            && !(2..=MOST_BUDGET).contains(&budget)
        {
            let expected =
                format!("2 or more (one fit is for the defaults), at most {MOST_BUDGET}");
            return Err(Error::parameter("budget", budget, &expected));
        }
        Ok(())
    }

    /// The values of everything that varies, as `setting` has them.
    fn candidate(&self, setting: Setting) -> Result<Candidate> {
        let of = |(key, _): &(String, Values)| Ok((key.clone(), setting.value(key)?));
        let values = self.space.keys.iter().map(of).collect::<Result<_>>()?;
        Ok(Candidate { values, setting })
    }

    /// Every combination of a grid, each once.
    fn grid(&self) -> Result<Vec<Candidate>> {
        let mut seen = std::collections::HashSet::new();
        let mut all = Vec::new();
        for values in self.space.grid()? {
            let candidate = self.candidate(self.base.with(&values)?)?;
            if seen.insert(json!(candidate.values).to_string()) {
                all.push(candidate);
            }
        }
        Ok(all)
    }

    /// The first `n` settings of an endless sequence that depends on the seed alone, without
    /// repetition and without the defaults; fewer if there are no more.
    fn drawn(&self, n: usize, defaults: &Candidate) -> Result<Vec<Candidate>> {
        let text = |candidate: &Candidate| json!(candidate.values).to_string();
        let mut seen = std::collections::HashSet::from([text(defaults)]);
        let mut found: Vec<Candidate> = Vec::with_capacity(n);
        let mut stale = 0;
        for stream in 0.. {
            if found.len() == n || stale > 1000 {
                break;
            }
            let values = self.space.draw(&mut Random::new(self.seed, stream));
            let candidate = self.candidate(self.base.with(&values)?)?;
            stale += 1;
            if seen.insert(text(&candidate)) {
                found.push(candidate);
                stale = 0;
            }
        }
        Ok(found)
    }
}

/// Makes every trial that `journal` does not hold, and says what was found.
pub fn tune(
    dataset: &Dataset,
    tuning: &Tuning<'_>,
    journal: &mut Journal,
    run: &Run<'_>,
) -> Result<Tuned> {
    tuning.check(dataset)?;
    let mut maker = Maker {
        trial_runner: TrialRunner::new(dataset, tuning),
        journal,
        planned: Vec::new(),
        total: 1,
    };
    let defaults = tuning.candidate(tuning.base.clone())?;
    match tuning.plan {
        Plan::Grid => {
            let mut all = tuning.grid()?;
            all.retain(|candidate| candidate.values != defaults.values);
            maker.total = 1 + all.len();
            maker.make(&defaults, 1, run)?;
            for candidate in &all {
                maker.make(candidate, 1, run)?;
            }
        }
        Plan::Budget(budget) => {
            let learns = tuning.base.models.iter().any(|(_, params)| params.learns());
            let mut ladder = rungs(budget, learns);
            let most = ladder.first().map_or(0, |rung| rung.settings);
            let mut on: Vec<Candidate> = tuning.drawn(most, &defaults)?;
            if on.len() < budget {
                // So few settings that each can be fitted in full.
                ladder = vec![Rung { settings: on.len(), one_in: 1 }];
            }
            maker.total = 1 + ladder.iter().map(|rung| rung.settings.min(on.len())).sum::<usize>();
            maker.make(&defaults, 1, run)?;
            for (r, rung) in ladder.iter().enumerate() {
                let next = ladder.get(r + 1).map_or(0, |next| next.settings);
                on = maker.rung(tuning, on, rung.one_in, next, run)?;
            }
        }
    }
    let Maker { planned, journal, .. } = maker;
    Found {
        method: tuning.mixture.to_string(),
        measure: tuning.measure,
        seed: tuning.seed,
        space: tuning.space,
        base: tuning.base,
        defaults: &defaults.values,
        trials: in_order(journal, &planned),
    }
    .table()
}

/// Makes one trial after another.
struct Maker<'a, 'j> {
    trial_runner: TrialRunner<'a>,
    journal: &'j mut Journal,
    /// Every trial so far, made now or before.
    planned: Vec<(Map<String, Value>, u32)>,
    /// How many there will be.
    total: usize,
}

impl Maker<'_, '_> {
    /// The score of one trial.
    fn make(&mut self, candidate: &Candidate, one_in: u32, run: &Run<'_>) -> Result<Option<f64>> {
        self.planned.push((candidate.values.clone(), one_in));
        if let Some(made) = self.journal.find(&candidate.values, one_in) {
            return Ok(made.score);
        }
        let which = format!("trial {} of {}", self.planned.len(), self.total);
        run.step(&which, 0, None)?;
        let progress = |inner: Progress<'_>| {
            let _ = run.step(&format!("{which}: {}", inner.stage), inner.done, inner.total);
        };
        let cancelled = || run.check().is_err();
        let inner = run.heard_by(&progress, &cancelled);
        let values = candidate.values.clone();
        let made = self.trial_runner.make(values, &candidate.setting, one_in, &inner)?;
        Ok(self.journal.push(&made)?.score)
    }

    /// Trials all on a rung; the best `next` go on.
    fn rung(
        &mut self,
        tuning: &Tuning<'_>,
        candidates: Vec<Candidate>,
        one_in: u32,
        next: usize,
        run: &Run<'_>,
    ) -> Result<Vec<Candidate>> {
        // Settings that read text alike, or see the same features, one after another.
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        let shared = |c: &usize| {
            let values = &candidates[*c].values;
            let of = |(key, _): &(String, Values)| values.get(key).map(Value::to_string);
            tuning.space.keys.iter().map(of).collect::<Vec<_>>()
        };
        order.sort_by_cached_key(shared);
        let mut scores = vec![None; candidates.len()];
        for c in order {
            scores[c] = self.make(&candidates[c], one_in, run)?;
        }
        let sign = if tuning.measure.higher_is_better() { -1.0 } else { 1.0 };
        let mut ranked: Vec<(usize, f64)> = scores
            .into_iter()
            .enumerate()
            .filter_map(|(c, score): (usize, Option<f64>)| Some((c, sign * score?)))
            .collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        ranked.truncate(next);
        Ok(ranked.into_iter().map(|(c, _)| candidates[c].clone()).collect())
    }
}

/// The setting of a row of the table.
pub fn setting_of(base: &Setting, row: &Row) -> Result<Setting> {
    let values: Vec<(String, Value)> = row.setting.clone().into_iter().collect();
    restored(base, &values)
}
