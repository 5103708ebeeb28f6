//! Query expansion in the vector space model, a baseline of the SSI paper (Bai et al.): the mean
//! of the best documents is added to the query, and the search is made again.
//!
//! ```text
//! q' = q + weight·(1/|E|)·Σ_{d in E} d,    score(q, d) = q' · d
//! ```
//! q and d are tf-idf rows of unit norm ([`Vsm`]); E are the best `documents` by q · d, as far as
//! that is above 0, without those that were held out of training.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Vsm;
use super::check::{check_range, check_weight};
use super::dots::{DocRows, Dots, SparseVector, Vectors, single, weighted_sum};
use super::feedback_docs::{MOST_LOOKED_AT, Ranking, rows_of};
use super::lexical::term_name;
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use crate::Result;
use crate::features::{Counts, QueryTerms};
use crate::sparse::Row;

/// Parameters of query expansion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expansion {
    /// How many of the best documents are looked at.
    pub documents: usize,
    /// Weight of their mean beside the query.
    pub weight: f64,
}

impl Default for Expansion {
    fn default() -> Self {
        Expansion { documents: 3, weight: 1.0 }
    }
}

impl Method for Expansion {
    fn check(&self) -> Result<()> {
        check_range("documents", self.documents, 1, MOST_LOOKED_AT)?;
        check_weight("weight", self.weight)
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        self.fit(counts)
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

impl Expansion {
    fn fit(&self, counts: &Counts) -> Result<Box<dyn Matcher>> {
        self.check()?;
        let first = Ranking::new(Vsm::default().fit(counts)?, counts);
        Ok(Box::new(Dots(Expanded { params: self.clone(), first })))
    }
}

struct Expanded {
    params: Expansion,
    first: Ranking,
}

impl Vectors for Expanded {
    fn rows(&self) -> &DocRows {
        self.first.lexical.rows()
    }

    fn vector(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        let hits = self.first.top(counts, query, self.params.documents);
        let (indices, values) = self.first.lexical.query(query);
        let own = (1.0, Row { indices: &indices, values: &values });
        let weight = self.params.weight / hits.len() as f64;
        let top = rows_of(self.rows(), &hits, move |_| weight);
        single(weighted_sum(std::iter::once(own).chain(top)))
    }

    fn feature(&self, counts: &Counts, feature: u32) -> (String, String) {
        let name = term_name(counts, feature);
        (name.clone(), name)
    }

    fn nothing(&self) -> &'static str {
        "no document has a word of the query"
    }
}
