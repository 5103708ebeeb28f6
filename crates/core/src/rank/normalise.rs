//! Normalisation of features: within each query, or over all rows of training.
//!
//! | scale | within a query | over all rows |
//! |---|---|---|
//! | `sum` | x / Σ\|x\| | x / mean of \|x\| |
//! | `zscore` | (x − mean) / standard deviation | the same |
//! | `minmax` | (x − min) / (max − min) | the same; new rows may lie beyond 0 and 1 |
//! | `quantile` | the share of rows below it, ties by half | the same, by 1,000 quantiles |
//!
//! A missing value stays missing. A constant feature stays constant: 0 by `zscore` and `minmax`, one
//! half by `quantile`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FeatureTable;

/// Scaling of the values of a feature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Not at all.
    #[default]
    None,
    /// Divided by the sum of their absolute values (over all rows: by the mean absolute value).
    Sum,
    /// Mean 0, standard deviation 1.
    ZScore,
    /// From 0 to 1.
    MinMax,
    /// The share of rows below.
    Quantile,
}

/// The rows that are normalised together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The rows of a query.
    #[default]
    Query,
    /// All rows of training.
    All,
}

/// Normalisation of features.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Normalisation {
    /// Scaling of values.
    pub scale: Scale,
    /// Rows that are normalised together.
    pub over: Over,
}

/// The number of quantiles of a feature.
const QUANTILES: usize = 1000;

/// A normalisation fitted to the rows of training.
#[derive(Debug, Clone, PartialEq)]
pub struct Normaliser {
    normalisation: Normalisation,
    /// One per feature; empty for a normalisation within queries.
    features: Vec<FeatureScale>,
}

/// The scale of a feature.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FeatureScale {
    /// The value that is subtracted.
    pub from: f64,
    /// The divisor of the difference; 0 makes it 0.
    pub by: f64,
    /// Ascending values with the same number of rows between any two neighbours.
    pub quantiles: Vec<f32>,
}

impl Normaliser {
    /// Fits `normalisation` to the rows of `table`.
    pub fn fit(normalisation: Normalisation, table: &FeatureTable) -> Self {
        let over_all = normalisation.over == Over::All && normalisation.scale != Scale::None;
        let features = match over_all {
            false => Vec::new(),
            true => (0..table.n_features())
                .map(|feature| {
                    let column = (0..table.n_rows()).map(|row| table.row(row)[feature]);
                    let mut known: Vec<f32> = column.filter(|value| !value.is_nan()).collect();
                    FeatureScale::of(normalisation.scale, &mut known, true)
                })
                .collect(),
        };
        Normaliser { normalisation, features }
    }

    /// Restores a normaliser from its [`Normaliser::features`].
    pub(super) fn restore(normalisation: Normalisation, features: Vec<FeatureScale>) -> Self {
        Normaliser { normalisation, features }
    }

    /// The scales of the features, to be saved.
    pub(super) fn features(&self) -> &[FeatureScale] {
        &self.features
    }

    /// The parameters of the normalisation.
    pub fn normalisation(&self) -> Normalisation {
        self.normalisation
    }

    /// The rows of `table`, normalised.
    ///
    /// # Panics
    /// If the table has fewer features than that of training.
    pub fn table(&self, table: &FeatureTable) -> FeatureTable {
        let mut values = table.values().to_vec();
        for rows in table.by_query() {
            let n = table.n_features();
            self.rows(&mut values[rows.start * n..rows.end * n], n);
        }
        table.with_values(values)
    }

    /// Normalises the rows of one query, `n_features` values each.
    pub fn rows(&self, values: &mut [f32], n_features: usize) {
        if self.normalisation.scale == Scale::None || values.is_empty() {
            return;
        }
        let mut known = Vec::new();
        for feature in 0..n_features {
            let within;
            let about = match self.normalisation.over {
                Over::All => &self.features[feature],
                Over::Query => {
                    known.clear();
                    let column = values[feature..].iter().step_by(n_features).copied();
                    known.extend(column.filter(|value| !value.is_nan()));
                    within = FeatureScale::of(self.normalisation.scale, &mut known, false);
                    &within
                }
            };
            for value in values[feature..].iter_mut().step_by(n_features) {
                *value = about.normalised(*value);
            }
        }
    }
}

impl FeatureScale {
    /// The scale of a feature with these values, none missing: those `of_all` rows, or of one query.
    fn of(scale: Scale, known: &mut [f32], of_all: bool) -> Self {
        let n = known.len().max(1) as f64;
        let sum = |term: &dyn Fn(f64) -> f64| {
            known.iter().fold(0.0, |sum, &value| sum + term(f64::from(value)))
        };
        let plain = |from: f64, by: f64| FeatureScale { from, by, quantiles: Vec::new() };
        match scale {
            Scale::None => plain(0.0, 1.0),
            Scale::Sum => {
                let size = sum(&f64::abs);
                plain(0.0, if of_all { size / n } else { size })
            }
            Scale::ZScore => {
                let mean = sum(&|value| value) / n;
                let deviation = (sum(&|value| (value - mean).powi(2)) / n).sqrt();
                // Rounding must not give a constant a spread.
                let is_constant = known.windows(2).all(|two| two[0] == two[1]);
                plain(mean, if is_constant { 0.0 } else { deviation })
            }
            Scale::MinMax => {
                let least = known.iter().copied().fold(f32::INFINITY, f32::min);
                let most = known.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                match known.is_empty() {
                    true => plain(0.0, 0.0),
                    false => plain(f64::from(least), f64::from(most) - f64::from(least)),
                }
            }
            Scale::Quantile => {
                known.sort_unstable_by(f32::total_cmp);
                let quantiles = match known.len() {
                    0..=QUANTILES => known.to_vec(),
                    n => (0..QUANTILES).map(|q| known[q * (n - 1) / (QUANTILES - 1)]).collect(),
                };
                FeatureScale { from: 0.0, by: 1.0, quantiles }
            }
        }
    }

    fn normalised(&self, value: f32) -> f32 {
        if value.is_nan() {
            return value;
        }
        if !self.quantiles.is_empty() {
            let below = self.quantiles.partition_point(|&other| other < value);
            let up_to = self.quantiles.partition_point(|&other| other <= value);
            return (below + up_to) as f32 / (2 * self.quantiles.len()) as f32;
        }
        if self.by == 0.0 {
            return 0.0;
        }
        // A tiny scale must not make values infinite.
        let scaled = (f64::from(value) - self.from) / self.by;
        scaled.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::super::TableBuilder;
    use super::*;

    fn table() -> FeatureTable {
        let mut builder = TableBuilder::new(vec!["x".into(), "same".into()]);
        for (query, x) in [("a", 1.0), ("a", 3.0), ("a", f32::NAN), ("b", 8.0)] {
            builder.push(query, "", 0.0, &[x, 5.0]).unwrap();
        }
        builder.finish()
    }

    fn column(scale: Scale, over: Over, feature: usize) -> Vec<f32> {
        let table = table();
        let normal = Normaliser::fit(Normalisation { scale, over }, &table).table(&table);
        (0..normal.n_rows()).map(|row| normal.row(row)[feature]).collect()
    }

    #[test]
    fn values_of_a_query_or_of_all_rows_are_made_comparable() {
        let same = |found: Vec<f32>, expected: [f32; 4]| {
            for (found, expected) in found.iter().zip(expected) {
                let alike = found.is_nan() && expected.is_nan() || (found - expected).abs() < 1e-6;
                assert!(alike, "{found} is not {expected}");
            }
        };
        let nan = f32::NAN;
        same(column(Scale::None, Over::Query, 0), [1.0, 3.0, nan, 8.0]);
        same(column(Scale::Sum, Over::Query, 0), [0.25, 0.75, nan, 1.0]);
        same(column(Scale::Sum, Over::All, 0), [0.25, 0.75, nan, 2.0]);
        same(column(Scale::ZScore, Over::Query, 0), [-1.0, 1.0, nan, 0.0]);
        same(column(Scale::MinMax, Over::Query, 0), [0.0, 1.0, nan, 0.0]);
        same(column(Scale::MinMax, Over::All, 0), [0.0, 2.0 / 7.0, nan, 1.0]);
        same(column(Scale::Quantile, Over::Query, 0), [0.25, 0.75, nan, 0.5]);
        same(column(Scale::Quantile, Over::All, 0), [1.0 / 6.0, 0.5, nan, 5.0 / 6.0]);
        let deviation = (26.0f32 / 3.0).sqrt();
        same(column(Scale::ZScore, Over::All, 0), [-3.0, -1.0, nan, 4.0].map(|x| x / deviation));
    }

    #[test]
    fn what_is_constant_becomes_zero() {
        for over in [Over::Query, Over::All] {
            for scale in [Scale::ZScore, Scale::MinMax] {
                assert_eq!(column(scale, over, 1), [0.0; 4]);
            }
            assert_eq!(column(Scale::Quantile, over, 1), [0.5; 4]);
        }
    }

    #[test]
    fn quantiles_of_many_rows_are_nearly_their_shares() {
        let mut builder = TableBuilder::new(vec!["x".into()]);
        for x in 0..20_000u32 {
            builder.push("q", "", 0.0, &[(x as f32).powi(2)]).unwrap();
        }
        let table = builder.finish();
        let how = Normalisation { scale: Scale::Quantile, over: Over::All };
        let normal = Normaliser::fit(how, &table).table(&table);
        for row in 0..20_000 {
            assert!((normal.row(row)[0] - row as f32 / 20_000.0).abs() < 0.002);
        }
    }
}
