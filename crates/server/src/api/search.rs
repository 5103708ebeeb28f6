//! Search, re-ranking, explanations, embeddings and neighbours.

use super::call::{Call, ResponseFuture};
use super::types::{ExplainRequest, RerankRequest, SearchRequest};
use crate::http::WorkerPool;

pub(super) fn search(call: Call) -> ResponseFuture {
    call.search(|call, engine| {
        let request: SearchRequest = call.json()?;
        Ok((engine.search(&request)?, request.query))
    })
}

pub(super) fn rerank(call: Call) -> ResponseFuture {
    call.search(|call, engine| {
        let request: RerankRequest = call.json()?;
        Ok((engine.rerank(&request)?, request.query))
    })
}

pub(super) fn explain(call: Call) -> ResponseFuture {
    call.search(|call, engine| {
        let request: ExplainRequest = call.json()?;
        Ok((engine.explain(&request)?, request.search.query))
    })
}

pub(super) fn embed(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Search, |call, engine| Ok(engine.embed(&call.json()?)?))
}

pub(super) fn similar(call: Call) -> ResponseFuture {
    call.ask(WorkerPool::Search, |call, engine| Ok(engine.similar(&call.json()?)?))
}
