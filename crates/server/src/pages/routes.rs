//! Where the pages are, and how their functions become responses.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRef, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use liken_engine::Engine;
use maud::Markup;

use super::layout::{SCRIPT, STYLE, Tab, problem_page};
use super::page_jobs::PageJobs;
use super::pool::{JudgeParams, read_grade};
use super::search_params::SearchParams;
use super::views::views;
use super::{explain, judge, search};
use crate::http::{POLICY, pairs};
use crate::problem::Problem;

/// The parameters of an address, in order; a name may occur more than once.
pub type Parameters = Query<Vec<(String, String)>>;

/// All pages; what some of them work out in the background is kept in `jobs`.
pub fn router<S>(jobs: Arc<PageJobs>) -> Router<S>
where
    Arc<Engine>: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        .route("/", get(search_page))
        .route("/explain", get(explain_page))
        .route("/judge", get(judge_page).post(judge_form))
        .merge(views(jobs))
}

/// What a browser needs for any page: style sheet and script.
pub fn assets<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/style.css", get(style)).route("/assets/script.js", get(script))
}

async fn search_page(State(engine): State<Arc<Engine>>, Query(given): Parameters) -> Response {
    answer(engine, Tab::Search, move |engine| search::search(engine, &SearchParams::read(&given)?))
        .await
}

async fn explain_page(State(engine): State<Arc<Engine>>, Query(given): Parameters) -> Response {
    answer(engine, Tab::Search, move |engine| {
        explain::explain(engine, &SearchParams::read(&given)?)
    })
    .await
}

async fn judge_page(State(engine): State<Arc<Engine>>, Query(given): Parameters) -> Response {
    answer(engine, Tab::Judge, move |engine| judge::judge(engine, &JudgeParams::read(&given)?))
        .await
}

/// A grade from a form, for browsers without script.
async fn judge_form(State(engine): State<Arc<Engine>>, body: Bytes) -> Response {
    match blocking(move || keep(&engine, &body)).await {
        Ok(next) => Redirect::to(&next).into_response(),
        Err(problem) => refused(Tab::Judge, &problem),
    }
}

/// Keeps the grade of a form, and says where to go on.
fn keep(engine: &Engine, body: &[u8]) -> Result<String, Problem> {
    let given = fields(body)?;
    let ask = JudgeParams::read(&given)?;
    let home = ask.for_query(&ask.query);
    let Some((_, grade)) = given.iter().find(|(name, _)| name == "g") else {
        return Ok(home);
    };
    let judgment = read_grade(grade, &ask)?;
    engine.judge(vec![judgment])?;
    Ok(home)
}

/// The fields of a form: they are written as the parameters of an address are.
pub(super) fn fields(body: &[u8]) -> Result<Vec<(String, String)>, Problem> {
    let wrong = || Problem::bad("expected the fields of a form, as a browser sends them");
    let text = std::str::from_utf8(body).map_err(|_| wrong())?;
    // What is wrong with a run of megabytes is not said by showing it.
    pairs(text).map_err(|_| wrong())
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// A file whose address changes with its content.
fn asset(kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, content).into_response()
}

/// Makes a page on a thread that may block; a problem becomes a page that says so.
pub async fn answer(
    engine: Arc<Engine>,
    tab: Tab,
    make: impl FnOnce(&Engine) -> Result<Markup, Problem> + Send + 'static,
) -> Response {
    match blocking(move || make(&engine)).await {
        Ok(markup) => html(StatusCode::OK, markup),
        Err(problem) => refused(tab, &problem),
    }
}

/// Does `work` on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal("the page could not be made: try again")))
}

/// A problem as a page.
pub fn refused(tab: Tab, problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status);
    html(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), problem_page(tab, problem))
}

/// Markup as a response.
pub fn html(status: StatusCode, markup: Markup) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (status, headers, markup.into_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_router_takes_any_state_that_has_the_engine() {
        #[derive(Clone)]
        struct Other(Arc<Engine>);
        impl FromRef<Other> for Arc<Engine> {
            fn from_ref(other: &Other) -> Self {
                other.0.clone()
            }
        }
        // Routes that clash would panic here.
        let jobs = || Arc::new(PageJobs::new(std::path::Path::new("nowhere")));
        assert!(router::<Other>(jobs()).merge(assets()).has_routes());
        assert!(router::<Arc<Engine>>(jobs()).has_routes());
    }

    #[test]
    fn forms_are_read_as_browsers_write_them() {
        let body = b"q=heart+attack&judge=Ann&max=3&g=2+a%2Bb%20%3Cc%3E";
        let given = fields(body).unwrap();
        let ask = JudgeParams::read(&given).unwrap();
        assert_eq!((ask.query.as_str(), ask.judge.as_str()), ("heart attack", "Ann"));
        let kept = read_grade(&given[3].1, &ask).unwrap();
        assert_eq!((kept.id.as_str(), kept.grade), ("a+b <c>", Some(2)));
        for bad in [b"\xff\xfe".as_slice(), b"a=%", b"a=%zz", b"a=%ff"] {
            assert_eq!(fields(bad).unwrap_err().status, 400, "{bad:?}");
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
