//! Golden values of ndeval, and everything once more from the definitions.

use proptest::prelude::*;

use super::*;
use crate::eval::trec::{Qrels, TrecRun};
use crate::eval::trec_eval::{EvalParams, Evaluation, columns, evaluate};

/// Query, then subtopic, document and grade.
const JUDGED: [(&str, &str); 4] = [
    (
        "q1",
        "2 19 1, 3 08 1, 1 11 1, 3 16 1, 2 00 2, 2 14 1, 3 14 1, 1 07 1, 1 17 1, 1 02 1, \
         2 02 2, 2 15 1, 1 05 2, 2 05 1, 1 23 1",
    ),
    ("q2", "5 04 1, 1 20 1, 5 20 1, 3 03 2, 1 21 1, 4 21 2, 6 11 1, 1 16 1, 6 16 2, 2 09 2"),
    ("q3", "1 19 2, 1 04 1, 1 01 1, 1 17 1, 1 07 1, 1 13 1"),
    ("q4", "1 09 0, 2 09 0, 2 22 0"),
];
/// Query, then documents, best first.
const RANKED: [(&str, &str); 4] = [
    ("q1", "11 08 14 20 13 04 01 17 15 05 19 03 02 09"),
    ("q2", "15 16 20 19 03 00 04 09 22 08 11 05 23 17"),
    ("q3", "00 10 13 02 12 15 01 03 16 18 09 22 17 20"),
    ("q4", "22 19 12 11 07 09 10 20 21 06 02 16 05 17"),
];

fn qrels() -> Qrels {
    let lines: Vec<(&str, Vec<&str>)> = JUDGED
        .iter()
        .flat_map(|&(query, lines)| {
            lines.split(", ").map(move |line| (query, line.split(' ').collect()))
        })
        .collect();
    let judged = lines.iter().map(|(query, line)| (*query, line[0], line[1], line[2]));
    Qrels::by_subtopic(judged.map(|(q, s, doc, grade)| (q, s, doc, grade.parse().unwrap())))
}

fn run() -> TrecRun {
    let hits = RANKED.iter().flat_map(|&(query, docs)| {
        docs.split(' ').enumerate().map(move |(rank, doc)| (query, doc, -(rank as f64)))
    });
    TrecRun::new("made", hits)
}

fn evaluated(names: &[&str]) -> Evaluation {
    let columns = columns(names).unwrap();
    evaluate(&qrels(), &run(), &columns, &EvalParams::default()).unwrap()
}

/// Golden values: ndeval 4.5 as pyndeval 0.0.8 calls it, on the same judgments and rankings.
#[test]
fn values_agree_with_ndeval() {
    for (name, expected) in [
        ("alpha_nDCG@1", [0.5, 0.0, 0.0]),
        ("alpha_nDCG@5", [0.655281427246, 0.546537674552, 0.329277133622]),
        ("alpha-nDCG@10", [0.737853244416, 0.60858257887, 0.435841166002]),
        ("alpha_nDCG@20", [0.756375365682, 0.638046136355, 0.478768720852]),
        ("alpha_DCG@10", [0.613746585759, 0.311977642311, 0.433175357926]),
        ("ERR_IA@2", [0.4, 0.133333333333, 0.0]),
        ("ERR_IA@10", [0.521369088889, 0.22802442352, 0.292008677954]),
        ("ERR-IA@20", [0.527507593404, 0.233462109881, 0.305846083269]),
        ("nERR_IA@10", [0.664366383438, 0.502840909091, 0.292819463882]),
        ("P_IA@5", [0.266666666667, 0.166666666667, 0.2]),
        ("P_IA@20", [0.183333333333, 0.066666666667, 0.15]),
        ("strec@5", [1.0, 0.666666666667, 1.0]),
        ("StRecall@10", [1.0, 0.833333333333, 1.0]),
        ("alpha_nDCG(alpha=0.2,rel=2)@10", [0.14233127749, 0.520473201339, 0.0]),
        ("ERR_IA(alpha=0.2,rel=2)@10", [0.025334499845, 0.104504811861, 0.0]),
        ("nERR_IA(alpha=0.2,rel=2)@10", [0.056603773585, 0.396, 0.0]),
    ] {
        let evaluation = evaluated(&[name]);
        assert_eq!(evaluation.queries.len(), 4);
        // Nothing answers any subtopic of the last query.
        for (query, expected) in evaluation.queries.iter().zip(expected.into_iter().chain([0.0])) {
            let found = query.values[0].number();
            assert!((found - expected).abs() < 1e-11, "{name} {}: {found} {expected}", query.id);
        }
    }
}

#[test]
fn other_measures_look_at_the_highest_grade_of_a_document() {
    let evaluation = evaluated(&["P@3", "alpha_nDCG@5", "num_rel"]);
    let first: Vec<f64> = evaluation.queries[0].values.iter().map(|v| v.number()).collect();
    assert_eq!((first[0], first[2]), (1.0, 12.0));
    let plain = Qrels::new([("q1", "11", 1)]);
    let columns = columns(&["ERR_IA@5"]).unwrap();
    let error = evaluate(&plain, &run(), &columns, &EvalParams::default()).unwrap_err();
    assert!(error.to_string().contains("ERR_IA@5: documents were not judged by subtopic"));
}

#[test]
fn unjudged_documents_may_be_taken_out() {
    let columns = columns(&["StRecall@2", "StRecall(judged_only=True)@2"]).unwrap();
    let judged = Qrels::by_subtopic([("q", "x", "a", 1), ("q", "y", "b", 1), ("q", "y", "c", 0)]);
    let run = TrecRun::new("t", [("q", "a", 3.0), ("q", "u", 2.0), ("q", "b", 1.0)]);
    let found = evaluate(&judged, &run, &columns, &EvalParams::default()).unwrap();
    let values: Vec<f64> = found.queries[0].values.iter().map(|value| value.number()).collect();
    assert_eq!(values, [0.5, 1.0]);
}

#[test]
fn names_are_read_and_printed() {
    for (given, canonical) in [
        ("alpha-nDCG@10", "alpha_nDCG@10"),
        ("alpha_ndcg(alpha=0.5)@10", "alpha_nDCG@10"),
        ("alpha_nDCG(alpha=0.25)@5", "alpha_nDCG(alpha=0.25)@5"),
        ("err-ia@20", "ERR_IA@20"),
        ("nERR_IA@3", "nERR_IA@3"),
        ("alpha_DCG@3", "alpha_DCG@3"),
        ("P-IA@5", "P_IA@5"),
        ("strec@10", "StRecall@10"),
    ] {
        let measure: DiversityMeasure = given.parse().unwrap();
        assert_eq!(measure.to_string(), canonical);
        assert_eq!(canonical.parse::<DiversityMeasure>().unwrap(), measure);
    }
    for (name, expected) in [
        ("nDCG@10", "there are alpha_nDCG@k"),
        ("alpha_nDCG", "the number of documents"),
        ("alpha_nDCG@0", "the number of documents"),
        ("alpha_nDCG(alpha=2)@5", "alpha from 0 to 1"),
        ("StRecall(alpha=0.5)@5", "alpha from 0 to 1"),
        ("alpha_nDCG(alpha=0.5@5", "there are"),
    ] {
        let error = name.parse::<DiversityMeasure>().unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    assert!(columns(&["ERR_IA"]).unwrap_err().to_string().contains("as in ERR_IA@10"));
    assert!(columns(&["P_IA(alpha=0.5)@5"]).is_err());
}

#[test]
fn candidates_that_gain_nothing_have_no_place() {
    let subtopics = [vec![], vec![0], vec![0, 1], vec![1], vec![2], vec![]];
    // Two subtopics first, then the new one, then the first of what is worth a half.
    assert_eq!(diverse_order(&subtopics, 0.5, 10), [2, 4, 1, 3]);
    assert_eq!(diverse_order(&subtopics, 0.5, 2), [2, 4]);
    assert_eq!(diverse_order(&subtopics, 1.0, 10), [2, 4]);
    assert!(diverse_order(&[vec![], vec![]], 0.5, 10).is_empty());
}

/// The gain at rank `i` (from 0) by its definition.
fn gain(ranked: &[&[u32]], i: usize, alpha: f64) -> f64 {
    let before = |s: u32| ranked[..i].iter().filter(|doc| doc.contains(&s)).count() as i32;
    ranked[i].iter().map(|&s| (1.0 - alpha).powi(before(s))).sum()
}

fn slow(measure: &DiversityMeasure, ranked: &[&[u32]], judged: &[Vec<u32>]) -> f64 {
    let mut all: Vec<u32> = judged.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        return 0.0;
    }
    let n = all.len() as f64;
    let (k, alpha) = (measure.k, measure.alpha);
    let discount = |i: usize| match measure.kind {
        DiversityKind::AlphaNdcg | DiversityKind::AlphaDcg => 2f64.ln() / (i as f64 + 2.0).ln(),
        _ => 1.0 / (i as f64 + 1.0),
    };
    let total = |docs: &[&[u32]]| -> f64 {
        (0..k.min(docs.len())).map(|i| gain(docs, i, alpha) * discount(i)).sum()
    };
    let top = &ranked[..k.min(ranked.len())];
    match measure.kind {
        DiversityKind::AlphaNdcg | DiversityKind::NerrIa => {
            let mut left: Vec<&[u32]> = judged.iter().map(Vec::as_slice).collect();
            let mut ideal: Vec<&[u32]> = Vec::new();
            while !left.is_empty() {
                let with = |doc: &&[u32]| {
                    let longer: Vec<&[u32]> = ideal.iter().copied().chain([*doc]).collect();
                    gain(&longer, ideal.len(), alpha)
                };
                let best = (0..left.len()).fold(0, |best, at| {
                    if with(&left[at]) >= with(&left[best]) - 1e-12 { at } else { best }
                });
                let next = left.remove(best);
                ideal.push(next);
            }
            total(ranked) / total(&ideal)
        }
        DiversityKind::AlphaDcg | DiversityKind::ErrIa => {
            let perfect: Vec<&[u32]> = vec![&all; k];
            total(ranked) / total(&perfect)
        }
        DiversityKind::PIa => {
            top.iter().map(|doc| doc.len()).sum::<usize>() as f64 / (n * k as f64)
        }
        DiversityKind::StRecall => {
            all.iter().filter(|s| top.iter().any(|doc| doc.contains(s))).count() as f64 / n
        }
    }
}

const KINDS: [DiversityKind; 6] = [
    DiversityKind::AlphaNdcg,
    DiversityKind::AlphaDcg,
    DiversityKind::ErrIa,
    DiversityKind::NerrIa,
    DiversityKind::PIa,
    DiversityKind::StRecall,
];

proptest! {
    #[test]
    fn values_are_those_of_the_definitions(
        judged in prop::collection::vec(prop::collection::btree_set(0u32..6, 0..4), 1..12),
        order in prop::collection::vec(0usize..14, 0..14),
        k in 1usize..16,
        alpha in prop_oneof![Just(0.5), Just(0.0), Just(1.0), Just(0.3)],
    ) {
        let judged: Vec<Vec<u32>> =
            judged.into_iter().map(|doc| doc.into_iter().collect()).collect();
        let mut seen = std::collections::HashSet::new();
        let ranked: Vec<&[u32]> = order
            .iter()
            .filter(|&&at| seen.insert(at))
            .map(|&at| judged.get(at).map_or(&[][..], Vec::as_slice))
            .collect();
        let intents = JudgedSubtopics::new(judged.clone());
        for kind in KINDS {
            let measure = DiversityMeasure { kind, k, alpha };
            let (found, expected) =
                (measure.evaluate(&ranked, &intents), slow(&measure, &ranked, &judged));
            prop_assert!((found - expected).abs() < 1e-9, "{measure} {found} {expected}");
            prop_assert!(found >= 0.0);
        }
    }
}
