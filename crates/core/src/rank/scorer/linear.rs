//! Linear rankers: a score is a weighted sum of features.

/// A weighted sum of features.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// One weight per feature.
    pub weights: Vec<f64>,
    /// The score of a row of zeros.
    pub bias: f64,
}

impl Linear {
    /// The score of a row; a missing feature counts as 0.
    pub fn score(&self, row: &[f32]) -> f64 {
        self.products(row).fold(self.bias, |sum, product| sum + product)
    }

    /// The contribution of each feature to the score of a row, then the bias.
    pub fn contributions(&self, row: &[f32]) -> Vec<f64> {
        self.products(row).chain([self.bias]).collect()
    }

    fn products(&self, row: &[f32]) -> impl Iterator<Item = f64> {
        self.weights.iter().zip(row).map(|(weight, &value)| weight * f64::from(or_zero(value)))
    }
}

/// The value of a feature for a linear ranker: 0 if it is missing.
pub fn or_zero(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value }
}
