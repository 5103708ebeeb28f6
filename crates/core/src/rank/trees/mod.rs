//! Rankers of regression trees: gradient boosting, with leaf-wise growth over histograms of binned
//! features.

mod bins;
mod boost;
#[cfg(test)]
mod fixture;
mod grow;
mod histogram;
mod lambdamart;
mod lightgbm;
mod mart;
mod prefetch;
mod split;

pub use super::scorer::{Child, Importance, Leaf, Split, Tree, Trees};
pub use boost::Bag;
pub use lambdamart::{LambdaMart, Lambdas};
pub use lightgbm::LightGbm;
pub use mart::Mart;
