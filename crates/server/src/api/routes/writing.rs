//! Documents: read, written, deleted.

use super::*;

pub(super) fn routes() -> Vec<Route> {
    let written = || AnswerOf { also: NOT_YET, ..json::<BulkWritten>(WRITTEN) };
    let one = r#"{"id": "a1", "title": "Heart attack", "year": 2001}"#;
    let put_description = "One document, a list of them, or NDJSON (`application/x-ndjson`), one \
        document per line, each with an `id`. A document takes the place of an earlier one with its \
        id. They are on disk when the answer comes, and searchable soon after. If one is bad, all \
        are refused, and the answer names the lines; unless `lenient` is asked for.";
    let put = || Route {
        summary: "Add or replace documents",
        description: put_description,
        parameters: &[WAIT, LENIENT],
        long: true,
        handler: |call| Box::pin(documents::put(call)),
        ..post("/documents", Scope::Write, bodies::<DocumentBody>(one), written())
    };
    vec![
        Route { method: Method::PUT, ..put() },
        put(),
        Route {
            summary: "A document",
            description: "The id may hold any characters, percent-encoded where a path needs it.",
            handler: |call| Box::pin(documents::get(call)),
            ..get("/documents/{*id}", Some(Scope::Read), json::<DocumentBody>(one))
        },
        Route {
            method: Method::PUT,
            summary: "Add or replace a document",
            description: "The id may be left out of the body.",
            parameters: &[WAIT],
            handler: |call| Box::pin(documents::put_one(call)),
            ..post(
                "/documents/{*id}",
                Scope::Write,
                larger::<Value>(r#"{"title": "Heart"}"#),
                written(),
            )
        },
        Route {
            method: Method::DELETE,
            summary: "Delete a document",
            description: "`written` is 0 if it was not there.",
            parameters: &[WAIT],
            handler: |call| Box::pin(documents::delete_one(call)),
            ..get("/documents/{*id}", Some(Scope::Write), written())
        },
        Route {
            summary: "Delete documents",
            description: "`written` says how many of them were there.",
            parameters: &[WAIT],
            handler: |call| Box::pin(documents::delete_many(call)),
            ..post(
                "/documents/delete",
                Scope::Write,
                larger::<DeleteRequest>(r#"{"ids": ["a1", "a2"]}"#),
                written(),
            )
        },
    ]
}
