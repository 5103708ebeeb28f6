//! From sorted events to one [`QueryLog`] per query: counts users, drops robots and repetitions,
//! and groups the events of an impression.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::EventRules;
use super::event::Event;
use super::log_columns::LogColumns;
use super::query_log::{Builder, QueryLog, Shown, rank_order};
use crate::file::{Sorted, Sorter};
use crate::{Error, Result, Run};

/// Events of one user and query further apart than this belong to different impressions, in
/// seconds.
const MAX_GAP: i64 = 30 * 60;

/// Events dropped while grouping, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::data) struct DroppedEvents {
    pub repeated: u64,
    pub of_robots: u64,
    pub robots: u64,
    pub of_rare_queries: u64,
    pub rare_queries: u64,
    pub beyond_cap: u64,
}

/// Calls `sink` with each of the sorted events but repetitions, and returns how many these were.
pub(super) fn for_each_event(
    mut events: Sorted,
    columns: LogColumns,
    stage: &str,
    run: &Run<'_>,
    mut sink: impl FnMut(&Event<'_>) -> Result<()>,
) -> Result<u64> {
    let (mut previous, mut seen, mut repeated) = (Vec::new(), 0u64, 0);
    while let Some(record) = events.next_record()? {
        seen += 1;
        if seen.is_multiple_of(1 << 16) {
            run.step(stage, seen, None)?;
        }
        let event = Event::decode(record).ok_or_else(|| Error::Structure {
            problem: "a sorted event cannot be decoded".into(),
        })?;
        // Nobody does the same thing twice in one second: such a line was logged twice.
        if columns.times && !event.user.is_empty() && record == previous {
            repeated += 1;
            continue;
        }
        previous.clear();
        previous.extend_from_slice(record);
        sink(&event)?;
    }
    Ok(repeated)
}

/// Calls `sink` with the log of each query, in ascending order; that of a very frequent query
/// may come in several chunks.
pub(super) fn group(
    events: Sorted,
    columns: LogColumns,
    rules: &EventRules,
    robots: &HashSet<u64>,
    run: &Run<'_>,
    mut sink: impl FnMut(QueryLog) -> Result<()>,
) -> Result<DroppedEvents> {
    let mut dropped = DroppedEvents { robots: robots.len() as u64, ..DroppedEvents::default() };
    let mut grouping: Option<Grouping> = None;
    let repeated = for_each_event(events, columns, "aggregating", run, |event| {
        if !robots.is_empty() && robots.contains(&user_key(event.user)) {
            dropped.of_robots += 1;
            return Ok(());
        }
        if grouping.as_ref().is_none_or(|grouping| grouping.builder.query() != event.query)
            && let Some(done) = grouping.take()
        {
            done.finish(rules, &mut dropped, &mut sink)?;
        }
        let grouping = grouping.get_or_insert_with(|| Grouping::new(event.query, columns));
        grouping.add(event, rules, &mut dropped, &mut sink)
    })?;
    if let Some(done) = grouping {
        done.finish(rules, &mut dropped, &mut sink)?;
    }
    Ok(DroppedEvents { repeated, ..dropped })
}

/// The events of one query, which come by user, page and time.
#[derive(Default)]
struct Grouping {
    columns: LogColumns,
    builder: Builder,
    /// Finished chunks, held back until the query has enough users.
    chunks: Vec<QueryLog>,
    users: u64,
    events: u64,
    user: Option<String>,
    /// The user's clicks, by document.
    clicked: HashMap<u32, u32>,
    page: String,
    last: i64,
    shown: Vec<Shown>,
}

impl Grouping {
    fn new(query: &str, columns: LogColumns) -> Self {
        Grouping { columns, builder: Builder::new(query), ..Grouping::default() }
    }

    fn add(
        &mut self,
        event: &Event<'_>,
        rules: &EventRules,
        dropped: &mut DroppedEvents,
        sink: &mut impl FnMut(QueryLog) -> Result<()>,
    ) -> Result<()> {
        self.events += 1;
        let other_user = self.user.as_deref() != Some(event.user);
        if other_user || is_other_page(&self.page, self.last, event, self.columns) {
            self.end_impression();
            // Not within a user, whose `clicked` refers to documents of the builder.
            if other_user || event.user.is_empty() {
                self.flush_if_large(rules, sink)?;
            }
        }
        if other_user {
            self.user = Some(event.user.to_owned());
            // An unknown user may have been counted already.
            self.users += u64::from(!event.user.is_empty());
            self.clicked.clear();
        }
        let place = self.builder.place(event.doc);
        self.builder.spelt(event.spelling, 1);
        if event.clicked {
            let clicks = self.clicked.entry(place).or_default();
            *clicks = clicks.saturating_add(1);
            // Events of unknown users look like those of one user.
            let capped =
                !event.user.is_empty() && rules.max_per_user.is_some_and(|most| *clicks > most);
            if capped {
                dropped.beyond_cap += 1;
            } else {
                self.builder.click(place, self.columns.span(event.seconds), 1);
            }
        }
        if self.columns.impressions {
            if self.shown.is_empty() {
                self.page.clear();
                self.page.push_str(event.page);
            }
            self.last = event.seconds;
            self.shown.push((place, event.rank, event.clicked));
        }
        Ok(())
    }

    /// Adds the current impression to the log: by rank, each document once. It has the time of its
    /// last event, so that no impression holds a click that came after it.
    fn end_impression(&mut self) {
        if self.shown.is_empty() {
            return;
        }
        let by_rank = |&(doc, rank, clicked): &Shown| (doc, rank == 0, rank, !clicked);
        self.shown.sort_unstable_by_key(by_rank);
        let mut list: Vec<Shown> = Vec::with_capacity(self.shown.len());
        for same in self.shown.chunk_by(|a, b| a.0 == b.0) {
            let (doc, best, _) = same[0];
            list.push((doc, best, same.iter().any(|&(_, _, clicked)| clicked)));
        }
        list.sort_unstable_by_key(rank_order);
        self.builder.list(self.columns.span(self.last), list, 1);
        self.shown.clear();
    }

    /// Ends a chunk if the builder is large; passes chunks on once the query has enough users.
    fn flush_if_large(
        &mut self,
        rules: &EventRules,
        sink: &mut impl FnMut(QueryLog) -> Result<()>,
    ) -> Result<()> {
        if !self.builder.is_large() {
            return Ok(());
        }
        let next = Builder::new(self.builder.query());
        self.chunks.push(std::mem::replace(&mut self.builder, next).finish());
        self.clicked.clear();
        if self.users >= u64::from(rules.min_users()) {
            self.chunks.drain(..).try_for_each(sink)?;
        }
        Ok(())
    }

    fn finish(
        mut self,
        rules: &EventRules,
        dropped: &mut DroppedEvents,
        sink: &mut impl FnMut(QueryLog) -> Result<()>,
    ) -> Result<()> {
        self.end_impression();
        if self.users < u64::from(rules.min_users()) {
            dropped.rare_queries += 1;
            dropped.of_rare_queries += self.events;
            return Ok(());
        }
        self.chunks.push(self.builder.finish());
        self.chunks.into_iter().try_for_each(sink)
    }
}

/// Whether `event` belongs to another impression than the current one, whose page is `page` and
/// whose last event was at `last`; both are of one user and query.
pub(super) fn is_other_page(page: &str, last: i64, event: &Event<'_>, columns: LogColumns) -> bool {
    if page != event.page {
        return true;
    }
    if event.of_page {
        return false;
    }
    let known = !event.user.is_empty() || !event.page.is_empty();
    match (known, columns.times) {
        (true, true) => event.seconds - last > MAX_GAP,
        (true, false) => false,
        // Without user and page, what was shown in one second was one impression.
        (false, true) => event.seconds != last,
        (false, false) => true,
    }
}

/// Identifies a user while robots are counted.
pub(super) fn user_key(user: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    hasher.finish()
}

/// The users with more than `most` events; `users` holds one key per event.
pub(super) fn robots(users: Sorter, most: u64, run: &Run<'_>) -> Result<HashSet<u64>> {
    let mut robots = HashSet::new();
    let mut users = users.finish(run)?;
    let (mut current, mut count) = ([0; 8], 0);
    while let Some(key) = users.next_record()? {
        if key != current {
            current.copy_from_slice(key);
            count = 0;
        }
        count += 1;
        // Once: the count goes on.
        if count == most + 1 {
            robots.insert(u64::from_be_bytes(current));
        }
    }
    Ok(robots)
}

#[cfg(test)]
mod tests;
