//! From sorted events to one [`QueryLog`] a query: users counted, robots and repetitions left
//! out, the events of a page put together.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::EventRules;
use super::event::Event;
use super::offers::Offers;
use super::query_log::{Builder, QueryLog, Shown, place_on_page};
use crate::file::{Sorted, Sorter};
use crate::{Error, Result, Run};

/// Events of one user and query further apart than this are different pages, in seconds.
const PAGE_GAP: i64 = 30 * 60;

/// Events that were left out, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::data) struct LeftOut {
    pub repeated: u64,
    pub of_robots: u64,
    pub robots: u64,
    pub of_rare_queries: u64,
    pub rare_queries: u64,
    pub beyond_cap: u64,
}

/// Calls `sink` with the log of each query, in ascending order; that of a very frequent query
/// may come in several pieces.
pub(super) fn group(
    mut events: Sorted,
    offers: Offers,
    rules: &EventRules,
    robots: &HashSet<u64>,
    run: &Run<'_>,
    mut sink: impl FnMut(QueryLog) -> Result<()>,
) -> Result<LeftOut> {
    let mut left_out = LeftOut { robots: robots.len() as u64, ..LeftOut::default() };
    let mut previous = Vec::new();
    let mut grouping: Option<Grouping> = None;
    let mut seen = 0u64;
    while let Some(record) = events.next_record()? {
        seen += 1;
        if seen.is_multiple_of(1 << 16) {
            run.step("aggregating", seen, None)?;
        }
        let event = Event::decode(record).ok_or_else(|| Error::Structure {
            problem: "a sorted event cannot be read back".into(),
        })?;
        // Nobody does the same thing twice in one second; a log written twice says so.
        if offers.times && !event.user.is_empty() && record == previous {
            left_out.repeated += 1;
            continue;
        }
        previous.clear();
        previous.extend_from_slice(record);
        if !robots.is_empty() && robots.contains(&user_key(event.user)) {
            left_out.of_robots += 1;
            continue;
        }
        if grouping.as_ref().is_none_or(|grouping| grouping.builder.query() != event.query) {
            if let Some(done) = grouping.take() {
                done.finish(rules, &mut left_out, &mut sink)?;
            }
            grouping = Some(Grouping::new(event.query, offers));
        }
        if let Some(grouping) = &mut grouping {
            grouping.add(&event, rules, &mut left_out, &mut sink)?;
        }
    }
    if let Some(done) = grouping {
        done.finish(rules, &mut left_out, &mut sink)?;
    }
    Ok(left_out)
}

/// One query's events, while they come: by user, page and time.
struct Grouping {
    offers: Offers,
    builder: Builder,
    /// Pieces that wait for enough users.
    pieces: Vec<QueryLog>,
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
    fn new(query: &str, offers: Offers) -> Self {
        Grouping {
            offers,
            builder: Builder::new(query),
            pieces: Vec::new(),
            users: 0,
            events: 0,
            user: None,
            clicked: HashMap::new(),
            page: String::new(),
            last: 0,
            shown: Vec::new(),
        }
    }

    fn add(
        &mut self,
        event: &Event<'_>,
        rules: &EventRules,
        left_out: &mut LeftOut,
        sink: &mut impl FnMut(QueryLog) -> Result<()>,
    ) -> Result<()> {
        self.events += 1;
        let other_user = self.user.as_deref() != Some(event.user);
        if other_user || self.is_other_page(event) {
            self.close();
            // Between two users nothing is open; nobody in particular has nothing to keep.
            if other_user || event.user.is_empty() {
                self.relieve(rules, sink)?;
            }
        }
        if other_user {
            self.user = Some(event.user.to_owned());
            // Nobody in particular may be somebody who was counted already.
            self.users += u64::from(!event.user.is_empty());
            self.clicked.clear();
        }
        let place = self.builder.place(event.doc);
        self.builder.spelt(event.spelling, 1);
        if event.clicked {
            let clicks = self.clicked.entry(place).or_default();
            *clicks = clicks.saturating_add(1);
            // The events of nobody in particular seem to be of one user.
            let capped =
                !event.user.is_empty() && rules.max_per_user.is_some_and(|most| *clicks > most);
            if capped {
                left_out.beyond_cap += 1;
            } else {
                self.builder.click(place, self.offers.span(event.seconds), 1);
            }
        }
        if self.offers.impressions {
            if self.shown.is_empty() {
                self.page.clear();
                self.page.push_str(event.page);
            }
            self.last = event.seconds;
            self.shown.push((place, event.rank, event.clicked));
        }
        Ok(())
    }

    fn is_other_page(&self, event: &Event<'_>) -> bool {
        is_other_page(&self.page, self.last, event, self.offers)
    }

    /// Ends the page at hand: by rank, each document once. A page belongs to the time of its
    /// last event, so that no click of later is in a page of earlier.
    fn close(&mut self) {
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
        list.sort_unstable_by_key(place_on_page);
        self.builder.list(self.offers.span(self.last), list, 1);
        self.shown.clear();
    }

    /// Hands over what is large, if the query may be shown at all.
    fn relieve(
        &mut self,
        rules: &EventRules,
        sink: &mut impl FnMut(QueryLog) -> Result<()>,
    ) -> Result<()> {
        if !self.builder.is_large() {
            return Ok(());
        }
        let next = Builder::new(self.builder.query());
        self.pieces.push(std::mem::replace(&mut self.builder, next).finish());
        self.clicked.clear();
        if self.users >= u64::from(rules.least_users()) {
            self.pieces.drain(..).try_for_each(sink)?;
        }
        Ok(())
    }

    fn finish(
        mut self,
        rules: &EventRules,
        left_out: &mut LeftOut,
        sink: &mut impl FnMut(QueryLog) -> Result<()>,
    ) -> Result<()> {
        self.close();
        if self.users < u64::from(rules.least_users()) {
            left_out.rare_queries += 1;
            left_out.of_rare_queries += self.events;
            return Ok(());
        }
        self.pieces.push(self.builder.finish());
        self.pieces.into_iter().try_for_each(sink)
    }
}

/// Whether `event` is on another page than the one `page`, whose last event so far was at `last`;
/// both of one user and query.
pub(super) fn is_other_page(page: &str, last: i64, event: &Event<'_>, offers: Offers) -> bool {
    if page != event.page {
        return true;
    }
    if event.of_page {
        return false;
    }
    let known = !event.user.is_empty() || !event.page.is_empty();
    match (known, offers.times) {
        (true, true) => event.seconds - last > PAGE_GAP,
        (true, false) => false,
        // Nothing says who saw it: what was shown in one second was one page.
        (false, true) => event.seconds != last,
        (false, false) => true,
    }
}

/// Stands for a user while robots are counted.
pub(super) fn user_key(user: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    hasher.finish()
}

/// The users with more than `most` events, from one key an event.
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
