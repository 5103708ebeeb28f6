//! Pairs of query and document, aggregated while they are read: memory grows with the number of
//! different pairs, not with the length of the log.

use rayon::prelude::*;

use super::split_name::SplitName;

/// Merging of the weights of one pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Merge {
    /// Clicks add up.
    #[default]
    Sum,
    /// A link seen twice is one link.
    Max,
}

/// (query, document) → weight.
#[derive(Default)]
pub(super) struct Pairs {
    merge: Merge,
    entries: Vec<(u32, u32, f64)>,
    /// The number of entries at which to aggregate.
    limit: usize,
}

/// One training pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub query: u32,
    pub doc: u32,
    pub weight: f32,
    /// Whether it is a link, which the click filter keeps.
    pub linked: bool,
}

impl Pairs {
    pub(super) fn new(merge: Merge) -> Self {
        Pairs { merge, entries: Vec::new(), limit: 1 << 20 }
    }

    /// One for each split.
    pub(super) fn by_split(merge: Merge) -> [Self; 3] {
        SplitName::ALL.map(|_| Pairs::new(merge))
    }

    pub(super) fn push(&mut self, query: u32, doc: u32, weight: f64) {
        if self.entries.len() >= self.limit {
            self.aggregate();
            self.limit = self.limit.max(2 * self.entries.len());
        }
        self.entries.push((query, doc, weight));
    }

    /// Its size in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of::<(u32, u32, f64)>() * self.entries.capacity()
    }

    fn aggregate(&mut self) {
        // Stable, so that weights are added in the order in which they came.
        self.entries.par_sort_by_key(|&(query, doc, _)| (query, doc));
        let merge = self.merge;
        self.entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 = match merge {
                    Merge::Sum => kept.2 + next.2,
                    Merge::Max => kept.2.max(next.2),
                };
            }
            same
        });
    }

    /// The pairs, sorted by query and document, each once.
    pub(super) fn into_sorted(mut self) -> Vec<(u32, u32, f64)> {
        self.aggregate();
        self.entries
    }
}

/// Clicks and links as one sorted list of pairs, and how many pairs were dropped because their
/// weights add up to 0. A sum that is too large for an `f32` becomes infinite.
pub(super) fn combine(clicks: Vec<Pairs>, links: Vec<Pairs>) -> (Vec<Edge>, usize) {
    let mut edges: Vec<Edge> = Vec::new();
    for (group, linked) in [(clicks, false), (links, true)] {
        for pairs in group {
            let entries = pairs.into_sorted();
            edges.reserve(entries.len());
            edges.extend(entries.into_iter().map(|(query, doc, weight)| Edge {
                query,
                doc,
                weight: weight as f32,
                linked,
            }));
        }
    }
    edges.par_sort_by_key(|edge| (edge.query, edge.doc));
    edges.dedup_by(|next, kept| {
        let same = (next.query, next.doc) == (kept.query, kept.doc);
        if same {
            kept.weight += next.weight;
            kept.linked |= next.linked;
        }
        same
    });
    let before = edges.len();
    edges.retain(|edge| edge.weight != 0.0);
    let cancelled = before - edges.len();
    (edges, cancelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_add_up_and_links_do_not() {
        let mut clicks = Pairs::new(Merge::Sum);
        clicks.limit = 2;
        for (query, doc, n) in [(1, 0, 2.0), (0, 5, 1.0), (1, 0, 3.0), (0, 5, 1.0), (0, 2, 1.0)] {
            clicks.push(query, doc, n);
        }
        let mut links = Pairs::new(Merge::Max);
        links.push(0, 2, 1.0);
        links.push(0, 2, 1.0);
        let (edges, cancelled) = combine(vec![clicks], vec![links]);
        let edge = |query, doc, weight, linked| Edge { query, doc, weight, linked };
        assert_eq!(cancelled, 0);
        assert_eq!(edges, [edge(0, 2, 2.0, true), edge(0, 5, 2.0, false), edge(1, 0, 5.0, false)]);
    }

    #[test]
    fn weights_that_cancel_out_leave_no_pair() {
        let mut weights = Pairs::new(Merge::Sum);
        weights.push(0, 0, 1.5);
        weights.push(0, 0, -1.5);
        weights.push(0, 1, -2.0);
        let (edges, cancelled) = combine(vec![weights], Vec::new());
        assert_eq!((edges.len(), edges[0].weight, cancelled), (1, -2.0, 1));
    }

    #[test]
    fn weights_too_large_together_are_not_finite() {
        let mut clicks = Pairs::new(Merge::Sum);
        let mut links = Pairs::new(Merge::Max);
        for (query, clicked, linked) in [(0, 3e38, 0.0), (1, 3e38, 3e38), (2, 1.0, 1.0)] {
            clicks.push(query, 0, clicked);
            clicks.push(query, 0, if query == 0 { clicked } else { 0.0 });
            links.push(query, 0, linked);
        }
        let (edges, _) = combine(vec![clicks], vec![links]);
        let finite: Vec<bool> = edges.iter().map(|edge| edge.weight.is_finite()).collect();
        assert_eq!(finite, [false, false, true]);
    }

    #[test]
    fn a_million_lines_of_one_pair_are_counted_exactly() {
        let mut clicks = Pairs::new(Merge::Sum);
        clicks.limit = 1000;
        for _ in 0..1_000_003 {
            clicks.push(0, 0, 1.0);
        }
        assert!(clicks.entries.capacity() < 10_000);
        assert_eq!(clicks.into_sorted(), [(0, 0, 1_000_003.0)]);
    }
}
