//! The aggregated log of one query: all that a dataset stores of its raw log.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// A span of time, the resolution of the aggregated log: the hour since 1970, or the second of the
/// day where the log has no dates.
pub(in crate::data) type Span = i64;

/// The aggregated log of one query. Documents are sorted, and so are clicks and lists, which refer
/// to documents by position.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::data) struct QueryLog {
    /// The query's identity, or its id.
    pub query: String,
    /// Spellings with their counts, the most frequent first.
    pub spellings: Vec<(String, u64)>,
    /// The documents clicked or shown.
    pub docs: Vec<String>,
    /// Clicks: document, span, count.
    pub clicks: Vec<(u32, Span, u64)>,
    /// Impressions: span, count, and the documents shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<(Span, u64, Vec<Shown>)>,
}

/// A document of an impression: its position in [`QueryLog::docs`], its rank (0 if unknown), and
/// whether it was clicked.
pub(in crate::data) type Shown = (u32, u32, bool);

/// Sort key within an impression: by rank; unknown ranks last, by document.
pub(super) fn rank_order(&(doc, rank, _): &Shown) -> (bool, u32, u32) {
    (rank == 0, rank, doc)
}

impl QueryLog {
    /// The two logs of the same query as one.
    pub(super) fn merge(self, other: QueryLog) -> QueryLog {
        let mut builder = Builder::new(&self.query);
        builder.add(&self);
        builder.add(&other);
        builder.finish()
    }

    /// Whether it is too large to be merged with another chunk.
    pub(super) fn is_large(&self) -> bool {
        self.lists.iter().map(|(_, _, list)| list.len()).sum::<usize>() > LARGE
    }
}

/// List entries beyond which a query's log is written in several chunks, so that the most frequent
/// query does not fill the memory. A constant, so that the bytes do not depend on the memory.
const LARGE: usize = 1 << 18;

/// Builds a [`QueryLog`] from events and from other logs, in any order.
#[derive(Default)]
pub(super) struct Builder {
    query: String,
    spellings: HashMap<String, u64>,
    places: HashMap<String, u32>,
    clicks: BTreeMap<(u32, Span), u64>,
    lists: HashMap<(Span, Vec<Shown>), u64>,
    entries: usize,
}

impl Builder {
    pub(super) fn new(query: &str) -> Self {
        Builder { query: query.to_owned(), ..Builder::default() }
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn is_large(&self) -> bool {
        self.entries > LARGE
    }

    /// The number of `doc`.
    pub(super) fn place(&mut self, doc: &str) -> u32 {
        if let Some(&place) = self.places.get(doc) {
            return place;
        }
        let place = self.places.len() as u32;
        self.places.insert(doc.to_owned(), place);
        place
    }

    pub(super) fn spelt(&mut self, spelling: &str, n: u64) {
        match self.spellings.get_mut(spelling) {
            Some(count) => *count += n,
            None => {
                self.spellings.insert(spelling.to_owned(), n);
            }
        }
    }

    pub(super) fn click(&mut self, place: u32, span: Span, n: u64) {
        *self.clicks.entry((place, span)).or_default() += n;
    }

    pub(super) fn list(&mut self, span: Span, list: Vec<Shown>, n: u64) {
        let len = list.len();
        *self.lists.entry((span, list)).or_insert_with(|| {
            self.entries += len;
            0
        }) += n;
    }

    fn add(&mut self, log: &QueryLog) {
        let places: Vec<u32> = log.docs.iter().map(|doc| self.place(doc)).collect();
        for (spelling, n) in &log.spellings {
            self.spelt(spelling, *n);
        }
        for &(doc, span, n) in &log.clicks {
            self.click(places[doc as usize], span, n);
        }
        for (span, n, list) in &log.lists {
            let list =
                list.iter().map(|&(doc, rank, clicked)| (places[doc as usize], rank, clicked));
            self.list(*span, list.collect(), *n);
        }
    }

    /// The log, sorted: independent of the order of additions.
    pub(super) fn finish(self) -> QueryLog {
        let mut docs: Vec<(String, u32)> = self.places.into_iter().collect();
        docs.sort_unstable();
        let mut places = vec![0; docs.len()];
        for (place, (_, old)) in (0..).zip(&docs) {
            places[*old as usize] = place;
        }
        let renamed =
            self.clicks.into_iter().map(|((doc, span), n)| (places[doc as usize], span, n));
        let mut clicks: Vec<(u32, Span, u64)> = renamed.collect();
        clicks.sort_unstable();
        let mut lists: Vec<(Span, u64, Vec<Shown>)> = Vec::with_capacity(self.lists.len());
        for ((span, mut list), n) in self.lists {
            list.iter_mut().for_each(|(doc, _, _)| *doc = places[*doc as usize]);
            list.sort_unstable_by_key(rank_order);
            lists.push((span, n, list));
        }
        lists.sort_unstable_by(|a, b| (a.0, &a.2).cmp(&(b.0, &b.2)));
        let mut spellings: Vec<(String, u64)> = self.spellings.into_iter().collect();
        spellings.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        QueryLog {
            query: self.query,
            spellings,
            docs: docs.into_iter().map(|(doc, _)| doc).collect(),
            clicks,
            lists,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_up_whatever_comes_first() {
        let mut one = Builder::new("q");
        let (b, a) = (one.place("b"), one.place("a"));
        one.spelt("Q", 2);
        one.click(b, 7, 2);
        one.click(a, 7, 1);
        one.list(7, vec![(b, 1, true), (a, 2, false)], 3);
        let mut two = Builder::new("q");
        let (c, b) = (two.place("c"), two.place("b"));
        two.spelt("q", 2);
        two.click(b, 7, 1);
        two.click(c, 8, 1);
        two.list(7, vec![(b, 1, true), (c, 2, false)], 1);
        let (one, two) = (one.finish(), two.finish());
        let merged = one.clone().merge(two.clone());
        assert_eq!(merged, two.merge(one));
        assert_eq!(merged.docs, ["a", "b", "c"]);
        assert_eq!(merged.clicks, [(0, 7, 1), (1, 7, 3), (2, 8, 1)]);
        assert_eq!(
            merged.lists,
            [(7, 3, vec![(1, 1, true), (0, 2, false)]), (7, 1, vec![(1, 1, true), (2, 2, false)])]
        );
        assert_eq!(merged.spellings, [("Q".to_owned(), 2), ("q".to_owned(), 2)]);
    }
}
