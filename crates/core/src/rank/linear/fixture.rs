//! Small tables for tests.

use crate::Run;
use crate::random::Random;
use crate::rank::{FeatureTable, Goal, TableBuilder, Training};

/// `n_queries` queries of `n_rows` rows with `n_features` normal features and grades below
/// `n_grades` that the first features, and chance, say.
pub fn random(n_queries: usize, n_rows: usize, n_features: usize, n_grades: u32) -> FeatureTable {
    let mut random = Random::new(11, (n_queries * 1000 + n_rows) as u64);
    let mut builder = TableBuilder::new((0..n_features).map(|k| format!("f{k}")).collect());
    for query in 0..n_queries {
        for row in 0..n_rows {
            let values: Vec<f32> = (0..n_features).map(|_| random.normal() as f32).collect();
            let hint = values.iter().take(2).sum::<f32>() + random.normal() as f32;
            let grade = (hint + 0.5).clamp(0.0, n_grades as f32 - 1.0).floor();
            builder.push(&query.to_string(), &format!("{query}-{row}"), grade, &values).unwrap();
        }
    }
    builder.finish()
}

/// The same rows, each with a weight of its own.
pub fn weighted(table: FeatureTable) -> FeatureTable {
    let mut random = Random::new(5, 0);
    let weights = (0..table.n_rows()).map(|_| 0.25 + random.uniform() as f32).collect();
    table.with_weights(Some(weights))
}

/// Rows of queries and grades with one feature, which counts the rows.
pub fn graded(rows: &[(&str, f32)]) -> FeatureTable {
    let mut builder = TableBuilder::new(vec!["x".to_owned()]);
    for (at, &(query, grade)) in rows.iter().enumerate() {
        builder.push(query, &at.to_string(), grade, &[at as f32]).unwrap();
    }
    builder.finish()
}

/// A training that nobody watches.
pub fn silent<'a>(table: &'a FeatureTable, validation: Option<&'a FeatureTable>) -> Training<'a> {
    static SILENT: std::sync::LazyLock<Run<'static>> = std::sync::LazyLock::new(Run::silent);
    Training { table, validation, goal: Goal::default(), run: &SILENT }
}

/// Asserts that numbers are near each other.
pub fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
    }
}
