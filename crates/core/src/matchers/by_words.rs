//! Documents scored by their words alone. A model that also has the queries they were clicked for as
//! features scores clicked documents higher than equally good ones that were not clicked, which hurts
//! where the documents to be found have no clicks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::{Counts, Features};
use crate::{Error, Result};

/// The tensor of a model whose documents are scored by their words alone.
pub(super) const BY_WORDS: &str = "by_words";

/// The remark of a report where words alone were chosen: on validation, or without it by the split.
pub(super) fn remark(validated: bool) -> &'static str {
    match validated {
        true => {
            "documents are scored by their words alone, which is better on validation than with the queries they were clicked for"
        }
        false => {
            "documents are scored by their words alone, since the documents to be found are held out and have no clicks"
        }
    }
}

/// Whether documents with features of both words and clicks are scored by their words alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ByWords {
    /// Chosen on validation. Without validation data by all features, unless documents are held out from
    /// training.
    #[default]
    Auto,
    /// By all features, as published.
    Never,
    /// By words alone, without the queries that a document was clicked for.
    Always,
}

impl ByWords {
    /// The effective setting: `Never` unless documents have features of both words and clicks.
    pub(super) fn among(self, features: &Features) -> ByWords {
        if features.has_both_of_docs() { self } else { ByWords::Never }
    }

    /// Whether words alone count where there is no validation data to choose.
    pub(super) fn unvalidated(self, counts: &Counts) -> bool {
        match self {
            ByWords::Auto => !counts.held_out_documents.is_empty(),
            ByWords::Never => false,
            ByWords::Always => true,
        }
    }

    /// Refuses to score documents by words that have no weight.
    pub(super) fn check(self, features: &Features) -> Result<()> {
        if self == ByWords::Always && features.doc_words == 0.0 {
            let expected = "auto, never, or features.doc_words above 0";
            return Err(Error::parameter("by_words", "always", expected));
        }
        Ok(())
    }
}
