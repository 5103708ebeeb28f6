//! Against trec_eval's own expected files, by hand, and against the definitions.

use std::path::Path;

use super::*;
use crate::data::fixture::real_data;
use crate::eval::trec::{Qrels, TrecRun, read_qrels, read_run};
use crate::{Result, Run};

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
