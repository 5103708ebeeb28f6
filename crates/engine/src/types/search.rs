//! Searching, and re-ranking of given documents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ExplainResponse, ModelRef};

/// A search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The query, as a user would type it. Words in "double quotes" must stand side by side.
    pub query: String,
    /// How many hits to return; 10 if not said.
    pub k: Option<usize>,
    /// How many of the best hits to pass over, for further pages.
    pub offset: usize,
    /// The models that score, by name; more than one are fused. The service's own choice if empty.
    pub models: Vec<String>,
    /// How the scores of several models are fused.
    pub fusion: Option<FusionSpec>,
    /// A trained ranker of the index that re-ranks the candidates, by name; "none" for none.
    pub ranker: Option<String>,
    /// Diversify the results (maximal marginal relevance).
    pub diversify: Option<DiversifySpec>,
    /// How many candidates each model retrieves, and how many of all a ranker re-ranks. It does not
    /// depend on `k` and `offset`, so that scores and order stay the same from page to page.
    pub candidate_depth: Option<usize>,
    /// Only documents that pass this filter, e.g. {"year": {"gte": 2000}}.
    pub filter: Option<Value>,
    /// Documents that are left out.
    pub exclude_ids: Vec<String>,
    /// The fields of documents to return; all if not said, none if empty.
    pub fields: Option<Vec<String>>,
    /// Return fragments of the text with the words of the query marked.
    pub highlight: bool,
    /// Say for every hit why it has its score.
    pub explain: bool,
    /// Return the features that the ranker used, to train rankers on.
    pub log_features: bool,
}

/// How the scores of several models are fused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FusionSpec {
    /// What is summed over models.
    pub method: FusionMethod,
    /// One weight per model, by name; 1 for those that are not named.
    pub weights: BTreeMap<String, f64>,
    /// The constant of `rrf`; 60 if not said.
    pub rank_constant: Option<f64>,
}

/// What is summed over models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FusionMethod {
    /// Scores, standardised over the candidates.
    #[default]
    ZScore,
    /// Scores, scaled to 0 to 1 over the candidates.
    MinMax,
    /// 1 / (rank_constant + rank).
    Rrf,
}

/// How results are diversified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiversifySpec {
    /// Share of relevance against novelty: 1 changes nothing.
    pub lambda: f64,
}

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
    /// How the models' scores were fused, if there were several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fusion: Option<FusionSpec>,
    /// How many candidates each model retrieved.
    pub candidate_depth: usize,
    /// How many candidates there were in all; hits can be paged through to the last of them.
    pub candidates: usize,
    /// How many hits were passed over.
    pub offset: usize,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Why there is nothing, or less than one might expect.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// Milliseconds from reading the request to having the answer.
    pub took_ms: f64,
}

/// A document in a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Counted from one over all pages.
    pub rank: usize,
    /// The document's id.
    pub id: String,
    /// Its score; larger is better. Scores of different queries cannot be compared.
    pub score: f64,
    /// The score of every model that was asked, by name, before fusion.
    pub scores: BTreeMap<String, f64>,
    /// The document's fields.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub document: Map<String, Value>,
    /// Fragments of its text with the words of the query marked, by field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub highlights: BTreeMap<String, Vec<Fragment>>,
    /// Why it has its score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<ExplainResponse>,
    /// The features that the ranker used, by name; null where a value is missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub features: BTreeMap<String, Option<f32>>,
}

/// A fragment of a text, marked or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// The text.
    pub text: String,
    /// Whether it is a word of the query.
    pub marked: bool,
}

/// A request to re-rank given documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RerankRequest {
    /// The query.
    pub query: String,
    /// The models that score; the service's own choice if empty.
    pub models: Vec<String>,
    /// How the scores of several models are fused.
    pub fusion: Option<FusionSpec>,
    /// A trained ranker that re-ranks documents of the index; the service's default if not said,
    /// `none` for none. With documents that are not in the index, the fused scores decide.
    pub ranker: Option<String>,
    /// Ids of documents of the index.
    pub ids: Vec<String>,
    /// Documents that are not in the index, each with an `id` and fields.
    pub documents: Vec<Map<String, Value>>,
    /// How many to return; all if not said.
    pub k: Option<usize>,
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
    /// Milliseconds from reading the request to having the answer.
    pub took_ms: f64,
}
