//! The limits of requests to the engine. Each limit is defined here and nowhere else.

use serde::{Deserialize, Serialize};

use crate::store::LONGEST_QUERY;
use crate::{Error, Result};

/// The default number of hits of a search, and of neighbours.
pub(crate) const HITS: usize = 10;

/// The limits of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The longest query, in bytes.
    pub query_bytes: usize,
    /// The most hits of a search, offset included.
    pub hits: usize,
    /// The most hits of a search with explanations.
    pub explained: usize,
    /// The most neighbours of a query, a document or a word.
    pub near: usize,
    /// The most candidates that each model of a search retrieves.
    pub candidate_depth: usize,
    /// The most ids and documents that are re-ranked or embedded at once, and the most ids that a
    /// search excludes.
    pub ids: usize,
    /// The most models of a search.
    pub models: usize,
    /// The largest weight of a model in a fusion: sums of scores stay finite.
    pub weight: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            query_bytes: 4096,
            hits: 10_000,
            explained: 100,
            near: 1000,
            candidate_depth: 10_000,
            ids: 10_000,
            models: 16,
            weight: 1e6,
        }
    }
}

impl Limits {
    /// An error if they make no sense.
    pub(crate) fn check(&self) -> Result<()> {
        let counts = [
            ("hits", self.hits),
            ("models", self.models),
            ("candidate_depth", self.candidate_depth),
            ("query_bytes", self.query_bytes),
        ];
        for (name, value) in counts {
            if value == 0 {
                return Err(Error::invalid(format!("{name} is 0: expected 1 or more")));
            }
        }
        if self.query_bytes > LONGEST_QUERY {
            let bytes = self.query_bytes;
            return Err(Error::invalid(format!(
                "query_bytes is {bytes}: expected at most {LONGEST_QUERY}, the longest query that \
                 can be stored"
            )));
        }
        if !(self.weight.is_finite() && self.weight > 0.0) {
            let weight = self.weight;
            return Err(Error::invalid(format!("weight is {weight}: expected a number above 0")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_cannot_be_kept_are_named() {
        assert_eq!(Limits::default().check(), Ok(()));
        for (limits, name) in [
            (Limits { hits: 0, ..Limits::default() }, "hits"),
            (Limits { query_bytes: LONGEST_QUERY + 1, ..Limits::default() }, "query_bytes"),
            (Limits { weight: f64::INFINITY, ..Limits::default() }, "weight"),
        ] {
            let error = limits.check().unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }

    #[test]
    fn limits_may_be_given_in_part_and_must_be_spelt_right() {
        let read: Limits = serde_json::from_str(r#"{"hits": 50}"#).unwrap();
        assert_eq!(read, Limits { hits: 50, ..Limits::default() });
        assert!(serde_json::from_str::<Limits>(r#"{"hit": 50}"#).is_err());
    }
}
