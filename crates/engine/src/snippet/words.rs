//! The positions of the words of a query in the original text. The analyser returns words folded and
//! stemmed; here they are located in the original, character by character.

use std::collections::HashMap;

use liken::text::{Analyzer, AnalyzerParams, is_unspaced};

/// A word that cannot be located marks the whole chunk around it, if that has at most this many bytes.
const LONGEST_CHUNK: usize = 256;

/// A word of the query in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub start: usize,
    pub end: usize,
    /// The number of the word of the query, in the order of first occurrence.
    pub word: usize,
}

/// Finds the words of a query.
pub(super) struct Marks<'a> {
    analyzer: &'a Analyzer,
    is_query_term: &'a dyn Fn(&str) -> bool,
    /// The numbers of the terms found so far.
    seen: HashMap<String, usize>,
    folding: Option<Folding>,
}

impl<'a> Marks<'a> {
    pub fn new(analyzer: &'a Analyzer, is_query_term: &'a dyn Fn(&str) -> bool) -> Self {
        Marks { analyzer, is_query_term, seen: HashMap::new(), folding: None }
    }

    /// The words of the query in `text`, in order.
    pub fn of(mut self, text: &str) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut terms: Vec<Option<usize>> = Vec::new();
        // In chunks, as the analyser reads them.
        for chunk in text.split_ascii_whitespace() {
            terms.clear();
            let (seen, is_query_term) = (&mut self.seen, self.is_query_term);
            self.analyzer.places(chunk, &mut |term| {
                terms.push(term.filter(|term| is_query_term(term)).map(|term| {
                    let next = seen.len();
                    *seen.entry(term.to_owned()).or_insert(next)
                }));
            });
            if terms.iter().any(Option::is_some) {
                let start = chunk.as_ptr() as usize - text.as_ptr() as usize;
                self.mark_chunk(chunk, start, &terms, &mut marks);
            }
        }
        marks
    }

    /// Marks the words of a chunk that have a number in `terms`.
    fn mark_chunk(
        &mut self,
        chunk: &str,
        start: usize,
        terms: &[Option<usize>],
        marks: &mut Vec<Mark>,
    ) {
        let folding = self.folding.get_or_insert_with(|| Folding::of(self.analyzer.params()));
        let before = marks.len();
        let mut lost = None;
        match folding.places(chunk) {
            Some(places) if places.len() == terms.len() => {
                for (place, word) in places.into_iter().zip(terms) {
                    match (place, *word) {
                        (Some((from, to)), Some(word)) => {
                            marks.push(Mark { start: start + from, end: start + to, word });
                        }
                        (None, Some(word)) => lost = Some(word),
                        _ => {}
                    }
                }
            }
            _ => lost = terms.iter().flatten().copied().next(),
        }
        if let (Some(word), true) = (lost, chunk.len() <= LONGEST_CHUNK) {
            marks.truncate(before);
            marks.push(Mark { start, end: start + chunk.len(), word });
        }
    }
}

/// Folds as an analyser does, one character at a time.
struct Folding {
    /// The same analyser without stop words and stemming: it returns folded words.
    plain: Option<Analyzer>,
    known: HashMap<String, String>,
}

impl Folding {
    fn of(params: &AnalyzerParams) -> Self {
        let params = AnalyzerParams {
            stop_words: false,
            extra_stop_words: Vec::new(),
            stem: false,
            word_ngrams: 1,
            char_ngrams: None,
            ..params.clone()
        };
        Folding { plain: Analyzer::new(&params).ok(), known: HashMap::new() }
    }

    /// The start and end of each word of a chunk; `None` for words that cannot be located.
    fn places(&mut self, chunk: &str) -> Option<Vec<Option<(usize, usize)>>> {
        let mut words = Vec::new();
        self.plain.as_ref()?.words(chunk, &mut |word, _| words.push(word.to_owned()));
        let mut folded = Folded::default();
        for (from, to) in units(chunk) {
            folded.push(self.fold(&chunk[from..to]), from, to);
        }
        let mut places = Vec::with_capacity(words.len());
        let mut last: Option<(usize, usize)> = None;
        for word in &words {
            let key: String = units(word).map(|(from, to)| self.fold(&word[from..to])).collect();
            let found = folded.find(&key, last);
            places.push(found.and_then(|(from, to)| folded.original(from, to)));
            last = found.or(last);
        }
        Some(places)
    }

    /// The letters that a character folds to; empty if it is not part of words.
    fn fold(&mut self, unit: &str) -> String {
        if let Some(folded) = self.known.get(unit) {
            return folded.clone();
        }
        let mut folded = String::new();
        if let Some(plain) = &self.plain {
            plain.words(unit, &mut |word, _| folded.push_str(word));
        }
        self.known.insert(unit.to_owned(), folded.clone());
        folded
    }
}

/// A folded chunk, with the origin of every folded character.
#[derive(Default)]
struct Folded {
    text: String,
    /// For every unit: its start in `text`, and its start and end in the original.
    units: Vec<(usize, usize, usize)>,
}

impl Folded {
    fn push(&mut self, folded: String, from: usize, to: usize) {
        if !folded.is_empty() {
            self.units.push((self.text.len(), from, to));
            self.text.push_str(&folded);
        }
    }

    /// The start and end of `word` after the `last` one.
    fn find(&self, word: &str, last: Option<(usize, usize)>) -> Option<(usize, usize)> {
        if word.is_empty() {
            return None;
        }
        let (start, end) = last.unwrap_or((0, 0));
        // Words of two characters overlap in scripts without spaces.
        let second = self.text[start..end].char_indices().nth(1).map(|(at, _)| start + at);
        let overlapping = second.filter(|&at| {
            let is_pair = word.chars().count() == 2 && self.text[at..end].chars().count() == 1;
            is_pair && word.chars().all(unspaced) && self.text[at..].starts_with(word)
        });
        let from = overlapping.or_else(|| self.text[end..].find(word).map(|at| end + at))?;
        Some((from, from + word.len()))
    }

    /// The start and end in the original of a part of the folded text.
    fn original(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let first = self.units.partition_point(|unit| unit.0 <= from).checked_sub(1)?;
        let last = self.units.partition_point(|unit| unit.0 < to).checked_sub(1)?;
        Some((self.units.get(first)?.1, self.units.get(last)?.2))
    }
}

/// Characters with their combining marks.
fn units(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (from, _) = chars.next()?;
        while chars.next_if(|&(_, c)| is_combining(c)).is_some() {}
        let to = chars.peek().map_or(text.len(), |&(at, _)| at);
        Some((from, to))
    })
}

/// Whether a character belongs to the one before: accents, vowel signs, joiners.
pub(super) fn is_combining(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5C7}'
        | '\u{610}'..='\u{61A}' | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6ED}'
        | '\u{900}'..='\u{903}' | '\u{93A}'..='\u{94F}' | '\u{962}'..='\u{963}'
        | '\u{981}'..='\u{983}' | '\u{9BC}'..='\u{9CD}' | '\u{E31}' | '\u{E34}'..='\u{E3A}'
        | '\u{E47}'..='\u{E4E}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{3099}' | '\u{309A}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FE20}'..='\u{FE2F}' | '\u{AD}' | '\u{200C}'..='\u{200F}'
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

/// Whether words are written without spaces around this character.
pub(super) fn unspaced(c: char) -> bool {
    // And Han, katakana and their punctuation.
    is_unspaced(c) || ('\u{2E80}'..'\u{AC00}').contains(&c) || c >= '\u{20000}'
}
