//! The objective against a plain solver of the dual over listed pairs.

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::rank::FeatureTable;
use crate::rank::linear::fixture::{self, silent};
use crate::rank::linear::matrix::inner;

/// The pairs of a table, each with its difference and its cost.
pub(in super::super) fn listed(
    table: &FeatureTable,
    costs: Option<&Costs>,
) -> Vec<(Vec<f64>, f64)> {
    let mut pairs = Vec::new();
    for (number, rows) in table.by_query().enumerate() {
        for i in rows.clone() {
            for j in rows.clone() {
                let (a, b) = (table.grades()[i], table.grades()[j]);
                if a > b {
                    let difference = |(&x, &y): (&f32, &f32)| f64::from(x) - f64::from(y);
                    let difference = table.row(i).iter().zip(table.row(j)).map(difference);
                    let cost = costs.map_or(1.0, |c| c.of(a, b) * c.by_query[number]);
                    pairs.push((difference.collect(), cost * table.weight(i)));
                }
            }
        }
    }
    pairs
}

/// The optimum by coordinate ascent on the dual over listed pairs, which is sure to lie between
/// the two values it yields.
pub(in super::super) fn plain(pairs: &[(Vec<f64>, f64)], c: f64, squared: bool) -> (f64, f64) {
    let mut w = vec![0.0; pairs[0].0.len()];
    let mut alphas = vec![0.0; pairs.len()];
    let (mut primal, mut dual) = (f64::INFINITY, f64::NEG_INFINITY);
    for _ in 0..200_000 {
        for ((x, cost), alpha) in pairs.iter().zip(&mut alphas) {
            if *cost == 0.0 {
                continue;
            }
            let soft = if squared { 1.0 / (2.0 * c * cost) } else { 0.0 };
            let most = if squared { f64::INFINITY } else { c * cost };
            let slope = 1.0 - inner(x, &w) - soft * *alpha;
            let next = (*alpha + slope / (inner(x, x) + soft)).clamp(0.0, most);
            w.iter_mut().zip(x).for_each(|(w, x)| *w += (next - *alpha) * x);
            *alpha = next;
        }
        let losses: f64 = pairs
            .iter()
            .map(|(x, cost)| {
                let short = (1.0 - inner(x, &w)).max(0.0);
                cost * if squared { short * short } else { short }
            })
            .sum();
        let norm = inner(&w, &w) / 2.0;
        let soft: f64 = match squared {
            true => pairs
                .iter()
                .zip(&alphas)
                .filter(|((_, cost), _)| *cost > 0.0)
                .map(|((_, cost), a)| a * a / (4.0 * c * cost))
                .sum(),
            false => 0.0,
        };
        primal = primal.min(norm + c * losses);
        dual = dual.max(alphas.iter().sum::<f64>() - norm - soft);
        if primal - dual <= 1e-9 * primal {
            break;
        }
    }
    (dual, primal)
}

#[test]
fn the_objective_is_that_of_a_dense_solver() {
    let table = fixture::weighted(fixture::random(4, 12, 5, 3));
    let pairs = listed(&table, None);
    for squared in [false, true] {
        for c in [0.01, 1.0, 30.0] {
            let (low, high) = plain(&pairs, c / 4.0, squared);
            assert!(high - low < 1e-6 * high, "{low} {high}");
            let method =
                RankingSvm { c: Some(c), squared, tolerance: 1e-8, ..RankingSvm::default() };
            let (_, report) = method.fit(&silent(&table, None)).unwrap();
            let found = report.steps[0].objective.unwrap();
            assert!((found / high - 1.0).abs() < 1e-6, "{squared} {c}: {found}, not {high}");
            assert_eq!(report.warnings, [""; 0]);
        }
    }
}

#[test]
fn many_features_are_solved_without_a_matrix() {
    let table = fixture::random(3, 20, 300, 3);
    let pairs = listed(&table, None);
    for squared in [false, true] {
        let (_, high) = plain(&pairs, 0.1, squared);
        let method = RankingSvm { c: Some(0.3), squared, tolerance: 1e-6, ..RankingSvm::default() };
        let (_, report) = method.fit(&silent(&table, None)).unwrap();
        let found = report.steps[0].objective.unwrap();
        assert!((found / high - 1.0).abs() < 1e-5, "{squared}: {found}, not {high}");
        assert_eq!(report.warnings, [""; 0]);
    }
}

#[test]
fn threads_change_nothing_and_a_note_tells_the_gap() {
    let table = fixture::random(30, 40, 20, 4);
    let validation = fixture::random(10, 20, 20, 4);
    let (_, report) = same_at_any_thread_count(|| {
        RankingSvm::default().fit(&silent(&table, Some(&validation))).unwrap()
    });
    assert_eq!(report.steps.len(), 10);
    assert!(report.notes[0].contains("gap"), "{:?}", report.notes);
    assert!(report.notes.iter().any(|note| note.contains("best on validation")));
    assert_eq!(report.warnings, [""; 0]);
}

#[test]
fn twenty_thousand_rows_of_as_many_grades() {
    let mut builder = crate::rank::TableBuilder::new(vec!["x".into(), "y".into()]);
    let mut random = crate::random::Random::new(1, 0);
    for row in 0..20_000 {
        let (x, y) = (random.uniform() as f32, random.uniform() as f32);
        let grade = x + 0.2 * random.normal() as f32;
        builder.push("q", &row.to_string(), grade, &[x, y]).unwrap();
    }
    let table = builder.finish();
    let method = RankingSvm { c: Some(1e-6), ..RankingSvm::default() };
    let (scorer, report) = method.fit(&silent(&table, None)).unwrap();
    assert_eq!(report.warnings, [""; 0]);
    assert!(scorer.score(&[1.0, 0.0]) > scorer.score(&[0.5, 0.0]) + 1.0);
}

#[test]
fn what_cannot_be_learnt_is_said() {
    let fit = |table: &FeatureTable| RankingSvm::default().fit(&silent(table, None));
    // One row per query, or equal grades: no pairs.
    for rows in [&[("a", 0.0), ("b", 1.0)][..], &[("a", 1.0), ("a", 1.0)]] {
        let error = fit(&fixture::graded(rows)).unwrap_err().to_string();
        assert!(error.contains("different grade"), "{error}");
    }
    // A query with one row and a query without pairs beside one with a pair.
    let table = fixture::graded(&[("a", 0.0), ("b", 0.0), ("b", 1.0), ("c", 1.0), ("c", 1.0)]);
    let (scorer, _) = fit(&table).unwrap();
    assert!(scorer.score(&[1.0]) > 0.0);
    // Constant features: nothing can be told apart, and the weights stay 0.
    let constant = table.with_values(vec![3.0; table.n_rows()]);
    let (scorer, report) = fit(&constant).unwrap();
    assert_eq!(scorer.score(&[1.0]), 0.0);
    assert_eq!(report.warnings, [""; 0]);
    let run = crate::Run::new(&|_| {}, &|| true);
    let stopped = Training { run: &run, ..silent(&table, None) };
    assert!(matches!(RankingSvm::default().fit(&stopped), Err(crate::Error::Cancelled)));
    let wrong = RankingSvm { c: Some(-1.0), ..RankingSvm::default() };
    assert!(wrong.check().unwrap_err().to_string().contains("c = -1"));
}
