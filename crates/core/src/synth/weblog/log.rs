//! The log itself, in the order in which it is written.
//!
//! On the line neighbours are kin, which would give the answer away; in the tables queries
//! and documents stand in random order. A *row* below is a place in a table, a *query* or a
//! *document* a number along the line.

use std::collections::HashSet;

use super::judgments::{Judged, appeal};
use super::line::Line;
use super::names::Names;
use super::speech::{Side, Speech};
use super::spread::Law;
use super::{LEAST_CLICKS, Size, Weblog};
use crate::random::{GOLDEN, Random, mix64};
use crate::sparse::Csr;
use crate::{Result, Run};

/// The most partners that a query or a document has.
const MOST_PARTNERS: usize = 1_000;
/// The share of the queries of one word, as long as there are words enough for it.
const ONE_WORD: f64 = 0.28;
/// How many words there must be for every query of one word.
const WORDS_A_ONE_WORD_QUERY: f64 = 3.0;
/// The exponent of the power law of a query's clicks.
const POPULARITY_TAIL: f64 = 1.1;
/// No query has more clicks than about this many.
const MOST_CLICKS: f64 = 1e6;

/// What a stream of random numbers is for; each gets streams of its own.
#[derive(Debug, Clone, Copy)]
pub enum Draw {
    /// Numbers of partners and words.
    Numbers,
    /// Concepts and aspects.
    Line,
    /// Who is clicked for what.
    Join,
    /// Vocabularies.
    Speech,
    /// Spelling.
    Names,
    /// The order of the tables.
    Order,
    /// How good each document is.
    Quality,
    /// One stream a query: its words.
    Query,
    /// One stream a document: its words.
    Document,
    /// One stream a query: its clicks.
    Clicks,
    /// Which queries are judged.
    Pick,
    /// One stream a judged query: its documents and grades.
    Grade,
    /// One stream a query: who clicked when.
    Visits,
}

/// One document as it is written.
pub struct Page {
    /// Its id.
    pub id: String,
    /// Most of its words.
    pub title: String,
    /// The others, and some of the title's.
    pub url: String,
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
    /// How good each document is, whatever the query: standard normal.
    pub quality: Vec<f32>,
    /// The spelling of the words.
    pub names: Names,
    /// How many queries are judged.
    pub n_judged: usize,
    /// Average number of judged documents a judged query.
    pub judged_per_query: f64,
    /// The query of each row.
    pub query_at: Vec<u32>,
    document_at: Vec<u32>,
    clicked: Vec<u32>,
    speech: Speech,
    query_words: Vec<u32>,
    document_words: Vec<u32>,
    words_per_query: Law,
    seed: u64,
}

impl Log {
    /// Draws everything but the text.
    pub fn new(shape: &Weblog, size: Size, run: &Run) -> Result<Self> {
        let random = |draw: Draw| Random::new(shape.seed, stream(draw, 0));
        run.step("planting concepts", 0, None)?;
        let mut numbers = random(Draw::Numbers);
        let most = |others: usize| MOST_PARTNERS.min(others / 4);
        let law = Law::power(shape.docs_per_query, shape.query_tail, most(size.documents));
        let query_lengths = law.spread(size.queries, size.pairs, &mut numbers);
        let mean = size.pairs as f64 / size.documents as f64;
        let law = Law::power(mean, shape.document_tail, most(size.queries));
        let document_lengths = law.spread(size.documents, size.pairs, &mut numbers);
        let words_per_query = words_per_query(shape.words_per_query, size);
        let total = |n: usize, mean: f64| (n as f64 * mean).round() as usize;
        let query_words = words_per_query.spread(
            size.queries,
            total(size.queries, shape.words_per_query),
            &mut numbers,
        );
        let document_words = Law::poisson(2, shape.words_per_document).spread(
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

    /// The stream `row` of what `draw` is for.
    pub fn random(&self, draw: Draw, row: usize) -> Random {
        Random::new(self.seed, stream(draw, row))
    }

    /// The documents clicked for the query in `row`; none for one that is only judged.
    pub fn clicked_in_row(&self, row: usize) -> &[u32] {
        self.query_at.get(row).map_or(&[], |&query| &self.clicked[self.line.query(query as usize)])
    }

    /// The clicks by rows, with an empty row at the end for each judged query that is not in
    /// the log.
    ///
    /// A query's popularity has a heavy tail; it is shared out among the documents by how
    /// well each answers, with luck.
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
                let answers = appeal(self, aspect, document as usize);
                let pull = (0.6 * answers + 0.5 * random.normal()).exp();
                row.push((self.document_row[document as usize], pull));
            }
            let pull: f64 = row.iter().map(|&(_, pull)| pull).sum();
            // A query with more documents has more clicks to share out.
            let shared = popularity.min(MOST_CLICKS) * row.len() as f64;
            row.sort_unstable_by_key(|&(document, _)| document);
            for &(document, own) in &row {
                indices.push(document);
                values.push((LEAST_CLICKS + (shared * own / pull).floor()) as f32);
            }
            starts.push(indices.len() as u64);
        }
        starts.resize(starts.len() + Judged::unseen(self.n_judged), indices.len() as u64);
        Csr::new(self.line.n_documents(), starts, indices, values)
    }

    /// Calls `write` with the row and the text of every query, those that are only judged
    /// last, and notes the words of the judged ones. No two queries have the same words.
    pub fn each_query(
        &self,
        judged: &mut Judged,
        run: &Run,
        mut write: impl FnMut(usize, String) -> Result<()>,
    ) -> Result<()> {
        let n = self.query_at.len();
        let unseen: Vec<usize> = judged.unseen_aspects().collect();
        let mut random = self.random(Draw::Query, n + unseen.len());
        let lengths = self.words_per_query.spread_freely(unseen.len(), &mut random);
        let mut seen = HashSet::with_capacity(n + unseen.len());
        let mut words = Vec::new();
        for row in 0..n + unseen.len() {
            if row % (1 << 16) == 0 {
                run.step("writing queries", row as u64, Some((n + unseen.len()) as u64))?;
            }
            let (query, aspect, length) = match self.query_at.get(row) {
                Some(&query) => {
                    let query = query as usize;
                    (query, self.line.aspect_of_query(query), self.query_words[query])
                }
                None => (row, unseen[row - n], lengths[row - n]),
            };
            let mut random = self.random(Draw::Query, query);
            self.ask(aspect, length as usize, &mut seen, &mut words, &mut random);
            judged.note_words(row, &words);
            write(row, self.names.join(&words, " "))?;
        }
        Ok(())
    }

    /// Draws words until nobody has asked with them before.
    fn ask(
        &self,
        aspect: usize,
        length: usize,
        seen: &mut HashSet<u64>,
        words: &mut Vec<u32>,
        random: &mut Random,
    ) {
        words.clear();
        let mut tries = 0;
        loop {
            self.speech.fill(&self.line, aspect, Side::Query, length, words, random);
            if seen.insert(fingerprint(words)) {
                return;
            }
            tries += 1;
            if tries < 12 {
                words.clear();
            } else {
                // Everything that is usually asked here has been asked: be unusual.
                words.pop();
                while words.len() < length {
                    let word = self.speech.any_topical(random);
                    if !words.contains(&word) {
                        words.push(word);
                    }
                }
                if seen.insert(fingerprint(words)) {
                    return;
                }
                words.pop();
            }
        }
    }

    /// Calls `write` with every document in the order of its rows, and lets the judges see
    /// which words it holds.
    pub fn each_document(
        &self,
        judged: &mut Judged,
        run: &Run,
        mut write: impl FnMut(Page) -> Result<()>,
    ) -> Result<()> {
        let n = self.document_at.len();
        let mut words = Vec::new();
        for (row, &document) in (0..).zip(&self.document_at) {
            if row % (1 << 16) == 0 {
                run.step("writing documents", u64::from(row), Some(n as u64))?;
            }
            let document = document as usize;
            let mut random = self.random(Draw::Document, document);
            words.clear();
            self.speech.entrusted(document, &mut words);
            let aspect = self.line.aspect_of_document(document);
            let length = self.document_words[document] as usize;
            self.speech.fill(&self.line, aspect, Side::Document, length, &mut words, &mut random);
            random.shuffle(&mut words);
            judged.note_document(document, &words);
            write(self.page(row, &words))?;
        }
        Ok(())
    }

    /// A document of at least two words: the last word is the host, the first two, as far as
    /// the title has them, are the path; the title has all but the host, or both of two.
    fn page(&self, row: u32, words: &[u32]) -> Page {
        let host = words.len() - 1;
        let title = if words.len() > 2 { &words[..host] } else { words };
        let path = self.names.join(&words[..host.min(2)], "-");
        Page {
            id: id(row),
            title: self.names.join(title, " "),
            url: format!("https://www.{}.com/{path}", self.names.get(words[host])),
        }
    }
}

fn stream(draw: Draw, row: usize) -> u64 {
    (draw as u64) << 40 | row as u64
}

/// One word for a share that the vocabulary can bear (texts are all different), else two or
/// more.
fn words_per_query(mean: f64, size: Size) -> Law {
    let bearable = size.words as f64 / (WORDS_A_ONE_WORD_QUERY * size.queries as f64);
    let one = ONE_WORD.min(bearable);
    Law::poisson(2, (mean - one) / (1.0 - one)).or_one_less(one)
}

fn shuffled(n: usize, random: &mut Random) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut order);
    order
}

/// A number for a set of words, whatever their order. Two sets with the same number, seldom
/// as they are, only mean that one of them is drawn again.
fn fingerprint(words: &[u32]) -> u64 {
    words
        .iter()
        .fold(0, |sum: u64, &word| sum.wrapping_add(mix64(u64::from(word).wrapping_add(GOLDEN))))
}
