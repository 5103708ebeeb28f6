//! What requests and responses look like: the one place that handlers, pages and the OpenAPI
//! document read it off. Unknown fields are refused, so that a misspelt option never passes
//! silently.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `POST /search`.
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
    /// How the scores of several models come together.
    pub fusion: Option<FusionSpec>,
    /// A trained ranker of the index that puts the candidates in order, by name; "none" for none.
    pub ranker: Option<String>,
    /// Put different documents first (maximal marginal relevance).
    pub diversify: Option<DiversifySpec>,
    /// How many candidates each model proposes. It does not depend on `k` and `offset`, so that
    /// scores and order stay the same from page to page. A ranker puts the first so many of all in
    /// order.
    pub candidate_depth: Option<usize>,
    /// Only documents that this holds of, e.g. {"year": {"gte": 2000}}.
    pub filter: Option<Value>,
    /// Documents that are left out.
    pub exclude_ids: Vec<String>,
    /// The fields of documents to return; all if not said, none if empty.
    pub fields: Option<Vec<String>>,
    /// Mark the words of the query in pieces of the text.
    pub highlight: bool,
    /// Say for every hit why it has its score.
    pub explain: bool,
    /// Return the features that the ranker saw, as it was given them: what a ranker learns from.
    pub log_features: bool,
}

/// How the scores of several models come together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FusionSpec {
    /// What is added up.
    pub method: FusionMethod,
    /// One weight a model, by name; 1 for those that are not named.
    pub weights: BTreeMap<String, f64>,
    /// The constant of `rrf`; 60 if not said.
    pub rank_constant: Option<f64>,
}

/// What is added up over models.
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

/// How results are made different from each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiversifySpec {
    /// Share of relevance against novelty: 1 changes nothing.
    pub lambda: f64,
}

/// The answer to `POST /search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResponse {
    /// The query as given.
    pub query: String,
    /// Words of it that no model that was asked knows.
    pub unknown_words: Vec<String>,
    /// The models that scored, with their versions.
    pub models: Vec<ModelRef>,
    /// The ranker that put the candidates in order, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranker: Option<String>,
    /// How the models' scores were fused, if there were several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fusion: Option<FusionSpec>,
    /// How many candidates each model proposed.
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

/// A model and the version of it that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRef {
    /// Its name.
    pub name: String,
    /// Its version: the beginning of its folder's checksum.
    pub version: String,
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
    /// Pieces of its text with the words of the query marked, by field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub highlights: BTreeMap<String, Vec<Piece>>,
    /// Why it has its score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<ExplainResponse>,
    /// What the ranker saw, by feature; null where a value is missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub features: BTreeMap<String, Option<f32>>,
}

/// A piece of text, marked or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// Whether it is a word of the query.
    pub marked: bool,
}

/// `POST /explain`: why a document has its score.
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

/// An explanation that adds up: fused score = Σ over models of `adds`; a model's score = Σ lines
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
}

/// What a model adds to a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelExplanation {
    /// The model.
    pub model: ModelRef,
    /// Its own score.
    pub score: f64,
    /// What it adds to the fused score.
    pub adds: f64,
    /// How `adds` comes from `score`, in words.
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
    pub adds: f64,
    /// Pairs of a word (or click) of the query and one of the document, largest first.
    pub lines: Vec<Contribution>,
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
    pub adds: f64,
}

/// `POST /rerank`: put documents in the order of a model's scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RerankRequest {
    /// The query.
    pub query: String,
    /// The models that score; the service's own choice if empty.
    pub models: Vec<String>,
    /// How several models' scores come together.
    pub fusion: Option<FusionSpec>,
    /// Ids of documents of the index.
    pub ids: Vec<String>,
    /// Documents that are not in the index, each with an `id` and fields.
    pub documents: Vec<Map<String, Value>>,
    /// How many to return; all if not said.
    pub k: Option<usize>,
}

/// The answer to `POST /rerank`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerankResponse {
    /// The models that scored, with their versions.
    pub models: Vec<ModelRef>,
    /// Documents, best first.
    pub hits: Vec<Hit>,
    /// Ids that the index does not know.
    pub unknown_ids: Vec<String>,
    /// Milliseconds.
    pub took_ms: f64,
}

/// `POST /embed`: where texts lie in a model's latent space.
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

/// The answer to `POST /embed`: dot products of a query's and a document's image are scores.
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

/// `POST /similar`: what lies near a query, a document or a word.
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

/// The answer to `POST /similar`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarResponse {
    /// The model.
    pub model: ModelRef,
    /// Queries, or words of queries.
    pub queries: Vec<Near>,
    /// Documents (by id), or words of documents.
    pub documents: Vec<Near>,
}

/// Something near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Near {
    /// A query's text, a document's id or a word.
    pub name: String,
    /// A document's title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The cosine of the images.
    pub cosine: f64,
}

/// The answer to writes of documents, events and judgments: they are on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// How many were written.
    pub written: usize,
    /// How many of them took the place of an earlier one; for deletes, how many were there.
    pub replaced: usize,
    /// The last change: once `/ready` says that this one is applied, search sees it.
    pub sequence: u64,
}

/// A click on a result, or a page of results that was shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Event {
    /// `click` or `impression`.
    pub kind: String,
    /// The query as it was typed.
    pub query: String,
    /// The document clicked.
    pub id: Option<String>,
    /// Its rank on the page, counted from one.
    pub rank: Option<u32>,
    /// The documents shown, in order.
    pub shown: Vec<String>,
    /// Who it was, or which visit, as the caller counts them.
    pub session: Option<String>,
    /// When, in seconds since 1970; now if not said.
    pub time: Option<f64>,
}

/// A grade that a person gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgment {
    /// The query's text.
    pub query: String,
    /// The document's id.
    pub id: String,
    /// From 0 (not relevant) on; null takes an earlier grade back.
    pub grade: Option<u8>,
    /// Who judged.
    #[serde(default)]
    pub judge: Option<String>,
}

/// A model of the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAbout {
    /// The model and its version.
    #[serde(flatten)]
    pub model: ModelRef,
    /// Whether searches that name no version get this one.
    pub active: bool,
    /// What it is made of: `rmls`, `pls+bm25` …
    pub method: String,
    /// Latent dimensions, where it has a latent space.
    pub dim: Option<usize>,
    /// When it was loaded, in seconds since 1970.
    pub loaded: f64,
    /// How neighbours are found: `exact`, or `lists` with the recall that was measured.
    pub neighbours: Option<String>,
}

/// `POST /models`: take a model folder of the server's disk into the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// The name it is to have; a new version of the model of that name, if there is one.
    pub name: String,
    /// The model folder.
    pub path: String,
    /// Search with it as soon as it is ready.
    #[serde(default)]
    pub activate: bool,
}

/// `POST /models/{name}/activate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivateRequest {
    /// The version.
    pub version: String,
}

/// `GET /health` and `GET /ready`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// `ok`, `catching up`, `read only` or `starting`.
    pub status: String,
    /// Documents that can be found.
    pub documents: usize,
    /// The last change that is on disk.
    pub written: u64,
    /// The last change that search sees.
    pub applied: u64,
    /// The active models.
    pub models: Vec<ModelRef>,
    /// The rankers that a search may ask for.
    #[serde(default)]
    pub rankers: Vec<String>,
    /// The version of liken.
    pub liken: String,
}
