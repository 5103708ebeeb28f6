//! The synthetic logs by name, with the parameters that experiment files may set.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::corpus::Corpus;
use super::demo::{Demo, PAGE};
use super::engine::bm25;
use super::raw::{CLICKS, DOCUMENTS, EVENTS, JUDGMENTS};
use super::weblog::Weblog;
use crate::data::{DatasetAbout, Document, Import, Table};
use crate::{Error, Result, Run};

/// A synthetic log, as in an experiment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synthetic {
    /// Kind of log.
    pub log: SyntheticLog,
    /// Multiplies the number of queries, documents and words (or searches).
    #[serde(default = "default_scale")]
    pub scale: f64,
    /// Seed of everything drawn.
    #[serde(default = "one")]
    pub seed: u64,
    /// Import every impression with its rank and click, instead of summed clicks.
    #[serde(default)]
    pub events: bool,
    /// Demo log: the examination propensity of position i is i^−bias.
    pub bias: Option<f64>,
    /// Demo log: the share of results replaced by a relevant page.
    pub explore: Option<f64>,
    /// Demo log: the share of result pages shown in random order.
    pub shuffle: Option<f64>,
    /// Corpus with planted topics: the number of documents.
    pub documents: Option<usize>,
    /// Corpus with planted topics: the size of the vocabulary.
    pub terms: Option<usize>,
    /// Corpus with planted topics: the number of topics.
    pub topics: Option<usize>,
    /// Corpus with planted topics: the average number of words of a document.
    pub length: Option<f64>,
    /// Corpus with planted topics: the number of classes.
    pub classes: Option<usize>,
}

fn default_scale() -> f64 {
    1.0
}

fn one() -> u64 {
    1
}

/// Kind of synthetic log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyntheticLog {
    /// Hand-written concepts, readable titles and queries, a real vocabulary gap.
    Demo,
    /// 94,022 queries, 111,631 documents: Table 1 of the RMLS papers, first row.
    OneWeek,
    /// 6,372,254 queries, 4,599,849 documents: its second row.
    HalfYear,
    /// Documents in classes with planted topics; neither queries nor clicks.
    Topics,
}

/// The parameters of a log.
enum LogParams {
    Demo(Demo),
    Weblog(Weblog),
    Corpus(Corpus),
}

impl Synthetic {
    /// The log with its default parameters.
    pub fn new(log: SyntheticLog) -> Self {
        Synthetic {
            log,
            scale: default_scale(),
            seed: one(),
            events: false,
            bias: None,
            explore: None,
            shuffle: None,
            documents: None,
            terms: None,
            topics: None,
            length: None,
            classes: None,
        }
    }

    /// Refuses parameters out of range, or of another log.
    pub fn check(&self) -> Result<()> {
        match self.shape()? {
            LogParams::Demo(_) => Ok(()),
            LogParams::Weblog(log) => log.check(),
            LogParams::Corpus(corpus) => corpus.check(),
        }
    }

    /// Writes the log to `target` as a dataset.
    pub fn write(&self, target: &Path, force: bool, run: &Run<'_>) -> Result<DatasetAbout> {
        // Refuse before the work.
        if target.exists() && !force {
            return Err(Error::Exists { path: target.to_owned() });
        }
        match self.shape()? {
            LogParams::Weblog(log) if !self.events => return log.write(target, force, run),
            LogParams::Corpus(corpus) => return corpus.write(target, force, run),
            _ => {}
        }
        let work = tempfile::tempdir().map_err(Error::io("create", &std::env::temp_dir()))?;
        let raw = work.path().join("log");
        self.write_raw(&raw, false, run)?;
        Ok(import(&raw, self.events).run(target, force, run)?.about)
    }

    /// Writes the files of the log before its import to `target`.
    pub fn write_raw(&self, target: &Path, force: bool, run: &Run<'_>) -> Result<()> {
        match (self.shape()?, self.events) {
            (LogParams::Weblog(log), true) => log.write_events(target, force, run),
            (LogParams::Weblog(log), false) => log.write_raw(target, force, run),
            (LogParams::Demo(demo), true) => demo.write_events(&engine, target, force, run),
            (LogParams::Demo(demo), false) => demo.build(&engine, run)?.write_raw(target, force),
            (LogParams::Corpus(corpus), _) => corpus.write_raw(target, force, run),
        }
    }

    /// The parameters of the log; refuses those of another one.
    fn shape(&self) -> Result<LogParams> {
        let count = |n: Option<usize>| n.map(|n| n as f64);
        let (demo, topics) = ((SyntheticLog::Demo, "demo"), (SyntheticLog::Topics, "topics"));
        for ((log, owner), name, value) in [
            (demo, "bias", self.bias),
            (demo, "explore", self.explore),
            (demo, "shuffle", self.shuffle),
            (topics, "documents", count(self.documents)),
            (topics, "terms", count(self.terms)),
            (topics, "topics", count(self.topics)),
            (topics, "length", self.length),
            (topics, "classes", count(self.classes)),
        ] {
            if let Some(value) = value.filter(|_| log != self.log) {
                let expected = format!("no value: it applies only to log = {owner:?}");
                return Err(Error::parameter(name, value, &expected));
            }
        }
        let of_shape = |log: Weblog| Weblog { scale: self.scale, seed: self.seed, ..log };
        Ok(match self.log {
            SyntheticLog::Demo => LogParams::Demo(self.demo()?),
            SyntheticLog::OneWeek => LogParams::Weblog(of_shape(Weblog::one_week())),
            SyntheticLog::HalfYear => LogParams::Weblog(of_shape(Weblog::half_year())),
            SyntheticLog::Topics => LogParams::Corpus(self.corpus()?),
        })
    }

    /// The import of its files.
    pub fn import(&self, raw: &Path) -> Import {
        let import = import(raw, self.events);
        match self.log {
            SyntheticLog::Topics => Import { documents: import.documents, ..Import::default() },
            _ => import,
        }
    }

    fn corpus(&self) -> Result<Corpus> {
        if self.events {
            let expected = "false: a corpus of topics has no clicks";
            return Err(Error::parameter("events", self.events, expected));
        }
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Error::parameter("scale", self.scale, "a number above 0"));
        }
        let defaults = Corpus::default();
        let scaled = |n: usize| (n as f64 * self.scale).round() as usize;
        Ok(Corpus {
            documents: scaled(self.documents.unwrap_or(defaults.documents)),
            terms: scaled(self.terms.unwrap_or(defaults.terms)),
            topics: self.topics.unwrap_or(defaults.topics),
            length: self.length.unwrap_or(defaults.length),
            classes: self.classes.unwrap_or(defaults.classes),
            seed: self.seed,
        })
    }

    fn demo(&self) -> Result<Demo> {
        // Every concept needs two queries.
        if !(self.scale >= 0.17 && self.scale <= 100.0) {
            let expected = "a number from 0.17 to 100 for the demo log";
            return Err(Error::parameter("scale", self.scale, expected));
        }
        let defaults = Demo::default();
        let scaled = |n: usize| ((n as f64 * self.scale).round() as usize).max(1);
        Ok(Demo {
            // Every concept needs two documents.
            documents: scaled(defaults.documents).max(2 * defaults.concepts),
            queries: scaled(defaults.queries),
            unseen: scaled(defaults.unseen),
            searches: scaled(defaults.searches),
            judged: scaled(defaults.judged),
            bias: self.bias.unwrap_or(defaults.bias),
            explored: self.explore.unwrap_or(defaults.explored),
            shuffled: self.shuffle.unwrap_or(defaults.shuffled),
            seed: self.seed,
            ..defaults
        })
    }
}

/// The engine of the demo log.
fn engine(documents: &[Document], queries: &[String]) -> Result<Vec<Vec<u32>>> {
    bm25(documents, queries, PAGE)
}

/// The import of the files of a synthetic log.
pub fn import(raw: &Path, events: bool) -> Import {
    let table = |name: &str| Some(Table::new(raw.join(name)));
    Import {
        clicks: table(CLICKS).filter(|_| !events),
        events: table(EVENTS).filter(|_| events),
        documents: table(DOCUMENTS),
        judgments: table(JUDGMENTS),
        ..Import::default()
    }
}
