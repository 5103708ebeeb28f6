//! The k best of many items: the selection behind every ranking.
//!
//! A buffer of a few times k items is cut to the k best whenever it is full: O(n + k log k) time and
//! O(k) memory. The caller skips items below the floor, so that most cost one comparison.

use std::cmp::Ordering;

/// The least number of items beyond k in the buffer, so that a small k does not cause many
/// selections.
const SLACK: usize = 1024;

/// Collects the `k` best of a stream of items. `order` puts the better item first. It must not call
/// different items equal, or the result depends on the order of the stream.
pub struct TopK<T, O> {
    k: usize,
    items: Vec<T>,
    order: O,
}

impl<T, O: Fn(&T, &T) -> Ordering> TopK<T, O> {
    /// An empty collection; a `k` of `usize::MAX` keeps all items.
    pub fn new(k: usize, order: O) -> Self {
        TopK { k, items: Vec::new(), order }
    }

    /// Adds `item`. If that cuts the buffer, returns the worst item kept: the new floor.
    #[inline]
    pub fn push(&mut self, item: T) -> Option<&T> {
        self.items.push(item);
        if self.items.len() < self.k.saturating_add(self.k.max(SLACK)) {
            return None;
        }
        select(&mut self.items, self.k, &self.order);
        self.items.last()
    }

    /// The best items, unordered.
    pub fn into_unsorted(mut self) -> Vec<T> {
        select(&mut self.items, self.k, &self.order);
        self.items
    }

    /// The best items, best first.
    pub fn into_sorted(mut self) -> Vec<T> {
        select_sorted(&mut self.items, self.k, &self.order);
        self.items
    }
}

/// Cuts `items` to the `k` best, the worst of them last, the others unordered.
pub fn select<T>(items: &mut Vec<T>, k: usize, order: impl Fn(&T, &T) -> Ordering) {
    if (1..items.len()).contains(&k) {
        items.select_nth_unstable_by(k - 1, order);
    }
    items.truncate(k);
}

/// Cuts `items` to the `k` best, best first.
pub fn select_sorted<T>(items: &mut Vec<T>, k: usize, order: impl Fn(&T, &T) -> Ordering) {
    select(items, k, &order);
    items.sort_unstable_by(order);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_a_full_sort_cut_at_k(
            numbers in prop::collection::vec(any::<u16>(), 0..4000),
            k in prop_oneof![0usize..20, 0usize..5000, Just(usize::MAX)],
        ) {
            let items: Vec<(u16, usize)> = numbers.into_iter().zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by(|a, b| b.cmp(a));
            expected.truncate(k);
            let mut best = TopK::new(k, |a: &(u16, usize), b: &(u16, usize)| b.cmp(a));
            let mut floor = None;
            for item in items {
                if floor.is_some_and(|floor| item < floor) {
                    continue;
                }
                if let Some(&worst) = best.push(item) {
                    floor = Some(worst);
                }
            }
            prop_assert_eq!(best.into_sorted(), expected);
        }
    }
}
