//! Raw logs: one line an event, somebody who saw or clicked a document for a query.
//!
//! ```text
//! events ── sort by query, user, page, time (files where memory ends) ──▶ one query at a time
//!        ── count users, drop robots and repetitions, put pages together ──▶ QueryLog
//!        ── merge with the log that the dataset kept from before ──▶ log.jsonl.zst
//!        ── read it again: weights by age, parts by time ──▶ pairs, lists of impressions
//! ```
//! Whatever the limit on memory and the order of the lines, the bytes are the same.

mod about;
mod aggregated_log;
mod event;
mod group;
mod offers;
mod query_log;
mod rank_one;
mod timeline;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use about::{EventRules, EventsAbout};
pub(super) use aggregated_log::{FILE, KeptLog};
pub(super) use event::{Event, SEPARATOR, parse_clicked, parse_rank};
pub(super) use group::LeftOut;
pub use offers::Offers;
pub(super) use query_log::{QueryLog, Shown, Span};
pub(super) use timeline::{Cuts, Timeline};

use crate::file::Sorter;
use crate::{Result, Run};
use aggregated_log::{Appending, KeptWriter};

/// The events of a source, while they are read.
pub(super) struct EventLog {
    events: Sorter,
    /// One key an event, where users with too many are to be found.
    users: Option<Sorter>,
    pub offers: Offers,
    /// Whether an event had no time.
    pub untimed: bool,
    record: Vec<u8>,
}

/// A log, aggregated and written to [`FILE`].
pub(super) struct Aggregated {
    path: PathBuf,
    pub offers: Offers,
    pub left_out: LeftOut,
    /// Clicks by span.
    pub clicks: BTreeMap<Span, u64>,
    /// Files that the sort needed.
    pub files: usize,
}

impl EventLog {
    /// An empty log that keeps at most `memory` bytes, and the rest in files below `scratch`.
    pub(super) fn new(scratch: &Path, memory: u64, rules: &EventRules) -> Result<Self> {
        // Keys are short: a sixteenth holds as many of them as the rest holds events.
        let users = match rules.max_user_events {
            None => None,
            Some(_) => Some(Sorter::new(scratch, memory / 16)?),
        };
        let events = Sorter::new(scratch, memory - memory / 16)?;
        let offers = Offers::default();
        Ok(EventLog { events, users, offers, untimed: false, record: Vec::new() })
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

    /// Sorts and aggregates what was read, together with what was `kept` before, into `path`.
    pub(super) fn aggregate(
        self,
        rules: &EventRules,
        kept: Option<(KeptLog, Offers)>,
        path: &Path,
        run: &Run<'_>,
    ) -> Result<Aggregated> {
        run.step("sorting", 0, None)?;
        let robots = match (self.users, rules.max_user_events) {
            (Some(users), Some(most)) => group::robots(users, most, run)?,
            _ => Default::default(),
        };
        let events = self.events.finish(run)?;
        let files = events.files();
        let (kept, before) =
            kept.map_or((None, Offers::default()), |(kept, offers)| (Some(kept), offers));
        let mut appending = Appending::new(kept, KeptWriter::create(path)?)?;
        let mut clicks: BTreeMap<Span, u64> = BTreeMap::new();
        let mut see = |log: &QueryLog| {
            for &(_, span, n) in &log.clicks {
                *clicks.entry(span).or_default() += n;
            }
        };
        let left_out = group::group(events, self.offers, rules, &robots, run, |log| {
            appending.push(log, &mut see)
        })?;
        appending.finish(&mut see)?;
        let offers = self.offers.or(before);
        Ok(Aggregated { path: path.to_owned(), offers, left_out, clicks, files })
    }
}

impl Aggregated {
    /// The aggregated log, query by query.
    pub(super) fn queries(&self) -> Result<KeptLog> {
        KeptLog::open(&self.path)
    }
}
