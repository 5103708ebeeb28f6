//! The analyser: fold, split into words, drop stop words, stem, make n-grams.
//!
//! Stop words are compared after folding and before stemming. Han words are compared with the
//! Chinese stop words and never stemmed, in any language. Word n-grams join the remaining terms
//! by single spaces, so "bank of america" yields "bank america". Character n-grams are taken from the
//! word before stemming, between `<` and `>`, and begin with `~`: "sun" yields `~<su`, `~sun`,
//! `~un>`. No word contains any of these three characters, so the kinds of terms are disjoint; the
//! n-gram that would be the whole marked word is omitted.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::fold::Folding;
use super::language::{Apostrophe, Language};
use super::params::{AnalyzerParams, CharNgrams};
use super::stem::Stems;
use super::url;
use super::words::{self, Script};
use crate::Result;

/// Words longer than this many characters are truncated and not stemmed: they are encoded data, and
/// some stemmers take quadratic time.
const MAX_WORD_CHARS: usize = 64;

/// Turns text into terms; a function of its parameters alone.
pub struct Analyzer {
    params: AnalyzerParams,
    folding: Folding,
    apostrophe: Apostrophe,
    stop_words: HashSet<Box<str>>,
    han_stop_words: bool,
    stems: Option<Stems>,
}

impl Analyzer {
    /// The analyser with `params`; an error if these are invalid.
    pub fn new(params: &AnalyzerParams) -> Result<Self> {
        params.check()?;
        let language = params.language;
        Ok(Analyzer {
            folding: params.folding(),
            apostrophe: language.apostrophe(),
            stop_words: stop_words(params),
            han_stop_words: params.stop_words && language != Language::None,
            stems: if params.stem { Stems::new(language) } else { None },
            params: params.clone(),
        })
    }

    /// The parameters it was made from.
    pub fn params(&self) -> &AnalyzerParams {
        &self.params
    }

    /// Calls `term` with every term of a running text, in order of appearance: each word, then
    /// the word n-grams that end with it, then its character n-grams.
    pub fn text(&self, text: &str, term: &mut dyn FnMut(&str)) {
        let mut ngrams = Ngrams::new(&self.params);
        self.each_word(text, |word, stem| ngrams.push(word, stem, term));
    }

    /// Calls `found` with every word of a running text that is not a stop word: as written (folded),
    /// and as a term. Without n-grams.
    pub fn words(&self, text: &str, found: &mut dyn FnMut(&str, &str)) {
        self.each_word(text, found);
    }

    /// Calls `found` with every word of a running text, in order, as a term; with `None` for a stop
    /// word. Without n-grams.
    pub fn places(&self, text: &str, found: &mut dyn FnMut(Option<&str>)) {
        self.each_place(text, |_, term| found(term));
    }

    /// Like [`Analyzer::places`], of a URL.
    pub fn url_places(&self, url: &str, found: &mut dyn FnMut(Option<&str>)) {
        self.places(&url::words(url), found);
    }

    fn each_word(&self, text: &str, mut found: impl FnMut(&str, &str)) {
        self.each_place(text, |word, term| {
            if let Some(term) = term {
                found(word, term);
            }
        });
    }

    /// Every word, with its term unless it is a stop word.
    fn each_place(&self, text: &str, mut found: impl FnMut(&str, Option<&str>)) {
        let mut folded = String::new();
        let mut stem = String::new();
        // Split at white space, so that one non-ASCII word does not put all text on the slow path.
        for piece in text.split_ascii_whitespace() {
            folded.clear();
            self.folding.fold(piece, &mut folded);
            words::split(&folded, self.apostrophe, &mut |word, script| {
                let (word, cut) = cut_to_length(word);
                if self.is_stop_word(word, script) {
                    return found(word, None);
                }
                let term_of_word = match &self.stems {
                    Some(stems) if script == Script::Other && !cut => {
                        stems.stem(word, &mut stem);
                        &stem
                    }
                    _ => word,
                };
                found(word, Some(term_of_word));
            });
        }
    }

    /// Calls `term` with every term of a URL. Scheme, `www`, the host's public suffix, file
    /// extensions, parameter names and the fragment are dropped, escapes decoded; the rest is
    /// analysed as by [`Analyzer::text`].
    pub fn url(&self, url: &str, term: &mut dyn FnMut(&str)) {
        self.text(&url::words(url), term);
    }

    /// Like [`Analyzer::words`], of a URL.
    pub fn url_words(&self, url: &str, found: &mut dyn FnMut(&str, &str)) {
        self.words(&url::words(url), found);
    }

    /// The terms of a running text.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.text(text, &mut |term| terms.push(term.to_owned()));
        terms
    }

    fn is_stop_word(&self, word: &str, script: Script) -> bool {
        self.stop_words.contains(word)
            || (script == Script::Han && self.han_stop_words && is_han_stop_word(word))
    }
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Analyzer").field(&self.params).finish()
    }
}

/// The stop words of the language and of the user, folded.
fn stop_words(params: &AnalyzerParams) -> HashSet<Box<str>> {
    let language = params.language;
    let listed = language.stop_words().iter().filter(|_| params.stop_words);
    let mut set = HashSet::new();
    for word in listed.copied().chain(params.extra_stop_words.iter().map(String::as_str)) {
        set.extend(params.single_word(word).map(String::into_boxed_str));
        // The Hungarian list was once in an encoding without the double acute.
        if language == Language::Hu && word.contains(['õ', 'û']) {
            let mended = word.replace('õ', "ő").replace('û', "ű");
            set.extend(params.single_word(&mended).map(String::into_boxed_str));
        }
    }
    set
}

fn is_han_stop_word(word: &str) -> bool {
    static WORDS: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let words =
        || stop_words::lookup("zh").unwrap_or_default().iter().copied().collect::<HashSet<_>>();
    WORDS.get_or_init(words).contains(word)
}

/// The word, and whether it was truncated.
fn cut_to_length(word: &str) -> (&str, bool) {
    if word.len() <= MAX_WORD_CHARS {
        return (word, false);
    }
    match word.char_indices().nth(MAX_WORD_CHARS) {
        Some((end, _)) => (&word[..end], true),
        None => (word, false),
    }
}

/// The last few terms, and the n-grams they make.
#[derive(Default)]
struct Ngrams {
    word_ngrams: usize,
    char_ngrams: Option<CharNgrams>,
    /// The last terms, at most `word_ngrams` of them, joined by spaces.
    recent: String,
    /// The start of each of them.
    starts: Vec<usize>,
    marked: String,
    /// The start of each character of `marked`, and the end of the last.
    bounds: Vec<usize>,
    gram: String,
}

impl Ngrams {
    fn new(params: &AnalyzerParams) -> Self {
        Ngrams {
            word_ngrams: params.word_ngrams,
            char_ngrams: params.char_ngrams,
            ..Ngrams::default()
        }
    }

    fn push(&mut self, word: &str, stem: &str, term: &mut dyn FnMut(&str)) {
        term(stem);
        if self.word_ngrams > 1 {
            self.push_word_ngrams(stem, term);
        }
        if let Some(lengths) = self.char_ngrams {
            self.push_char_ngrams(word, lengths, term);
        }
    }

    fn push_word_ngrams(&mut self, stem: &str, term: &mut dyn FnMut(&str)) {
        if self.starts.len() == self.word_ngrams {
            let gone = self.starts[1];
            self.recent.drain(..gone);
            self.starts.remove(0);
            self.starts.iter_mut().for_each(|start| *start -= gone);
        }
        if !self.recent.is_empty() {
            self.recent.push(' ');
        }
        self.starts.push(self.recent.len());
        self.recent.push_str(stem);
        for &start in self.starts.iter().rev().skip(1) {
            term(&self.recent[start..]);
        }
    }

    fn push_char_ngrams(&mut self, word: &str, lengths: CharNgrams, term: &mut dyn FnMut(&str)) {
        self.marked.clear();
        self.marked.extend(["<", word, ">"]);
        self.bounds.clear();
        self.bounds.extend(self.marked.char_indices().map(|(start, _)| start));
        let n_chars = self.bounds.len();
        self.bounds.push(self.marked.len());
        for length in lengths.min..=lengths.max.min(n_chars - 1) {
            for span in self.bounds.windows(length + 1) {
                self.gram.clear();
                self.gram.extend(["~", &self.marked[span[0]..span[length]]]);
                term(&self.gram);
            }
        }
    }
}

#[cfg(test)]
mod tests;
