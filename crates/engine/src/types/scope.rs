//! Scopes of API keys.

use serde::{Deserialize, Serialize};

/// The scope of an API key; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Search, read and explain.
    Read,
    /// Write documents, events and judgments.
    Write,
    /// Manage models and keys.
    Admin,
}
