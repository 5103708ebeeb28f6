//! From one score per document to a ranking.
//!
//! The order is trec_eval's: score descending, then document id descending, so that other tools rank
//! a run file as liken does.

use std::ops::Add;

use rayon::prelude::*;

use crate::top_k::TopK;

/// A document in a ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The document's number.
    pub doc: u32,
    /// Its score; larger is better.
    pub score: f32,
}

/// A document with its sort key: score in the high half, tie rank in the low half.
#[derive(Clone, Copy)]
struct Candidate {
    key: u64,
    doc: u32,
}

/// The `k` best documents by `scores`, one per document, best first; `usize::MAX` for all. Equal
/// scores (0 and −0 are equal) are ordered by [`tie_rank`], larger first. The documents in
/// `excluded`, sorted, are left out. NaN ranks below all other scores.
///
/// # Panics
/// If `scores` and `tie_rank` differ in length.
pub fn top_k(scores: &[f32], k: usize, tie_rank: &[u32], excluded: &[u32]) -> Vec<Hit> {
    assert_eq!(scores.len(), tie_rank.len(), "one tie rank per score");
    debug_assert!(excluded.is_sorted(), "excluded documents are sorted");
    let mut best = TopK::new(k, |a: &Candidate, b: &Candidate| b.key.cmp(&a.key));
    // Documents below this score are not among the best.
    let mut floor = f32::NEG_INFINITY;
    for (doc, &score) in scores.iter().enumerate() {
        if score < floor {
            continue;
        }
        let candidate = Candidate {
            key: u64::from(ascending(score)) << 32 | u64::from(tie_rank[doc]),
            doc: doc as u32,
        };
        if excluded.binary_search(&candidate.doc).is_ok() {
            continue;
        }
        if let Some(worst) = best.push(candidate) {
            // If this is NaN, nothing is skipped above: slower, but correct.
            floor = scores[worst.doc as usize];
        }
    }
    let best = best.into_sorted();
    best.iter().map(|c| Hit { doc: c.doc, score: scores[c.doc as usize] }).collect()
}

/// The rank of each id in ascending byte order, for [`top_k`]. Equal ids keep their order.
///
/// # Panics
/// If there are 2³² ids or more: documents are numbered with 32 bits.
pub fn tie_rank(ids: &[String]) -> Vec<u32> {
    assert!(u32::try_from(ids.len()).is_ok(), "documents are numbered with 32 bits");
    let mut order: Vec<u32> = (0..ids.len() as u32).collect();
    order.par_sort_by(|&a, &b| ids[a as usize].as_bytes().cmp(ids[b as usize].as_bytes()));
    let mut ranks = vec![0; ids.len()];
    for (rank, &doc) in order.iter().enumerate() {
        ranks[doc as usize] = rank as u32;
    }
    ranks
}

/// The share of `hits`, best first, that have the same score as another hit; 0 for no hits. If it is
/// large, measures depend as much on document ids as on the scorer.
pub fn share_of_ties(hits: &[Hit]) -> f64 {
    if hits.is_empty() {
        return 0.0;
    }
    let tied: usize =
        hits.chunk_by(|a, b| a.score == b.score).map(<[Hit]>::len).filter(|&len| len > 1).sum();
    tied as f64 / hits.len() as f64
}

/// `value`, or 0 if it is −0, so that equal values have equal bits.
pub fn unsigned_zero<T: Add<Output = T> + Default>(value: T) -> T {
    value + T::default()
}

/// Maps scores to integers in the same order: NaN first, then −∞ to ∞, 0 equal to −0.
fn ascending(score: f32) -> u32 {
    if score.is_nan() {
        return 0;
    }
    // Positive floats are ordered as their bits, negative ones below them in reverse.
    let bits = unsigned_zero(score).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn docs(hits: &[Hit]) -> Vec<u32> {
        hits.iter().map(|hit| hit.doc).collect()
    }

    #[test]
    fn ties_go_to_the_larger_document_id() {
        let ids = ["d2", "d10", "d3", "D9"].map(String::from);
        let ranks = tie_rank(&ids);
        assert_eq!(ranks, [2, 1, 3, 0]);
        assert_eq!(docs(&top_k(&[1.0; 4], usize::MAX, &ranks, &[])), [2, 0, 1, 3]);
        assert_eq!(docs(&top_k(&[0.0, -0.0, 0.0, 1.0], 2, &ranks, &[])), [3, 2]);
    }

    #[test]
    fn excluded_documents_are_left_out() {
        let ranks = [0, 1, 2, 3];
        assert_eq!(docs(&top_k(&[4.0, 3.0, 2.0, 1.0], 2, &ranks, &[0, 2])), [1, 3]);
        assert!(top_k(&[1.0, 2.0], 5, &[0, 1], &[0, 1]).is_empty());
    }

    #[test]
    fn nothing_asked_or_nothing_there_gives_nothing() {
        assert!(top_k(&[1.0], 0, &[0], &[]).is_empty());
        assert!(top_k(&[], usize::MAX, &[], &[]).is_empty());
    }

    #[test]
    fn a_score_that_is_no_number_ranks_last() {
        let scores = [f32::NAN, f32::NEG_INFINITY, -1.0, f32::INFINITY, 1e-40];
        let ranks = [4, 3, 2, 1, 0];
        assert_eq!(docs(&top_k(&scores, usize::MAX, &ranks, &[])), [3, 4, 2, 1, 0]);
    }

    #[test]
    fn ties_are_counted_by_documents() {
        let hits = [3.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0].map(|score| Hit { doc: 0, score });
        assert_eq!(share_of_ties(&hits), 5.0 / 7.0);
        assert_eq!(share_of_ties(&hits[..2]), 0.0);
        assert_eq!(share_of_ties(&[]), 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn top_k_is_a_full_sort_cut_at_k(
            // Few different scores for many ties; enough documents to fill the buffer.
            scores in prop::collection::vec(
                prop_oneof![(-20i8..20).prop_map(|s| f32::from(s) / 4.0), -1f32..1.0],
                0..6000,
            ),
            k in prop_oneof![0usize..50, 0usize..7000, Just(usize::MAX)],
            keep_one_in in 2usize..9,
            ascending_scores: bool,
            seed: u64,
        ) {
            let mut scores = scores;
            if ascending_scores {
                scores.sort_by(f32::total_cmp);
            }
            let mut ranks: Vec<u32> = (0..scores.len() as u32).collect();
            crate::random::Random::new(seed, 0).shuffle(&mut ranks);
            let excluded: Vec<u32> = (0..scores.len() as u32).step_by(keep_one_in).collect();
            let mut expected: Vec<u32> =
                (0..scores.len() as u32).filter(|doc| !excluded.contains(doc)).collect();
            expected.sort_by(|&a, &b| {
                let (a, b) = (a as usize, b as usize);
                scores[b].partial_cmp(&scores[a]).unwrap().then(ranks[b].cmp(&ranks[a]))
            });
            expected.truncate(k);
            let hits = top_k(&scores, k, &ranks, &excluded);
            prop_assert_eq!(docs(&hits), expected);
            prop_assert!(hits.iter().all(|hit| hit.score == scores[hit.doc as usize]));
        }
    }
}
