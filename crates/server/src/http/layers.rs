//! What stands around every handler: id, log, counts, time-outs, and headers that are the same on
//! every answer.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use liken_engine::types::Scope;
use tokio::sync::OwnedSemaphorePermit;

use super::encoding::encoded;
use super::log::LoggedRequest;
use super::origin::Callers;
use super::receive::{gather, hear_out};
use super::request_id::{HEADER, RequestId};
use super::respond::{refuse, secure, write_out};
use super::state::AppState;
use super::worker_pools::WorkerPool;
use crate::problem::Problem;
use crate::runs::LARGEST;

/// What those hear whose request made the service fail.
pub(super) const FAILED: &str = "the service failed on this request; the reason is in its log";

/// Who is at the other end of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub SocketAddr);

/// What was searched for, in the extensions of an answer: for the log, if that is asked for.
#[derive(Debug, Clone)]
pub struct SearchedFor(pub String);

/// Logs and counts a request, also one whose client went away before the answer.
struct Record {
    state: AppState,
    id: RequestId,
    peer: Option<SocketAddr>,
    method: Method,
    path: String,
    route: String,
    started: Instant,
    done: bool,
}

impl Record {
    fn write(
        &mut self,
        status: u16,
        bytes: Option<u64>,
        problem: Option<&str>,
        query: Option<&str>,
    ) {
        self.done = true;
        let took = self.started.elapsed();
        let method = self.method.as_str();
        self.state.metrics().answered(&self.route, method, status, took);
        let peer = self.peer.map(|peer| peer.ip());
        let (id, path) = (&self.id.0, &self.path);
        let entry = LoggedRequest { id, peer, method, path, status, took, bytes, problem, query };
        self.state.log().request(&entry);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.done {
            self.write(499, None, Some("the client went away"), None);
        }
    }
}

/// The outermost layer.
pub(super) async fn around(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = RequestId::of(request.headers());
    let route = request.extensions().get::<MatchedPath>();
    let mut record = Record {
        id: id.clone(),
        peer: request.extensions().get::<Peer>().map(|peer| peer.0),
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        route: route.map_or_else(|| "other".to_owned(), |route| route.as_str().to_owned()),
        started: Instant::now(),
        done: false,
        state: state.clone(),
    };
    let page = wants_page(request.method(), request.headers());
    request.extensions_mut().insert(id.clone());
    let going = state.metrics().request();
    let mut response = next.run(request).await;
    drop(going);
    let problem = write_out(&mut response, &id.0, page);
    secure(&mut response);
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(HEADER, value);
    }
    let query = response.extensions_mut().remove::<SearchedFor>();
    record.write(
        response.status().as_u16(),
        response.body().size_hint().exact(),
        problem.as_ref().map(|problem| problem.detail.as_str()),
        query.as_ref().map(|query| query.0.as_str()),
    );
    response
}

/// Whether a person looks at it, rather than a program.
fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    [Method::GET, Method::HEAD].contains(method)
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// Turns foreign callers away.
pub(super) async fn callers(
    State(callers): State<Arc<Callers>>,
    request: Request,
    next: Next,
) -> Response {
    match callers.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => refuse(problem),
    }
}

/// Around pages: those who may read may look, those who may write may change; who has no key is
/// asked for one. Pages have the time of a request, and only so many are made at a time.
pub(super) async fn page(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let scope = if reads { Scope::Read } else { Scope::Write };
    if let Err(problem) = state.permit(request.headers(), scope).await {
        if problem.status == 401 && wants_page(request.method(), request.headers()) {
            let to = request.uri().path_and_query().map_or("/", |path| path.as_str());
            return Redirect::to(&format!("/login?next={}", encoded(to))).into_response();
        }
        return refuse(problem);
    }
    let (request, room) = match received(&state, request).await {
        Ok(received) => received,
        Err(problem) => return refuse(problem),
    };
    let place = match state.workers().acquire(WorkerPool::Pages, state.deadline()).await {
        Ok(place) => place,
        Err(problem) => return refuse(problem),
    };
    // A page that takes too long runs to its end, and keeps its thread until then: else those
    // who ask again and again would have ever more threads.
    let page = tokio::spawn(async move {
        let response = next.run(request).await;
        drop((place, room));
        response
    });
    match tokio::time::timeout(state.limits().request(), page).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => refuse(Problem::internal(FAILED)),
        Err(_) => refuse(Problem::unavailable(
            "there was no answer within the time-out: ask for less, or try again later",
        )),
    }
}

/// The request with its whole body, which counts towards what all bodies may take until the
/// second of the two is dropped. Whoever sends slowly keeps nobody from a place.
async fn received(
    state: &AppState,
    request: Request,
) -> Result<(Request, Option<OwnedSemaphorePermit>), Problem> {
    let (parts, mut body) = request.into_parts();
    // A form writes most signs as three; each page has a smaller limit of its own.
    let most = 3 * LARGEST + 4096;
    let deadline = Instant::now() + state.limits().long();
    match gather(state, &parts.headers, &mut body, most, deadline.into()).await {
        Ok((bytes, room)) => Ok((Request::from_parts(parts, Body::from(bytes)), room)),
        Err(problem) => {
            hear_out(&parts.headers, body).await;
            Err(problem)
        }
    }
}

/// Where no route is.
pub(super) async fn nowhere(uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    refuse(Problem::missing(format!("nothing is at {path}; /openapi.json lists what is there")))
}

/// Where a route is, but not for this method.
pub(super) async fn wrong_method(method: Method, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    refuse(Problem {
        status: 405,
        title: "Method not allowed",
        detail: format!("{path} does not answer to {method}; see the Allow header"),
    })
}

/// What is left of a handler that panicked. The message may hold anything: it is not sent.
pub(super) fn panicked(_message: Box<dyn Any + Send + 'static>) -> Response {
    refuse(Problem::internal(FAILED))
}
