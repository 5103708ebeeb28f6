//! The table of routes: the router and the OpenAPI document are both made of it.

mod learning;
mod searching;
mod serving;
mod writing;

use axum::http::Method;
use liken_engine::types::Scope;
use serde_json::Value;

use super::documents::{BulkWritten, DeleteRequest, DocumentBody};
use super::events::NumberedEvent;
use super::items::OneOrMany;
use super::route::{AnswerOf, BodyOf, Kind, Parameter, Route, Size, TypeOf};
use super::status::Ready;
use super::types::*;
use super::{documents, events, judgments, models, search, status};

const WAIT: Parameter = Parameter {
    name: "wait",
    kind: Kind::Bool,
    description: "Answer once search sees the change.",
};
const LENIENT: Parameter = Parameter {
    name: "lenient",
    kind: Kind::Bool,
    description: "Write the valid ones; count and sample the invalid ones.",
};
const QUERY: Parameter =
    Parameter { name: "query", kind: Kind::Text, description: "Only those of this query." };

const NOT_YET: &[(u16, &str)] = &[(202, "On disk, but search does not see it yet.")];

const WRITTEN: &str = r#"{"written": 1, "replaced": 0, "sequence": 17}"#;
const STATUS: &str = r#"{"status": "ok", "documents": 3633, "written": 17, "applied": 17,
    "models": [{"name": "rmls", "version": "1f6c0d2a"}], "liken": "0.1.0"}"#;
const MODEL: &str = r#"{"name": "rmls", "version": "1f6c0d2a", "active": true, "method": "rmls",
    "dim": 300, "loaded": 1760000000.0, "neighbours": "exact"}"#;

/// A route that is asked without a body.
fn get(path: &'static str, scope: Option<Scope>, answer: AnswerOf) -> Route {
    Route {
        method: Method::GET,
        path,
        scope,
        summary: "",
        description: "",
        parameters: &[],
        body: None,
        answer,
        long: false,
        handler: |call| Box::pin(status::health(call)),
    }
}

fn post(path: &'static str, scope: Scope, body: BodyOf, answer: AnswerOf) -> Route {
    Route { method: Method::POST, body: Some(body), ..get(path, Some(scope), answer) }
}

fn body<T: schemars::JsonSchema + serde::de::DeserializeOwned>(example: &'static str) -> BodyOf {
    BodyOf { of: TypeOf::new::<T>(), example, size: Size::Question }
}

/// A body that may bring documents, or many ids.
fn larger<T: schemars::JsonSchema + serde::de::DeserializeOwned>(example: &'static str) -> BodyOf {
    BodyOf { size: Size::Some, ..body::<T>(example) }
}

/// One, a list, or one per line.
fn bodies<T: schemars::JsonSchema + serde::de::DeserializeOwned>(example: &'static str) -> BodyOf {
    BodyOf { of: TypeOf::new::<OneOrMany<T>>(), example, size: Size::Many }
}

fn json<T: schemars::JsonSchema + serde::de::DeserializeOwned>(example: &'static str) -> AnswerOf {
    AnswerOf { media: "application/json", of: Some(TypeOf::new::<T>()), example, also: &[] }
}

/// Everything that can be asked.
pub(super) fn routes() -> Vec<Route> {
    let mut all = searching::routes();
    all.extend(writing::routes());
    all.extend(learning::routes());
    all.extend(serving::routes());
    all
}
