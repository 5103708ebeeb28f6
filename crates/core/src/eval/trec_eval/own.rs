//! Our own measures, of which there are variants, on the rankings of a run.

use std::collections::HashMap;

use super::evaluate::EvalParams;
use crate::eval::trec::{Judgments, Ranked};
use crate::eval::{Measure, Variant};
use crate::ranking::Hit;
use crate::sparse::Row;

/// The value of `measure` for one query; `None` where the query is to be left out of the mean.
/// Equal scores are ordered by id, descending, whatever the variant says: a run's file has no
/// other order.
pub(super) fn own(
    measure: Measure,
    variant: &Variant,
    ranked: Option<Ranked<'_>>,
    judged: Judgments<'_>,
    params: &EvalParams,
    judged_only: bool,
) -> Option<f64> {
    let judged: Vec<(&str, i32)> = judged.grades().filter(|&(_, grade)| grade >= 0).collect();
    let numbers: HashMap<&str, u32> = judged.iter().map(|&(doc, _)| doc).zip(0..).collect();
    let mut hits: Vec<Hit> = Vec::new();
    let (mut last, mut group, mut next) = (f64::NAN, 0.0f32, judged.len() as u32);
    for hit in ranked.iter().flat_map(|ranked| ranked.hits()).take(params.max_results) {
        let number = numbers.get(hit.doc).copied();
        if number.is_none() && judged_only {
            continue;
        }
        // Scores of runs are finer than ours: what counts is which of them are equal.
        group -= f32::from(hit.score != last);
        last = hit.score;
        next += 1;
        hits.push(Hit { doc: number.unwrap_or(next), score: group });
    }
    let indices: Vec<u32> = (0..judged.len() as u32).collect();
    let values: Vec<f32> = judged.iter().map(|&(_, grade)| grade as f32).collect();
    measure.of(&hits, Row { indices: &indices, values: &values }, variant)
}
