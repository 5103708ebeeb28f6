use proptest::prelude::*;

use super::*;
use crate::eval::{Discount, Empty, Gain, Ties};
use crate::ranking::{tie_rank, top_k};

/// A ranking of `docs` with falling scores.
fn ranking(docs: &[u32]) -> Vec<Hit> {
    docs.iter().zip(0..).map(|(&doc, i)| Hit { doc, score: -(i as f32) }).collect()
}

fn value(measure: &str, docs: &[u32], grades: &[(u32, f32)], variant: &Variant) -> Option<f64> {
    let (indices, values): (Vec<u32>, Vec<f32>) = grades.iter().copied().unzip();
    let judged = Row { indices: &indices, values: &values };
    measure.parse::<Measure>().unwrap().of(&ranking(docs), judged, variant)
}

#[track_caller]
fn assert_close(got: Option<f64>, expected: f64) {
    let got = got.expect("a value");
    assert!((got - expected).abs() < 1e-12, "{got}, expected {expected}");
}

const DEFAULT: Variant = Variant {
    gain: Gain::Exp,
    discount: Discount::Log2,
    ideal: Ideal::Judgments,
    relevant_from: 1.0,
    empty: Empty::Zero,
    max_grade: 4.0,
    ties: Ties::DocnoDesc,
};
const LINEAR: Variant = Variant { gain: Gain::Linear, ..DEFAULT };

/// Documents 1 to 6 are judged 3, 2, 0, 1, 2 and −1; nothing else is.
const GRADES: [(u32, f32); 6] = [(1, 3.0), (2, 2.0), (3, 0.0), (4, 1.0), (5, 2.0), (6, -1.0)];
/// The grades in order: 2, 0, not judged, 3, 1, −1. Document 5 is not retrieved.
const RETRIEVED: [u32; 6] = [2, 3, 9, 1, 4, 6];

#[test]
fn ndcg_by_hand() {
    // Discounts of ranks 1 to 5: 1, 1/log2 3, 1/2, 1/log2 5, 1/log2 6.
    let d = [1.0, 1.0 / 3f64.log2(), 0.5, 1.0 / 5f64.log2(), 1.0 / 6f64.log2()];
    // Gains 2^g − 1 are 7, 3, 1 for grades 3, 2, 1; the ideal order is 3, 2, 2, 1.
    // @3: the ranking has 3 at rank 1, then nothing.
    let ideal_3 = 7.0 * d[0] + 3.0 * d[1] + 3.0 * d[2];
    assert_close(value("nDCG@3", &RETRIEVED, &GRADES, &DEFAULT), 3.0 / ideal_3);
    // @5 and without a cut: 3 at rank 1, 7 at rank 4, 1 at rank 5.
    let got = 3.0 * d[0] + 7.0 * d[3] + 1.0 * d[4];
    let ideal = ideal_3 + 1.0 * d[3];
    assert_close(value("nDCG@5", &RETRIEVED, &GRADES, &DEFAULT), got / ideal);
    assert_close(value("nDCG", &RETRIEVED, &GRADES, &DEFAULT), got / ideal);
    // (3 + 3.014737 + 0.386853) / (7 + 1.892789 + 1.5 + 0.430677) = 6.401590 / 10.823466
    assert!((got / ideal - 0.591455).abs() < 1e-6);
    // Linear gain: 2, 3, 1 at ranks 1, 4, 5 over 3, 2, 2, 1.
    let got = 2.0 * d[0] + 3.0 * d[3] + 1.0 * d[4];
    let ideal = 3.0 * d[0] + 2.0 * d[1] + 2.0 * d[2] + 1.0 * d[3];
    assert_close(value("nDCG@10", &RETRIEVED, &GRADES, &LINEAR), got / ideal);
}

#[test]
fn average_precision_by_hand() {
    // Relevant at ranks 1, 4, 5 out of R = 4: (1/1 + 2/4 + 3/5) / 4 = 0.525.
    assert_close(value("AP", &RETRIEVED, &GRADES, &DEFAULT), 0.525);
    // The cut takes away the third term, not the division by R: (1 + 1/2) / 4.
    assert_close(value("AP@4", &RETRIEVED, &GRADES, &DEFAULT), 0.375);
    // From grade 2 on: ranks 1 and 4 out of R = 3.
    let from_2 = Variant { relevant_from: 2.0, ..DEFAULT };
    assert_close(value("AP", &RETRIEVED, &GRADES, &from_2), 0.5);
}

#[test]
fn precision_recall_and_reciprocal_rank_by_hand() {
    assert_close(value("P@5", &RETRIEVED, &GRADES, &DEFAULT), 3.0 / 5.0);
    // Divided by k even though only six were retrieved.
    assert_close(value("P@100", &RETRIEVED, &GRADES, &DEFAULT), 3.0 / 100.0);
    assert_close(value("R@3", &RETRIEVED, &GRADES, &DEFAULT), 1.0 / 4.0);
    assert_close(value("R@100", &RETRIEVED, &GRADES, &DEFAULT), 3.0 / 4.0);
    assert_close(value("RR", &RETRIEVED, &GRADES, &DEFAULT), 1.0);
    let from_3 = Variant { relevant_from: 3.0, ..DEFAULT };
    assert_close(value("RR", &RETRIEVED, &GRADES, &from_3), 1.0 / 4.0);
    assert_close(value("RR@3", &RETRIEVED, &GRADES, &from_3), 0.0);
}

#[test]
fn rank_loss_by_hand() {
    // Grades 3 2 2 1 0 −1: 15 pairs, 14 of unlike grade. Ranked 2, 0, 3, 1, −1 (absent: 2).
    // Wrong: (2 above 3), (0 above 3), (0 above 1), and the absent 2 below 0, 1, −1: six.
    assert_close(value("RankLoss", &RETRIEVED, &GRADES, &DEFAULT), 6.0 / 14.0);
    // Nothing retrieved: all tied.
    assert_close(value("RankLoss", &[], &GRADES, &DEFAULT), 0.5);
    // A tie in score counts one half: grades 1 and 0 share the first place, 2 comes third;
    // of three pairs one is tied, two are wrong.
    let hits = [(0, 7.0), (1, 7.0), (2, 5.0)].map(|(doc, score)| Hit { doc, score });
    let judged = Row { indices: &[0, 1, 2], values: &[1.0, 0.0, 2.0] };
    assert_close(Measure::RankLoss.of(&hits, judged, &DEFAULT), 2.5 / 3.0);
    // No pair of unlike grade: nothing to measure, whatever `empty` says.
    let one = Variant { empty: Empty::One, ..DEFAULT };
    assert_eq!(value("RankLoss", &[1, 2], &[(1, 1.0), (2, 1.0)], &one), None);
    assert_eq!(value("RankLoss", &[1, 2], &[], &one), None);
}

#[test]
fn rank_loss_of_all_by_hand() {
    // Relevant are 1, 2, 4, 5; ranked 2, 3, 9, 1, 4, 6 and 5 not at all. The others are 3, 9, 6:
    // 12 pairs. Wrong: 1 and 4 below 3 and 9, and 5 below all three: seven.
    assert_close(value("RankLossAll", &RETRIEVED, &GRADES, &DEFAULT), 7.0 / 12.0);
    // From grade 3 on: 1 alone, below 2, 3 and 9 of the five others.
    let from_3 = Variant { relevant_from: 3.0, ..DEFAULT };
    assert_close(value("RankLossAll", &RETRIEVED, &GRADES, &from_3), 3.0 / 5.0);
    // A tie counts one half, and nobody need judge the others.
    let hits = [(0, 7.0), (1, 7.0), (2, 5.0)].map(|(doc, score)| Hit { doc, score });
    let judged = Row { indices: &[1], values: &[1.0] };
    assert_close(Measure::RankLossAll.of(&hits, judged, &DEFAULT), 0.25);
    for (docs, grades) in [(&[1u32][..], &[(1, 1.0)][..]), (&[1], &[]), (&[], &[(1, 1.0)])] {
        assert_eq!(value("RankLossAll", docs, grades, &DEFAULT), None);
    }
    assert!(!Measure::RankLossAll.higher_is_better());
}

const WITH_EMPTY: [&str; 12] = [
    "nDCG",
    "nDCG@2",
    "AP",
    "AP@2",
    "P@2",
    "R@2",
    "RR",
    "RR@2",
    "ERR",
    "ERR@2",
    "Rprec",
    "Success@2",
];

#[test]
fn a_query_without_a_relevant_document_follows_the_variant() {
    for measure in WITH_EMPTY {
        for grades in [&[][..], &[(1, 0.0), (2, -1.0)]] {
            for (empty, expected) in
                [(Empty::Zero, Some(0.0)), (Empty::Skip, None), (Empty::One, Some(1.0))]
            {
                let variant = Variant { empty, ..DEFAULT };
                assert_eq!(value(measure, &[1, 2], grades, &variant), expected, "{measure}");
            }
        }
        // Relevant documents that were not retrieved are another matter.
        let skip = Variant { empty: Empty::Skip, ..DEFAULT };
        assert_eq!(value(measure, &[1, 2], &[(3, 1.0)], &skip), Some(0.0), "{measure}");
        assert_eq!(value(measure, &[], &[(3, 1.0)], &skip), Some(0.0), "{measure}");
    }
}

/// The nDCG of grades in the order of the ranking, document i being the one at place i.
fn ndcg_of(grades: &[u8], k: usize, variant: &Variant) -> Option<f64> {
    let docs: Vec<u32> = (0..grades.len() as u32).collect();
    let judged: Vec<(u32, f32)> =
        docs.iter().copied().zip(grades.iter().map(|&grade| f32::from(grade))).collect();
    value(&format!("nDCG@{k}"), &docs, &judged, variant)
}

const LISTS: [&[u8]; 3] = [&[2, 0, 1, 3, 0, 1, 2], &[0, 0, 4, 1, 0, 3, 0, 0, 2, 1], &[1, 2, 3, 4]];

/// Golden values: computed in Python by LETOR's definition, gains 0, 1, 3, 7, 15 and the
/// discounts 1, 1, 1/log2 3, 1/log2 4 …; as a table of gains it must be the same.
#[test]
fn ndcg_of_the_letor_preset() {
    let letor = Variant::preset("letor").unwrap();
    let table = Variant { gain: "0,1,3,7,15".parse().unwrap(), ..letor };
    for (grades, expected) in LISTS.iter().zip([
        [0.42857142857142855, 0.30530514532579517, 0.5560844357009844, 0.6695852933572805],
        [0.0, 0.3961005222246245, 0.4013922300902318, 0.5607331660230901],
        [0.06666666666666667, 0.35226143683605055, 0.6525087436652608, 0.6525087436652608],
    ]) {
        for (k, expected) in [1, 3, 5, 10].into_iter().zip(expected) {
            assert_close(ndcg_of(grades, k, &letor), expected);
            assert_close(ndcg_of(grades, k, &table), expected);
        }
    }
    assert_eq!(ndcg_of(&[0, 0, 0], 3, &letor), Some(0.0));
}

/// Golden values: LightGBM 4.7.0, metric ndcg; scikit-learn's ndcg_score of 2^g − 1 agrees.
#[test]
fn ndcg_of_the_lightgbm_preset_agrees_with_lightgbm() {
    let lightgbm = Variant::preset("lightgbm").unwrap();
    for (grades, expected) in LISTS.iter().zip([
        [0.42857142857142855, 0.33677195911498925, 0.5811374434435087, 0.7021159126870039],
        [0.0, 0.35856845231496587, 0.3648966054685159, 0.5344741678184877],
        [0.06666666666666667, 0.30563367349201165, 0.60209052070894, 0.60209052070894],
    ]) {
        for (k, expected) in [1, 3, 5, 10].into_iter().zip(expected) {
            assert_close(ndcg_of(grades, k, &lightgbm), expected);
        }
    }
    assert_eq!(ndcg_of(&[0, 0, 0], 3, &lightgbm), Some(1.0));
}

#[test]
fn judgments_of_the_candidates_alone() {
    let candidates = Variant { ideal: Ideal::Candidates, ..DEFAULT };
    // Document 5 is judged, but not a candidate: three are relevant, at ranks 1, 4, 5.
    assert_close(value("AP", &RETRIEVED, &GRADES, &candidates), (1.0 + 0.5 + 0.6) / 3.0);
    assert_close(value("R@4", &RETRIEVED, &GRADES, &candidates), 2.0 / 3.0);
    assert_close(value("Rprec", &RETRIEVED, &GRADES, &candidates), 1.0 / 3.0);
    // All other judgments as if document 5 had none.
    let others: Vec<(u32, f32)> = GRADES.into_iter().filter(|&(doc, _)| doc != 5).collect();
    for measure in ["nDCG", "nDCG@3", "P@3", "RR", "ERR", "RankLoss", "Judged@6"] {
        assert_eq!(
            value(measure, &RETRIEVED, &GRADES, &candidates),
            value(measure, &RETRIEVED, &others, &DEFAULT),
            "{measure}"
        );
    }
    // Nothing relevant among the candidates: an empty query.
    let one = Variant { empty: Empty::One, ..candidates };
    assert_eq!(value("nDCG@2", &[3, 6], &GRADES, &one), Some(1.0));
}

#[test]
fn expected_reciprocal_rank_by_hand() {
    // Grades 2, 0, not judged, 3, 1, −1; stops with 3/16, 0, 0, 7/16, 1/16, 0.
    let (first, fourth, fifth) = (3.0 / 16.0, 7.0 / 16.0, 1.0 / 16.0);
    let to_four = first + (1.0 - first) * fourth / 4.0;
    let all = to_four + (1.0 - first) * (1.0 - fourth) * fifth / 5.0;
    assert_close(value("ERR@3", &RETRIEVED, &GRADES, &DEFAULT), first);
    assert_close(value("ERR@4", &RETRIEVED, &GRADES, &DEFAULT), to_four);
    assert_close(value("ERR@20", &RETRIEVED, &GRADES, &DEFAULT), all);
    assert_close(value("ERR", &RETRIEVED, &GRADES, &DEFAULT), all);
    // The highest grade is 2, as in MQ2007: 3/4, and grade 3 counts as 2.
    let to_two = Variant { max_grade: 2.0, ..DEFAULT };
    let expected = 0.75 + 0.25 * 0.75 / 4.0 + 0.25 * 0.25 * 0.25 / 5.0;
    assert_close(value("ERR@20", &RETRIEVED, &GRADES, &to_two), expected);
    // The gain is nDCG's matter.
    let linear = Variant { gain: Gain::Linear, ..DEFAULT };
    assert_close(value("ERR", &RETRIEVED, &GRADES, &linear), all);
}

#[test]
fn success_r_precision_and_judged_by_hand() {
    assert_close(value("Success@1", &RETRIEVED, &GRADES, &DEFAULT), 1.0);
    let from_3 = Variant { relevant_from: 3.0, ..DEFAULT };
    assert_close(value("Success@3", &RETRIEVED, &GRADES, &from_3), 0.0);
    assert_close(value("Success@4", &RETRIEVED, &GRADES, &from_3), 1.0);
    // R = 4, and two of the first four are relevant; R = 1, and the first is not.
    assert_close(value("Rprec", &RETRIEVED, &GRADES, &DEFAULT), 0.5);
    assert_close(value("Rprec", &RETRIEVED, &GRADES, &from_3), 0.0);
    // Five of six are in the pool, one of them below zero: not judged. There are no ten.
    assert_close(value("Judged@2", &RETRIEVED, &GRADES, &DEFAULT), 1.0);
    assert_close(value("Judged@6", &RETRIEVED, &GRADES, &DEFAULT), 4.0 / 6.0);
    assert_close(value("Judged@10", &RETRIEVED, &GRADES, &DEFAULT), 4.0 / 6.0);
    // No matter of relevance.
    let skip = Variant { empty: Empty::Skip, ..DEFAULT };
    assert_eq!(value("Judged@2", &[1, 2], &[(1, 0.0)], &skip), Some(0.5));
}

#[test]
fn ndcg_of_perfect_ranking_is_one() {
    let perfect = [1, 2, 5, 4, 3, 6, 9];
    for variant in [DEFAULT, LINEAR] {
        for measure in ["nDCG", "nDCG@1", "nDCG@3", "nDCG@100", "AP", "P@4", "R@4", "RR"] {
            assert_eq!(value(measure, &perfect, &GRADES, &variant), Some(1.0), "{measure}");
        }
    }
    assert_eq!(value("RankLoss", &perfect, &GRADES, &DEFAULT), Some(0.0));
    assert_eq!(value("RankLoss", &[6, 3, 4, 5, 2, 1], &GRADES, &DEFAULT), Some(1.0));
}

#[test]
fn clicks_in_the_thousands_may_be_grades() {
    let grades = [(1, 5000.0), (2, 4999.0), (3, 1.0)];
    // Gains 2^5000, 2^4999 and nothing beside them: halves of each other.
    let d = 1.0 / 3f64.log2();
    assert_close(value("nDCG@2", &[2, 1], &grades, &DEFAULT), (0.5 + d) / (1.0 + 0.5 * d));
}

#[test]
fn only_rank_loss_is_better_when_lower() {
    for measure in WITH_EMPTY {
        assert!(measure.parse::<Measure>().unwrap().higher_is_better());
    }
    assert!(!Measure::RankLoss.higher_is_better());
    assert_eq!(Measure::P { k: 5 }.depth(), Some(5));
    assert_eq!(Measure::Ap { k: None }.depth(), None);
}

/// Scores for 30 documents with many ties, and grades for some of them.
fn a_query() -> impl Strategy<Value = (Vec<f32>, Vec<(u32, f32)>)> {
    let scores = prop::collection::vec((0u8..12).prop_map(f32::from), 30);
    let grades = prop::collection::btree_map(0u32..30, (-1i8..5).prop_map(f32::from), 0..30);
    (scores, grades.prop_map(|grades| grades.into_iter().collect()))
}

fn a_measure() -> impl Strategy<Value = Measure> {
    let cut = prop::option::of(1usize..40);
    prop_oneof![
        cut.clone().prop_map(|k| Measure::Ndcg { k }),
        cut.clone().prop_map(|k| Measure::Ap { k }),
        cut.prop_map(|k| Measure::Rr { k }),
        (1usize..40).prop_map(|k| Measure::P { k }),
        (1usize..40).prop_map(|k| Measure::R { k }),
        prop::option::of(1usize..40).prop_map(|k| Measure::Err { k }),
        (1usize..40).prop_map(|k| Measure::Success { k }),
        Just(Measure::Rprec),
        Just(Measure::RankLoss),
        Just(Measure::RankLossAll),
    ]
}

fn a_variant() -> impl Strategy<Value = Variant> {
    let gain = prop_oneof![Just(Gain::Exp), Just(Gain::Linear), Just("0,1,1,5".parse().unwrap()),];
    (gain, 1u8..4, 0..Variant::PRESET_NAMES.len()).prop_map(|(gain, from, preset)| Variant {
        gain,
        relevant_from: f32::from(from),
        empty: Empty::Zero,
        ..Variant::preset(Variant::PRESET_NAMES[preset]).unwrap()
    })
}

fn ranked(scores: &[f32], k: usize) -> Vec<Hit> {
    let ids: Vec<String> = (0..scores.len()).map(|i| format!("d{i}")).collect();
    top_k(scores, k, &tie_rank(&ids), &[])
}

/// Rank loss by looking at every pair.
fn naive_rank_loss(hits: &[Hit], grades: &[(u32, f32)]) -> Option<f64> {
    let score = |doc| hits.iter().find(|hit| hit.doc == doc).map(|hit| hit.score);
    let (mut loss, mut pairs) = (0.0, 0.0);
    for &(better, high) in grades {
        for &(worse, _) in grades.iter().filter(|&&(_, low)| low < high) {
            let (better, worse) = (score(better), score(worse));
            pairs += 1.0;
            loss += if better == worse { 0.5 } else { f64::from(u8::from(better < worse)) };
        }
    }
    (pairs > 0.0).then(|| loss / pairs)
}

proptest! {
    #[test]
    fn every_measure_lies_between_zero_and_one(
        (scores, grades) in a_query(), measure in a_measure(), variant in a_variant(), k in 0usize..31,
    ) {
        let (indices, values): (Vec<u32>, Vec<f32>) = grades.into_iter().unzip();
        let judged = Row { indices: &indices, values: &values };
        let value = measure.of(&ranked(&scores, k), judged, &variant);
        prop_assert!(value.is_none_or(|value| (0.0..=1.0).contains(&value)), "{:?}", value);
        prop_assert!(value.is_some() || !measure.higher_is_better());
    }

    #[test]
    fn rank_loss_is_that_of_every_pair((scores, grades) in a_query(), k in 0usize..31) {
        let hits = ranked(&scores, k);
        let (indices, values): (Vec<u32>, Vec<f32>) = grades.iter().copied().unzip();
        let judged = Row { indices: &indices, values: &values };
        let value = Measure::RankLoss.of(&hits, judged, &DEFAULT);
        prop_assert_eq!(value, naive_rank_loss(&hits, &grades));
    }

    #[test]
    fn rank_loss_of_all_is_that_of_every_pair(
        (scores, grades) in a_query(), k in 0usize..31, variant in a_variant(),
    ) {
        let hits = ranked(&scores, k);
        let (indices, values): (Vec<u32>, Vec<f32>) = grades.iter().copied().unzip();
        let judged = Row { indices: &indices, values: &values };
        let (mut loss, mut pairs) = (0.0, 0.0);
        let relevant = |doc: u32| judged.get(doc) >= variant.relevant_from;
        let score = |doc: u32| hits.iter().find(|hit| hit.doc == doc).map(|hit| hit.score);
        for &doc in indices.iter().filter(|&&doc| relevant(doc)) {
            for other in hits.iter().filter(|hit| !relevant(hit.doc)) {
                pairs += 1.0;
                loss += match score(doc) {
                    Some(score) if score == other.score => 0.5,
                    Some(score) if score > other.score => 0.0,
                    _ => 1.0,
                };
            }
        }
        let expected = (pairs > 0.0).then(|| loss / pairs);
        let judgments = Variant { ideal: Ideal::Judgments, ..variant };
        prop_assert_eq!(Measure::RankLossAll.of(&hits, judged, &judgments), expected);
    }

    #[test]
    fn a_better_order_of_two_neighbours_never_lowers_a_measure(
        (scores, grades) in a_query(), measure in a_measure(), variant in a_variant(), at in 0usize..29,
    ) {
        let (indices, values): (Vec<u32>, Vec<f32>) = grades.into_iter().unzip();
        let judged = Row { indices: &indices, values: &values };
        let order: Vec<u32> = ranked(&scores, 30).iter().map(|hit| hit.doc).collect();
        let mut better = order.clone();
        if judged.get(order[at]) < judged.get(order[at + 1]) {
            better.swap(at, at + 1);
        }
        let before = measure.of(&ranking(&order), judged, &variant);
        let after = measure.of(&ranking(&better), judged, &variant);
        if let (Some(before), Some(after)) = (before, after) {
            let gained = if measure.higher_is_better() { after - before } else { before - after };
            prop_assert!(gained >= -1e-12, "{before} became {after}");
        }
    }
}
