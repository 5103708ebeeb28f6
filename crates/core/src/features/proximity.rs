//! The proximity of a query's words in a document: ordered pairs, pairs within a window, and the
//! smallest span of all words. Places are the positions of [`super::Positions`]: ascending, and far
//! apart in different fields or texts.

use super::positions::{APART, GAP, Positions};

/// Two neighbouring words of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The term that comes first.
    pub first: u32,
    /// The term that follows.
    pub second: u32,
    /// The distance from the first to the second: 1 if no dropped word is between them.
    pub distance: u64,
}

/// The pairs of neighbouring words of a query, without dropped words and without pairs of equal
/// words.
pub fn pairs(sequence: &[u32]) -> Vec<Pair> {
    let words: Vec<(u64, u32)> =
        (0u64..).zip(sequence.iter().copied()).filter(|&(_, term)| term != GAP).collect();
    words
        .windows(2)
        .filter(|two| two[0].1 != two[1].1)
        .map(|two| Pair { first: two[0].1, second: two[1].1, distance: two[1].0 - two[0].0 })
        .collect()
}

/// How often `first` is followed by `second` at most `distance` words later: 1 is side by side.
pub fn ordered(first: &[u64], second: &[u64], distance: u64) -> u32 {
    let mut next = 0;
    let mut found = 0;
    for &place in first {
        while next < second.len() && second[next] <= place {
            next += 1;
        }
        found += u32::from(second.get(next).is_some_and(|&other| other - place <= distance));
    }
    found
}

/// The largest number of disjoint stretches of at most `window` words that contain both of two
/// different words.
pub fn unordered(one: &[u64], other: &[u64], window: u64) -> u32 {
    let (mut i, mut j, mut found) = (0, 0, 0);
    // Greedy: the stretch that ends first is always part of a best choice.
    while i < one.len() && j < other.len() {
        let (a, b) = (one[i], other[j]);
        if a.abs_diff(b) < window {
            found += 1;
            let end = a.max(b);
            i += one[i..].partition_point(|&place| place <= end);
            j += other[j..].partition_point(|&place| place <= end);
        } else if a < b {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// The number of words in the shortest stretch of one text that contains all of the words whose
/// `places` are given; `None` if there is none, or if there are no words.
pub fn smallest_span(places: &[Vec<u64>]) -> Option<u64> {
    let mut at = vec![0usize; places.len()];
    let mut best: Option<u64> = None;
    loop {
        let (mut least, mut most, mut behind) = (u64::MAX, 0, 0);
        for (k, places) in places.iter().enumerate() {
            let Some(&place) = places.get(at[k]) else { return best.filter(|&span| span < APART) };
            if place < least {
                (least, behind) = (place, k);
            }
            most = most.max(place);
        }
        // `None` without words.
        let place = at.get_mut(behind)?;
        *place += 1;
        let span = most - least + 1;
        best = Some(best.map_or(span, |best| best.min(span)));
    }
}

/// The proximity of a query's words in one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proximity {
    /// [`ordered`], added over the neighbouring words of the query.
    pub ordered: u32,
    /// [`unordered`], added over the same.
    pub unordered: u32,
    /// [`smallest_span`] of all different words of the query.
    pub span: Option<u64>,
}

/// The proximity of the words of the query `sequence` in document `doc`.
pub fn proximity(positions: &Positions, sequence: &[u32], doc: usize, window: u64) -> Proximity {
    let mut words: Vec<u32> = sequence.iter().copied().filter(|&term| term != GAP).collect();
    words.sort_unstable();
    words.dedup();
    let mut places = Vec::new();
    positions.places(doc, &words, &mut places);
    let mut found = Proximity { ordered: 0, unordered: 0, span: smallest_span(&places) };
    for pair in pairs(sequence) {
        // Both are among the words, which are sorted.
        let [first, second] = [pair.first, pair.second]
            .map(|term| places.get(words.partition_point(|&word| word < term)));
        if let (Some(first), Some(second)) = (first, second) {
            found.ordered += ordered(first, second, pair.distance);
            found.unordered += unordered(first, second, window);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::positions::Sequences;
    use super::*;

    /// A text of the terms 0 to 3 and gaps.
    fn text() -> impl Strategy<Value = Vec<u32>> {
        let word = (0u32..5).prop_map(|term| if term == 4 { GAP } else { term });
        proptest::collection::vec(word, 0..24)
    }

    fn of(text: &[u32]) -> Positions {
        let sequences = Sequences::new(vec![0, text.len() as u64], text.to_vec(), 4).unwrap();
        Positions { fields: vec![sequences] }
    }

    fn places(text: &[u32], words: &[u32]) -> Vec<Vec<u64>> {
        let mut places = Vec::new();
        of(text).places(0, words, &mut places);
        places
    }

    /// The most disjoint stretches of `window` words with a 0 and a 1, by trying all.
    fn most_windows(text: &[u32], window: usize) -> u32 {
        let mut best = vec![0u32; text.len() + 1];
        for end in 1..=text.len() {
            best[end] = best[end - 1];
            for start in end.saturating_sub(window)..end {
                let stretch = &text[start..end];
                if stretch.contains(&0) && stretch.contains(&1) {
                    best[end] = best[end].max(best[start] + 1);
                }
            }
        }
        best[text.len()]
    }

    proptest! {
        #[test]
        fn pairs_in_order_are_those_one_finds_by_looking(text in text(), distance in 1usize..5) {
            let found = places(&text, &[0, 1]);
            let expected = (0..text.len())
                .filter(|&i| text[i] == 0)
                .filter(|&i| text[i + 1..].iter().take(distance).any(|&term| term == 1))
                .count();
            prop_assert_eq!(ordered(&found[0], &found[1], distance as u64), expected as u32);
        }

        #[test]
        fn windows_are_the_most_that_do_not_overlap(text in text(), window in 1usize..9) {
            let found = places(&text, &[0, 1]);
            let expected = most_windows(&text, window);
            prop_assert_eq!(unordered(&found[0], &found[1], window as u64), expected);
            prop_assert_eq!(unordered(&found[1], &found[0], window as u64), expected);
        }

        #[test]
        fn the_smallest_span_is_the_shortest_stretch_with_all_words(
            text in text(), n_words in 1u32..4
        ) {
            let words: Vec<u32> = (0..n_words).collect();
            let stretches = (0..text.len()).flat_map(|i| (i..text.len()).map(move |j| (i, j)));
            let expected = stretches
                .filter(|&(i, j)| words.iter().all(|word| text[i..=j].contains(word)))
                .map(|(i, j)| (j - i + 1) as u64)
                .min();
            prop_assert_eq!(smallest_span(&places(&text, &words)), expected);
        }
    }

    #[test]
    fn nothing_reaches_across_fields() {
        let sequence = |terms: &[u32]| Sequences::new(vec![0, 1], terms.to_vec(), 4).unwrap();
        let positions = Positions { fields: vec![sequence(&[0]), sequence(&[1])] };
        let none = Proximity { ordered: 0, unordered: 0, span: None };
        assert_eq!(proximity(&positions, &[0, 1], 0, 1000), none);
        let one = Proximity { ordered: 0, unordered: 0, span: Some(1) };
        assert_eq!(proximity(&positions, &[1, GAP], 0, 8), one);
        assert_eq!(proximity(&positions, &[], 0, 8), none);
    }

    #[test]
    fn a_query_is_its_neighbours_and_dropped_words_count_as_distance() {
        let pair = |first, second, distance| Pair { first, second, distance };
        let found = pairs(&[GAP, 0, 1, GAP, 2, 2, GAP]);
        assert_eq!(found, [pair(0, 1, 1), pair(1, 2, 2)]);
        // "bank of america" is found as it is and without the stop word, but not turned round.
        for (text, times) in [
            (&[0, GAP, 1][..], 1),
            (&[0, 1], 1),
            (&[0, GAP, GAP, 1], 0),
            (&[1, GAP, 0], 0),
            (&[0, GAP, 1, 0, 1], 2),
        ] {
            assert_eq!(proximity(&of(text), &[0, GAP, 1], 0, 8).ordered, times, "{text:?}");
        }
        let found = proximity(&of(&[2, 0, 3, 3, 1, 0]), &[0, 1, 2], 0, 4);
        assert_eq!(found, Proximity { ordered: 0, unordered: 1, span: Some(5) });
    }
}
