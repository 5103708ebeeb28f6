//! Responses of pages: they are rendered on a thread that may block, and problems become pages.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::Markup;

use super::layout::{Tab, problem_page};
use crate::problem::Problem;

/// Renders a page on a thread that may block.
pub(super) async fn answer(
    tab: Tab,
    render: impl FnOnce() -> Result<Markup, Problem> + Send + 'static,
) -> Response {
    match blocking(render).await {
        Ok(markup) => html(StatusCode::OK, markup),
        Err(problem) => refused(tab, &problem),
    }
}

/// Runs `work` on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal("the page could not be made: try again")))
}

/// A problem as a page.
pub(super) fn refused(tab: Tab, problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status);
    html(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), problem_page(tab, problem))
}

fn html(status: StatusCode, markup: Markup) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (status, headers, markup.into_string()).into_response()
}
