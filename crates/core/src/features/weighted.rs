//! The three matrices a bilinear trainer sees: query features X, document features Y and
//! weighted clicks R̃. `featurizer.rs` computes them.
//!
//! Word features are (1 + ln tf)·idf with the idf of the documents on both sides. Click
//! features are, for a query, the documents clicked for it, and for a document, the queries
//! it was clicked for. Each kind is scaled to unit norm, times its weight; the kinds are
//! concatenated; the whole row is scaled to unit norm. An unseen query or document has word features
//! alone. A response below zero is not a click feature: a dislike does not describe a query or a
//! document.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sparse::Csr;
use crate::{Error, Result};

/// The kinds of features of queries and documents, with their weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Features {
    /// Weight of a query's words.
    pub query_words: f64,
    /// Weight of the documents clicked for a query, as features of the query; 0 leaves them out.
    pub query_clicks: f64,
    /// Weight of a document's words.
    pub doc_words: f64,
    /// Weight of the queries a document was clicked for, as features of the document; 0 leaves them out.
    pub doc_clicks: f64,
    /// Response of click features: the value of a number of clicks.
    pub click_value: Response,
    /// Scale each kind to unit norm before its weight.
    pub unit_kinds: bool,
    /// Scale whole rows to unit norm.
    pub unit_rows: bool,
}

impl Default for Features {
    fn default() -> Self {
        Features {
            query_words: 1.0,
            query_clicks: 0.3,
            doc_words: 1.0,
            doc_clicks: 1.0,
            click_value: Response::Log,
            unit_kinds: true,
            unit_rows: true,
        }
    }
}

impl Features {
    /// Words alone, on both sides.
    pub fn words() -> Self {
        Features { query_clicks: 0.0, doc_clicks: 0.0, ..Features::default() }
    }

    /// Whether documents have both kinds of features, so that they can also be scored by words alone.
    pub fn has_both_of_docs(&self) -> bool {
        self.doc_words > 0.0 && self.doc_clicks > 0.0
    }

    /// An error if a weight is out of range.
    pub fn check(&self) -> Result<()> {
        for (name, weight) in [
            ("features.query_words", self.query_words),
            ("features.query_clicks", self.query_clicks),
            ("features.doc_words", self.doc_words),
            ("features.doc_clicks", self.doc_clicks),
        ] {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::parameter(name, weight, "a finite number, 0 or more"));
            }
        }
        for (side, sum) in [
            ("features.query_words", self.query_words + self.query_clicks),
            ("features.doc_words", self.doc_words + self.doc_clicks),
        ] {
            if sum == 0.0 {
                return Err(Error::parameter(side, 0, "at least one kind of feature on each side"));
            }
        }
        Ok(())
    }
}

/// Relative weights of clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// Every query weighs the same: R̃ = diag(1/(n_x·n_i))·R, as in the RMLS papers.
    Mean,
    /// Every click weighs the same: R̃ = R.
    #[default]
    Sum,
}

/// The response to a number of clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// The number itself.
    Raw,
    /// sign(r)·ln(1 + |r|), so that frequent pairs do not dominate.
    #[default]
    Log,
    /// The sign alone.
    Binary,
}

impl Response {
    /// The response to `clicks` clicks (or a signed weight).
    pub fn of(self, clicks: f32) -> f32 {
        match self {
            Response::Raw => clicks,
            Response::Log => clicks.signum() * clicks.abs().ln_1p(),
            Response::Binary if clicks == 0.0 => 0.0,
            Response::Binary => clicks.signum(),
        }
    }
}

/// X, Y and R̃: the input of bilinear trainers.
#[derive(Clone)]
pub struct Weighted {
    /// Training queries × query features.
    pub x: Csr,
    /// Documents × document features.
    pub y: Csr,
    /// Training queries × documents, weighted.
    pub r: Csr,
}

/// The last matrices made of some counts, with the parameters they were made with.
#[derive(Default)]
pub(super) struct SharedFeatures(
    pub(super) Mutex<Option<(Features, Weighting, Response, Weighted)>>,
);
