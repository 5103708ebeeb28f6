//! Models: listed, loaded, activated and rolled back.

use super::call::{Call, ResponseFuture};
use super::types::ActivateRequest;
use crate::http::WorkerPool;

pub(super) fn list(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Light, |_, engine| Ok(engine.models()?))
}

pub(super) fn load(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Models, |call, engine| Ok(engine.load(&call.json()?)?))
}

/// Not in the pool that loads models: a rollback must not wait for that.
pub(super) fn activate(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Store, |call, engine| {
        let ActivateRequest { version } = call.json()?;
        Ok(engine.activate(call.name(), &version)?)
    })
}

pub(super) fn roll_back(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Store, |call, engine| Ok(engine.roll_back(call.name())?))
}
