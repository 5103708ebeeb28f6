//! Models, and the status of an index.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model and the version of it that answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ModelRef {
    /// The model's name in the index.
    pub name: String,
    /// The version: the beginning of the checksum of its folder.
    pub version: String,
}

/// A model of the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelAbout {
    /// The model and its version.
    #[serde(flatten)]
    pub model: ModelRef,
    /// Whether searches use this version.
    pub active: bool,
    /// The method, or the mix of methods: `rmls`, `pls+bm25` …
    pub method: String,
    /// Latent dimensions, if it has a latent space.
    pub dim: Option<usize>,
    /// The time of loading, in seconds since 1970.
    pub loaded: f64,
    /// How candidates are found: `exact`, or the number of lists that are probed or of postings that are
    /// read, with the measured recall.
    pub neighbours: Option<String>,
}

/// A request to add a model folder on the server's disk to the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// Its name in the index; if there is a model of that name, this is a new version of it.
    pub name: String,
    /// The model folder.
    pub path: String,
    /// Activate it as soon as it is loaded.
    #[serde(default)]
    pub activate: bool,
}

/// The status of an index that is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// `ok`, `catching up`, `read only` or `starting`.
    pub status: String,
    /// The number of documents.
    pub documents: usize,
    /// The last change that is on disk.
    pub written: u64,
    /// The last change that search sees.
    pub applied: u64,
    /// The active models.
    pub models: Vec<ModelRef>,
    /// The names of the rankers.
    #[serde(default)]
    pub rankers: Vec<String>,
    /// The version of liken.
    pub liken: String,
}
