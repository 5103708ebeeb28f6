//! The hash kernel: the index of the weight that a pair of words shares with others.
//!
//! ```text
//! h(s, t) = (s·P + t) mod H
//! ```

use std::ops::Range;

use crate::sparse::Row;

/// P of the hash: a prime far from every power of two, or adjacent words would share their weights
/// if H is one. Saved models depend on it: never change it.
const P: u64 = 2_654_435_761;
/// The indices of the weights of one query word.
#[derive(Clone, Copy)]
pub(super) struct Hashes {
    /// s·P mod H.
    first: usize,
    n: usize,
}

impl Hashes {
    pub fn of(s: u32, n: usize) -> Self {
        Hashes { first: (u64::from(s) * P % n as u64) as usize, n }
    }

    /// h(s, t), without a division if there are as many weights as words.
    #[inline]
    pub fn at(self, t: u32) -> usize {
        let t = t as usize;
        let place = self.first + if t < self.n { t } else { t % self.n };
        if place < self.n { place } else { place - self.n }
    }

    /// The entries of `row` whose hash lies in `span`, in order: a run of it, or a few.
    pub fn within(self, row: Row<'_>, span: Range<usize>) -> impl Iterator<Item = (u32, f32)> {
        let last = row.indices.last().map_or(0, |&t| t as usize + 1);
        // The t below which hashes are in the span, one turn around the weights after the other.
        let turns = (0..=(last + self.first) / self.n).map(move |turn| {
            let of = |place: usize| (place + turn * self.n).saturating_sub(self.first);
            of(span.start)..of(span.end)
        });
        turns.flat_map(move |run| {
            let start = row.indices.partition_point(|&t| (t as usize) < run.start);
            let rest = &row.indices[start..];
            let end = start + rest.partition_point(|&t| (t as usize) < run.end);
            Row { indices: &row.indices[start..end], values: &row.values[start..end] }.iter()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matchers::Ssi;

    proptest! {
        #[test]
        fn parts_find_every_entry_once_and_in_order(
            s in 0u32..u32::MAX,
            n in 1usize..40,
            part in 1usize..40,
            words in proptest::collection::btree_set(0u32..100, 0..20),
        ) {
            let indices: Vec<u32> = words.into_iter().collect();
            let values = vec![1.0; indices.len()];
            let row = Row { indices: &indices, values: &values };
            let hashes = Hashes::of(s, n);
            let mut found = 0;
            for first in (0..n).step_by(part) {
                let span = first..(first + part).min(n);
                let within: Vec<u32> =
                    hashes.within(row, span.clone()).map(|entry| entry.0).collect();
                let expected: Vec<u32> =
                    indices.iter().copied().filter(|&t| span.contains(&hashes.at(t))).collect();
                found += within.len();
                prop_assert_eq!(within, expected);
            }
            prop_assert_eq!(found, indices.len());
            for &t in &indices {
                let by_definition = (u64::from(s) * P + u64::from(t)) % n as u64;
                prop_assert_eq!(hashes.at(t) as u64, by_definition);
            }
        }
    }

    #[test]
    fn pairs_of_words_spread_over_all_weights() {
        for n in [Ssi::default().weights, 1 << 17, 1_000_000] {
            let mut filled = vec![false; n];
            for s in 0..5000 {
                let hashes = Hashes::of(s, n);
                (0..5000).for_each(|t| filled[hashes.at(t)] = true);
            }
            let share = filled.iter().filter(|&&filled| filled).count() as f64 / n as f64;
            assert!(share > 0.9, "{n}: {share}");
        }
    }
}
