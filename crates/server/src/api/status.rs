//! The status of the service, for people, load balancers and Prometheus; and the OpenAPI document.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::openapi;
use super::types::Status;
use crate::http::{WorkerPool, content, json};
use crate::problem::Problem;

pub(super) async fn health(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Light, |_, engine| Ok(engine.status())).await
}

/// The answer to `GET /ready`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// Documents, changes and models.
    #[serde(flatten)]
    pub status: Status,
    /// Why it is not ready, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// 503 while search makes no progress with what is written; catching up and a full disk are no
/// hindrance.
pub(super) async fn ready(call: Call) -> Result<Response, Problem> {
    let state = call.state;
    let status = state.run(WorkerPool::Light, |engine| Ok(engine.status())).await?;
    let incident = state.incidents().recent();
    // With a known incident, there is less to wait for.
    let haste = if incident.is_some() { 6.0 } else { 1.0 };
    let most = Duration::from_secs_f64(state.limits().stuck_seconds / haste);
    let stuck = state.stuck(&status).filter(|stuck| *stuck > most);
    let reason = if let Some(stuck) = stuck {
        Some(format!(
            "degraded: search has stayed at change {} for {} s; pending changes, retried every \
             second: {}; {}",
            status.applied,
            stuck.as_secs(),
            status.written.saturating_sub(status.applied),
            incident.as_deref().unwrap_or("see the log of the service")
        ))
    } else {
        None
    };
    let unready = reason.is_some();
    let mut response = json(&Ready { status, reason });
    if unready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

pub(super) async fn metrics(call: Call) -> Result<Response, Problem> {
    let state = call.state;
    let status = state.run(WorkerPool::Light, |engine| Ok(engine.status())).await?;
    let text = state.metrics().text(&status, state.workers().waiting(), state.log().lost());
    Ok(content("text/plain; version=0.0.4; charset=utf-8", text.into_bytes()))
}

pub(super) async fn openapi(_: Call) -> Result<Response, Problem> {
    Ok(content("application/json", openapi::text().as_bytes().to_vec()))
}
