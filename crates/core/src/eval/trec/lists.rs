//! What is in TREC's files, query by query: judged documents in the order of their ids, ranked
//! documents in the order of their scores.
//!
//! A run of a thousand queries names a million documents; they stay where they were read, in
//! one text, and are referred to by place.

use std::ops::Range;

use rayon::prelude::*;

/// The judgments of a file, by query id in byte order.
#[derive(Debug, Clone, Default)]
pub struct Qrels(Lists<i32>);

/// A run, by query id in byte order.
#[derive(Debug, Clone, Default)]
pub struct TrecRun {
    /// The name in its last column; of several, the last.
    pub tag: String,
    lists: Lists<f64>,
    /// For each query the ranks (from 0) of its documents in the order of their ids: what a
    /// merge with the judgments goes by.
    by_id: Vec<u32>,
}

/// The judgments of one query.
#[derive(Debug, Clone, Copy)]
pub struct Judgments<'a> {
    /// The query.
    pub id: &'a str,
    list: List<'a, i32>,
}

/// The ranking of one query: score descending, then document id descending. As in trec_eval,
/// scores that are the same in single precision are tied, and the file's ranks are ignored.
#[derive(Debug, Clone, Copy)]
pub struct Ranked<'a> {
    /// The query.
    pub id: &'a str,
    list: List<'a, f64>,
    by_id: &'a [u32],
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
        Qrels(Lists::new(text, lines).0)
    }

    pub(super) fn read(text: String, lines: Vec<Line<i32>>) -> (Self, Vec<Twice>) {
        let (lists, twice) = Lists::new(text, lines);
        (Qrels(lists), twice)
    }

    pub(super) fn text(&self) -> &str {
        &self.0.text
    }

    /// How many queries are judged.
    pub fn len(&self) -> usize {
        self.0.queries.len()
    }

    /// Whether nothing is judged.
    pub fn is_empty(&self) -> bool {
        self.0.queries.is_empty()
    }

    /// The query at `place` in the order of ids.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn query(&self, place: usize) -> Judgments<'_> {
        let (id, list) = self.0.get(place);
        Judgments { id, list }
    }

    /// The queries in the order of their ids.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = Judgments<'_>> {
        (0..self.len()).map(|place| self.query(place))
    }

    /// The place of the query called `id`.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.0.find(id)
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

    pub(super) fn read(tag: String, text: String, lines: Vec<Line<f64>>) -> (Self, Vec<Twice>) {
        let (mut lists, twice) = Lists::new(text, lines);
        let text = &lists.text;
        let mut by_id = vec![0; lists.entries.len()];
        let mut parts: Vec<(&mut [Entry<f64>], &mut [u32])> =
            Vec::with_capacity(lists.queries.len());
        let (mut entries, mut ranks) = (&mut lists.entries[..], &mut by_id[..]);
        for (_, range) in &lists.queries {
            let (here, rest) = entries.split_at_mut(range.len());
            let (ranks_here, ranks_rest) = ranks.split_at_mut(range.len());
            parts.push((here, ranks_here));
            (entries, ranks) = (rest, ranks_rest);
        }
        parts.par_iter_mut().for_each(|(entries, ranks)| rank(text, entries, ranks));
        (TrecRun { tag, lists, by_id }, twice)
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
        Ranked { id, list, by_id: &self.by_id[self.lists.queries[place].1.clone()] }
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
        let tied = |(_, range): &(Span, Range<usize>)| -> usize {
            let entries = &self.lists.entries[range.clone()];
            let groups = entries.chunk_by(|a, b| a.value as f32 == b.value as f32);
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

    /// The rank, from 0, of the document called `id`.
    pub fn rank_of(&self, id: &str) -> Option<u32> {
        let List { text, entries } = self.list;
        let of = |rank: &u32| entries[*rank as usize].doc.of(text);
        self.by_id.binary_search_by(|rank| of(rank).cmp(id)).ok().map(|at| self.by_id[at])
    }

    /// The documents in the byte order of their ids, with their ranks from 0.
    pub fn by_id(&self) -> impl ExactSizeIterator<Item = (&'a str, u32)> + use<'a> {
        let List { text, entries } = self.list;
        self.by_id.iter().map(move |&rank| (entries[rank as usize].doc.of(text), rank))
    }
}

/// One line of a file: where its query and document stand in the text, and the number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<T> {
    pub query: Span,
    pub doc: Span,
    pub value: T,
}

/// A document that a query names again: the places of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Twice {
    pub query: Span,
    pub first: Span,
    pub again: Span,
}

/// A place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub start: usize,
    pub len: u32,
}

impl Span {
    pub fn of(self, text: &str) -> &str {
        &text[self.start..self.start + self.len as usize]
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    doc: Span,
    value: T,
}

#[derive(Debug, Clone, Copy)]
struct List<'a, T> {
    text: &'a str,
    entries: &'a [Entry<T>],
}

/// Documents with a number each, query by query.
#[derive(Debug, Clone, Default)]
struct Lists<T> {
    text: String,
    queries: Vec<(Span, Range<usize>)>,
    entries: Vec<Entry<T>>,
}

impl<T: Copy + Send + Sync> Lists<T> {
    /// Gathers the lines of each query and sorts its documents by id. A document's second and
    /// later lines are left out and returned, in the order of the file.
    fn new(text: String, lines: Vec<Line<T>>) -> (Self, Vec<Twice>) {
        // Most files name a query's documents one after the other, so stretches are sorted
        // instead of lines.
        let mut stretches: Vec<(Span, Range<usize>)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            match stretches.last_mut() {
                Some((query, range)) if query.of(&text) == line.query.of(&text) => {
                    range.end = at + 1;
                }
                _ => stretches.push((line.query, at..at + 1)),
            }
        }
        stretches.sort_by(|a, b| a.0.of(&text).as_bytes().cmp(b.0.of(&text).as_bytes()));
        let groups: Vec<&[(Span, Range<usize>)]> =
            stretches.chunk_by(|a, b| a.0.of(&text) == b.0.of(&text)).collect();
        let gathered: Vec<(Vec<Entry<T>>, Vec<Twice>)> = groups
            .par_iter()
            .map(|group| {
                let lines = group.iter().flat_map(|(_, range)| &lines[range.clone()]);
                let mut entries: Vec<Entry<T>> =
                    lines.map(|line| Entry { doc: line.doc, value: line.value }).collect();
                sort_by_id(&text, &mut entries);
                let mut twice = Vec::new();
                entries.dedup_by(|again, first| {
                    let same = again.doc.of(&text) == first.doc.of(&text);
                    if same {
                        twice.push(Twice { query: group[0].0, first: first.doc, again: again.doc });
                    }
                    same
                });
                (entries, twice)
            })
            .collect();
        let total = gathered.iter().map(|(entries, _)| entries.len()).sum();
        let (mut entries, mut queries) = (Vec::with_capacity(total), Vec::new());
        let mut twice = Vec::new();
        for (group, (here, again)) in groups.iter().zip(gathered) {
            let start = entries.len();
            entries.extend(here);
            queries.push((group[0].0, start..entries.len()));
            twice.extend(again);
        }
        twice.sort_by_key(|twice| twice.again.start);
        (Lists { text, queries, entries }, twice)
    }

    fn get(&self, place: usize) -> (&str, List<'_, T>) {
        let (id, range) = &self.queries[place];
        (id.of(&self.text), List { text: &self.text, entries: &self.entries[range.clone()] })
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.queries.binary_search_by(|(span, _)| span.of(&self.text).cmp(id)).ok()
    }
}

/// Sorts by document id, lines of the same document in the order of the file.
fn sort_by_id<T: Copy>(text: &str, entries: &mut [Entry<T>]) {
    // Ids of one collection begin alike. The eight bytes after what all share decide nearly
    // every comparison, and a number is compared faster than a text.
    let Some(first) = entries.first().map(|entry| entry.doc.of(text).as_bytes()) else { return };
    let shared = entries.iter().fold(first.len(), |shared, entry| {
        let id = entry.doc.of(text).as_bytes();
        let same = first[..shared].iter().zip(id).take_while(|(a, b)| a == b);
        same.count()
    });
    let mut keyed: Vec<(u64, Entry<T>)> = entries
        .iter()
        .map(|&entry| {
            let rest = &entry.doc.of(text).as_bytes()[shared..];
            let mut bytes = [0; 8];
            let n = rest.len().min(8);
            bytes[..n].copy_from_slice(&rest[..n]);
            (u64::from_be_bytes(bytes), entry)
        })
        .collect();
    keyed.sort_unstable_by(|(key, a), (other, b)| {
        key.cmp(other)
            .then_with(|| a.doc.of(text).as_bytes().cmp(b.doc.of(text).as_bytes()))
            .then(a.doc.start.cmp(&b.doc.start))
    });
    for (entry, (_, sorted)) in entries.iter_mut().zip(keyed) {
        *entry = sorted;
    }
}

/// Puts entries sorted by id into the order of the ranking, and the ranks of the documents in
/// the order of their ids into `ranks`.
fn rank(text: &str, entries: &mut [Entry<f64>], ranks: &mut [u32]) {
    debug_assert!(entries.is_sorted_by(|a, b| a.doc.of(text) <= b.doc.of(text)));
    let mut order: Vec<(f32, u32)> =
        (0..).zip(entries.iter()).map(|(at, entry)| (entry.value as f32, at)).collect();
    order.sort_unstable_by(|a, b| {
        b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal).then(b.1.cmp(&a.1))
    });
    let sorted: Vec<Entry<f64>> = order.iter().map(|&(_, at)| entries[at as usize]).collect();
    entries.copy_from_slice(&sorted);
    for (rank, &(_, at)) in (0..).zip(&order) {
        ranks[at as usize] = rank;
    }
}

/// A text that holds the names, and lines that refer to it.
fn written<'a, T>(
    named: impl IntoIterator<Item = (&'a str, &'a str, T)>,
) -> (String, Vec<Line<T>>) {
    let mut text = String::new();
    let mut add = |name: &str| {
        let start = text.len();
        text.push_str(name);
        Span { start, len: name.len() as u32 }
    };
    let lines = named
        .into_iter()
        .map(|(query, doc, value)| Line { query: add(query), doc: add(doc), value })
        .collect();
    (text, lines)
}
