//! Routes of search, re-ranking, explanations, embeddings and neighbours.

use liken_engine::types::{
    EmbedRequest, EmbedResponse, ExplainRequest, ExplainResponse, RerankRequest, RerankResponse,
    Scope, SearchRequest, SearchResponse, SimilarRequest, SimilarResponse,
};

use crate::api::route::{AnswerSpec, BodySpec, Route};
use crate::api::search;

pub(super) fn routes() -> Vec<Route> {
    let read = Scope::Read;
    vec![
        Route {
            summary: "Search",
            description: "Retrieves candidates by words and by nearest neighbours, scores them \
                with the models, fuses the scores, and re-ranks and diversifies on request. Scores \
                and order do not depend on `k` and `offset`.",
            ..Route::post(
                "/search",
                read,
                search::search,
                BodySpec::small::<SearchRequest>(
                    r#"{"query": "heart attack", "k": 10, "filter": {"year": {"gte": 2000}}}"#,
                ),
                AnswerSpec::json::<SearchResponse>(
                    r#"{"query": "heart attack", "unknown_words": [],
                    "models": [{"name": "rmls", "version": "1f6c0d2a"}], "candidate_depth": 200,
                    "candidates": 200, "offset": 0, "took_ms": 3.2, "hits": [{"rank": 1,
                    "id": "MED-10", "score": 7.25, "scores": {"rmls": 7.25},
                    "document": {"title": "Myocardial infarction"}}]}"#,
                ),
            )
        },
        Route {
            summary: "Re-rank given documents",
            description: "Documents of the index are given by id, others with their fields; the hits are \
                ordered by score.",
            ..Route::post(
                "/rerank",
                read,
                search::rerank,
                BodySpec::medium::<RerankRequest>(
                    r#"{"query": "heart attack", "ids": ["MED-10"],
                    "documents": [{"id": "x", "title": "Cardiac arrest"}]}"#,
                ),
                AnswerSpec::json::<RerankResponse>(
                    r#"{"models": [{"name": "rmls", "version": "1f6c0d2a"}], "took_ms": 0.4,
                    "unknown_ids": [], "hits": [{"rank": 1, "id": "MED-10", "score": 7.25,
                    "scores": {"rmls": 7.25}}]}"#,
                ),
            )
        },
        Route {
            summary: "Embed queries and documents",
            description: "The dot product of a query's and a document's embedding is the score.",
            ..Route::post(
                "/embed",
                read,
                search::embed,
                BodySpec::medium::<EmbedRequest>(
                    r#"{"queries": ["heart attack"], "ids": ["MED-10"]}"#,
                ),
                AnswerSpec::json::<EmbedResponse>(
                    r#"{"model": {"name": "rmls", "version": "1f6c0d2a"}, "dim": 2,
                    "queries": [[0.5, 0.1]], "documents": [], "ids": [[0.4, 0.2]]}"#,
                ),
            )
        },
        Route {
            summary: "Find the nearest neighbours of a query, a document or a word",
            ..Route::post(
                "/similar",
                read,
                search::similar,
                BodySpec::small::<SimilarRequest>(r#"{"word": "heart", "k": 5}"#),
                AnswerSpec::json::<SimilarResponse>(
                    r#"{"model": {"name": "rmls", "version": "1f6c0d2a"},
                    "queries": [{"name": "cardiac", "cosine": 0.9}], "documents": []}"#,
                ),
            )
        },
        Route {
            summary: "Explain the score of a document",
            description: "Contributions that add up to the score.",
            ..Route::post(
                "/explain",
                read,
                search::explain,
                BodySpec::small::<ExplainRequest>(
                    r#"{"search": {"query": "heart attack"}, "id": "MED-10"}"#,
                ),
                AnswerSpec::json::<ExplainResponse>(
                    r#"{"id": "MED-10", "score": 7.25, "shared_words": ["heart"], "models":
                    [{"model": {"name": "rmls", "version": "1f6c0d2a"}, "score": 7.25,
                    "contribution": 7.25, "how": "the score itself", "parts": []}]}"#,
                ),
            )
        },
    ]
}
