//! Sums over pairs against a loop over pairs.

use proptest::prelude::*;

use super::*;
use crate::random::Random;
use crate::rank::TableBuilder;
use crate::rank::linear::fixture::{close, weighted};

fn table(grades: &[u8]) -> FeatureTable {
    let mut builder = TableBuilder::new(vec![]);
    for (row, &grade) in grades.iter().enumerate() {
        let query = if row < grades.len() / 3 { "a" } else { "b" };
        builder.push(query, &row.to_string(), f32::from(grade), &[]).unwrap();
    }
    weighted(builder.finish())
}

/// Loss, slope and second derivative at u.
fn loss(shape: HingeShape, u: f64) -> (f64, f64, f64) {
    if u <= 0.0 {
        (0.0, 0.0, 0.0)
    } else if u < shape.width {
        (shape.curvature / 2.0 * u * u, shape.curvature * u, shape.curvature)
    } else {
        (shape.slope * (u - shape.width / 2.0), shape.slope, 0.0)
    }
}

fn check(grades: &[u8], costs: bool, seed: u64) {
    let table = table(grades);
    let known = distinct(table.grades());
    let mut random = Random::new(seed, 0);
    let costs = costs.then(|| Costs {
        by_grades: (0..known.len() * known.len()).map(|_| random.uniform()).collect(),
        by_query: (0..table.n_queries()).map(|_| random.uniform()).collect(),
        grades: known,
    });
    let n = table.n_rows();
    // Coarse, so that rows tie and margins are met exactly.
    let scores: Vec<f64> = (0..n).map(|_| (random.normal() * 4.0).round() / 4.0).collect();
    let column: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let pairs = Pairs::of(&table, costs.as_ref());
    for shape in
        [HingeShape::HINGE, HingeShape::SQUARED, HingeShape::rounded(0.5), HingeShape::rounded(0.1)]
    {
        let mut order = pairs.first_order();
        let sums = pairs.sums(&scores, &mut order, shape);
        let (mut value, mut slope) = (0.0, 0.0);
        let (mut by_row, mut product) = (vec![0.0; n], vec![0.0; n]);
        for (number, rows) in table.by_query().enumerate() {
            for i in rows.clone() {
                for j in rows.clone() {
                    let (a, b) = (table.grades()[i], table.grades()[j]);
                    if a <= b {
                        continue;
                    }
                    let cost = costs.as_ref().map_or(1.0, |c| c.of(a, b) * c.by_query[number]);
                    let cost = cost * table.weight(i);
                    let (l, d, dd) = loss(shape, 1.0 - scores[i] + scores[j]);
                    value += cost * l;
                    slope += cost * d;
                    by_row[i] -= cost * d;
                    by_row[j] += cost * d;
                    product[i] += cost * dd * (column[i] - column[j]);
                    product[j] -= cost * dd * (column[i] - column[j]);
                }
            }
        }
        close(&[sums.value, sums.slope], &[value, slope], 1e-10);
        close(&sums.by_row, &by_row, 1e-10);
        close(&[pairs.value(&scores, &order, shape)], &[value], 1e-10);
        let mut found = vec![0.0; n];
        for (query, order) in order.iter().enumerate() {
            let rows = pairs.rows_of(query);
            let mut part = vec![0.0; rows.len() * 2];
            let two: Vec<f64> = column[rows.clone()].iter().flat_map(|&x| [x, 2.0 * x]).collect();
            let at = (&scores[rows.clone()], &order[..]);
            pairs.curvature_times::<2>(query, at, shape, (&two, 2), &mut part);
            for (row, two) in rows.zip(part.chunks(2)) {
                found[row] = two[0];
                close(&[two[1]], &[2.0 * two[0]], 1e-9);
            }
        }
        close(&found, &product, 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn walking_is_listing(
        grades in proptest::collection::vec(0u8..5, 0..30),
        costs: bool,
        seed in 0u64..1000,
    ) {
        check(&grades, costs, seed);
    }

    #[test]
    fn a_tree_of_levels_is_listing(
        grades in proptest::collection::vec(0u8..60, 60..120),
        seed in 0u64..1000,
    ) {
        check(&grades, false, seed);
    }
}

#[test]
fn pairs_are_counted() {
    assert_eq!(n_pairs(&[0.0, -0.0, 1.0, 2.0, 1.0]), 8.0);
    assert_eq!(n_pairs(&[1.0, 1.0]), 0.0);
}
