//! The texts of a document, each of its fields and all of them together, and the proximity of query
//! words in them.

use crate::features::proximity::{Pair, ordered, pairs, smallest_span, unordered};
use crate::features::{Counts, GAP, QueryTerms};
use crate::sparse::Csr;

/// The length of the window of unordered pairs, in words.
const WINDOW: u64 = 8;

/// A text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// A field, by its place in the counts.
    Field(usize),
    /// All fields.
    All,
}

/// A measure of proximity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProximityKind {
    /// The number of adjacent query words that are adjacent in the text, in the same order.
    Ordered,
    /// The number of adjacent query words that are within one window of the text.
    Unordered,
    /// The length of the shortest passage with all words.
    Span,
}

/// Every field that some document has, if these are several, and all fields as one text.
pub(super) fn texts(counts: &Counts) -> Vec<Text> {
    let filled: Vec<usize> =
        (0..counts.fields.len()).filter(|&f| counts.fields[f].docs.nnz() > 0).collect();
    let fields = filled.iter().filter(|_| filled.len() > 1).map(|&f| Text::Field(f));
    fields.chain([Text::All]).collect()
}

impl Text {
    pub fn name(self, counts: &Counts) -> &str {
        match self {
            Text::Field(f) => &counts.fields[f].name,
            Text::All => "all",
        }
    }

    /// The words of the text in every document.
    pub fn docs(self, counts: &Counts) -> &Csr {
        match self {
            Text::Field(f) => &counts.fields[f].docs,
            Text::All => &counts.docs,
        }
    }

    /// Whether the document has no word there.
    pub fn is_empty(self, counts: &Counts, doc: u32) -> bool {
        self.docs(counts).row(doc as usize).is_empty()
    }
}

/// The proximity of the words of a query in a document, field by field. Created once per query and
/// used for all its documents.
pub(super) struct Proximities {
    words: Vec<u32>,
    /// Pairs with the places of both words in `words`.
    pairs: Vec<(usize, usize, Pair)>,
    /// By word, its positions in the field being read.
    places: Vec<Vec<u64>>,
    /// By field: ordered, unordered, span.
    fields: Vec<[f32; 3]>,
}

impl Proximities {
    pub fn new(query: &QueryTerms) -> Self {
        let mut words: Vec<u32> =
            query.sequence.iter().copied().filter(|&term| term != GAP).collect();
        words.sort_unstable();
        words.dedup();
        // Both are among the words, which are sorted.
        let at = |term: u32| words.partition_point(|&word| word < term);
        let pairs = pairs(&query.sequence)
            .into_iter()
            .map(|pair| (at(pair.first), at(pair.second), pair))
            .collect();
        let places = vec![Vec::new(); words.len()];
        Proximities { words, pairs, places, fields: Vec::new() }
    }

    /// Reads a document. The proximity in a field without positions is missing.
    pub fn read(&mut self, counts: &Counts, doc: u32) {
        self.fields.clear();
        let Some(positions) = &counts.positions else { return };
        for field in &positions.fields {
            if field.row(doc as usize).is_empty() {
                self.fields.push([f32::NAN; 3]);
                continue;
            }
            self.places.iter_mut().for_each(Vec::clear);
            field.add_places(doc as usize, &self.words, 0, &mut self.places);
            let mut found = [0u32; 2];
            for (first, second, pair) in &self.pairs {
                let (first, second) = (&self.places[*first], &self.places[*second]);
                found[0] += ordered(first, second, pair.distance);
                found[1] += unordered(first, second, WINDOW);
            }
            let span = match self.places.iter().any(Vec::is_empty) {
                true => None,
                false => smallest_span(&self.places),
            };
            let span = span.map_or(f32::NAN, |span| span as f32);
            self.fields.push([found[0] as f32, found[1] as f32, span]);
        }
    }

    /// The proximity in `text` of the document read last; for all texts, the sum of pairs and the
    /// shortest span.
    pub fn of(&self, text: Text, kind: ProximityKind) -> f32 {
        let k = kind as usize;
        match text {
            Text::Field(f) => self.fields.get(f).map_or(f32::NAN, |found| found[k]),
            Text::All => {
                let join = |a: f32, b: f32| match kind {
                    ProximityKind::Span => a.min(b),
                    _ => a + b,
                };
                let found = self.fields.iter().map(|found| found[k]).filter(|v| !v.is_nan());
                found.reduce(join).unwrap_or(f32::NAN)
            }
        }
    }
}
