//! The router: all routes behind the layers.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;

use super::origin::Callers;
use super::respond::refuse;
use super::state::AppState;
use super::{layers, login};
use crate::problem::Problem;

/// The routes that are served besides the login.
#[derive(Default)]
pub struct Routes {
    /// The API, whose routes check keys themselves.
    pub api: Router<AppState>,
    /// Pages, which need a key as the API does.
    pub pages: Router<AppState>,
    /// Assets that pages need before the login: style sheets, scripts, the icon.
    pub open: Router<AppState>,
}

/// Puts the routes and the login behind the layers.
pub(super) fn build(
    state: AppState,
    Routes { api, pages, open }: Routes,
    callers: Callers,
    cors: Option<CorsLayer>,
) -> Router {
    let pages = if pages.has_routes() {
        pages
            // Pages read files that people upload.
            .layer(DefaultBodyLimit::max(state.limits().bulk_bytes))
            // `route_layer` and not `layer`: an unknown path is 404, with or without a key.
            .route_layer(from_fn_with_state(state.clone(), layers::page))
    } else {
        pages
    };
    let mut routes = Router::new()
        .merge(api)
        .merge(login::router())
        .merge(open)
        .merge(pages)
        .fallback(layers::not_found)
        .method_not_allowed_fallback(layers::wrong_method);
    if let Some(cors) = cors {
        routes = routes.layer(cors);
    }
    routes
        .layer(from_fn_with_state(Arc::new(callers), layers::callers))
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(map_response(with_problem))
        .layer(from_fn_with_state(state.clone(), layers::outermost))
        .with_state(state)
}

/// Turns refusals without a problem, such as those of extractors, into problems.
async fn with_problem(response: Response) -> Response {
    let status = response.status();
    let bare = response.extensions().get::<Problem>().is_none();
    let written = response.headers().get(header::CONTENT_TYPE);
    let plain = written.is_none_or(|media| media.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() || status.is_server_error()) || !bare || !plain {
        return response;
    }
    let reason = status.canonical_reason().unwrap_or("Refused");
    let detail = format!("the request was refused: {}", reason.to_lowercase());
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_TYPE);
    parts.headers.remove(header::CONTENT_LENGTH);
    let mut refused = refuse(Problem { status: status.as_u16(), title: reason, detail });
    refused.headers_mut().extend(parts.headers);
    refused
}

/// The CORS layer that allows scripts of these origins; none if there are none.
pub(super) fn cors(origins: &[String]) -> Result<Option<CorsLayer>, String> {
    if origins.is_empty() {
        return Ok(None);
    }
    let origin = |origin: &String| {
        let after = origin.split_once("://").map(|(_, after)| after);
        let whole = after.is_some_and(|after| !after.is_empty() && !after.contains('/'));
        let value = HeaderValue::from_str(origin).ok().filter(|_| whole);
        value.ok_or_else(|| {
            format!(
                "{origin:?} is no origin: expected a scheme and a host without a path, such as \
                 https://shop.example"
            )
        })
    };
    let origins: Vec<HeaderValue> = origins.iter().map(origin).collect::<Result<_, _>>()?;
    let headers = [
        header::CONTENT_TYPE,
        header::AUTHORIZATION,
        HeaderName::from_static("x-api-key"),
        HeaderName::from_static("x-request-id"),
    ];
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers(headers)
        .expose_headers([HeaderName::from_static("x-request-id")]);
    Ok(Some(layer))
}
