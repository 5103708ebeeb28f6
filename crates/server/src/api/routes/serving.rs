//! Routes of models, and of the status of the service.

use axum::http::Method;
use liken_engine::types::{LoadRequest, ModelAbout, Scope, Status};

use crate::api::route::{AnswerSpec, BodySpec, Route};
use crate::api::status::Ready;
use crate::api::types::ActivateRequest;
use crate::api::{models, status};

const STATUS: &str = r#"{"status": "ok", "documents": 3633, "written": 17, "applied": 17,
    "models": [{"name": "rmls", "version": "1f6c0d2a"}], "liken": "0.1.0"}"#;
const MODELS: &str = r#"[{"name": "rmls", "version": "1f6c0d2a", "active": true, "method": "rmls",
    "dim": 300, "loaded": 1760000000.0, "neighbours": "exact"}]"#;

pub(super) fn routes() -> Vec<Route> {
    let admin = Scope::Admin;
    let model = MODELS.trim_matches(['[', ']']);
    vec![
        Route {
            summary: "List all versions of all models",
            ..Route::get(
                "/models",
                Some(Scope::Read),
                models::list,
                AnswerSpec::json::<Vec<ModelAbout>>(MODELS),
            )
        },
        Route {
            summary: "Load a model folder from the server's disk into the index",
            description: "Computes the embeddings of all documents, which may take minutes; searches \
                continue meanwhile.",
            long: true,
            ..Route::post(
                "/models",
                admin,
                models::load,
                BodySpec::small::<LoadRequest>(
                    r#"{"name": "rmls", "path": "models/rmls-2", "activate": true}"#,
                ),
                AnswerSpec::json::<ModelAbout>(model),
            )
        },
        Route {
            summary: "Activate a loaded version of a model",
            long: true,
            ..Route::post(
                "/models/{name}/activate",
                admin,
                models::activate,
                BodySpec::small::<ActivateRequest>(r#"{"version": "1f6c0d2a"}"#),
                AnswerSpec::json::<ModelAbout>(model),
            )
        },
        Route {
            method: Method::POST,
            summary: "Roll back to the previously active version of a model",
            long: true,
            ..Route::get(
                "/models/{name}/rollback",
                Some(admin),
                models::roll_back,
                AnswerSpec::json::<ModelAbout>(model),
            )
        },
        Route {
            summary: "Liveness probe",
            ..Route::get("/health", None, status::health, AnswerSpec::json::<Status>(STATUS))
        },
        Route {
            summary: "Readiness probe",
            description: "Returns the last change on disk and the last that search sees. If search \
                makes no progress with pending changes for half a minute, the service is degraded: \
                the status is 503, with a reason.",
            ..Route::get(
                "/ready",
                None,
                status::ready,
                AnswerSpec {
                    also: &[(
                        503,
                        "Degraded: it cannot search, or search does not see new changes.",
                    )],
                    ..AnswerSpec::json::<Ready>(STATUS)
                },
            )
        },
        Route {
            summary: "Prometheus metrics",
            ..Route::get(
                "/metrics",
                Some(Scope::Read),
                status::metrics,
                AnswerSpec::text(
                    "text/plain; version=0.0.4; charset=utf-8",
                    "# TYPE liken_documents gauge\nliken_documents 3633\n",
                ),
            )
        },
    ]
}
