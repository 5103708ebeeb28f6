//! How the lists of an index are built, and their measured recall and cost.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Hyperparameters of an index of embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexParams {
    /// Up to this many embeddings, search is exact and no lists are built.
    pub exact_below: usize,
    /// The wanted recall: the share of the exact neighbours that a search finds.
    pub recall: f64,
    /// The number of lists; 4·√n by default.
    pub lists: Option<usize>,
    /// Rounds of k-means.
    pub rounds: usize,
    /// The weight of a list's spread, in standard deviations, beside its centre when lists are chosen.
    pub reach: f32,
    /// The seed of random choices.
    pub seed: u64,
}

impl Default for IndexParams {
    fn default() -> Self {
        IndexParams {
            exact_below: 100_000,
            recall: 0.97,
            lists: None,
            rounds: 8,
            reach: 2.0,
            seed: 0,
        }
    }
}

impl IndexParams {
    pub(super) fn check(&self) -> Result<()> {
        if !(self.recall > 0.0 && self.recall <= 1.0) {
            return Err(Error::parameter("recall", self.recall, "above 0 and at most 1"));
        }
        if self.lists == Some(0) {
            return Err(Error::parameter("lists", 0, "1 or more"));
        }
        if !(self.reach.is_finite() && self.reach >= 0.0) {
            return Err(Error::parameter("reach", self.reach, "0 or more"));
        }
        Ok(())
    }
}

/// The measured recall and cost of lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The number of lists.
    pub lists: usize,
    /// The number of lists probed for 10 neighbours.
    pub probes: usize,
    /// The number of lists probed for 100 neighbours.
    pub probes_at_100: usize,
    /// Exact products per requested neighbour.
    pub rescore: usize,
    /// Recall at 10: the share of the 10 exact neighbours that are found.
    pub recall_at_10: f64,
    /// Recall at 100.
    pub recall_at_100: f64,
    /// The number of queries in the measurement.
    pub queries: usize,
    /// Bytes of the file.
    pub bytes: u64,
}

impl Report {
    pub(super) fn to_fields(&self, fields: &mut [u64]) {
        let numbers = [
            self.probes as u64,
            self.probes_at_100 as u64,
            self.rescore as u64,
            self.recall_at_10.to_bits(),
            self.recall_at_100.to_bits(),
            self.queries as u64,
        ];
        fields[5..11].copy_from_slice(&numbers);
    }

    pub(super) fn from_fields(fields: &[u64], bytes: u64) -> Self {
        let number = |at: usize| usize::try_from(fields[at]).unwrap_or(usize::MAX);
        Report {
            lists: number(3),
            probes: number(5),
            probes_at_100: number(6),
            rescore: number(7),
            recall_at_10: f64::from_bits(fields[8]),
            recall_at_100: f64::from_bits(fields[9]),
            queries: number(10),
            bytes,
        }
    }
}
