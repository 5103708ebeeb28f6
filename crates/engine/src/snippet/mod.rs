//! Fragments of text with the words of a query marked: the passage with most words of the query, or a
//! whole short text such as a title. The text itself is never altered; pages escape it.

mod words;

use liken::text::Analyzer;

use crate::types::Fragment;
use words::{Mark, Marks, is_combining, unspaced};

/// Only this many bytes of a text are searched for a passage.
const LONGEST: usize = 256 << 10;
/// Chunks without spaces longer than this many characters may be cut inside.
const LONG_CHUNK: usize = 40;
/// Words longer than this many characters are cut anywhere.
const LONG_WORD: usize = 64;
/// The mark of omitted text.
const LEFT_OUT: &str = "…";

/// The passage of at most `most_chars` characters with the most different words of the query, in
/// fragments. Concatenated they are the passage unchanged, with … where it was cut. Without any word of
/// the query it is the beginning of the text.
pub fn fragments(
    text: &str,
    is_query_term: &dyn Fn(&str) -> bool,
    analyzer: &Analyzer,
    most_chars: usize,
) -> Vec<Fragment> {
    if most_chars == 0 {
        return Vec::new();
    }
    let searched = &text[..text.floor_char_boundary(LONGEST)];
    let marks = Marks::new(analyzer, is_query_term).of(searched);
    let atoms = atoms(searched, &marks);
    let (start, end) = passage(searched, &marks, &atoms, most_chars);
    let (before, passage, after) = (&text[..start], &text[start..end], &text[end..]);
    let start = start + passage.len() - passage.trim_start().len();
    let passage = passage.trim();
    let mut fragments = Fragments::default();
    if !before.trim().is_empty() {
        fragments.push(LEFT_OUT, false);
    }
    fragments.marked(passage, start, &marks);
    if !after.trim().is_empty() {
        fragments.push(LEFT_OUT, false);
    }
    fragments.0
}

#[derive(Default)]
struct Fragments(Vec<Fragment>);

impl Fragments {
    fn push(&mut self, text: &str, marked: bool) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if !last.marked && !marked => last.text.push_str(text),
            _ => self.0.push(Fragment { text: text.into(), marked }),
        }
    }

    /// Adds the text that begins at `start`, with its part of `marks`.
    fn marked(&mut self, text: &str, start: usize, marks: &[Mark]) {
        let mut done = 0;
        for mark in marks {
            // Words of two characters may overlap in scripts without spaces.
            let from = mark.start.saturating_sub(start).clamp(done, text.len());
            let to = mark.end.saturating_sub(start).clamp(done, text.len());
            if from < to {
                self.push(&text[done..from], false);
                self.push(&text[from..to], true);
                done = to;
            }
        }
        self.push(&text[done..], false);
    }
}

/// A piece of text that is shown whole or not at all.
struct Atom {
    start: usize,
    end: usize,
    chars: usize,
}

/// Splits the text into words, each with the white space after it.
fn atoms(text: &str, marks: &[Mark]) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let mut marks = marks.iter().peekable();
    let mut rest = 0;
    while rest < text.len() {
        let is_space = |c: char| c.is_ascii_whitespace();
        let chunk_end = text[rest..].find(is_space).map_or(text.len(), |at| rest + at);
        let after =
            text[chunk_end..].find(|c| !is_space(c)).map_or(text.len(), |at| chunk_end + at);
        let long = text[rest..chunk_end].char_indices().nth(LONG_CHUNK).is_some();
        let (mut start, mut chars) = (rest, 0);
        let mut last = ' ';
        for (at, c) in text[rest..after].char_indices() {
            let at = rest + at;
            if long && at > start && at <= chunk_end {
                while marks.peek().is_some_and(|mark| mark.end <= at) {
                    marks.next();
                }
                let inside = marks.peek().is_some_and(|mark| mark.start < at);
                let border = !last.is_alphanumeric() || unspaced(last) || unspaced(c);
                if (border && !inside || chars >= LONG_WORD) && !is_combining(c) && at < chunk_end {
                    atoms.push(Atom { start, end: at, chars });
                    (start, chars) = (at, 0);
                }
            }
            chars += 1;
            last = c;
        }
        atoms.push(Atom { start, end: after, chars });
        rest = after;
    }
    atoms
}

/// The start and end of the passage.
fn passage(text: &str, marks: &[Mark], atoms: &[Atom], most_chars: usize) -> (usize, usize) {
    if atoms.is_empty() {
        return (0, text.len());
    }
    let (mut first, mut last) = best_window(marks, atoms, most_chars);
    let mut chars: usize = atoms[first..=last].iter().map(|atom| atom.chars).sum();
    if chars > most_chars {
        return within(text, marks, &atoms[first], most_chars);
    }
    // Half of the remaining characters go before, the rest after.
    let half = chars + (most_chars - chars) / 2;
    let mut grow_left = |chars: &mut usize, most: usize| {
        while first > 0 && *chars + atoms[first - 1].chars <= most {
            first -= 1;
            *chars += atoms[first].chars;
        }
    };
    grow_left(&mut chars, half);
    while last + 1 < atoms.len() && chars + atoms[last + 1].chars <= most_chars {
        last += 1;
        chars += atoms[last].chars;
    }
    grow_left(&mut chars, most_chars);
    (atoms[first].start, atoms[last].end)
}

/// At most `most_chars` characters of a chunk that is too long: its beginning, or the text around its
/// first mark if that is further on.
fn within(text: &str, marks: &[Mark], atom: &Atom, most_chars: usize) -> (usize, usize) {
    let after = |start: usize, chars: usize| {
        text[start..].char_indices().nth(chars).map_or(text.len(), |(at, _)| start + at)
    };
    let (mut start, end) = (atom.start, after(atom.start, most_chars));
    let mark = marks.iter().find(|mark| mark.start >= start && mark.start < atom.end);
    let Some(mark) = mark.filter(|mark| mark.end > end) else { return (start, end) };
    let before = most_chars.saturating_sub(text[mark.start..mark.end].chars().count()) / 2;
    if let Some((at, _)) = text[start..mark.start].char_indices().rev().take(before).last() {
        start += at;
    } else {
        start = mark.start;
    }
    // Letters keep their accents.
    let combining = text[start..mark.start].chars().take_while(|&c| is_combining(c));
    start += combining.map(char::len_utf8).sum::<usize>();
    (start, after(start, most_chars).max(start))
}

/// The first and last marked atom of the window with the most different words, then the most words,
/// then the smallest start.
fn best_window(marks: &[Mark], atoms: &[Atom], most_chars: usize) -> (usize, usize) {
    // The atoms in which marks begin.
    let mut held: Vec<(usize, usize)> = Vec::with_capacity(marks.len());
    let mut at = 0;
    for mark in marks {
        while at + 1 < atoms.len() && atoms[at + 1].start <= mark.start {
            at += 1;
        }
        held.push((at, mark.word));
    }
    // Characters before each atom.
    let mut before = Vec::with_capacity(atoms.len());
    let mut sum = 0;
    for atom in atoms {
        before.push(sum);
        sum += atom.chars;
    }
    let n_words = held.iter().map(|&(_, word)| word + 1).max().unwrap_or(0);
    let mut times = vec![0usize; n_words];
    let mut different = 0;
    let mut left = 0;
    let mut best = (0, 0);
    let mut window = (0, 0);
    for (right, &(last, word)) in held.iter().enumerate() {
        times[word] += 1;
        different += usize::from(times[word] == 1);
        while left < right && before[last] + atoms[last].chars - before[held[left].0] > most_chars {
            let gone = held[left].1;
            times[gone] -= 1;
            different -= usize::from(times[gone] == 0);
            left += 1;
        }
        let found = (different, right + 1 - left);
        if found > best {
            best = found;
            window = (held[left].0, last);
        }
    }
    window
}

#[cfg(test)]
mod tests;
