//! The router of the API: from a request to the call of a handler, the same way for every route:
//! key, then parameters, then body, then the handler.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use liken_engine::checks;
use tokio::time::Instant;

use super::body::receive;
use super::call::Call;
use super::route::{ParameterKind, Route};
use super::routes::ROUTES;
use crate::http::{AppState, decoded, drain, pairs};
use crate::problem::Problem;

/// The router of all routes of the API.
pub(crate) fn router() -> Router<AppState> {
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
            let answer = move |State(state): State<AppState>, request: Request| {
                answer(route, state, request)
            };
            methods.merge(on(filter(&route.method), answer))
        });
        router = router.route(path, methods);
    }
    router
}

fn filter(method: &Method) -> MethodFilter {
    // The table has no other methods.
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
    let before_body = async {
        if let Some(scope) = route.scope {
            state.permit(&parts.headers, scope).await?;
        }
        let names = names(route, parts.uri.path())?;
        Ok((names, parameters(route, parts.uri.query().unwrap_or_default())?))
    };
    let (names, parameters) = match before_body.await {
        Ok(read) => read,
        Err(problem) => {
            drain(&parts.headers, body).await;
            return Err(problem);
        }
    };
    let body = match &route.body {
        Some(spec) => Some(receive(&state, &parts.headers, body, spec.size, deadline).await?),
        None => None,
    };
    (route.handler)(Call { state, names, parameters, body, deadline }).await
}

/// The decoded values of the names in the route's path.
fn names(route: &Route, path: &str) -> Result<Vec<String>, Problem> {
    let captured = route.captured(path).unwrap_or_default();
    let decode = |(field, value): (&str, &str)| {
        let value = decoded(value, false)?;
        checks::id(field, &value)?;
        Ok(value)
    };
    route.names().zip(captured).map(decode).collect()
}

/// The query parameters. Unknown names are errors, so that a misspelt option never passes silently.
fn parameters(route: &Route, query: &str) -> Result<Vec<(String, String)>, Problem> {
    let given = pairs(query)?;
    for (at, (name, value)) in given.iter().enumerate() {
        let Some(parameter) = route.parameters.iter().find(|known| known.name == name) else {
            let known: Vec<&str> = route.parameters.iter().map(|known| known.name).collect();
            let expected = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Problem::bad(format!(
                "unknown parameter {name:?} after the question mark: expected {expected}"
            )));
        };
        if given[..at].iter().any(|(earlier, _)| earlier == name) {
            return Err(Problem::bad(format!("the parameter {name:?} is given twice")));
        }
        let (fits, expected) = match parameter.kind {
            ParameterKind::Bool => {
                (["true", "false", "1", "0", ""].contains(&value.as_str()), "true or false")
            }
            ParameterKind::Whole => (value.parse::<u64>().is_ok(), "a whole number, 0 or more"),
            ParameterKind::Text => (true, ""),
        };
        if !fits {
            return Err(Problem::bad(format!("{name} is {value:?}: expected {expected}")));
        }
    }
    Ok(given)
}
