//! Several runs against the same judgments: a table of means with tests, and what should make
//! one doubt it.

use serde::Serialize;

use super::cells::{Cell, cells};
use super::trec::{Qrels, TrecRun};
use super::trec_eval::{
    EvalParams, Evaluation, MeasureColumn, Over, QueryValues, Statistic, Value, columns, evaluate,
};
use crate::{Error, Result};

/// How many documents from the top are asked whether they were judged.
pub const LOOKED_AT: usize = 10;

/// A table of runs.
#[derive(Debug, Clone, Serialize)]
pub struct RunComparison {
    /// The measures, in the order of the columns.
    pub measures: Vec<String>,
    /// Judged queries in all.
    pub judged_queries: usize,
    /// The queries that are averaged over, by id: all that are judged if the reading is
    /// complete, else those for which every run has results; without those that a measure
    /// leaves out.
    pub queries: Vec<String>,
    /// The run that others are tested against.
    pub baseline: String,
    /// Its place among the rows.
    pub baseline_row: usize,
    /// One row a run.
    pub rows: Vec<RunRow>,
}

/// One run's row.
#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    /// What it is called in the table.
    pub name: String,
    /// The tag in its file.
    pub tag: String,
    /// One cell a measure.
    pub cells: Vec<Cell>,
    /// What should make one doubt it.
    pub doubts: Doubts,
    /// Every query's value, a list for each measure; in the order of the queries.
    pub values: Vec<Vec<f64>>,
}

/// What should make one doubt the figures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Doubts {
    /// Judged queries for which it has no results.
    pub missing: usize,
    /// Its queries that nobody judged.
    pub unjudged_queries: usize,
    /// The share of its results whose score another result of the query has, too: their order
    /// is that of the ids.
    pub tied: f64,
    /// The mean share of its first ten documents that somebody judged.
    pub judged: f64,
}

impl Doubts {
    /// Looks at `run`.
    pub fn about(qrels: &Qrels, run: &TrecRun, params: &EvalParams) -> Result<Self> {
        let judged = columns(&[format!("Judged@{LOOKED_AT}")])?;
        let params = EvalParams { judged_only: false, complete: false, ..*params };
        let evaluation = evaluate(qrels, run, &judged, &params)?;
        let judged = evaluation.summary.first().and_then(Option::as_ref);
        Ok(Doubts {
            missing: evaluation.missing,
            unjudged_queries: evaluation.unjudged_queries,
            tied: run.share_of_ties(),
            judged: judged.map_or(0.0, |value| value.number()),
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
            advice: "a table needs one, such as `measure = map`; `format = trec` prints the others"
                .into(),
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
            advice: "add -c to average over all judged queries, or compare runs of the same \
                     queries"
                .into(),
        });
    }
    let values: Vec<Vec<Vec<f64>>> = evaluations
        .iter()
        .map(|evaluation| {
            let counted: Vec<_> = evaluation
                .queries
                .iter()
                .filter(|query| queries.binary_search(&query.id).is_ok())
                .collect();
            (0..wanted.len())
                .map(|m| counted.iter().map(|query| query.values[m].number()).collect())
                .collect()
        })
        .collect();
    let better = |column: &MeasureColumn| match &column.statistic {
        Statistic::Own { measure, .. } => measure.higher_is_better(),
        _ => true,
    };
    let higher: Vec<bool> = wanted.iter().map(better).collect();
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
                doubts: Doubts::about(qrels, run, params)?,
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
