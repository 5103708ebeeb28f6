//! What every way to learn must do, whatever it is.

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;
use crate::{Result, Run};

/// Queries of up to 12 rows with five features: the first two tell the grade, with noise; one is
/// constant, one is noise, one is often missing.
fn table(n_queries: usize, seed: u64, missing: bool) -> FeatureTable {
    let mut random = Random::new(seed, 0);
    let names = ["good", "fair", "same", "noise", "rare"].map(str::to_owned).to_vec();
    let mut builder = TableBuilder::new(names);
    for query in 0..n_queries {
        for doc in 0..4 + random.below(9) {
            let grade = random.below(3) as f64;
            let rare = match missing && random.below(3) > 0 {
                true => f64::NAN,
                false => grade + random.normal(),
            };
            let values = [
                grade + 0.3 * random.normal(),
                grade * 0.5 + random.normal(),
                7.0,
                random.normal(),
                rare,
            ];
            let values = values.map(|value| value as f32);
            builder.push(&format!("q{query}"), &format!("d{doc}"), grade as f32, &values).unwrap();
        }
    }
    builder.finish()
}

/// A setup of the method called `name`, as the command line makes it.
fn setup(name: &str) -> RankSetup {
    let params = RankParams::named(name).unwrap();
    let scale = if params.is_linear() { Scale::ZScore } else { Scale::None };
    let normalisation = Normalisation { scale, over: Over::All };
    RankSetup { params, normalisation, goal: Goal::default() }
}

fn every(mut look: impl FnMut(&str, RankSetup)) {
    let names: Vec<&str> = rank_methods().map(|(name, _)| name).collect();
    assert!(names.len() >= 12, "{names:?}");
    names.into_iter().for_each(|name| look(name, setup(name)));
}

fn train(setup: &RankSetup, table: &FeatureTable) -> Result<Ranker> {
    setup.train(table, None, &Run::silent()).map(|(ranker, _)| ranker)
}

#[test]
fn every_method_learns_what_there_is_to_learn() {
    let (learnt, held, test) = (table(60, 1, true), table(30, 2, true), table(60, 3, true));
    let goal = Goal::default();
    every(|name, setup| {
        for validation in [None, Some(&held)] {
            let (ranker, report) = setup.train(&learnt, validation, &Run::silent()).unwrap();
            let scored = ranker.score(&test).unwrap();
            let found = goal.mean(&test, &scored.scores).unwrap();
            assert!(found > 0.9, "{name}: {found}");
            assert_eq!(ranker.about.validation.is_some(), validation.is_some());
            assert!(report.kept.is_none_or(|kept| kept <= report.steps.len()), "{name}");
        }
    });
}

#[test]
fn every_ranker_is_the_same_at_any_thread_count_and_after_loading() {
    let (learnt, held, test) = (table(40, 4, true), table(20, 5, true), table(20, 6, true));
    let folder = tempfile::tempdir().unwrap();
    every(|name, setup| {
        let train = || setup.train(&learnt, Some(&held), &Run::silent()).unwrap();
        let bits = same_at_any_thread_count(|| {
            let scores = train().0.score(&test).unwrap().scores;
            scores.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        });
        let (ranker, report) = train();
        let path = folder.path().join(name);
        ranker.save(&path, false, &report).unwrap();
        let again = Ranker::open(&path).unwrap();
        assert_eq!(again.about.params, ranker.about.params);
        assert_eq!(again.about.features, ranker.about.features);
        assert_eq!(again.about.learnt_from, ranker.about.learnt_from);
        let scores = again.score(&test).unwrap().scores;
        assert_eq!(scores.iter().map(|s| s.to_bits()).collect::<Vec<_>>(), bits, "{name}");
        // Row by row as in a batch, and what features add is the score.
        let (prepared, _) = ranker.prepared(&test).unwrap();
        for (query, rows) in test.by_query().enumerate() {
            let own = test.of_queries(&[query]);
            assert_eq!(ranker.score_rows(&mut own.values().to_vec()), scores[rows.clone()]);
            for row in rows {
                let parts = ranker.scorer().contributions(prepared.row(row));
                let sum: f64 = parts.iter().sum();
                assert_eq!(parts.len(), test.n_features() + 1);
                assert!((sum - scores[row]).abs() < 1e-9 * (1.0 + sum.abs()), "{name}");
            }
        }
        assert_eq!(Ranker::report(&path).unwrap().steps.len(), report.steps.len());
    });
}

#[test]
fn a_query_that_says_nothing_changes_nothing() {
    let plain = table(30, 7, false);
    let mut builder = TableBuilder::new(plain.names().to_vec());
    for (query, rows) in plain.by_query().enumerate() {
        for row in rows {
            let (id, doc) = (&plain.queries()[query], &plain.docs()[row]);
            builder.push(id, doc, plain.grades()[row], plain.row(row)).unwrap();
        }
    }
    // One row alone, and rows of one grade: there is no order to learn.
    builder.push("alone", "d", 2.0, plain.row(0)).unwrap();
    for row in 1..5 {
        builder.push("equal", "d", 1.0, plain.row(row)).unwrap();
    }
    let more = builder.finish();
    every(|name, setup| {
        let scores = train(&setup, &more).unwrap().score(&plain).unwrap().scores;
        assert!(scores.iter().all(|score| score.is_finite()), "{name}");
        let found = Goal::default().mean(&plain, &scores).unwrap();
        assert!(found > 0.9, "{name}: {found}");
    });
}

#[test]
fn what_cannot_be_learnt_from_is_refused() {
    let good = table(5, 8, false);
    let same = {
        let mut builder = TableBuilder::new(good.names().to_vec());
        for row in 0..good.n_rows() {
            builder.push("q", &row.to_string(), 1.0, good.row(row)).unwrap();
        }
        builder.finish()
    };
    every(|name, setup| {
        let error = train(&setup, &same).unwrap_err().to_string();
        assert!(error.contains("have the grade 1"), "{name}: {error}");
        let error = train(&setup, &good.of_features(&[])).unwrap_err().to_string();
        assert!(error.contains("no features"), "{name}: {error}");
    });
}

#[test]
fn grades_may_be_large_and_features_constant() {
    let small = table(20, 9, false);
    let mut builder = TableBuilder::new(small.names().to_vec());
    for (query, rows) in small.by_query().enumerate() {
        for row in rows {
            let id = &small.queries()[query];
            let grade = small.grades()[row] * 20.0;
            builder.push(id, &small.docs()[row], grade, small.row(row)).unwrap();
        }
    }
    let large = builder.finish();
    let constant = small.of_features(&[2]);
    every(|name, setup| {
        let scores = train(&setup, &large).unwrap().score(&large).unwrap().scores;
        assert!(scores.iter().all(|score| score.is_finite()), "{name}");
        let found = Goal::default().mean(&large, &scores).unwrap();
        assert!(found > 0.9, "{name}: {found}");
        // Nothing can be told apart, and nothing is.
        let scores = train(&setup, &constant).unwrap().score(&constant).unwrap().scores;
        assert!(scores.iter().all(|&score| score.is_finite() && score == scores[0]), "{name}");
    });
}

#[test]
fn a_query_may_have_20_000_rows() {
    let mut random = Random::new(10, 0);
    let mut builder = TableBuilder::new(vec!["good".into(), "noise".into()]);
    for doc in 0..20_000u32 {
        let grade = f32::from(random.below(20) == 0);
        let values = [grade + random.normal() as f32, random.normal() as f32];
        builder.push("q", &doc.to_string(), grade, &values).unwrap();
    }
    let large = builder.finish();
    every(|name, mut setup| {
        // One step more or less says nothing here.
        for (key, value) in [("trees", "5"), ("rounds", "5"), ("epochs", "5"), ("restarts", "1")] {
            let _ = setup.params.set(key, value);
        }
        let scores = train(&setup, &large).unwrap().score(&large).unwrap().scores;
        let goal = Goal { measure: "AP".parse().unwrap(), ..Goal::default() };
        let found = goal.mean(&large, &scores).unwrap();
        assert!(found > 0.1, "{name}: {found}");
    });
}

#[test]
fn features_are_found_by_name_and_what_is_absent_is_missing() {
    let learnt = table(30, 11, false);
    every(|name, setup| {
        let ranker = train(&setup, &learnt).unwrap();
        let other = learnt.of_features(&[3, 0, 1]);
        let scored = ranker.score(&other).unwrap();
        assert_eq!(scored.lacking, ["same", "rare"], "{name}");
        assert!(scored.scores.iter().all(|score| score.is_finite()), "{name}");
        let error = ranker.score(&learnt.of_features(&[])).err().unwrap().to_string();
        assert!(error.contains("none of the ranker's features"), "{error}");
    });
}

#[test]
fn folds_hold_every_query_once_and_score_what_they_did_not_see() {
    let all = table(30, 12, false);
    let folds = folds(&all, 5, 1);
    let mut queries: Vec<String> = folds.iter().flat_map(|fold| fold.queries()).cloned().collect();
    queries.sort();
    let mut expected = all.queries().to_vec();
    expected.sort();
    assert_eq!(queries, expected);
    let setup = setup("regression");
    let found = setup.cross_validate(&folds, &Run::silent()).unwrap();
    for (test, (_, scores)) in found.iter().enumerate() {
        // By hand: the fold before it is its validation.
        let before = (test + 4) % 5;
        let rest: Vec<&FeatureTable> =
            (0..5).filter(|&f| f != test && f != before).map(|f| &folds[f]).collect();
        let table = FeatureTable::joined(&rest);
        let (ranker, _) = setup.train(&table, Some(&folds[before]), &Run::silent()).unwrap();
        assert_eq!(ranker.score(&folds[test]).unwrap().scores, *scores);
    }
    assert!(setup.cross_validate(&folds[..2], &Run::silent()).is_err());
}

#[test]
fn the_step_that_is_kept_is_the_best_on_validation() {
    let (learnt, asked) = (table(40, 13, false), table(60, 14, false));
    let goal = Goal { measure: "nDCG@10".parse().unwrap(), ..Goal::default() };
    let (name, steps, last) = ("lambdamart", "trees", "40");
    let setup = |n: &str| {
        let mut setup = RankSetup { goal, ..setup(name) };
        setup.params.set(steps, n).unwrap();
        // Validation is looked at to the end.
        setup.params.set("patience", "1000").unwrap();
        setup
    };
    // The best row of every query by the first step and by the last, where they differ.
    let best = |n: &str| -> Vec<usize> {
        let scores = train(&setup(n), &learnt).unwrap().score(&asked).unwrap().scores;
        let first = |rows: std::ops::Range<usize>| {
            rows.rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap()
        };
        asked.by_query().map(first).collect()
    };
    let (early, late) = (best("1"), best(last));
    let differ: Vec<usize> = (0..early.len()).filter(|&q| early[q] != late[q]).collect();
    assert!(differ.len() > 5, "{name}: {differ:?}");
    let judged = |best: &[usize]| {
        let mut builder = TableBuilder::new(asked.names().to_vec());
        for &query in &differ {
            for row in asked.by_query().nth(query).unwrap() {
                let (id, doc) = (&asked.queries()[query], &asked.docs()[row]);
                let grade = f32::from(row == best[query]);
                builder.push(id, doc, grade, asked.row(row)).unwrap();
            }
        }
        builder.finish()
    };
    let (early, late) = (judged(&early), judged(&late));
    for (validation, test) in [(&early, &late), (&late, &early)] {
        let (ranker, report) =
            setup(last).train(&learnt, Some(validation), &Run::silent()).unwrap();
        let of =
            |table: &FeatureTable| goal.mean(table, &ranker.score(table).unwrap().scores).unwrap();
        assert_eq!(ranker.about.validation, Some(of(validation)), "{name}");
        assert!(of(validation) > of(test), "{name}: {} {}", of(validation), of(test));
        // No other number of steps does better there.
        for n in [1, 2, 5, 20] {
            let other = train(&setup(&n.to_string()), &learnt).unwrap();
            let other = other.score(validation).unwrap().scores;
            let other = goal.mean(validation, &other).unwrap();
            assert!(of(validation) >= other - 1e-9, "{name} after {n}: {other} {report:?}");
        }
    }
}

#[test]
fn folds_never_look_at_the_grades_that_they_are_asked_for() {
    let mut folds = folds(&table(30, 15, false), 3, 1);
    for name in ["regression", "lambdamart"] {
        let setup = setup(name);
        let found = |folds: &[FeatureTable]| setup.cross_validate(folds, &Run::silent()).unwrap();
        let before = found(&folds);
        // The first fold is asked by the first ranker, and is validation or training of the others.
        let mut builder = TableBuilder::new(folds[0].names().to_vec());
        for (query, rows) in folds[0].by_query().enumerate() {
            for row in rows {
                let grade = 2.0 - folds[0].grades()[row];
                let (id, doc) = (&folds[0].queries()[query], &folds[0].docs()[row]);
                builder.push(id, doc, grade, folds[0].row(row)).unwrap();
            }
        }
        let plain = std::mem::replace(&mut folds[0], builder.finish());
        let after = found(&folds);
        assert_eq!(after[0].1, before[0].1, "{name}");
        assert_ne!(after[2].1, before[2].1, "{name}");
        folds[0] = plain;
    }
}
