//! A source file, as recorded in a manifest.

use serde::{Deserialize, Serialize};

/// A file that a dataset was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The file's name, without its folder, so that a dataset does not depend on where its source was.
    pub name: String,
    /// Its role: clicks, documents, queries, judgments …
    pub role: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
}
