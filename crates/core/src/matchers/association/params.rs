//! The parameters of the association of features.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::{Features, Response, Weighting};
use crate::matchers::ByWords;

/// Parameters of the association of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Association {
    /// Half a sweep of RMLS, or one.
    pub depth: Depth,
    /// Divide the rows of C, one per query feature, by their norm to this power: 0 favours frequent
    /// features, 1 makes all alike.
    pub x_power: f64,
    /// The same for document features. Not set: 0.25 at half a sweep, 1 at one sweep. RMLS has 0 and 1.
    pub y_power: Option<f64>,
    /// Features of queries and documents.
    pub features: Features,
    /// Relative weights of clicks.
    pub weighting: Weighting,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Whether documents are scored by their words alone.
    pub by_words: ByWords,
    /// Random directions for norms that would take too long to compute exactly. Their relative error
    /// is about 1/√(2·sketch).
    pub sketch: usize,
    /// Seed of the random directions.
    pub seed: u64,
}

/// Sweeps of RMLS whose limit is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// C itself.
    #[default]
    Half,
    /// C Cᵀ C: words that belong to the same clicks also belong together.
    One,
}

impl Default for Association {
    fn default() -> Self {
        Association {
            depth: Depth::default(),
            x_power: 1.0,
            y_power: None,
            // Chosen on validation of seven logs: docs/BENCHMARKS.md.
            features: Features { query_clicks: 1.0, ..Features::default() },
            weighting: Weighting::Mean,
            response: Response::Raw,
            by_words: ByWords::default(),
            sketch: 1024,
            seed: 1,
        }
    }
}

impl Association {
    /// The powers of the norms of rows and of columns.
    pub(super) fn powers(&self) -> [f64; 2] {
        let usual = if self.depth == Depth::One { 1.0 } else { 0.25 };
        [self.x_power, self.y_power.unwrap_or(usual)]
    }
}
