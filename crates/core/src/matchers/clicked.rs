//! BM25 over the document's text and a field of the queries it was clicked for: the anchor text of a
//! click log, or document expansion by queries (as in doc2query) without a model.
//!
//! ```text
//! score(q, d) = BM25(q, text of d) + weight·BM25(q, clicked queries of d)
//! f(t, clicked queries of d) = Σ_i tf(t, q_i)·g(clicks_id)
//! ```
//! The sum runs over the training queries; g is the click itself, ln(1 + clicks), or 1. Text and
//! clicked queries each have their own k1, b, lengths and idf, like fields of BM25. A document
//! without clicks lacks the second field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bm25::vectors;
use super::lexical::{Lexical, QuerySide};
use super::method::{Matcher, Method, SavedState};
use super::space::{RESPONSE, Varied};
use super::sparse_vector::{single, weighted_sum};
use crate::Result;
use crate::features::{Counts, Response, check_clicks};
use crate::params::check::{check_share, check_weight};
use crate::sparse::Csr;

/// Parameters of BM25 over text and clicked queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Clicked {
    /// k1 of the text: how soon more occurrences of a word stop to count; 0 or more.
    pub k1: f64,
    /// b of the text: how strongly scores are normalised by document length; 0 to 1.
    pub b: f64,
    /// Weight of the clicked queries; that of the text is 1.
    pub weight: f64,
    /// k1 of the clicked queries.
    pub clicked_k1: f64,
    /// b of the clicked queries.
    pub clicked_b: f64,
    /// Response: the weight of a query's words by number of clicks.
    pub response: Response,
}

impl Default for Clicked {
    fn default() -> Self {
        Clicked {
            k1: 1.2,
            b: 0.75,
            weight: 2.0,
            clicked_k1: 1.2,
            clicked_b: 0.4,
            response: Response::Log,
        }
    }
}

impl Method for Clicked {
    fn check(&self) -> Result<()> {
        check_weight("k1", self.k1)?;
        check_share("b", self.b)?;
        check_weight("clicked_k1", self.clicked_k1)?;
        check_share("clicked_b", self.clicked_b)?;
        check_weight("weight", self.weight)
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        check_clicks(counts)?;
        Ok(Box::new(self.fit(counts)?))
    }

    fn learns(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            RESPONSE,
            ("k1", "{ min = 0.4, max = 3.0 }"),
            ("b", "{ min = 0.0, max = 1.0 }"),
            ("weight", "{ min = 0.1, max = 4.0, log = true }"),
            ("clicked_k1", "{ min = 0.4, max = 3.0 }"),
            ("clicked_b", "{ min = 0.0, max = 1.0 }"),
        ]
    }
}

impl Clicked {
    /// The matcher for `counts`.
    pub fn fit(&self, counts: &Counts) -> Result<Lexical> {
        self.check()?;
        let field = clicked_queries(counts, self.response)?;
        let text = vectors(counts, &counts.docs, self.k1, self.b, 1.0)?;
        let field = vectors(counts, &field, self.clicked_k1, self.clicked_b, self.weight)?;
        let docs = Csr::by_rows(counts.n_terms(), counts.n_docs(), |j| {
            let rows = [text.row(j), field.row(j)];
            let sum = weighted_sum(rows.into_iter().map(|row| (1.0, row)));
            Ok(single(sum))
        })?;
        Ok(Lexical::new(QuerySide::Counts, docs).beyond_text())
    }
}

/// Documents × terms: the words of the queries that each document was clicked for. Dislikes say
/// nothing about what a document is called.
fn clicked_queries(counts: &Counts, response: Response) -> Result<Csr> {
    let clicked_for = counts.clicks.positive()?.transpose();
    Csr::by_rows(counts.n_terms(), counts.n_docs(), |j| {
        let row = |(query, clicks): (u32, f32)| {
            (f64::from(response.of(clicks)), counts.queries.row(query as usize))
        };
        let sum = weighted_sum(clicked_for.row(j).iter().map(row));
        Ok(single(sum))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;
    use crate::matchers::Params;

    /// Documents, the queries they were clicked for written out as a second field.
    fn counts(anchor: [&str; 3], clicks: &[(u32, u32, f32)]) -> Counts {
        let documents: Vec<_> = ["a", "b", "c"]
            .iter()
            .zip(["red apple pie", "apple tree", "pear"])
            .zip(anchor)
            .map(|((&id, title), anchor)| {
                (id, serde_json::json!({ "title": title, "anchor": anchor }))
            })
            .collect();
        let queries = ["sweet apple", "sweet fruit", "garden"];
        let dir = tempfile::tempdir().unwrap();
        let fixture = Fixture { documents: &documents, queries: &queries, clicks, held_out: &[] };
        let data = fixture.open(&dir.path().join("d"));
        let fields = vec!["title".to_owned(), "anchor".to_owned()];
        let preparation = Preparation { fields, ..Preparation::default() };
        Counts::of(&data, &preparation, &Run::silent()).unwrap()
    }

    fn scores(counts: &Counts, params: &Params, text: &str) -> Vec<f32> {
        let (matcher, _) = params.fit(counts, None, &Run::silent()).unwrap();
        matcher.scores(counts, &counts.read_query(text), None)
    }

    #[test]
    fn it_is_bm25_with_the_clicked_queries_as_a_field() {
        let clicks = [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 3.0), (2, 2, -4.0)];
        let by_clicks = counts([""; 3], &clicks);
        for (response, fields) in [
            (
                Response::Raw,
                ["sweet apple sweet apple sweet fruit", "sweet fruit sweet fruit sweet fruit", ""],
            ),
            (Response::Binary, ["sweet apple sweet fruit", "sweet fruit", ""]),
        ] {
            let by_field = counts(fields, &clicks);
            let clicked = Clicked {
                weight: 0.6,
                clicked_k1: 2.0,
                clicked_b: 0.3,
                response,
                ..Clicked::default()
            };
            let mut bm25 = Params::named("bm25").unwrap();
            for (key, value) in [
                ("fields.title.weight", "1.0"),
                ("fields.anchor.weight", "0.6"),
                ("fields.anchor.k1", "2.0"),
                ("fields.anchor.b", "0.3"),
            ] {
                bm25.set(key, value).unwrap();
            }
            for text in ["sweet apple", "fruit pear", "garden"] {
                let found = scores(&by_clicks, &Params::Clicked(clicked.clone()), text);
                let expected = scores(&by_field, &bm25, text);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-5, "{text}: {found} {expected}");
                }
            }
        }
    }
}
