//! Models: which there are, and which one searches get.

use axum::response::Response;

use super::call::Call;
use super::types::{ActivateRequest, LoadRequest};
use crate::http::WorkerPool;
use crate::problem::Problem;

pub(super) async fn list(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Light, |_, engine| Ok(engine.models()?)).await
}

pub(super) async fn load(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Models, |call, engine| {
        let request: LoadRequest = call.json()?;
        Ok(engine.load(&request)?)
    })
    .await
}

/// Not in the pool that loads models: a rollback must not wait for that.
pub(super) async fn activate(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Store, |call, engine| {
        let ActivateRequest { version } = call.json()?;
        Ok(engine.activate(call.name(), &version)?)
    })
    .await
}

pub(super) async fn roll_back(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Store, |call, engine| Ok(engine.roll_back(call.name())?)).await
}
