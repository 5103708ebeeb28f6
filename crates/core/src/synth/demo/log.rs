//! The parameters of a demo log, and the log with its planted truth.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::data::Document;
use crate::synth::concepts::Concepts;

/// Results per result page.
pub const PAGE: usize = 10;

/// The sizes of a demo log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demo {
    /// Concepts, taken from every group in turn.
    pub concepts: usize,
    /// Documents, distributed over the concepts.
    pub documents: usize,
    /// Distinct queries that can be searched, from the head to the long tail.
    pub queries: usize,
    /// Further queries that are never searched; some are judged.
    pub unseen: usize,
    /// Searches, each for one query.
    pub searches: usize,
    /// Judged queries: a quarter each from head, torso, tail and the unseen.
    pub judged: usize,
    /// The share of misspelt queries.
    pub misspelt: f64,
    /// The examination propensity of position i is i^−bias, so 0 is no position bias.
    pub bias: f64,
    /// The share of results replaced by a page on the query's concept.
    pub explored: f64,
    /// The share of result pages in random order.
    pub shuffled: f64,
    /// The seed of every draw.
    pub seed: u64,
}

impl Default for Demo {
    fn default() -> Self {
        Demo {
            concepts: 330,
            documents: 3_000,
            queries: 4_000,
            unseen: 400,
            searches: 240_000,
            judged: 800,
            misspelt: 0.04,
            bias: 0.7,
            explored: 0.2,
            shuffled: 0.0,
            seed: 1,
        }
    }
}

/// The planted content of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentTruth {
    /// Index of the concept that it is about.
    pub concept: usize,
    /// The facet of the concept's topic.
    pub facet: usize,
    /// A related concept that it also treats.
    pub second: Option<usize>,
}

/// The planted intent of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTruth {
    /// Index of the concept that it is about.
    pub concept: usize,
    /// The facet asked for; 0, the general one, if none was named.
    pub facet: usize,
    /// Source of its words.
    pub wording: Wording,
    /// Whether a letter is wrong.
    pub misspelt: bool,
}

/// Source of the words of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    /// Those of people.
    People,
    /// Those of pages.
    Pages,
    /// Some of each.
    Both,
}

/// A click log with its documents, its judgments and the planted truth.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoLog {
    /// The documents: title, body, url, class.
    pub documents: Vec<Document>,
    /// The distinct queries, most frequent first, those that are never searched last.
    pub queries: Vec<String>,
    /// The number of searches of each query.
    pub searches: Vec<u32>,
    /// Query, document, clicks; sorted.
    pub clicks: Vec<(u32, u32, u32)>,
    /// Clicks at each position of the result page.
    pub clicks_by_position: [u64; PAGE],
    /// Query, document, grade 0..=4; sorted.
    pub judgments: Vec<(u32, u32, u8)>,
    /// The content of each document.
    pub document_truths: Vec<DocumentTruth>,
    /// The intent of each query.
    pub query_truths: Vec<QueryTruth>,
    /// The concepts.
    pub concepts: Concepts,
}

/// A search engine: gets all documents and all distinct queries, and returns the numbers of the best
/// documents of each query, best first, at most [`PAGE`].
pub type Engine<'a> = dyn Fn(&[Document], &[String]) -> Result<Vec<Vec<u32>>> + 'a;

impl DemoLog {
    /// The true grade of a document for a query: 4 for the concept and the facet asked for, 3
    /// for the general page on it or for any facet when none was asked for, 2 for the concept's
    /// other facets and for pages that treat it along with another, 1 for a related concept, 0
    /// otherwise.
    pub fn grade(&self, query: usize, document: usize) -> u8 {
        let (meant, about) = (&self.query_truths[query], &self.document_truths[document]);
        if about.second == Some(meant.concept) {
            return 2;
        }
        if about.concept == meant.concept {
            return match about.facet {
                _ if about.second.is_some() => 2,
                facet if facet == meant.facet => 4,
                facet if facet == 0 || meant.facet == 0 => 3,
                _ => 2,
            };
        }
        let group = |concept: usize| self.concepts.concepts[concept].group;
        u8::from(group(about.concept) == group(meant.concept))
    }

    /// For each concept, the documents of grade 2 or more for its queries: those about it alone or
    /// together with another.
    pub(super) fn documents_by_concept(&self) -> Vec<Vec<u32>> {
        let mut about = vec![Vec::new(); self.concepts.concepts.len()];
        for (document, truth) in (0..).zip(&self.document_truths) {
            about[truth.concept].push(document);
            if let Some(second) = truth.second {
                about[second].push(document);
            }
        }
        about
    }
}
