//! Why a document has its score.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ModelRef, SearchRequest};

/// A question why a document has its score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainRequest {
    /// The search whose score is to be explained; its `k`, `offset` and `explain` do not matter.
    pub search: SearchRequest,
    /// The document's id.
    pub id: String,
    /// How many contributions to show of each model; 30 if not said.
    pub most: Option<usize>,
}

/// An explanation that adds up: fused score = Σ over models of `contribution`; a model's score = Σ lines
/// + rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainResponse {
    /// The document's id.
    pub id: String,
    /// Its score in the search.
    pub score: f64,
    /// What every model adds.
    pub models: Vec<ModelExplanation>,
    /// What every feature adds to the ranker's score, if one put the candidates in order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranker: Option<RankerExplanation>,
    /// Words (after analysis) that query and document share.
    pub shared_words: Vec<String>,
    /// What keeps the document out of the results, or what else moved its score.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
}

/// What a model adds to a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelExplanation {
    /// The model.
    pub model: ModelRef,
    /// Its own score.
    pub score: f64,
    /// What it adds to the fused score.
    pub contribution: f64,
    /// How `contribution` comes from `score`, in words.
    pub how: String,
    /// Its parts: one a matcher.
    pub parts: Vec<PartExplanation>,
}

/// What one matcher of a model adds to the model's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartExplanation {
    /// The method.
    pub method: String,
    /// Whether it only counts words.
    pub lexical: bool,
    /// Its weight in the model.
    pub weight: f64,
    /// Its own score: Σ lines + rest.
    pub score: f64,
    /// What it adds to the model's score.
    pub contribution: f64,
    /// Pairs of a word (or click) of the query and one of the document, largest first.
    pub contributions: Vec<Contribution>,
    /// How many smaller ones there are.
    pub n_rest: usize,
    /// What those add up to.
    pub rest: f64,
}

/// What a pair of query feature and document feature adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contribution {
    /// The query's side.
    pub query: String,
    /// The document's side.
    pub doc: String,
    /// What the pair adds.
    pub value: f64,
}

/// What features add to a ranker's score: score = base + Σ values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankerExplanation {
    /// The ranker.
    pub ranker: String,
    /// Its score.
    pub score: f64,
    /// What it says without any feature.
    pub base: f64,
    /// Every feature with its value (null if missing) and what it adds, largest first.
    pub features: Vec<FeatureContribution>,
}

/// What a feature adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FeatureContribution {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<f32>,
    /// What it adds.
    pub contribution: f64,
}
