//! The clicks on first results, as in page → advert: only a click at rank 1 counts, and a page
//! of results without a click is no evidence of anything.
//!
//! A result further down is clicked less because fewer people look at it. A click at rank 1 and
//! none at rank 1 while another result was clicked are both seen by somebody who looked.

use super::EventLog;
use super::event::Event;
use super::group::is_other_page;
use crate::{Error, Result, Run};

/// What was found in a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::data) struct FirstClicks {
    /// Pages of results.
    pub pages: u64,
    /// Of these, those that nobody clicked anything on.
    pub without_click: u64,
    /// Clicks at rank 1.
    pub first: u64,
    /// Clicks further down.
    pub below: u64,
    /// Clicks of which the log does not say the rank.
    pub unranked: u64,
    /// The same event of the same user in the same second again.
    pub repeated: u64,
}

/// The page of results at hand.
struct OpenPage {
    query: String,
    user: String,
    page: String,
    /// The second of its last event.
    last: i64,
    clicked: bool,
}

impl OpenPage {
    fn of(event: &Event<'_>) -> Self {
        let [query, user, page] = [event.query, event.user, event.page].map(str::to_owned);
        OpenPage { query, user, page, last: event.seconds, clicked: false }
    }
}

impl EventLog {
    /// Calls `sink` with every event and whether it is a click at rank 1, sorted by query, user,
    /// page and time.
    pub(in crate::data) fn first_clicks(
        self,
        run: &Run<'_>,
        mut sink: impl FnMut(&Event<'_>, bool) -> Result<()>,
    ) -> Result<FirstClicks> {
        if !self.offers.ranks {
            return Err(Error::Empty {
                what: "the events have no ranks, and only clicks at rank 1 are to count".into(),
                advice: "say which column holds them: `columns = events:rank=NAME`".into(),
            });
        }
        run.step("sorting", 0, None)?;
        let offers = self.offers;
        let mut events = self.events.finish(run)?;
        let mut found = FirstClicks::default();
        let mut previous = Vec::new();
        let mut open: Option<OpenPage> = None;
        let mut seen = 0u64;
        while let Some(record) = events.next_record()? {
            seen += 1;
            if seen.is_multiple_of(1 << 16) {
                run.step("looking for clicks at rank 1", seen, None)?;
            }
            let event = Event::decode(record).ok_or_else(|| Error::Structure {
                problem: "a sorted event cannot be read back".into(),
            })?;
            // As everywhere: nobody does the same thing twice in one second.
            if offers.times && !event.user.is_empty() && record == previous {
                found.repeated += 1;
                continue;
            }
            previous.clear();
            previous.extend_from_slice(record);
            let continues = open.as_ref().is_some_and(|open| {
                open.query == event.query
                    && open.user == event.user
                    && !is_other_page(&open.page, open.last, &event, offers)
            });
            if !continues {
                found.close(open.take());
            }
            let page = open.get_or_insert_with(|| OpenPage::of(&event));
            page.last = event.seconds;
            page.clicked |= event.clicked;
            match (event.clicked, event.rank) {
                (false, _) => {}
                (true, 0) => found.unranked += 1,
                (true, 1) => found.first += 1,
                (true, _) => found.below += 1,
            }
            sink(&event, event.clicked && event.rank == 1)?;
        }
        found.close(open);
        Ok(found)
    }
}

impl FirstClicks {
    fn close(&mut self, page: Option<OpenPage>) {
        if let Some(page) = page {
            self.pages += 1;
            self.without_click += u64::from(!page.clicked);
        }
    }
}
