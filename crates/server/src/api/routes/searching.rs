//! Searching, scoring and explaining.

use super::*;

pub(super) fn routes() -> Vec<Route> {
    let read = Scope::Read;
    vec![
        Route {
            summary: "The best documents for a query",
            description: "Retrieves candidates by words and by nearest neighbours, scores them \
                with the models, fuses the scores, and re-ranks and diversifies if asked to. Scores \
                and order do not depend on `k` and `offset`.",
            handler: |call| Box::pin(search::search(call)),
            ..post(
                "/search",
                read,
                body::<SearchRequest>(
                    r#"{"query": "heart attack", "k": 10, "filter": {"year": {"gte": 2000}}}"#,
                ),
                json::<SearchResponse>(
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
            description: "Documents are named by id, or given with their fields; the answer is \
                ordered by score.",
            handler: |call| Box::pin(search::rerank(call)),
            ..post(
                "/rerank",
                read,
                larger::<RerankRequest>(
                    r#"{"query": "heart attack", "ids": ["MED-10"],
                    "documents": [{"id": "x", "title": "Cardiac arrest"}]}"#,
                ),
                json::<RerankResponse>(
                    r#"{"models": [{"name": "rmls", "version": "1f6c0d2a"}], "took_ms": 0.4,
                    "unknown_ids": [], "hits": [{"rank": 1, "id": "MED-10", "score": 7.25,
                    "scores": {"rmls": 7.25}}]}"#,
                ),
            )
        },
        Route {
            summary: "Embeddings of texts and documents",
            description: "The dot product of a query's and a document's embedding is the score.",
            handler: |call| Box::pin(search::embed(call)),
            ..post(
                "/embed",
                read,
                larger::<EmbedRequest>(r#"{"queries": ["heart attack"], "ids": ["MED-10"]}"#),
                json::<EmbedResponse>(
                    r#"{"model": {"name": "rmls", "version": "1f6c0d2a"}, "dim": 2,
                    "queries": [[0.5, 0.1]], "documents": [], "ids": [[0.4, 0.2]]}"#,
                ),
            )
        },
        Route {
            summary: "Nearest neighbours of a query, a document or a word",
            handler: |call| Box::pin(search::similar(call)),
            ..post(
                "/similar",
                read,
                body::<SimilarRequest>(r#"{"word": "heart", "k": 5}"#),
                json::<SimilarResponse>(
                    r#"{"model": {"name": "rmls", "version": "1f6c0d2a"},
                    "queries": [{"name": "cardiac", "cosine": 0.9}], "documents": []}"#,
                ),
            )
        },
        Route {
            summary: "Why a document has its score",
            description: "Contributions that add up to the score.",
            handler: |call| Box::pin(search::explain(call)),
            ..post(
                "/explain",
                read,
                body::<ExplainRequest>(r#"{"search": {"query": "heart attack"}, "id": "MED-10"}"#),
                json::<ExplainResponse>(
                    r#"{"id": "MED-10", "score": 7.25, "shared_words": ["heart"], "models":
                    [{"model": {"name": "rmls", "version": "1f6c0d2a"}, "score": 7.25,
                    "contribution": 7.25, "how": "the score itself", "parts": []}]}"#,
                ),
            )
        },
    ]
}
