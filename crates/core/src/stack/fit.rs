//! Fitting rankers to features of the queries of a dataset.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cross::{CrossFit, CrossInputs, cross_rows};
use super::inputs::sources;
use super::reranked::{Reranked, Shared};
use super::{LearnFrom, RankerSpec, Stacking};
use crate::data::Dataset;
use crate::eval::{Candidates, CompareParams, HeldOut, System, Task};
use crate::features::Counts;
use crate::matchers::{Bm25, FitReport, Matcher, Params, StepsReport};
use crate::random::Random;
use crate::rank::features::{
    Extractor, FeatureRows, Group, QueryDocs, RowSelection, StaticFeatures, add_rows, choose,
    extract,
};
use crate::rank::{FeatureTable, Goal, RankSetup, Ranker, TableBuilder};
use crate::{Error, Result, Run};

/// Rankers to fit, and how.
#[derive(Clone, Copy)]
pub struct Rankers<'a> {
    /// Rankers to fit, each to the same features.
    pub specs: &'a [RankerSpec],
    /// The parameters that they share.
    pub stacking: &'a Stacking,
}

impl Rankers<'_> {
    /// Refuses rankers that cannot be trained, before anything is fitted.
    pub fn check(&self, dataset: &Dataset) -> Result<()> {
        if self.specs.is_empty() {
            return Ok(());
        }
        self.stacking.check()?;
        if self.stacking.on != LearnFrom::Train && dataset.validation.nnz() == 0 {
            return Err(Error::Empty {
                what: format!(
                    "{} has no validation queries for rankers to learn from",
                    dataset.folder.path.display()
                ),
                advice: "import it again with `validation = 0.1`, or let them learn from training queries (`learn_from = train`; in a file on = \"train\")".into(),
            });
        }
        Ok(())
    }

    /// Whether some feature needs the positions of words.
    pub fn need_positions(&self) -> Result<bool> {
        let groups = Group::parse(&self.stacking.groups)?;
        Ok(!self.specs.is_empty() && groups.contains(&Group::Proximity))
    }
}

/// Fits rankers over the features of the fitted `systems` of `models`, to be compared with these.
pub fn fit_rankers(
    dataset: &Dataset,
    counts: &Counts,
    models: &[(String, Params)],
    systems: &[System],
    rankers: Rankers<'_>,
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<Vec<(System, FitReport)>> {
    let Rankers { specs, stacking } = rankers;
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    stacking.check()?;
    let groups = Group::parse(&stacking.groups)?;
    let fixed = StaticFeatures::of(dataset, counts, &groups, run)?;
    let extractor = Extractor::new(&fixed, counts, sources(systems, &groups));
    // Unknown names are refused before the work.
    let chosen: Vec<Vec<usize>> = specs
        .iter()
        .map(|spec| choose(extractor.features(), &spec.features))
        .collect::<Result<_>>()?;
    let task = |on| Task::new(dataset, on, counts, params.candidates, params.variant);
    let test = task(params.on);
    let depth = (test.candidates() == Candidates::All).then_some(stacking.depth);

    let mut tables: Vec<FeatureTable> = Vec::new();
    // The number of each query of the tables, if it is a query of the dataset.
    let mut numbers: Vec<Option<u32>> = Vec::new();
    let mut prepared: Vec<FeatureRows> = Vec::new();
    if stacking.on != LearnFrom::Train {
        let validation = task(HeldOut::Validation);
        let rows = candidate_rows(&extractor, counts, &validation, stacking.depth, run)?;
        let mut builder = TableBuilder::new(extractor.names());
        add_rows(&mut builder, counts, &rows, |place| validation.grades(place))?;
        tables.push(builder.finish());
        let some = rows.iter().filter(|rows| !rows.docs.is_empty());
        numbers.extend(some.map(|rows| Some(rows.query)));
        prepared.extend(rows);
    }
    if stacking.on != LearnFrom::Validation {
        let &Stacking { cross_folds: folds, queries, seed, depth, .. } = stacking;
        let inputs = CrossInputs {
            dataset,
            counts,
            models,
            fitted: systems,
            fixed: &fixed,
            extractor: &extractor,
            groups: &groups,
        };
        let fit = CrossFit { folds, queries, seed };
        tables.push(cross_rows(&inputs, RowSelection::Top(depth), &fit, run)?);
        let known: HashMap<&str, u32> =
            counts.query_ids.iter().map(String::as_str).zip(0..).collect();
        let own = tables.last().map_or(&[][..], FeatureTable::queries);
        numbers.extend(own.iter().map(|id| known.get(id.as_str()).copied()));
    }
    let table = FeatureTable::joined(&tables.iter().collect::<Vec<_>>());
    drop(tables);
    if params.on == HeldOut::Test || stacking.on == LearnFrom::Train {
        prepared.extend(candidate_rows(&extractor, counts, &test, stacking.depth, run)?);
    }

    let fallback: Arc<dyn Matcher> = match systems.iter().find(|one| one.name == "bm25") {
        Some(bm25) => bm25.matcher.clone(),
        None => Arc::new(Bm25::default().fit(counts)?),
    };
    let mut shared = Shared::new(counts, extractor, depth, fallback);
    shared.prepared = prepared.into_iter().map(|rows| (rows.query, rows)).collect();
    let shared = Arc::new(shared);
    let goal = Goal { measure: params.tune_on, variant: params.variant };
    let mut fitted = Vec::with_capacity(specs.len());
    for (spec, columns) in specs.iter().zip(chosen) {
        let run = &run.on(&spec.name);
        run.step("fitting", 0, None)?;
        let own = table.of_features(&columns);
        let (rankers, fold_of, report) = fit_folds(spec, &own, goal, stacking, run)?;
        let known =
            numbers.iter().zip(fold_of).filter_map(|(number, fold)| Some(((*number)?, fold)));
        let folds: HashMap<u32, usize> = known.collect();
        let matcher = Arc::new(Reranked { shared: shared.clone(), columns, rankers, folds });
        let system = System { name: spec.name.clone(), matcher, weighs_clicks: true };
        fitted.push((system, FitReport::Ranker(report)));
    }
    Ok(fitted)
}

/// The features of the candidates of every query of `task`.
fn candidate_rows(
    extractor: &Extractor,
    counts: &Counts,
    task: &Task<'_>,
    depth: usize,
    run: &Run<'_>,
) -> Result<Vec<FeatureRows>> {
    let docs = |place: usize| match task.docs(place) {
        Some(docs) => QueryDocs::Given(docs),
        None => QueryDocs::Best { depth, excluded: task.excluded(place) },
    };
    extract(extractor, counts, task.queries(), docs, run)
}

/// Trains a ranker for every fold on the other folds, with the fold as validation. Returns the
/// rankers, the fold of every query, and a report.
fn fit_folds(
    spec: &RankerSpec,
    table: &FeatureTable,
    goal: Goal,
    stacking: &Stacking,
    run: &Run<'_>,
) -> Result<(Vec<Ranker>, Vec<usize>, StepsReport)> {
    let n = table.n_queries();
    let folds = stacking.folds.min(n);
    if folds < 2 {
        return Err(Error::Empty {
            what: format!("queries for {} to learn from: {n}, expected 2 or more", spec.name),
            advice: "import with more validation queries, or let rankers learn from training queries, too".into(),
        });
    }
    // A query that is in training and in validation is in one fold.
    let mut ids: Vec<&String> = Vec::new();
    let mut seen = HashSet::new();
    ids.extend(table.queries().iter().filter(|id| seen.insert(id.as_str())));
    Random::new(stacking.seed, 0).shuffle(&mut ids);
    let fold_of: HashMap<&String, usize> =
        ids.iter().enumerate().map(|(place, &id)| (id, place % folds)).collect();
    let folds_of: Vec<usize> = table.queries().iter().map(|id| fold_of[id]).collect();
    let setup =
        RankSetup { params: spec.params.clone(), normalisation: spec.normalisation(), goal };
    let (mut rankers, mut sum, mut counted) = (Vec::with_capacity(folds), 0.0, 0usize);
    let mut report = StepsReport {
        step: "fold".into(),
        figures: vec!["queries".into(), "step kept".into(), goal.measure.to_string()],
        ..StepsReport::default()
    };
    for fold in 0..folds {
        run.step("fitting", fold as u64, Some(folds as u64))?;
        let (own, rest): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|&query| folds_of[query] == fold);
        let (own, rest) = (table.of_queries(&own), table.of_queries(&rest));
        let (ranker, fitted) = setup.train(&rest, Some(&own), run)?;
        let scores = ranker.score(&own)?.scores;
        let values: Vec<f64> = goal.values(&own, &scores).into_iter().flatten().collect();
        let of_fold: f64 = values.iter().sum();
        report.steps.push(vec![
            own.n_queries() as f64,
            fitted.kept.map_or(f64::NAN, |kept| kept as f64),
            of_fold / values.len().max(1) as f64,
        ]);
        for warning in fitted.warnings {
            if !report.warnings.contains(&warning) {
                report.warnings.push(warning);
            }
        }
        (sum, counted) = (sum + of_fold, counted + values.len());
        rankers.push(ranker);
    }
    let held_out = sum / counted.max(1) as f64;
    report.notes.push(format!(
        "{}, {} of {}; {} on held-out folds: {held_out:.4}",
        crate::counted(table.n_features(), "feature"),
        crate::counted(table.n_rows(), "row"),
        crate::counted(n, "query"),
        goal.measure
    ));
    report.notes.push(most_used(&rankers));
    Ok((rankers, folds_of, report))
}

/// A note of the features with the largest weights.
fn most_used(rankers: &[Ranker]) -> String {
    const MOST: usize = 8;
    let mut sums: Vec<(String, f64)> = Vec::new();
    for feature in rankers.iter().flat_map(Ranker::importance) {
        match sums.iter_mut().find(|(name, _)| *name == feature.name) {
            Some((_, sum)) => *sum += feature.weight,
            None => sums.push((feature.name, feature.weight)),
        }
    }
    sums.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let n = rankers.len().max(1) as f64;
    let shown: Vec<String> =
        sums.iter().take(MOST).map(|(name, sum)| format!("{name} {:.3}", sum / n)).collect();
    format!("most used: {}", shown.join(", "))
}
