//! Lines that name a query and a document each, by their places in one text.

use std::ops::Range;

/// The lines of a file: documents with a number each, and which query each stretch of them
/// belongs to. Most files name a query's documents one after the other.
#[derive(Debug, Clone)]
pub(crate) struct QueryLines<T> {
    pub stretches: Vec<(Span, Range<usize>)>,
    pub entries: Vec<Entry<T>>,
}

impl<T> Default for QueryLines<T> {
    fn default() -> Self {
        QueryLines { stretches: Vec::new(), entries: Vec::new() }
    }
}

impl<T: Copy> QueryLines<T> {
    /// Adds a line of `text`.
    pub fn push(&mut self, text: &str, query: Span, doc: Span, value: T) {
        let at = self.entries.len();
        self.entries.push(Entry { doc, value });
        match self.stretches.last_mut() {
            Some((last, range)) if last.of(text) == query.of(text) => range.end = at + 1,
            _ => self.stretches.push((query, at..at + 1)),
        }
    }

    /// One after the other.
    pub fn concat(text: &str, parts: Vec<QueryLines<T>>) -> Self {
        let n = parts.iter().map(|part| part.entries.len()).sum();
        let mut all = QueryLines { stretches: Vec::new(), entries: Vec::with_capacity(n) };
        for part in parts {
            let offset = all.entries.len();
            all.entries.extend(part.entries);
            for (query, range) in part.stretches {
                let (start, end) = (range.start + offset, range.end + offset);
                match all.stretches.last_mut() {
                    Some((last, range)) if last.of(text) == query.of(text) => range.end = end,
                    _ => all.stretches.push((query, start..end)),
                }
            }
        }
        all
    }

    /// Query, document and number of every line, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (Span, Span, T)> + '_ {
        self.stretches.iter().flat_map(|(query, range)| {
            let entries = self.entries[range.clone()].iter();
            entries.map(move |entry| (*query, entry.doc, entry.value))
        })
    }

    /// Where the last line's document stands.
    pub fn last(&self) -> Option<Span> {
        self.entries.last().map(|entry| entry.doc)
    }

    /// With the stretches by query id, and one for each query.
    pub fn by_query(mut self, text: &str) -> Self {
        let id = |stretch: &(Span, Range<usize>)| stretch.0.of(text).as_bytes();
        if !self.stretches.is_sorted_by(|a, b| id(a) < id(b)) {
            self.stretches.sort_by(|a, b| id(a).cmp(id(b)));
        }
        if self.stretches.windows(2).any(|pair| id(&pair[0]) == id(&pair[1])) {
            let mut gathered = QueryLines::default();
            for (query, range) in &self.stretches {
                for entry in &self.entries[range.clone()] {
                    gathered.push(text, *query, entry.doc, entry.value);
                }
            }
            return gathered;
        }
        self
    }
}

/// A document that a query names again: the places of both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Twice {
    pub query: Span,
    pub first: Span,
    pub again: Span,
}

/// A place in the text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    pub start: usize,
    pub len: u32,
}

impl Span {
    pub fn of(self, text: &str) -> &str {
        &text[self.start..self.start + self.len as usize]
    }
}

/// A document with its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<T> {
    pub doc: Span,
    pub value: T,
}
