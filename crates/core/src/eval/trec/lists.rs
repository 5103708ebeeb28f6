//! What is in TREC's files, query by query: judged documents in the order of their ids, ranked
//! documents in the order of their scores.
//!
//! A run of a thousand queries names a million documents; they stay where they were read, in
//! one text, and are referred to by place.

use std::cmp::Ordering;
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

    pub(super) fn read(text: String, lines: Lines<i32>) -> (Self, Vec<Twice>) {
        let (lists, twice) = Lists::new(text, lines, false, &sort_by_id);
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

    pub(super) fn read(tag: String, text: String, lines: Lines<f64>) -> (Self, Vec<Twice>) {
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
    pub fn rank_of(&self, id: &str) -> Option<usize> {
        let List { text, entries, slots } = self.list;
        probe(slots, hash(id), |place| entries[place].doc.of(text) == id).ok()
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

/// The lines of a file: documents with a number each, and which query each stretch of them
/// belongs to. Most files name a query's documents one after the other.
#[derive(Debug, Clone)]
pub(super) struct Lines<T> {
    stretches: Vec<(Span, Range<usize>)>,
    entries: Vec<Entry<T>>,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Lines { stretches: Vec::new(), entries: Vec::new() }
    }
}

impl<T: Copy> Lines<T> {
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
    pub fn concat(text: &str, parts: Vec<Lines<T>>) -> Self {
        let n = parts.iter().map(|part| part.entries.len()).sum();
        let mut all = Lines { stretches: Vec::new(), entries: Vec::with_capacity(n) };
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

    /// Where the last line's document stands.
    pub fn last(&self) -> Option<Span> {
        self.entries.last().map(|entry| entry.doc)
    }

    /// With the stretches by query id, and one for each query.
    fn by_query(mut self, text: &str) -> Self {
        let id = |stretch: &(Span, Range<usize>)| stretch.0.of(text).as_bytes();
        if !self.stretches.is_sorted_by(|a, b| id(a) < id(b)) {
            self.stretches.sort_by(|a, b| id(a).cmp(id(b)));
        }
        if self.stretches.windows(2).any(|pair| id(&pair[0]) == id(&pair[1])) {
            let mut gathered = Lines::default();
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
    slots: &'a [u64],
}

/// Documents with a number each, query by query.
#[derive(Debug, Clone, Default)]
struct Lists<T> {
    text: String,
    /// By query id: where its entries and its slots are.
    queries: Vec<(Span, Range<usize>, Range<usize>)>,
    entries: Vec<Entry<T>>,
    /// A hash table for each query, see [`probe`].
    slots: Vec<u64>,
}

/// Equal ids have equal hashes; little more is asked of it.
fn hash(id: &str) -> u32 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = id.len() as u64;
    for part in id.as_bytes().chunks(8) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        hash = (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(ODD);
        hash ^= hash >> 29;
    }
    (hash.wrapping_mul(ODD) >> 32) as u32
}

/// Looks for a document in a table: a power of two of slots, each 0 or a hash in the high half
/// and a place from 1 in the low, at most half of them taken. `is_it` says whether the document
/// at a place is the one. The place, or the free slot where it could be put.
fn probe(slots: &[u64], hash: u32, mut is_it: impl FnMut(usize) -> bool) -> Result<usize, usize> {
    let mask = slots.len().wrapping_sub(1);
    let mut at = hash as usize & mask;
    loop {
        let slot = match slots.get(at) {
            Some(&slot) if slot != 0 => slot,
            _ => return Err(at),
        };
        let place = slot as u32 as usize - 1;
        if (slot >> 32) as u32 == hash && is_it(place) {
            return Ok(place);
        }
        at = (at + 1) & mask;
    }
}

/// The slots that a table of `n` documents has.
fn n_slots(n: usize) -> usize {
    (2 * n).next_power_of_two()
}

/// One query's entries and slots.
struct Part<'l, T> {
    query: Span,
    entries: &'l mut [Entry<T>],
    slots: &'l mut [u64],
}

impl<T: Copy + Send + Sync> Lists<T> {
    /// Gathers the lines of each query and brings them in `order`, with a table if `tables`. A
    /// document's second and later lines are left out and returned, in the order of the file.
    fn new(
        text: String,
        lines: Lines<T>,
        tables: bool,
        order: &(impl Fn(&str, &mut [Entry<T>]) + Sync),
    ) -> (Self, Vec<Twice>) {
        let Lines { stretches, mut entries } = lines.by_query(&text);
        let mut n_all = 0;
        let mut queries: Vec<(Span, Range<usize>, Range<usize>)> = Vec::new();
        for (query, range) in stretches {
            let from = n_all;
            n_all += if tables { n_slots(range.len()) } else { 0 };
            queries.push((query, range, from..n_all));
        }
        let mut slots = vec![0; n_all];
        let mut slots_left = &mut slots[..];
        let mut tables: Vec<&mut [u64]> = Vec::with_capacity(queries.len());
        for (_, _, slots) in &queries {
            let (here, more) = std::mem::take(&mut slots_left).split_at_mut(slots.len());
            tables.push(here);
            slots_left = more;
        }
        // Entries may lie in another order than that of the queries' ids.
        let mut in_file: Vec<(Span, Range<usize>, &mut [u64])> = queries
            .iter()
            .zip(tables)
            .map(|((query, range, _), slots)| (*query, range.clone(), slots))
            .collect();
        in_file.sort_unstable_by_key(|(_, range, _)| range.start);
        let mut parts: Vec<Part<'_, T>> = Vec::with_capacity(queries.len());
        let mut entries_left = &mut entries[..];
        for (query, range, slots) in in_file {
            let (here, more) = std::mem::take(&mut entries_left).split_at_mut(range.len());
            parts.push(Part { query, entries: here, slots });
            entries_left = more;
        }
        let mut twice: Vec<Twice> = parts
            .into_par_iter()
            .flat_map_iter(|part| {
                order(&text, part.entries);
                part.named_twice(&text)
            })
            .collect();
        if twice.is_empty() {
            return (Lists { text, queries, entries, slots }, twice);
        }
        twice.sort_by_key(|twice| twice.again.start);
        let mut once = Lines::default();
        for (query, range, _) in &queries {
            for entry in &entries[range.clone()] {
                let place = entry.doc.start;
                if twice.binary_search_by_key(&place, |twice| twice.again.start).is_err() {
                    once.push(&text, *query, entry.doc, entry.value);
                }
            }
        }
        (Lists::new(text, once, n_all > 0, order).0, twice)
    }

    fn get(&self, place: usize) -> (&str, List<'_, T>) {
        let (id, entries, slots) = &self.queries[place];
        let list = List {
            text: &self.text,
            entries: &self.entries[entries.clone()],
            slots: &self.slots[slots.clone()],
        };
        (id.of(&self.text), list)
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.queries.binary_search_by(|(span, ..)| span.of(&self.text).cmp(id)).ok()
    }
}

impl<T: Copy> Part<'_, T> {
    /// Fills the table, if there is one, and returns the documents that occur again.
    fn named_twice(self, text: &str) -> Vec<Twice> {
        let Part { query, entries, slots } = self;
        let mut groups: Vec<(Span, Span)> = Vec::new();
        if slots.is_empty() {
            // Then they are sorted by id.
            let pairs = entries.windows(2).map(|pair| (pair[0].doc, pair[1].doc));
            groups.extend(pairs.filter(|(a, b)| a.of(text) == b.of(text)));
        }
        for place in 0..if slots.is_empty() { 0 } else { entries.len() } {
            let id = entries[place].doc.of(text);
            let hash = hash(id);
            match probe(slots, hash, |other| entries[other].doc.of(text) == id) {
                Err(free) => slots[free] = u64::from(hash) << 32 | (place as u64 + 1),
                Ok(other) => groups.push((entries[other].doc, entries[place].doc)),
            }
        }
        if groups.is_empty() {
            return Vec::new();
        }
        // Of all places of a document the first in the file stays.
        let mut twice = Vec::new();
        groups.sort_by_key(|(a, _)| a.of(text));
        for same in groups.chunk_by(|(a, _), (b, _)| a.of(text) == b.of(text)) {
            let mut docs: Vec<Span> = same.iter().flat_map(|&(a, b)| [a, b]).collect();
            docs.sort_by_key(|doc| doc.start);
            docs.dedup_by_key(|doc| doc.start);
            let first = docs[0];
            twice.extend(docs[1..].iter().map(|&again| Twice { query, first, again }));
        }
        twice
    }
}

/// Sorts by document id.
fn sort_by_id<T: Copy>(text: &str, entries: &mut [Entry<T>]) {
    let id = |entry: &Entry<T>| entry.doc.of(text).as_bytes();
    if entries.is_sorted_by(|a, b| id(a) <= id(b)) {
        return;
    }
    // Ids of one collection begin alike. The eight bytes after what all share decide nearly
    // every comparison, and a number is compared faster than a text.
    let first = id(&entries[0]);
    let shared = entries.iter().fold(first.len(), |shared, entry| {
        first[..shared].iter().zip(id(entry)).take_while(|(a, b)| a == b).count()
    });
    let mut keyed: Vec<(u64, Entry<T>)> = entries
        .iter()
        .map(|&entry| {
            let rest = &id(&entry)[shared..];
            let mut bytes = [0; 8];
            let n = rest.len().min(8);
            bytes[..n].copy_from_slice(&rest[..n]);
            (u64::from_be_bytes(bytes), entry)
        })
        .collect();
    keyed.sort_unstable_by(|(key, a), (other, b)| key.cmp(other).then_with(|| id(a).cmp(id(b))));
    for (entry, (_, sorted)) in entries.iter_mut().zip(keyed) {
        *entry = sorted;
    }
}

/// Sorts by score, then by document id, both descending.
fn rank(text: &str, entries: &mut [Entry<f64>]) {
    let id = |entry: &Entry<f64>| entry.doc.of(text).as_bytes();
    let order = |a: &Entry<f64>, b: &Entry<f64>| {
        let (ours, theirs) = (a.value as f32, b.value as f32);
        theirs.partial_cmp(&ours).unwrap_or(Ordering::Equal).then_with(|| id(b).cmp(id(a)))
    };
    // Most runs are written in the order of their ranks.
    if !entries.is_sorted_by(|a, b| order(a, b).is_le()) {
        entries.sort_unstable_by(order);
    }
}

/// A text that holds the names, and lines that refer to it.
fn written<'a, T: Copy>(
    named: impl IntoIterator<Item = (&'a str, &'a str, T)>,
) -> (String, Lines<T>) {
    let mut text = String::new();
    let add = |text: &mut String, name: &str| {
        let start = text.len();
        text.push_str(name);
        Span { start, len: name.len() as u32 }
    };
    let mut lines = Lines::default();
    for (query, doc, value) in named {
        let (query, doc) = (add(&mut text, query), add(&mut text, doc));
        lines.push(&text, query, doc, value);
    }
    (text, lines)
}
