//! Models, and how the service is.

use super::*;

pub(super) fn routes() -> Vec<Route> {
    let admin = Scope::Admin;
    vec![
        Route {
            summary: "Every version of every model",
            handler: |call| Box::pin(models::list(call)),
            ..get(
                "/models",
                Some(Scope::Read),
                json::<Vec<ModelAbout>>(
                    r#"[{"name": "rmls", "version": "1f6c0d2a", "active": true, "method": "rmls",
                    "dim": 300, "loaded": 1760000000.0, "neighbours": null}]"#,
                ),
            )
        },
        Route {
            summary: "Take a model folder of the server's disk into the index",
            description: "Takes as long as computing the images of all documents; searches go \
                on meanwhile.",
            long: true,
            handler: |call| Box::pin(models::load(call)),
            ..post(
                "/models",
                admin,
                body::<LoadRequest>(
                    r#"{"name": "rmls", "path": "models/rmls-2", "activate": true}"#,
                ),
                json::<ModelAbout>(MODEL),
            )
        },
        Route {
            summary: "Search with a loaded version of a model",
            long: true,
            handler: |call| Box::pin(models::activate(call)),
            ..post(
                "/models/{name}/activate",
                admin,
                body::<ActivateRequest>(r#"{"version": "1f6c0d2a"}"#),
                json::<ModelAbout>(MODEL),
            )
        },
        Route {
            method: Method::POST,
            summary: "Search with the version of a model that was active before",
            long: true,
            handler: |call| Box::pin(models::roll_back(call)),
            ..get("/models/{name}/rollback", Some(admin), json::<ModelAbout>(MODEL))
        },
        Route {
            summary: "Whether the process lives",
            handler: |call| Box::pin(status::health(call)),
            ..get("/health", None, json::<Status>(STATUS))
        },
        Route {
            summary: "Whether it can search",
            description: "Shows the last change on disk and the last that search sees. Where \
                search makes no progress with what is written for half a minute, it says so with \
                503.",
            handler: |call| Box::pin(status::ready(call)),
            ..get(
                "/ready",
                None,
                AnswerOf {
                    also: &[(503, "It cannot search, or search does not see what is written.")],
                    ..json::<Ready>(STATUS)
                },
            )
        },
        Route {
            summary: "Counts and times for Prometheus",
            handler: |call| Box::pin(status::metrics(call)),
            ..get(
                "/metrics",
                Some(Scope::Read),
                AnswerOf {
                    media: "text/plain; version=0.0.4; charset=utf-8",
                    of: None,
                    example: "# TYPE liken_documents gauge\nliken_documents 3633\n",
                    also: &[],
                },
            )
        },
        Route {
            summary: "This document",
            handler: |call| Box::pin(status::openapi(call)),
            ..get("/openapi.json", None, json::<Value>(r#"{"openapi": "3.1.0"}"#))
        },
    ]
}
