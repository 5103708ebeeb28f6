//! Measures of diversity for the rankings of a run.

use super::params::EvalParams;
use crate::eval::diversity::DiversityMeasure;
use crate::eval::trec::{Ranked, SubtopicJudgments};

/// The value of `measure` for one query.
pub(super) fn by_subtopic(
    measure: DiversityMeasure,
    judged: SubtopicJudgments<'_>,
    ranked: Option<Ranked<'_>>,
    params: &EvalParams,
) -> f64 {
    let subtopics = judged.with_grade(params.level);
    let hits = ranked.iter().flat_map(|ranked| ranked.hits()).take(params.max_results);
    let places = hits.map(|hit| judged.find(hit.doc));
    let places = places.filter(|place| !params.judged_only || place.is_some());
    let answers: Vec<&[u32]> = places
        .take(measure.k)
        .map(|place| place.map_or(&[][..], |place| subtopics.subtopics(place)))
        .collect();
    measure.evaluate(&answers, &subtopics)
}
