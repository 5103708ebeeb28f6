//! A run: rankings by query, each query's documents by descending score. Its lines are parsed in
//! `rows/run_lines.rs`.

use std::ops::Deref;

use super::qrels::Judgments;
use super::query_lists::{QueryList, QueryLists, hash, probe, rank};
use crate::rows::{QueryLines, Span, Twice};

/// A run.
#[derive(Debug, Clone, Default)]
pub struct TrecRun {
    /// The name in its last column; of several, the last.
    pub tag: String,
    lists: QueryLists<f64>,
}

/// The ranking of one query: score descending, then document id descending. As in trec_eval 10,
/// scores are compared in double precision, and the file's ranks are ignored.
pub type Ranked<'a> = QueryList<'a, f64>;

/// A document in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunHit<'a> {
    /// The document's id.
    pub doc: &'a str,
    /// Its score as the file has it; larger is better.
    pub score: f64,
}

impl TrecRun {
    /// From rankings in memory: queries with their documents and scores, in any order. The first
    /// of two scores of one document for one query counts.
    pub fn new<'a>(
        tag: impl Into<String>,
        scored: impl IntoIterator<Item = (&'a str, &'a str, f64)>,
    ) -> Self {
        TrecRun { tag: tag.into(), lists: QueryLists::of(scored, true, &rank) }
    }

    pub(super) fn read(tag: String, text: String, lines: QueryLines<f64>) -> (Self, Vec<Twice>) {
        let (lists, twice) = QueryLists::new(text, lines, true, &rank);
        (TrecRun { tag, lists }, twice)
    }

    /// The share of results with the same score as another result of the query, as trec_eval compares
    /// scores. They are ordered by id, descending.
    pub fn share_of_ties(&self) -> f64 {
        let tied = |query: Ranked<'_>| -> usize {
            let groups = query.entries.chunk_by(|a, b| a.value == b.value);
            groups.map(<[_]>::len).filter(|&len| len > 1).sum()
        };
        let n_tied: usize = self.queries().map(tied).sum();
        let n: usize = self.queries().map(|query| query.len()).sum();
        n_tied as f64 / n.max(1) as f64
    }
}

impl Deref for TrecRun {
    type Target = QueryLists<f64>;

    fn deref(&self) -> &Self::Target {
        &self.lists
    }
}

impl<'a> Ranked<'a> {
    /// The documents, best first.
    pub fn hits(&self) -> impl ExactSizeIterator<Item = RunHit<'a>> + use<'a> {
        let text = self.text;
        let entries = self.entries.iter();
        entries.map(move |entry| RunHit { doc: entry.doc.of(text), score: entry.value })
    }

    /// Calls `note` with rank (from 0) and grade of every document that is ranked and judged.
    pub fn judged(&self, judgments: &Judgments<'_>, mut note: impl FnMut(usize, i32)) {
        // Step by step for all documents, not document by document, so that the cache misses of many
        // documents overlap.
        let QueryList { text, entries, slots, .. } = *self;
        let hashes: Vec<u32> =
            judgments.entries.iter().map(|entry| hash(entry.doc.of(judgments.text))).collect();
        let mut alike: Vec<(usize, usize)> = Vec::with_capacity(hashes.len());
        for (at, &hash) in hashes.iter().enumerate() {
            // Never a match, so that the whole chain is walked.
            let _free = probe(slots, hash, |place| {
                alike.push((at, place));
                false
            });
        }
        let docs: Vec<Span> = alike.iter().map(|&(_, place)| entries[place].doc).collect();
        for (&(at, place), doc) in alike.iter().zip(docs) {
            let judged = &judgments.entries[at];
            if doc.of(text) == judged.doc.of(judgments.text) {
                note(place, judged.value);
            }
        }
    }
}
