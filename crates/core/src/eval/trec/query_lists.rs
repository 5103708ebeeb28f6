//! The lines of a TREC file, grouped by query.
//!
//! A run of a thousand queries names a million documents. Their ids stay in the text of the file and
//! are referred to by position; every query of a run has a small hash table of its documents, and all
//! tables are one allocation.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use crate::rows::{Entry, QueryLines, Span, Twice};

/// The documents of one query, each with a grade or a score.
#[derive(Debug, Clone, Copy)]
pub struct QueryList<'a, T> {
    /// Query id, as in the file.
    pub id: &'a str,
    pub(super) text: &'a str,
    pub(super) entries: &'a [Entry<T>],
    pub(super) slots: &'a [u64],
}

/// The documents of every query, by query id in byte order.
#[derive(Debug, Clone, Default)]
pub struct QueryLists<T> {
    pub(super) text: String,
    /// The ids, with the ranges of their entries and their slots.
    queries: Vec<(Span, Range<usize>, Range<usize>)>,
    entries: Vec<Entry<T>>,
    /// A hash table for each query, see [`probe`].
    slots: Vec<u64>,
}

/// Equal ids have equal hashes; a few collisions do no harm.
pub(super) fn hash(id: &str) -> u32 {
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

/// Looks up a document in a hash table: the number of slots is a power of two, each is 0 or holds a
/// hash in the high half and a place from 1 in the low, and at most half of them are taken. `is_it`
/// compares the document at a place. Returns the place, or the free slot for an insertion.
pub(super) fn probe(
    slots: &[u64],
    hash: u32,
    mut is_it: impl FnMut(usize) -> bool,
) -> Result<usize, usize> {
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

/// The number of slots for `n` documents.
fn n_slots(n: usize) -> usize {
    (2 * n).next_power_of_two()
}

/// One query's entries and slots, to be filled.
struct ListMut<'l, T> {
    query: Span,
    entries: &'l mut [Entry<T>],
    slots: &'l mut [u64],
}

impl<T> QueryLists<T> {
    /// Number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The query at `place` in the order of ids.
    ///
    /// # Panics
    /// If `place` is not below the number of queries.
    pub fn query(&self, place: usize) -> QueryList<'_, T> {
        let (id, entries, slots) = &self.queries[place];
        QueryList {
            id: id.of(&self.text),
            text: &self.text,
            entries: &self.entries[entries.clone()],
            slots: &self.slots[slots.clone()],
        }
    }

    /// The queries in the order of their ids.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = QueryList<'_, T>> {
        (0..self.len()).map(|place| self.query(place))
    }

    /// The place of the query called `id`.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.queries.binary_search_by(|(span, ..)| span.of(&self.text).cmp(id)).ok()
    }
}

impl<T> QueryList<'_, T> {
    /// Number of documents.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no document; never so for a query that was read.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<T: Copy + Send + Sync> QueryLists<T> {
    /// Groups the lines by query and sorts each group by `order`, with hash tables if `tables`. A
    /// document's second and later lines are left out and returned, in the order of the file.
    pub(super) fn new(
        text: String,
        lines: QueryLines<T>,
        tables: bool,
        order: &(impl Fn(&str, &mut [Entry<T>]) + Sync),
    ) -> (Self, Vec<Twice>) {
        let QueryLines { stretches, mut entries } = lines.by_query(&text);
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
        // Entries may be in another order than the queries' ids.
        let mut in_file: Vec<(Span, Range<usize>, &mut [u64])> = queries
            .iter()
            .zip(tables)
            .map(|((query, range, _), slots)| (*query, range.clone(), slots))
            .collect();
        in_file.sort_unstable_by_key(|(_, range, _)| range.start);
        let mut lists: Vec<ListMut<'_, T>> = Vec::with_capacity(queries.len());
        let mut entries_left = &mut entries[..];
        for (query, range, slots) in in_file {
            let (here, more) = std::mem::take(&mut entries_left).split_at_mut(range.len());
            lists.push(ListMut { query, entries: here, slots });
            entries_left = more;
        }
        let mut twice: Vec<Twice> = lists
            .into_par_iter()
            .flat_map_iter(|list| {
                order(&text, list.entries);
                list.named_twice(&text)
            })
            .collect();
        if twice.is_empty() {
            return (QueryLists { text, queries, entries, slots }, twice);
        }
        twice.sort_by_key(|twice| twice.again.start);
        let mut once = QueryLines::default();
        for (query, range, _) in &queries {
            for entry in &entries[range.clone()] {
                let place = entry.doc.start;
                if twice.binary_search_by_key(&place, |twice| twice.again.start).is_err() {
                    once.push(&text, *query, entry.doc, entry.value);
                }
            }
        }
        (QueryLists::new(text, once, n_all > 0, order).0, twice)
    }

    /// Of grades or scores in memory.
    pub(super) fn of<'a>(
        named: impl IntoIterator<Item = (&'a str, &'a str, T)>,
        tables: bool,
        order: &(impl Fn(&str, &mut [Entry<T>]) + Sync),
    ) -> Self {
        let mut text = String::new();
        let add = |text: &mut String, name: &str| {
            let start = text.len();
            text.push_str(name);
            Span { start, len: name.len() as u32 }
        };
        let mut lines = QueryLines::default();
        for (query, doc, value) in named {
            let (query, doc) = (add(&mut text, query), add(&mut text, doc));
            lines.push(&text, query, doc, value);
        }
        QueryLists::new(text, lines, tables, order).0
    }
}

impl<T: Copy> ListMut<'_, T> {
    /// Fills the table, if there is one, and returns the documents that are named again.
    fn named_twice(self, text: &str) -> Vec<Twice> {
        let ListMut { query, entries, slots } = self;
        let mut groups: Vec<(Span, Span)> = Vec::new();
        if slots.is_empty() {
            // Without a table the entries are sorted by id.
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
        // Of a document's lines the first in the file stays.
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
pub(super) fn sort_by_id<T: Copy>(text: &str, entries: &mut [Entry<T>]) {
    let id = |entry: &Entry<T>| entry.doc.of(text).as_bytes();
    if entries.is_sorted_by(|a, b| id(a) <= id(b)) {
        return;
    }
    // Ids of one collection have a common prefix. The eight bytes after it decide nearly every
    // comparison, and numbers are compared faster than text.
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
pub(super) fn rank(text: &str, entries: &mut [Entry<f64>]) {
    let id = |entry: &Entry<f64>| entry.doc.of(text).as_bytes();
    let order = |a: &Entry<f64>, b: &Entry<f64>| {
        b.value.partial_cmp(&a.value).unwrap_or(Ordering::Equal).then_with(|| id(b).cmp(id(a)))
    };
    // Most runs are sorted already.
    if !entries.is_sorted_by(|a, b| order(a, b).is_le()) {
        entries.sort_unstable_by(order);
    }
}
