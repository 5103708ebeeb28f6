//! Judgments by query, each query's documents in the byte order of their ids.

use std::ops::Deref;

use super::query_lists::{QueryList, QueryLists, sort_by_id};
use super::subtopics::{Nested, SubtopicJudgments, Subtopics};
use crate::rows::{QueryLines, Twice};

/// The judgments of a file.
#[derive(Debug, Clone, Default)]
pub struct Qrels {
    lists: QueryLists<i32>,
    /// The subtopics that documents answer, where they were judged by subtopic.
    subtopics: Option<Subtopics>,
}

/// The judgments of one query.
pub type Judgments<'a> = QueryList<'a, i32>;

impl Qrels {
    /// From judgments in memory: queries with their documents and grades. The first of two
    /// judgments of one document for one query counts.
    pub fn new<'a>(judged: impl IntoIterator<Item = (&'a str, &'a str, i32)>) -> Self {
        Qrels { lists: QueryLists::of(judged, false, &sort_by_id), subtopics: None }
    }

    /// From judgments by subtopic in memory: queries with their subtopics, documents and grades.
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
        let (lists, twice) = QueryLists::new(text, lines, false, &sort_by_id);
        (Qrels { lists, subtopics: None }, twice)
    }

    /// The subtopics that documents answer for the query at `place`; `None` where documents were not
    /// judged by subtopic.
    ///
    /// # Panics
    /// If `place` is not below the number of queries.
    pub fn subtopics(&self, place: usize) -> Option<SubtopicJudgments<'_>> {
        self.subtopics.as_ref().map(|subtopics| subtopics.query(place))
    }

    /// Whether documents were judged by subtopic.
    pub fn has_subtopics(&self) -> bool {
        self.subtopics.is_some()
    }
}

impl Deref for Qrels {
    type Target = QueryLists<i32>;

    fn deref(&self) -> &Self::Target {
        &self.lists
    }
}

impl<'a> Judgments<'a> {
    /// The documents in the byte order of their ids, with their grades. A grade below zero
    /// says that the document was in the pool, but not judged.
    pub fn grades(&self) -> impl ExactSizeIterator<Item = (&'a str, i32)> + use<'a> {
        let text = self.text;
        self.entries.iter().map(move |entry| (entry.doc.of(text), entry.value))
    }
}
