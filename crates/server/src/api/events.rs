//! Clicks and impressions: kept, and given back for training.

use axum::response::Response;
use liken_engine::checks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::items::{items, typed};
use super::types::Event;
use crate::http::{WorkerPool, content};
use crate::problem::Problem;

/// A line of `GET /events`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumberedEvent {
    /// Its number: `?after=` the last of them goes on from there.
    pub number: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

pub(super) async fn record(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Store, |call, engine| {
        let read = items(call, "event", false, |value, _| {
            let event: Event = typed(value)?;
            checks::event(&event, engine.limits()).map_err(|error| error.to_string())?;
            Ok(event)
        })?;
        Ok(engine.record(read.good)?)
    })
    .await
}

pub(super) async fn export(call: Call) -> Result<Response, Problem> {
    let most = call.limits().events;
    let limit = call.whole("limit").unwrap_or(most as u64);
    let after = call.whole("after").unwrap_or(0);
    if !(1..=most as u64).contains(&limit) {
        return Err(Problem::bad(format!("limit is {limit}: expected 1 to {most}")));
    }
    let write = move |engine: &liken_engine::Engine| {
        let mut lines = Vec::new();
        for (number, event) in engine.events(after, limit as usize)? {
            serde_json::to_writer(&mut lines, &NumberedEvent { number, event })
                .map_err(|error| Problem::internal(error.to_string()))?;
            lines.push(b'\n');
        }
        Ok(lines)
    };
    let lines = call.state.run_until(WorkerPool::Store, call.deadline, write).await?;
    Ok(content("application/x-ndjson", lines))
}
