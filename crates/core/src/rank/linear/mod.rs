//! Linear rankers: a score is a weighted sum of features.

mod adarank;
mod coordinate_ascent;
mod hinge;
mod ir_svm;
mod judge;
mod lbfgs;
mod learnable;
mod listmle;
mod listnet;
mod logistic;
mod pairs;
mod path;
mod planes;
mod positive;
mod rankboost;
mod ranking_svm;
mod regression;
mod rows;
mod svm_map;
mod watch;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use adarank::AdaRank;
pub use coordinate_ascent::CoordinateAscent;
pub use ir_svm::IrSvm;
pub use listmle::ListMle;
pub use listnet::ListNet;
pub use logistic::Logistic;
pub use rankboost::RankBoost;
pub use ranking_svm::RankingSvm;
pub use regression::Regression;
pub use svm_map::SvmMap;

/// A weighted sum of features.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// One weight a feature.
    pub weights: Vec<f64>,
    /// What every row has.
    pub bias: f64,
}

impl Linear {
    /// The score of a row; a missing feature adds nothing.
    pub fn score(&self, row: &[f32]) -> f64 {
        let products = self.weights.iter().zip(row).map(|(weight, &value)| weight * of(value));
        products.fold(self.bias, |sum, product| sum + product)
    }

    /// What each feature adds to the score of a row, and last what every row has.
    pub fn contributions(&self, row: &[f32]) -> Vec<f64> {
        let products = self.weights.iter().zip(row).map(|(weight, &value)| weight * of(value));
        products.chain([self.bias]).collect()
    }
}

/// The value as a number; 0 if it is missing.
fn of(value: f32) -> f64 {
    if value.is_nan() { 0.0 } else { f64::from(value) }
}
