//! The routes of the pages.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Extension, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use liken_engine::Engine;
use maud::Markup;

use super::layout::{SCRIPT, STYLE, Tab};
use super::page_jobs::PageJobs;
use super::page_params::PageParams;
use super::pool::{JudgeParams, read_grade};
use super::respond::{answer, blocking, refused};
use super::run_uploads::{delete, upload};
use super::search_params::SearchParams;
use super::{compare, data, explain, judge, model, search, topics};
use crate::http::AppState;
use crate::problem::Problem;
use crate::runs::LARGEST_FORM;

/// All pages, with the background jobs of some of them.
pub fn router(jobs: Arc<PageJobs>) -> Router<AppState> {
    let page = |tab: Tab, render: Render| page(tab, Arc::clone(&jobs), render);
    Router::new()
        .route(
            "/",
            page(Tab::Search, |engine, _, asked| {
                search::search(engine, &SearchParams::read(&asked.0)?)
            }),
        )
        .route(
            "/explain",
            page(Tab::Search, |engine, _, asked| {
                explain::explain(engine, &SearchParams::read(&asked.0)?)
            }),
        )
        .route(
            "/judge",
            page(Tab::Judge, |engine, _, asked| {
                judge::judge(engine, &JudgeParams::read(&asked.0)?)
            })
            .post(judge_form),
        )
        .route("/compare", page(Tab::Compare, compare::page))
        .route("/model", page(Tab::Model, |engine, _, asked| model::page(engine, asked)))
        .route("/data", page(Tab::Data, data::page))
        .route("/topics", page(Tab::Topics, topics::page))
        .route("/runs", post(upload).layer(DefaultBodyLimit::max(LARGEST_FORM)))
        .route("/runs/delete", post(delete))
        .layer(Extension(jobs))
}

type Render = fn(&Engine, &PageJobs, &PageParams) -> Result<Markup, Problem>;

/// `GET` of a page that `render` makes of the parameters in its address.
fn page(tab: Tab, jobs: Arc<PageJobs>, render: Render) -> MethodRouter<AppState> {
    get(move |State(engine): State<Arc<Engine>>, Query(given): Query<Vec<(String, String)>>| {
        answer(tab, move || render(&engine, &jobs, &PageParams(given)))
    })
}

/// The style sheet and the script of all pages.
pub fn assets<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let style = || async { asset("text/css; charset=utf-8", STYLE) };
    let script = || async { asset("text/javascript; charset=utf-8", SCRIPT) };
    Router::new().route("/assets/style.css", get(style)).route("/assets/script.js", get(script))
}

/// A file whose address changes with its content.
fn asset(kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, content).into_response()
}

/// A grade from a form, for browsers without script.
async fn judge_form(State(engine): State<Arc<Engine>>, body: Bytes) -> Response {
    let stored = blocking(move || {
        let given = PageParams::of_form(&body)?.0;
        let ask = JudgeParams::read(&given)?;
        if let Some((_, grade)) = given.iter().find(|(name, _)| name == "g") {
            engine.judge(vec![read_grade(grade, &ask)?])?;
        }
        Ok(ask.for_query(&ask.query))
    });
    match stored.await {
        Ok(next) => Redirect::to(&next).into_response(),
        Err(problem) => refused(Tab::Judge, &problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::layout::problem_page;

    #[test]
    fn assets_are_found_where_the_pages_say_and_may_be_kept() {
        use axum::body::Body;
        use axum::http::Request;
        use tower::ServiceExt;

        let page = problem_page(Tab::Search, &Problem::bad("x")).into_string();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (name, kind) in [("style.css", "text/css"), ("script.js", "text/javascript")] {
            let start = page.find(&format!("/assets/{name}?v=")).unwrap();
            let address = page[start..].split('"').next().unwrap();
            let request = Request::get(address).body(Body::empty()).unwrap();
            let response = runtime.block_on(assets::<()>().oneshot(request)).unwrap();
            assert_eq!(response.status(), 200, "{address}");
            let header = |name| response.headers()[name].to_str().unwrap().to_owned();
            assert!(header("content-type").starts_with(kind), "{address}");
            assert!(header("cache-control").contains("immutable"), "{address}");
        }
    }

    #[test]
    fn no_two_routes_clash() {
        // The router panics if they do.
        let jobs = Arc::new(PageJobs::new(std::path::Path::new("nowhere")));
        assert!(router(jobs).merge(assets()).has_routes());
    }

    #[test]
    fn forms_are_read_as_browsers_write_them() {
        let body = b"q=heart+attack&judge=Ann&max=3&g=2+a%2Bb%20%3Cc%3E";
        let given = PageParams::of_form(body).unwrap().0;
        let ask = JudgeParams::read(&given).unwrap();
        assert_eq!((ask.query.as_str(), ask.judge.as_str()), ("heart attack", "Ann"));
        let kept = read_grade(&given[3].1, &ask).unwrap();
        assert_eq!((kept.id.as_str(), kept.grade), ("a+b <c>", Some(2)));
        for bad in [b"\xff\xfe".as_slice(), b"a=%", b"a=%zz", b"a=%ff"] {
            assert_eq!(PageParams::of_form(bad).unwrap_err().status, 400, "{bad:?}");
        }
    }

    #[test]
    fn grades_outside_the_scale_are_refused() {
        let ask = JudgeParams { query: "q".into(), ..JudgeParams::default() };
        for bad in ["4 d", "-1 d", "2", "2 ", "x d", ""] {
            assert_eq!(read_grade(bad, &ask).unwrap_err().status, 400, "{bad}");
        }
        assert_eq!(read_grade("- d", &ask).unwrap().grade, None);
        assert_eq!(read_grade("0 d e", &ask).unwrap().id, "d e");
        assert!(read_grade("1 d", &JudgeParams::default()).is_err());
    }
}
