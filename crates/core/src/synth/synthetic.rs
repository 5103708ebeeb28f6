//! The synthetic logs by name, ready to be written: what `liken synth` makes and experiment
//! files ask for.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::demo::{Demo, PAGE};
use super::engine::bm25;
use super::raw::{CLICKS, DOCUMENTS, EVENTS, JUDGMENTS};
use super::weblog::Weblog;
use crate::data::{DatasetAbout, Document, Import, Table};
use crate::{Error, Result, Run};

/// A synthetic log, as it stands in an experiment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synthetic {
    /// Which log.
    pub log: SyntheticLog,
    /// Multiplies the number of queries, documents and words (or searches).
    #[serde(default = "whole")]
    pub scale: f64,
    /// Seed of everything drawn.
    #[serde(default = "one")]
    pub seed: u64,
    /// Take every result shown, clicked or not, with its rank, instead of clicks added up.
    #[serde(default)]
    pub events: bool,
    /// Of the demo log: the chance that a user looks at position i is i^−bias.
    #[serde(default)]
    pub bias: Option<f64>,
    /// Of the demo log: the share of results replaced by a page on what was meant.
    #[serde(default)]
    pub explore: Option<f64>,
    /// Of the demo log: the share of pages shown in random order.
    #[serde(default)]
    pub shuffle: Option<f64>,
}

fn whole() -> f64 {
    1.0
}

fn one() -> u64 {
    1
}

/// Which synthetic log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyntheticLog {
    /// Hand-written concepts, readable titles and queries, a real vocabulary gap.
    Demo,
    /// 94,022 queries, 111,631 documents: Table 1 of the RMLS papers, first row.
    OneWeek,
    /// 6,372,254 queries, 4,599,849 documents: its second row.
    HalfYear,
}

impl Synthetic {
    /// The whole log called `log`.
    pub fn new(log: SyntheticLog) -> Self {
        let (scale, seed) = (whole(), one());
        Synthetic { log, scale, seed, events: false, bias: None, explore: None, shuffle: None }
    }

    /// Refuses what cannot be made.
    pub fn check(&self) -> Result<()> {
        match self.weblog()? {
            Some(log) => log.check(),
            None => self.demo().map(|_| ()),
        }
    }

    /// Writes the log to `target` as a dataset.
    pub fn write(&self, target: &Path, force: bool, run: &Run<'_>) -> Result<DatasetAbout> {
        // Refuse before the work, not after it.
        if target.exists() && !force {
            return Err(Error::Exists { path: target.to_owned() });
        }
        if let (Some(log), false) = (self.weblog()?, self.events) {
            return log.write(target, force, run);
        }
        let work = tempfile::tempdir().map_err(Error::io("create", &std::env::temp_dir()))?;
        let raw = work.path().join("log");
        self.write_raw(&raw, false, run)?;
        Ok(import_of(&raw, self.events).run(target, force, run)?.about)
    }

    /// Writes the log, the documents and the judgments to `target` as a user would have them.
    pub fn write_raw(&self, target: &Path, force: bool, run: &Run<'_>) -> Result<()> {
        match (self.weblog()?, self.events) {
            (Some(log), true) => log.write_events(target, force, run),
            (Some(log), false) => log.write_raw(target, force, run),
            (None, true) => self.demo()?.write_events(&engine, target, force, run),
            (None, false) => self.demo()?.build(&engine, run)?.write_raw(target, force),
        }
    }

    /// The web log, if it is one.
    fn weblog(&self) -> Result<Option<Weblog>> {
        let log = match self.log {
            SyntheticLog::Demo => return Ok(None),
            SyntheticLog::OneWeek => Weblog::one_week(),
            SyntheticLog::HalfYear => Weblog::half_year(),
        };
        let of_demo = [("bias", self.bias), ("explore", self.explore), ("shuffle", self.shuffle)];
        for (name, value) in of_demo {
            if let Some(value) = value {
                let expected = "nothing: it is for the demo log alone";
                return Err(Error::parameter(name, value, expected));
            }
        }
        Ok(Some(Weblog { scale: self.scale, seed: self.seed, ..log }))
    }

    fn demo(&self) -> Result<Demo> {
        // Two queries a concept are the least.
        if !(self.scale >= 0.17 && self.scale <= 100.0) {
            let expected = "a number from 0.17 to 100 for the demo log";
            return Err(Error::parameter("scale", self.scale, expected));
        }
        let whole = Demo::default();
        let scaled = |n: usize| ((n as f64 * self.scale).round() as usize).max(1);
        Ok(Demo {
            // Every concept keeps its two documents.
            documents: scaled(whole.documents).max(2 * whole.concepts),
            queries: scaled(whole.queries),
            unseen: scaled(whole.unseen),
            searches: scaled(whole.searches),
            judged: scaled(whole.judged),
            bias: self.bias.unwrap_or(whole.bias),
            explored: self.explore.unwrap_or(whole.explored),
            shuffled: self.shuffle.unwrap_or(whole.shuffled),
            seed: self.seed,
            ..whole
        })
    }
}

/// The engine of the demo log.
fn engine(documents: &[Document], queries: &[String]) -> Result<Vec<Vec<u32>>> {
    bm25(documents, queries, PAGE)
}

/// How the raw files of a synthetic log are imported.
pub fn import_of(raw: &Path, events: bool) -> Import {
    let table = |name: &str| Some(Table::new(raw.join(name)));
    Import {
        clicks: table(CLICKS).filter(|_| !events),
        events: table(EVENTS).filter(|_| events),
        documents: table(DOCUMENTS),
        judgments: table(JUDGMENTS),
        ..Import::default()
    }
}
