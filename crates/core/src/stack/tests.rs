//! Rankers over the features of matchers, on a small log whose truth is known.

use super::*;
use crate::data::Dataset;
use crate::eval::{Candidates, CompareParams, HeldOut, Measure, System, Variant};
use crate::experiment::fit_and_compare_with;
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Matcher, Mixture, Params};
use crate::synth::{Synthetic, SyntheticLog};
use crate::training::fit_all;
use crate::{Result, Run};

const MEASURE: Measure = Measure::Ndcg { k: Some(10) };

fn data(dir: &std::path::Path) -> Dataset {
    let log = Synthetic { scale: 0.2, ..Synthetic::new(SyntheticLog::Demo) };
    log.write(&dir.join("d"), false, &Run::silent()).unwrap();
    Dataset::open(&dir.join("d")).unwrap()
}

fn models() -> Vec<(String, Params)> {
    let mut pls = Params::named("pls").unwrap();
    pls.set("dim", "10").unwrap();
    vec![("pls".into(), pls), ("vsm".into(), Params::named("vsm").unwrap())]
}

fn params<'a>(rows: &'a [Mixture], candidates: Candidates) -> CompareParams<'a> {
    CompareParams {
        rows,
        measures: &[MEASURE],
        tune_on: MEASURE,
        baseline: 0,
        on: HeldOut::Test,
        candidates,
        variant: Variant::default(),
        seed: 1,
    }
}

fn specs(texts: &[&str]) -> Vec<RankerSpec> {
    texts.iter().map(|text| RankerSpec::parse(text).unwrap()).collect()
}

/// A fitted ranker over the log.
fn fitted(data: &Dataset, candidates: Candidates, stacking: &Stacking) -> Result<(Counts, System)> {
    let run = Run::silent();
    let preparation = Preparation { positions: true, ..Preparation::default() };
    let (counts, models) = (Counts::of(data, &preparation, &run)?, models());
    let (systems, _) =
        fit_all(data, &counts, &models, candidates, Variant::default(), &mut run.steps(1))?;
    let specs = specs(&["regression:bm25+vsm+pls+length"]);
    let rankers = Rankers { specs: &specs, stacking };
    let params = params(&[], candidates);
    let fitted = fit_rankers(data, &counts, &models, &systems, rankers, &params, &run)?;
    let (system, _) = fitted.into_iter().next().unwrap();
    Ok((counts, system))
}

#[test]
fn a_ranker_scores_one_by_one_as_all_at_once_and_explains_itself() {
    let dir = tempfile::tempdir().unwrap();
    let data = data(dir.path());
    for candidates in [Candidates::Judged, Candidates::All] {
        let stacking = Stacking { depth: 5, ..Stacking::default() };
        let (counts, ranker) = fitted(&data, candidates, &stacking).unwrap();
        let matcher: &dyn Matcher = &*ranker.matcher;
        for text in ["heart attack", "cheap flights", "nobody says this"] {
            let query = counts.read_query(text);
            let all = matcher.scores(&counts, &query, None);
            let some = matcher.scores(&counts, &query, Some(&[7, 0, 3]));
            assert_eq!(some, [all[7], all[0], all[3]], "{candidates} {text}");
            for doc in [0u32, 7] {
                let lines = matcher.contributions(&counts, &query, doc);
                let sum: f64 = lines.iter().map(|line| line.value).sum();
                let is_close = (sum - f64::from(all[doc as usize])).abs() < 1e-4;
                // Beyond the pool the order is another's.
                assert!(is_close || lines.is_empty() && candidates == Candidates::All);
            }
        }
    }
}

#[test]
fn what_no_model_finds_comes_after_the_pool_in_the_order_of_bm25() {
    let dir = tempfile::tempdir().unwrap();
    let data = data(dir.path());
    let stacking = Stacking { depth: 3, ..Stacking::default() };
    let (counts, ranker) = fitted(&data, Candidates::All, &stacking).unwrap();
    let bm25 = crate::matchers::Bm25::default().fit(&counts).unwrap();
    let query = counts.query(data.test.rows().position(|row| !row.is_empty()).unwrap());
    let scores = ranker.matcher.scores(&counts, &query, None);
    let lexical = bm25.scores(&counts, &query, None);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let ranked =
        |doc: &usize| !ranker.matcher.contributions(&counts, &query, *doc as u32).is_empty();
    let pool = order.iter().take_while(|doc| ranked(doc)).count();
    assert!((3..=9).contains(&pool), "{pool}");
    assert!(!order[pool..].iter().any(ranked));
    let falls = |two: &[usize]| lexical[two[0]] >= lexical[two[1]];
    assert!(order[pool..].windows(2).all(falls));
}

#[test]
fn rankers_are_rows_that_beat_words_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (data(dir.path()), Run::silent());
    let specs = specs(&["regression", "regression:-pls"]);
    let names = ["vsm", "pls", "regression", "regression:-pls"];
    let rows: Vec<Mixture> = names
        .iter()
        .map(|&name| Mixture { fusion: Default::default(), parts: vec![(None, name.into())] })
        .collect();
    for on in [LearnFrom::Validation, LearnFrom::Train, LearnFrom::Both] {
        let stacking = Stacking { on, queries: 60, cross_folds: 2, ..Stacking::default() };
        let rankers = Rankers { specs: &specs, stacking: &stacking };
        let params = params(&rows, Candidates::Auto);
        let prepared = Preparation::default();
        let (table, fits) =
            fit_and_compare_with(&data, &prepared, &models(), rankers, &params, &run).unwrap();
        let mean = |row: usize| table.rows[row].cells[0].mean.unwrap();
        assert_eq!(table.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), names);
        if on == LearnFrom::Validation {
            assert!(mean(2) > mean(0) + 0.05, "{} {}", mean(0), mean(2));
        }
        let FitReport::Ranker(report) = &fits[2].1 else { panic!("no ranker") };
        assert_eq!(report.steps.len(), 5);
        assert!(report.notes[0].contains("on held-out folds"), "{:?}", report.notes);
    }
}

#[test]
fn on_validation_no_query_is_scored_by_who_learnt_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (data(dir.path()), Run::silent());
    let specs = specs(&["regression"]);
    let rows = [Mixture { fusion: Default::default(), parts: vec![(None, "regression".into())] }];
    let stacking = Stacking::default();
    let rankers = Rankers { specs: &specs, stacking: &stacking };
    let params = CompareParams { on: HeldOut::Validation, ..params(&rows, Candidates::Judged) };
    let prepared = Preparation::default();
    let (table, fits) =
        fit_and_compare_with(&data, &prepared, &models(), rankers, &params, &run).unwrap();
    let FitReport::Ranker(report) = &fits[2].1 else { panic!("no ranker") };
    // The table's mean is that of the folds, each scored by the ranker of the others.
    let of_folds = report.steps.iter().map(|step| step[0] * step[2]).sum::<f64>();
    let queries = report.steps.iter().map(|step| step[0]).sum::<f64>();
    let mean = table.rows[0].cells[0].mean.unwrap();
    assert!((mean - of_folds / queries).abs() < 1e-9, "{mean} {}", of_folds / queries);
}

#[test]
fn what_cannot_be_learnt_from_is_refused_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = data(dir.path());
    data.validation = crate::sparse::Csr::empty(data.test.n_rows(), data.test.n_cols());
    let specs = specs(&["regression"]);
    let check = |stacking: &Stacking| Rankers { specs: &specs, stacking }.check(&data);
    let error = check(&Stacking::default()).unwrap_err().to_string();
    assert!(error.contains("validation"), "{error}");
    check(&Stacking { on: LearnFrom::Train, ..Stacking::default() }).unwrap();
    for wrong in [
        Stacking { folds: 1, ..Stacking::default() },
        Stacking { depth: 0, ..Stacking::default() },
        Stacking { groups: vec!["bm26".into()], ..Stacking::default() },
    ] {
        assert!(wrong.check().is_err());
    }
}
