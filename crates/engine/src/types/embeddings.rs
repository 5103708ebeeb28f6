//! Images, and what lies near.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModelRef;

/// A request for where texts lie in a model's latent space.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedRequest {
    /// The model; the first that has a latent space if not said.
    pub model: Option<String>,
    /// Texts, read as queries.
    pub queries: Vec<String>,
    /// Documents, each with fields; an `id` is not needed.
    pub documents: Vec<Map<String, Value>>,
    /// Ids of documents of the index.
    pub ids: Vec<String>,
}

/// Where texts lie: dot products of a query's and a document's image are scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbedResponse {
    /// The model.
    pub model: ModelRef,
    /// The number of dimensions.
    pub dim: usize,
    /// One image a query.
    pub queries: Vec<Vec<f32>>,
    /// One image a document given.
    pub documents: Vec<Vec<f32>>,
    /// One image an id.
    pub ids: Vec<Vec<f32>>,
}

/// A question what lies near a query, a document or a word.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimilarRequest {
    /// The model; the first that has a latent space if not said.
    pub model: Option<String>,
    /// Queries near this one, or
    pub query: Option<String>,
    /// documents near the one of this id, or
    pub id: Option<String>,
    /// words near this one.
    pub word: Option<String>,
    /// How many; 10 if not said.
    pub k: Option<usize>,
}

/// What lies near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarResponse {
    /// The model.
    pub model: ModelRef,
    /// Queries, or words of queries.
    pub queries: Vec<Neighbour>,
    /// Documents (by id), or words of documents.
    pub documents: Vec<Neighbour>,
}

/// Something near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// A query's text, a document's id or a word.
    pub name: String,
    /// A document's title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The cosine of the images.
    pub cosine: f64,
}
