//! What is in TREC's files, query by query: judged documents in the order of their ids, ranked
//! documents in the order of their scores.
//!
//! A run of a thousand queries names a million documents; they stay where they were read, in
//! one text, and are referred to by place.

use std::ops::Range;

use super::gathered::{List, Lists, hash, probe, rank, sort_by_id, written};
use super::subtopics::{Nested, SubtopicJudgments, Subtopics};
use crate::rows::{QueryLines, Span, Twice};

/// The judgments of a file, by query id in byte order.
#[derive(Debug, Clone, Default)]
pub struct Qrels {
    lists: Lists<i32>,
    /// What documents answer, where they were judged by subtopic.
    subtopics: Option<Subtopics>,
}

/// A run, by query id in byte order.
#[derive(Debug, Clone, Default)]
pub struct TrecRun {
    /// The name in its last column; of several, the last.
    pub tag: String,
    lists: Lists<f64>,
}

/// The judgments of one query.
#[derive(Debug, Clone, Copy)]
pub struct Judgments<'a> {
    /// The query.
    pub id: &'a str,
    list: List<'a, i32>,
}

/// The ranking of one query: score descending, then document id descending. As in trec_eval 10,
/// scores are compared in double precision, and the file's ranks are ignored.
#[derive(Debug, Clone, Copy)]
pub struct Ranked<'a> {
    /// The query.
    pub id: &'a str,
    list: List<'a, f64>,
}

/// A document in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunHit<'a> {
    /// The document's id.
    pub doc: &'a str,
    /// Its score as the file has it; larger is better.
    pub score: f64,
}

impl Qrels {
    /// From judgments at hand: queries with their documents and grades. The first of two
    /// judgments of one document for one query counts.
    pub fn new<'a>(judged: impl IntoIterator<Item = (&'a str, &'a str, i32)>) -> Self {
        let (text, lines) = written(judged);
        Self::read(text, lines).0
    }

    /// From judgments by subtopic at hand: queries with their subtopics, documents and grades.
    /// The first of two judgments of one document for one subtopic counts. A document as a whole
    /// has the highest of its grades.
    pub fn by_subtopic<'a>(
        judged: impl IntoIterator<Item = (&'a str, &'a str, &'a str, i32)>,
    ) -> Self {
        let mut nested = Nested::new();
        for (query, subtopic, doc, grade) in judged {
            let doc = nested.entry(query).or_default().entry(doc).or_default();
            doc.entry(subtopic).or_insert(grade);
        }
        let whole = nested.iter().flat_map(|(&query, docs)| {
            docs.iter().map(move |(&doc, judged)| {
                (query, doc, judged.values().copied().max().unwrap_or_default())
            })
        });
        Qrels { subtopics: Some(Subtopics::new(&nested)), ..Qrels::new(whole) }
    }

    pub(super) fn read(text: String, lines: QueryLines<i32>) -> (Self, Vec<Twice>) {
        let (lists, twice) = Lists::new(text, lines, false, &sort_by_id);
        (Qrels { lists, subtopics: None }, twice)
    }

    pub(super) fn text(&self) -> &str {
        &self.lists.text
    }

    /// What the documents of the query at `place` answer; nothing where documents were not judged
    /// by subtopic.
    ///
    /// # Panics
    /// If there are not so many queries.
    pub fn subtopics(&self, place: usize) -> Option<SubtopicJudgments<'_>> {
        self.subtopics.as_ref().map(|subtopics| subtopics.query(place))
    }

    /// Whether documents were judged by subtopic.
    pub fn has_subtopics(&self) -> bool {
        self.subtopics.is_some()
    }

    /// How many queries are judged.
    pub fn len(&self) -> usize {
        self.lists.queries.len()
    }

    /// Whether nothing is judged.
    pub fn is_empty(&self) -> bool {
        self.lists.queries.is_empty()
    }

    /// The query at `place` in the order of ids.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn query(&self, place: usize) -> Judgments<'_> {
        let (id, list) = self.lists.get(place);
        Judgments { id, list }
    }

    /// The queries in the order of their ids.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = Judgments<'_>> {
        (0..self.len()).map(|place| self.query(place))
    }

    /// The place of the query called `id`.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.lists.find(id)
    }
}

impl<'a> Judgments<'a> {
    /// How many documents are judged.
    pub fn len(&self) -> usize {
        self.list.entries.len()
    }

    /// Whether none is; never so for a query that was read.
    pub fn is_empty(&self) -> bool {
        self.list.entries.is_empty()
    }

    /// The documents in the byte order of their ids, with their grades. A grade below zero
    /// says that the document was in the pool, but not judged.
    pub fn grades(&self) -> impl ExactSizeIterator<Item = (&'a str, i32)> + use<'a> {
        let text = self.list.text;
        self.list.entries.iter().map(move |entry| (entry.doc.of(text), entry.value))
    }
}

impl TrecRun {
    /// From rankings at hand: queries with their documents and scores, in any order. The first
    /// of two scores of one document for one query counts.
    pub fn new<'a>(
        tag: impl Into<String>,
        scored: impl IntoIterator<Item = (&'a str, &'a str, f64)>,
    ) -> Self {
        let (text, lines) = written(scored);
        Self::read(tag.into(), text, lines).0
    }

    pub(super) fn read(tag: String, text: String, lines: QueryLines<f64>) -> (Self, Vec<Twice>) {
        let (lists, twice) = Lists::new(text, lines, true, &rank);
        (TrecRun { tag, lists }, twice)
    }

    pub(super) fn text(&self) -> &str {
        &self.lists.text
    }

    /// How many queries have results.
    pub fn len(&self) -> usize {
        self.lists.queries.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.lists.queries.is_empty()
    }

    /// The query at `place` in the order of ids.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn query(&self, place: usize) -> Ranked<'_> {
        let (id, list) = self.lists.get(place);
        Ranked { id, list }
    }

    /// The queries in the order of their ids.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = Ranked<'_>> {
        (0..self.len()).map(|place| self.query(place))
    }

    /// The place of the query called `id`.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.lists.find(id)
    }

    /// The share of all results whose score another result of the same query has, too, as
    /// trec_eval compares scores. Their order is that of the ids, descending.
    pub fn share_of_ties(&self) -> f64 {
        let tied = |(_, range, _): &(Span, Range<usize>, Range<usize>)| -> usize {
            let entries = &self.lists.entries[range.clone()];
            let groups = entries.chunk_by(|a, b| a.value == b.value);
            groups.map(<[_]>::len).filter(|&len| len > 1).sum()
        };
        let n_tied: usize = self.lists.queries.iter().map(tied).sum();
        n_tied as f64 / self.lists.entries.len().max(1) as f64
    }
}

impl<'a> Ranked<'a> {
    /// How many documents are ranked.
    pub fn len(&self) -> usize {
        self.list.entries.len()
    }

    /// Whether none is; never so for a query that was read.
    pub fn is_empty(&self) -> bool {
        self.list.entries.is_empty()
    }

    /// The documents, best first.
    pub fn hits(&self) -> impl ExactSizeIterator<Item = RunHit<'a>> + use<'a> {
        let text = self.list.text;
        self.list
            .entries
            .iter()
            .map(move |entry| RunHit { doc: entry.doc.of(text), score: entry.value })
    }

    /// Calls `note` with rank (from 0) and grade of every document that is ranked and judged.
    pub fn judged(&self, judgments: &Judgments<'_>, mut note: impl FnMut(usize, i32)) {
        // Step by step for all documents, not document by document: what lies anywhere in
        // memory is then fetched for many at a time.
        let List { text, entries, slots } = self.list;
        let theirs = judgments.list;
        let hashes: Vec<u32> =
            theirs.entries.iter().map(|entry| hash(entry.doc.of(theirs.text))).collect();
        let mut alike: Vec<(usize, usize)> = Vec::with_capacity(hashes.len());
        for (at, &hash) in hashes.iter().enumerate() {
            // Nothing is the one, so that the whole chain is walked.
            let _free = probe(slots, hash, |place| {
                alike.push((at, place));
                false
            });
        }
        let docs: Vec<Span> = alike.iter().map(|&(_, place)| entries[place].doc).collect();
        for (&(at, place), doc) in alike.iter().zip(docs) {
            let judged = &theirs.entries[at];
            if doc.of(text) == judged.doc.of(theirs.text) {
                note(place, judged.value);
            }
        }
    }
}
