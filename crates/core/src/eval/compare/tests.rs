//! What is chosen looks at validation alone, and what training knows is no question of a test.

use serde_json::json;

use super::*;
use crate::data::SplitBy;
use crate::data::fixture::{Fixture, contradiction};
use crate::experiment::{fit_and_compare, fit_and_compare_with};
use crate::features::Preparation;
use crate::matchers::Params;
use crate::stack::{RankerSpec, Rankers, Stacking};
use crate::training::{fit_all, train};

const FIRST: Measure = Measure::Ndcg { k: Some(1) };

fn models(mixture: &Mixture) -> Vec<(String, Params)> {
    let of = |(_, name): &(Option<f64>, String)| {
        let mut params = Params::named(name).unwrap();
        if params.has_dim() {
            params.set("dim", "8").unwrap();
        }
        (name.clone(), params)
    };
    mixture.parts.iter().map(of).collect()
}

fn params<'a>(rows: &'a [Mixture], on: HeldOut, candidates: Candidates) -> CompareParams<'a> {
    CompareParams {
        rows,
        measures: &[FIRST],
        tune_on: Measure::Ndcg { k: Some(10) },
        baseline: 0,
        on,
        candidates,
        variant: Variant::default(),
        seed: 1,
    }
}

/// Whether words or clicks weigh more in a mix of pls and bm25.
#[derive(Debug, PartialEq)]
enum Chosen {
    Words,
    Clicks,
}

fn chosen(pls: f64, bm25: f64) -> Chosen {
    assert_ne!(pls, bm25);
    if bm25 > pls { Chosen::Words } else { Chosen::Clicks }
}

#[test]
fn weights_of_mixes_are_tuned_on_validation_wherever_they_are_tuned() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = contradiction(&dir.path().join("d"));
    let (run, prepared) = (Run::silent(), Preparation::default());
    let mixture = Mixture::parse("pls+bm25").unwrap();
    let rows = std::slice::from_ref(&mixture);
    let models = models(&mixture);
    let each: Vec<Params> = models.iter().map(|(_, params)| params.clone()).collect();
    for expected in [Chosen::Words, Chosen::Clicks] {
        let counts = Counts::of(&data, &prepared, &run).unwrap();
        let (candidates, variant) = (Candidates::Auto, Variant::default());
        let (systems, _) =
            fit_all(&data, &counts, &models, candidates, variant, &mut run.steps(1)).unwrap();
        for on in [HeldOut::Test, HeldOut::Validation] {
            let params = params(rows, on, candidates);
            let (table, _) = fit_and_compare(&data, &prepared, &models, &params, &run).unwrap();
            let row = &table.rows[0];
            assert_eq!(chosen(row.weights[0].1, row.weights[1].1), expected, "compare on {on:?}");
            assert_eq!(row.validation, Some(1.0));
            // Who chose by validation is right there, and wrong where test says the opposite.
            let right = if on == HeldOut::Validation { 1.0 } else { 0.0 };
            assert_eq!(row.cells[0].mean, Some(right), "{expected:?} on {on:?}");
            let tuned = tune_weights(&data, &counts, &systems, &mixture, &params, &run).unwrap();
            assert_eq!(chosen(tuned.weights[0], tuned.weights[1]), expected, "weights, {on:?}");
        }
        let trained = train(&data, &prepared, &mixture, &each, &run).unwrap();
        let weights: Vec<f64> = trained.model.parts.iter().map(|part| part.weight).collect();
        assert_eq!(chosen(weights[0], weights[1]), expected, "train");
        assert_eq!(trained.validation, Some(1.0));
        // The other way round.
        std::mem::swap(&mut data.validation, &mut data.test);
    }
}

#[test]
fn rankers_learn_from_validation_and_never_from_test() {
    let dir = tempfile::tempdir().unwrap();
    let mut data = contradiction(&dir.path().join("d"));
    let (run, prepared) = (Run::silent(), Preparation::default());
    let models = models(&Mixture::parse("pls+vsm").unwrap());
    let specs = [RankerSpec::parse("regression:vsm+pls").unwrap()];
    let rankers = Rankers { specs: &specs, stacking: &Stacking::default() };
    let name = specs[0].name.clone();
    let rows = [Mixture { fusion: MixKind::Linear, parts: vec![(None, name)] }];
    for _ in 0..2 {
        let mean = |on: HeldOut| {
            let params = params(&rows, on, Candidates::Auto);
            let (table, _) =
                fit_and_compare_with(&data, &prepared, &models, rankers, &params, &run).unwrap();
            table.rows[0].cells[0].mean.unwrap()
        };
        assert_eq!((mean(HeldOut::Validation), mean(HeldOut::Test)), (1.0, 0.0));
        std::mem::swap(&mut data.validation, &mut data.test);
    }
}

/// Two queries whose training document is the best match, and the held-out one the second.
fn known_and_asked(path: &std::path::Path, by: SplitBy) -> Dataset {
    let documents = [
        ("a", json!({ "title": "red red red" })),
        ("b", json!({ "title": "red tree" })),
        ("c", json!({ "title": "blue blue blue" })),
        ("d", json!({ "title": "blue tree" })),
        ("e", json!({ "title": "stone" })),
    ];
    let clicks = [(0, 0, 3.0), (1, 2, 3.0)];
    let held_out = [(0, 1, 1.0), (1, 3, 1.0)];
    Fixture { documents: &documents, queries: &["red", "blue"], clicks: &clicks, held_out: &[] }
        .open_split(path, by, &held_out, &held_out)
}

#[test]
fn training_pairs_are_not_ranked_where_pairs_were_split() {
    let dir = tempfile::tempdir().unwrap();
    let (run, prepared) = (Run::silent(), Preparation::default());
    let rows = ["bm25", "bm25+vsm", "0.5*bm25+0.5*vsm", "rrf:bm25+vsm"]
        .map(|text| Mixture::parse(text).unwrap());
    let models = models(&rows[1]);
    for (by, first) in [(SplitBy::Edges, 1.0), (SplitBy::Given, 0.0)] {
        let data = known_and_asked(&dir.path().join(format!("{by:?}")), by);
        let counts = Counts::of(&data, &prepared, &run).unwrap();
        for on in [HeldOut::Test, HeldOut::Validation] {
            let params = params(&rows, on, Candidates::All);
            let (table, _) = fit_and_compare(&data, &prepared, &models, &params, &run).unwrap();
            for row in &table.rows {
                assert_eq!(row.cells[0].mean, Some(first), "{by:?} {on:?} {}", row.name);
            }
            // A score of a fit in progress, and candidates that are drawn.
            let bm25 = models[0].1.fit(&counts, None, &run).unwrap().0;
            let task = Task::new(&data, on, &counts, Candidates::All, Variant::default());
            let score = |query: u32, docs: Option<&[u32]>| {
                bm25.scores(&counts, &counts.query(query as usize), docs)
            };
            assert_eq!(task.validation_scorer(FIRST).unwrap()(&score), first, "{by:?} {on:?}");
            let drawn = Candidates::Sampled { docs: 9, queries: None };
            let task = Task::new(&data, on, &counts, drawn, Variant::default());
            for (place, known) in [(0, 0), (1, 2)] {
                let docs = task.docs(place).unwrap();
                assert_eq!(docs.contains(&known), by != SplitBy::Edges, "{by:?} {docs:?}");
                assert_eq!(docs.len(), if by == SplitBy::Edges { 4 } else { 5 });
            }
        }
    }
}
