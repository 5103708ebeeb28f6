//! The demo log: a small click log that a person can read and that word matching alone cannot
//! serve, because people and pages mostly use different words.
//!
//! From the hand-written [`Concepts`]: documents mostly in the pages' words, queries mostly in
//! the people's, some of each in both. Searches are drawn by Zipf's law; each shows the
//! engine's ranking with one result in five replaced by a page about what was meant (without
//! these nobody could click what word matching does not find), on request also with some pages
//! in random order; a user who looks less the
//! lower he comes clicks by the true grade. The truth is known, so judgments are free of error.
//!
//! Everything follows from the seed and the engine's rankings, in one thread: the whole log is
//! a matter of a second.

mod clicks;
mod documents;
mod facets;
mod judgments;
mod queries;
mod raw;

use serde::{Deserialize, Serialize};

use super::concepts::Concepts;
use crate::data::Document;
use crate::random::Random;
use crate::{Error, Result, Run};

/// Results on a page.
pub const PAGE: usize = 10;

/// One stream of random numbers per step, so that a change in one leaves the others alone.
#[derive(Clone, Copy)]
enum Stream {
    Documents,
    Queries,
    Clicks,
    Judgments,
    Visitors,
}

/// The sizes of a demo log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demo {
    /// Concepts, taken from every group in turn.
    pub concepts: usize,
    /// Documents, spread over the concepts.
    pub documents: usize,
    /// Distinct queries that can be searched, from the head to the long tail.
    pub queries: usize,
    /// Further queries that nobody searches; some are judged.
    pub unseen: usize,
    /// Searches, each for one query.
    pub searches: usize,
    /// Judged queries: a quarter each from head, torso, tail and the unseen.
    pub judged: usize,
    /// The share of misspelt queries.
    pub misspelt: f64,
    /// How fast users stop looking down a page: the chance that they look at position i is
    /// i^−bias, so 0 is no bias of positions.
    pub bias: f64,
    /// The share of results replaced by a page on what was meant.
    pub explored: f64,
    /// The share of pages whose results are shown in random order.
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

/// What a document is about.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentTruth {
    /// Its concept.
    pub concept: usize,
    /// The facet of the concept's topic.
    pub facet: usize,
    /// A related concept that it treats as well.
    pub second: Option<usize>,
}

/// What a query means.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTruth {
    /// Its concept.
    pub concept: usize,
    /// The facet asked for; 0, the general one, if none was named.
    pub facet: usize,
    /// Whose words it uses.
    pub words: Words,
    /// Whether a letter went wrong.
    pub misspelt: bool,
}

/// Whose words a query uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// The people's.
    People,
    /// The pages'.
    Pages,
    /// Some of each.
    Both,
}

/// A click log with its documents, its judgments and the truth behind them.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoLog {
    /// The documents: title, body, url, class.
    pub documents: Vec<Document>,
    /// The distinct queries, most frequent first, those that nobody searches last.
    pub queries: Vec<String>,
    /// How often each query was searched.
    pub searches: Vec<u32>,
    /// Query, document, clicks; sorted.
    pub clicks: Vec<(u32, u32, u32)>,
    /// Clicks at each position of the result page.
    pub clicks_by_position: [u64; PAGE],
    /// Query, document, grade 0..=4; sorted.
    pub judgments: Vec<(u32, u32, u8)>,
    /// What each document is about.
    pub document_truths: Vec<DocumentTruth>,
    /// What each query means.
    pub query_truths: Vec<QueryTruth>,
    /// The concepts behind it all.
    pub concepts: Concepts,
}

/// A ranker of documents: gets all documents and all distinct queries, and returns the numbers
/// of the best documents of each query, best first, up to [`PAGE`] of them.
pub type Engine<'a> = dyn Fn(&[Document], &[String]) -> Result<Vec<Vec<u32>>> + 'a;

impl Demo {
    /// Builds the log on the rankings of `engine`.
    ///
    /// # Panics
    /// If the engine returns another number of rankings than it got queries, or a document
    /// that does not exist.
    pub fn build(&self, engine: &Engine<'_>, run: &Run<'_>) -> Result<DemoLog> {
        self.build_watched(engine, &mut |_, _, _, _| Ok(()), run)
    }

    fn build_watched(
        &self,
        engine: &Engine<'_>,
        watch: &mut clicks::Watch<'_>,
        run: &Run<'_>,
    ) -> Result<DemoLog> {
        let concepts = Concepts::builtin()?.first(self.concepts);
        self.check(&concepts)?;
        let (documents, document_truths) = documents::write(self, &concepts);
        let (queries, query_truths) = queries::write(self, &concepts)?;
        run.step("ranking for the demo log", 0, None)?;
        let rankings = engine(&documents, &queries)?;
        assert_eq!(rankings.len(), queries.len(), "the engine ranks for every query");
        let known = |&document: &u32| (document as usize) < documents.len();
        assert!(rankings.iter().flatten().all(known), "the engine ranks documents that exist");
        let mut log = DemoLog {
            searches: vec![0; queries.len()],
            documents,
            queries,
            clicks: Vec::new(),
            clicks_by_position: [0; PAGE],
            judgments: Vec::new(),
            document_truths,
            query_truths,
            concepts,
        };
        let about = log.documents_by_concept();
        clicks::draw(self, &mut log, &rankings, &about, watch, run)?;
        judgments::draw(self, &mut log, &rankings, &about);
        Ok(log)
    }

    fn check(&self, concepts: &Concepts) -> Result<()> {
        let n_concepts = concepts.concepts.len();
        if self.documents < 2 * n_concepts || self.documents >= 1 << 32 {
            let expected = format!("at least {}, two a concept", 2 * n_concepts);
            return Err(Error::parameter("documents", self.documents, &expected));
        }
        if self.queries < 2 * n_concepts {
            let expected = format!("at least {}, two a concept", 2 * n_concepts);
            return Err(Error::parameter("queries", self.queries, &expected));
        }
        if self.judged / 4 > self.unseen || self.judged / 4 > self.queries / 10 {
            let expected = "at most four times the unseen, and four tenths of the queries";
            return Err(Error::parameter("judged", self.judged, expected));
        }
        if !(0.0..=0.5).contains(&self.misspelt) {
            return Err(Error::parameter("misspelt", self.misspelt, "a share from 0 to 0.5"));
        }
        if !(0.0..=5.0).contains(&self.bias) {
            let expected = "a number from 0, no bias of positions, to 5";
            return Err(Error::parameter("bias", self.bias, expected));
        }
        for (name, share) in [("explored", self.explored), ("shuffled", self.shuffled)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::parameter(name, share, "a share from 0 to 1"));
            }
        }
        Ok(())
    }

    fn random(&self, stream: Stream) -> Random {
        Random::new(self.seed, stream as u64)
    }
}

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

    /// For each concept, the documents of grade 2 or more for its queries: its own and those
    /// that treat it along with another.
    fn documents_by_concept(&self) -> Vec<Vec<u32>> {
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

/// Spreads `total` over `n` shares, each between about half and one and a half of the mean.
fn spread(total: usize, n: usize, random: &mut Random) -> Vec<usize> {
    let mean = total as f64 / n as f64;
    let mut carried = 0.0;
    let mut shares: Vec<usize> = (0..n / 2)
        .flat_map(|_| {
            let off = mean * 0.5 * random.uniform();
            [mean + off, mean - off]
        })
        .chain((n % 2 == 1).then_some(mean))
        .map(|share| {
            // The rounding error goes to the next share, so that the sum comes out right.
            let whole = (share + carried).round();
            carried += share - whole;
            whole as usize
        })
        .collect();
    random.shuffle(&mut shares);
    shares
}

fn pick<'a, T>(items: &'a [T], random: &mut Random) -> &'a T {
    &items[random.below(items.len() as u64) as usize]
}

fn chance(probability: f64, random: &mut Random) -> bool {
    random.uniform() < probability
}

#[cfg(test)]
mod tests;
