//! Uploads and deletions of runs.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, FromRequest, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use liken_engine::Engine;
use serde_json::json;

use super::compare;
use super::layout::Tab;
use super::page_jobs::PageJobs;
use super::page_params::PageParams;
use super::respond::{blocking, refused};
use crate::http::refuse;
use crate::problem::Problem;
use crate::runs::LARGEST;

/// `POST /runs`: a form with the fields `name` and `text`, answered with a redirect to the
/// comparison; or the lines of a run with `?name=`, answered with JSON.
pub(super) async fn upload(
    State(engine): State<Arc<Engine>>,
    Extension(jobs): Extension<Arc<PageJobs>>,
    Query(given): Query<Vec<(String, String)>>,
    request: Request,
) -> Response {
    let form = is_form(request.headers());
    let stored = async {
        let body = Bytes::from_request(request, &()).await;
        let body = body.map_err(|_| Problem::bad(format!("a run has at most {LARGEST} bytes")))?;
        blocking(move || {
            let given = if form { PageParams::of_form(&body)? } else { PageParams(given) };
            let text = if form {
                let text = given.0.iter().find(|(name, _)| name == "text");
                text.map_or("", |(_, text)| text.as_str())
            } else {
                std::str::from_utf8(&body)
                    .map_err(|error| Problem::bad(format!("the run is not UTF-8: {error}")))?
            };
            compare::upload(&engine, &jobs, given.one("name").unwrap_or_default(), text)
        })
        .await
    };
    match stored.await {
        Ok((_, link)) if form => Redirect::to(&link).into_response(),
        Ok((run, link)) => {
            let about = json!({ "name": run.name, "bytes": run.bytes, "compare": link });
            (StatusCode::CREATED, Json(about)).into_response()
        }
        Err(problem) if form => refused(Tab::Compare, &problem),
        Err(problem) => refuse(problem),
    }
}

/// `POST /runs/delete`: a form with the field `name`.
pub(super) async fn delete(Extension(jobs): Extension<Arc<PageJobs>>, body: Bytes) -> Response {
    let deleted = blocking(move || {
        jobs.runs.delete(PageParams::of_form(&body)?.one("name").unwrap_or_default())
    });
    match deleted.await {
        Ok(()) => Redirect::to(Tab::Compare.path()).into_response(),
        Err(problem) => refused(Tab::Compare, &problem),
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_from_lines() {
        let mut headers = HeaderMap::new();
        assert!(!is_form(&headers));
        headers.insert(
            "content-type",
            "application/x-www-form-urlencoded; charset=UTF-8".parse().unwrap(),
        );
        assert!(is_form(&headers));
    }
}
