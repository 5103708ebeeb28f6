//! From counts to feature rows and to the three matrices, as `weighted.rs` defines them.

use super::counts::{Counts, QueryTerms};
use super::weighted::{Features, Response, Weighted, Weighting};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Turns counts into feature rows, for training and for unseen queries alike.
pub struct Featurizer {
    features: Features,
    idf: Vec<f32>,
    n_terms: usize,
    n_docs: usize,
    n_queries: usize,
}

/// The inverse document frequency ln(1 + N/df) of every term, with df at least one, for terms that
/// only queries have.
pub fn idf(counts: &Counts) -> Vec<f32> {
    let n = counts.n_training_docs as f64;
    counts.document_frequency.iter().map(|&df| (n / f64::from(df.max(1))).ln_1p() as f32).collect()
}

impl Featurizer {
    /// Kinds of features and their weights.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The features of `counts`.
    pub fn new(counts: &Counts, features: &Features) -> Result<Self> {
        features.check()?;
        Ok(Featurizer {
            features: features.clone(),
            idf: idf(counts),
            n_terms: counts.n_terms(),
            n_docs: counts.n_docs(),
            n_queries: counts.n_queries(),
        })
    }

    /// The number of query features: terms, then documents.
    pub fn d_x(&self) -> usize {
        self.n_terms + if self.features.query_clicks > 0.0 { self.n_docs } else { 0 }
    }

    /// The number of document features: terms, then queries.
    pub fn d_y(&self) -> usize {
        self.n_terms + if self.features.doc_clicks > 0.0 { self.n_queries } else { 0 }
    }

    /// The features of a query: its terms and, if training knew it, its row of clicks.
    pub fn query(&self, terms: Row<'_>, clicks: Option<Row<'_>>) -> (Vec<u32>, Vec<f32>) {
        self.side(terms, clicks, self.features.query_words, self.features.query_clicks)
    }

    /// The features of a document: its terms and, if training knew it, its column of clicks.
    pub fn doc(&self, terms: Row<'_>, clicks: Option<Row<'_>>) -> (Vec<u32>, Vec<f32>) {
        self.side(terms, clicks, self.features.doc_words, self.features.doc_clicks)
    }

    /// The features of a query read by `counts`.
    pub fn query_terms(&self, counts: &Counts, query: &QueryTerms) -> (Vec<u32>, Vec<f32>) {
        self.query(query.row(), query.known.map(|i| counts.clicks.row(i as usize)))
    }

    /// The features of every query of `counts`.
    pub fn queries(&self, counts: &Counts) -> Result<Csr> {
        Csr::by_rows(self.d_x(), counts.n_queries(), |i| {
            Ok(self.query(counts.queries.row(i), Some(counts.clicks.row(i))))
        })
    }

    /// The features of every document of `counts`.
    pub fn docs(&self, counts: &Counts) -> Result<Csr> {
        let clicked_by = counts.clicks.transpose();
        Csr::by_rows(self.d_y(), counts.n_docs(), |j| {
            Ok(self.doc(counts.docs.row(j), Some(clicked_by.row(j))))
        })
    }

    /// The features of every document of `counts` without its clicks, as if it were unseen.
    pub fn docs_by_words(&self, counts: &Counts) -> Result<Csr> {
        Csr::by_rows(self.d_y(), counts.n_docs(), |j| Ok(self.doc(counts.docs.row(j), None)))
    }

    /// A description of feature `u` of queries.
    pub fn query_feature(&self, counts: &Counts, u: u32) -> String {
        match (u as usize).checked_sub(self.n_terms) {
            None => counts.vocabulary.term(u).to_owned(),
            Some(doc) => format!("clicked document {}", counts.doc_ids[doc]),
        }
    }

    /// A description of feature `v` of documents.
    pub fn doc_feature(&self, counts: &Counts, v: u32) -> String {
        match (v as usize).checked_sub(self.n_terms) {
            None => counts.vocabulary.term(v).to_owned(),
            Some(query) => format!("clicked for “{}”", counts.query_texts[query]),
        }
    }

    fn side(
        &self,
        terms: Row<'_>,
        clicks: Option<Row<'_>>,
        word_weight: f64,
        click_weight: f64,
    ) -> (Vec<u32>, Vec<f32>) {
        let mut indices = Vec::new();
        let mut values = Vec::new();
        if word_weight > 0.0 {
            for (term, count) in terms.iter() {
                indices.push(term);
                values.push((1.0 + count.ln()).max(0.0) * self.idf[term as usize]);
            }
            self.scale_kind(&mut values, word_weight);
        }
        if let Some(clicks) = clicks.filter(|_| click_weight > 0.0) {
            let first = values.len();
            for (other, count) in clicks.iter().filter(|&(_, count)| count > 0.0) {
                indices.push(self.n_terms as u32 + other);
                values.push(self.features.click_value.of(count));
            }
            self.scale_kind(&mut values[first..], click_weight);
        }
        if self.features.unit_rows {
            scale_to(&mut values, 1.0);
        }
        (indices, values)
    }

    fn scale_kind(&self, values: &mut [f32], weight: f64) {
        if self.features.unit_kinds {
            scale_to(values, weight);
        } else {
            values.iter_mut().for_each(|value| *value *= weight as f32);
        }
    }
}

impl Weighted {
    /// The matrices of `counts`, training queries only.
    pub fn of(
        counts: &Counts,
        featurizer: &Featurizer,
        weighting: Weighting,
        response: Response,
    ) -> Result<Self> {
        let Some(Ok(mut shared)) = counts.shared.as_ref().map(|shared| shared.0.lock()) else {
            return Weighted::made(counts, featurizer, weighting, response);
        };
        if let Some((features, w, r, made)) = &*shared
            && (features, *w, *r) == (&featurizer.features, weighting, response)
        {
            return Ok(made.clone());
        }
        *shared = None;
        let made = Weighted::made(counts, featurizer, weighting, response)?;
        *shared = Some((featurizer.features.clone(), weighting, response, made.clone()));
        Ok(made)
    }

    fn made(
        counts: &Counts,
        featurizer: &Featurizer,
        weighting: Weighting,
        response: Response,
    ) -> Result<Self> {
        let training: Vec<usize> =
            (0..counts.n_queries()).filter(|&i| !counts.clicks.row(i).is_empty()).collect();
        if training.is_empty() {
            return Err(no_training_clicks());
        }
        let n_x = training.len() as f32;
        let x = Csr::by_rows(featurizer.d_x(), training.len(), |t| {
            let i = training[t];
            Ok(featurizer.query(counts.queries.row(i), Some(counts.clicks.row(i))))
        })?;
        let y = featurizer.docs(counts)?;
        let r = Csr::by_rows(counts.n_docs(), training.len(), |t| {
            let row = counts.clicks.row(training[t]);
            let scale = match weighting {
                Weighting::Mean => 1.0 / (n_x * row.len() as f32),
                Weighting::Sum => 1.0,
            };
            Ok((row.indices.to_vec(), row.values.iter().map(|&c| response.of(c) * scale).collect()))
        })?;
        Ok(Weighted { x, y, r })
    }
}

/// An error if no training click is above zero.
pub(crate) fn check_clicks(counts: &Counts) -> Result<()> {
    if counts.clicks.values().iter().any(|&clicks| clicks > 0.0) {
        return Ok(());
    }
    Err(no_training_clicks())
}

/// The error of a method that learns from clicks and finds none.
pub(crate) fn no_training_clicks() -> Error {
    Error::Empty {
        what: "there are no training clicks".into(),
        advice: "import a click log or links, or keep more of them (`min_clicks = N`, `split = BY`); to learn from judged pairs, set `split = queries`; without any, train bm25, vsm, lm or lsi_dt".into(),
    }
}

fn scale_to(values: &mut [f32], norm: f64) {
    let old = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    if old > 0.0 {
        let scale = (norm / old) as f32;
        values.iter_mut().for_each(|value| *value *= scale);
    }
}
