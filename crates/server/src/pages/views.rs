//! Where Compare, Model, Data and Topics are, and how runs come in.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, FromRef, FromRequest, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use liken_engine::Engine;
use serde_json::json;

use super::layout::Tab;
use super::page_jobs::PageJobs;
use super::page_params::PageParams;
use super::routes::{self, Parameters, answer, blocking, refused};
use super::{compare, data, model, topics};
use crate::http::refuse;
use crate::problem::Problem;
use crate::runs::LARGEST;

/// Compare, Model, Data and Topics, with what they work out in the background in `jobs`.
pub fn views<S>(jobs: Arc<PageJobs>) -> Router<S>
where
    Arc<Engine>: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    // A form writes most signs of a run as three.
    let room = DefaultBodyLimit::max(3 * LARGEST + 4096);
    Router::new()
        .route("/compare", get(compare_page))
        .route("/model", get(model_page))
        .route("/data", get(data_page))
        .route("/topics", get(topics_page))
        .route("/runs", post(upload).layer(room))
        .route("/runs/delete", post(delete))
        .layer(Extension(jobs))
}

type There = Extension<Arc<PageJobs>>;

async fn compare_page(
    State(engine): State<Arc<Engine>>,
    Extension(jobs): There,
    Query(given): Parameters,
) -> Response {
    answer(engine, Tab::Compare, move |engine| compare::page(engine, &jobs, &given)).await
}

async fn model_page(State(engine): State<Arc<Engine>>, Query(given): Parameters) -> Response {
    answer(engine, Tab::Model, move |engine| model::page(engine, &given)).await
}

async fn data_page(
    State(engine): State<Arc<Engine>>,
    Extension(jobs): There,
    Query(given): Parameters,
) -> Response {
    answer(engine, Tab::Data, move |engine| data::page(engine, &jobs, &given)).await
}

async fn topics_page(
    State(engine): State<Arc<Engine>>,
    Extension(jobs): There,
    Query(given): Parameters,
) -> Response {
    answer(engine, Tab::Topics, move |engine| topics::page(engine, &jobs, &given)).await
}

/// A run: the fields of a form (`name`, `text`), answered by the way back to the page; or its
/// lines alone with `?name=`, answered in JSON.
async fn upload(
    State(engine): State<Arc<Engine>>,
    Extension(jobs): There,
    Query(given): Parameters,
    request: Request,
) -> Response {
    if !is_form(request.headers()) {
        let kept = match Bytes::from_request(request, &()).await {
            Err(_) => Err(Problem::bad(format!("a run has at most {LARGEST} bytes"))),
            Ok(body) => {
                blocking(move || {
                    let text = std::str::from_utf8(&body)
                        .map_err(|error| Problem::bad(format!("the run is not UTF-8: {error}")))?;
                    let name = PageParams(given).one("name").unwrap_or_default().to_owned();
                    compare::upload(&engine, &jobs, &name, text)
                })
                .await
            }
        };
        return match kept {
            Ok((run, link)) => {
                let about = json!({ "name": run.name, "bytes": run.bytes, "compare": link });
                (StatusCode::CREATED, Json(about)).into_response()
            }
            Err(problem) => refuse(problem),
        };
    }
    let kept = match fields(request).await {
        Err(problem) => Err(problem),
        Ok(given) => {
            blocking(move || {
                let text = given.0.iter().find(|(name, _)| name == "text");
                let text = text.map_or("", |(_, text)| text.as_str());
                compare::upload(&engine, &jobs, given.one("name").unwrap_or_default(), text)
            })
            .await
        }
    };
    match kept {
        Ok((_, link)) => Redirect::to(&link).into_response(),
        Err(problem) => refused(Tab::Compare, &problem),
    }
}

async fn delete(Extension(jobs): There, request: Request) -> Response {
    let gone = match fields(request).await {
        Err(problem) => Err(problem),
        Ok(given) => {
            blocking(move || compare::delete(&jobs, given.one("name").unwrap_or_default())).await
        }
    };
    match gone {
        Ok(link) => Redirect::to(link).into_response(),
        Err(problem) => refused(Tab::Compare, &problem),
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
}

async fn fields(request: Request) -> Result<PageParams, Problem> {
    let body = Bytes::from_request(request, &()).await;
    let body = body.map_err(|_| Problem::bad(format!("a run has at most {LARGEST} bytes")))?;
    routes::fields(&body).map(PageParams)
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

    #[test]
    fn the_router_takes_any_state_that_has_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = Arc::new(PageJobs::new(folder.path()));
        // Routes that clash would panic here.
        assert!(super::super::router::<Arc<Engine>>(jobs).has_routes());
    }
}
