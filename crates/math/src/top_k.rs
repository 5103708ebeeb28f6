//! The k best of many items: the one selection behind every ranking.
//!
//! A buffer of a few times k items is cut to the k best whenever it is full: O(n + k log k) in time and
//! O(k) in memory. The caller skips items that are worse than the floor, so that most cost one
//! comparison.

use std::cmp::Ordering;

/// Items beyond k in the buffer, so that a small k does not mean many selections.
const SLACK: usize = 1024;

/// Keeps the `k` best of items that come one after another. `order` puts the better item first and
/// must not call two different items equal, or which of them is kept depends on how they came.
pub struct TopK<T, O> {
    k: usize,
    items: Vec<T>,
    order: O,
}

impl<T, O: Fn(&T, &T) -> Ordering> TopK<T, O> {
    /// Nothing yet of `k`; `usize::MAX` keeps all.
    pub fn new(k: usize, order: O) -> Self {
        TopK { k, items: Vec::new(), order }
    }

    /// Takes `item`. If the buffer was cut, gives the worst of the items kept: the new floor.
    #[inline]
    pub fn push(&mut self, item: T) -> Option<&T> {
        self.items.push(item);
        if self.items.len() < self.k.saturating_add(self.k.max(SLACK)) {
            return None;
        }
        select(&mut self.items, self.k, &self.order);
        self.items.last()
    }

    /// The best, in no order.
    pub fn into_unsorted(mut self) -> Vec<T> {
        select(&mut self.items, self.k, &self.order);
        self.items
    }

    /// The best, the best first.
    pub fn into_sorted(mut self) -> Vec<T> {
        select_sorted(&mut self.items, self.k, &self.order);
        self.items
    }
}

/// Cuts `items` to the `k` best, the worst of them last, the others in no order.
pub fn select<T>(items: &mut Vec<T>, k: usize, order: impl Fn(&T, &T) -> Ordering) {
    if (1..items.len()).contains(&k) {
        items.select_nth_unstable_by(k - 1, order);
    }
    items.truncate(k);
}

/// Cuts `items` to the `k` best, the best first.
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
