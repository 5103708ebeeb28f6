//! From tables, a raw log or a BEIR folder to a dataset folder: read, aggregate, split, filter, write,
//! report.
//!
//! The click filter comes after the split and drops training pairs only, so that it does not bias
//! validation and test. Memory holds ids, queries and pairs; the text of documents goes straight to
//! the disk.

use std::path::Path;

use super::append::Previous;
use super::beir;
use super::checks;
use super::dataset::{DatasetWriter, SplitBy};
use super::events::{self, Cuts, EventLog, Timeline};
use super::import_spec::Import;
use super::log::Log;
use super::report::{FilterReport, ImportReport};
use super::source_table::SourceTable;
use super::split::{Split, SplitPairs};
use super::write::{Events, Prepared};
use crate::rows::{Role, is_stdin};
use crate::{Error, Result, Run, memory};

/// The papers keep pairs with more than three clicks.
const MIN_CLICKS: u32 = 4;

/// With less memory, a sort would need too many files.
const MIN_MEMORY: u64 = 64 << 10;

impl Import {
    /// Imports into a new dataset folder at `output`. On any error, and when `run` is stopped, nothing
    /// is left there.
    pub fn run(&self, output: &Path, force: bool, run: &Run<'_>) -> Result<ImportReport> {
        match &self.append {
            None => self.run_after(None, output, force, run),
            Some(path) => {
                let previous = Previous::open(path, self)?;
                previous.fill(self).run_after(Some(&previous), output, force, run)
            }
        }
    }

    fn run_after(
        &self,
        previous: Option<&Previous>,
        output: &Path,
        force: bool,
        run: &Run<'_>,
    ) -> Result<ImportReport> {
        let (sources, by_source) = self.source_tables()?;
        self.check_shares()?;
        self.rules.check()?;
        let memory = self.max_memory.unwrap_or_else(|| memory::available() / 2);
        if memory < MIN_MEMORY {
            return Err(Error::parameter("max_memory", memory, "64KiB or more"));
        }
        let mut writer = DatasetWriter::create(output, force)?;
        let mut log = Log::new(self.lenient, self.doc_text.as_deref());
        let mut learns = sources.iter().any(SourceTable::is_learnt_from);
        if self.events.is_some() {
            let share = memory / 4 * 3;
            log.events = Some(EventLog::new(&writer.path(""), share, &self.rules)?);
        }
        if let Some(previous) = previous.filter(|previous| previous.has_documents()) {
            log.copy_documents(&previous.dataset.documents, &mut writer, run)?;
        }
        let mut events = None;
        // Every table is a step; splitting and writing are the last two.
        let mut steps = run.steps(sources.len() + 2);
        for source in &sources {
            let run = &steps.next_step();
            log.read(source, &mut writer, run)?;
            // Before the next tables, which may name queries and documents of the events.
            if source.role == Role::Events {
                events = self.aggregate(&mut log, previous, &writer, memory, run)?;
            }
        }
        if let Some(previous) = previous {
            let mut sources = previous.sources();
            sources.append(&mut log.sources);
            log.sources = sources;
        }
        let judgments = log.take_judgments();
        let split = self.split(by_source, &log, !judgments.is_empty(), learns)?;
        if split.by == SplitBy::Judgments && !sources.iter().any(SourceTable::is_pairs) {
            log.clear_pairs();
            learns = false;
        }
        steps.next_step().step("splitting", 0, None)?;
        let (given, cancelled) = log.take_pairs(split.by)?;
        let mut divided = split.divide(given, &judgments, &log.queries, &log.documents);
        divided.drop("pairs whose weights add up to 0", cancelled);
        divided.drop("pairs whose clicks are too old to count (half_life)", log.faded as usize);
        if sources.iter().any(|source| source.also_links) {
            divided.judged_pairs_are_links();
        }
        let filter = if learns {
            checks::check_training(&divided, &log, split.by)?;
            self.filter(&mut divided, &log)?
        } else {
            log.notes.push(checks::note_without_clicks(!judgments.is_empty()));
            None
        };
        if learns || !judgments.is_empty() {
            let asked = (self.validation, self.test);
            checks::check_requested_splits(&divided, split.by, asked)?;
        }
        let warnings = checks::warnings(&divided, &log, filter.as_ref(), split.by);
        let run = &steps.next_step();
        run.step("writing", 0, None)?;
        Prepared { log, divided, split, filter, events, task: None, warnings }.write(writer, run)
    }

    /// Aggregates the events, with those of `previous`, and adds their pairs to the log.
    fn aggregate(
        &self,
        log: &mut Log,
        previous: Option<&Previous>,
        writer: &DatasetWriter,
        memory: u64,
        run: &Run<'_>,
    ) -> Result<Option<Events>> {
        let Some(events) = log.events.take() else { return Ok(None) };
        self.rules.check_against(events.columns)?;
        let previous = match previous {
            None => None,
            Some(previous) => {
                previous.check_new(&log.sources)?;
                let columns = previous.events.columns;
                if columns.times != events.columns.times
                    || columns.times_have_dates != events.columns.times_have_dates
                {
                    return Err(Error::Unusable {
                        path: previous.dataset.folder.path.clone(),
                        problem: "its events and the new ones have different kinds of times: with date, without date, or none".into(),
                        advice: "write the times of all days in the same way".into(),
                    });
                }
                Some((previous.log()?, columns))
            }
        };
        let aggregated =
            events.aggregate(&self.rules, previous, &writer.path(events::FILE), run)?;
        log.report_dropped(aggregated.dropped, &self.rules);
        let cuts = (self.split == Some(SplitBy::Time)).then(|| Cuts {
            shares: (self.validation.unwrap_or(0.1), self.test.unwrap_or(0.1)),
            from: (self.validation_from.as_deref(), self.test_from.as_deref()),
        });
        let clicks = &aggregated.clicks;
        let timeline = Timeline::new(clicks, aggregated.columns, self.rules.half_life, cuts)?;
        log.add_events(&aggregated, &timeline, memory, run)?;
        let rules = self.rules.clone();
        let from = (self.validation_from.clone(), self.test_from.clone());
        Ok(Some(Events { aggregated, timeline, rules, from }))
    }

    /// The tables to read, each after those whose ids it needs.
    fn source_tables(&self) -> Result<(Vec<SourceTable>, Option<SplitBy>)> {
        let tables = [
            (Role::Queries, &self.queries),
            (Role::Documents, &self.documents),
            (Role::Events, &self.events),
            (Role::Clicks, &self.clicks),
            (Role::Links, &self.links),
            (Role::Judgments, &self.judgments),
        ];
        let mut sources: Vec<SourceTable> = tables
            .into_iter()
            .filter_map(|(role, table)| Some((role, table.clone()?)))
            .map(|(role, table)| SourceTable { role, table, part: None, also_links: false })
            .collect();
        if let Some(folder) = &self.beir {
            if let Some(source) = sources.first() {
                let expected = "no tables besides a BEIR folder";
                return Err(Error::parameter(
                    source.role.name(),
                    source.table.path.display(),
                    expected,
                ));
            }
            return beir::tables(folder, self.split).map(|(sources, by)| (sources, Some(by)));
        }
        if self.append.is_some() && self.events.is_none() {
            return Err(Error::Empty {
                what: "there is nothing to append".into(),
                advice: "give the new events: `events = FILE`".into(),
            });
        }
        if self.documents.is_some() && self.doc_text.is_some() {
            let expected = "no documents, because texts take the place of their ids (doc_text)";
            return Err(Error::parameter("documents", "given", expected));
        }
        if self.events.is_some() && self.doc_text.is_some() {
            let expected = "no events, because texts take the place of documents' ids (doc_text)";
            return Err(Error::parameter("events", "given", expected));
        }
        if !sources.iter().any(|source| source.role != Role::Queries) {
            return Err(Error::Empty {
                what: "there is nothing to import".into(),
                advice:
                    "give `events`, `clicks`, `links`, `judgments`, `documents` or a BEIR folder"
                        .into(),
            });
        }
        if !sources.iter().any(SourceTable::is_learnt_from) {
            // Undone where the judgments themselves are split.
            let also_links = self.split != Some(SplitBy::Judgments);
            let judgments = sources.iter_mut().filter(|r| r.role == Role::Judgments);
            judgments.for_each(|source| source.also_links = also_links);
        }
        if sources.iter().filter(|source| is_stdin(&source.table.path)).count() > 1 {
            let expected = "one table at most from standard input";
            return Err(Error::parameter("path", "-", expected));
        }
        Ok((sources, self.split))
    }

    fn check_shares(&self) -> Result<()> {
        for (name, share) in [("validation", self.validation), ("test", self.test)] {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                return Err(Error::parameter(name, share, "a share between 0 and 1"));
            }
        }
        let sum = self.validation.unwrap_or(0.0) + self.test.unwrap_or(0.0);
        if sum > 1.0 + 1e-9 {
            return Err(Error::parameter("validation + test", sum, "a sum of at most 1"));
        }
        Ok(())
    }

    fn split(
        &self,
        asked: Option<SplitBy>,
        log: &Log,
        has_judgments: bool,
        learns: bool,
    ) -> Result<Split> {
        let nothing_to_split = !has_judgments && !learns;
        let by = asked.unwrap_or(if log.has_splits || nothing_to_split {
            SplitBy::Given
        } else if has_judgments {
            SplitBy::Judgments
        } else {
            SplitBy::Queries
        });
        if asked == Some(SplitBy::Given) && !log.has_splits {
            return Err(Error::Empty {
                what: "a split as given needs a column split, and no table has one".into(),
                advice: "add the column, map it (`columns = split=NAME`), or split by queries"
                    .into(),
            });
        }
        if by == SplitBy::Time && self.events.is_none() {
            return Err(Error::Empty {
                what: "a split by time needs events, and there are none".into(),
                advice: "give a raw log with times (`events = FILE`), or split by queries".into(),
            });
        }
        if by != SplitBy::Time && (self.validation_from.is_some() || self.test_from.is_some()) {
            let expected = "time, because the start of validation or test is given";
            return Err(Error::parameter("split", by.name(), expected));
        }
        if by == SplitBy::Judgments && !has_judgments {
            return Err(Error::Empty {
                what: "a split of judgments needs judgments, and there are none".into(),
                advice: "give them as `judgments = FILE`, or split by queries".into(),
            });
        }
        let shares = match (by, self.validation, self.test) {
            (SplitBy::Judgments | SplitBy::Given, None, None) => (0.5, 0.5),
            (SplitBy::Judgments | SplitBy::Given, Some(share), None) => (share, 1.0 - share),
            (SplitBy::Judgments | SplitBy::Given, None, Some(share)) => (1.0 - share, share),
            (_, validation, test) => (validation.unwrap_or(0.1), test.unwrap_or(0.1)),
        };
        Ok(Split { by, seed: self.seed.unwrap_or(0), shares })
    }

    fn filter(&self, divided: &mut SplitPairs, log: &Log) -> Result<Option<FilterReport>> {
        if log.has_weights {
            return match self.min_clicks.filter(|&min| min > 1) {
                None => Ok(None),
                Some(min) => {
                    let expected = "no click filter for signed weights";
                    Err(Error::parameter("min_clicks", min, expected))
                }
            };
        }
        let usual = if log.has_counts { MIN_CLICKS } else { 0 };
        let min_clicks = self.min_clicks.unwrap_or(usual);
        if min_clicks <= 1 {
            return Ok(None);
        }
        let before = divided.train.len();
        divided.train.retain(|edge| edge.linked || edge.weight >= min_clicks as f32);
        let dropped = before - divided.train.len();
        if divided.train.is_empty() {
            return Err(Error::Empty {
                what: format!(
                    "the click filter leaves nothing to learn from: all {before} training pairs have fewer than {min_clicks} clicks"
                ),
                advice: "to keep them all, add `min_clicks = 1`".into(),
            });
        }
        divided.drop(&format!("training pairs with fewer than {min_clicks} clicks"), dropped);
        Ok(Some(FilterReport { min_clicks, before, dropped }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Table, TableFormat};

    #[test]
    fn a_stopped_import_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let clicks = Table { format: Some(TableFormat::Tsv), ..Table::new("Cargo.toml") };
        let import = Import { clicks: Some(clicks), ..Import::default() };
        let run = Run::new(&|_| {}, &|| true);
        let stopped = import.run(&dir.path().join("out"), false, &run);
        assert!(matches!(stopped, Err(Error::Cancelled)));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
