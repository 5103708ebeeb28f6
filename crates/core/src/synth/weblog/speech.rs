//! The words of queries and documents.
//!
//! A concept has a vocabulary: the words on its stretch of the line and, where those are few, words of
//! other concepts, which are thereby ambiguous. A word of a vocabulary is used by queries, by
//! documents, or by both, so that matching words finds only a part of the related documents. Every
//! aspect has favourite words, and general words are everywhere.

use std::collections::HashSet;

use super::line::Line;
use crate::random::Random;

/// The least number of words of a vocabulary.
const LEAST_WORDS: usize = 48;
/// 1/`GENERAL_WORD_IN` of the words are general.
const GENERAL_WORD_IN: usize = 50;
/// The share of an aspect's favourites among words of the concept.
const FAVOURED: f64 = 0.85;
/// The share of words of other concepts.
const STRAY: f64 = 0.04;

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Query,
    Document,
}

impl Side {
    /// The share of general words.
    fn general(self) -> f64 {
        match self {
            Side::Query => 0.12,
            Side::Document => 0.2,
        }
    }

    /// Whether this side uses the word at `place` of a vocabulary: of twenty words, twelve are used by
    /// both sides, four by queries alone, four by documents alone.
    fn uses(self, place: usize) -> bool {
        match place * 7 % 20 {
            0..12 => true,
            12..16 => self == Side::Query,
            _ => self == Side::Document,
        }
    }
}

/// The vocabularies of all concepts.
pub struct Speech {
    n_words: usize,
    n_general: usize,
    n_documents: usize,
    words: Vec<u32>,
    starts: Vec<usize>,
}

impl Speech {
    /// The number of general words among `n_words`, the first ones.
    pub fn n_general(n_words: usize) -> usize {
        n_words.div_ceil(GENERAL_WORD_IN)
    }

    /// Gives every concept of the line its vocabulary.
    pub fn new(line: &Line, n_words: usize, random: &mut Random) -> Self {
        let n_general = Self::n_general(n_words);
        let n_topical = n_words - n_general;
        let n_documents = line.n_documents();
        let (mut words, mut starts) = (Vec::with_capacity(n_words), vec![0]);
        let mut next = 0;
        for concept in 0..line.n_concepts() {
            let first = words.len();
            while next < n_topical && {
                let document = holder(next, n_topical, n_documents);
                line.concept_of(line.aspect_of_document(document)) == concept
            } {
                words.push((n_general + next) as u32);
                next += 1;
            }
            let least = LEAST_WORDS.min(n_topical);
            let mut own: HashSet<u32> = words[first..].iter().copied().collect();
            while own.len() < least {
                let word = (n_general as u64 + random.below(n_topical as u64)) as u32;
                if own.insert(word) {
                    words.push(word);
                }
            }
            random.shuffle(&mut words[first..]);
            starts.push(words.len());
        }
        Speech { n_words, n_general, n_documents, words, starts }
    }

    /// Appends the words that `document` is guaranteed to hold: every word has one such document, so
    /// that all words are used.
    pub fn entrusted(&self, document: usize, words: &mut Vec<u32>) {
        let n_topical = self.n_words - self.n_general;
        for (first, n) in [(self.n_general, n_topical), (0, self.n_general)] {
            let guess = document * n / self.n_documents;
            let held = (guess..(guess + 2).min(n))
                .find(|&word| holder(word, n, self.n_documents) == document);
            words.extend(held.map(|word| (first + word) as u32));
        }
    }

    /// Fills `words` up to `n` distinct words for a text about `aspect`.
    pub fn fill(
        &self,
        line: &Line,
        aspect: usize,
        side: Side,
        n: usize,
        words: &mut Vec<u32>,
        random: &mut Random,
    ) {
        let concept = line.concept_of(aspect);
        let vocabulary = &self.words[self.starts[concept]..self.starts[concept + 1]];
        let aspects = line.aspects_of(concept);
        let favourite = (aspect - aspects.start) * vocabulary.len() / aspects.len();
        let mut tries = 0;
        while words.len() < n {
            tries += 1;
            let kind = random.uniform();
            let word = if kind < side.general() {
                zipf(self.n_general, random) as u32
            } else if kind < side.general() + STRAY || tries > 100 {
                self.any_topical(random)
            } else {
                let place = if random.uniform() < FAVOURED {
                    (favourite + steep(vocabulary.len(), random)) % vocabulary.len()
                } else {
                    vocabulary.len() - 1 - zipf(vocabulary.len(), random)
                };
                if !side.uses(place) {
                    continue;
                }
                vocabulary[place]
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }

    /// A topical word of any concept.
    pub fn any_topical(&self, random: &mut Random) -> u32 {
        let n_topical = (self.n_words - self.n_general) as u64;
        (self.n_general as u64 + random.below(n_topical)) as u32
    }
}

/// The document that the word `word` of `n_words` is entrusted to; at most one word per document,
/// in the order of the line.
fn holder(word: usize, n_words: usize, n_documents: usize) -> usize {
    word * n_documents / n_words
}

/// A rank below `n`, with chances that fall off as 1/rank: p(k) = ln((k+2)/(k+1)) / ln(n+1).
fn zipf(n: usize, random: &mut Random) -> usize {
    (((n + 1) as f64).powf(random.uniform()) as usize - 1).min(n - 1)
}

/// A rank below `n`: the first about every other time, as the name of the aspect, and a long tail.
fn steep(n: usize, random: &mut Random) -> usize {
    (((n + 1) as f64).powf(random.uniform().powi(4)) as usize - 1).min(n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_entrusted_to_exactly_one_document() {
        let mut random = Random::new(1, 0);
        for n_words in [120, 777, 1_000] {
            let line = Line::new(&[2; 900], &[1; 1_800], 30.0, &mut random);
            let speech = Speech::new(&line, n_words, &mut random);
            let mut held = Vec::new();
            for document in 0..1_800 {
                speech.entrusted(document, &mut held);
            }
            held.sort_unstable();
            assert_eq!(held, (0..n_words as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn queries_and_documents_share_part_of_a_vocabulary() {
        let n = |keep: &dyn Fn(usize) -> bool| (0..20).filter(|&place| keep(place)).count();
        assert_eq!(n(&|place| Side::Query.uses(place)), 16);
        assert_eq!(n(&|place| Side::Document.uses(place)), 16);
        assert_eq!(n(&|place| Side::Query.uses(place) && Side::Document.uses(place)), 12);
    }

    #[test]
    fn low_ranks_are_frequent() {
        let mut random = Random::new(1, 0);
        let drawn: Vec<usize> = (0..10_000).map(|_| zipf(50, &mut random)).collect();
        let count = |rank| drawn.iter().filter(|&&r| r == rank).count();
        assert!(count(0) > count(1) && count(1) > count(5) && count(49) > 0);
        assert_eq!(drawn.iter().max(), Some(&49));
    }
}
