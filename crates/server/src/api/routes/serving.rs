//! Models, and the status of the service.

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
            summary: "Load a model folder from the server's disk into the index",
            description: "Computes the embeddings of all documents, which may take minutes; searches \
                go on meanwhile.",
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
            summary: "Activate a loaded version of a model",
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
            summary: "Roll back to the version of a model that was active before",
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
            description: "Shows the last change on disk and the last that search sees. If search \
                makes no progress with pending changes for half a minute, the service is degraded: \
                the status is 503, with a reason.",
            handler: |call| Box::pin(status::ready(call)),
            ..get(
                "/ready",
                None,
                AnswerOf {
                    also: &[(
                        503,
                        "Degraded: it cannot search, or search does not see new changes.",
                    )],
                    ..json::<Ready>(STATUS)
                },
            )
        },
        Route {
            summary: "Metrics for Prometheus",
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
