//! Plans of fits before they start: [`crate::plan`] for methods and counts. Each method plans itself
//! ([`Method::plan`](super::Method::plan)).

use super::Params;
use crate::features::{Counts, Features};
use crate::plan::{Fit, FitShape, Plan, Rates};

/// The plans of fits of `params` to `counts` one after the other, as in a mix or a comparison, with
/// the fitted models still in memory. `validation_scores` as in [`FitShape::validation_scores`]. Methods that learn nothing
/// have no plan, but the memory of their models counts. `warm_start` says whether they start from an earlier model.
pub fn plan_all(
    counts: &Counts,
    params: &[&Params],
    validation_scores: u64,
    warm_start: bool,
    rates: Option<&Rates>,
    limit: u64,
) -> Vec<Plan> {
    let shapes: Vec<FitShape> = params
        .iter()
        .map(|params| FitShape { warm_start, ..FitShape::of(counts, params, validation_scores) })
        .collect();
    let plans = plan_parts(shapes.into_iter().zip(params.iter().copied()), rates, limit);
    let learns = plans.into_iter().zip(params).filter(|(_, params)| params.learns());
    learns.map(|(plan, _)| plan).collect()
}

/// The same for `parts` of any shape, with plans for all of them.
pub fn plan_parts<'a>(
    parts: impl IntoIterator<Item = (FitShape, &'a Params)>,
    rates: Option<&Rates>,
    limit: u64,
) -> Vec<Plan> {
    let mut held = 0u64;
    let mut plans = Vec::new();
    for (shape, params) in parts {
        let mut plan = shape.plan(params, rates, limit.saturating_sub(held));
        if held > 0 {
            plan = plan.with_line(("models fitted before it", held));
        }
        held = held.saturating_add(plan.held);
        plans.push(plan);
    }
    plans
}

impl FitShape {
    /// The shape of a fit of `params` to `counts`; `validation_scores` as in [`FitShape::validation_scores`]. Methods that
    /// learn nothing have words alone.
    pub fn of(counts: &Counts, params: &Params, validation_scores: u64) -> FitShape {
        let features = params.features().unwrap_or_else(Features::words);
        let training = || (0..counts.n_queries()).filter(|&i| !counts.clicks.row(i).is_empty());
        let positive = counts.clicks.values().iter().filter(|&&value| value > 0.0).count() as u64;
        let words: u64 = training().map(|i| counts.queries.row(i).len() as u64).sum();
        let share = |weight: f64, n: u64| if weight > 0.0 { n } else { 0 };
        let (n_terms, n_docs) = (counts.n_terms() as u64, counts.n_docs() as u64);
        FitShape {
            n_queries: training().count() as u64,
            n_docs,
            d_x: n_terms + share(features.query_clicks, n_docs),
            d_y: n_terms + share(features.doc_clicks, counts.n_queries() as u64),
            nnz_x: share(features.query_words, words) + share(features.query_clicks, positive),
            nnz_y: share(features.doc_words, counts.docs.nnz() as u64)
                + share(features.doc_clicks, positive),
            nnz_r: counts.clicks.nnz() as u64,
            dim: params.dim().unwrap_or(1) as u64,
            classes: counts.classes.as_ref().map_or(0, |classes| classes.names.len() as u64),
            validation_scores,
            warm_start: false,
        }
    }

    /// The plan of a fit of `params` to this shape within `limit` bytes of memory; some methods use
    /// scratch files if that is too little.
    pub fn plan(&self, params: &Params, rates: Option<&Rates>, limit: u64) -> Plan {
        let advice = params.savings().join(", ") + ", or allow more (`max_memory = SIZE`)";
        let fit = Fit::new(params.name(), self, rates, limit, advice);
        if !self.warm_start {
            return params.plan(fit);
        }
        let earlier = fit.earlier_model();
        let limit = limit.saturating_sub(earlier.1);
        params.plan(Fit { limit, ..fit }).with_line(earlier)
    }
}
