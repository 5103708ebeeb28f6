//! From a dataset to a model: count, fit every part with validation looking on, tune the
//! weights of a mix. It stands above matchers and measures, which do not know each other.

use crate::data::Dataset;
use crate::eval::{
    Candidates, CompareParams, Contender, HeldOut, Measure, Task, Variant, check_comparable,
    tune_weights,
};
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Fitting, Judge, Maps, Mixture, Model, Params, Part, Trained};
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
    train_from(dataset, preparation, mixture, params, &Begin::default(), run)
}

/// How training begins.
#[derive(Default, Clone, Copy)]
pub struct Begin<'a> {
    /// Every part that learns begins with what this model has learnt.
    pub init: Option<&'a Model>,
    /// Called once the text is counted, before anything is fitted: the place to look at what
    /// it will take ([`crate::plan`]) and to refuse.
    pub before: Option<&'a Before<'a>>,
}

/// What [`Begin::before`] is: told of the counts and of the scores that validation looks at.
pub type Before<'a> = dyn Fn(&Counts, u64) -> Result<()> + 'a;

/// How many scores validation looks at when it judges a step of a fit.
pub fn scores_judged(dataset: &Dataset, counts: &Counts) -> u64 {
    validation(dataset, counts, Candidates::Auto, Variant::default()).judged_scores()
}

fn validation<'a>(
    dataset: &'a Dataset,
    counts: &Counts,
    candidates: Candidates,
    variant: Variant,
) -> Task<'a> {
    Task::new(dataset, HeldOut::Validation, &counts.doc_ids, candidates, variant)
}

/// Trains as [`train`] does, and begins as `begin` says.
pub fn train_from(
    dataset: &Dataset,
    preparation: &Preparation,
    mixture: &Mixture,
    params: &[Params],
    begin: &Begin<'_>,
    run: &Run<'_>,
) -> Result<Trained> {
    check_comparable(dataset, std::slice::from_ref(mixture), None)?;
    // How many parts before this one have its method.
    let nth = |p: usize| params[..p].iter().filter(|q| q.name() == params[p].name()).count();
    let init = begin.init;
    if let Some(init) = init {
        for (p, params) in params.iter().enumerate() {
            init.check_begin(params, nth(p), preparation)?;
        }
    }
    let counts = Counts::of(dataset, preparation, run)?;
    if let Some(before) = begin.before {
        before(&counts, scores_judged(dataset, &counts))?;
    }
    let mut begun = Vec::with_capacity(params.len());
    for (p, params) in params.iter().enumerate() {
        begun.push(match init {
            Some(init) => init.begin(params, nth(p), &counts)?,
            None => None,
        });
    }
    let known = begun.iter().map(|begun| begun.as_ref().map(|begun| begun.known)).collect();
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
    let begun = begun.into_iter().map(|begun| begun.map(|begun| begun.maps)).collect();
    let task = validation(dataset, &counts, compare.candidates, compare.variant);
    let (contenders, reports) = fit_each(&task, &counts, &named, begun, run)?;
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
    Ok(Trained { model, reports, validation: tuned.validation, known })
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
    let task = validation(dataset, counts, candidates, variant);
    fit_each(&task, counts, models, models.iter().map(|_| None).collect(), run)
}

fn fit_each(
    task: &Task<'_>,
    counts: &Counts,
    models: &[(String, Params)],
    begun: Vec<Option<Maps>>,
    run: &Run<'_>,
) -> Result<(Vec<Contender>, Vec<FitReport>)> {
    let judge = task.judge(MEASURE);
    let judge: Option<&Judge<'_>> = match &judge {
        Some(judge) => Some(judge),
        None => None,
    };
    let mut contenders = Vec::with_capacity(models.len());
    let mut reports = Vec::with_capacity(models.len());
    for ((name, params), init) in models.iter().zip(begun) {
        run.step(&format!("fitting {name}"), 0, None)?;
        let (matcher, report) = params.fit_to(Fitting { counts, init, judge, run })?;
        contenders.push(Contender { name: name.clone(), matcher });
        reports.push(report);
    }
    Ok((contenders, reports))
}
