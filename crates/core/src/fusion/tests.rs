use proptest::prelude::*;

use super::*;
use crate::eval::trec::Qrels;
use crate::eval::{Measure, Variant};

type Given<'a> = &'a [(&'a str, &'a str, f64)];

const A: Given<'_> = &[
    ("q1", "a", 9.0),
    ("q1", "b", 7.5),
    ("q1", "c", 7.0),
    ("q1", "d", 1.0),
    ("q2", "x", 3.0),
    ("q2", "y", 2.0),
    ("q2", "z", 0.5),
];
const B: Given<'_> = &[
    ("q1", "c", 0.9),
    ("q1", "e", 0.8),
    ("q1", "a", 0.1),
    ("q2", "z", 12.0),
    ("q2", "x", 11.0),
    ("q2", "y", 4.0),
];
const C: Given<'_> = &[
    ("q1", "e", -1.0),
    ("q1", "a", -2.0),
    ("q1", "b", -4.0),
    ("q1", "f", -9.0),
    ("q2", "y", 1.0),
    ("q2", "z", 0.25),
    ("q2", "x", 0.125),
];

fn runs() -> Vec<TrecRun> {
    [A, B, C].iter().map(|scored| TrecRun::new("t", scored.iter().copied())).collect()
}

fn with(method: FusionMethod, normalise: Normalise) -> RunFusion {
    RunFusion { method, normalise, ..RunFusion::default() }
}

/// The scores of a query by document, of the three runs fused.
fn scores(fusion: &RunFusion, query: usize) -> Vec<(String, f32)> {
    let runs = runs();
    let mut hits = fusion.fuse(&runs, usize::MAX).unwrap().swap_remove(query).hits;
    hits.sort_unstable_by_key(|hit| hit.0);
    hits.into_iter().map(|(doc, score)| (doc.to_owned(), score)).collect()
}

/// `expected` holds the scores of the documents a to f of q1, or x to z of q2.
#[track_caller]
fn assert_scores(fusion: &RunFusion, query: usize, expected: &[f64]) {
    let found = scores(fusion, query);
    let docs =
        if query == 0 { ["a", "b", "c", "d", "e", "f"].as_slice() } else { &["x", "y", "z"] };
    assert_eq!(found.len(), docs.len());
    for (((doc, score), expected_doc), expected) in found.iter().zip(docs).zip(expected) {
        assert_eq!(doc, expected_doc);
        let off = (f64::from(*score) - expected).abs();
        assert!(off < 1e-6 * expected.abs().max(1.0), "{doc}: {score}, expected {expected}");
    }
}

/// Golden values: ranx 0.3.21, `fuse` of the same three runs.
#[test]
fn scores_agree_with_ranx() {
    use FusionMethod::{Max, Min, Mnz, Sum};
    let rrf = [0.04839549, 0.03200205, 0.03226646, 0.015625, 0.03252247, 0.015625];
    assert_scores(&RunFusion::default(), 0, &rrf);
    assert_scores(&RunFusion::default(), 1, &[0.04839549; 3]);
    for (method, normalise, q1, q2) in [
        (Sum, Normalise::MinMax, [1.875, 1.4375, 1.75, 0.0, 1.875, 0.0], [1.875, 1.6, 1.142857142]),
        (Mnz, Normalise::MinMax, [5.625, 2.875, 3.5, 0.0, 3.75, 0.0], [5.625, 4.8, 3.428571428]),
        (Max, Normalise::MinMax, [1.0, 0.8125, 1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0]),
        (Min, Normalise::MinMax, [0.0, 0.625, 0.75, 0.0, 0.875, 0.0], [0.0, 0.0, 0.0]),
        (
            Sum,
            Normalise::Sum,
            [0.740243902, 0.567073171, 0.826016260, 0.0, 0.866666667, 0.0],
            [1.091666667, 1.25, 0.658333333],
        ),
        (Mnz, Normalise::Rank, [6.25, 2.5, 3.0, 0.25, 3.333333333, 0.25], [6.0, 6.0, 6.0]),
        (Min, Normalise::Rank, [0.333333333, 0.5, 0.5, 0.25, 0.666666667, 0.25], [0.333333333; 3]),
        (
            Max,
            Normalise::ZScore,
            [0.942908071, 0.450956034, 0.842927230, -1.680836126, 0.973328527, -1.622214211],
            [1.135549948, 1.401826052, 0.842927230],
        ),
    ] {
        assert_scores(&with(method, normalise), 0, &q1);
        assert_scores(&with(method, normalise), 1, &q2);
    }
    // Where every run found every document, what is missing does not matter.
    let z = with(Sum, Normalise::ZScore);
    assert_scores(&z, 1, &[0.834839249, 0.159168755, -0.994008005]);
    let weighted = RunFusion { weights: Some(vec![0.7, 0.2, 0.1]), ..with(Sum, Normalise::MinMax) };
    assert_scores(&weighted, 0, &[0.7875, 0.63125, 0.725, 0.0, 0.275, 0.0]);
    assert_scores(&weighted, 1, &[0.875, 0.52, 0.214285714]);
}

#[test]
fn a_document_that_was_not_found_counts_as_the_last_at_best() {
    // Lowest z: a −1.680836, b −1.404879, c −1.622214. d was found by the first run alone.
    let z = scores(&with(FusionMethod::Sum, Normalise::ZScore), 0);
    assert!((f64::from(z[3].1) - (-1.680836126 - 1.404878717 - 1.622214211)).abs() < 1e-5);
    // Without normalising: 0 where a run's scores lie above it, else its lowest.
    assert_scores(
        &with(FusionMethod::Sum, Normalise::None),
        0,
        &[7.1, 3.5, 7.9 - 9.0, 1.0 - 9.0, -0.2, -9.0],
    );
}

#[test]
fn other_normalisations_by_hand() {
    let scores = [4.0, 3.0, 0.0];
    assert_eq!(Normalise::L2.of(&scores), [0.8, 0.6, 0.0]);
    assert_eq!(Normalise::Max.of(&scores), [1.0, 0.75, 0.0]);
    assert_eq!(Normalise::None.of(&scores), scores);
    for normalise in [Normalise::MinMax, Normalise::ZScore, Normalise::Sum] {
        assert_eq!(normalise.of(&[2.0, 2.0]), [0.0, 0.0]);
        assert!(normalise.of(&[]).is_empty());
    }
}

#[test]
fn ties_go_to_the_larger_id_and_the_rest_is_cut() {
    let runs = runs();
    let fused = RunFusion::default().fuse(&runs, 2).unwrap();
    let q2: Vec<&str> = fused[1].hits.iter().map(|hit| hit.0).collect();
    assert_eq!((fused[1].id, q2), ("q2", vec!["z", "y"]));
    assert_eq!(fused[0].hits.len(), 2);
}

#[test]
fn a_query_of_one_run_alone_is_kept() {
    let runs = [
        TrecRun::new("a", [("q1", "a", 1.0)]),
        TrecRun::new("b", [("q0", "b", -3.0), ("q0", "c", -5.0)]),
    ];
    for fusion in [RunFusion::default(), with(FusionMethod::Sum, Normalise::None)] {
        let fused = fusion.fuse(&runs, 10).unwrap();
        assert_eq!(fused.iter().map(|query| query.id).collect::<Vec<_>>(), ["q0", "q1"]);
        assert_eq!(fused[0].hits.iter().map(|hit| hit.0).collect::<Vec<_>>(), ["b", "c"]);
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let runs = runs();
    let message = |fusion: RunFusion| fusion.fuse(&runs, 10).unwrap_err().to_string();
    for weights in [vec![1.0], vec![0.0; 3], vec![1.0, -1.0, 1.0], vec![f64::NAN, 1.0, 1.0]] {
        let weights = RunFusion { weights: Some(weights), ..RunFusion::default() };
        assert!(message(weights).contains("3 numbers, one for each run"));
    }
    assert!(
        message(RunFusion { rank_constant: -1.0, ..RunFusion::default() }).contains("such as 60")
    );
    assert!(
        message(with(FusionMethod::Mnz, Normalise::ZScore))
            .contains("mnz needs scores of 0 or more")
    );
    let negative = message(with(FusionMethod::Sum, Normalise::Max));
    assert!(negative.contains("the score of f for q1 in run t = -9"), "{negative}");
    assert!(message(with(FusionMethod::Mnz, Normalise::L2)).contains("choose min-max or rank"));
    assert!(RunFusion::default().fuse(&[], 10).is_err());
}

#[test]
fn tuning_finds_the_run_that_is_right() {
    let right = TrecRun::new("r", (0..20).map(|i| (QUERIES[i / 4], DOCS[i % 4], -(i as f64))));
    let wrong = TrecRun::new("w", (0..20).map(|i| (QUERIES[i / 4], DOCS[i % 4], i as f64)));
    let qrels = Qrels::new(QUERIES.iter().map(|&query| (query, "a", 1)));
    let measure = Measure::Rr { k: None };
    let fusion = with(FusionMethod::Sum, Normalise::MinMax);
    let runs = [wrong, right];
    let tuned = tune(&fusion, &runs, &qrels, measure, &Variant::default()).unwrap();
    // Of choices that are as good, the most even one is kept.
    assert_eq!((tuned.score, tuned.queries), (1.0, 5));
    assert_eq!(tuned.weights, [0.4, 0.6]);
    assert_eq!(tuned.alone, [0.25, 1.0]);
    let other = Qrels::new([("other", "a", 1)]);
    let error = tune(&fusion, &runs, &other, measure, &Variant::default()).unwrap_err();
    assert!(error.to_string().contains("no query of the runs is judged"));
    assert!(tune(&fusion, &runs[..1], &qrels, measure, &Variant::default()).is_err());
}

const QUERIES: [&str; 5] = ["1", "2", "3", "4", "5"];
const DOCS: [&str; 4] = ["a", "b", "c", "d"];
const MANY: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn a_run() -> impl Strategy<Value = TrecRun> {
    let line = (0..5usize, 0..8usize, prop_oneof![0f64..9.0, (0u8..5).prop_map(f64::from)]);
    prop::collection::vec(line, 1..60).prop_map(|lines| {
        TrecRun::new("t", lines.into_iter().map(|(q, d, score)| (QUERIES[q], MANY[d], score)))
    })
}

fn a_fusion() -> impl Strategy<Value = RunFusion> {
    let methods = [
        FusionMethod::Rrf,
        FusionMethod::Sum,
        FusionMethod::Mnz,
        FusionMethod::Max,
        FusionMethod::Min,
    ];
    let all = [
        Normalise::None,
        Normalise::MinMax,
        Normalise::Sum,
        Normalise::Max,
        Normalise::L2,
        Normalise::Rank,
        Normalise::ZScore,
    ];
    (0..5usize, 0..7usize)
        .prop_map(move |(m, n)| with(methods[m], all[n]))
        .prop_filter("sound", |fusion| fusion.check(1).is_ok())
}

proptest! {
    #[test]
    fn fusing_one_run_keeps_its_order(run in a_run(), fusion in a_fusion()) {
        let runs = [run];
        for query in fusion.fuse(&runs, usize::MAX).unwrap() {
            let list = runs[0].query(runs[0].find(query.id).unwrap());
            // What is tied may come in the order of ids; nothing else may change places.
            let before: Vec<f64> = list.hits().map(|hit| hit.score).collect();
            let score = |doc: &str| list.hits().find(|hit| hit.doc == doc).unwrap().score;
            let after: Vec<f64> = query.hits.iter().map(|hit| score(hit.0)).collect();
            for (before, after) in before.iter().zip(&after) {
                prop_assert!((before - after).abs() < 1e-5, "{:?} {:?}", before, after);
            }
            prop_assert_eq!(before.len(), after.len());
        }
    }

    #[test]
    fn the_order_of_the_runs_changes_nothing(
        runs in prop::collection::vec(a_run(), 1..6), fusion in a_fusion(), seed: u64,
    ) {
        let mut order: Vec<usize> = (0..runs.len()).collect();
        crate::random::Random::new(seed, 0).shuffle(&mut order);
        let shuffled: Vec<TrecRun> = order.iter().map(|&r| runs[r].clone()).collect();
        let (here, there) = (fusion.fuse(&runs, 9).unwrap(), fusion.fuse(&shuffled, 9).unwrap());
        prop_assert_eq!(here, there);
    }

    #[test]
    fn the_number_of_threads_changes_nothing(
        runs in prop::collection::vec(a_run(), 1..4), fusion in a_fusion(),
    ) {
        let at = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fusion.fuse(&runs, 9).unwrap())
        };
        prop_assert_eq!(at(1), at(3));
    }
}
