//! A run against judgments: every query's values, and one over all.

use rayon::prelude::*;

use super::by_subtopic::by_subtopic;
use super::graded::{Graded, grades, levels};
use super::own::own;
use super::spelling::MeasureColumn;
use super::statistic::{Over, Statistic};
use crate::eval::trec::{Qrels, TrecRun};
use crate::{Error, Result};

/// Which queries and documents count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalParams {
    /// The lowest relevant grade (`-l`).
    pub level: i32,
    /// Average over all judged queries, those without results as 0 (`-c`), and not only over
    /// those that have results.
    pub complete: bool,
    /// Documents a query that are looked at (`-M`).
    pub max_results: usize,
    /// Take documents that were not judged out of the rankings (`-J`).
    pub judged_only: bool,
    /// Documents in the collection (`-N`), for utility alone.
    pub n_docs: u64,
}

impl Default for EvalParams {
    fn default() -> Self {
        let max_results = usize::MAX;
        EvalParams { level: 1, complete: false, max_results, judged_only: false, n_docs: 0 }
    }
}

/// What a run was found to be.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// What was asked for.
    pub columns: Vec<MeasureColumn>,
    /// The run's tag.
    pub tag: String,
    /// The queries that count, by id.
    pub queries: Vec<QueryValues>,
    /// Over the run's own queries, which are listed above, one for each column; nothing where a
    /// column is about single queries.
    pub summary: Vec<Option<Value>>,
    /// Judged queries for which the run has no results.
    pub missing: usize,
    /// Queries of the run that nobody judged; they do not count.
    pub unjudged_queries: usize,
}

/// The values of one query.
#[derive(Debug, Clone)]
pub struct QueryValues {
    /// The query.
    pub id: String,
    /// One for each column; logarithms where the mean is geometric.
    pub values: Vec<Value>,
}

/// A number or a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Printed with four places.
    Real(f64),
    /// Printed as it is.
    Count(u64),
    /// Printed as it is.
    Text(String),
    /// The query is left out of the mean.
    Absent,
}

impl Value {
    /// As a number; 0 for a text, and where there is none.
    pub fn number(&self) -> f64 {
        match self {
            Value::Real(value) => *value,
            Value::Count(count) => *count as f64,
            Value::Text(_) | Value::Absent => 0.0,
        }
    }
}

/// Evaluates `run`. An error if no query has both judgments and results, or if a column is about
/// subtopics and the judgments are not.
pub fn evaluate(
    qrels: &Qrels,
    run: &TrecRun,
    columns: &[MeasureColumn],
    params: &EvalParams,
) -> Result<Evaluation> {
    if !qrels.has_subtopics()
        && let Some(column) = columns.iter().find(|column| column.statistic.needs_subtopics())
    {
        return Err(Error::Empty {
            what: format!("{}: documents were not judged by subtopic", column.name),
            advice: "read the judgments as qid subtopic docno grade".into(),
        });
    }
    let results: Vec<Option<usize>> =
        (0..qrels.len()).map(|place| run.find(qrels.query(place).id)).collect();
    let n_present = results.iter().flatten().count();
    if n_present == 0 {
        return Err(Error::Empty {
            what: "no query has both judgments and results".into(),
            advice: "the ids of queries must be the same in both files; look at the first \
                     column of each"
                .into(),
        });
    }
    let counted: Vec<usize> =
        (0..qrels.len()).filter(|&place| params.complete || results[place].is_some()).collect();
    let views = Views::new(columns, params);
    let queries: Vec<QueryValues> = counted
        .par_iter()
        .map(|&place| {
            let judged = qrels.query(place);
            let ranked = results[place].map(|at| run.query(at));
            let (grades, levels) = (grades(ranked, judged, params.max_results), levels(judged));
            let seen: Vec<Graded<'_>> = views
                .kinds
                .iter()
                .map(|&(level, judged_only)| {
                    Graded::new(&grades, &levels, level, judged_only, ranked.is_some())
                })
                .collect();
            let value = |(column, &view): (&MeasureColumn, &usize)| {
                let (statistic, graded) = (&column.statistic, &seen[view]);
                if let Statistic::Own { measure, variant } = statistic {
                    let judged_only = views.kinds[view].1;
                    let value = own(*measure, variant, ranked, judged, params, judged_only);
                    return value.map_or(Value::Absent, Value::Real);
                }
                if let (Statistic::Diversity(measure), Some(subtopics)) =
                    (statistic, qrels.subtopics(place))
                {
                    let (level, judged_only) = views.kinds[view];
                    let params = EvalParams { level, judged_only, ..*params };
                    return Value::Real(by_subtopic(*measure, subtopics, ranked, &params));
                }
                match statistic.over() {
                    Over::Nothing => Value::Text(statistic.text(graded).unwrap_or_default()),
                    Over::Sum | Over::Count => {
                        Value::Count(statistic.of(graded, params.n_docs) as u64)
                    }
                    _ => Value::Real(statistic.of(graded, params.n_docs)),
                }
            };
            let values = columns.iter().zip(&views.of_column).map(value).collect();
            QueryValues { id: judged.id.to_owned(), values }
        })
        .collect();
    check_finite(columns, &queries)?;
    let summary =
        (0..columns.len()).map(|c| summarise(columns[c].statistic.over(), &queries, c, run));
    Ok(Evaluation {
        columns: columns.to_vec(),
        tag: run.tag.clone(),
        summary: summary.collect(),
        queries,
        missing: qrels.len() - n_present,
        unjudged_queries: run.len() - n_present,
    })
}

/// An error if gains or grades are so large that a value is not a number any more.
fn check_finite(columns: &[MeasureColumn], queries: &[QueryValues]) -> Result<()> {
    for query in queries {
        for (column, value) in columns.iter().zip(&query.values) {
            if !value.number().is_finite() {
                let id = &query.id;
                let expected =
                    format!("a finite value for the query {id}: its grades or gains are too large");
                return Err(Error::parameter("measure", &column.name, &expected));
            }
        }
    }
    Ok(())
}

/// The ways in which columns look at the grades: most share one.
struct Views {
    /// The lowest relevant grade, and whether only judged documents are looked at.
    kinds: Vec<(i32, bool)>,
    of_column: Vec<usize>,
}

impl Views {
    fn new(columns: &[MeasureColumn], params: &EvalParams) -> Self {
        let mut views = Views { kinds: Vec::new(), of_column: Vec::new() };
        for column in columns {
            let kind =
                (column.level.unwrap_or(params.level), column.judged_only || params.judged_only);
            let known = views.kinds.iter().position(|&other| other == kind);
            views.of_column.push(known.unwrap_or_else(|| {
                views.kinds.push(kind);
                views.kinds.len() - 1
            }));
        }
        views
    }
}

fn summarise(over: Over, queries: &[QueryValues], c: usize, run: &TrecRun) -> Option<Value> {
    let present = queries.iter().filter(|query| query.values[c] != Value::Absent);
    let n = present.count() as f64;
    if n == 0.0 && over == Over::Mean {
        return Some(Value::Absent);
    }
    // In the order of the queries, as trec_eval adds them.
    let sum = || queries.iter().fold(0.0, |sum, query| sum + query.values[c].number());
    Some(match over {
        Over::Mean => Value::Real(sum() / n),
        Over::GeometricMean => Value::Real((sum() / n).exp()),
        Over::Sum => Value::Count(sum() as u64),
        Over::Count => Value::Count(queries.len() as u64),
        Over::Once => Value::Text(run.tag.clone()),
        Over::Nothing => return None,
    })
}
