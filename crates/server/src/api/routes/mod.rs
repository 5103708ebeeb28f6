//! The table of routes, from which the router and the OpenAPI document are made.

mod learning;
mod searching;
mod serving;
mod writing;

use std::sync::LazyLock;

use serde_json::Value;

use super::call::{Call, ResponseFuture};
use super::openapi;
use super::route::{AnswerSpec, Route};
use crate::http::content;

/// All routes of the API.
pub(super) static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut all = searching::routes();
    all.extend(writing::routes());
    all.extend(learning::routes());
    all.extend(serving::routes());
    let answer = AnswerSpec::json::<Value>(r#"{"openapi": "3.1.0"}"#);
    let summary = "The OpenAPI document of this API";
    all.push(Route { summary, ..Route::get("/openapi.json", None, send_openapi, answer) });
    all
});

/// The OpenAPI document of the service.
pub fn openapi_document() -> Value {
    openapi::document(&ROUTES)
}

fn send_openapi(_: Call) -> ResponseFuture {
    static TEXT: LazyLock<String> = LazyLock::new(|| format!("{:#}\n", openapi_document()));
    Box::pin(async { Ok(content("application/json", TEXT.as_bytes().to_vec())) })
}
