//! Searching, scoring and explaining.

use axum::response::Response;

use super::call::Call;
use super::checks;
use super::types::{EmbedRequest, ExplainRequest, RerankRequest, SearchRequest, SimilarRequest};
use crate::http::Lane;
use crate::problem::Problem;

pub(super) async fn search(call: Call) -> Result<Response, Problem> {
    call.search(|call, engine| {
        let request: SearchRequest = call.json()?;
        checks::search(&request, call.limits())?;
        Ok((engine.search(&request)?, request.query))
    })
    .await
}

pub(super) async fn rerank(call: Call) -> Result<Response, Problem> {
    call.search(|call, engine| {
        let request: RerankRequest = call.json()?;
        checks::rerank(&request, call.limits())?;
        Ok((engine.rerank(&request)?, request.query))
    })
    .await
}

pub(super) async fn explain(call: Call) -> Result<Response, Problem> {
    call.search(|call, engine| {
        let request: ExplainRequest = call.json()?;
        checks::explain(&request, call.limits())?;
        Ok((engine.explain(&request)?, request.search.query))
    })
    .await
}

pub(super) async fn embed(call: Call) -> Result<Response, Problem> {
    call.ask(Lane::Search, |call, engine| {
        let request: EmbedRequest = call.json()?;
        checks::embed(&request, call.limits())?;
        Ok(engine.embed(&request)?)
    })
    .await
}

pub(super) async fn similar(call: Call) -> Result<Response, Problem> {
    call.ask(Lane::Search, |call, engine| {
        let request: SimilarRequest = call.json()?;
        checks::similar(&request, call.limits())?;
        Ok(engine.similar(&request)?)
    })
    .await
}
