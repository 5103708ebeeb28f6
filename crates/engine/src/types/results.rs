//! The results of searches and of re-ranking.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ExplainResponse, FusionSpec, ModelRef};

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResponse {
    /// The query as given.
    pub query: String,
    /// Words of the query that no model of the search knows, as they were typed.
    pub unknown_words: Vec<String>,
    /// The models that scored, with their versions.
    pub models: Vec<ModelRef>,
    /// The ranker that re-ranked the candidates, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranker: Option<String>,
    /// The fusion of the models' scores, if there were several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fusion: Option<FusionSpec>,
    /// The number of candidates that each model retrieved.
    pub candidate_depth: usize,
    /// The total number of candidates, for paging.
    pub candidates: usize,
    /// The number of hits that were skipped.
    pub offset: usize,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Reasons why there are no hits, or fewer than expected.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// Milliseconds from the request to the response.
    pub took_ms: f64,
}

/// A document in a ranking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The rank, from 1 over all pages.
    pub rank: usize,
    /// The document's id.
    pub id: String,
    /// Its score; larger is better. Scores of different queries cannot be compared.
    pub score: f64,
    /// The score of every model of the search, by name, before fusion.
    pub scores: BTreeMap<String, f64>,
    /// The document's fields.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub document: Map<String, Value>,
    /// Fragments of its text with the words of the query marked, by field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub highlights: BTreeMap<String, Vec<Fragment>>,
    /// The explanation of its score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<ExplainResponse>,
    /// The features that the ranker used, by name; null where a value is missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub features: BTreeMap<String, Option<f32>>,
}

/// A fragment of a text, marked or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// Text of the fragment, without marks.
    pub text: String,
    /// Whether it is a word of the query.
    pub marked: bool,
}

/// Given documents, re-ranked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankResponse {
    /// The models that scored, with their versions.
    pub models: Vec<ModelRef>,
    /// The ranker that re-ranked them, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranker: Option<String>,
    /// Documents, best first.
    pub hits: Vec<Hit>,
    /// Ids that the index does not know.
    pub unknown_ids: Vec<String>,
    /// Milliseconds from the request to the response.
    pub took_ms: f64,
}
