//! The texts of queries and documents, generated row by row.

use std::collections::HashSet;

use super::judgments::Judged;
use super::log::{Draw, Log, id};
use super::speech::Side;
use crate::random::{GOLDEN, Random, mix64};
use crate::{Result, Run};

/// One document as it is written.
pub struct Page {
    /// Document id.
    pub id: String,
    /// Most of its words.
    pub title: String,
    /// The others, and some of the title's.
    pub url: String,
}

impl Log {
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

    /// Draws words until no earlier query has them.
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
                // All usual combinations are taken: replace a word by any other.
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

    /// Calls `write` with every document in the order of rows, and notes its words for the judgments.
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

/// A hash of a set of words. A collision only means that one set is drawn again.
fn fingerprint(words: &[u32]) -> u64 {
    words
        .iter()
        .fold(0, |sum: u64, &word| sum.wrapping_add(mix64(u64::from(word).wrapping_add(GOLDEN))))
}
