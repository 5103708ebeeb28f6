//! Five-level judgments from the planted truth.
//!
//! The relevance of a document depends on how close its aspect is to the query's and on the quality of
//! the document: appeal = base + spread · quality. A judge sees the appeal with some error and gives a
//! grade from 0 to 4. Clicks are drawn from the same appeal ([`Log::clicks`]), so they agree with the
//! grades, but a judged document need not have been clicked. The judged documents are of every kind:
//! clicked, of the same aspect, concept or field, with a word of the query, and any.

use std::collections::HashMap;

use super::line::Closeness;
use super::log::{Draw, Log, n_unseen};
use super::spread::Distribution;
use crate::Result;
use crate::sparse::Csr;

/// The least number of judged documents per query.
const FEWEST: u32 = 3;
/// The most candidate documents per word.
const REMEMBERED: usize = 8;
/// The standard deviation of a judge's error.
const ERROR: f64 = 0.45;

/// The judged queries, and candidate documents for them.
pub struct Judged {
    queries: Vec<JudgedQuery>,
    by_row: HashMap<usize, usize>,
    documents_with: HashMap<u32, Vec<u32>>,
    n_log: usize,
}

struct JudgedQuery {
    row: usize,
    aspect: usize,
    words: Vec<u32>,
}

impl Judged {
    /// Samples queries with weights of the root of their clicks, and adds unseen ones.
    pub fn pick(log: &Log, clicks: &Csr) -> Self {
        let mut random = log.random(Draw::Pick, 0);
        let n_log = log.query_at.len();
        let n_unseen = n_unseen(log.n_judged);
        // The smallest of exponential waiting times, with the weights as rates, are a weighted sample
        // without replacement.
        let mut waiting: Vec<(f64, u32)> = (0..n_log)
            .map(|row| {
                let clicks: f64 = clicks.row(row).values.iter().map(|&n| f64::from(n)).sum();
                (-(1.0 - random.uniform()).ln() / clicks.sqrt(), row as u32)
            })
            .collect();
        let n_seen = log.n_judged - n_unseen;
        waiting.select_nth_unstable_by(n_seen - 1, |a, b| {
            a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1))
        });
        let mut rows: Vec<u32> = waiting[..n_seen].iter().map(|&(_, row)| row).collect();
        rows.sort_unstable();
        let mut queries: Vec<JudgedQuery> = rows
            .into_iter()
            .map(|row| {
                let aspect = log.line.aspect_of_query(log.query_at[row as usize] as usize);
                JudgedQuery { row: row as usize, aspect, words: Vec::new() }
            })
            .collect();
        for row in n_log..n_log + n_unseen {
            let place = random.below(log.line.n_pairs() as u64) as u32;
            queries.push(JudgedQuery { row, aspect: log.line.aspect_at(place), words: Vec::new() });
        }
        random.shuffle(&mut queries);
        let by_row = queries.iter().enumerate().map(|(i, query)| (query.row, i)).collect();
        Judged { queries, by_row, documents_with: HashMap::new(), n_log }
    }

    /// The number of judged queries that are not in the log.
    pub fn n_unseen(&self) -> usize {
        n_unseen(self.queries.len())
    }

    /// The aspects of the judged queries that are not in the log, in order of their rows.
    pub fn unseen_aspects(&self) -> impl Iterator<Item = usize> + '_ {
        (self.n_log..self.n_log + self.n_unseen())
            .filter_map(|row| self.by_row.get(&row).map(|&i| self.queries[i].aspect))
    }

    /// Keeps the words of the query in `row` if it is judged.
    pub fn note_words(&mut self, row: usize, words: &[u32]) {
        if let Some(&i) = self.by_row.get(&row) {
            self.queries[i].words = words.to_vec();
            for &word in words {
                self.documents_with.entry(word).or_default();
            }
        }
    }

    /// Notes a document under its words that are in a judged query. Documents come in random order, so
    /// the first with a word are a random sample.
    pub fn note_document(&mut self, document: usize, words: &[u32]) {
        for word in words {
            if let Some(with) = self.documents_with.get_mut(word)
                && with.len() < REMEMBERED
            {
                with.push(document as u32);
            }
        }
    }

    /// Row and text of each judged query, in order of the rows.
    pub fn texts<'a>(&'a self, log: &'a Log) -> impl Iterator<Item = (usize, String)> + 'a {
        let mut order: Vec<&JudgedQuery> = self.queries.iter().collect();
        order.sort_unstable_by_key(|query| query.row);
        order.into_iter().map(|query| (query.row, log.names.join(&query.words, " ")))
    }

    /// The grades of validation and test, queries × documents by rows.
    pub fn grade(&self, log: &Log) -> Result<(Csr, Csr)> {
        let n = self.queries.len();
        let total = (n as f64 * log.judged_per_query).round() as usize;
        let distribution = Distribution::poisson(FEWEST, log.judged_per_query);
        let lengths = distribution.spread(n, total, &mut log.random(Draw::Pick, 1));
        let mut splits = [Vec::new(), Vec::new()];
        for (i, (query, length)) in self.queries.iter().zip(lengths).enumerate() {
            // The queries are in random order, so alternating splits them at random.
            self.grade_one(log, query, length as usize, &mut splits[i % 2]);
        }
        let [validation, test] = splits;
        let (n_rows, n_cols) = (self.n_log + self.n_unseen(), log.line.n_documents());
        Ok((
            Csr::from_triplets(n_rows, n_cols, validation)?,
            Csr::from_triplets(n_rows, n_cols, test)?,
        ))
    }

    fn grade_one(
        &self,
        log: &Log,
        query: &JudgedQuery,
        n: usize,
        grades: &mut Vec<(u32, u32, f32)>,
    ) {
        let mut random = log.random(Draw::Grade, query.row);
        let near = |closeness| log.line.documents_near(query.aspect, closeness);
        let matching: Vec<u32> =
            query.words.iter().flat_map(|word| &self.documents_with[word]).copied().collect();
        let mut chosen: Vec<u32> = log
            .clicked_in_row(query.row)
            .iter()
            .copied()
            .filter(|_| random.uniform() < 0.6)
            .take(n / 2)
            .collect();
        let mut tries = 0;
        while chosen.len() < n {
            tries += 1;
            let kind = if tries > 10 * n { 1.0 } else { random.uniform() };
            let range = match kind {
                ..0.34 => near(Closeness::Aspect),
                ..0.56 => near(Closeness::Concept),
                ..0.68 => near(Closeness::Field),
                ..0.80 if !matching.is_empty() => {
                    let document = matching[random.below(matching.len() as u64) as usize];
                    document as usize..document as usize + 1
                }
                _ => near(Closeness::None),
            };
            if range.is_empty() {
                continue;
            }
            let document = (range.start as u64 + random.below(range.len() as u64)) as u32;
            if !chosen.contains(&document) {
                chosen.push(document);
            }
        }
        for document in chosen {
            let seen = log.appeal(query.aspect, document as usize) + ERROR * random.normal();
            let grade = seen.round().clamp(0.0, 4.0) as f32;
            // Adding 0 turns a rounded −0 into 0.
            grades.push((query.row as u32, log.document_row[document as usize], grade + 0.0));
        }
    }
}
