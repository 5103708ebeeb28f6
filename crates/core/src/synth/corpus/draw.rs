//! The planted topics, and documents drawn from them.

use super::Corpus;
use crate::random::Random;
use crate::synth::weblog::names::Names;
use crate::synth::zipf::Zipf;

/// 1/`GENERAL_IN` of the words are general.
const GENERAL_IN: usize = 50;
/// 1/`TWICE_IN` of the topical words belong to a second topic as well.
const TWICE_IN: usize = 3;
/// 1/`SHARED_IN` of the topics are shared by all classes.
const SHARED_IN: usize = 5;
/// The share of a document's words that are general.
const GENERAL_SHARE: f64 = 0.4;
/// The most topics of a document.
const MOST_TOPICS: u64 = 4;
/// The probability that a topic of a document is a shared one.
const SHARED_CHANCE: f64 = 0.25;
/// The flattening of Zipf's law at its head.
const FLAT: f64 = 2.7;

/// The purpose of a stream of random numbers.
#[derive(Debug, Clone, Copy)]
enum Draw {
    /// Spelling.
    Names,
    /// The topics of words.
    Topics,
    /// One stream per document.
    Document,
}

fn random(seed: u64, draw: Draw, row: usize) -> Random {
    Random::new(seed, (draw as u64) << 40 | row as u64)
}

/// The topics and the vocabulary.
pub(super) struct Planted {
    names: Names,
    n_general: usize,
    n_shared: usize,
    n_classes: usize,
    /// The words of every topic, most frequent first.
    topics: Vec<Vec<u32>>,
    /// The distribution of words in a topic, by rank.
    zipf: Zipf,
}

/// A document as numbers.
pub(super) struct Drawn {
    /// Its class.
    pub class: usize,
    /// Its words, sorted, with repetitions.
    pub words: Vec<u32>,
}

impl Planted {
    /// Plants the topics of a corpus whose shape has been checked.
    pub(super) fn new(shape: &Corpus) -> Self {
        let Corpus { terms, topics: n_topics, classes, seed, .. } = *shape;
        let n_general = (terms / GENERAL_IN).max(1);
        let names = Names::new(terms, n_general, &mut random(seed, Draw::Names, 0));
        let mut draws = random(seed, Draw::Topics, 0);
        let mut topics: Vec<Vec<u32>> = vec![Vec::new(); n_topics];
        let mut order: Vec<usize> = (0..n_topics).collect();
        for (i, word) in (n_general as u32..terms as u32).enumerate() {
            // Every round of topics in random order takes the next words, so that each topic has frequent
            // and rare ones.
            let turn = i % n_topics;
            if turn == 0 {
                draws.shuffle(&mut order);
            }
            topics[order[turn]].push(word);
            if n_topics > 1 && draws.below(TWICE_IN as u64) == 0 {
                let other = (turn + 1 + draws.below(n_topics as u64 - 1) as usize) % n_topics;
                topics[order[other]].push(word);
            }
        }
        // A single class has all topics, and none is shared.
        let n_shared =
            if classes == 1 { 0 } else { (n_topics / SHARED_IN).min(n_topics - classes) };
        let longest = topics.iter().map(Vec::len).max().unwrap_or(0).max(n_general);
        let zipf = Zipf::new(longest, |rank| 1.0 / (rank + FLAT));
        Planted { names, n_general, n_shared, n_classes: classes, topics, zipf }
    }

    /// The number of topics.
    pub(super) fn n_topics(&self) -> usize {
        self.topics.len()
    }

    /// The number of topics that all classes share, the first ones.
    pub(super) fn n_shared(&self) -> usize {
        self.n_shared
    }

    /// The class that a topic belongs to, if it is not shared.
    pub(super) fn class_of_topic(&self, k: usize) -> Option<usize> {
        Some(k.checked_sub(self.n_shared)? % self.n_classes)
    }

    /// The name of a class, a number of fixed width, so that names sort as numbers do.
    pub(super) fn class_name(&self, class: usize) -> String {
        let width = (self.n_classes - 1).to_string().len();
        format!("c{class:0width$}")
    }

    /// The spelling of a word.
    pub(super) fn word(&self, word: u32) -> &str {
        self.names.get(word)
    }

    /// The words of a topic with their probabilities, most frequent first.
    pub(super) fn weights(&self, k: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let words = &self.topics[k];
        let total = self.zipf.total(words.len());
        (1..).zip(words).map(move |(rank, &word)| (word, 1.0 / (f64::from(rank) + FLAT) / total))
    }

    /// The document in `row`.
    pub(super) fn document(&self, shape: &Corpus, row: usize) -> Drawn {
        let mut draws = random(shape.seed, Draw::Document, row);
        let class = draws.below(self.n_classes as u64) as usize;
        let mut mixture: Vec<(usize, f64)> = Vec::with_capacity(MOST_TOPICS as usize);
        let mut sum = 0.0;
        for _ in 0..1 + draws.below(MOST_TOPICS) {
            // Exponential weights, scaled to one, are uniform on the simplex.
            sum -= (1.0 - draws.uniform()).ln();
            mixture.push((self.topic_of(class, &mut draws), sum));
        }
        // Lengths vary by half; the mean is kept.
        let length =
            (shape.length * (0.5 * draws.normal() - 0.125).exp()).round().max(1.0) as usize;
        let mut words: Vec<u32> = (0..length)
            .map(|_| {
                if draws.uniform() < GENERAL_SHARE {
                    return self.zipf.draw(self.n_general, &mut draws) as u32;
                }
                let at = draws.uniform() * sum;
                let chosen = mixture.partition_point(|&(_, end)| end <= at).min(mixture.len() - 1);
                let words = &self.topics[mixture[chosen].0];
                words[self.zipf.draw(words.len(), &mut draws)]
            })
            .collect();
        words.sort_unstable();
        Drawn { class, words }
    }

    /// A topic for a document of `class`.
    fn topic_of(&self, class: usize, draws: &mut Random) -> usize {
        let shared = draws.uniform() < SHARED_CHANCE;
        if shared && self.n_shared > 0 {
            return draws.below(self.n_shared as u64) as usize;
        }
        let of_class = (self.topics.len() - self.n_shared - class).div_ceil(self.n_classes);
        self.n_shared + class + self.n_classes * draws.below(of_class as u64) as usize
    }
}
