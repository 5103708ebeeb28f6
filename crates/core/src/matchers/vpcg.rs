//! VPCG, vector propagation on the click graph (Jiang et al., SIGIR 2016): queries and documents
//! get vectors over the words of queries, passed to and fro along clicks.
//!
//! ```text
//! q_i⁰ = tf-idf words of query i, unit norm
//! d_jⁿ = unit(top(Σ_i c_ij·q_iⁿ⁻¹)),   q_iⁿ = unit(top(Σ_j c_ij·d_jⁿ)),   n = 1..iterations
//! score(q, d) = q · d
//! ```
//! `top` keeps the `terms` largest values; c is the response to the clicks, dislikes left out.
//! Queries and documents without clicks are sums of the unit vectors of their words (the paper's
//! VG, with tf-idf in place of learnt weights):
//!
//! ```text
//! u_t = unit(top(Σ vectors of the clicked queries that have t)),  e_t if there is none
//! q   = unit(top(Σ_t tf-idf(t, q)·u_t))
//! ```
//! and the same for documents, with unit vectors of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dots::{DocRows, Vectors};
use super::first_ranking::MOST_FEEDBACK;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::space::{RESPONSE, Varied};
use super::sparse_vector::{SparseVector, keep_largest, single, vector_of, weighted_sum};
use super::walk::ClickGraph;
use super::{FitReport, StepsReport};
use crate::features::{Counts, Features, Featurizer, QueryTerms, Response, check_clicks};
use crate::file::TensorsWriter;
use crate::params::check::{check_range, check_shape};
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// Parameters of vector propagation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Vpcg {
    /// Number of propagations from queries to documents and back.
    pub iterations: usize,
    /// Maximum number of words per vector.
    pub terms: usize,
    /// Response: the value of a number of clicks.
    pub response: Response,
}

impl Default for Vpcg {
    fn default() -> Self {
        Vpcg { iterations: 1, terms: 20, response: Response::Raw }
    }
}

impl Method for Vpcg {
    fn check(&self) -> Result<()> {
        check_range("iterations", self.iterations, 1, 1000)?;
        check_range("terms", self.terms, 1, MOST_FEEDBACK)
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let (propagated, report) = self.propagate(fitting.counts, fitting.run)?;
        Ok((Box::new(propagated), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let tensors = state.tensors()?;
        let n_terms = counts.n_terms();
        let read = |name: &str, n_rows: usize| {
            let matrix = tensors.csr(name)?;
            check_shape(name, &matrix, n_rows, n_terms).map(|()| matrix)
        };
        Ok(Box::new(Propagated {
            terms: self.terms,
            featurizer: words(counts)?,
            queries: read("queries", counts.n_queries())?,
            rows: DocRows::new(read("docs", counts.n_docs())?),
            query_units: read("query_units", n_terms)?,
            doc_units: read("doc_units", n_terms)?,
        }))
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            RESPONSE,
            ("iterations", "{ min = 1, max = 5, int = true }"),
            ("terms", "{ min = 10, max = 300, log = true, int = true }"),
        ]
    }
}

fn words(counts: &Counts) -> Result<Featurizer> {
    Featurizer::new(counts, &Features::words())
}

impl Vpcg {
    fn propagate(&self, counts: &Counts, run: &Run<'_>) -> Result<(Propagated, StepsReport)> {
        check_clicks(counts)?;
        // A response has the sign of its clicks, and dislikes are no edges.
        let graph = ClickGraph::of(&counts.clicks.map(|_, _, clicks| self.response.of(clicks))?)?;
        let featurizer = words(counts)?;
        let (n_terms, n_queries, n_docs) = (counts.n_terms(), counts.n_queries(), counts.n_docs());
        let clicked = |i: &usize| !graph.clicks.row(*i).is_empty();
        let n_clicked = (0..n_queries).filter(clicked).count();
        // Only queries and documents with clicks have rows here.
        let query_words = Csr::by_rows(n_terms, n_queries, |i| {
            let has = Some(counts.queries.row(i)).filter(|_| clicked(&i));
            Ok(has.map_or_else(Default::default, |row| featurizer.query(row, None)))
        })?;
        let doc_words = Csr::by_rows(n_terms, n_docs, |j| {
            let has = !graph.transposed.row(j).is_empty();
            let has = Some(counts.docs.row(j)).filter(|_| has);
            Ok(has.map_or_else(Default::default, |row| featurizer.doc(row, None)))
        })?;
        let mut report = StepsReport {
            step: "iteration".into(),
            figures: vec!["change".into(), "values of queries".into(), "of documents".into()],
            notes: vec![format!(
                "each vector keeps {} words; the change is the mean of 1 − the cosine of a query's vector with its previous one",
                self.terms
            )],
            ..StepsReport::default()
        };
        let mut queries = query_words.clone();
        let mut docs = Csr::empty(n_docs, n_terms);
        for iteration in 0..self.iterations {
            let total = Some(self.iterations as u64);
            run.step("passing vectors along clicks", iteration as u64, total)?;
            docs = self.pass(&graph.transposed, &queries, run)?;
            let next = self.pass(&graph.clicks, &docs, run)?;
            let cosines: f64 = (0..n_queries).map(|i| dot(queries.row(i), next.row(i))).sum();
            let change = 1.0 - cosines / n_clicked as f64;
            report.steps.push(vec![change, next.nnz() as f64, docs.nnz() as f64]);
            queries = next;
        }
        run.step("vectors of words", 0, None)?;
        let query_units = self.pass(&query_words.transpose().map(|_, _, _| 1.0)?, &queries, run)?;
        let doc_units = self.pass(&doc_words.transpose().map(|_, _, _| 1.0)?, &docs, run)?;
        let all = Csr::by_rows(n_terms, n_docs, |j| {
            run.check()?;
            Ok(if graph.transposed.row(j).is_empty() {
                composed(&doc_units, featurizer.doc(counts.docs.row(j), None), self.terms)
            } else {
                vector_of(docs.row(j))
            })
        })?;
        let rows = DocRows::new(all);
        let terms = self.terms;
        Ok((Propagated { terms, featurizer, queries, rows, query_units, doc_units }, report))
    }

    /// Row i: unit(top(Σ_j weights_ij·vectors_j)).
    fn pass(&self, weights: &Csr, vectors: &Csr, run: &Run<'_>) -> Result<Csr> {
        Csr::by_rows(vectors.n_cols(), weights.n_rows(), |i| {
            run.check()?;
            let from = |(j, weight): (u32, f32)| (f64::from(weight), vectors.row(j as usize));
            Ok(unit_of_top(weighted_sum(weights.row(i).iter().map(from)), self.terms))
        })
    }
}

fn dot(a: Row<'_>, b: Row<'_>) -> f64 {
    a.iter().map(|(term, value)| f64::from(value) * f64::from(b.get(term))).sum()
}

/// The `terms` largest values above 0, scaled to unit norm; of equal ones those of the earlier words.
fn unit_of_top(mut vector: Vec<(u32, f64)>, terms: usize) -> SparseVector {
    vector.retain(|&(_, value)| value > 0.0);
    if vector.len() > terms {
        keep_largest(&mut vector, terms);
        vector.sort_unstable_by_key(|&(term, _)| term);
    }
    let norm = vector.iter().map(|&(_, value)| value * value).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|(_, value)| *value /= norm);
    single(vector)
}

/// The vector of a text from the unit vectors of its words.
fn composed(units: &Csr, (indices, values): SparseVector, terms: usize) -> SparseVector {
    let one = [1.0f32];
    let parts = indices.iter().zip(&values).map(|(term, &weight)| {
        let unit = units.row(*term as usize);
        // A word without a unit vector is its own.
        let itself = Row { indices: std::slice::from_ref(term), values: &one };
        (f64::from(weight), if unit.is_empty() { itself } else { unit })
    });
    unit_of_top(weighted_sum(parts), terms)
}

struct Propagated {
    terms: usize,
    featurizer: Featurizer,
    /// Queries × words; nothing for those without clicks.
    queries: Csr,
    /// Documents × words.
    rows: DocRows,
    /// Words × words: the unit vectors of words in queries.
    query_units: Csr,
    /// Words × words: the unit vectors of words in documents.
    doc_units: Csr,
}

impl Vectors for Propagated {
    fn rows(&self) -> &DocRows {
        &self.rows
    }

    fn vector(&self, _: &Counts, query: &QueryTerms) -> SparseVector {
        let known = query.known.map(|i| self.queries.row(i as usize));
        match known.filter(|row| !row.is_empty()) {
            Some(row) => vector_of(row),
            None => {
                let words = self.featurizer.query(query.row(), None);
                composed(&self.query_units, words, self.terms)
            }
        }
    }

    fn feature(&self, counts: &Counts, feature: u32) -> (String, String) {
        let name = counts.vocabulary.term(feature);
        (format!("asked with {name}"), format!("clicked for {name}"))
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.csr("queries", &self.queries).csr("docs", &self.rows.docs);
        tensors.csr("query_units", &self.query_units).csr("doc_units", &self.doc_units);
    }

    /// New documents have no clicks: their vectors are made of their words.
    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let featurizer = words(counts)?;
        let first_new = counts.n_docs() - n_new;
        let docs = Csr::by_rows(counts.n_terms(), counts.n_docs(), |j| {
            if j >= first_new {
                let words = featurizer.doc(counts.docs.row(j), None);
                return Ok(composed(&self.doc_units, words, self.terms));
            }
            Ok(vector_of(self.rows.docs.row(j)))
        })?;
        Ok(Some(Box::new(Propagated {
            terms: self.terms,
            featurizer,
            queries: self.queries.clone(),
            rows: DocRows::new(docs),
            query_units: self.query_units.clone(),
            doc_units: self.doc_units.clone(),
        })))
    }

    fn no_match(&self) -> &'static str {
        "no document was clicked for a query that has to do with the words of this one; vpcg+bm25 also uses the words of documents"
    }

    fn is_sparse(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;

    type Vector = Vec<f64>;

    fn unit(vector: Vector) -> Vector {
        let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        vector.into_iter().map(|v| if norm > 0.0 { v / norm } else { 0.0 }).collect()
    }

    fn top(vector: Vector, terms: usize) -> Vector {
        let mut order: Vec<usize> = (0..vector.len()).collect();
        order.sort_by(|&a, &b| vector[b].total_cmp(&vector[a]).then(a.cmp(&b)));
        let kept = &order[..terms.min(order.len())];
        unit((0..vector.len()).map(|t| if kept.contains(&t) { vector[t] } else { 0.0 }).collect())
    }

    fn sum(m: usize, parts: impl Iterator<Item = (f64, Vector)>) -> Vector {
        parts.fold(vec![0.0; m], |mut sum, (weight, vector)| {
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += weight * value);
            sum
        })
    }

    #[test]
    fn vectors_are_passed_as_dense_loops_pass_them() {
        let titles = ["red apple pie", "apple tree", "pear tree", "blue sky", "blue apple garden"];
        let ids = ["a", "b", "c", "d", "e"];
        let documents: Vec<_> = ids
            .iter()
            .zip(titles)
            .map(|(&id, title)| (id, serde_json::json!({ "title": title })))
            .collect();
        let queries = ["sweet fruit", "fruit garden", "heaven above", "sweet heaven", "above all"];
        let clicks = [
            (0, 0, 5.0),
            (0, 1, 2.0),
            (1, 2, 4.0),
            (1, 1, 1.0),
            (2, 3, 3.0),
            (2, 0, -1.0),
            (3, 3, 1.0),
            (3, 0, 2.0),
        ];
        let dir = tempfile::tempdir().unwrap();
        let fixture =
            Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] };
        let data = fixture.open(&dir.path().join("d"));
        let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
        let (n, n_docs, m) = (counts.n_queries(), counts.n_docs(), counts.n_terms());
        let idf = crate::features::idf(&counts);
        let tf_idf = |row: Row<'_>| {
            unit(
                (0..m)
                    .map(|t| match f64::from(row.get(t as u32)) {
                        0.0 => 0.0,
                        tf => (1.0 + tf.ln()) * f64::from(idf[t]),
                    })
                    .collect(),
            )
        };
        let c = |i: usize, j: usize| f64::from(counts.clicks.row(i).get(j as u32)).max(0.0).ln_1p();
        for (iterations, terms) in [(1, 100), (3, 100), (2, 2)] {
            let params = Vpcg { iterations, terms, response: Response::Log };
            let clicked = |i: usize| (0..n_docs).any(|j| c(i, j) > 0.0);
            let clicked_doc = |j: usize| (0..n).any(|i| c(i, j) > 0.0);
            let mut q: Vec<Vector> = (0..n)
                .map(|i| if clicked(i) { tf_idf(counts.queries.row(i)) } else { vec![0.0; m] })
                .collect();
            let mut d = Vec::new();
            for _ in 0..iterations {
                d = (0..n_docs)
                    .map(|j| top(sum(m, (0..n).map(|i| (c(i, j), q[i].clone()))), terms))
                    .collect::<Vec<Vector>>();
                q = (0..n)
                    .map(|i| top(sum(m, (0..n_docs).map(|j| (c(i, j), d[j].clone()))), terms))
                    .collect();
            }
            // The text's vector from those of the members that have its words.
            let compose = |text: Row<'_>, members: &[(Row<'_>, Vector)]| {
                let words = tf_idf(text);
                let parts = (0..m).filter(|&t| words[t] > 0.0).map(|t| {
                    let has = members.iter().filter(|(row, _)| row.get(t as u32) > 0.0);
                    let u = top(sum(m, has.map(|(_, vector)| (1.0, vector.clone()))), terms);
                    let itself = (0..m).map(|s| f64::from(u8::from(s == t))).collect();
                    (words[t], if u.iter().any(|&v| v > 0.0) { u } else { itself })
                });
                top(sum(m, parts), terms)
            };
            let query_members: Vec<(Row<'_>, Vector)> = (0..n)
                .filter(|&i| clicked(i))
                .map(|i| (counts.queries.row(i), q[i].clone()))
                .collect();
            let doc_members: Vec<(Row<'_>, Vector)> = (0..n_docs)
                .filter(|&j| clicked_doc(j))
                .map(|j| (counts.docs.row(j), d[j].clone()))
                .collect();
            for (j, vector) in d.iter_mut().enumerate() {
                if !clicked_doc(j) {
                    *vector = compose(counts.docs.row(j), &doc_members);
                }
            }
            let (matcher, report) = params.propagate(&counts, &Run::silent()).unwrap();
            assert_eq!(report.steps.len(), iterations);
            for text in ["sweet fruit", "above all", "garden heaven fruit", "apple"] {
                let query = counts.read_query(text);
                let known = query.known.filter(|&i| clicked(i as usize));
                let x = match known {
                    Some(i) => q[i as usize].clone(),
                    None => compose(query.row(), &query_members),
                };
                let found = matcher.scores(&counts, &query, None);
                for (j, &found) in found.iter().enumerate() {
                    let expected: f64 = x.iter().zip(&d[j]).map(|(a, b)| a * b).sum();
                    assert!(
                        (f64::from(found) - expected).abs() < 1e-5,
                        "{text} {j}: {found} {expected}"
                    );
                }
            }
        }
    }
}
