//! A file that was read, as a manifest names it.

use serde::{Deserialize, Serialize};

/// A file that a dataset was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The file's name, without its folder: a dataset is the same wherever its source lay.
    pub name: String,
    /// What it was read as: clicks, documents, queries, judgments.
    pub role: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes as they were read.
    pub sha256: String,
}
