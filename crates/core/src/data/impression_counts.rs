//! Impressions added up: how often each pair of query and document was shown and clicked at each
//! rank.

use rayon::prelude::*;

use super::impressions::Impressions;
use crate::Run;

/// Queries in a block, the unit of parallel work.
pub(super) const BLOCK: usize = 256;

/// Impressions and clicks of a pair at one rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    /// The rank from 1; 0 if unknown.
    pub rank: u32,
    /// Impressions there.
    pub shown: f64,
    /// Clicks there.
    pub clicked: f64,
}

/// The clicked pairs by rank, and totals by query and by rank.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ImpressionCounts {
    /// The clicked pairs, sorted: query and document.
    pub pairs: Vec<(u32, u32)>,
    starts: Vec<usize>,
    cells: Vec<Cell>,
    /// Impressions by query.
    pub pages: Vec<f64>,
    /// Documents shown and clicked at each rank, over all pairs, clicked or not; the unknown rank is
    /// first.
    pub by_rank: Vec<(f64, f64)>,
}

impl ImpressionCounts {
    /// Adds up `lists`, of a dataset with `n_queries`.
    pub(crate) fn of(lists: &Impressions, n_queries: usize, run: &Run<'_>) -> crate::Result<Self> {
        let order = lists.by_query();
        let by_query = lists.of_each(&order);
        let mut seen = ImpressionCounts {
            starts: vec![0],
            pages: vec![0.0; n_queries],
            ..ImpressionCounts::default()
        };
        // A few blocks at a time, so that a request to stop is noticed.
        for blocks in by_query.chunks(BLOCK * 64) {
            run.check()?;
            let parts: Vec<ImpressionCounts> =
                blocks.par_chunks(BLOCK).map(|queries| add_up(lists, queries)).collect();
            parts.into_iter().for_each(|part| seen.append(part));
            for queries in blocks {
                let query = lists.list(queries[0] as usize).query as usize;
                seen.pages[query] =
                    queries.iter().map(|&at| f64::from(lists.list(at as usize).count)).sum();
            }
        }
        Ok(seen)
    }

    /// The counts of pair number `p`, by rank.
    pub(crate) fn cells(&self, p: usize) -> &[Cell] {
        &self.cells[self.starts[p]..self.starts[p + 1]]
    }

    fn append(&mut self, part: ImpressionCounts) {
        let first = self.cells.len();
        self.starts.extend(part.starts.iter().skip(1).map(|start| first + start));
        self.pairs.extend(part.pairs);
        self.cells.extend(part.cells);
        if self.by_rank.len() < part.by_rank.len() {
            self.by_rank.resize(part.by_rank.len(), (0.0, 0.0));
        }
        for (all, (shown, clicked)) in self.by_rank.iter_mut().zip(part.by_rank) {
            *all = (all.0 + shown, all.1 + clicked);
        }
    }
}

/// The pairs of some queries, each with its lists.
fn add_up(lists: &Impressions, queries: &[&[u32]]) -> ImpressionCounts {
    let mut seen = ImpressionCounts { starts: vec![0], ..ImpressionCounts::default() };
    let mut entries: Vec<(u32, Cell)> = Vec::new();
    for query in queries {
        entries.clear();
        for &at in *query {
            let list = lists.list(at as usize);
            let count = f64::from(list.count);
            for ((&doc, &rank), &clicked) in list.docs.iter().zip(list.ranks).zip(list.clicked) {
                let clicked = if clicked > 0 { count } else { 0.0 };
                entries.push((doc, Cell { rank: rank.min(MAX_RANK), shown: count, clicked }));
            }
        }
        // Counts are whole numbers, so the order among equals changes no sum.
        entries.sort_unstable_by_key(|(doc, cell)| (*doc, cell.rank));
        entries.dedup_by(|next, kept| {
            let same = (next.0, next.1.rank) == (kept.0, kept.1.rank);
            if same {
                kept.1.shown += next.1.shown;
                kept.1.clicked += next.1.clicked;
            }
            same
        });
        for pair in entries.chunk_by(|a, b| a.0 == b.0) {
            for (_, cell) in pair {
                let rank = cell.rank as usize;
                if seen.by_rank.len() <= rank {
                    seen.by_rank.resize(rank + 1, (0.0, 0.0));
                }
                seen.by_rank[rank].0 += cell.shown;
                seen.by_rank[rank].1 += cell.clicked;
            }
            if pair.iter().any(|(_, cell)| cell.clicked > 0.0) {
                let query = lists.list(query[0] as usize).query;
                seen.pairs.push((query, pair[0].0));
                seen.cells.extend(pair.iter().map(|(_, cell)| *cell));
                seen.starts.push(seen.cells.len());
            }
        }
    }
    seen
}

/// Deeper ranks count as this one: they are rare and differ little.
pub(crate) const MAX_RANK: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::same_at_any_thread_count;
    use crate::random::Random;

    #[test]
    fn pages_are_added_up_by_pair_and_rank() {
        let lists = Impressions::made(&[
            (2, 3, vec![(5, 1, true), (4, 2, false)]),
            (0, 1, vec![(5, 1, false), (1, 700, true)]),
            (2, 2, vec![(5, 1, false), (4, 2, false)]),
            (2, 1, vec![(4, 1, false), (5, 2, true)]),
        ]);
        let seen = ImpressionCounts::of(&lists, 3, &Run::silent()).unwrap();
        assert_eq!(seen.pairs, [(0, 1), (2, 5)]);
        assert_eq!(seen.cells(0), [Cell { rank: MAX_RANK, shown: 1.0, clicked: 1.0 }]);
        let both = [
            Cell { rank: 1, shown: 5.0, clicked: 3.0 },
            Cell { rank: 2, shown: 1.0, clicked: 1.0 },
        ];
        assert_eq!(seen.cells(1), both);
        assert_eq!(seen.pages, [1.0, 0.0, 6.0]);
        assert_eq!(seen.by_rank[..3], [(0.0, 0.0), (7.0, 3.0), (6.0, 1.0)]);
    }

    #[test]
    fn the_same_at_any_thread_count() {
        let mut random = Random::new(1, 1);
        let mut list = || {
            let docs: Vec<(u32, u32, bool)> =
                (1..=6).map(|rank| (random.below(9) as u32, rank, random.below(3) == 0)).collect();
            (random.below(2_000) as u32, 1 + random.below(4) as u32, docs)
        };
        let lists: Vec<_> = (0..5_000).map(|_| list()).collect();
        let lists = Impressions::made(&lists);
        let seen = same_at_any_thread_count(|| {
            ImpressionCounts::of(&lists, 2_000, &Run::silent()).unwrap()
        });
        assert!(seen.pairs.is_sorted() && seen.pairs.len() > 2_000);
    }
}
