//! The loss against its bound, thresholds against a search over all pairs, and edges.

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::rank::linear::fixture::{self, silent};
use crate::rank::{FeatureTable, TableBuilder};

#[test]
fn the_loss_is_below_its_bound_each_round() {
    let table = fixture::weighted(fixture::random(10, 20, 5, 4));
    for balanced in [false, true] {
        let method = RankBoost { rounds: 60, balanced, ..RankBoost::default() };
        let (trees, report, found) = method.boost(&silent(&table, None)).unwrap();
        assert_eq!((trees.trees.len(), report.steps.len()), (60, 60));
        let mut bound = 1.0;
        for (step, r) in report.steps.iter().zip(found) {
            bound *= (1.0 - r * r).sqrt();
            assert!(step.objective.unwrap() <= bound + 1e-12, "{step:?} {bound}");
        }
        assert!(bound < 0.8, "{bound}");
    }
}

#[test]
fn the_first_threshold_is_the_best_by_pairs() {
    let table = fixture::weighted(fixture::random(5, 12, 3, 3));
    let method = RankBoost { rounds: 1, ..RankBoost::default() };
    let (trees, _, found) = method.boost(&silent(&table, None)).unwrap();
    let (mut best, mut total) = (0.0f64, 0.0);
    for feature in 0..3 {
        for at in 0..table.n_rows() {
            let threshold = table.row(at)[feature];
            let (mut r, mut all) = (0.0, 0.0);
            for rows in table.by_query() {
                for i in rows.clone() {
                    for j in rows.clone() {
                        if table.grades()[i] > table.grades()[j] {
                            let above = |row: usize| f64::from(table.row(row)[feature] > threshold);
                            r += table.weight(i) * (above(i) - above(j));
                            all += table.weight(i);
                        }
                    }
                }
            }
            (best, total) = (best.max(f64::abs(r)), all);
        }
    }
    assert!((found[0].abs() - best / total).abs() < 1e-12);
    let leaves = trees.trees[0].leaves();
    assert!((leaves[1].value - found[0].atanh()).abs() < 1e-9);
    assert_eq!(leaves[0].count + leaves[1].count, table.n_rows() as u32);
}

#[test]
fn missing_values_go_where_they_help() {
    let mut builder = TableBuilder::new(vec!["x".to_owned()]);
    for query in ["a", "b"] {
        for (doc, grade, value) in [("1", 1.0, f32::NAN), ("2", 0.0, 1.0), ("3", 1.0, 2.0)] {
            builder.push(query, doc, grade, &[value]).unwrap();
        }
    }
    let table = builder.finish();
    let (scorer, report) = RankBoost::default().fit(&silent(&table, None)).unwrap();
    assert!(scorer.score(&[f32::NAN]) > scorer.score(&[1.0]));
    assert_eq!(report.steps[0].training, Some(1.0));
    assert!(!RankBoost::default().is_linear());
}

#[test]
fn threads_validation_and_edges() {
    let (table, validation) = (fixture::random(20, 25, 8, 4), fixture::random(10, 25, 8, 4));
    let method = RankBoost { rounds: 80, patience: 10, thresholds: 30, ..RankBoost::default() };
    let (scorer, report) =
        same_at_any_thread_count(|| method.fit(&silent(&table, Some(&validation))).unwrap());
    let Scorer::Trees(trees) = &scorer else { panic!("trees") };
    assert_eq!(Some(trees.trees.len()), report.kept);
    let goal = crate::rank::Goal::default();
    let kept = report.steps[report.kept.unwrap() - 1];
    assert_eq!(goal.mean(&validation, &scorer.scores(&validation)), kept.validation);

    let fit = |table: &FeatureTable| RankBoost::default().fit(&silent(table, None));
    let constant = table.with_values(vec![1.0; table.values().len()]);
    let (scorer, report) = fit(&constant).unwrap();
    assert_eq!(scorer.score(&[1.0; 8]), 0.0);
    assert!(report.warnings[0].contains("no threshold"));
    assert!(fit(&fixture::graded(&[("a", 1.0), ("a", 1.0), ("b", 0.0)])).is_err());
    // A perfect threshold: the weight stays finite.
    let (scorer, _) = fit(&fixture::graded(&[("a", 0.0), ("a", 1.0)])).unwrap();
    assert!(scorer.score(&[1.0]) > 0.0 && scorer.score(&[1.0]).is_finite());
    assert!(RankBoost { thresholds: 0, ..RankBoost::default() }.check().is_err());
    let rows: Vec<(&str, f32)> = (0..20_000).map(|row| ("q", (row / 7) as f32)).collect();
    let method = RankBoost { rounds: 20, ..RankBoost::default() };
    assert!(method.fit(&silent(&fixture::graded(&rows), None)).is_ok());
}
