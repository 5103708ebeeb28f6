//! Feedback in the joint space of words and clicks: the query becomes a mean of the best documents of
//! a first ranking, by their words and by the queries they were clicked for.
//!
//! ```text
//! y_d = (tf-idf words of d, unit norm | doc_clicks · clicked queries of d, unit norm), unit norm
//! c_q = Σ_{d in top k of the first ranking} w_d·y_d + query_weight·x_q,   Σ w_d = 1
//! score(q, d) = c_q · y_d
//! ```
//! x_q is the query's own tf-idf row over the same words. Feedback documents score above 0 in the
//! first ranking and were not held out of training. This is Rocchio's feedback without judgments,
//! in a space where two documents are alike if users clicked them for the same queries, so a test
//! query reaches documents that share no word with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dots::{DocRows, Vectors};
use super::first_ranking::{FirstRanking, MOST_FEEDBACK, Ranking, rows_of};
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use super::sparse_vector::{SparseVector, row_of, single, weighted_sum};
use crate::Result;
use crate::features::{Counts, Features, Featurizer, QueryTerms, Response, check_clicks};
use crate::params::check::{check_range, check_weight};
use crate::ranking::Hit;

/// Parameters of feedback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Feedback {
    /// The first ranking.
    pub first: FirstRanking,
    /// Number of feedback documents, the best of the first ranking.
    pub k: usize,
    /// Weighting of the feedback documents.
    pub weights: FeedbackWeighting,
    /// Weight of the query's own words.
    pub query_weight: f64,
    /// Weight of the queries a document was clicked for, as features of the document; 0 leaves them out.
    pub doc_clicks: f64,
    /// Response of click features: the value of a number of clicks.
    pub click_value: Response,
}

impl Default for Feedback {
    fn default() -> Self {
        Feedback {
            first: FirstRanking::default(),
            k: 5,
            weights: FeedbackWeighting::Score,
            query_weight: 0.3,
            doc_clicks: 2.0,
            click_value: Response::Log,
        }
    }
}

/// Weighting of the feedback documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FeedbackWeighting {
    /// All the same.
    Even,
    /// By its score in the first ranking.
    #[default]
    Score,
}

impl FeedbackWeighting {
    /// The weight of each of `hits`; all add up to 1.
    fn of(self, hits: &[Hit]) -> impl Fn(&Hit) -> f64 + use<> {
        let value = move |hit: &Hit| match self {
            FeedbackWeighting::Even => 1.0,
            FeedbackWeighting::Score => f64::from(hit.score),
        };
        let sum: f64 = hits.iter().map(value).sum();
        move |hit| value(hit) / sum
    }
}

impl Method for Feedback {
    fn check(&self) -> Result<()> {
        check_range("k", self.k, 1, MOST_FEEDBACK)?;
        check_weight("query_weight", self.query_weight)?;
        check_weight("doc_clicks", self.doc_clicks)
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        check_clicks(counts)?;
        Ok(Box::new(self.joint(counts)?))
    }

    fn learns(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            ("first", "[\"clicked\", \"bm25\", \"vsm\"]"),
            ("k", "{ min = 3, max = 100, log = true, int = true }"),
            ("query_weight", "{ min = 0.0, max = 2.0 }"),
            ("doc_clicks", "{ min = 0.1, max = 3.0, log = true }"),
        ]
    }
}

impl Feedback {
    fn joint(&self, counts: &Counts) -> Result<Joint> {
        let features = Features {
            query_clicks: 0.0,
            doc_clicks: self.doc_clicks,
            click_value: self.click_value,
            ..Features::default()
        };
        let featurizer = Featurizer::new(counts, &features)?;
        let rows = DocRows::new(featurizer.docs(counts)?);
        Ok(Joint { params: self.clone(), first: self.first.fit(counts)?, featurizer, rows })
    }
}

struct Joint {
    params: Feedback,
    first: Ranking,
    featurizer: Featurizer,
    /// Documents × words and queries.
    rows: DocRows,
}

impl Vectors for Joint {
    fn rows(&self) -> &DocRows {
        &self.rows
    }

    fn vector(&self, counts: &Counts, query: &QueryTerms) -> SparseVector {
        let hits = self.first.top(counts, query, self.params.k);
        let own = self.featurizer.query(query.row(), None);
        let own = Some((self.params.query_weight, row_of(&own)));
        let top = rows_of(&self.rows, &hits, self.params.weights.of(&hits));
        single(weighted_sum(top.chain(own.filter(|&(weight, _)| weight > 0.0))))
    }

    fn feature(&self, counts: &Counts, feature: u32) -> (String, String) {
        let name = self.featurizer.doc_feature(counts, feature);
        (format!("top documents: {name}"), name)
    }

    fn no_match(&self) -> &'static str {
        "no training document has a word of the query, in its text or in a query it was clicked for"
    }

    fn is_sparse(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
