//! Pronounceable pseudo-words that the analyser does not change.
//!
//! A word is a chain of consonant + vowel syllables that ends in a, o or u. No rule of the English
//! stemmer changes such an ending, so that terms are the planted words. The forms differ in length:
//! CVCV, CVCCV, CVCVCV, then one syllable more.

use crate::random::Random;

/// Without z, and no l in the middle, because zero and hello are stop words.
const CONSONANTS: &[u8] = b"bdfghjklmnprstvw";
const VOWELS: &[u8] = b"aeiou";
const LAST_VOWELS: &[u8] = b"aou";
const MIDDLES: &[u8] = b"nr";

const SYLLABLES: usize = CONSONANTS.len() * VOWELS.len();
const LAST_SYLLABLES: usize = CONSONANTS.len() * LAST_VOWELS.len();
const TWO: usize = SYLLABLES * LAST_SYLLABLES;
const TWO_CLOSED: usize = TWO * MIDDLES.len();
const THREE: usize = SYLLABLES * TWO;
const FOUR: usize = SYLLABLES * THREE;

/// The step through the words of one form, a prime that divides none of their numbers, so that all are
/// visited, far from alphabetical order.
const STRIDE: usize = 1_000_003;

/// The number of possible words.
pub const MOST: usize = TWO + TWO_CLOSED + THREE + FOUR;

/// The spelling of every word of a log.
pub struct Names {
    names: Vec<String>,
}

impl Names {
    /// `n` names; the first `n_short` words get the shortest ones, as frequent words of a language do,
    /// the others random ones.
    pub fn new(n: usize, n_short: usize, random: &mut Random) -> Self {
        let mut names: Vec<String> = (0..n).map(name).collect();
        random.shuffle(&mut names[..n_short]);
        random.shuffle(&mut names[n_short..]);
        Names { names }
    }

    /// The spelling of `word`.
    pub fn get(&self, word: u32) -> &str {
        &self.names[word as usize]
    }

    /// The words with `separator` between them.
    pub fn join(&self, words: &[u32], separator: &str) -> String {
        words.iter().map(|&word| self.get(word)).collect::<Vec<_>>().join(separator)
    }
}

/// The word of number `i`, unique for `i` below [`MOST`].
fn name(mut i: usize) -> String {
    let forms = [(TWO, 2, false), (TWO_CLOSED, 2, true), (THREE, 3, false), (FOUR, 4, false)];
    let mut last = forms[0];
    for form in forms {
        last = form;
        if i < form.0 {
            break;
        }
        i -= form.0;
    }
    let (count, syllables, closed) = last;
    let mut rest = (i * STRIDE) % count;
    let mut digit = |alphabet: &[u8]| {
        let letter = alphabet[rest % alphabet.len()];
        rest /= alphabet.len();
        char::from(letter)
    };
    let mut word = String::with_capacity(2 * syllables + 1);
    for syllable in 1..=syllables {
        word.push(digit(CONSONANTS));
        word.push(digit(if syllable == syllables { LAST_VOWELS } else { VOWELS }));
        if closed && syllable == 1 {
            word.push(digit(MIDDLES));
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rust_stemmers::{Algorithm, Stemmer};

    use super::*;

    #[test]
    fn every_name_is_new_and_survives_the_english_analyser() {
        let stemmer = Stemmer::create(Algorithm::English);
        let stop: HashSet<&str> = stop_words::get("en").iter().copied().collect();
        let names = Names::new(271_561, 5_431, &mut Random::new(1, 0));
        let mut seen = HashSet::new();
        for word in 0..271_561 {
            let name = names.get(word);
            assert_eq!(stemmer.stem(name), name);
            assert!(!stop.contains(name), "{name} is a stop word");
            assert!(name.bytes().all(|letter| letter.is_ascii_lowercase()), "{name}");
            assert!(seen.insert(name), "{name} came twice");
        }
    }

    #[test]
    fn the_names_do_not_run_out_at_three_syllables() {
        let seen: HashSet<String> = (TWO + TWO_CLOSED + THREE - 500..)
            .take(1_000)
            .map(name)
            .inspect(|name| assert!(name.len() == 6 || name.len() == 8, "{name}"))
            .collect();
        assert_eq!(seen.len(), 1_000);
    }
}
