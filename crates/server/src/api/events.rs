//! Events: clicks and impressions, stored and exported for training.

use liken_engine::checks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ResponseFuture};
use super::items::checked;
use super::types::Event;
use crate::http::{WorkerPool, to_json};

/// A line of `GET /events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberedEvent {
    /// The event's number; `after` = the last one continues the export.
    pub number: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

pub(super) fn record(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Store, |call, engine| {
        let events = checked(call, "event", |event: &Event| checks::event(event, engine.limits()))?;
        Ok(engine.record(events)?)
    })
}

pub(super) fn export(call: Call) -> ResponseFuture {
    call.ask_bytes(WorkerPool::Store, "application/x-ndjson", |call, engine| {
        let most = call.limits().events;
        let limit = call.whole("limit").map_or(most, |n| n.try_into().unwrap_or(usize::MAX));
        checks::number("limit", limit, most)?;
        let mut lines = Vec::new();
        for (number, event) in engine.events(call.whole("after").unwrap_or(0), limit)? {
            lines.extend(to_json(&NumberedEvent { number, event })?);
            lines.push(b'\n');
        }
        Ok(lines)
    })
}
