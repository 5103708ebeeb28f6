//! Query likelihood with a smoothed language model of each document, up to a constant that
//! depends on the query alone:
//!
//! ```text
//! Dirichlet:       Σ_t tf(t, q)·ln(1 + f/(μ·P(t|C)))  +  |q|·ln(μ/(μ + |d|))
//! Jelinek–Mercer:  Σ_t tf(t, q)·ln(1 + (1 − λ)·f/|d| / (λ·P(t|C)))
//! ```
//! P(t|C) is the share of t in all training documents; |q| counts the query words that the
//! collection has. Nothing is clamped at zero. λ is the weight of the *collection*.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::{Lexical, QuerySide, lengths, occurrences, weigh};
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use crate::Result;
use crate::features::{Counts, UnseenCounts};
use crate::params::check::{check_positive, check_share_above_zero};
use crate::sparse::Csr;

/// Parameters of the language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lm {
    /// Smoothing: the probability of words that a document does not contain.
    pub smoothing: Smoothing,
    /// Dirichlet: the weight of the collection in words.
    pub mu: f64,
    /// Jelinek–Mercer: the weight of the collection; 0.1 suits short queries, 0.7 long ones.
    pub lambda: f64,
}

/// Smoothing of a language model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Smoothing {
    /// Long documents are smoothed less than short ones.
    #[default]
    Dirichlet,
    /// Jelinek–Mercer: all documents are smoothed alike.
    Jm,
}

impl Default for Lm {
    fn default() -> Self {
        Lm { smoothing: Smoothing::Dirichlet, mu: 2000.0, lambda: 0.1 }
    }
}

impl Method for Lm {
    fn check(&self) -> Result<()> {
        check_positive("mu", self.mu)?;
        check_share_above_zero("lambda", self.lambda)
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Ok(Box::new(self.fit(counts)?))
    }

    fn fold_in(&self, counts: &Counts, new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        Ok(Some(Box::new(self.weighed(&occurrences(counts, &counts.docs), &new.docs)?)))
    }

    fn learns(&self) -> bool {
        false
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![match self.smoothing {
            Smoothing::Dirichlet => ("mu", "{ min = 50, max = 5000, log = true }"),
            Smoothing::Jm => ("lambda", "{ min = 0.05, max = 0.95 }"),
        }]
    }
}

impl Lm {
    /// The matcher for `counts`.
    pub fn fit(&self, counts: &Counts) -> Result<Lexical> {
        self.fit_text(counts, &counts.docs)
    }

    /// The matcher for one `text` of the documents: all of it, or a field.
    pub(crate) fn fit_text(&self, counts: &Counts, text: &Csr) -> Result<Lexical> {
        self.check()?;
        self.weighed(&occurrences(counts, text), text)
    }

    /// The matcher for the `text` of documents, of training or not, by how often terms occur in
    /// the `collection`.
    fn weighed(&self, collection: &[f64], text: &Csr) -> Result<Lexical> {
        let lengths = lengths(text);
        let total: f64 = collection.iter().sum();
        // A term that only held-out documents have is unknown to the collection: dropped.
        let known = |term: u32| collection[term as usize] > 0.0;
        let p = |term: u32| collection[term as usize] / total;
        match self.smoothing {
            Smoothing::Dirichlet => {
                let weight = |_: usize, term: u32, f: f32| {
                    if known(term) { (f64::from(f) / (self.mu * p(term))).ln_1p() } else { 0.0 }
                };
                let length = |j: usize| (self.mu / (self.mu + lengths[j])).ln();
                let docs = weigh(text, weight, Some(&length))?;
                let known = collection.iter().map(|&found| found > 0.0).collect();
                Ok(Lexical::new(QuerySide::CountsAndLength { known }, docs))
            }
            Smoothing::Jm => {
                let weight = |j: usize, term: u32, f: f32| {
                    if !known(term) {
                        return 0.0;
                    }
                    ((1.0 - self.lambda) * f64::from(f) / lengths[j] / (self.lambda * p(term)))
                        .ln_1p()
                };
                Ok(Lexical::new(QuerySide::Counts, weigh(text, weight, None)?))
            }
        }
    }
}
