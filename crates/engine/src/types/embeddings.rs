//! Embeddings and nearest neighbours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModelRef;

/// A request for embeddings: vectors of texts and documents under a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedRequest {
    /// The model; by default the first with a latent space.
    pub model: Option<String>,
    /// Texts, read as queries.
    pub queries: Vec<String>,
    /// Documents, each with fields; an `id` is not needed.
    pub documents: Vec<Map<String, Value>>,
    /// Ids of documents of the index.
    pub ids: Vec<String>,
}

/// Embeddings: the dot product of a query's and a document's embedding is the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedResponse {
    /// The model that was used, with its version.
    pub model: ModelRef,
    /// The number of dimensions.
    pub dim: usize,
    /// One embedding per query.
    pub queries: Vec<Vec<f32>>,
    /// One embedding per document given.
    pub documents: Vec<Vec<f32>>,
    /// One embedding per id.
    pub ids: Vec<Vec<f32>>,
}

/// A request for the nearest neighbours of a query, a document or a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimilarRequest {
    /// The model; by default the first with a latent space.
    pub model: Option<String>,
    /// Find queries near this one, or
    pub query: Option<String>,
    /// documents near the one of this id, or
    pub id: Option<String>,
    /// words near this one.
    pub word: Option<String>,
    /// The number of neighbours; by default 10.
    pub k: Option<usize>,
}

/// The nearest neighbours, nearest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarResponse {
    /// The model that was used, with its version.
    pub model: ModelRef,
    /// Queries, or words of queries.
    pub queries: Vec<Neighbour>,
    /// Documents (by id), or words of documents.
    pub documents: Vec<Neighbour>,
}

/// A neighbour in the latent space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// A query's text, a document's id or a word.
    pub name: String,
    /// A document's title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The cosine of the embeddings.
    pub cosine: f64,
}
