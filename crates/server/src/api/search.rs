//! Searching, scoring and explaining.

use axum::response::Response;

use super::call::Call;
use super::types::{EmbedRequest, ExplainRequest, RerankRequest, SearchRequest, SimilarRequest};
use crate::http::WorkerPool;
use crate::problem::Problem;

pub(super) async fn search(call: Call) -> Result<Response, Problem> {
    call.search(|call, engine| {
        let request: SearchRequest = call.json()?;
        Ok((engine.search(&request)?, request.query))
    })
    .await
}

pub(super) async fn rerank(call: Call) -> Result<Response, Problem> {
    call.search(|call, engine| {
        let request: RerankRequest = call.json()?;
        Ok((engine.rerank(&request)?, request.query))
    })
    .await
}

pub(super) async fn explain(call: Call) -> Result<Response, Problem> {
    call.search(|call, engine| {
        let request: ExplainRequest = call.json()?;
        Ok((engine.explain(&request)?, request.search.query))
    })
    .await
}

pub(super) async fn embed(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Search, |call, engine| {
        let request: EmbedRequest = call.json()?;
        Ok(engine.embed(&request)?)
    })
    .await
}

pub(super) async fn similar(call: Call) -> Result<Response, Problem> {
    call.ask(WorkerPool::Search, |call, engine| {
        let request: SimilarRequest = call.json()?;
        Ok(engine.similar(&request)?)
    })
    .await
}
