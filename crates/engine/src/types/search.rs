//! Requests to search, and to re-rank given documents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The query, as a user would type it. Words in "double quotes" are a phrase.
    pub query: String,
    /// The number of hits to return; by default 10.
    pub k: Option<usize>,
    /// The number of best hits to skip, for further pages.
    pub offset: usize,
    /// The models that score, by name; several are fused. If empty, the default models of the service.
    pub models: Vec<String>,
    /// The fusion of the scores of several models.
    pub fusion: Option<FusionSpec>,
    /// The name of a trained ranker of the index that re-ranks the candidates; "none" for no ranker.
    pub ranker: Option<String>,
    /// Diversify the results (maximal marginal relevance).
    pub diversify: Option<DiversifySpec>,
    /// The number of candidates that each model retrieves, and that a ranker re-ranks. It does
    /// not depend on `k` and `offset`, so scores and order are the same on all pages.
    pub candidate_depth: Option<usize>,
    /// Only documents that pass this filter, e.g. {"year": {"gte": 2000}}.
    pub filter: Option<Value>,
    /// Ids of documents to exclude.
    pub exclude_ids: Vec<String>,
    /// The fields of documents to return; by default all, if empty none.
    pub fields: Option<Vec<String>>,
    /// Return fragments of the text with the words of the query marked.
    pub highlight: bool,
    /// Explain the score of every hit.
    pub explain: bool,
    /// Return the features that the ranker used, to train rankers.
    pub log_features: bool,
}

/// The fusion of the scores of several models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FusionSpec {
    /// The method; by default `z_score`.
    pub method: FusionMethod,
    /// One weight per model, by name; by default 1.
    pub weights: BTreeMap<String, f64>,
    /// The constant of `rrf`; by default 60.
    pub rank_constant: Option<f64>,
}

/// The method of fusion: the values that are summed over models.
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

/// The diversification of results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiversifySpec {
    /// The weight of relevance against novelty, from 0 to 1: 1 changes nothing.
    pub lambda: f64,
}

/// A request to re-rank given documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RerankRequest {
    /// Query, as a user types it.
    pub query: String,
    /// The models that score; if empty, the default models of the service.
    pub models: Vec<String>,
    /// The fusion of the scores of several models.
    pub fusion: Option<FusionSpec>,
    /// The name of a trained ranker for documents of the index; by default that of the service, `none`
    /// for no ranker. Given `documents` are ranked by the fused scores.
    pub ranker: Option<String>,
    /// Ids of documents of the index.
    pub ids: Vec<String>,
    /// Documents that are not in the index, each with an `id` and fields.
    pub documents: Vec<Map<String, Value>>,
    /// The number of hits to return; by default all.
    pub k: Option<usize>,
}
