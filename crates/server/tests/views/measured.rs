//! The measures of the page against those of `liken compare`.

use std::sync::Arc;

use liken::Run;
use liken::eval::{Candidates, CompareParams, HeldOut, Measure, System, Variant, compare};
use liken::matchers::Mixture;
use liken_server::pages::compare::{JudgedQueries, rank, table};

use crate::world::{served, world};

#[test]
fn models_are_measured_as_liken_compare_measures_them() {
    let world = world();
    let names = ["bm25", "rmls"];
    let measures: Vec<Measure> =
        ["nDCG@1", "nDCG@10", "P@5", "RR"].iter().map(|m| m.parse().unwrap()).collect();
    let systems: Vec<System> = names
        .iter()
        .map(|name| System {
            name: (*name).to_owned(),
            matcher: Arc::clone(&served(name).model.parts[0].matcher),
            weighs_clicks: true,
        })
        .collect();
    let rows: Vec<Mixture> = names.iter().map(|name| Mixture::parse(name).unwrap()).collect();
    for on in [HeldOut::Test, HeldOut::Validation] {
        for candidates in [Candidates::Auto, Candidates::All, Candidates::Judged] {
            let params = CompareParams {
                rows: &rows,
                measures: &measures,
                tune_on: measures[0],
                baseline: 0,
                on,
                candidates,
                variant: Variant::default(),
                seed: 1,
            };
            let counts = &served("bm25").model.counts;
            let expected =
                compare(&world.dataset, counts, &systems, &params, &Run::silent()).unwrap();
            let model = &served("bm25").model;
            let questions = JudgedQueries::held_out(&world.dataset, on, candidates, model).unwrap();
            let runs: Vec<_> = names
                .iter()
                .map(|name| {
                    let run = rank(&served(name).model, &questions, &|_| {});
                    ((*name).to_owned(), Arc::new(run))
                })
                .collect();
            let ours = table(&questions, &runs, "nDCG@1, nDCG@10, P@5, RR", 0, true).unwrap();
            assert_eq!(ours.queries.len(), expected.queries);
            for (row, theirs) in ours.rows.iter().zip(&expected.rows) {
                for (cell, their) in row.cells.iter().zip(&theirs.cells) {
                    let (a, b) = (cell.mean.unwrap(), their.mean.unwrap());
                    assert!((a - b).abs() < 1e-12, "{on:?} {candidates:?} {}: {a} {b}", row.name);
                    assert_eq!(
                        cell.against.map(|against| against.wins_ties_losses),
                        their.against.map(|against| against.wins_ties_losses)
                    );
                }
            }
        }
    }
}
