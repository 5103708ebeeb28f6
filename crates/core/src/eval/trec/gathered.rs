//! The lines of a TREC file, gathered by query: one text, places in it, and a small hash table
//! for each query of a run.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use crate::rows::{Entry, QueryLines, Span, Twice};

#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a, T> {
    pub text: &'a str,
    pub entries: &'a [Entry<T>],
    pub slots: &'a [u64],
}

/// Documents with a number each, query by query.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists<T> {
    pub text: String,
    /// By query id: where its entries and its slots are.
    pub queries: Vec<(Span, Range<usize>, Range<usize>)>,
    pub entries: Vec<Entry<T>>,
    /// A hash table for each query, see [`probe`].
    slots: Vec<u64>,
}

/// Equal ids have equal hashes; little more is asked of it.
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

/// Looks for a document in a table: a power of two of slots, each 0 or a hash in the high half
/// and a place from 1 in the low, at most half of them taken. `is_it` says whether the document
/// at a place is the one. The place, or the free slot where it could be put.
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
    pub fn new(
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
        let mut once = QueryLines::default();
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

    pub fn get(&self, place: usize) -> (&str, List<'_, T>) {
        let (id, entries, slots) = &self.queries[place];
        let list = List {
            text: &self.text,
            entries: &self.entries[entries.clone()],
            slots: &self.slots[slots.clone()],
        };
        (id.of(&self.text), list)
    }

    pub fn find(&self, id: &str) -> Option<usize> {
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
pub(super) fn sort_by_id<T: Copy>(text: &str, entries: &mut [Entry<T>]) {
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
pub(super) fn rank(text: &str, entries: &mut [Entry<f64>]) {
    let id = |entry: &Entry<f64>| entry.doc.of(text).as_bytes();
    let order = |a: &Entry<f64>, b: &Entry<f64>| {
        b.value.partial_cmp(&a.value).unwrap_or(Ordering::Equal).then_with(|| id(b).cmp(id(a)))
    };
    // Most runs are written in the order of their ranks.
    if !entries.is_sorted_by(|a, b| order(a, b).is_le()) {
        entries.sort_unstable_by(order);
    }
}

/// A text that holds the names, and lines that refer to it.
pub(super) fn written<'a, T: Copy>(
    named: impl IntoIterator<Item = (&'a str, &'a str, T)>,
) -> (String, QueryLines<T>) {
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
    (text, lines)
}
