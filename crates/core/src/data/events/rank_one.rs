//! Clicks at rank 1, for the task page → advert: no other click counts, and a result page without a
//! click is no evidence.
//!
//! A result further down is clicked less because fewer users examine it. On a result page with any
//! click, however, the first result was examined, clicked or not.

use super::EventLog;
use super::event::Event;
use super::group::{for_each_event, is_other_page};
use crate::{Error, Result, Run};

/// How many clicks of a log are at rank 1, and how many are not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::data) struct FirstClicks {
    /// Result pages.
    pub pages: u64,
    /// Result pages without a click.
    pub without_click: u64,
    /// Clicks at rank 1.
    pub first: u64,
    /// Clicks below rank 1.
    pub below: u64,
    /// Clicks without a rank.
    pub unranked: u64,
    /// The same event of the same user in the same second again.
    pub repeated: u64,
}

/// The current result page.
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
        if !self.columns.ranks {
            return Err(Error::Empty {
                what: "the events have no ranks, and the task uses only clicks at rank 1".into(),
                advice: "say which column holds them: `columns = events:rank=NAME`".into(),
            });
        }
        run.step("sorting", 0, None)?;
        let columns = self.columns;
        let events = self.events.finish(run)?;
        let mut found = FirstClicks::default();
        let mut open: Option<OpenPage> = None;
        let stage = "looking for clicks at rank 1";
        let repeated = for_each_event(events, columns, stage, run, |event| {
            let continues = open.as_ref().is_some_and(|open| {
                open.query == event.query
                    && open.user == event.user
                    && !is_other_page(&open.page, open.last, event, columns)
            });
            if !continues {
                found.close(open.take());
            }
            let page = open.get_or_insert_with(|| OpenPage::of(event));
            page.last = event.seconds;
            page.clicked |= event.clicked;
            match (event.clicked, event.rank) {
                (false, _) => {}
                (true, 0) => found.unranked += 1,
                (true, 1) => found.first += 1,
                (true, _) => found.below += 1,
            }
            sink(event, event.clicked && event.rank == 1)
        })?;
        found.close(open);
        Ok(FirstClicks { repeated, ..found })
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
