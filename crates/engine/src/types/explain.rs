//! Explanations of scores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelRef, SearchRequest};

/// A request to explain the score of a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainRequest {
    /// The search whose score is to be explained; its `k`, `offset` and `explain` do not matter.
    pub search: SearchRequest,
    /// The document's id.
    pub id: String,
    /// The number of contributions to list per matcher; by default 30.
    pub most: Option<usize>,
}

/// An explanation that adds up: fused score = Σ over models of `contribution`; a matcher's score =
/// Σ contributions + rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainResponse {
    /// The document's id.
    pub id: String,
    /// Its score in the search.
    pub score: f64,
    /// The contribution of every model.
    pub models: Vec<ModelExplanation>,
    /// The contribution of every feature to the ranker's score, if a ranker re-ranked the candidates.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranker: Option<RankerExplanation>,
    /// Words (after analysis) that query and document share.
    pub shared_words: Vec<String>,
    /// Reasons why the document is not in the results, or has another score.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// The contribution of a model to the fused score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelExplanation {
    /// The model, with its version.
    pub model: ModelRef,
    /// The model's own score, before fusion.
    pub score: f64,
    /// Its contribution to the fused score.
    pub contribution: f64,
    /// The formula of `contribution`.
    pub how: String,
    /// One per matcher of the model.
    pub parts: Vec<PartExplanation>,
}

/// The contribution of one matcher to the score of its model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartExplanation {
    /// Method of the part.
    pub method: String,
    /// Whether the matcher is lexical.
    pub lexical: bool,
    /// Its weight in the model.
    pub weight: f64,
    /// Its own score: Σ contributions + rest.
    pub score: f64,
    /// Its contribution to the model's score.
    pub contribution: f64,
    /// Pairs of a word (or click) of the query and one of the document, largest first.
    pub contributions: Vec<Contribution>,
    /// The number of smaller contributions, which are not listed.
    pub n_rest: usize,
    /// Their sum.
    pub rest: f64,
}

/// The contribution of a pair of query feature and document feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contribution {
    /// The word (or click) of the query.
    pub query: String,
    /// The word (or click) of the document.
    pub doc: String,
    /// The contribution.
    pub value: f64,
}

/// Feature attribution of a ranker's score: score = base + Σ contributions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankerExplanation {
    /// The ranker's name.
    pub ranker: String,
    /// The ranker's score.
    pub score: f64,
    /// The score without any feature.
    pub base: f64,
    /// Every feature with its value (null if missing) and its contribution, largest first.
    pub features: Vec<FeatureContribution>,
}

/// The contribution of a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FeatureContribution {
    /// The feature's name.
    pub name: String,
    /// The feature's value.
    pub value: Option<f32>,
    /// Its contribution to the ranker's score.
    pub contribution: f64,
}
