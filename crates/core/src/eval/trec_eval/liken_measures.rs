//! Our own measures and their variants for the rankings of a run.

use super::params::EvalParams;
use crate::eval::trec::{Judgments, Numbered, Ranked};
use crate::eval::{Measure, Variant};

/// The value of `measure` for one query; `None` leaves the query out of the mean. Equal scores are
/// ordered by id, descending, in every variant: a run's file has no other order.
pub(super) fn query_value(
    measure: Measure,
    variant: &Variant,
    ranked: Option<Ranked<'_>>,
    judged: Judgments<'_>,
    params: &EvalParams,
    judged_only: bool,
) -> Option<f64> {
    let numbered = Numbered::new(judged);
    // Scores of runs have more digits than ours: only which of them are equal matters.
    let (mut last, mut group) = (f64::NAN, 0.0f32);
    let hits = ranked.iter().flat_map(|ranked| ranked.hits()).take(params.max_results);
    let hits = hits.filter(|hit| !judged_only || numbered.holds(hit.doc)).map(|hit| {
        group -= f32::from(hit.score != last);
        last = hit.score;
        (hit.doc, group)
    });
    numbered.measure(measure, hits, variant)
}
