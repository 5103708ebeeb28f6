//! Query expansion in the vector space model, a baseline of the SSI paper (Bai et al.): adds the mean
//! of the best documents to the query and searches again.
//!
//! ```text
//! q' = q + weight·(1/|E|)·Σ_{d in E} d,    score(q, d) = q' · d
//! ```
//! q and d are tf-idf rows of unit norm ([`Vsm`]); E are the best `documents` by q · d among those
//! above 0 that were not held out of training.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Vsm;
use super::dots::{DocRows, Vectors};
use super::first_ranking::{MOST_FEEDBACK, Ranking, rows_of};
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use super::sparse_vector::{SparseVector, row_of, single, weighted_sum};
use crate::Result;
use crate::features::{Counts, QueryTerms};
use crate::params::check::{check_range, check_weight};

/// Parameters of query expansion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expansion {
    /// Number of feedback documents, the best of the first ranking.
    pub documents: usize,
    /// Weight of their mean; that of the query is 1.
    pub weight: f64,
}

impl Default for Expansion {
    fn default() -> Self {
        Expansion { documents: 3, weight: 1.0 }
    }
}

impl Method for Expansion {
    fn check(&self) -> Result<()> {
        check_range("documents", self.documents, 1, MOST_FEEDBACK)?;
        check_weight("weight", self.weight)
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        self.check()?;
        let first = Ranking::new(Vsm::default().fit(counts)?, counts);
        Ok(Box::new(Expanded { params: self.clone(), first }))
    }

    fn learns(&self) -> bool {
        false
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            ("documents", "{ min = 1, max = 50, log = true, int = true }"),
            ("weight", "{ min = 0.1, max = 5.0, log = true }"),
        ]
    }
}

struct Expanded {
    params: Expansion,
    first: Ranking,
}

impl Vectors for Expanded {
    fn rows(&self) -> &DocRows {
        &self.first.lexical.rows
    }

    fn vector(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        let hits = self.first.top(counts, query, self.params.documents);
        let own = self.first.lexical.query(query);
        let weight = self.params.weight / hits.len() as f64;
        let top = rows_of(self.rows(), &hits, move |_| weight);
        single(weighted_sum(std::iter::once((1.0, row_of(&own))).chain(top)))
    }

    fn is_sparse(&self) -> bool {
        true
    }
}
