//! Grades that people gave: kept, and given back as JSON or as TREC's qrels.

use axum::response::Response;
use liken_engine::checks;

use super::call::Call;
use super::items::{items, typed};
use super::types::Judgment;
use crate::http::{WorkerPool, content};
use crate::problem::Problem;

pub(super) async fn judge(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Store, |call, engine| {
        let read = items(call, "judgment", false, |value, _| {
            let judgment: Judgment = typed(value)?;
            checks::judgment(&judgment, engine.limits()).map_err(|error| error.to_string())?;
            Ok(judgment)
        })?;
        Ok(engine.judge(read.good)?)
    })
    .await
}

pub(super) async fn list(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Store, |call, engine| Ok(engine.judgments(call.text("query"))?)).await
}

pub(super) async fn qrels(call: Call) -> Result<Response, Problem> {
    Ok(content("text/plain; charset=utf-8", exported(call).await?.0))
}

pub(super) async fn queries(call: Call) -> Result<Response, Problem> {
    Ok(content("text/tab-separated-values; charset=utf-8", exported(call).await?.1))
}

/// The qrels, and the texts of the queries that they name.
async fn exported(call: Call) -> Result<(Vec<u8>, Vec<u8>), Problem> {
    let write = |engine: &liken_engine::Engine| {
        let (mut qrels, mut queries) = (Vec::new(), Vec::new());
        engine.store().export_qrels(&mut qrels, &mut queries)?;
        Ok((qrels, queries))
    };
    call.state.run_until(WorkerPool::Store, call.deadline, write).await
}
