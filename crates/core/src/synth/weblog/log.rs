//! The log, in the order in which it is written.
//!
//! On the line neighbours are related, which would give the answer away; so tables have queries and
//! documents in random order. Here a *row* is a place in a table, a *query* or a *document* a number
//! along the line.

use super::line::{Closeness, Line};
use super::names::Names;
use super::shape::{LEAST_CLICKS, Size, Weblog};
use super::speech::Speech;
use super::spread::Distribution;
use crate::random::Random;
use crate::sparse::Csr;
use crate::{Result, Run};

/// The most partners that a query or a document has.
const MOST_PARTNERS: usize = 1_000;
/// The share of queries of one word, if the vocabulary is large enough.
const ONE_WORD: f64 = 0.28;
/// The least number of words per query of one word.
const WORDS_PER_ONE_WORD_QUERY: f64 = 3.0;
/// The exponent of the power law of a query's clicks.
const POPULARITY_TAIL: f64 = 1.1;
/// The most clicks of a query, approximately.
const MOST_CLICKS: f64 = 1e6;

/// 1/`UNSEEN_IN` of the judged queries are not in the log.
const UNSEEN_IN: usize = 10;

/// The number of queries among `n_judged` that are not in the log.
pub fn n_unseen(n_judged: usize) -> usize {
    n_judged / UNSEEN_IN
}

/// The purpose of a stream of random numbers.
#[derive(Debug, Clone, Copy)]
pub enum Draw {
    /// Numbers of partners and words.
    Numbers,
    /// Concepts and aspects.
    Line,
    /// The clicked pairs.
    Join,
    /// Vocabularies.
    Speech,
    /// Spelling.
    Names,
    /// The order of the tables.
    Order,
    /// The quality of each document.
    Quality,
    /// One stream per query: its words.
    Query,
    /// One stream per document: its words.
    Document,
    /// One stream per query: its clicks.
    Clicks,
    /// The judged queries.
    Pick,
    /// One stream per judged query: its documents and grades.
    Grade,
    /// One stream per query: users and times of its clicks.
    Visits,
}

/// The id of the document in `row`.
pub fn id(row: u32) -> String {
    format!("d{row}")
}

/// A log in memory: everything but its text.
pub struct Log {
    /// The planted truth.
    pub line: Line,
    /// The row of each document.
    pub document_row: Vec<u32>,
    /// The quality of each document, independent of the query: standard normal.
    pub quality: Vec<f32>,
    /// The spelling of the words.
    pub names: Names,
    /// The number of judged queries.
    pub n_judged: usize,
    /// Average number of judged documents per judged query.
    pub judged_per_query: f64,
    /// The query of each row.
    pub query_at: Vec<u32>,
    pub(super) document_at: Vec<u32>,
    clicked: Vec<u32>,
    pub(super) speech: Speech,
    pub(super) query_words: Vec<u32>,
    pub(super) document_words: Vec<u32>,
    pub(super) words_per_query: Distribution,
    seed: u64,
}

impl Log {
    /// Draws everything but the text.
    pub fn new(shape: &Weblog, size: Size, run: &Run) -> Result<Self> {
        let random = |draw: Draw| Random::new(shape.seed, stream(draw, 0));
        run.step("planting concepts", 0, None)?;
        let mut numbers = random(Draw::Numbers);
        let most = |others: usize| MOST_PARTNERS.min(others / 4);
        let distribution =
            Distribution::power(shape.docs_per_query, shape.query_tail, most(size.documents));
        let query_lengths = distribution.spread(size.queries, size.pairs, &mut numbers);
        let mean = size.pairs as f64 / size.documents as f64;
        let distribution = Distribution::power(mean, shape.document_tail, most(size.queries));
        let document_lengths = distribution.spread(size.documents, size.pairs, &mut numbers);
        let words_per_query = words_per_query(shape.words_per_query, size);
        let total = |n: usize, mean: f64| (n as f64 * mean).round() as usize;
        let query_words = words_per_query.spread(
            size.queries,
            total(size.queries, shape.words_per_query),
            &mut numbers,
        );
        let document_words = Distribution::poisson(2, shape.words_per_document).spread(
            size.documents,
            total(size.documents, shape.words_per_document),
            &mut numbers,
        );
        let line = Line::new(
            &query_lengths,
            &document_lengths,
            shape.pairs_per_aspect,
            &mut random(Draw::Line),
        );
        run.step("joining queries and documents", 0, None)?;
        let clicked = line.join(&mut random(Draw::Join));
        let speech = Speech::new(&line, size.words, &mut random(Draw::Speech));
        let n_general = Speech::n_general(size.words);
        let names = Names::new(size.words, n_general, &mut random(Draw::Names));
        let mut order = random(Draw::Order);
        let query_at = shuffled(size.queries, &mut order);
        let document_at = shuffled(size.documents, &mut order);
        let mut document_row = vec![0; size.documents];
        for (row, &document) in (0..).zip(&document_at) {
            document_row[document as usize] = row;
        }
        let mut quality = random(Draw::Quality);
        Ok(Log {
            line,
            document_row,
            quality: (0..size.documents).map(|_| quality.normal() as f32).collect(),
            names,
            n_judged: size.judged,
            judged_per_query: shape.judged_per_query,
            query_at,
            document_at,
            clicked,
            speech,
            query_words,
            document_words,
            words_per_query,
            seed: shape.seed,
        })
    }

    /// The stream of `row` for the purpose `draw`.
    pub fn random(&self, draw: Draw, row: usize) -> Random {
        Random::new(self.seed, stream(draw, row))
    }

    /// The relevance of `document` to a query about `aspect`, on the scale of the grades.
    pub fn appeal(&self, aspect: usize, document: usize) -> f64 {
        let (base, spread) =
            match self.line.closeness(aspect, self.line.aspect_of_document(document)) {
                Closeness::Aspect => (2.9, 0.8),
                Closeness::Concept => (1.6, 0.6),
                Closeness::Field => (0.6, 0.4),
                Closeness::None => (0.0, 0.2),
            };
        base + spread * f64::from(self.quality[document])
    }

    /// The documents clicked for the query in `row`; none for one that is only judged.
    pub fn clicked_in_row(&self, row: usize) -> &[u32] {
        self.query_at.get(row).map_or(&[], |&query| &self.clicked[self.line.query(query as usize)])
    }

    /// The clicks by rows, with an empty row at the end for each judged query that is not in
    /// the log.
    ///
    /// A query's popularity has a heavy tail; it is distributed over the documents by their appeal, with
    /// noise.
    pub fn clicks(&self) -> Result<Csr> {
        let mut starts = Vec::with_capacity(self.query_at.len() + 1);
        starts.push(0);
        let mut indices = Vec::with_capacity(self.clicked.len());
        let mut values = Vec::with_capacity(self.clicked.len());
        let mut row: Vec<(u32, f64)> = Vec::new();
        for &query in &self.query_at {
            let query = query as usize;
            let mut random = self.random(Draw::Clicks, query);
            let aspect = self.line.aspect_of_query(query);
            let popularity = (1.0 - random.uniform()).powf(-1.0 / POPULARITY_TAIL) * 3.0;
            row.clear();
            for &document in &self.clicked[self.line.query(query)] {
                let answers = self.appeal(aspect, document as usize);
                let pull = (0.6 * answers + 0.5 * random.normal()).exp();
                row.push((self.document_row[document as usize], pull));
            }
            let pull: f64 = row.iter().map(|&(_, pull)| pull).sum();
            // A query with more documents has more clicks.
            let shared = popularity.min(MOST_CLICKS) * row.len() as f64;
            row.sort_unstable_by_key(|&(document, _)| document);
            for &(document, own) in &row {
                indices.push(document);
                values.push((LEAST_CLICKS + (shared * own / pull).floor()) as f32);
            }
            starts.push(indices.len() as u64);
        }
        starts.resize(starts.len() + n_unseen(self.n_judged), indices.len() as u64);
        Csr::new(self.line.n_documents(), starts, indices, values)
    }
}

fn stream(draw: Draw, row: usize) -> u64 {
    (draw as u64) << 40 | row as u64
}

/// One word for a share that the vocabulary allows (texts are all different), else two or more.
fn words_per_query(mean: f64, size: Size) -> Distribution {
    let most = size.words as f64 / (WORDS_PER_ONE_WORD_QUERY * size.queries as f64);
    let one = ONE_WORD.min(most);
    Distribution::poisson(2, (mean - one) / (1.0 - one)).or_one_less(one)
}

fn shuffled(n: usize, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut order);
    order
}
