//! How text becomes counts, and clicks training weights: what a user can choose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::click_weights::ClickEvidence;
use crate::data::READ_BY_DEFAULT;
use crate::text::AnalyzerParams;
use crate::{Error, Result};

/// Preparation of counts from text, and of weights from clicks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preparation {
    /// Analysis of text into terms.
    pub analyzer: AnalyzerParams,
    /// The fields of a document that are read, if it has them.
    pub fields: Vec<String>,
    /// A term must occur in this many training texts (documents and queries) to be kept.
    pub min_df: u32,
    /// The largest number of terms: keeps those in the most training documents, of equally frequent
    /// ones the first in the alphabet. 0 keeps all.
    pub max_terms: usize,
    /// Store the positions of the words of documents, four bytes per word. Methods that use
    /// distances switch this on by themselves.
    pub positions: bool,
    /// The field that holds the class of a document; unset stores no classes. Methods that learn
    /// by class switch this on by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The weighting of training clicks: `clicks`, not at all; `rates`, by click-through rate;
    /// `propensity`, by inverse examination propensity; `auto`: `propensity` if the log has ranks,
    /// else `rates` if it has impressions, else `clicks`.
    pub evidence: ClickEvidence,
}

impl Default for Preparation {
    fn default() -> Self {
        let fields = READ_BY_DEFAULT.map(str::to_owned).to_vec();
        Preparation {
            analyzer: AnalyzerParams::default(),
            fields,
            min_df: 1,
            max_terms: 0,
            positions: false,
            class: None,
            evidence: ClickEvidence::default(),
        }
    }
}

impl Preparation {
    pub(super) fn check(&self) -> Result<()> {
        if self.fields.is_empty() {
            return Err(Error::parameter("fields", "[]", "at least one field of the documents"));
        }
        if self.min_df == 0 {
            return Err(Error::parameter("min_df", 0, "1 or more"));
        }
        self.analyzer.check()
    }
}
