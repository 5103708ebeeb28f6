//! Nearest neighbours among the queries: a document scores by its clicks for training queries that
//! share words with the query.
//!
//! ```text
//! score(q, d) = Σ_i cos(q, q_i)^power · r_id
//! ```
//! The cosine is that of tf-idf word vectors; r is the response to the clicks of training query
//! i, its row scaled to unit norm if asked. The sum runs over all training queries that share a
//! word, or over the `neighbours` nearest. A document without clicks scores 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dots::{DocRows, Vectors};
use super::method::{Matcher, Method, SavedState};
use super::space::{RESPONSE, Varied};
use super::sparse_vector::{SparseVector, keep_largest};
use crate::features::{Counts, Features, Featurizer, QueryTerms, Response, check_clicks};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Parameters of nearest neighbours among the queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Knn {
    /// The power of the cosine; a higher one favours the nearest queries.
    pub power: f64,
    /// Number of nearest queries whose clicks count; 0 means all that share a word.
    pub neighbours: usize,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Scale the clicks of each query to unit norm, so that one with many does not dominate.
    pub unit_clicks: bool,
}

impl Default for Knn {
    fn default() -> Self {
        Knn { power: 2.0, neighbours: 0, response: Response::Log, unit_clicks: false }
    }
}

impl Method for Knn {
    fn check(&self) -> Result<()> {
        if !(self.power > 0.0 && self.power <= 100.0) {
            return Err(Error::parameter("power", self.power, "a number above 0, at most 100"));
        }
        Ok(())
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        check_clicks(counts)?;
        let featurizer = Featurizer::new(counts, &Features::words())?;
        let queries = Csr::by_rows(counts.n_terms(), counts.n_queries(), |i| {
            if counts.clicks.row(i).is_empty() {
                return Ok((Vec::new(), Vec::new()));
            }
            Ok(featurizer.query(counts.queries.row(i), None))
        })?;
        let clicks = Csr::by_rows(counts.n_docs(), counts.n_queries(), |i| {
            let row = counts.clicks.row(i);
            let mut values: Vec<f32> = row.values.iter().map(|&c| self.response.of(c)).collect();
            let norm = Row { indices: row.indices, values: &values }.norm() as f32;
            if self.unit_clicks && norm > 0.0 {
                values.iter_mut().for_each(|value| *value /= norm);
            }
            Ok((row.indices.to_vec(), values))
        })?;
        let rows = DocRows { docs: clicks.transpose().into(), postings: clicks };
        let postings = queries.transpose();
        Ok(Box::new(NearestQueries { params: self.clone(), featurizer, postings, rows }))
    }

    fn learns(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            RESPONSE,
            ("power", "{ min = 0.5, max = 6.0 }"),
            ("neighbours", "[0, 5, 20, 100]"),
            ("unit_clicks", "[false, true]"),
        ]
    }
}

struct NearestQueries {
    params: Knn,
    featurizer: Featurizer,
    /// Terms × training queries: the queries' unit vectors.
    postings: Csr,
    /// Documents × training queries: the responses to the clicks.
    rows: DocRows,
}

impl Vectors for NearestQueries {
    fn rows(&self) -> &DocRows {
        &self.rows
    }

    fn vector(&self, _: &Counts, query: &QueryTerms) -> SparseVector {
        let (indices, values) = self.featurizer.query(query.row(), None);
        let mut cosines = vec![0.0f64; self.postings.n_cols()];
        for (&term, &x) in indices.iter().zip(&values) {
            for (i, value) in self.postings.row(term as usize).iter() {
                cosines[i as usize] += f64::from(x) * f64::from(value);
            }
        }
        let found = (0u32..).zip(cosines).filter(|&(_, cosine)| cosine > 0.0);
        let mut near: Vec<(u32, f64)> = found.collect();
        if self.params.neighbours > 0 && near.len() > self.params.neighbours {
            keep_largest(&mut near, self.params.neighbours);
            near.sort_unstable_by_key(|&(i, _)| i);
        }
        near.into_iter().map(|(i, cosine)| (i, cosine.powf(self.params.power) as f32)).unzip()
    }

    fn feature(&self, counts: &Counts, feature: u32) -> (String, String) {
        let text = &counts.query_texts[feature as usize];
        (format!("like “{text}”"), format!("clicked for “{text}”"))
    }

    fn no_match(&self) -> &'static str {
        "no training query with a click has a word of this one; knn+bm25 also uses the words of documents"
    }

    fn is_sparse(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;
    use crate::matchers::Params;

    #[test]
    fn neighbours_pass_on_their_clicks_by_dense_loops() {
        let documents = ["a", "b", "c"].map(|id| (id, serde_json::json!({ "title": "red pear" })));
        let queries = ["red apple", "apple pie recipe", "pear", "apple", "nobody clicked apple"];
        let clicks =
            [(0, 0, 5.0), (0, 1, 2.0), (1, 2, 4.0), (2, 1, 1.0), (3, 1, 7.0), (3, 2, -2.0)];
        let dir = tempfile::tempdir().unwrap();
        let fixture =
            Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] };
        let data = fixture.open(&dir.path().join("d"));
        let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
        let idf = crate::features::idf(&counts);
        let m = counts.n_terms();
        let vector = |row: Row<'_>| -> Vec<f64> {
            let weight = |t: usize| match f64::from(row.get(t as u32)) {
                0.0 => 0.0,
                tf => (1.0 + tf.ln()) * f64::from(idf[t]),
            };
            let norm = (0..m).map(|t| weight(t).powi(2)).sum::<f64>().sqrt();
            (0..m).map(|t| weight(t) / norm).collect()
        };
        for (power, neighbours, unit_clicks) in
            [(3.0, 0, false), (1.0, 0, true), (2.0, 2, false), (1.5, 1, true)]
        {
            let params = Knn { power, neighbours, unit_clicks, ..Knn::default() };
            let (matcher, _) = Params::Knn(params).fit(&counts, None, &Run::silent()).unwrap();
            for text in ["red apple", "apple pear pear", "recipe"] {
                let query = counts.read_query(text);
                let x = vector(query.row());
                // The last query has no clicks, so it is nobody's neighbour.
                let mut near: Vec<(f64, usize)> = (0..4)
                    .map(|i| {
                        let other = vector(counts.queries.row(i));
                        (x.iter().zip(other).map(|(a, b)| a * b).sum(), i)
                    })
                    .collect();
                near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                if neighbours > 0 {
                    near.truncate(neighbours);
                }
                let found = matcher.scores(&counts, &query, None);
                for (j, &found) in found.iter().enumerate() {
                    let mut expected = 0.0;
                    for &(cosine, i) in &near {
                        let r = |j: usize| {
                            let clicks = f64::from(counts.clicks.row(i).get(j as u32));
                            clicks.signum() * clicks.abs().ln_1p()
                        };
                        let norm = (0..3).map(|j| r(j).powi(2)).sum::<f64>().sqrt();
                        let scale = if unit_clicks { norm } else { 1.0 };
                        expected += cosine.powf(power) * r(j) / scale;
                    }
                    assert!(
                        (f64::from(found) - expected).abs() < 1e-5,
                        "{text} {found} {expected}"
                    );
                }
            }
        }
    }
}
