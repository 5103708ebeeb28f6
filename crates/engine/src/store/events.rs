//! Clicks and impressions.

use rusqlite::{Row, params};

use super::limits::{fault_of_event, now, trim};
use super::sql::{last_change, value, whole};
use super::{ROW, Result, Space, Store, StoreError};
use crate::types::{Event, Written};

/// The most bytes of shown ids that events read at once may hold.
const MOST_BYTES: usize = 64 << 20;

impl Store {
    /// Stores events, in order; those without a time happened now. They are on disk when this
    /// returns. If one is invalid, none is stored.
    pub fn record(&self, events: Vec<Event>) -> Result<Written> {
        let now = now();
        let mut rows = Vec::with_capacity(events.len());
        let mut bytes = 0;
        for (i, mut event) in events.into_iter().enumerate() {
            trim(&mut event.query);
            if let Some(why) = fault_of_event(&event) {
                return Err(StoreError::Bad(format!("event {}: {why}", i + 1)));
            }
            let shown = serde_json::to_string(&event.shown)
                .map_err(|error| StoreError::Bad(format!("event {}: {error}", i + 1)))?;
            bytes += event.query.len() + shown.len() + ROW;
            rows.push((event, shown));
        }
        self.write(Space::Usual(bytes), move |connection| {
            let mut insert = connection.prepare_cached(
                "INSERT INTO events(time, kind, query, id, rank, shown, session)
                 VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            for (event, shown) in &rows {
                let time = event.time.unwrap_or(now);
                let Event { kind, query, id, rank, session, .. } = event;
                insert.execute(params![time, kind, query, id, rank, shown, session])?;
            }
            Ok(Written { written: rows.len(), replaced: 0, sequence: last_change(connection)? })
        })
    }

    /// At most `most` events after number `after`, with their numbers, which begin at 1; fewer where
    /// they are long, but at least one if there is any.
    pub fn events(&self, after: u64, most: usize) -> Result<Vec<(u64, Event)>> {
        let (after, most) = (whole(after), whole(most as u64));
        self.read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT no, time, kind, query, id, rank, shown, session FROM events
                 WHERE no > ?1 ORDER BY no LIMIT ?2",
            )?;
            let mut rows = find.query([after, most])?;
            let (mut events, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                bytes += row.get_ref(6)?.as_bytes().map_err(rusqlite::Error::from)?.len();
                if bytes > MOST_BYTES && !events.is_empty() {
                    break;
                }
                events.push(event(row)?);
            }
            Ok(events)
        })
    }

    /// The number of events.
    pub fn count_events(&self) -> Result<u64> {
        // None is ever deleted.
        let sql = "SELECT max(no) FROM events";
        let last: Option<Option<i64>> = self.read(|connection| value(connection, sql, []))?;
        Ok(last.flatten().unwrap_or(0).unsigned_abs())
    }
}

fn event(row: &Row<'_>) -> Result<(u64, Event)> {
    let no = row.get::<_, i64>(0)?.unsigned_abs();
    let shown: String = row.get(6)?;
    let shown = serde_json::from_str(&shown)
        .map_err(|error| StoreError::Unusable(format!("event {no} is damaged: {error}")))?;
    let event = Event {
        time: row.get(1)?,
        kind: row.get(2)?,
        query: row.get(3)?,
        id: row.get(4)?,
        rank: row.get(5)?,
        shown,
        session: row.get(7)?,
    };
    Ok((no, event))
}
