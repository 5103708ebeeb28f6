//! Lines that name a query and a document each, as spans of one text.

use std::ops::Range;

/// The lines of a file: documents with a value each, and the query of each stretch of them.
/// Most files list a query's documents together.
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
        self.entries.push(Entry { doc, value });
        self.extend_to(text, query, self.entries.len());
    }

    /// Assigns the entries after the last stretch, up to `end`, to `query`.
    fn extend_to(&mut self, text: &str, query: Span, end: usize) {
        match self.stretches.last_mut() {
            Some((last, range)) if last.of(text) == query.of(text) => range.end = end,
            last => {
                let start = last.map_or(0, |(_, range)| range.end);
                self.stretches.push((query, start..end));
            }
        }
    }

    pub fn concat(text: &str, parts: Vec<QueryLines<T>>) -> Self {
        let n = parts.iter().map(|part| part.entries.len()).sum();
        let mut all = QueryLines { stretches: Vec::new(), entries: Vec::with_capacity(n) };
        for part in parts {
            let offset = all.entries.len();
            all.entries.extend(part.entries);
            for (query, range) in part.stretches {
                all.extend_to(text, query, range.end + offset);
            }
        }
        all
    }

    /// Query, document and value of every line, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (Span, Span, T)> + '_ {
        self.stretches.iter().flat_map(|(query, range)| {
            let entries = self.entries[range.clone()].iter();
            entries.map(move |entry| (*query, entry.doc, entry.value))
        })
    }

    /// The document of the last line.
    pub fn last(&self) -> Option<Span> {
        self.entries.last().map(|entry| entry.doc)
    }

    /// Sorts the stretches by query id and merges those of one query.
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

/// A document that a query names twice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Twice {
    pub query: Span,
    pub first: Span,
    pub again: Span,
}

/// A part of the text.
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

/// A document with its grade or score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<T> {
    pub doc: Span,
    pub value: T,
}
