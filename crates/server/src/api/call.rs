//! From a request to a handler's call, the same way for every route of the table: key, then
//! parameters, then body, then the handler.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use liken_engine::Engine;
use liken_engine::store::LONGEST_ID;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::body::{Media, Received, receive};
use super::parse;
use super::route::{Kind, Route};
use super::routes::routes;
use crate::http::{
    AppState, Limits, SearchedFor, WorkerPool, content, decoded, hear_out, pairs, refuse, to_json,
};
use crate::problem::Problem;

/// A request that may be answered: its key is good, its body is there.
pub(super) struct Call {
    pub state: AppState,
    /// What stands in the path for the names in braces.
    pub names: Vec<String>,
    parameters: Vec<(String, String)>,
    body: Option<Received>,
    pub deadline: Instant,
}

impl Call {
    pub(super) fn limits(&self) -> &Limits {
        self.state.limits()
    }

    /// The first name of the path.
    pub(super) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// A parameter after the question mark.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that is true or false; false if it is not there.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name), Some("true" | "1" | ""))
    }

    /// A parameter that is a whole number.
    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The bytes of the body and what they are written in.
    pub(super) fn bytes(&self) -> (&[u8], Media) {
        self.body.as_ref().map_or((&[], Media::Json), |body| (body.bytes.as_slice(), body.media))
    }

    /// The body, an object, read as a `T`.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        parse::object(self.bytes().0)
    }

    /// Answers on a thread of `pool`, where the body is read and the answer written, too.
    pub(super) async fn ask<T: Serialize>(
        self,
        pool: WorkerPool,
        work: impl FnOnce(&Call, &Engine) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let (state, deadline) = (self.state.clone(), self.deadline);
        let work = move |engine: &Engine| to_json(&work(&self, engine)?);
        let bytes = state.run_until(pool, deadline, work).await?;
        Ok(content("application/json", bytes))
    }

    /// The same for what is a search: its text goes to the log, where that is asked for.
    pub(super) async fn search<T: Serialize>(
        self,
        work: impl FnOnce(&Call, &Engine) -> Result<(T, String), Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let (state, deadline) = (self.state.clone(), self.deadline);
        let work = move |engine: &Engine| {
            let (answer, query) = work(&self, engine)?;
            Ok((to_json(&answer)?, query))
        };
        let (bytes, query) = state.run_until(WorkerPool::Search, deadline, work).await?;
        let mut response = content("application/json", bytes);
        response.extensions_mut().insert(SearchedFor(query));
        Ok(response)
    }
}

/// The router of all routes of the table.
pub(crate) fn router() -> Router<AppState> {
    static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(routes);
    let mut paths: Vec<&'static str> = ROUTES.iter().map(|route| route.path).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut router = Router::new();
    for path in paths {
        // A path such as /documents/delete is also an id below /documents/.
        let here = |route: &&Route| route.path == path;
        let also = |route: &&Route| {
            let exact = !path.contains('{') && route.captured(path).is_some();
            exact && !ROUTES.iter().any(|own| own.path == path && own.method == route.method)
        };
        let on_path = ROUTES.iter().filter(here).chain(ROUTES.iter().filter(also));
        let methods = on_path.fold(MethodRouter::new(), |methods, route| {
            let answer = move |State(state): State<AppState>, request: Request| async move {
                answer(route, state, request).await.unwrap_or_else(refuse)
            };
            methods.merge(on(filter(&route.method), answer))
        });
        router = router.route(path, methods);
    }
    router
}

fn filter(method: &Method) -> MethodFilter {
    // The table holds no other methods.
    match method.as_str() {
        "POST" => MethodFilter::POST,
        "PUT" => MethodFilter::PUT,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

async fn answer(route: &Route, state: AppState, request: Request) -> Result<Response, Problem> {
    let limits = state.limits();
    let time = if route.long { limits.long() } else { limits.request() };
    let deadline = Instant::now() + time;
    let (parts, body) = request.into_parts();
    let before = async {
        if let Some(scope) = route.scope {
            state.permit(&parts.headers, scope).await?;
        }
        let names = names(route, parts.uri.path())?;
        let parameters = parameters(route, parts.uri.query().unwrap_or_default())?;
        Ok((names, parameters))
    };
    let (names, parameters) = match before.await {
        Ok(read) => read,
        Err(problem) => {
            hear_out(&parts.headers, body).await;
            return Err(problem);
        }
    };
    let body = match &route.body {
        Some(expected) => {
            Some(receive(&state, &parts.headers, body, expected.size, deadline).await?)
        }
        None => None,
    };
    (route.handler)(Call { state, names, parameters, body, deadline }).await
}

fn names(route: &Route, path: &str) -> Result<Vec<String>, Problem> {
    let captured = route.captured(path).unwrap_or_default();
    let decode = |piece: &str| {
        let name = decoded(piece, false)?;
        if name.len() > LONGEST_ID {
            return Err(Problem::bad(format!(
                "the name in the path is longer than {LONGEST_ID} bytes"
            )));
        }
        Ok(name)
    };
    captured.into_iter().map(decode).collect()
}

/// What stands after the question mark; a name that the route does not know is an error, so that
/// a misspelt option never passes silently.
fn parameters(route: &Route, query: &str) -> Result<Vec<(String, String)>, Problem> {
    let given = pairs(query)?;
    for (at, (name, value)) in given.iter().enumerate() {
        let Some(parameter) = route.parameters.iter().find(|known| known.name == name) else {
            let known: Vec<&str> = route.parameters.iter().map(|known| known.name).collect();
            let expected = match known.as_slice() {
                [] => "none".to_owned(),
                known => known.join(", "),
            };
            return Err(Problem::bad(format!(
                "unknown parameter {name:?} after the question mark: expected {expected}"
            )));
        };
        if given[..at].iter().any(|(earlier, _)| earlier == name) {
            return Err(Problem::bad(format!("the parameter {name:?} is given twice")));
        }
        let (fits, expected) = match parameter.kind {
            Kind::Bool => {
                (["true", "false", "1", "0", ""].contains(&value.as_str()), "true or false")
            }
            Kind::Whole => (value.parse::<u64>().is_ok(), "a whole number from 0 on"),
            Kind::Text => (true, ""),
        };
        if !fits {
            return Err(Problem::bad(format!("{name} is {value:?}: expected {expected}")));
        }
    }
    Ok(given)
}
