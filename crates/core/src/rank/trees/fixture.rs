//! Tables that the tests of the trees share.

use crate::random::Random;
use crate::rank::{FeatureTable, Goal, RankMethod, RankReport, Scorer, TableBuilder, Training};
use crate::{Result, Run};

/// Queries of `rows` rows each, whose grades (0 to 3) depend on the first two of `n_features`
/// features and on chance; one value in ten is missing in every third feature.
pub fn table(n_queries: usize, rows: usize, n_features: usize, seed: u64) -> FeatureTable {
    let mut random = Random::new(seed, 77);
    let names = (0..n_features).map(|feature| format!("f{feature}")).collect();
    let mut builder = TableBuilder::new(names);
    for query in 0..n_queries {
        for row in 0..rows {
            let values: Vec<f32> = (0..n_features)
                .map(|feature| {
                    let value = random.normal() as f32;
                    match feature % 3 {
                        2 if random.uniform() < 0.1 => f32::NAN,
                        1 => (value * 2.0).round() / 2.0,
                        _ => value,
                    }
                })
                .collect();
            let signal = values.iter().take(2).map(|&v| f64::from(v)).sum::<f64>();
            let grade = (signal + 0.5 * random.normal() + 0.5).clamp(0.0, 3.0).round() as f32;
            builder.push(&format!("q{query}"), &row.to_string(), grade, &values).unwrap();
        }
    }
    builder.finish()
}

/// A table of rows (query, grade, features).
pub fn rows(rows: &[(&str, f32, &[f32])]) -> FeatureTable {
    let n_features = rows.first().map_or(0, |row| row.2.len());
    let names = (0..n_features).map(|feature| format!("f{feature}")).collect();
    let mut builder = TableBuilder::new(names);
    for (number, (query, grade, values)) in rows.iter().enumerate() {
        builder.push(query, &number.to_string(), *grade, values).unwrap();
    }
    builder.finish()
}

/// Fits a method.
pub fn fit(
    method: &impl RankMethod,
    table: &FeatureTable,
    validation: Option<&FeatureTable>,
) -> Result<(Scorer, RankReport)> {
    method.check()?;
    let run = Run::silent();
    method.fit(&Training { table, validation, goal: Goal::default(), run: &run })
}
