//! Parses the rows of a raw log as events.

use std::borrow::Cow;

use super::super::events::{Event, EventLog, SEPARATOR, parse_clicked, parse_rank};
use super::super::identity::identity;
use super::checked_rows::RowUse;
use super::{Log, unknown_query};
use crate::rows::{BadRow, Checked, ColumnRole, TableReader, time};
use crate::{Result, quoted};

/// Longer texts are a broken line, not a query or an id.
const MAX_BYTES: usize = 1 << 16;

impl Log {
    /// Adds the event in the current row of `row` to `events`.
    pub(super) fn event(
        &mut self,
        row: &TableReader<'_>,
        events: &mut EventLog,
    ) -> Result<Checked<RowUse>> {
        let fields = match self.fields(row, events) {
            Ok(Ok(fields)) => fields,
            Ok(Err(why)) => return Ok(Ok(RowUse::No(why))),
            Err(bad) => return Ok(Err(bad)),
        };
        let columns = &mut events.columns;
        columns.times |= fields.moment.is_some();
        columns.times_have_dates |= fields.moment.is_some_and(|moment| moment.dated);
        columns.users |= !fields.user.is_empty();
        columns.ranks |= fields.rank > 0;
        columns.impressions |= !fields.clicked;
        events.untimed |= fields.moment.is_none();
        events.push(&Event {
            query: &fields.query,
            user: &fields.user,
            page: &fields.page,
            seconds: fields.moment.map_or(0, |moment| moment.seconds),
            rank: fields.rank,
            clicked: fields.clicked,
            of_page: fields.of_page,
            doc: &fields.doc,
            spelling: &fields.spelling,
        })?;
        Ok(Ok(RowUse::Yes))
    }

    /// The fields of the event; the inner error says why a valid row is not an event.
    fn fields<'a>(
        &self,
        row: &'a TableReader<'_>,
        events: &EventLog,
    ) -> Checked<std::result::Result<Fields<'a>, &'static str>> {
        let raw = row.text(ColumnRole::Query)?;
        let spelling = if row.has_brackets() { unbracketed(raw) } else { raw };
        let Some(doc) = row.optional(ColumnRole::Doc)? else {
            return Ok(Err("no document: a query without a click"));
        };
        let times = events.columns.times;
        let moment = match row.optional(ColumnRole::Time)? {
            None if times || row.has(ColumnRole::Time) => {
                return Err(row.bad("missing field", "a time, as in other rows", "nothing"));
            }
            None => None,
            Some(text) => {
                let moment = time::parse(&text)
                    .ok_or_else(|| row.bad("bad time", time::EXPECTED, quoted(&text)))?;
                if times && moment.dated != events.columns.times_have_dates {
                    let expected = match events.columns.times_have_dates {
                        true => "a time with its date, as before",
                        false => "a time of day without date, as before",
                    };
                    return Err(row.bad("bad time", expected, quoted(&text)));
                }
                if events.untimed {
                    return Err(row.bad("bad time", "no time, as in rows before", "one"));
                }
                Some(moment)
            }
        };
        let rank = match row.optional(ColumnRole::Rank)? {
            None => 0,
            Some(text) => parse_rank(&text).ok_or_else(|| BadRow {
                advice: "ranks count from 1; leave the field empty where there is none",
                ..row.bad("bad rank", "a whole number from 1 as rank", quoted(&text))
            })?,
        };
        let clicked = match row.optional(ColumnRole::Clicked)? {
            None if row.has(ColumnRole::Clicked) => {
                return Err(row.bad("missing field", "whether it was clicked", "nothing"));
            }
            None => true,
            Some(text) => parse_clicked(&text).ok_or_else(|| {
                let expected = "1, true or click, or 0, false or shown, as clicked";
                row.bad("bad field", expected, quoted(&text))
            })?,
        };
        let session = row.optional(ColumnRole::Session)?.unwrap_or_default();
        let page = row.optional(ColumnRole::Page)?;
        let of_page = page.is_some();
        let page = page.unwrap_or_else(|| session.clone());
        // Without a column user, a session counts as a user. With one, a missing user stays unknown,
        // because several sessions may be of one person.
        let unknown = if row.has(ColumnRole::User) { Cow::default() } else { session };
        let user = row.optional(ColumnRole::User)?.unwrap_or(unknown);
        let (query, spelling) = match self.queries.listed {
            true => (spelling, Cow::Borrowed("")),
            false => (Cow::Owned(identity(&spelling).into_owned()), spelling),
        };
        let fields = Fields { query, spelling, doc, user, page, of_page, moment, rank, clicked };
        fields.check(row)?;
        self.known(row, &fields)?;
        Ok(Ok(fields))
    }

    /// Where queries and documents are listed, an event names one of them.
    fn known(&self, row: &TableReader<'_>, fields: &Fields<'_>) -> Checked<()> {
        if self.queries.listed && self.queries.names.get(&fields.query).is_none() {
            return Err(unknown_query(row, &fields.query, false));
        }
        if self.documents_listed && self.documents.get(&fields.doc).is_none() {
            return Err(self.unknown_document(row, &fields.doc));
        }
        Ok(())
    }
}

struct Fields<'a> {
    query: Cow<'a, str>,
    spelling: Cow<'a, str>,
    doc: Cow<'a, str>,
    user: Cow<'a, str>,
    page: Cow<'a, str>,
    /// Whether the page is a result page, not a session.
    of_page: bool,
    moment: Option<time::Moment>,
    rank: u32,
    clicked: bool,
}

impl Fields<'_> {
    fn check(&self, row: &TableReader<'_>) -> Checked<()> {
        let texts = [
            ("query", &self.query),
            ("query", &self.spelling),
            ("doc", &self.doc),
            ("user", &self.user),
            ("page", &self.page),
        ];
        for (name, text) in texts {
            if text.contains(SEPARATOR) {
                let expected = format!("text as {name}");
                return Err(row.bad("bad field", expected, "a NUL character in it"));
            }
            if text.len() > MAX_BYTES {
                let expected = format!("at most {MAX_BYTES} bytes as {name}");
                return Err(row.bad("bad field", expected, format!("{}", text.len())));
            }
        }
        if self.query.is_empty() && !self.spelling.is_empty() {
            return Err(row.bad("missing field", "the field query", "spaces"));
        }
        Ok(())
    }
}

/// `[text]` without its brackets.
fn unbracketed(text: Cow<'_, str>) -> Cow<'_, str> {
    fn inside(text: &str) -> &str {
        text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(inside(text)),
        Cow::Owned(text) => Cow::Owned(inside(&text).to_owned()),
    }
}
