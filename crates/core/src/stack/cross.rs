//! Rows of training queries, by cross-fitting: the queries are dealt into folds, and the rows of a
//! fold are made with matchers that were fitted without the clicks of its queries. To them these
//! are queries that were never asked, as those of a test that holds out queries are.

use crate::data::Dataset;
use crate::eval::{Candidates, System, Variant};
use crate::features::Counts;
use crate::matchers::Params;
use crate::random::Random;
use crate::rank::FeatureTable;
use crate::rank::features::{Extractor, Fixed, Group, Rows, Table, extract};
use crate::sparse::{Csr, Row};
use crate::training::fit_all;
use crate::{Error, Result, Run};

use super::inputs::{FeatureInputs, sources};

/// How training queries become rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossParams {
    /// How many folds the queries are dealt into; every fold is a fit of every model.
    pub folds: usize,
    /// At most so many queries; those are drawn.
    pub queries: usize,
    /// Which documents become rows.
    pub rows: Rows,
    /// Seed of the deal.
    pub seed: u64,
}

impl Default for CrossParams {
    fn default() -> Self {
        CrossParams { folds: 5, queries: 5000, rows: Rows::Top(100), seed: 1 }
    }
}

/// The largest grade that clicks become.
const MOST: f32 = 4.0;

/// The features of training queries, with grades from their clicks: the weights themselves where
/// none is above 4, as in judgments; else ⌊log₂(1 + clicks)⌋, 4 at most.
pub fn cross_table(
    dataset: &Dataset,
    made: &FeatureInputs,
    models: &[(String, Params)],
    groups: &[Group],
    params: &CrossParams,
    run: &Run<'_>,
) -> Result<FeatureTable> {
    cross_rows(&Parts::of(dataset, made, models, groups), params, run)
}

/// What rows of training queries are made of.
pub(super) struct Parts<'a> {
    pub dataset: &'a Dataset,
    pub counts: &'a Counts,
    /// The models, and as they were fitted to all clicks.
    pub models: &'a [(String, Params)],
    pub fitted: &'a [System],
    /// Features that do not depend on clicks, and all features.
    pub fixed: &'a Fixed,
    pub extractor: &'a Extractor,
    pub groups: &'a [Group],
}

impl<'a> Parts<'a> {
    pub(super) fn of(
        dataset: &'a Dataset,
        made: &'a FeatureInputs,
        models: &'a [(String, Params)],
        groups: &'a [Group],
    ) -> Self {
        let FeatureInputs { counts, systems, fixed, extractor, .. } = made;
        Parts { dataset, counts, models, fitted: systems, fixed, extractor, groups }
    }
}

pub(super) fn cross_rows(
    parts: &Parts<'_>,
    params: &CrossParams,
    run: &Run<'_>,
) -> Result<FeatureTable> {
    let dataset = parts.dataset;
    let grades = grades(&dataset.clicks)?;
    let liked = |&query: &u32| grades.row(query as usize).values.iter().any(|&grade| grade > 0.0);
    let queries: Vec<u32> = (0..grades.n_rows() as u32).filter(liked).collect();
    let mut table = Table::new(parts.extractor);
    let deal = FoldAssignment { folds: params.folds, queries: params.queries, seed: params.seed };
    deal.each(parts, queries, run, |fold| {
        let judged = |place: usize| grades.row(fold.queries[place] as usize);
        let excluded: Vec<Vec<u32>> =
            fold.queries.iter().map(|&query| not_asked(dataset, &fold.counts, query)).collect();
        let ask = |place: usize| params.rows.ask(judged(place).indices, &excluded[place]);
        let rows = extract(&fold.extractor, &fold.counts, &fold.queries, ask, fold.run)?;
        for (place, rows) in rows.iter().enumerate() {
            table.add(&fold.counts, rows, judged(place))?;
        }
        Ok(())
    })?;
    Ok(table.finish())
}

/// How queries are dealt into folds.
pub(super) struct FoldAssignment {
    /// How many folds.
    pub folds: usize,
    /// At most so many queries; those are drawn.
    pub queries: usize,
    /// Seed of the draw.
    pub seed: u64,
}

/// Queries of a fold, and features that know nothing of their clicks.
pub(super) struct Fold<'a> {
    /// The queries, ascending.
    pub queries: Vec<u32>,
    /// Everything counted, without their clicks.
    pub counts: Counts,
    /// Features of matchers that were fitted to these counts.
    pub extractor: Extractor,
    /// Progress and cancellation.
    pub run: &'a Run<'a>,
}

impl FoldAssignment {
    /// Deals `queries` and calls `look` with every fold.
    pub(super) fn each(
        &self,
        parts: &Parts<'_>,
        mut queries: Vec<u32>,
        run: &Run<'_>,
        mut look: impl FnMut(&Fold<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.folds < 2 {
            return Err(Error::parameter("folds", self.folds, "2 or more"));
        }
        if queries.len() < self.folds {
            return Err(Error::Empty {
                what: format!("{} training queries for {} folds", queries.len(), self.folds),
                advice: "learn from validation queries instead, or use fewer folds".into(),
            });
        }
        Random::new(self.seed, 0).shuffle(&mut queries);
        queries.truncate(self.queries.max(self.folds));
        // What does not look at clicks is the same in every fold.
        let (again, as_is): (Vec<_>, Vec<_>) =
            parts.models.iter().cloned().partition(|(_, params)| params.learns_from_clicks());
        for fold in 0..self.folds {
            let mut own: Vec<u32> =
                queries.iter().copied().skip(fold).step_by(self.folds).collect();
            own.sort_unstable();
            let told = |progress: crate::Progress<'_>| {
                let stage = format!("fold {}: {}", fold + 1, progress.stage);
                let _ = run.step(&stage, progress.done, progress.total);
            };
            let stop = || run.check().is_err();
            let heard = &run.heard_by(&told, &stop);
            let counts = parts.counts.with_clicks(without(&parts.counts.clicks, &own)?)?;
            let (variant, candidates) = (Variant::default(), Candidates::Auto);
            let (fitted, _) = fit_all(parts.dataset, &counts, &again, candidates, variant, heard)?;
            let shared = |(name, _): &(String, Params)| {
                let found = parts.fitted.iter().find(|system| system.name == *name);
                found.map(|one| System {
                    name: one.name.clone(),
                    matcher: one.matcher.clone(),
                    weighs_clicks: false,
                })
            };
            let mut systems: Vec<System> = as_is.iter().filter_map(shared).chain(fitted).collect();
            systems.sort_by_key(|one| parts.models.iter().position(|(name, _)| *name == one.name));
            let extractor = Extractor::new(parts.fixed, &counts, sources(&systems, parts.groups));
            look(&Fold { queries: own, counts, extractor, run: heard })?;
        }
        Ok(())
    }
}

/// The documents that are no rows of a training query, sorted: the query itself, where queries are
/// documents, and what is held out of it, which may be good.
fn not_asked(dataset: &Dataset, counts: &Counts, query: u32) -> Vec<u32> {
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

/// What clicks are as grades.
fn grades(clicks: &Csr) -> Result<Csr> {
    let graded = clicks.values().iter().all(|&weight| weight <= MOST);
    clicks.map(|_, _, weight| match graded {
        true => weight.max(0.0),
        false => (1.0 + weight.max(0.0)).log2().floor().min(MOST),
    })
}

/// `clicks` without those of `queries`, which are sorted.
fn without(clicks: &Csr, queries: &[u32]) -> Result<Csr> {
    let (mut starts, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for (i, row) in clicks.rows().enumerate() {
        let row = match queries.binary_search(&(i as u32)) {
            Ok(_) => Row { indices: &[], values: &[] },
            Err(_) => row,
        };
        indices.extend_from_slice(row.indices);
        values.extend_from_slice(row.values);
        starts.push(indices.len() as u64);
    }
    Csr::new(clicks.n_cols(), starts, indices, values)
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
        let cross = CrossParams { folds: 6, rows: Rows::Judged, ..CrossParams::default() };
        let table = cross_table(&data, &made, &models, &groups, &cross, &run).unwrap();
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
        let seen = made.held_out(&data, crate::eval::HeldOut::Test, Rows::Judged, &run).unwrap();
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
            let cross = CrossParams { folds, ..CrossParams::default() };
            assert!(cross_table(&data, &made, &[], &[Group::Bm25], &cross, &run).is_err());
        }
    }
}
