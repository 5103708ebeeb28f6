//! The k best documents of a stream of scores.

use std::cmp::Ordering;

use crate::ranking::Hit;
use crate::top_k::TopK;

/// Collects the k largest scores, equal ones (0 and −0 are equal) by lower number. Scores that are
/// not finite are left out.
pub(super) struct Best {
    top: TopK<Hit, fn(&Hit, &Hit) -> Ordering>,
    /// Scores below this are not among the best.
    floor: f32,
}

impl Best {
    /// An empty collection.
    pub fn new(k: usize) -> Self {
        Best { top: TopK::new(k, order), floor: f32::MIN }
    }

    /// Adds `doc` if it is among the best so far.
    #[inline]
    pub fn offer(&mut self, doc: u32, score: f32) {
        // Written so that NaN fails both comparisons.
        if score >= self.floor
            && score <= f32::MAX
            && let Some(worst) = self.top.push(Hit { doc, score })
        {
            self.floor = worst.score;
        }
    }

    /// Adds the documents of `other`.
    pub fn merge(&mut self, other: Best) {
        other.unsorted().into_iter().for_each(|hit| self.offer(hit.doc, hit.score));
    }

    /// The best documents, unordered.
    pub fn unsorted(self) -> Vec<Hit> {
        self.top.into_unsorted()
    }

    /// The best documents, largest score first.
    pub fn sorted(self) -> Vec<Hit> {
        self.top.into_sorted()
    }
}

/// Larger scores first, equal ones by lower number.
pub(super) fn order(a: &Hit, b: &Hit) -> Ordering {
    b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal).then(a.doc.cmp(&b.doc))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_are_a_full_sort_cut_at_k(
            scores in prop::collection::vec(
                prop_oneof![
                    (-20i8..20).prop_map(|score| f32::from(score) / 4.0),
                    -1f32..1.0,
                    Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), Just(-0.0),
                ],
                0..2000,
            ),
            k in prop_oneof![0usize..20, 0usize..3000, Just(usize::MAX)],
            parts in 1usize..4,
        ) {
            let mut best = Best::new(k);
            let mut at = 0;
            for part in scores.chunks(scores.len() / parts + 1) {
                let mut own = Best::new(k);
                for &score in part {
                    own.offer(at, score);
                    at += 1;
                }
                best.merge(own);
            }
            let mut expected: Vec<Hit> = (0..)
                .zip(&scores)
                .filter(|(_, score)| score.is_finite())
                .map(|(doc, &score)| Hit { doc, score })
                .collect();
            expected.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap());
            expected.truncate(k);
            prop_assert_eq!(best.sorted(), expected);
        }
    }
}
