//! Who may do what.

use serde::{Deserialize, Serialize};

/// What an API key may do; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Search, look, explain.
    Read,
    /// Documents, events and judgments.
    Write,
    /// Models and keys.
    Admin,
}
