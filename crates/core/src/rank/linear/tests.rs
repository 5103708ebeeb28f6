//! What every method does at the edges.

use super::fixture::{graded, random, silent, weighted};
use crate::oracle::same_at_any_thread_count;
use crate::rank::{FeatureTable, RankParams, RankReport, Scorer, TableBuilder, Training};
use crate::{Error, Result, Run};

const METHODS: [&str; 10] = [
    "regression",
    "logistic",
    "ranking_svm",
    "ir_svm",
    "svm_map",
    "adarank",
    "rankboost",
    "listnet",
    "listmle",
    "coordinate_ascent",
];

fn each(with: impl Fn(&str, &RankParams)) {
    for name in METHODS {
        with(name, &RankParams::named(name).unwrap());
    }
}

fn fit(params: &RankParams, table: &FeatureTable) -> Result<(Scorer, RankReport)> {
    params.fit(&silent(table, None))
}

#[test]
fn nothing_to_learn_from_is_said() {
    let rows = random(3, 8, 3, 3);
    let cases = [
        (rows.of_features(&[]), "no features"),
        (rows.of_queries(&[]), "no rows"),
        (graded(&[("a", 0.0), ("a", 0.0), ("b", 0.0)]), "nothing can be learnt"),
        (graded(&[("a", 2.0), ("a", 2.0)]), "nothing can be learnt"),
        (rows.with_weights(Some(vec![0.0; 24])), "weight 0"),
    ];
    each(|name, params| {
        for (table, expected) in &cases {
            match fit(params, table) {
                Err(error) => {
                    let message = error.to_string();
                    let said = message.contains(expected) || message.contains("nothing can be");
                    assert!(said, "{name}: {message}");
                }
                // SVM-MAP does not look at weights.
                Ok(_) => assert!(name == "svm_map" && *expected == "weight 0", "{name} {expected}"),
            }
        }
    });
}

#[test]
fn queries_of_one_row_missing_values_high_grades_and_constant_features() {
    let mut builder = TableBuilder::new(["good", "constant", "gaps"].map(String::from).to_vec());
    for query in 0..12 {
        for row in 0..if query % 3 == 0 { 1 } else { 6 } {
            let gap = if row % 2 == 0 { f32::NAN } else { query as f32 };
            let good = row as f32 + if query == 5 { -3.0 * (row % 2) as f32 } else { 0.0 };
            let grade = (row * 11) as f32;
            let doc = (9 - row).to_string();
            builder.push(&query.to_string(), &doc, grade, &[good, 7.0, gap]).unwrap();
        }
    }
    let table = builder.finish();
    each(|name, params| {
        let (scorer, _) = fit(params, &table).unwrap();
        assert!(
            scorer.score(&[5.0, 7.0, f32::NAN]) > scorer.score(&[0.0, 7.0, f32::NAN]),
            "{name}"
        );
        assert!(scorer.scores(&table).iter().all(|score| score.is_finite()), "{name}");
    });
}

#[test]
fn numbers_at_the_end_of_their_range_are_told_or_borne() {
    let table = random(4, 10, 3, 3);
    for scale in [1e38, 1e-38] {
        let values = table.values().iter().map(|x| x.clamp(-3.0, 3.0) * scale).collect();
        let table = table.with_values(values);
        each(|name, params| match fit(params, &table) {
            Ok((scorer, _)) => {
                let finite = scorer.scores(&table).iter().all(|score| score.is_finite());
                assert!(finite, "{name} {scale}");
            }
            Err(error) => {
                assert!(matches!(error, Error::NotFinite { .. }), "{name} {scale}: {error}");
            }
        });
    }
}

#[test]
fn weights_of_one_change_no_bit_and_a_wish_to_stop_is_heard() {
    let table = random(6, 10, 4, 3);
    let ones = table.clone().with_weights(Some(vec![1.0; table.n_rows()]));
    let run = Run::new(&|_| {}, &|| true);
    each(|name, params| {
        assert_eq!(fit(params, &table).unwrap().0, fit(params, &ones).unwrap().0, "{name}");
        let stopped = params.fit(&Training { run: &run, ..silent(&table, None) });
        assert!(matches!(stopped, Err(Error::Cancelled)), "{name}");
    });
}

#[test]
fn weights_are_used_or_a_warning_says_that_they_are_not() {
    let table = random(6, 10, 4, 3);
    let unlike = weighted(table.clone());
    each(|name, params| {
        let (plain, (scorer, report)) =
            (fit(params, &table).unwrap().0, fit(params, &unlike).unwrap());
        let warned = report.warnings.iter().any(|warning| warning.contains("ignores the weights"));
        assert_eq!(plain == scorer, warned, "{name}");
    });
}

#[test]
fn a_query_of_twenty_thousand_rows_is_learnt_from() {
    let mut random = crate::random::Random::new(4, 0);
    let mut builder = TableBuilder::new((0..5).map(|k| k.to_string()).collect());
    for row in 0..20_000 {
        let values: Vec<f32> = (0..5).map(|_| random.uniform() as f32).collect();
        let hint = 2.0 * values[0] + values[1] + random.normal() as f32;
        builder.push("q", &row.to_string(), hint.floor().clamp(0.0, 4.0), &values).unwrap();
    }
    let table = builder.finish();
    each(|name, params| {
        let mut params = params.clone();
        let (key, few) = match name {
            "rankboost" => ("rounds", "30"),
            "listmle" => ("epochs", "20"),
            "coordinate_ascent" => ("starts", "1"),
            "ranking_svm" => ("c", "1e-4"),
            _ => ("", ""),
        };
        if !key.is_empty() {
            params.set(key, few).unwrap();
        }
        // Whoever looked at all 200,000,000 pairs would take minutes.
        let (scorer, _) = fit(&params, &table).unwrap();
        assert!(scorer.score(&[1.0, 1.0, 0.5, 0.5, 0.5]) > scorer.score(&[0.5; 5]), "{name}");
    });
}

#[test]
fn several_blocks_of_rows_give_the_same_bits_at_any_thread_count() {
    // Sums are over blocks of 1024 rows.
    let (table, validation) = (random(60, 50, 6, 3), random(20, 50, 6, 3));
    each(|name, params| {
        let mut params = params.clone();
        for (key, few) in [("rounds", "20"), ("epochs", "5"), ("starts", "1"), ("c", "1e-3")] {
            if params.docs().iter().any(|doc| doc.key == key) {
                params.set(key, few).unwrap();
            }
        }
        let (scorer, _) =
            same_at_any_thread_count(|| params.fit(&silent(&table, Some(&validation))).unwrap());
        assert!(scorer.score(&[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]) > scorer.score(&[0.0; 6]), "{name}");
    });
}
