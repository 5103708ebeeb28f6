//! Writes: events, judgments, and the answer to all writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer to writes of documents, events and judgments, which are on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// The number of items written; for deletes, removed.
    pub written: usize,
    /// The number of those that replaced an earlier one; for deletes, the same as `written`.
    pub replaced: usize,
    /// The number of the last change: search sees it once the status says that it is applied.
    pub sequence: u64,
}

/// A click on a result, or an impression: a result page that was shown.
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
    /// The session or user, as the caller identifies them.
    pub session: Option<String>,
    /// The time in seconds since 1970; by default now.
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
    /// From 0 (not relevant) to 100; null deletes an earlier grade.
    #[serde(deserialize_with = "given")]
    #[schemars(required, with = "Option<u8>", range(max = 100))]
    pub grade: Option<u8>,
    /// The name of the person who judged.
    #[serde(default)]
    pub judge: Option<String>,
}

/// A value that may be null but must be present: an omission by mistake deletes nothing.
fn given<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
