//! A run against judgments: every query's values, and one over all.

use rayon::prelude::*;

use super::by_subtopic::by_subtopic;
use super::graded::{Graded, grade_counts, grades};
use super::liken_measures::query_value;
use super::params::EvalParams;
use super::spelling::MeasureColumn;
use super::statistic::{Over, Statistic};
use crate::eval::trec::{Qrels, TrecRun};
use crate::{Error, Result};

/// The values of a run.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Measures, in the order of the values below.
    pub columns: Vec<MeasureColumn>,
    /// The run's tag.
    pub tag: String,
    /// The queries that count, by id.
    pub queries: Vec<QueryValues>,
    /// One value per column over the queries above; `None` where a column is text about single
    /// queries.
    pub summary: Vec<Option<Value>>,
    /// Judged queries for which the run has no results.
    pub missing: usize,
    /// Queries of the run without judgments; they do not count.
    pub unjudged_queries: usize,
}

/// The values of one query.
#[derive(Debug, Clone)]
pub struct QueryValues {
    /// Query id.
    pub id: String,
    /// One value per column; logarithms where the mean is geometric.
    pub values: Vec<Value>,
}

/// The value of a measure.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Printed with four decimals.
    Real(f64),
    /// A whole number.
    Count(u64),
    /// A run's tag or a string of relevance.
    Text(String),
    /// The query is left out of the mean.
    Absent,
}

impl Value {
    /// As a number; 0 for a text and for an absent value.
    pub fn number(&self) -> f64 {
        match self {
            Value::Real(value) => *value,
            Value::Count(count) => *count as f64,
            Value::Text(_) | Value::Absent => 0.0,
        }
    }
}

/// Evaluates `run`. Fails if no query has both judgments and results, or if a column needs judgments
/// by subtopic and there are none.
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
            advice: "the first column of both files must hold the same query ids".into(),
        });
    }
    let counted: Vec<usize> =
        (0..qrels.len()).filter(|&place| params.complete || results[place].is_some()).collect();
    let criteria = Criteria::new(columns, params);
    let queries: Vec<QueryValues> = counted
        .par_iter()
        .map(|&place| {
            let judged = qrels.query(place);
            let ranked = results[place].map(|at| run.query(at));
            let grades = grades(ranked, judged, params.max_results);
            let counts = grade_counts(judged);
            let graded: Vec<Graded<'_>> = criteria
                .distinct
                .iter()
                .map(|&(level, judged_only)| {
                    Graded::new(&grades, &counts, level, judged_only, ranked.is_some())
                })
                .collect();
            let value = |(column, &criterion): (&MeasureColumn, &usize)| {
                let (statistic, graded) = (&column.statistic, &graded[criterion]);
                let (level, judged_only) = criteria.distinct[criterion];
                if let Statistic::Own { measure, variant } = statistic {
                    let value = query_value(*measure, variant, ranked, judged, params, judged_only);
                    return value.map_or(Value::Absent, Value::Real);
                }
                if let (Statistic::Diversity(measure), Some(subtopics)) =
                    (statistic, qrels.subtopics(place))
                {
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
            let values = columns.iter().zip(&criteria.of_column).map(value).collect();
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

/// Refuses values that overflow because of huge gains or grades.
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

/// Which documents count, and which are relevant. Most columns share one criterion.
#[derive(Default)]
struct Criteria {
    /// The lowest relevant grade, and whether only judged documents count.
    distinct: Vec<(i32, bool)>,
    of_column: Vec<usize>,
}

impl Criteria {
    fn new(columns: &[MeasureColumn], params: &EvalParams) -> Self {
        let mut criteria = Criteria::default();
        for column in columns {
            let criterion =
                (column.level.unwrap_or(params.level), column.judged_only || params.judged_only);
            let known = criteria.distinct.iter().position(|&other| other == criterion);
            criteria.of_column.push(known.unwrap_or_else(|| {
                criteria.distinct.push(criterion);
                criteria.distinct.len() - 1
            }));
        }
        criteria
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
