//! Events as a raw log that `liken import` reads.

use std::io::Write;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::limits::CLICK;
use super::{Result, Store, StoreError};
use crate::types::Event;

/// Events read in one transaction, so that none lasts for long.
const CHUNK: usize = 5_000;

/// Counts of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Events, or judged pairs of query and document, that were read.
    pub taken: usize,
    /// Lines written.
    pub lines: usize,
    /// Pairs that the format cannot hold.
    pub left_out: usize,
}

/// A line of the log: a document that was shown or clicked.
#[derive(Serialize)]
struct LogLine<'a> {
    time: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a str>,
    query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u64>,
    clicked: u8,
}

impl Store {
    /// Writes all events to `out` as a raw log: one line of JSON for each document that was shown or
    /// clicked. To be read with
    ///
    /// ```sh
    /// liken import --events events.jsonl --documents documents.jsonl -o data
    /// ```
    ///
    /// (the name must end in `.jsonl`; without `--documents`, the documents are those of the events).
    /// The columns are `time` (to the second), `session`, `query`, `doc`, `rank` and `clicked`.
    /// An impression gives one line per document, with its position in `shown` as rank. A click with
    /// `shown` gives such a page, with one document clicked; a click without gives one line, and the
    /// import adds it to the page of the same session and query if no more than half an hour lies
    /// between. Pages without a session have a column `page`, so that those of the same second stay
    /// apart. An impression of nothing gives a line without document, which the import counts as a
    /// query without a click.
    pub fn export_events(&self, out: &mut dyn Write) -> Result<ExportReport> {
        let mut exported = ExportReport::default();
        let mut after = 0;
        // Later events are for the next export.
        let last = self.count_events()?;
        while after < last {
            let events = self.events(after, CHUNK)?;
            let Some(&(end, _)) = events.last() else { break };
            for (no, event) in events.iter().take_while(|(no, _)| *no <= last) {
                exported.taken += 1;
                exported.lines += write_event(out, *no, event)?;
            }
            after = end;
        }
        out.flush().map_err(unwritten)?;
        Ok(exported)
    }
}

/// Writes the lines of an event; returns how many.
fn write_event(out: &mut dyn Write, no: u64, event: &Event) -> Result<usize> {
    let time = moment(event.time.unwrap_or(0.0));
    let clicked = event.id.as_deref().filter(|_| event.kind == CLICK);
    let page = format!("event {no}");
    let session = event.session.as_deref();
    let is_page = session.is_none() && !event.shown.is_empty();
    let mut lines = 0;
    let mut line = |doc: Option<&str>, rank: Option<u64>| {
        let line = LogLine {
            time: &time,
            session,
            page: is_page.then_some(page.as_str()),
            query: &event.query,
            doc,
            rank,
            clicked: u8::from(doc.is_some() && doc == clicked),
        };
        lines += 1;
        serde_json::to_writer(&mut *out, &line)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(unwritten)
    };
    for (doc, rank) in event.shown.iter().zip(1..) {
        // A document that was shown twice gives one line, at its first rank.
        let first = event.shown.iter().position(|other| other == doc);
        if first.is_none_or(|first| first as u64 + 1 == rank) {
            line(Some(doc), Some(rank))?;
        }
    }
    match clicked {
        Some(doc) if !event.shown.iter().any(|other| other == doc) => {
            line(Some(doc), event.rank.map(u64::from))?;
        }
        None if event.shown.is_empty() => line(None, None)?,
        _ => {}
    }
    Ok(lines)
}

/// Seconds since 1970 as RFC 3339. The import could take bare digits for a date.
fn moment(time: f64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(time as i64);
    time.ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

/// The error of a write to the exported file.
pub(super) fn unwritten(error: std::io::Error) -> StoreError {
    StoreError::Disk(format!("the export could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn moments_are_those_of_sqlite(time in 0.0f64..1e11) {
            let database = rusqlite::Connection::open_in_memory().unwrap();
            let sql = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1, 'unixepoch')";
            let expected: String =
                database.query_row(sql, [time as i64], |row| row.get(0)).unwrap();
            prop_assert_eq!(moment(time), expected);
        }
    }
}
