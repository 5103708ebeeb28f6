use proptest::prelude::*;

use super::*;
use crate::eval::{GainTable, Measure};
use crate::rank::trees::fixture::{self, fit, rows};
use crate::rank::{Goal, TableBuilder};

fn one_query(grades: &[f32]) -> FeatureTable {
    let lines: Vec<(&str, f32, &[f32])> =
        grades.iter().map(|&grade| ("a", grade, &[][..])).collect();
    rows(&lines)
}

fn gradients(
    params: &LambdaMart,
    table: &FeatureTable,
    variant: &Variant,
    scores: &[f64],
) -> Vec<[f64; 2]> {
    let mut out = vec![[9.0; 2]; table.n_rows()];
    Pairs::new(params, table, variant).gradients(scores, &mut out);
    out
}

/// The formula of the head of the file, with the change of the measure found by swapping: `measure`
/// of the table with `scores`, and again with two scores exchanged.
fn by_swapping(
    params: &LambdaMart,
    table: &FeatureTable,
    goal: &Goal,
    scores: &[f64],
    factor: f64,
) -> Vec<[f64; 2]> {
    let n = scores.len();
    let value = |scores: &[f64]| goal.mean(table, scores).unwrap();
    let rank = |row: usize| (0..n).filter(|&other| scores[other] > scores[row]).count();
    let mut out = vec![[0.0; 2]; n];
    for high in 0..n {
        for low in 0..n {
            let grades = table.grades();
            let is_pair = match params.lambdas {
                Lambdas::Ndcg => grades[high] > grades[low],
                Lambdas::Map => grades[high] >= 1.0 && grades[low] < 1.0,
            };
            if !is_pair || rank(high).min(rank(low)) >= params.truncation {
                continue;
            }
            let mut swapped = scores.to_vec();
            swapped.swap(high, low);
            let delta = (value(scores) - value(&swapped)).abs() * factor;
            let chance = 1.0 / (1.0 + (params.sigmoid * (scores[high] - scores[low])).exp());
            let weight = table.weight(high);
            let lambda = weight * params.sigmoid * chance * delta;
            let hessian = weight * params.sigmoid.powi(2) * chance * (1.0 - chance) * delta;
            out[high] = [out[high][0] - lambda, out[high][1] + hessian];
            out[low] = [out[low][0] + lambda, out[low][1] + hessian];
        }
    }
    out
}

proptest! {
    #[test]
    fn gradients_are_what_swaps_do_to_the_measure(
        grades in prop::collection::vec(0u8..4, 2..9),
        truncation in 1usize..10,
        map: bool,
        weighted: bool,
        seed: u64,
    ) {
        let grades: Vec<f32> = grades.into_iter().map(f32::from).collect();
        let n = grades.len();
        prop_assume!(grades.iter().any(|&grade| grade >= 1.0));
        let weights = weighted.then(|| (0..n).map(|row| 0.5 + row as f32).collect());
        let table = one_query(&grades).with_weights(weights);
        let mut order: Vec<usize> = (0..n).collect();
        crate::random::Random::new(seed, 0).shuffle(&mut order);
        let scores: Vec<f64> = order.iter().map(|&place| place as f64 / 3.0).collect();
        let lambdas = if map { Lambdas::Map } else { Lambdas::Ndcg };
        let params = LambdaMart {
            lambdas, truncation, sigmoid: 0.7, norm: false, ..LambdaMart::default()
        };
        let variant = Variant::default();
        // NDCG without a cut: its ideal goes further than the truncated one.
        let ideal = |depth: usize| {
            let mut sorted = grades.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let terms = (1..).zip(sorted).take(depth);
            terms.map(|(rank, grade)| (f64::from(grade).exp2() - 1.0) * variant.discount.factor(rank)).sum::<f64>()
        };
        let (measure, factor) = match map {
            true => (Measure::Ap { k: None }, 1.0),
            false => (Measure::Ndcg { k: None }, ideal(n) / ideal(truncation)),
        };
        let expected = by_swapping(&params, &table, &Goal { measure, variant }, &scores, factor);
        let found = gradients(&params, &table, &variant, &scores);
        for (found, expected) in found.iter().zip(&expected) {
            for of in 0..2 {
                prop_assert!((found[of] - expected[of]).abs() < 1e-9, "{:?}, expected {:?}", found, expected);
            }
        }
    }
}

#[test]
fn normalised_gradients_are_those_of_lightgbm() {
    // Grades 2, 0, 1 with scores 0.1, 0.4, 0.2, worked out by hand from its formula.
    let table = one_query(&[2.0, 0.0, 1.0]);
    let scores = [0.1, 0.4, 0.2];
    let discount = |rank: f64| 1.0 / (rank + 1.0).log2();
    let ideal = 3.0 * discount(1.0) + discount(2.0);
    // Ranks: row 1 first, row 2 second, row 0 third.
    let pair = |gap: f64, ranks: (f64, f64), lead: f64| {
        let delta =
            gap * (discount(ranks.0) - discount(ranks.1)).abs() / ideal / (0.01 + lead.abs());
        let chance = 1.0 / (1.0 + lead.exp());
        [chance * delta, chance * (1.0 - chance) * delta]
    };
    let (a, b, c) =
        (pair(3.0, (3.0, 1.0), -0.3), pair(2.0, (3.0, 2.0), -0.1), pair(1.0, (2.0, 1.0), -0.2));
    let sum = 2.0 * (a[0] + b[0] + c[0]);
    let scale = (1.0 + sum).log2() / sum;
    let expected =
        [[-a[0] - b[0], a[1] + b[1]], [a[0] + c[0], a[1] + c[1]], [b[0] - c[0], b[1] + c[1]]];
    let found = gradients(&LambdaMart::default(), &table, &Variant::default(), &scores);
    for (found, expected) in found.iter().zip(&expected) {
        for of in 0..2 {
            assert!((found[of] - scale * expected[of]).abs() < 1e-12);
        }
    }
    // Weights do not change the scale.
    let doubled = table.clone().with_weights(Some(vec![2.0; 3]));
    let twice = gradients(&LambdaMart::default(), &doubled, &Variant::default(), &scores);
    for (twice, found) in twice.iter().zip(&found) {
        assert!((twice[0] - 2.0 * found[0]).abs() < 1e-12);
    }
}

#[test]
fn grades_of_any_size_are_worth_something() {
    for (gain, grades) in [
        (Gain::Exp, vec![0.0, 40.0, 2000.0, 1e30]),
        (Gain::Linear, vec![-3.0, 0.0, 7.5, 1e30]),
        (Gain::Table(GainTable::new(&[0.0, 1.0, 50.0]).unwrap()), vec![0.0, 1.0, 2.0, 77.0]),
    ] {
        let variant = Variant { gain, ..Variant::default() };
        let table = one_query(&grades);
        for lambdas in [Lambdas::Ndcg, Lambdas::Map] {
            let params = LambdaMart { lambdas, ..LambdaMart::default() };
            let found = gradients(&params, &table, &variant, &[0.0; 4]);
            assert!(found.iter().flatten().all(|number| number.is_finite()), "{gain:?}");
            assert!(found[3][0] < 0.0 && found[0][0] > 0.0, "{gain:?}: {found:?}");
        }
    }
}

#[test]
fn queries_that_say_nothing_have_no_gradients() {
    for grades in [&[2.0][..], &[1.0, 1.0, 1.0], &[0.0, 0.0], &[-1.0, 0.0]] {
        let table = one_query(grades);
        let scores: Vec<f64> = (0..grades.len()).map(|row| row as f64).collect();
        let found = gradients(&LambdaMart::default(), &table, &Variant::default(), &scores);
        assert!(found.iter().all(|pair| *pair == [0.0; 2]));
        let (scorer, report) = fit(&LambdaMart::default(), &table, Some(&table)).unwrap();
        assert!(report.warnings[0].contains("nothing to learn"), "{:?}", report.warnings);
        assert_eq!(scorer.score(&[]), 0.0);
    }
}

#[test]
fn what_was_planted_is_found() {
    let (table, test) = (fixture::table(60, 20, 8, 1), fixture::table(40, 20, 8, 2));
    for (lambdas, measure) in
        [(Lambdas::Ndcg, Measure::Ndcg { k: Some(10) }), (Lambdas::Map, Measure::Ap { k: None })]
    {
        let params = LambdaMart { lambdas, trees: 60, ..LambdaMart::default() };
        let (scorer, _) = fit(&params, &table, None).unwrap();
        let goal = Goal { measure, variant: Variant::default() };
        // By the two features on which the grades depend, as if they were known.
        let known: Vec<f64> = (0..test.n_rows())
            .map(|row| test.row(row)[..2].iter().map(|&value| f64::from(value)).sum())
            .collect();
        let (best, none) = (goal.mean(&test, &known), goal.mean(&test, &vec![0.0; known.len()]));
        let found = goal.mean(&test, &scorer.scores(&test)).unwrap();
        let (best, none) = (best.unwrap(), none.unwrap());
        assert!(found > none + 0.8 * (best - none), "{found} between {none} and {best}");
        let Scorer::Trees(trees) = &scorer else { panic!("not trees") };
        let importance = trees.importance(8);
        let least = importance[0].gain.min(importance[1].gain);
        assert!(importance[2..].iter().all(|other| other.gain < least));
        assert_eq!(importance.iter().map(|feature| feature.splits).sum::<usize>(), {
            trees.trees.iter().map(|tree| tree.splits().len()).sum::<usize>()
        });
    }
}

#[test]
fn parameters_are_set_by_name() {
    let mut params = crate::rank::RankParams::named("lambdamart").unwrap();
    for (key, value) in [("lambdas", "map"), ("monotone.f0", "-1"), ("bag", "queries")] {
        params.set(key, value).unwrap();
    }
    let expected = LambdaMart {
        lambdas: Lambdas::Map,
        monotone: [("f0".to_owned(), -1)].into(),
        bag: Bag::Queries,
        ..LambdaMart::default()
    };
    assert_eq!(params, crate::rank::RankParams::LambdaMart(expected));
    assert!(params.set("lambdas", "err").is_err());
    assert!(params.docs().iter().all(|doc| !doc.about.is_empty()));
}

#[test]
fn a_query_of_twenty_thousand_rows_is_learnt_from() {
    let mut builder = TableBuilder::new(vec!["a".into()]);
    let mut random = crate::random::Random::new(1, 1);
    for row in 0..20_000 {
        let value = random.normal() as f32;
        let grade = if value + random.normal() as f32 > 2.0 { 1.0 } else { 0.0 };
        builder.push("q", &row.to_string(), grade, &[value]).unwrap();
    }
    let table = builder.finish();
    // All pairs would be 2·10⁸ a tree: minutes.
    let (scorer, _) =
        fit(&LambdaMart { trees: 10, ..LambdaMart::default() }, &table, None).unwrap();
    assert!(scorer.score(&[2.5]) > scorer.score(&[-2.5]));
}

#[test]
fn what_makes_no_sense_is_refused() {
    LambdaMart::default().check().unwrap();
    assert!(LambdaMart { truncation: 0, ..LambdaMart::default() }.check().is_err());
    assert!(LambdaMart { sigmoid: 0.0, ..LambdaMart::default() }.check().is_err());
    assert!(LambdaMart { leaves: 0, ..LambdaMart::default() }.check().is_err());
}
