//! The status of the service, for operators, load balancers and Prometheus.

use std::time::Duration;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Call, ResponseFuture};
use super::types::Status;
use crate::http::{WorkerPool, json};

pub(super) fn health(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Light, |_, engine| Ok(engine.status()))
}

/// The answer to `GET /ready`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// Documents, changes and models.
    #[serde(flatten)]
    pub status: Status,
    /// The reason, if it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// 503 while search makes no progress with pending changes. A search that is catching up, or a full
/// disk, is no reason.
pub(super) fn ready(call: Call) -> ResponseFuture {
    Box::pin(async move {
        let state = call.state;
        let status = state.run(WorkerPool::Light, |engine| Ok(engine.status())).await?;
        let incident = state.incidents().recent();
        // With a known incident, there is less to wait for.
        let haste = if incident.is_some() { 6.0 } else { 1.0 };
        let most = Duration::from_secs_f64(state.limits().stuck_seconds / haste);
        let stuck = state.stuck(&status).filter(|stuck| *stuck > most);
        let reason = stuck.map(|stuck| {
            format!(
                "degraded: search has stayed at change {} for {} s; pending changes, retried every \
                 second: {}; {}",
                status.applied,
                stuck.as_secs(),
                status.written.saturating_sub(status.applied),
                incident.as_deref().unwrap_or("see the log of the service")
            )
        });
        let unready = reason.is_some();
        let mut response = json(&Ready { status, reason });
        if unready {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        Ok(response)
    })
}

pub(super) fn metrics(call: Call) -> ResponseFuture {
    let media = "text/plain; version=0.0.4; charset=utf-8";
    call.ask_bytes(WorkerPool::Light, media, |call, engine| {
        let (state, status) = (&call.state, engine.status());
        let text = state.metrics().text(&status, state.workers().waiting(), state.log().lost());
        Ok(text.into_bytes())
    })
}
