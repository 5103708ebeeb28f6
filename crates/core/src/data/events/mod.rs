//! Raw logs: one line per event, a user who saw or clicked a document for a query.
//!
//! ```text
//! events ── sort by query, user, page, time (external sort if memory is short) ──▶ one query at a time
//!        ── count users, drop robots and repetitions, group impressions ──▶ QueryLog
//!        ── merge with the aggregated log of the dataset appended to ──▶ log.jsonl.zst
//!        ── second pass: weights by age, splits by time ──▶ pairs, impressions
//! ```
//! The result is the same, byte for byte, for any memory limit and any order of the lines.

mod about;
mod aggregated_log;
mod event;
mod group;
mod log_columns;
mod query_log;
mod rank_one;
mod timeline;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use about::{EventRules, EventsAbout};
pub(super) use aggregated_log::{AggregatedLogReader, FILE};
pub(super) use event::{Event, SEPARATOR, parse_clicked, parse_rank};
pub(super) use group::DroppedEvents;
pub use log_columns::LogColumns;
pub(super) use query_log::{Shown, Span};
pub(super) use timeline::{Cuts, Timeline};

use crate::file::Sorter;
use crate::{Result, Run};
use aggregated_log::{AggregatedLogWriter, LogMerger};

/// The events of a source, while they are read.
pub(super) struct EventLog {
    events: Sorter,
    /// One key per event, to find users with too many events.
    users: Option<Sorter>,
    pub columns: LogColumns,
    /// Whether an event had no time.
    pub untimed: bool,
    record: Vec<u8>,
}

/// A log, aggregated and written to [`FILE`].
pub(super) struct AggregatedLog {
    path: PathBuf,
    pub columns: LogColumns,
    pub dropped: DroppedEvents,
    /// Clicks by span.
    pub clicks: BTreeMap<Span, u64>,
    /// Temporary files that the sort needed.
    pub files: usize,
}

impl EventLog {
    /// An empty log that holds at most `memory` bytes, and the rest in files below `scratch`.
    pub(super) fn new(scratch: &Path, memory: u64, rules: &EventRules) -> Result<Self> {
        // Keys are short: a sixteenth holds as many of them as the rest holds events.
        let users = rules.max_user_events.map(|_| Sorter::new(scratch, memory / 16)).transpose()?;
        let events = Sorter::new(scratch, memory - memory / 16)?;
        let columns = LogColumns::default();
        Ok(EventLog { events, users, columns, untimed: false, record: Vec::new() })
    }

    pub(super) fn push(&mut self, event: &Event<'_>) -> Result<()> {
        event.encode(&mut self.record);
        self.events.push(&self.record)?;
        match &mut self.users {
            Some(users) if !event.user.is_empty() => {
                users.push(&group::user_key(event.user).to_be_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Sorts and aggregates the events into `path`, merged with the log of `previous`.
    pub(super) fn aggregate(
        self,
        rules: &EventRules,
        previous: Option<(AggregatedLogReader, LogColumns)>,
        path: &Path,
        run: &Run<'_>,
    ) -> Result<AggregatedLog> {
        run.step("sorting", 0, None)?;
        let robots = match (self.users, rules.max_user_events) {
            (Some(users), Some(most)) => group::robots(users, most, run)?,
            _ => Default::default(),
        };
        let events = self.events.finish(run)?;
        let files = events.files();
        let (previous, before) = previous.unzip();
        let mut merger = LogMerger::new(previous, AggregatedLogWriter::create(path)?)?;
        let dropped =
            group::group(events, self.columns, rules, &robots, run, |log| merger.push(log))?;
        let clicks = merger.finish()?;
        let columns = self.columns.or(before.unwrap_or_default());
        Ok(AggregatedLog { path: path.to_owned(), columns, dropped, clicks, files })
    }
}

impl AggregatedLog {
    /// The aggregated log, query by query.
    pub(super) fn queries(&self) -> Result<AggregatedLogReader> {
        AggregatedLogReader::open(&self.path)
    }
}
