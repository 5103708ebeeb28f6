//! Routes of documents. The path of a write is in `engine/engine/mod.rs`.

use axum::http::Method;
use liken_engine::types::Scope;
use serde_json::Value;

use crate::api::documents::{self, BulkWritten, DeleteRequest, DocumentBody};
use crate::api::route::{AnswerSpec, BodySpec, Parameter, ParameterKind, Route};

pub(super) const WRITTEN: &str = r#"{"written": 1, "replaced": 0, "sequence": 17}"#;

const WAIT: Parameter = Parameter {
    name: "wait",
    kind: ParameterKind::Bool,
    description: "Answer when search sees the change.",
};
const LENIENT: Parameter = Parameter {
    name: "lenient",
    kind: ParameterKind::Bool,
    description: "Write the valid documents; count the invalid ones and describe some.",
};

pub(super) fn routes() -> Vec<Route> {
    let written = || AnswerSpec {
        also: &[(202, "On disk, but search does not see it yet.")],
        ..AnswerSpec::json::<BulkWritten>(WRITTEN)
    };
    let one = r#"{"id": "a1", "title": "Heart attack", "year": 2001}"#;
    let put_description = "One document, a list of them, or NDJSON (`application/x-ndjson`), one \
        document per line, each with an `id`. A document replaces an earlier one with its id. They are \
        on disk when the answer comes, and searchable soon after. Unless `lenient` is set, one \
        invalid document rejects the whole request; the answer names the lines.";
    let put = || Route {
        summary: "Add or replace documents",
        description: put_description,
        parameters: &[WAIT, LENIENT],
        long: true,
        ..Route::post(
            "/documents",
            Scope::Write,
            documents::put,
            BodySpec::bulk::<DocumentBody>(one),
            written(),
        )
    };
    vec![
        Route { method: Method::PUT, ..put() },
        put(),
        Route {
            summary: "Get a document",
            description: "The id may hold any characters, percent-encoded where a path needs it.",
            ..Route::get(
                "/documents/{*id}",
                Some(Scope::Read),
                documents::get,
                AnswerSpec::json::<DocumentBody>(one),
            )
        },
        Route {
            method: Method::PUT,
            summary: "Add or replace a document",
            description: "The id may be left out of the body.",
            parameters: &[WAIT],
            ..Route::post(
                "/documents/{*id}",
                Scope::Write,
                documents::put_one,
                BodySpec::medium::<Value>(r#"{"title": "Heart"}"#),
                written(),
            )
        },
        Route {
            method: Method::DELETE,
            summary: "Delete a document",
            description: "`written` is 0 if it did not exist.",
            parameters: &[WAIT],
            ..Route::get("/documents/{*id}", Some(Scope::Write), documents::delete_one, written())
        },
        Route {
            summary: "Delete documents",
            description: "`written` is the number of documents that existed.",
            parameters: &[WAIT],
            ..Route::post(
                "/documents/delete",
                Scope::Write,
                documents::delete_many,
                BodySpec::medium::<DeleteRequest>(r#"{"ids": ["a1", "a2"]}"#),
                written(),
            )
        },
    ]
}
