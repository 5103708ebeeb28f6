//! A row of a raw log becomes an event.

use std::borrow::Cow;

use super::super::events::{Event, EventLog, SEPARATOR, parse_clicked, parse_rank};
use super::super::identity::identity;
use super::{Log, RowUse, unknown_query};
use crate::Result;
use crate::rows::{BadRow, Checked, ColumnRole, TableReader, excerpt, time};

/// Longer texts are taken for a broken line, not for a query or an id.
const LONGEST: usize = 1 << 16;

impl Log {
    /// Notes the event in the current row of `row`.
    pub(in crate::data) fn event(
        &mut self,
        row: &TableReader<'_>,
        events: &mut EventLog,
    ) -> Result<Checked<RowUse>> {
        let fields = match self.fields(row, events) {
            Ok(Ok(fields)) => fields,
            Ok(Err(why)) => return Ok(Ok(RowUse::No(why))),
            Err(bad) => return Ok(Err(bad)),
        };
        let offers = &mut events.offers;
        offers.times |= fields.moment.is_some();
        events.untimed |= fields.moment.is_none();
        let offers = &mut events.offers;
        offers.dated |= fields.moment.is_some_and(|moment| moment.dated);
        offers.users |= !fields.user.is_empty();
        offers.ranks |= fields.rank > 0;
        offers.impressions |= !fields.clicked;
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

    /// The fields of an event, or why a sound row is none.
    fn fields<'a>(
        &self,
        row: &'a TableReader<'_>,
        events: &EventLog,
    ) -> Checked<std::result::Result<Fields<'a>, &'static str>> {
        let raw = row.text(ColumnRole::Query)?;
        let spelling = if row.table_in_brackets() { unbracketed(raw) } else { raw };
        let Some(doc) = row.optional(ColumnRole::Doc)? else {
            return Ok(Err("no document: a query without a click"));
        };
        let moment = match row.optional(ColumnRole::Time)? {
            None => None,
            Some(text) => {
                let moment = time::parse(&text).ok_or_else(|| {
                    row.bad("bad time", time::EXPECTED, format!("{:?}", excerpt(&text)))
                })?;
                Some(moment)
            }
        };
        let times = events.offers.times;
        let mixed = moment.is_some_and(|m| times && m.dated != events.offers.dated);
        if mixed {
            let found = row.optional(ColumnRole::Time)?.unwrap_or_default();
            let expected = if events.offers.dated {
                "a time with its date, as before"
            } else {
                "a time of day without date, as before"
            };
            return Err(row.bad("bad time", expected, format!("{:?}", excerpt(&found))));
        }
        match moment {
            None if times || row.has(ColumnRole::Time) => {
                return Err(row.bad("missing field", "a time, as in other rows", "nothing"));
            }
            Some(_) if events.untimed => {
                return Err(row.bad("bad time", "no time, as in rows before", "one"));
            }
            _ => {}
        }
        let rank = match row.optional(ColumnRole::Rank)? {
            None => 0,
            Some(text) => parse_rank(&text).ok_or_else(|| BadRow {
                advice: "ranks count from 1; leave the field empty where there is none",
                ..row.bad(
                    "bad rank",
                    "a whole number from 1 on as rank",
                    format!("{:?}", excerpt(&text)),
                )
            })?,
        };
        let clicked = match row.optional(ColumnRole::Clicked)? {
            None if row.has(ColumnRole::Clicked) => {
                return Err(row.bad("missing field", "whether it was clicked", "nothing"));
            }
            None => true,
            Some(text) => parse_clicked(&text).ok_or_else(|| {
                row.bad(
                    "bad field",
                    "1, true or click, or 0, false or shown, as clicked",
                    format!("{:?}", excerpt(&text)),
                )
            })?,
        };
        let session = row.optional(ColumnRole::Session)?.unwrap_or_default();
        let page = row.optional(ColumnRole::Page)?;
        let of_page = page.is_some();
        let page = page.unwrap_or_else(|| session.clone());
        // Where there are no users, sessions stand for them; a user who is not known in a log
        // that knows others stays unknown, because several sessions may be of one person.
        let nobody = if row.has(ColumnRole::User) { Cow::default() } else { session };
        let user = row.optional(ColumnRole::User)?.unwrap_or(nobody);
        let query = if self.queries.listed { spelling.clone() } else { own(identity(&spelling)) };
        let spelling = if self.queries.listed { Cow::Borrowed("") } else { spelling };
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
    /// Whether the page is one, not a session.
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
                return Err(row.bad(
                    "bad field",
                    format!("text as {name}"),
                    "a NUL character in it",
                ));
            }
            if text.len() > LONGEST {
                let expected = format!("at most {LONGEST} bytes as {name}");
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
    let inner = |text: &str| {
        let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        Some(inside.len())
    };
    match (inner(&text), text) {
        (None, text) => text,
        (Some(len), Cow::Borrowed(text)) => {
            let text = text.trim();
            Cow::Borrowed(&text[1..=len])
        }
        (Some(len), Cow::Owned(text)) => Cow::Owned(text.trim()[1..=len].to_owned()),
    }
}

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}
