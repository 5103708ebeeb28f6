//! How the service is, for people, balancers and Prometheus; and the description of the API.

use axum::http::StatusCode;
use axum::response::Response;

use super::call::Call;
use super::openapi;
use crate::http::{Lane, content, json};
use crate::problem::Problem;

pub(super) async fn health(call: Call) -> Result<Response, Problem> {
    call.ask(Lane::Light, |_, engine| Ok(engine.status())).await
}

/// 503 while it cannot search; catching up and a full disk are no hindrance to that.
pub(super) async fn ready(call: Call) -> Result<Response, Problem> {
    let status = call.state.run(Lane::Light, |engine| Ok(engine.status())).await?;
    let mut response = json(&status);
    if status.status == "starting" {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

pub(super) async fn metrics(call: Call) -> Result<Response, Problem> {
    let state = call.state;
    let status = state.run(Lane::Light, |engine| Ok(engine.status())).await?;
    let text = state.metrics().text(&status, state.work().waiting(), state.log().lost());
    Ok(content("text/plain; version=0.0.4; charset=utf-8", text.into_bytes()))
}

pub(super) async fn openapi(_: Call) -> Result<Response, Problem> {
    Ok(content("application/json", openapi::text().as_bytes().to_vec()))
}
