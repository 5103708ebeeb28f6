use super::*;
use crate::Run;
use crate::oracle::same_at_any_thread_count;
use crate::rank::trees::fixture::{self, fit, rows};
use crate::rank::trees::{LambdaMart, Mart};
use crate::rank::{Goal, RankMethod, Scorer};

fn trees(scorer: &Scorer) -> &Trees {
    match scorer {
        Scorer::Trees(trees) => trees,
        Scorer::Linear(_) => panic!("not trees"),
    }
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    // Enough rows for every way of dealing out work.
    let table = fixture::table(400, 100, 17, 5);
    let validation = fixture::table(20, 30, 17, 6);
    let one = LambdaMart { trees: 3, ..LambdaMart::default() };
    let bagged = LambdaMart {
        bagging: 0.7,
        bag: Bag::Queries,
        feature_share: 0.5,
        monotone: [("f0".to_owned(), 1)].into(),
        ..one.clone()
    };
    for params in [one, bagged] {
        same_at_any_thread_count(|| fit(&params, &table, Some(&validation)).unwrap());
    }
    let mart = Mart { trees: 3, bagging: 0.5, ..Mart::default() };
    same_at_any_thread_count(|| fit(&mart, &table, Some(&validation)).unwrap());
}

#[test]
fn the_best_number_of_trees_on_validation_is_kept() {
    let (table, validation) = (fixture::table(20, 20, 5, 1), fixture::table(20, 20, 5, 2));
    let params = Mart { trees: 80, rate: 0.3, patience: 10, smooth: 1, ..Mart::default() };
    let (scorer, report) = fit(&params, &table, Some(&validation)).unwrap();
    let kept = report.kept.unwrap();
    assert_eq!(trees(&scorer).trees.len(), kept);
    assert!(report.steps.len() == 80 || report.steps.len() == kept + 10);
    let value = Goal::default().mean(&validation, &scorer.scores(&validation)).unwrap();
    // Scores kept up tree by tree are those of all trees, up to the order of adding.
    assert!((report.steps[kept - 1].validation.unwrap() - value).abs() < 1e-12);
    assert!(report.steps.iter().all(|step| step.validation.unwrap() <= value + 1e-12));
}

#[test]
fn the_best_number_may_be_that_of_a_mean() {
    let (table, validation) = (fixture::table(20, 20, 5, 1), fixture::table(20, 20, 5, 2));
    let params = Mart { trees: 40, rate: 0.3, patience: 0, smooth: 7, ..Mart::default() };
    let (scorer, report) = fit(&params, &table, Some(&validation)).unwrap();
    let mean = |step: usize| {
        let steps = &report.steps[step.saturating_sub(7)..step];
        steps.iter().map(|step| step.validation.unwrap()).sum::<f64>() / steps.len() as f64
    };
    let kept = report.kept.unwrap();
    assert_eq!((trees(&scorer).trees.len(), report.steps.len()), (kept, 40));
    assert!((1..=40).all(|step| mean(step) <= mean(kept)));
}

#[test]
fn scores_rise_and_fall_as_asked() {
    let table = fixture::table(30, 30, 4, 9);
    let monotone = [("f0".to_owned(), -1), ("f1".to_owned(), 1), ("f2".to_owned(), 1)].into();
    let params = Mart { trees: 40, rate: 0.2, monotone, min_leaf: 3, ..Mart::default() };
    let (scorer, _) = fit(&params, &table, None).unwrap();
    let free = Mart { monotone: BTreeMap::new(), ..params };
    let (free, _) = fit(&free, &table, None).unwrap();
    let mut free_breaks = false;
    for row in 0..table.n_rows() {
        for (feature, sign) in [(0, -1.0), (1, 1.0), (2, 1.0)] {
            let mut values = table.row(row).to_vec();
            let along = |scorer: &Scorer, values: &mut Vec<f32>| {
                let scores = (-12..=12).map(|step| {
                    values[feature] = step as f32 / 4.0;
                    sign * scorer.score(values)
                });
                scores.collect::<Vec<f64>>().is_sorted_by(|a, b| *b >= a - 1e-12)
            };
            assert!(along(&scorer, &mut values), "row {row}, feature {feature}");
            free_breaks |= !along(&free, &mut values);
        }
    }
    assert!(free_breaks, "the test would pass without the wish");
}

#[test]
fn seeds_draw_bags_of_the_share_asked_for() {
    let table = fixture::table(10, 10, 6, 3);
    let boosting = Boosting { bagging: 0.5, feature_share: 0.5, ..Boosting::default() };
    let binned = Binned::of(&table, 255);
    let shape = boosting.shape(&table, &binned).unwrap();
    let mut grower = Grower::new(&binned, &shape);
    for bag in [Bag::Rows, Bag::Queries] {
        let boosting = Boosting { bag, ..boosting.clone() };
        let mut bags = Bags::new(&boosting, &table, 6);
        bags.draw(1, &mut grower);
        let first = bags.inside.clone();
        assert_eq!((first.len(), bags.outside.len()), (50, 50));
        bags.draw(2, &mut grower);
        assert_ne!(first, bags.inside);
        bags.draw(1, &mut grower);
        assert_eq!(first, bags.inside);
        if bag == Bag::Queries {
            let whole = |query| {
                let inside = |row: &usize| first.contains(&(*row as u32));
                [0, 10].contains(&table.rows_of(query).filter(inside).count())
            };
            assert!((0..10).all(whole));
        }
    }
}

#[test]
fn what_cannot_be_learnt_from_gives_no_tree_and_says_so() {
    // Constant features.
    let constant = rows(&[("a", 1.0, &[2.0, f32::NAN]), ("a", 0.0, &[2.0, f32::NAN])]);
    let none = rows(&[("a", 1.0, &[]), ("a", 0.0, &[])]);
    for table in [constant, none] {
        let (scorer, report) = fit(&Mart { min_leaf: 1, ..Mart::default() }, &table, None).unwrap();
        assert!(trees(&scorer).trees.is_empty());
        assert_eq!(scorer.score(table.row(0)), 0.5);
        assert!(report.warnings[0].contains("no tree"), "{:?}", report.warnings);
        assert_eq!(report.kept, None);
    }
    let empty = crate::rank::TableBuilder::new(vec![]).finish();
    let error = fit(&Mart::default(), &empty, None).unwrap_err();
    assert!(error.to_string().contains("no rows"), "{error}");
}

#[test]
fn missing_values_are_learnt_from_and_go_with_the_most_where_there_were_none() {
    let mut lines: Vec<(&str, f32, &[f32])> = vec![];
    for _ in 0..5 {
        lines.extend([
            ("a", 3.0, &[f32::NAN, 1.0][..]),
            ("a", 1.0, &[1.0, 1.0]),
            ("a", 0.0, &[2.0, 2.0]),
            ("a", 0.0, &[3.0, 2.0]),
        ]);
    }
    let table = rows(&lines);
    let params = Mart { trees: 1, leaves: 3, rate: 1.0, min_leaf: 1, ..Mart::default() };
    let (scorer, _) = fit(&params, &table, None).unwrap();
    assert!((scorer.score(&[f32::NAN, 1.0]) - 3.0).abs() < 1e-9);
    assert!((scorer.score(&[1.0, 1.0]) - 1.0).abs() < 1e-9);
    assert!(scorer.score(&[2.0, 2.0]).abs() < 1e-9);
    // Three of four rows were above 1 in the first feature.
    let table =
        rows(&[("a", 3.0, &[1.0]), ("a", 0.0, &[2.0]), ("a", 0.0, &[3.0]), ("a", 0.0, &[3.0])]);
    let many: Vec<(&str, f32, &[f32])> =
        (0..12).map(|row| ("a", table.grades()[row % 4], table.row(row % 4))).collect();
    let (scorer, _) = fit(&params, &rows(&many), None).unwrap();
    assert_eq!(scorer.score(&[f32::NAN]), scorer.score(&[3.0]));
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let good = Mart::default();
    good.check().unwrap();
    for bad in [
        Mart { trees: 0, ..good.clone() },
        Mart { leaves: 1, ..good.clone() },
        Mart { bins: 256, ..good.clone() },
        Mart { smooth: 0, ..good.clone() },
        Mart { rate: 0.0, ..good.clone() },
        Mart { rate: f64::NAN, ..good.clone() },
        Mart { bagging: 0.0, ..good.clone() },
        Mart { feature_share: 1.1, ..good.clone() },
        Mart { l2: -1.0, ..good.clone() },
        Mart { monotone: [("f0".to_owned(), 2)].into(), ..good.clone() },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
    let unknown = Mart { monotone: [("nothing".to_owned(), 1)].into(), ..good };
    let error = fit(&unknown, &fixture::table(2, 5, 2, 1), None).unwrap_err();
    assert!(error.to_string().contains("f0, f1"), "{error}");
}

#[test]
fn work_stops_when_asked() {
    let table = fixture::table(2, 30, 2, 1);
    let run = Run::new(&|_| {}, &|| true);
    let training = Training { table: &table, validation: None, goal: Goal::default(), run: &run };
    assert!(matches!(Mart::default().fit(&training), Err(Error::Cancelled)));
}
