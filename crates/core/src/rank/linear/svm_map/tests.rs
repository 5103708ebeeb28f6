//! The objective against what any point must satisfy, and edges.

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;
use crate::rank::Linear;
use crate::rank::linear::fixture::{self, silent};
use crate::rank::linear::matrix::inner;

#[test]
fn the_slope_is_a_subgradient() {
    let table = fixture::random(10, 12, 4, 3);
    let problem = Problem::new(&table, 1.0).unwrap();
    let mut random = Random::new(2, 0);
    let points: Vec<Vec<f64>> =
        (0..20).map(|_| (0..4).map(|_| 3.0 * random.normal()).collect()).collect();
    for a in &points {
        let (here, slope) = problem.risk(a);
        for b in &points {
            let moved: Vec<f64> = b.iter().zip(a).map(|(b, a)| b - a).collect();
            let (there, _) = problem.risk(b);
            assert!(there >= here + inner(&slope, &moved) - 1e-12);
        }
        // The loss is never below what average precision lacks.
        let scorer = Scorer::Linear(Linear { weights: a.clone(), bias: 0.0 });
        let goal = crate::rank::Goal {
            measure: "AP".parse().unwrap(),
            variant: crate::eval::Variant::preset("web").unwrap(),
        };
        let lacking: f64 =
            goal.values(&table, &scorer.scores(&table)).iter().flatten().map(|ap| 1.0 - ap).sum();
        assert!(here >= lacking / 10.0 - 1e-12);
    }
}

#[test]
fn no_point_is_better_than_the_optimum_less_the_gap() {
    let table = fixture::random(12, 10, 4, 3);
    let problem = Problem::new(&table, 1.0).unwrap();
    for c in [1.0, 30.0, 1000.0] {
        let method = SvmMap { c: Some(c), tolerance: 1e-6, rounds: 3000, ..SvmMap::default() };
        let (scorer, report) = method.fit(&silent(&table, None)).unwrap();
        assert_eq!(report.warnings, [""; 0]);
        let Scorer::Linear(linear) = scorer else { panic!("linear") };
        let value = |w: &[f64]| inner(w, w) / 2.0 + c * problem.risk(w).0;
        let objective = value(&linear.weights);
        assert!((objective / report.steps[0].objective.unwrap() - 1.0).abs() < 1e-12);
        // Plain subgradient steps from elsewhere come down to it and not below.
        let (mut w, mut best) = (vec![0.0; 4], f64::INFINITY);
        for step in 0..20_000 {
            best = f64::min(best, value(&w));
            let slope = problem.risk(&w).1;
            let length = 1.0 / f64::from(step + 1);
            w.iter_mut().zip(slope).for_each(|(w, a)| *w -= length * (*w + c * a));
        }
        assert!(best >= objective * (1.0 - 1e-6), "{best} {objective}");
        assert!(best <= objective * 1.02, "{best} {objective}");
    }
}

#[test]
fn threads_and_edges() {
    let table = fixture::random(15, 12, 5, 3);
    let (_, report) =
        same_at_any_thread_count(|| SvmMap::default().fit(&silent(&table, Some(&table))).unwrap());
    assert_eq!(report.steps.len(), 6);
    assert!(report.notes[0].contains("gap"));
    for rows in [&[("a", 0.0), ("a", 0.5)][..], &[("a", 1.0), ("b", 0.0)]] {
        let error = SvmMap::default().fit(&silent(&fixture::graded(rows), None)).unwrap_err();
        assert!(error.to_string().contains("relevant rows and others"), "{error}");
    }
    let constant = table.with_values(vec![1.0; table.values().len()]);
    let (scorer, _) = SvmMap::default().fit(&silent(&constant, None)).unwrap();
    assert!(scorer.score(&[1.0; 5]).abs() < 1e-9);
}

#[test]
fn twenty_thousand_rows_in_a_query() {
    let rows: Vec<(&str, f32)> = (0..20_000).map(|row| ("q", (row % 2) as f32)).collect();
    let table = fixture::graded(&rows);
    let problem = Problem::new(&table, 1.0).unwrap();
    let (risk, _) = problem.risk(&[1e-4]);
    assert!(risk > 0.3, "{risk}");
}
