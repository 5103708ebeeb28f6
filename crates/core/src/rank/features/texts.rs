//! How well the words of a query are found in the texts of a document: each of its fields, and
//! all of them together.

use std::sync::Arc;

use super::{About, FeatureSource, Group};
use crate::Result;
use crate::features::proximity::{Pair, ordered, pairs, smallest_span, unordered};
use crate::features::{Counts, GAP, QueryTerms};
use crate::matchers::{Bm25, Bm25Field, Lexical, Lm, Matcher, Smoothing, Vsm};

/// How many words a window of unordered pairs has.
const WINDOW: u64 = 8;

/// A text of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// A field, by its place in the counts.
    Field(usize),
    /// All fields.
    All,
}

/// One of the numbers that say how words stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    /// Neighbours of the query that stand side by side in its order.
    Ordered,
    /// Neighbours of the query that stand near each other.
    Unordered,
    /// The shortest stretch that holds all words.
    Span,
}

/// The texts that say something: every field that some document has, and all as one text. Where
/// there is one field, that is all.
fn texts(counts: &Counts) -> Vec<Text> {
    let filled: Vec<usize> =
        (0..counts.fields.len()).filter(|&f| counts.fields[f].docs.nnz() > 0).collect();
    let fields = filled.iter().filter(|_| filled.len() > 1).map(|&f| Text::Field(f));
    fields.chain([Text::All]).collect()
}

impl Text {
    fn name(self, counts: &Counts) -> &str {
        match self {
            Text::Field(f) => &counts.fields[f].name,
            Text::All => "all",
        }
    }

    /// Whether the document says nothing there.
    pub fn is_empty(self, counts: &Counts, doc: u32) -> bool {
        match self {
            Text::Field(f) => counts.fields[f].docs.row(doc as usize).is_empty(),
            Text::All => counts.docs.row(doc as usize).is_empty(),
        }
    }
}

/// The features of texts that `groups` ask for.
pub(super) fn columns(counts: &Counts, groups: &[Group]) -> Result<Vec<(About, FeatureSource)>> {
    let mut columns = Vec::new();
    let texts = texts(counts);
    let mut add = |name: &str, text: Text, group: Group, column: FeatureSource| {
        let name = format!("{name}({})", text.name(counts));
        columns.push((About { name, group, model: None }, column));
    };
    for group in [Group::Bm25, Group::Vsm, Group::Lm, Group::LmJm] {
        for &text in texts.iter().filter(|_| groups.contains(&group)) {
            let matcher: Arc<dyn Matcher> = Arc::new(words(counts, text, group)?);
            add(group.name(), text, group, FeatureSource::Words { matcher, text });
        }
    }
    if groups.contains(&Group::Proximity) && counts.positions.is_some() {
        for (name, near) in
            [("ordered", Near::Ordered), ("unordered", Near::Unordered), ("span", Near::Span)]
        {
            for &text in &texts {
                add(name, text, Group::Proximity, FeatureSource::Near { text, near });
            }
        }
    }
    if groups.contains(&Group::Length) {
        for &text in &texts {
            let docs = match text {
                Text::Field(f) => &counts.fields[f].docs,
                Text::All => &counts.docs,
            };
            let lengths = docs.rows().map(|row| row.values.iter().sum()).collect();
            add("length", text, Group::Length, FeatureSource::Document(Arc::new(lengths)));
        }
        let about = About { name: "query_length".into(), group: Group::Length, model: None };
        columns.push((about, FeatureSource::QueryLength));
    }
    Ok(columns)
}

/// One of the lexical matchers, for one text.
fn words(counts: &Counts, text: Text, group: Group) -> Result<Lexical> {
    let smoothing = if group == Group::LmJm { Smoothing::Jm } else { Smoothing::Dirichlet };
    let lm = Lm { smoothing, ..Lm::default() };
    match (group, text) {
        (Group::Bm25, Text::All) => Bm25::default().fit(counts),
        (Group::Bm25, Text::Field(f)) => {
            let fields = [(counts.fields[f].name.clone(), Bm25Field::default())].into();
            Bm25 { fields, ..Bm25::default() }.fit(counts)
        }
        (Group::Vsm, Text::All) => Vsm::default().fit(counts),
        (Group::Vsm, Text::Field(f)) => Vsm::default().fit_field(counts, &counts.fields[f].docs),
        (_, Text::All) => lm.fit(counts),
        (_, Text::Field(f)) => lm.fit_text(counts, &counts.fields[f].docs),
    }
}

/// How the words of a query stand to each other in a document, field by field; made once for a
/// query and used for all its documents.
pub(super) struct Proximities {
    words: Vec<u32>,
    /// By the places of both words among the words.
    pairs: Vec<(usize, usize, Pair)>,
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

    /// Looks at a document; a field without words that stand in order has nothing to say.
    pub fn look(&mut self, counts: &Counts, doc: u32) {
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

    /// What was seen in `text` of the document looked at last; of all texts, the sum of pairs
    /// and the shortest span.
    pub fn of(&self, text: Text, near: Near) -> f32 {
        let k = near as usize;
        match text {
            Text::Field(f) => self.fields.get(f).map_or(f32::NAN, |found| found[k]),
            Text::All => {
                let join = |a: f32, b: f32| match near {
                    Near::Span => a.min(b),
                    _ => a + b,
                };
                let found = self.fields.iter().map(|found| found[k]).filter(|v| !v.is_nan());
                found.reduce(join).unwrap_or(f32::NAN)
            }
        }
    }
}
