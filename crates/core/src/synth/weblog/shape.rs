//! The shape of a log: its numbers at a scale, and those of the papers.

use super::names;
use crate::{Error, Result};

/// The least clicks of a pair, as after the papers' filter.
pub const LEAST_CLICKS: f64 = 4.0;

/// The least number of queries, documents and words.
const LEAST_SIZE: usize = 200;

/// A synthetic log: its shape and its seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Weblog {
    /// Queries in the log, at scale 1.
    pub queries: usize,
    /// Documents, each clicked at least once, at scale 1.
    pub documents: usize,
    /// Different words, at scale 1; at most as many as documents.
    pub words: usize,
    /// Average number of clicked documents per query (the papers' ñ^y).
    pub docs_per_query: f64,
    /// Average number of distinct words of a query.
    pub words_per_query: f64,
    /// Average number of distinct words of a document's title and URL.
    pub words_per_document: f64,
    /// Exponent of the power law of clicked documents per query: smaller is heavier.
    pub query_tail: f64,
    /// Exponent of the power law of queries per document: smaller is heavier.
    pub document_tail: f64,
    /// Average number of clicked pairs within one aspect of a concept.
    pub pairs_per_aspect: f64,
    /// Judged queries, at scale 1; half are for validation, half for test.
    pub judged_queries: usize,
    /// Average number of judged documents per judged query.
    pub judged_per_query: f64,
    /// Multiplies queries, documents, words and judged queries; averages stay.
    pub scale: f64,
    /// The seed of every draw.
    pub seed: u64,
}

/// A shape's numbers at its scale.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub queries: usize,
    pub documents: usize,
    pub words: usize,
    pub pairs: usize,
    pub judged: usize,
}

impl Weblog {
    /// The shape of the papers' one week.
    pub fn one_week() -> Self {
        Weblog {
            queries: 94_022,
            documents: 111_631,
            words: 101_904,
            docs_per_query: 1.74,
            words_per_query: 2.26,
            words_per_document: 4.44,
            query_tail: 3.55,
            document_tail: 3.55,
            pairs_per_aspect: 30.0,
            judged_queries: 4_445,
            judged_per_query: 11.34,
            scale: 1.0,
            seed: 1,
        }
    }

    /// The shape of the papers' half year.
    pub fn half_year() -> Self {
        Weblog {
            queries: 6_372_254,
            documents: 4_599_849,
            words: 271_561,
            docs_per_query: 2.92,
            words_per_query: 2.58,
            words_per_document: 4.56,
            pairs_per_aspect: 120.0,
            judged_queries: 57_514,
            judged_per_query: 13.84,
            ..Weblog::one_week()
        }
    }

    /// Refuses parameters out of range.
    pub(in crate::synth) fn check(&self) -> Result<()> {
        self.size().map(|_| ())
    }

    /// The numbers at this scale; refuses parameters out of range.
    pub(super) fn size(&self) -> Result<Size> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Error::parameter("scale", self.scale, "a number above 0"));
        }
        let scaled = |n: usize| (n as f64 * self.scale).round() as usize;
        let (queries, documents) = (scaled(self.queries), scaled(self.documents));
        let words = scaled(self.words);
        if queries.min(documents).min(words) < LEAST_SIZE {
            let least = self.queries.min(self.documents).min(self.words).max(1);
            return Err(Error::parameter(
                "scale",
                self.scale,
                &format!(
                    "at least {:.5}, for {LEAST_SIZE} queries, documents and words",
                    (LEAST_SIZE as f64 / least as f64 * 1e5).ceil() / 1e5
                ),
            ));
        }
        let pairs = (queries as f64 * self.docs_per_query).round() as usize;
        if queries.max(documents).max(pairs) > u32::MAX as usize || words > names::MOST {
            let expected = format!(
                "fewer than 2³² pairs and at most {} words: choose a smaller one",
                names::MOST
            );
            return Err(Error::parameter("scale", self.scale, &expected));
        }
        let in_range = [
            ("words", words as f64, 1.0, documents as f64),
            ("docs_per_query", self.docs_per_query, 1.0, 10.0),
            ("docs_per_query × queries / documents", pairs as f64 / documents as f64, 1.0, 10.0),
            ("words_per_query", self.words_per_query, 2.0, 10.0),
            ("words_per_document", self.words_per_document, 3.0, 30.0),
            ("query_tail", self.query_tail, 2.0, 20.0),
            ("document_tail", self.document_tail, 2.0, 20.0),
            ("pairs_per_aspect", self.pairs_per_aspect, 4.0, 1e6),
            ("judged_per_query", self.judged_per_query, 3.0, 50.0),
        ];
        for (name, value, least, most) in in_range {
            if !(least..=most).contains(&value) {
                return Err(Error::parameter(name, value, &format!("from {least} to {most}")));
            }
        }
        let judged = scaled(self.judged_queries).max(2).min(queries / 2);
        Ok(Size { queries, documents, words, pairs, judged })
    }
}
