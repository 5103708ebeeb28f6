//! Compares several runs on the same judgments: a table of means with tests, and caveats of each run.

use serde::Serialize;

use super::cells::{Cell, cells};
use super::trec::{Qrels, TrecRun};
use super::trec_eval::{
    EvalParams, Evaluation, MeasureColumn, Over, QueryValues, Statistic, Value, columns, evaluate,
};
use crate::{Error, Result};

/// The cut of the share of judged documents among the caveats.
pub const CAVEAT_CUT: usize = 10;

/// A table of runs.
#[derive(Debug, Clone, Serialize)]
pub struct RunComparison {
    /// The measures, in the order of the columns.
    pub measures: Vec<String>,
    /// All judged queries.
    pub judged_queries: usize,
    /// The queries of the means, by id: all judged ones if the evaluation is complete, else those
    /// for which every run has results; without those that a measure leaves out.
    pub queries: Vec<String>,
    /// The run that others are tested against.
    pub baseline: String,
    /// Its place among the rows.
    pub baseline_row: usize,
    /// One row per run.
    pub rows: Vec<RunRow>,
}

/// One run's row.
#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    /// Its name in the table.
    pub name: String,
    /// The tag in its file.
    pub tag: String,
    /// One cell per measure.
    pub cells: Vec<Cell>,
    /// Reasons to distrust its means.
    #[serde(rename = "doubts")]
    pub caveats: RunCaveats,
    /// Every query's value, one list per measure, in the order of the queries.
    pub values: Vec<Vec<f64>>,
}

/// Reasons to distrust the means of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunCaveats {
    /// Judged queries without results.
    pub missing: usize,
    /// Queries of the run without judgments.
    pub unjudged_queries: usize,
    /// The share of results with the same score as another result of the query; they are ordered by
    /// id.
    pub tied: f64,
    /// Mean share of judged documents among the first [`CAVEAT_CUT`].
    pub judged: f64,
}

impl RunCaveats {
    /// The caveats of `run`.
    pub fn of(qrels: &Qrels, run: &TrecRun, params: &EvalParams) -> Result<Self> {
        let judged = columns(&[format!("Judged@{CAVEAT_CUT}")])?;
        let params = EvalParams { judged_only: false, complete: false, ..*params };
        let evaluation = evaluate(qrels, run, &judged, &params)?;
        let judged = evaluation.summary.first().and_then(Option::as_ref);
        Ok(RunCaveats {
            missing: evaluation.missing,
            unjudged_queries: evaluation.unjudged_queries,
            tied: run.share_of_ties(),
            judged: judged.map_or(0.0, Value::number),
        })
    }
}

/// Evaluates every run and tests it against the one at `baseline`. Columns that are not means
/// over queries are left out.
pub fn compare_runs(
    qrels: &Qrels,
    runs: &[(String, TrecRun)],
    wanted: &[MeasureColumn],
    params: &EvalParams,
    baseline: usize,
    seed: u64,
) -> Result<RunComparison> {
    let wanted: Vec<MeasureColumn> =
        wanted.iter().filter(|column| column.statistic.over() == Over::Mean).cloned().collect();
    if wanted.is_empty() {
        return Err(Error::Empty {
            what: "none of the measures is a mean over queries".into(),
            advice: "add one, such as `measure = map`; `format = trec` prints the others".into(),
        });
    }
    let evaluations: Vec<Evaluation> =
        runs.iter().map(|(_, run)| evaluate(qrels, run, &wanted, params)).collect::<Result<_>>()?;
    // Each list is sorted by id.
    let measured = |queries: &[QueryValues], id: &str| {
        let found = queries.binary_search_by(|query| query.id.as_str().cmp(id));
        found.is_ok_and(|at| !queries[at].values.contains(&Value::Absent))
    };
    let everywhere = |id: &str| evaluations.iter().all(|other| measured(&other.queries, id));
    let first = evaluations.first().map_or(&[][..], |first| &first.queries[..]);
    let queries: Vec<String> =
        first.iter().map(|query| query.id.clone()).filter(|id| everywhere(id)).collect();
    if queries.is_empty() {
        return Err(Error::Empty {
            what: "no query has results in every run".into(),
            advice: "average over all judged queries with `complete`, or compare runs of the same queries".into(),
        });
    }
    let values_of = |evaluation: &Evaluation| -> Vec<Vec<f64>> {
        let counts = |query: &&QueryValues| queries.binary_search(&query.id).is_ok();
        let counted: Vec<_> = evaluation.queries.iter().filter(counts).collect();
        let column = |m: usize| counted.iter().map(|query| query.values[m].number()).collect();
        (0..wanted.len()).map(column).collect()
    };
    let values: Vec<Vec<Vec<f64>>> = evaluations.iter().map(values_of).collect();
    let higher_is_better = |column: &MeasureColumn| match &column.statistic {
        Statistic::Own { measure, .. } => measure.higher_is_better(),
        _ => true,
    };
    let higher: Vec<bool> = wanted.iter().map(higher_is_better).collect();
    let table = cells(&values, &higher, baseline, seed);
    let rows = runs
        .iter()
        .zip(table)
        .zip(values)
        .map(|(((name, run), cells), values)| {
            Ok(RunRow {
                name: name.clone(),
                tag: run.tag.clone(),
                cells,
                caveats: RunCaveats::of(qrels, run, params)?,
                values,
            })
        })
        .collect::<Result<_>>()?;
    Ok(RunComparison {
        measures: wanted.iter().map(|column| column.name.clone()).collect(),
        judged_queries: qrels.len(),
        queries,
        baseline: runs[baseline].0.clone(),
        baseline_row: baseline,
        rows,
    })
}
