//! Against trec_eval's own expected files, by hand, and against the definitions.

use std::path::Path;

use super::*;
use crate::data::fixture::real_data;
use crate::eval::trec::{Qrels, TrecRun, read_qrels, read_run};
use crate::{Error, Result, Run};

fn printed(
    qrels: &Qrels,
    run: &TrecRun,
    measures: &[&str],
    params: &EvalParams,
    per_query: bool,
) -> Result<String> {
    let evaluation = evaluate(qrels, run, &columns(measures)?, params)?;
    let mut out = Vec::new();
    evaluation.write(&mut out, per_query, true).unwrap();
    Ok(String::from_utf8(out).unwrap())
}

fn like_trec_eval(
    folder: &Path,
    (qrels, run, expected): (&str, &str, &str),
    measures: &[&str],
    params: EvalParams,
    per_query: bool,
) {
    let (qrels, _) = read_qrels(&folder.join(qrels), false, Run::silent()).unwrap();
    let (run, _) = read_run(&folder.join(run), false, Run::silent()).unwrap();
    let got = printed(&qrels, &run, measures, &params, per_query).unwrap();
    let file = std::fs::read_to_string(folder.join(expected)).unwrap();
    for (got, wanted) in got.lines().zip(file.lines()) {
        assert_eq!(got, wanted, "{expected}");
    }
    assert_eq!(got, file, "{expected}");
}

#[test]
fn every_line_of_trec_evals_own_tests_is_the_same() {
    let Some(folder) = real_data("trec_eval") else { return };
    let default = EvalParams::default();
    let test = |expected| ("qrels.test", "results.test", expected);
    like_trec_eval(&folder, test("out.test"), &["official"], default, false);
    like_trec_eval(&folder, test("out.test.a"), &["all_trec"], default, false);
    like_trec_eval(&folder, test("out.test.aq"), &["all_trec"], default, true);
    let complete = EvalParams { complete: true, ..default };
    let trunc = |expected| ("qrels.test", "results.trunc", expected);
    like_trec_eval(&folder, trunc("out.test.aqc"), &["all_trec"], complete, true);
    let hundred = EvalParams { max_results: 100, ..complete };
    like_trec_eval(&folder, trunc("out.test.aqcM"), &["all_trec"], hundred, true);
    let level = EvalParams { level: 2, ..default };
    let files = ("qrels.rel_level", "results.test", "out.test.aql");
    like_trec_eval(&folder, files, &["all_trec", "relstring.20"], level, true);
    let measures = [
        "iprec_at_recall..10,.20,.25,.75,.50",
        "P.5,7,3",
        "recall.20,2000",
        "Rprec_mult.5.0,0.2,0.35",
        "utility.2,-1,0,0",
        "11pt_avg..25,.5,.75",
        "ndcg.1=3,2=9,4=4.5",
        "ndcg_cut.10,20,23.4",
        "success.2,5,20",
    ];
    like_trec_eval(&folder, test("out.test.meas_params"), &measures, default, true);
}

/// Grades by rank: 2, not pooled, 1, 0, pooled but not judged. Of the judgments `d` (1) and
/// `f` (0) were not retrieved, so that R = 3 and two documents are judged not relevant.
fn small() -> (Qrels, TrecRun) {
    let judged = [("a", 2), ("b", 0), ("c", 1), ("d", 1), ("e", -1), ("f", 0)];
    let scored = [("a", 5.0), ("x", 4.0), ("c", 3.0), ("b", 2.0), ("e", 1.0)];
    (
        Qrels::new(judged.map(|(doc, grade)| ("q", doc, grade))),
        TrecRun::new("small", scored.map(|(doc, score)| ("q", doc, score))),
    )
}

fn value(measure: &str, params: &EvalParams) -> String {
    let (qrels, run) = small();
    let text = printed(&qrels, &run, &[measure], params, measure.starts_with("relstring")).unwrap();
    text.lines().next().unwrap().rsplit('\t').next().unwrap().to_owned()
}

#[test]
fn a_small_ranking_worked_out_by_hand() {
    for (measure, expected) in [
        ("runid", "small"),
        ("num_q", "1"),
        ("num_ret", "5"),
        ("num_rel", "3"),
        ("num_rel_ret", "2"),
        ("num_nonrel_judged_ret", "1"),
        // (1/1 + 2/3) / 3
        ("map", "0.5556"),
        ("gm_map", "0.5556"),
        ("map_cut.2", "0.3333"),
        ("Rprec", "0.6667"),
        // No judged document that is not relevant stands above a relevant one.
        ("bpref", "0.6667"),
        ("recip_rank", "1.0000"),
        ("iprec_at_recall.0", "1.0000"),
        ("iprec_at_recall.0.5", "0.6667"),
        ("iprec_at_recall.1", "0.0000"),
        ("P.5", "0.4000"),
        ("P.10", "0.2000"),
        ("recall.1", "0.3333"),
        ("relative_P.5", "0.6667"),
        ("success.1", "1.0000"),
        ("relstring.4", "'2-10'"),
        ("relstring", "'2-10.'"),
        // 1, and 1/3 + 2/3 · 1/2 · about 1 for c, over 3
        ("infAP", "0.5556"),
        ("Rprec_mult.2", "0.3333"),
        ("utility", "-1.0000"),
        ("utility.1,0,-2,0", "0.0000"),
        // (1/log2 2 + 1/log2 3) / 3
        ("binG", "0.5436"),
        // (2/log2 2 + 1/log2(2 + 4 − 3)) / 4
        ("G", "0.6577"),
        // 2 + 1/log2 4, over 2 + 1/log2 3 + 1/log2 4
        ("dcg", "2.5000"),
        ("ideal_dcg", "3.1309"),
        ("ndcg", "0.7985"),
        ("ndcg_cut.2", "0.7602"),
        ("nDCG@2", "0.7602"),
        ("nDCG(dcg='exp-log2')", "0.8473"),
        // gains 4 and 1: 4.5 over 5.1309
        ("ndcg.2=4", "0.8770"),
        // (1 + ndcg + ndcg) / 3, both for different reasons
        ("ndcg_rel", "0.8657"),
        ("Rndcg", "0.8657"),
        ("set_P", "0.4000"),
        ("set_recall", "0.6667"),
        ("set_relative_P", "0.6667"),
        ("set_map", "0.2667"),
        ("set_F", "0.5000"),
        // ln((1 + 5/3) / (1 + 3 − 5/3))
        ("yaap", "0.1335"),
        // 0.1 · (1 + ½·0.9²)
        ("rbp", "0.1405"),
        ("rbp.p=0.5", "0.5625"),
        ("RBP(p=0.5)", "0.5625"),
        ("RBP(p=0.5)@1", "0.5000"),
        ("RBP(p=0.5,rel=1)", "0.6250"),
        // 0.9^5 + 0.1 · (0.9 + 0.9⁴)
        ("rbp_resid", "0.7461"),
        ("unj.5", "0.4000"),
        ("Judged@10", "0.6000"),
        // 3/16 + (13/16 · 1/16) / 3
        ("ERR@5", "0.2044"),
        // 3/4 + (1/4 · 1/4) / 3
        ("ERR(max=2)", "0.7708"),
        ("AP(rel=2)", "1.0000"),
        ("P(rel=2)@5", "0.2000"),
        ("RR(rel=3)", "0.0000"),
        ("NumRet", "5"),
        ("NumRet(rel=2)", "1"),
        ("IPrec@0.5", "0.6667"),
        // Among judged documents c is second.
        ("AP(judged_only=True)", "0.6667"),
    ] {
        assert_eq!(value(measure, &EvalParams::default()), expected, "{measure}");
    }
    let judged_only = EvalParams { judged_only: true, ..EvalParams::default() };
    assert_eq!(value("map", &judged_only), "0.6667");
    assert_eq!(value("num_ret", &judged_only), "3");
    let two = EvalParams { max_results: 2, ..EvalParams::default() };
    assert_eq!(value("map", &two), "0.3333");
    let level = EvalParams { level: 2, ..EvalParams::default() };
    assert_eq!(value("map", &level), "1.0000");
    assert_eq!(value("AP(rel=1)", &level), "0.5556");
    let n_docs = EvalParams { n_docs: 100, ..EvalParams::default() };
    assert_eq!(value("utility.0,0,0,1", &n_docs), "94.0000");
}

#[test]
fn clicks_in_the_thousands_may_be_grades() {
    let qrels = Qrels::new([("q", "a", 5000), ("q", "b", 4999), ("q", "c", 1)]);
    let run = TrecRun::new("t", [("q", "b", 3.0), ("q", "a", 2.0), ("q", "c", 1.0)]);
    let of = |name: &str| {
        let wanted = columns(&[name])?;
        Ok(evaluate(&qrels, &run, &wanted, &EvalParams::default())?.queries[0].values[0].number())
    };
    // The gains are 1 and ½ of the highest.
    let log = 3f64.log2();
    let expected = (0.5 + 1.0 / log) / (1.0 + 0.5 / log);
    let found = of("nDCG(dcg='exp-log2')@3").unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    let error: Error = of("DCG(dcg='exp-log2')").unwrap_err();
    assert!(error.to_string().contains("a finite value for the query q"), "{error}");
}

#[test]
fn which_queries_are_averaged() {
    let judged = [("q1", "a", 1), ("q2", "a", 1), ("q3", "a", 1)];
    let scored = [("q1", "a", 1.0), ("q3", "b", 1.0), ("q4", "a", 1.0)];
    let (qrels, run) = (Qrels::new(judged), TrecRun::new("t", scored));
    let wanted = columns(&["num_q", "map", "gm_map", "num_rel"]).unwrap();
    let of = |complete: bool| {
        let params = EvalParams { complete, ..EvalParams::default() };
        evaluate(&qrels, &run, &wanted, &params).unwrap()
    };
    let some = of(false);
    assert_eq!((some.missing, some.unjudged_queries), (1, 1));
    let numbers = |evaluation: &Evaluation| -> Vec<f64> {
        evaluation.summary.iter().map(|value| value.as_ref().unwrap().number()).collect()
    };
    assert_eq!(numbers(&some)[..2], [2.0, 0.5]);
    let all = of(true);
    assert_eq!(numbers(&all)[..2], [3.0, 1.0 / 3.0]);
    assert_eq!(numbers(&all)[3], 3.0);
    // 1 and twice the least.
    assert!((numbers(&all)[2] - (2.0 * 1e-5f64.ln() / 3.0).exp()).abs() < 1e-15);
    let other = TrecRun::new("t", [("x", "a", 1.0)]);
    let error = evaluate(&qrels, &other, &wanted, &EvalParams::default()).unwrap_err();
    assert!(error.to_string().contains("no query has both"), "{error}");
}

#[test]
fn names_are_kept_as_they_were_given() {
    let named = |names: &[&str]| -> Vec<String> {
        columns(names).unwrap().into_iter().map(|column| column.name).collect()
    };
    assert_eq!(named(&["ndcg@5", "MAP", "P_5", "R@3"]), ["ndcg@5", "MAP", "P_5", "R@3"]);
    assert_eq!(
        named(&["ndcg_cut.10,5", "ndcg_cut_3", "ndcg_cut"]),
        ["ndcg_cut_3", "ndcg_cut_5", "ndcg_cut_10"]
    );
    assert_eq!(named(&["P"]).len(), 9);
    assert_eq!(named(&["nDCG@10,AP(rel=2)@5,map"]), ["nDCG@10", "AP(rel=2)@5", "map"]);
    assert_eq!(
        named(&["Rprec_mult_0.50", "ndcg_1=3,2=9", "utility_1,2,3,4"]),
        ["Rprec_mult_0.50", "ndcg_1=3,2=9", "utility_1,2,3,4"]
    );
    assert_eq!(named(&["official"]).len(), 30);
    assert_eq!(named(&["set"]).len(), 11);
    assert_eq!(named(&["map", "map", "AP", "AP"]), ["map", "AP"]);
}

#[test]
fn wrong_names_are_answered_with_what_there_is() {
    let message = |name: &str| columns(&[name]).unwrap_err().to_string();
    for name in ["", "dcgs", "NERR@5", "AP(rel=2", "AP)2", "map_cuts.5"] {
        assert!(message(name).contains("no measure is called"), "{}", message(name));
        assert!(message(name).contains("ir_measures"));
    }
    for (name, expected) in [
        ("P@0", "a whole number from 1 on"),
        ("nDCG@x", "a whole number from 1 on"),
        ("P", ""),
        ("R", "as in R@10"),
        ("P.0", "whole numbers from 1 on"),
        ("P.a", "whole numbers from 1 on"),
        ("P.", "parameters after the full stop"),
        ("map.5", "map without parameters"),
        ("Bpref@5", "Bpref without a cut"),
        ("ndcg.1", "pairs of a grade and its gain"),
        ("ndcg.1=x", "pairs of a grade and its gain"),
        ("utility.1,2", "4 numbers, as in utility.1,-1,0,0"),
        ("iprec_at_recall.-1", "numbers from 0 on"),
        ("AP(rel=x)", "a grade as rel"),
        ("AP(p=0.5)", "rel or judged_only"),
        ("RBP(p=2)", "p above 0 and below 1"),
        ("rbp.p=2", "p above 0 and below 1, as in rbp.p=0.8"),
        ("rbp_resid.1=3", "as in rbp_resid.p=0.8"),
        ("ndcg.p=0.5", "pairs of a grade and its gain, as in ndcg.1=3"),
        ("dcg.p=0.5", "pairs of a grade and its gain, as in dcg.1=3"),
        ("set_F.1,2", "1 number from 0 on, as in set_F.0.5"),
        ("set_F.-1", "1 number from 0 on"),
        ("relstring.0", "as in relstring.10"),
        ("nDCG(dcg='log')@5", "exp-log2"),
        ("AP(judged_only=maybe)", "judged_only=True"),
        ("IPrec@2", "a recall from 0 to 1"),
        ("ERR(max=0)@5", "the highest grade"),
    ] {
        if !expected.is_empty() {
            assert!(message(name).contains(expected), "{}", message(name));
        }
    }
}

mod definitions {
    //! The definitions, written down once more as plainly as they can be.

    use proptest::prelude::*;

    use super::*;
    use crate::eval::{Gain, Measure, Variant};
    use crate::ranking::Hit;
    use crate::sparse::Row;

    /// By document: its grade, if it is judged, and its rank from 1, if it is retrieved.
    type Docs = Vec<(Option<i32>, Option<usize>)>;

    fn documents() -> impl Strategy<Value = Docs> {
        let one = (prop::option::weighted(0.7, 0i32..5), any::<bool>());
        (prop::collection::vec(one, 1..40), any::<u64>()).prop_map(|(docs, seed)| {
            let mut order: Vec<usize> = (0..docs.len()).filter(|&d| docs[d].1).collect();
            crate::random::Random::new(seed, 0).shuffle(&mut order);
            let rank = |d| order.iter().position(|&other| other == d).map(|at| at + 1);
            docs.iter().enumerate().map(|(d, &(grade, _))| (grade, rank(d))).collect()
        })
    }

    fn files(docs: &Docs) -> (Qrels, TrecRun) {
        let id = |d: usize| format!("d{d}");
        let judged: Vec<(String, i32)> =
            docs.iter().enumerate().filter_map(|(d, &(g, _))| Some((id(d), g?))).collect();
        let scored: Vec<(String, f64)> = docs
            .iter()
            .enumerate()
            .filter_map(|(d, &(_, rank))| Some((id(d), -(rank? as f64))))
            .collect();
        // A document of both files that changes nothing keeps them from being empty.
        (
            Qrels::new(judged.iter().map(|(d, g)| ("q", &**d, *g)).chain([("q", "last", 0)])),
            TrecRun::new(
                "t",
                scored.iter().map(|(d, s)| ("q", &**d, *s)).chain([("q", "last", -1e9)]),
            ),
        )
    }

    /// Documents within the first `k` of which `wanted` holds.
    fn within(docs: &Docs, k: usize, wanted: impl Fn(i32) -> bool) -> f64 {
        let holds = |&&(grade, rank): &&(Option<i32>, Option<usize>)| {
            grade.is_some_and(&wanted) && rank.is_some_and(|rank| rank <= k)
        };
        docs.iter().filter(holds).count() as f64
    }

    proptest! {
        #[test]
        fn every_measure_is_its_definition(docs in documents(), k in 1usize..30, level in 1i32..4) {
            let (qrels, run) = files(&docs);
            let params = EvalParams { level, ..EvalParams::default() };
            let of = |measure: &str| {
                let columns = columns(&[measure]).unwrap();
                let evaluation = evaluate(&qrels, &run, &columns, &params).unwrap();
                evaluation.queries[0].values[0].number()
            };
            let relevant = |grade: i32| grade >= level;
            let r = docs.iter().filter(|(grade, _)| grade.is_some_and(relevant)).count() as f64;
            let over_r = |x: f64| if r == 0.0 { 0.0 } else { x / r };
            let ranks: Vec<usize> = docs
                .iter()
                .filter(|(grade, _)| grade.is_some_and(relevant))
                .filter_map(|&(_, rank)| rank)
                .collect();
            let is = |measure: &str, expected: f64| -> std::result::Result<(), TestCaseError> {
                let got = of(measure);
                prop_assert!((got - expected).abs() < 1e-12, "{}: {} {}", measure, got, expected);
                Ok(())
            };
            let precision = |k: usize| within(&docs, k, relevant) / k as f64;

            is(&format!("P@{k}"), precision(k))?;
            is(&format!("R@{k}"), over_r(within(&docs, k, relevant)))?;
            let ap: f64 = ranks.iter().filter(|&&at| at <= k).map(|&at| precision(at)).sum();
            is(&format!("AP@{k}"), over_r(ap))?;
            let first = ranks.iter().min();
            is("RR", first.map_or(0.0, |&at| 1.0 / at as f64))?;
            is(&format!("success.{k}"), f64::from(first.is_some_and(|&first| first <= k)))?;
            is("Rprec", over_r(within(&docs, r as usize, relevant)))?;
            // The document that is last is judged 0, too.
            let n = 1.0 + docs.iter().filter(|(g, _)| g.is_some_and(|g| g < level)).count() as f64;
            let bpref: f64 = ranks
                .iter()
                .map(|&at| within(&docs, at, |grade| grade < level).min(r) / n.min(r))
                .map(|lost| 1.0 - lost)
                .sum();
            is("bpref", over_r(bpref))?;
            // Interpolated precision: the best at any rank with at least that recall.
            let recall = 0.5;
            let needed = (recall * r).round();
            let best = (1..=docs.len())
                .filter(|&at| within(&docs, at, relevant) >= needed)
                .map(precision)
                .fold(0.0, f64::max);
            is("IPrec@0.5", best)?;
            for (measure, gain) in [
                (format!("nDCG@{k}"), (|g: i32| f64::from(g)) as fn(i32) -> f64),
                (format!("nDCG(dcg='exp-log2')@{k}"), |g| f64::from(g).exp2() - 1.0),
            ] {
                let worth = |gain: f64, rank: usize| gain / ((rank + 1) as f64).log2();
                let mut ideal: Vec<f64> = docs.iter().filter_map(|(g, _)| Some(gain((*g)?))).collect();
                ideal.sort_by(|a, b| b.total_cmp(a));
                let best: f64 = ideal.iter().zip(1..=k).map(|(&g, rank)| worth(g, rank)).sum();
                let got: f64 = docs
                    .iter()
                    .filter_map(|&(g, rank)| Some((gain(g?), rank.filter(|&rank| rank <= k)?)))
                    .map(|(gain, rank)| worth(gain, rank))
                    .sum();
                is(&measure, if best > 0.0 { got / best } else { 0.0 })?;
            }
            let stops = |rank: usize| {
                let grade = docs.iter().find(|(_, at)| *at == Some(rank)).and_then(|(g, _)| *g);
                (f64::from(grade.unwrap_or(0)).exp2() - 1.0) / 16.0
            };
            let err: f64 = (1..=k)
                .map(|i| (1..i).map(|j| 1.0 - stops(j)).product::<f64>() * stops(i) / i as f64)
                .sum();
            is(&format!("ERR@{k}"), err)?;
            let rbp: f64 = ranks.iter().map(|&at| 0.2 * 0.8f64.powi(at as i32 - 1)).sum();
            is(&format!("RBP(rel={level})"), rbp)?;
        }

        #[test]
        fn the_measures_of_comparisons_agree(docs in documents(), k in 1usize..30) {
            let (qrels, run) = files(&docs);
            let mut ranked: Vec<(usize, u32)> =
                (0..).zip(&docs).filter_map(|(d, &(_, rank))| Some((rank?, d))).collect();
            ranked.sort_unstable();
            let last = docs.len() as u32;
            ranked.push((usize::MAX, last));
            let hits: Vec<Hit> =
                ranked.iter().map(|&(rank, doc)| Hit { doc, score: -(rank as f32) }).collect();
            let mut judged: Vec<(u32, f32)> =
                (0..).zip(&docs).filter_map(|(d, &(g, _))| Some((d, g? as f32))).collect();
            judged.push((last, 0.0));
            let (indices, values): (Vec<u32>, Vec<f32>) = judged.into_iter().unzip();
            let row = Row { indices: &indices, values: &values };
            let linear = Variant { gain: Gain::Linear, ..Variant::default() };
            for (name, variant) in [
                (format!("nDCG@{k}"), &linear),
                (format!("nDCG(dcg='exp-log2')@{k}"), &Variant::default()),
                (format!("AP@{k}"), &linear),
                (format!("P@{k}"), &linear),
                (format!("R@{k}"), &linear),
                (format!("RR@{k}"), &linear),
                (format!("Success@{k}"), &linear),
                (format!("ERR@{k}"), &linear),
                (format!("Judged@{k}"), &linear),
                ("Rprec".to_owned(), &linear),
            ] {
                let plain = name.replace("(dcg='exp-log2')", "");
                let measure: Measure = plain.parse().unwrap();
                let ours = measure.of(&hits, row, variant).unwrap();
                let wanted = columns(&[&name]).unwrap();
                let evaluation = evaluate(&qrels, &run, &wanted, &EvalParams::default()).unwrap();
                let theirs = evaluation.queries[0].values[0].number();
                prop_assert!((ours - theirs).abs() < 1e-12, "{}: {} {}", name, ours, theirs);
            }
        }
    }
}
