//! Which parameters are best here? A grid, or successive halving over settings drawn at random,
//! each trial fitted on training and measured on validation. Test is never used.
//!
//! The first trial is always the setting that all others are compared with: the defaults, or what
//! the user set in their place. Trials go into a [`Journal`], and those that it holds already are
//! not run again, so that an interrupted tuning resumes.
//!
//! A trial of a lower rung of successive halving is a fit to a sample s of the training queries, drawn by
//! seed (of the pairs, where pairs were split), with √s of the dimensions asked for. Fewer
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
mod spec;
mod table;
mod trial_runner;

#[cfg(test)]
mod tests;

pub use journal::{Journal, JournalHeader, Trial};
pub use schedule::{KEEP_ONE_IN, MOST_BUDGET, Rung, rungs};
pub use setting::Setting;
pub use space::{Space, Values};
pub use spec::{Search, Tuning};
pub use table::{TrialRow, Tuned};

use serde_json::{Map, Value};

use crate::data::Dataset;
use crate::{Result, Run};
use spec::Candidate;
use table::{Trials, in_order};
use trial_runner::TrialRunner;

/// Runs every trial that `journal` does not hold, and puts all of them in a table.
pub fn tune(
    dataset: &Dataset,
    tuning: &Tuning<'_>,
    journal: &mut Journal,
    run: &Run<'_>,
) -> Result<Tuned> {
    tuning.check(dataset)?;
    let trial_runner = TrialRunner::new(dataset, tuning);
    let mut scheduler = Scheduler { tuning, trial_runner, journal, planned: Vec::new(), total: 1 };
    let defaults = tuning.candidate(tuning.base.clone())?;
    match tuning.search {
        Search::Grid => {
            let all = tuning.grid(&defaults)?;
            scheduler.total = 1 + all.len();
            for candidate in std::iter::once(&defaults).chain(&all) {
                scheduler.trial(candidate, 1, run)?;
            }
        }
        Search::Budget(budget) => {
            let learns = tuning.base.models.iter().any(|(_, params)| params.learns());
            let mut ladder = rungs(budget, learns);
            let most = ladder.first().map_or(0, |rung| rung.settings);
            let mut on: Vec<Candidate> = tuning.drawn(most, &defaults)?;
            if on.len() < budget {
                // So few settings that each can be fitted in full.
                ladder = vec![Rung { settings: on.len(), one_in: 1 }];
            }
            let trials = ladder.iter().map(|rung| rung.settings.min(on.len()));
            scheduler.total = 1 + trials.sum::<usize>();
            scheduler.trial(&defaults, 1, run)?;
            for (r, rung) in ladder.iter().enumerate() {
                let next = ladder.get(r + 1).map_or(0, |next| next.settings);
                on = scheduler.rung(on, rung.one_in, next, run)?;
            }
        }
    }
    let Scheduler { planned, journal, .. } = scheduler;
    Trials { tuning, defaults: &defaults.values, trials: in_order(journal, &planned) }.table()
}

/// Decides which trial is next.
struct Scheduler<'a, 'j> {
    tuning: &'a Tuning<'a>,
    trial_runner: TrialRunner<'a>,
    journal: &'j mut Journal,
    /// Every trial so far, run now or found in the journal.
    planned: Vec<(Map<String, Value>, u32)>,
    /// Number in all.
    total: usize,
}

impl Scheduler<'_, '_> {
    /// The score of one trial.
    fn trial(&mut self, candidate: &Candidate, one_in: u32, run: &Run<'_>) -> Result<Option<f64>> {
        self.planned.push((candidate.values.clone(), one_in));
        if let Some(known) = self.journal.find(&candidate.values, one_in) {
            return Ok(known.score);
        }
        let run = run.in_step(self.planned.len(), self.total);
        run.step("trial", 0, None)?;
        let trial = self.trial_runner.run(candidate, one_in, &run)?;
        Ok(self.journal.push(&trial)?.score)
    }

    /// Runs all trials of a rung; the best `next` go on.
    fn rung(
        &mut self,
        candidates: Vec<Candidate>,
        one_in: u32,
        next: usize,
        run: &Run<'_>,
    ) -> Result<Vec<Candidate>> {
        // Settings that share counts, or features, follow each other.
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        let keys = &self.tuning.space.keys;
        order.sort_by_cached_key(|&c| {
            let text =
                |(key, _): &(String, Values)| candidates[c].values.get(key).map(Value::to_string);
            keys.iter().map(text).collect::<Vec<_>>()
        });
        let mut ranked: Vec<(f64, usize)> = Vec::with_capacity(candidates.len());
        let sign = if self.tuning.measure.higher_is_better() { -1.0 } else { 1.0 };
        for c in order {
            let score = self.trial(&candidates[c], one_in, run)?;
            ranked.extend(score.map(|score| (sign * score, c)));
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ok(ranked.into_iter().take(next).map(|(_, c)| candidates[c].clone()).collect())
    }
}
