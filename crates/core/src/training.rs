//! From a dataset to a model: count, fit every part with validation looking on, tune the
//! weights of a mix. It stands above matchers and measures, which do not know each other.

use crate::data::Dataset;
use crate::eval::{
    Candidates, CompareParams, Contender, HeldOut, Measure, Task, Variant, check_comparable,
    tune_weights,
};
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Matcher, Mixture, Model, Params, Part, Trained};
use crate::{Result, Run};

/// The measure that decides when to stop and how to weigh a mix.
const MEASURE: Measure = Measure::Ndcg { k: Some(10) };

/// Reads `dataset` as `preparation` says and fits every part of `mixture`; weights that are not
/// given are tuned on validation. `params` holds a set for each part.
pub fn train(
    dataset: &Dataset,
    preparation: &Preparation,
    mixture: &Mixture,
    params: &[Params],
    run: &Run<'_>,
) -> Result<Trained> {
    check_comparable(dataset, std::slice::from_ref(mixture), None)?;
    let counts = Counts::of(dataset, preparation, run)?;
    let named: Vec<(String, Params)> =
        mixture.parts.iter().map(|(_, name)| name.clone()).zip(params.iter().cloned()).collect();
    let compare = CompareParams {
        rows: &[],
        measures: &[],
        tune_on: MEASURE,
        baseline: 0,
        on: HeldOut::Validation,
        candidates: Candidates::Auto,
        variant: Variant::default(),
        seed: 1,
    };
    let (contenders, reports) =
        fit_all(dataset, &counts, &named, compare.candidates, compare.variant, run)?;
    let tuned = tune_weights(dataset, &counts, &contenders, mixture, &compare, run)?;
    let parts = contenders
        .into_iter()
        .zip(params)
        .zip(tuned.weights)
        .map(|((contender, params), weight)| Part {
            weight,
            params: params.clone(),
            matcher: contender.matcher,
        })
        .collect();
    let model = Model::assemble(mixture.to_string(), dataset, counts, parts);
    Ok(Trained { model, reports, validation: tuned.validation })
}

/// Fits every model, with the validation queries of `dataset` as judge.
pub fn fit_all(
    dataset: &Dataset,
    counts: &Counts,
    models: &[(String, Params)],
    candidates: Candidates,
    variant: Variant,
    run: &Run<'_>,
) -> Result<(Vec<Contender>, Vec<FitReport>)> {
    let task = Task::new(dataset, HeldOut::Validation, &counts.doc_ids, candidates, variant);
    let judge = task.judge(MEASURE);
    let mut contenders = Vec::with_capacity(models.len());
    let mut reports = Vec::with_capacity(models.len());
    for (name, params) in models {
        run.step(&format!("fitting {name}"), 0, None)?;
        let (matcher, report) = match &judge {
            Some(judge) => Matcher::fit(params, counts, Some(judge), run)?,
            None => Matcher::fit(params, counts, None, run)?,
        };
        contenders.push(Contender { name: name.clone(), matcher });
        reports.push(report);
    }
    Ok((contenders, reports))
}
