//! Middleware around every handler: request id, log, metrics, time-outs, and the headers that all
//! responses have.

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
use super::receive::read_body;
use super::request_id::{HEADER, RequestId};
use super::respond::{refuse, secure, write_out};
use super::state::AppState;
use super::worker_pools::{FAILED, WorkerPool, join_until};
use crate::problem::Problem;
use crate::runs::LARGEST_FORM;

/// The client's address, in the extensions of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub SocketAddr);

/// The text of a search, in the extensions of its response: logged if the log is to have queries.
#[derive(Debug, Clone)]
pub struct SearchedFor(pub String);

/// Logs and counts a request, even if the client goes away before the response.
struct RequestRecord {
    state: AppState,
    id: RequestId,
    peer: Option<SocketAddr>,
    method: Method,
    path: String,
    route: String,
    started: Instant,
    done: bool,
}

impl RequestRecord {
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

impl Drop for RequestRecord {
    fn drop(&mut self) {
        if !self.done {
            self.write(499, None, Some("the client went away"), None);
        }
    }
}

/// The outermost layer: gives the request its id, writes out its problem, logs and counts it.
pub(super) async fn outermost(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = RequestId::of(request.headers());
    let route = request.extensions().get::<MatchedPath>();
    let mut record = RequestRecord {
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
    let in_flight = state.metrics().request();
    let mut response = next.run(request).await;
    drop(in_flight);
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

/// Whether a browser asks for a page, rather than a program for data.
fn wants_page(method: &Method, headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    [Method::GET, Method::HEAD].contains(method)
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

/// Refuses requests of foreign sites.
pub(super) async fn callers(
    State(callers): State<Arc<Callers>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    callers.check(&request)?;
    Ok(next.run(request).await)
}

/// The layer of pages: reading needs a key with the read scope, everything else one with the write
/// scope; a browser without a key is sent to the login. Rendering has the time of a request and
/// runs in the pool of pages.
pub(super) async fn page(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let scope = if reads { Scope::Read } else { Scope::Write };
    if let Err(problem) = state.permit(request.headers(), scope).await {
        if problem.status == 401 && wants_page(request.method(), request.headers()) {
            let to = request.uri().path_and_query().map_or("/", |path| path.as_str());
            return Ok(Redirect::to(&format!("/login?next={}", encoded(to))).into_response());
        }
        return Err(problem);
    }
    // The body comes first: a slow client must not occupy a thread.
    let (request, memory) = received(&state, request).await?;
    let thread = state.workers().acquire(WorkerPool::Pages, state.deadline()).await?;
    // A page that takes too long runs to its end and keeps its thread until then: otherwise
    // clients that retry would occupy ever more threads.
    let page = tokio::spawn(async move {
        let response = next.run(request).await;
        drop((thread, memory));
        response
    });
    join_until(page, state.deadline()).await
}

/// The request with its whole body. The body counts towards the memory of all bodies until the
/// permit is dropped.
async fn received(
    state: &AppState,
    request: Request,
) -> Result<(Request, Option<OwnedSemaphorePermit>), Problem> {
    let (parts, body) = request.into_parts();
    let deadline = Instant::now() + state.limits().long();
    // Each page has a smaller limit of its own.
    let (bytes, memory) =
        read_body(state, &parts.headers, body, LARGEST_FORM, deadline.into()).await?;
    Ok((Request::from_parts(parts, Body::from(bytes)), memory))
}

/// Answers where no route matches.
pub(super) async fn not_found(uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    refuse(Problem::missing(format!("nothing is at {path}; /openapi.json lists all routes")))
}

/// Answers where a route matches, but not its method.
pub(super) async fn wrong_method(method: Method, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    refuse(Problem {
        status: 405,
        title: "Method not allowed",
        detail: format!("{path} does not accept {method}; see the Allow header"),
    })
}

/// Answers where a handler panicked.
pub(super) fn panicked(_message: Box<dyn Any + Send + 'static>) -> Response {
    refuse(Problem::internal(FAILED))
}
