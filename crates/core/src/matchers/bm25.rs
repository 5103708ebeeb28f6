//! BM25 as Lucene computes it (since version 8), with exact document lengths:
//!
//! ```text
//! score(q, d) = Σ_t tf(t, q) · idf(t) · f / (f + k1·(1 − b + b·|d|/avgdl))
//! idf(t)      = ln(1 + (N − df + 0.5)/(df + 0.5))
//! ```
//! Repeated query words count again. Fields are one text, or, with `fields`, each has a score of its
//! own (with its own k1, b, weight, lengths and idf), and these are added. Documents' weights are
//! computed once, in [`Statistics::vectors`]; a score is their dot product with the query's counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::{Lexical, QuerySide, length, lengths, weigh};
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use crate::features::{Counts, Field, UnseenCounts};
use crate::params::check::{check_share, check_weight};
use crate::sparse::Csr;
use crate::{Error, Result};

/// Parameters of BM25.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bm25 {
    /// Saturation of term frequency, 0 or more.
    pub k1: f64,
    /// Strength of the normalisation by document length, 0 to 1.
    pub b: f64,
    /// Score these fields separately, e.g. { title = { weight = 2.0, b = 0.3 }, body = {} }; empty: all as one text.
    pub fields: BTreeMap<String, Bm25Field>,
}

impl Default for Bm25 {
    fn default() -> Self {
        Bm25 { k1: 1.2, b: 0.75, fields: BTreeMap::new() }
    }
}

/// One field of BM25; k1 and b default to those of all fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bm25Field {
    /// The field's weight in the sum (1 if not set).
    pub weight: Option<f64>,
    /// The field's own k1.
    pub k1: Option<f64>,
    /// The field's own b.
    pub b: Option<f64>,
}

impl Method for Bm25 {
    fn check(&self) -> Result<()> {
        check_weight("k1", self.k1)?;
        check_share("b", self.b)?;
        for (name, field) in &self.fields {
            check_weight(&format!("fields.{name}.k1"), field.k1.unwrap_or(self.k1))?;
            check_share(&format!("fields.{name}.b"), field.b.unwrap_or(self.b))?;
            let weight = field.weight.unwrap_or(1.0);
            if !weight.is_finite() {
                let name = format!("fields.{name}.weight");
                return Err(Error::parameter(&name, weight, "a finite number"));
            }
        }
        Ok(())
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Ok(Box::new(self.fit(counts)?))
    }

    fn fold_in(&self, counts: &Counts, new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        let docs = self.weighed(counts, &new.docs, &new.fields)?;
        Ok(Some(Box::new(Lexical::new(QuerySide::Counts, docs))))
    }

    fn learns(&self) -> bool {
        false
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![("k1", "{ min = 0.4, max = 3.0 }"), ("b", "{ min = 0.0, max = 1.0 }")]
    }
}

impl Bm25 {
    /// The matcher for `counts`.
    pub fn fit(&self, counts: &Counts) -> Result<Lexical> {
        self.check()?;
        let docs = self.weighed(counts, &counts.docs, &counts.fields)?;
        Ok(Lexical::new(QuerySide::Counts, docs))
    }

    /// The vectors of documents, of training or not, with these `fields`, which add up to `docs`.
    fn weighed(&self, counts: &Counts, docs: &Csr, fields: &[Field]) -> Result<Csr> {
        if self.fields.is_empty() {
            return Statistics::of(counts, &counts.docs).vectors(docs, self.k1, self.b, 1.0);
        }
        let mut triplets = Vec::new();
        for (name, field) in &self.fields {
            let statistics = Statistics::of(counts, counts.field(name)?);
            let weight = field.weight.unwrap_or(1.0);
            let (k1, b) = (field.k1.unwrap_or(self.k1), field.b.unwrap_or(self.b));
            let Some(found) = fields.iter().find(|field| field.name == *name) else { continue };
            for (j, row) in statistics.vectors(&found.docs, k1, b, weight)?.rows().enumerate() {
                triplets.extend(row.iter().map(|(term, value)| (j as u32, term, value)));
            }
        }
        Csr::from_triplets(docs.n_rows(), counts.n_terms(), triplets)
    }
}

/// The vectors of all documents for one field, or for all text as one.
pub(super) fn vectors(counts: &Counts, field: &Csr, k1: f64, b: f64, weight: f64) -> Result<Csr> {
    Statistics::of(counts, field).vectors(field, k1, b, weight)
}

/// The statistics of a field of the training documents.
struct Statistics<'a> {
    df: Cow<'a, [u32]>,
    n: usize,
    average: f64,
}

impl<'a> Statistics<'a> {
    fn of(counts: &'a Counts, field: &Csr) -> Self {
        if std::ptr::eq(field, &counts.docs) {
            let all = counts.collection();
            let df = Cow::Borrowed(&counts.document_frequency[..]);
            return Statistics { df, n: all.n_docs, average: average(all.length, all.n_docs) };
        }
        let mut df = vec![0u32; field.n_cols()];
        let (mut n, mut total) = (0usize, 0.0);
        for (j, row) in field.rows().enumerate() {
            // As in Lucene, a document without the field counts neither in N nor in avgdl.
            if row.is_empty() || counts.held_out_documents.binary_search(&(j as u32)).is_ok() {
                continue;
            }
            n += 1;
            total += length(row);
            row.indices.iter().for_each(|&term| df[term as usize] += 1);
        }
        Statistics { df: Cow::Owned(df), n, average: average(total, n) }
    }

    /// The BM25 weights of documents × terms; the documents need not be in the collection.
    fn vectors(&self, field: &Csr, k1: f64, b: f64, weight: f64) -> Result<Csr> {
        let lengths = lengths(field);
        let idf = |term: u32| idf(self.n as f64, f64::from(self.df[term as usize]));
        weigh(
            field,
            |j, term, f| {
                let f = f64::from(f);
                weight * idf(term) * f / (f + k1 * (1.0 - b + b * lengths[j] / self.average))
            },
            None,
        )
    }
}

/// The average length; 1 if there are no documents.
fn average(total: f64, n: usize) -> f64 {
    if n == 0 { 1.0 } else { total / n as f64 }
}

fn idf(n: f64, df: f64) -> f64 {
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}
