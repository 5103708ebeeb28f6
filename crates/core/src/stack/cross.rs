//! Rows of training queries, by cross-fitting: the queries are split into folds, and the rows of a
//! fold are made with matchers that were fitted without the clicks of its queries. To them these
//! queries are new, as those of a test that holds out queries are.

use crate::data::Dataset;
use crate::eval::{Candidates, System, Variant};
use crate::features::Counts;
use crate::matchers::Params;
use crate::random::Random;
use crate::rank::features::{Extractor, Group, RowSelection, StaticFeatures, add_rows, extract};
use crate::rank::{FeatureTable, TableBuilder};
use crate::sparse::Csr;
use crate::training::fit_all;
use crate::{Error, Result, Run};

use super::inputs::{FeatureInputs, sources};

/// Cross-fitting: folds of the training queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossFit {
    /// The number of folds; every fold costs a fit of every model.
    pub folds: usize,
    /// The maximum number of queries; a random sample if there are more.
    pub queries: usize,
    /// Seed of the sample and of the split.
    pub seed: u64,
}

/// The largest grade that clicks become.
const MAX_GRADE: f32 = 4.0;

/// The features of training queries, with grades from their clicks: the weights themselves if none
/// is above 4, as in judgments; else ⌊log₂(1 + clicks)⌋, 4 at most.
pub fn cross_table(
    dataset: &Dataset,
    made: &FeatureInputs,
    models: &[(String, Params)],
    groups: &[Group],
    (rows, fit): (RowSelection, &CrossFit),
    run: &Run<'_>,
) -> Result<FeatureTable> {
    cross_rows(&CrossInputs::of(dataset, made, models, groups), rows, fit, run)
}

/// Everything that rows of training queries are made of.
pub(super) struct CrossInputs<'a> {
    pub dataset: &'a Dataset,
    pub counts: &'a Counts,
    /// The models, and the same fitted to all clicks.
    pub models: &'a [(String, Params)],
    pub fitted: &'a [System],
    /// Features that do not depend on clicks, and all features.
    pub fixed: &'a StaticFeatures,
    pub extractor: &'a Extractor,
    pub groups: &'a [Group],
}

impl<'a> CrossInputs<'a> {
    pub(super) fn of(
        dataset: &'a Dataset,
        made: &'a FeatureInputs,
        models: &'a [(String, Params)],
        groups: &'a [Group],
    ) -> Self {
        let FeatureInputs { counts, systems, fixed, extractor, .. } = made;
        CrossInputs { dataset, counts, models, fitted: systems, fixed, extractor, groups }
    }
}

pub(super) fn cross_rows(
    inputs: &CrossInputs<'_>,
    rows: RowSelection,
    fit: &CrossFit,
    run: &Run<'_>,
) -> Result<FeatureTable> {
    let dataset = inputs.dataset;
    let grades = grades(&dataset.clicks)?;
    let liked = |&query: &u32| grades.row(query as usize).values.iter().any(|&grade| grade > 0.0);
    let queries: Vec<u32> = (0..grades.n_rows() as u32).filter(liked).collect();
    let mut builder = TableBuilder::new(inputs.extractor.names());
    fit.each_fold(inputs, queries, run, |fold| {
        let judged = |place: usize| grades.row(fold.queries[place] as usize);
        let excluded: Vec<Vec<u32>> =
            fold.queries.iter().map(|&query| excluded(dataset, &fold.counts, query)).collect();
        let docs = |place: usize| rows.docs(judged(place).indices, &excluded[place]);
        let rows = extract(&fold.extractor, &fold.counts, &fold.queries, docs, fold.run)?;
        add_rows(&mut builder, &fold.counts, &rows, judged)
    })?;
    Ok(builder.finish())
}

/// The queries of a fold, and features that know nothing of their clicks.
pub(super) struct Fold<'a> {
    /// The queries, ascending.
    pub queries: Vec<u32>,
    /// The counts without the clicks of these queries.
    pub counts: Counts,
    /// Features of matchers fitted to these counts.
    pub extractor: Extractor,
    pub run: &'a Run<'a>,
}

impl CrossFit {
    /// Splits `queries` and calls `visit` with every fold.
    pub(super) fn each_fold(
        &self,
        inputs: &CrossInputs<'_>,
        mut queries: Vec<u32>,
        run: &Run<'_>,
        mut visit: impl FnMut(&Fold<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.folds < 2 {
            return Err(Error::parameter("folds", self.folds, "2 or more"));
        }
        if queries.len() < self.folds {
            return Err(Error::Empty {
                what: format!(
                    "training queries: {}, expected one or more for each of {} folds",
                    queries.len(),
                    self.folds
                ),
                advice: "learn from validation queries instead, or use fewer folds".into(),
            });
        }
        Random::new(self.seed, 0).shuffle(&mut queries);
        queries.truncate(self.queries.max(self.folds));
        // Models that do not depend on clicks are the same in every fold.
        let (again, as_is): (Vec<_>, Vec<_>) =
            inputs.models.iter().cloned().partition(|(_, params)| params.learns_from_clicks());
        let mut folds = run.steps(self.folds);
        for fold in 0..self.folds {
            let mut own: Vec<u32> =
                queries.iter().copied().skip(fold).step_by(self.folds).collect();
            own.sort_unstable();
            let run = &folds.next_step();
            let counts = inputs.counts.with_clicks(without(&inputs.counts.clicks, &own)?)?;
            let (variant, candidates) = (Variant::default(), Candidates::Auto);
            let (fitted, _) = fit_all(
                inputs.dataset,
                &counts,
                &again,
                candidates,
                variant,
                &mut run.steps(again.len()),
            )?;
            let shared = |(name, _): &(String, Params)| {
                let found = inputs.fitted.iter().find(|system| system.name == *name);
                found.map(|one| System {
                    name: one.name.clone(),
                    matcher: one.matcher.clone(),
                    weighs_clicks: false,
                })
            };
            let mut systems: Vec<System> = as_is.iter().filter_map(shared).chain(fitted).collect();
            systems.sort_by_key(|one| inputs.models.iter().position(|(name, _)| *name == one.name));
            let extractor = Extractor::new(inputs.fixed, &counts, sources(&systems, inputs.groups));
            visit(&Fold { queries: own, counts, extractor, run })?;
        }
        Ok(())
    }
}

/// The documents that must not be rows of a training query, sorted: the query itself, where queries
/// are documents, and its held-out documents, which may be relevant.
fn excluded(dataset: &Dataset, counts: &Counts, query: u32) -> Vec<u32> {
    let query = query as usize;
    let held = [&dataset.validation, &dataset.test, &dataset.set_aside];
    let held = held.into_iter().filter(|pairs| query < pairs.n_rows());
    let held = held.flat_map(|pairs| pairs.row(query).indices).copied();
    let mut all: Vec<u32> = held.chain(counts.own_documents.get(query).copied()).collect();
    let known = dataset.clicks.row(query);
    all.retain(|&doc| !known.contains(doc));
    all.sort_unstable();
    all.dedup();
    all
}

/// Clicks as grades.
fn grades(clicks: &Csr) -> Result<Csr> {
    let graded = clicks.values().iter().all(|&weight| weight <= MAX_GRADE);
    clicks.map(|_, _, weight| match graded {
        true => weight.max(0.0),
        false => (1.0 + weight.max(0.0)).log2().floor().min(MAX_GRADE),
    })
}

/// `clicks` without those of `queries`, which are sorted.
fn without(clicks: &Csr, queries: &[u32]) -> Result<Csr> {
    Csr::by_rows(clicks.n_cols(), clicks.n_rows(), |i| {
        let row = clicks.row(i);
        Ok(match queries.binary_search(&(i as u32)) {
            Ok(_) => (Vec::new(), Vec::new()),
            Err(_) => (row.indices.to_vec(), row.values.to_vec()),
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::FeatureParams;
    use super::*;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;

    /// Six documents that share no word with the queries they are clicked for.
    fn data(path: &std::path::Path) -> Dataset {
        let titles = ["apple", "pear", "plum", "fig", "date", "kiwi"];
        let documents: Vec<(&str, serde_json::Value)> =
            titles.iter().map(|&title| (title, json!({ "title": title }))).collect();
        let queries =
            ["red fruit", "green fruit", "blue fruit", "brown thing", "dry thing", "odd one"];
        let own = (0..6).map(|i| (i, i, 2.0));
        let clicks: Vec<(u32, u32, f32)> =
            own.chain((0..6).map(|i| (i, (i + 1) % 6, 1.0))).collect();
        Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }
            .open(path)
    }

    fn named(names: &[&str]) -> Vec<(String, Params)> {
        names.iter().map(|&name| (name.to_owned(), Params::named(name).unwrap())).collect()
    }

    #[test]
    fn rows_of_a_fold_are_made_without_its_clicks() {
        let dir = tempfile::tempdir().unwrap();
        let (data, run) = (data(&dir.path().join("d")), Run::silent());
        let (models, groups) = (named(&["walk", "vsm", "clicked"]), Group::all());
        let params = FeatureParams {
            preparation: &Preparation::default(),
            models: &models,
            groups: &groups,
        };
        let made = FeatureInputs::of(&data, &params, Vec::new(), &run).unwrap();
        let fit_to = CrossFit { folds: 6, queries: 5000, seed: 1 };
        let rows = (RowSelection::Judged, &fit_to);
        let table = cross_table(&data, &made, &models, &groups, rows, &run).unwrap();
        assert_eq!((table.n_queries(), table.n_rows()), (6, 12));
        assert_eq!(table.names(), made.extractor.names());
        let column = |name: &str| table.names().iter().position(|known| known == name).unwrap();
        let (walk, clicks, clicked) =
            (column("model(walk)"), column("clicks"), column("model(clicked)"));
        for (query, rows) in table.by_query().enumerate() {
            let i = made.counts.query_ids.iter().position(|id| *id == table.queries()[query]);
            let own = i.unwrap() as u32;
            // By hand: everything fitted to the clicks of the five others.
            let counts = made.counts.with_clicks(without(&data.clicks, &[own]).unwrap()).unwrap();
            let clicked_by = fit("clicked", &counts);
            for row in rows {
                let doc =
                    made.counts.doc_ids.iter().position(|id| *id == table.docs()[row]).unwrap();
                assert_eq!(table.row(row)[walk], 0.0, "a walk knows no query without clicks");
                let left = counts.clicks_by_document()[doc];
                assert_eq!(table.row(row)[clicks], left.ln_1p() as f32);
                let scores = clicked_by.scores(&counts, &counts.query(own as usize), None);
                assert_eq!(table.row(row)[clicked], scores[doc]);
                assert_eq!(table.grades()[row], data.clicks.row(own as usize).get(doc as u32));
            }
        }
        // To a model that has seen their clicks they are no question.
        let seen =
            made.held_out(&data, crate::eval::HeldOut::Test, RowSelection::Judged, &run).unwrap();
        assert!((0..seen.n_rows()).all(|row| seen.row(row)[walk] > 0.0));
    }

    fn fit(name: &str, counts: &Counts) -> Box<dyn crate::matchers::Matcher> {
        Params::named(name).unwrap().fit(counts, None, &Run::silent()).unwrap().0
    }

    #[test]
    fn clicks_become_grades() {
        let of = |weights: &[f32]| {
            let row = weights.iter().zip(0..).map(|(&weight, doc)| (0, doc, weight)).collect();
            grades(&Csr::from_triplets(1, weights.len(), row).unwrap()).unwrap().values().to_vec()
        };
        assert_eq!(of(&[2.0, 1.0, -1.0]), [2.0, 1.0, 0.0]);
        assert_eq!(of(&[1.0, 2.0, 3.0, 7.0, 1000.0]), [1.0, 1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn too_few_queries_or_folds_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (data, run) = (data(&dir.path().join("d")), Run::silent());
        let preparation = Preparation::default();
        let params =
            FeatureParams { preparation: &preparation, models: &[], groups: &[Group::Bm25] };
        let made = FeatureInputs::of(&data, &params, Vec::new(), &run).unwrap();
        for folds in [1, 7] {
            let fit = CrossFit { folds, queries: 5000, seed: 1 };
            let rows = (RowSelection::Top(100), &fit);
            assert!(cross_table(&data, &made, &[], &[Group::Bm25], rows, &run).is_err());
        }
    }
}
