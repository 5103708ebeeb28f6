//! The types of requests and responses: those of the engine, and those of HTTP alone. Unknown
//! fields are refused, so that a misspelt option never passes silently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use liken_engine::types::*;

/// `POST /models/{name}/activate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivateRequest {
    /// The version to activate.
    pub version: String,
}
