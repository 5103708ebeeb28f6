use super::*;
use crate::rank::trees::fixture::{self, fit, rows};

#[test]
fn one_split_gives_the_means_of_both_sides() {
    let table = rows(&[
        ("a", 1.0, &[1.0]),
        ("a", 1.0, &[1.0]),
        ("a", 2.0, &[1.0]),
        ("b", 5.0, &[4.0]),
        ("b", 6.0, &[4.0]),
        ("b", 7.0, &[4.0]),
    ]);
    let mart = Mart { trees: 1, leaves: 2, rate: 1.0, min_leaf: 1, ..Mart::default() };
    let (scorer, report) = fit(&mart, &table, None).unwrap();
    assert!((scorer.score(&[0.2]) - 4.0 / 3.0).abs() < 1e-9);
    assert!((scorer.score(&[9.0]) - 6.0).abs() < 1e-9);
    // Two rows are off by 1/3 on the left, one by 2/3, and two by 1 on the right.
    let expected = (2.0 / 9.0 + 4.0 / 9.0 + 2.0) / 6.0;
    assert!((report.steps[0].objective.unwrap() - expected).abs() < 1e-9);
}

#[test]
fn a_row_counts_what_it_weighs() {
    let few = rows(&[("a", 0.0, &[0.0]), ("a", 3.0, &[0.0]), ("a", 9.0, &[1.0])]);
    let weighted = few.clone().with_weights(Some(vec![2.0, 1.0, 4.0]));
    let many = rows(&[
        ("a", 0.0, &[0.0]),
        ("a", 0.0, &[0.0]),
        ("a", 3.0, &[0.0]),
        ("a", 9.0, &[1.0]),
        ("a", 9.0, &[1.0]),
        ("a", 9.0, &[1.0]),
        ("a", 9.0, &[1.0]),
    ]);
    let mart = Mart { trees: 3, leaves: 2, min_leaf: 1, ..Mart::default() };
    let (one, _) = fit(&mart, &weighted, None).unwrap();
    let (other, _) = fit(&mart, &many, None).unwrap();
    for value in [0.0, 1.0] {
        assert!((one.score(&[value]) - other.score(&[value])).abs() < 1e-6);
    }
}

#[test]
fn the_loss_falls_tree_by_tree() {
    let table = fixture::table(30, 20, 7, 1);
    let (scorer, report) = fit(&Mart { trees: 60, ..Mart::default() }, &table, None).unwrap();
    let losses: Vec<f64> = report.steps.iter().map(|step| step.objective.unwrap()).collect();
    assert!(losses.is_sorted_by(|a, b| a > b));
    assert!(losses[59] < 0.5 * losses[0]);
    assert_eq!(report.kept, Some(60));
    // The mean of the rows is what every row has: contributions are around it.
    let mean = table.grades().iter().map(|&grade| f64::from(grade)).sum::<f64>() / 600.0;
    for row in 0..20 {
        let contributions = scorer.contributions(table.row(row));
        let sum: f64 = contributions.iter().sum();
        assert!((sum - scorer.score(table.row(row))).abs() < 1e-9);
        assert!((contributions[7] - mean).abs() < 1e-6);
    }
}
