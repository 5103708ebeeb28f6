//! The three matrices a bilinear trainer sees: query features X, document features Y and
//! weighted clicks R̃.
//!
//! Word features are (1 + ln tf)·idf with the idf of the documents on both sides. Click
//! features are, for a query, the documents clicked for it, and for a document, the queries
//! it was clicked for. Each kind is scaled to unit norm, times its weight; the kinds stand
//! side by side; the whole row is scaled to unit norm. A query or document that training
//! does not know has word features alone. A response below zero is no click feature: what
//! somebody disliked says nothing about what a query or document is like.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::{Counts, QueryTerms};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Which features queries and documents have, and how much each kind weighs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Features {
    /// Weight of a query's words.
    pub query_words: f64,
    /// Weight of the documents clicked for a query, as features of the query; 0 leaves them out.
    pub query_clicks: f64,
    /// Weight of a document's words.
    pub doc_words: f64,
    /// Weight of the queries a document was clicked for, as features of the document; 0 leaves them out.
    pub doc_clicks: f64,
    /// How a number of clicks becomes the value of a click feature.
    pub click_value: Response,
    /// Scale each kind to unit norm before its weight.
    pub unit_kinds: bool,
    /// Scale whole rows to unit norm.
    pub unit_rows: bool,
}

impl Default for Features {
    fn default() -> Self {
        Features {
            query_words: 1.0,
            query_clicks: 0.3,
            doc_words: 1.0,
            doc_clicks: 1.0,
            click_value: Response::Log,
            unit_kinds: true,
            unit_rows: true,
        }
    }
}

impl Features {
    /// Words alone, on both sides.
    pub fn words() -> Self {
        Features { query_clicks: 0.0, doc_clicks: 0.0, ..Features::default() }
    }

    /// Refuses weights that make no sense.
    pub fn check(&self) -> Result<()> {
        for (name, weight) in [
            ("features.query_words", self.query_words),
            ("features.query_clicks", self.query_clicks),
            ("features.doc_words", self.doc_words),
            ("features.doc_clicks", self.doc_clicks),
        ] {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::parameter(name, weight, "a finite number, 0 or more"));
            }
        }
        for (side, sum) in [
            ("features.query_words", self.query_words + self.query_clicks),
            ("features.doc_words", self.doc_words + self.doc_clicks),
        ] {
            if sum == 0.0 {
                return Err(Error::parameter(side, 0, "at least one kind of feature on each side"));
            }
        }
        Ok(())
    }
}

/// How clicks are weighted against each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// Every query weighs the same: R̃ = diag(1/(n_x·n_i))·R, as in the RMLS papers.
    Mean,
    /// Every click weighs the same: R̃ = R.
    #[default]
    Sum,
}

/// What a number of clicks counts for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Response {
    /// The number itself.
    Raw,
    /// sign(r)·ln(1 + |r|), so that the head does not drown the tail.
    #[default]
    Log,
    /// The sign alone.
    Binary,
}

impl Response {
    /// The response to `clicks` clicks (or a signed weight).
    pub fn of(self, clicks: f32) -> f32 {
        match self {
            Response::Raw => clicks,
            Response::Log => clicks.signum() * clicks.abs().ln_1p(),
            Response::Binary if clicks == 0.0 => 0.0,
            Response::Binary => clicks.signum(),
        }
    }
}

/// X, Y and R̃: all that a bilinear trainer ever sees.
#[derive(Clone)]
pub struct Weighted {
    /// Training queries × query features.
    pub x: Csr,
    /// Documents × document features.
    pub y: Csr,
    /// Training queries × documents, weighted.
    pub r: Csr,
}

/// The matrices made last from some counts, with what they were made by.
#[derive(Default)]
pub(super) struct SharedFeatures(Mutex<Option<(Features, Weighting, Response, Weighted)>>);

/// Turns counts into feature rows, in training and later for new queries alike.
pub struct Featurizer {
    features: Features,
    idf: Vec<f32>,
    n_terms: usize,
    n_docs: usize,
    n_queries: usize,
}

/// The inverse document frequency ln(1 + N/df) of every term, with df at least one: a term
/// that only queries have is as rare as a term can be.
pub fn idf(counts: &Counts) -> Vec<f32> {
    let n = counts.n_training_docs as f64;
    counts.document_frequency.iter().map(|&df| (n / f64::from(df.max(1))).ln_1p() as f32).collect()
}

impl Featurizer {
    /// What it was made of.
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

    /// The features of a query that was read by `counts`.
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

    /// What feature `u` of a query means, for people.
    pub fn query_feature(&self, counts: &Counts, u: u32) -> String {
        match (u as usize).checked_sub(self.n_terms) {
            None => counts.vocabulary.term(u).to_owned(),
            Some(doc) => format!("clicked document {}", counts.doc_ids[doc]),
        }
    }

    /// What feature `v` of a document means, for people.
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

/// Refuses counts without a training click above zero.
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
        advice: "import a click log or links, or keep more of them (`min_clicks = N`, `split = BY`); judged pairs are learnt from with `split = queries`; without any, train bm25, vsm, lm or lsi_dt".into(),
    }
}

fn scale_to(values: &mut [f32], norm: f64) {
    let old = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    if old > 0.0 {
        let scale = (norm / old) as f32;
        values.iter_mut().for_each(|value| *value *= scale);
    }
}
