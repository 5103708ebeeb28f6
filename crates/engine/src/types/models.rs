//! Models, and the status of an index.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model and the version of it that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRef {
    /// The model's name in the index.
    pub name: String,
    /// Its version: the beginning of its folder's checksum.
    pub version: String,
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
    /// How neighbours are found: `exact`, or how many lists are probed, with the measured recall.
    pub neighbours: Option<String>,
}

/// A request to take a model folder of the server's disk into the index.
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

/// The status of an index that is served.
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
