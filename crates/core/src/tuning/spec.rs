//! What to tune: a method or mix, the settings to try, and the measure that compares them.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::journal::{FORMAT, JournalHeader};
use super::schedule::MOST_BUDGET;
use super::{Setting, Space, Values};
use crate::data::Dataset;
use crate::eval::{Candidates, HeldOut, Measure, Variant, check_choice, check_comparable};
use crate::matchers::{Mixture, Params};
use crate::params::to_json;
use crate::random::Random;
use crate::training::check_models;
use crate::{Error, Result};

/// Search strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Every combination.
    Grid,
    /// Successive halving at the cost of this many full fits.
    Budget(usize),
}

/// A tuning task.
pub struct Tuning<'a> {
    /// The method or mix.
    pub mixture: &'a Mixture,
    /// Every parameter that does not vary, and the setting that others are compared with.
    pub base: &'a Setting,
    /// The parameters that vary.
    pub space: &'a Space,
    /// Search strategy.
    pub search: Search,
    /// Measure on validation.
    pub measure: Measure,
    /// Documents to rank.
    pub candidates: Candidates,
    /// The variant of the measure.
    pub variant: Variant,
    /// Seed of the settings drawn, of the samples of the training data, and of the bootstrap.
    pub seed: u64,
}

/// A setting to try: the values of the parameters that vary, and the whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub values: Map<String, Value>,
    pub setting: Setting,
}

impl Candidate {
    /// The values as text, to find repetitions by.
    fn key(&self) -> String {
        json!(self.values).to_string()
    }
}

impl Tuning<'_> {
    /// The header of this tuning's journal. It does not hold the search: a larger budget goes on
    /// with the trials of a smaller one.
    pub fn journal_header(&self, dataset: &Dataset) -> Result<JournalHeader> {
        let measure = json!({
            "measure": self.measure.to_string(),
            "candidates": to_json(&self.candidates)?,
            "variant": to_json(&self.variant)?,
        });
        Ok(JournalHeader {
            tuning: FORMAT,
            method: self.mixture.to_string(),
            dataset: dataset.folder.identity(),
            measure,
            space: self.space.to_json(),
            base: to_json(self.base)?,
            seed: self.seed,
        })
    }

    /// Refuses what cannot be tuned, before any work.
    pub fn check(&self, dataset: &Dataset) -> Result<()> {
        self.variant.check()?;
        self.base.check()?;
        check_comparable(dataset, std::slice::from_ref(self.mixture), Some(HeldOut::Validation))?;
        let advice = "every trial would score the same: lower `relevant_from`, or import it again with other judgments or grades (`grades = CODE=GRADE`)";
        check_choice(dataset, self.measure, &self.variant, "", advice)?;
        let models = self.base.models.iter().map(|(_, params)| params);
        check_models(dataset, models, &self.variant)?;
        let from_clicks = |params: &Params| params.learns() && params.weighs_clicks();
        let learns = self.base.models.iter().any(|(_, params)| from_clicks(params));
        if learns && dataset.clicks.nnz() == 0 {
            let path = dataset.folder.path.display();
            return Err(Error::Empty {
                what: format!("{path} has no training clicks to learn from"),
                advice: "import a click log or links, or judged pairs with `split = queries`; without any, tune bm25, lm, lsi or a topic model such as rlsi".into(),
            });
        }
        if self.space.keys.is_empty() {
            let expected = format!(
                "parameters to tune, because {} has none by default; name some in `grid` or `space`, such as preparation.min_df",
                self.mixture
            );
            return Err(Error::parameter("space", "empty", &expected));
        }
        if let Search::Budget(budget) = self.search
            && !(2..=MOST_BUDGET).contains(&budget)
        {
            let expected =
                format!("2 or more (one fit is for the defaults), at most {MOST_BUDGET}");
            return Err(Error::parameter("budget", budget, &expected));
        }
        Ok(())
    }

    pub(super) fn candidate(&self, setting: Setting) -> Result<Candidate> {
        let of = |(key, _): &(String, Values)| Ok((key.clone(), setting.value(key)?));
        let values = self.space.keys.iter().map(of).collect::<Result<_>>()?;
        Ok(Candidate { values, setting })
    }

    /// Every combination of a grid but the defaults, each once.
    pub(super) fn grid(&self, defaults: &Candidate) -> Result<Vec<Candidate>> {
        let mut seen = HashSet::from([defaults.key()]);
        let mut all = Vec::new();
        for values in self.space.grid()? {
            let candidate = self.candidate(self.base.with(&values)?)?;
            if seen.insert(candidate.key()) {
                all.push(candidate);
            }
        }
        Ok(all)
    }

    /// The first `n` settings of an endless sequence that depends on the seed alone, without
    /// repetition and without the defaults; fewer if there are no more.
    pub(super) fn drawn(&self, n: usize, defaults: &Candidate) -> Result<Vec<Candidate>> {
        let mut seen = HashSet::from([defaults.key()]);
        let mut found: Vec<Candidate> = Vec::with_capacity(n);
        let mut stale = 0;
        for stream in 0.. {
            if found.len() == n || stale > 1000 {
                break;
            }
            let values = self.space.draw(&mut Random::new(self.seed, stream));
            let candidate = self.candidate(self.base.with(&values)?)?;
            stale += 1;
            if seen.insert(candidate.key()) {
                found.push(candidate);
                stale = 0;
            }
        }
        Ok(found)
    }
}
