//! From a dataset to a model: counts the text, fits every part with early stopping on validation, and
//! tunes the weights of a mix. It connects matchers and measures, which do not import each other.

use crate::data::Dataset;
use crate::eval::{
    Candidates, CompareParams, HeldOut, Measure, System, Task, Variant, check_choice,
    check_comparable, check_tunable, tune_weights,
};
use crate::features::{Counts, Preparation};
use crate::matchers::{
    FitReport, Fitting, Maps, Mixture, Model, Params, Part, Trained, ValidationScorer, plan_all,
};
use crate::{Error, Result, Run, Steps};

/// The validation measure of early stopping and of the weights of a mix.
const MEASURE: Measure = Measure::Ndcg { k: Some(10) };

/// Counts the text of `dataset` by `preparation` and fits every part of `mixture`; weights that are not
/// given are tuned on validation. `params` holds the parameters of each part.
pub fn train(
    dataset: &Dataset,
    preparation: &Preparation,
    mixture: &Mixture,
    params: &[Params],
    run: &Run<'_>,
) -> Result<Trained> {
    train_from(dataset, preparation, mixture, params, &TrainOptions::default(), run)
}

/// A warm start, and a callback before the fit.
#[derive(Default, Clone, Copy)]
pub struct TrainOptions<'a> {
    /// The model of the warm start: every learnt part starts from its maps.
    pub init: Option<&'a Model>,
    /// Called when the text is counted, before anything is fitted, for example to check the planned
    /// memory and time ([`crate::plan`]).
    pub before: Option<&'a BeforeFit<'a>>,
}

/// The type of [`TrainOptions::before`], called with the counts and [`n_validation_scores`].
pub type BeforeFit<'a> = dyn Fn(&Counts, u64) -> Result<()> + 'a;

/// The number of documents that are scored for the validation score of one step of a fit.
pub fn n_validation_scores(dataset: &Dataset, counts: &Counts) -> u64 {
    validation(dataset, counts, Candidates::Auto, Variant::default()).n_scored()
}

/// Refuses models that cannot be fitted together, because they take classes from different fields, and
/// models that choose by validation while they are fitted, if validation has no relevant document.
pub fn check_models<'a>(
    dataset: &Dataset,
    models: impl IntoIterator<Item = &'a Params> + Clone,
    variant: &Variant,
) -> Result<()> {
    let mut fields = models.clone().into_iter().filter_map(|params| params.class_field());
    if let Some(first) = fields.next()
        && let Some(other) = fields.find(|field| *field != first)
    {
        return Err(Error::parameter(
            "class",
            other,
            &format!(
                "{first}, as in the model before: models that are fitted together share their classes"
            ),
        ));
    }
    let Some(params) = models.into_iter().find(|params| params.validated()) else { return Ok(()) };
    if dataset.validation.nnz() == 0 {
        return Ok(());
    }
    let what_for = format!(" for {} to choose by while it is fitted", params.name());
    let advice = "import again with judgments that hold relevant documents, or without validation (`validation = 0`)";
    check_choice(dataset, MEASURE, variant, &what_for, advice)
}

fn validation<'a>(
    dataset: &'a Dataset,
    counts: &Counts,
    candidates: Candidates,
    variant: Variant,
) -> Task<'a> {
    Task::new(dataset, HeldOut::Validation, counts, candidates, variant)
}

/// Like [`train`], with options.
pub fn train_from(
    dataset: &Dataset,
    preparation: &Preparation,
    mixture: &Mixture,
    params: &[Params],
    options: &TrainOptions<'_>,
    run: &Run<'_>,
) -> Result<Trained> {
    check_comparable(dataset, std::slice::from_ref(mixture), None)?;
    check_tunable(dataset, std::slice::from_ref(mixture), MEASURE, &Variant::default())?;
    check_models(dataset, params, &Variant::default())?;
    // The number of earlier parts with the same method.
    let nth = |p: usize| params[..p].iter().filter(|q| q.name() == params[p].name()).count();
    let init = options.init;
    if let Some(init) = init {
        if !params.iter().any(|params| params.learns()) {
            return Err(Error::parameter(
                "init",
                &init.about.name,
                "a method that learns, such as pls or rmls: this one has nothing to start from",
            ));
        }
        for (p, params) in params.iter().enumerate() {
            init.check_warm_start(params, nth(p), preparation)?;
        }
    }
    let mut steps = run.steps(1 + params.len() + usize::from(params.len() > 1));
    let prepared = Params::prepared(preparation, params);
    let counts = Counts::of(dataset, &prepared, &steps.next_step())?;
    if let Some(before) = options.before {
        before(&counts, n_validation_scores(dataset, &counts))?;
    }
    let (mut known, mut maps) = (Vec::new(), Vec::new());
    for (p, params) in params.iter().enumerate() {
        let start =
            init.map(|init| init.warm_start(params, nth(p), &counts)).transpose()?.flatten();
        known.push(start.as_ref().map(|start| start.known));
        maps.push(start.map(|start| start.maps));
    }
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
    let task = validation(dataset, &counts, compare.candidates, compare.variant);
    let (systems, reports) = fit_each(&task, &counts, &named, maps, &mut steps)?;
    let tuned = tune_weights(dataset, &counts, &systems, mixture, &compare, &steps.next_step())?;
    let parts = systems.into_iter().zip(params).zip(tuned.weights);
    let parts = parts.map(|((system, params), weight)| Part {
        weight,
        params: params.clone(),
        matcher: system.matcher,
    });
    let model = Model::assemble(mixture, dataset, counts, parts.collect());
    Ok(Trained { model, reports, validation: tuned.validation, known })
}

/// Fits every model, each in one of the `steps`, with validation scores on `dataset`. Refuses models that
/// need more memory than they may.
pub fn fit_all(
    dataset: &Dataset,
    counts: &Counts,
    models: &[(String, Params)],
    candidates: Candidates,
    variant: Variant,
    steps: &mut Steps<'_>,
) -> Result<(Vec<System>, Vec<FitReport>)> {
    check_models(dataset, models.iter().map(|(_, params)| params), &variant)?;
    let task = validation(dataset, counts, candidates, variant);
    let params: Vec<&Params> = models.iter().map(|(_, params)| params).collect();
    let limit = steps.run().memory();
    for plan in plan_all(counts, &params, task.n_scored(), false, None, limit) {
        plan.check(limit)?;
    }
    fit_each(&task, counts, models, models.iter().map(|_| None).collect(), steps)
}

fn fit_each(
    task: &Task<'_>,
    counts: &Counts,
    models: &[(String, Params)],
    warm_starts: Vec<Option<Maps>>,
    steps: &mut Steps<'_>,
) -> Result<(Vec<System>, Vec<FitReport>)> {
    let scorer = task.validation_scorer(MEASURE);
    let scorer: Option<&ValidationScorer<'_>> = match &scorer {
        Some(scorer) => Some(scorer),
        None => None,
    };
    let mut systems = Vec::with_capacity(models.len());
    let mut reports = Vec::with_capacity(models.len());
    for ((name, params), init) in models.iter().zip(warm_starts) {
        let run = steps.next_step().on(name);
        run.step("fitting", 0, None)?;
        let (matcher, report) = params.fit_to(Fitting { counts, init, scorer, run: &run })?;
        let weighs_clicks = params.weighs_clicks();
        systems.push(System { name: name.clone(), matcher: matcher.into(), weighs_clicks });
        reports.push(report);
    }
    Ok((systems, reports))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Error;
    use crate::data::fixture::Fixture;
    use crate::experiment::fit_and_compare;

    fn data(path: &std::path::Path) -> Dataset {
        let documents = [
            ("a", json!({ "title": "red apple" })),
            ("b", json!({ "title": "green pear" })),
            ("c", json!({ "title": "blue plum" })),
        ];
        let queries = ["red fruit", "green fruit", "blue fruit"];
        let clicks = [(0, 0, 3.0), (1, 1, 2.0), (2, 2, 1.0), (0, 1, 1.0)];
        Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }
            .open(path)
    }

    fn models(method: &str, settings: &[(&str, &str)]) -> (Mixture, Vec<(String, Params)>) {
        let mixture = Mixture::parse(method).unwrap();
        let models = mixture.parts.iter().map(|(_, name)| {
            let mut params = Params::named(name).unwrap();
            if params.has_dim() {
                params.set("dim", "2").unwrap();
                settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
            }
            (name.clone(), params)
        });
        let models = models.collect();
        (mixture, models)
    }

    #[test]
    fn validation_without_a_relevant_document_chooses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut data = data(&dir.path().join("d"));
        let good = data.validation.clone();
        let outcomes = |data: &Dataset, method: &str, settings: &[(&str, &str)]| {
            let (mixture, models) = models(method, settings);
            let params: Vec<Params> = models.iter().map(|(_, params)| params.clone()).collect();
            let (prepared, run) = (Preparation::default(), Run::silent());
            let trained = train(data, &prepared, &mixture, &params, &run).map(|_| ());
            let compare = CompareParams {
                rows: std::slice::from_ref(&mixture),
                measures: &[MEASURE],
                tune_on: MEASURE,
                baseline: 0,
                on: HeldOut::Test,
                candidates: Candidates::Auto,
                variant: Variant::default(),
                seed: 1,
            };
            let compared = fit_and_compare(data, &prepared, &models, &compare, &run).map(|_| ());
            [trained, compared]
        };
        let needing = [
            ("rmls", &[("start", "random")][..], "for rmls to choose by"),
            ("rmls", &[], "for rmls to choose by"),
            ("mpls", &[("alpha", "tuned")], "for mpls to choose by"),
            ("pls+bm25", &[], "to tune the weights of a mix by"),
        ];
        let needless = ["bm25", "pls", "mpls", "0.5*pls+0.5*bm25"];
        for (method, settings, _) in needing {
            outcomes(&data, method, settings).into_iter().for_each(|outcome| outcome.unwrap());
        }
        data.validation = good.map(|_, _, _| 0.0).unwrap();
        for (method, settings, words) in needing {
            for outcome in outcomes(&data, method, settings) {
                let message = outcome.unwrap_err().to_string();
                assert!(message.contains("no validation query of "), "{message}");
                assert!(
                    message.contains("a grade above 0") && message.contains(words),
                    "{message}"
                );
                assert!(message.contains("judgments that hold relevant documents"), "{message}");
            }
        }
        for method in needless {
            outcomes(&data, method, &[]).into_iter().for_each(|outcome| outcome.unwrap());
        }
        // Without validation RMLS keeps its last sweep.
        data.validation = crate::sparse::Csr::empty(good.n_rows(), good.n_cols());
        outcomes(&data, "rmls", &[]).into_iter().for_each(|outcome| outcome.unwrap());
    }

    #[test]
    fn fits_that_are_compared_keep_within_the_memory_of_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let data = data(&dir.path().join("d"));
        let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
        let fit = |method: &str, run: &Run<'_>| {
            let (_, models) = models(method, &[]);
            let (candidates, variant) = (Candidates::Auto, Variant::default());
            fit_all(&data, &counts, &models, candidates, variant, &mut run.steps(1)).map(|_| ())
        };
        let tight = Run::silent().with_memory(1 << 20);
        assert!(matches!(fit("pls", &tight), Err(Error::Memory { .. })));
        fit("bm25", &tight).unwrap();
        fit("pls", &Run::silent().with_memory(1 << 30)).unwrap();
    }
}
