//! What learning to rank yields: a function from the features of a row to a score.

mod contributions;
mod linear;
mod tree;
mod trees;

use rayon::prelude::*;

use super::FeatureTable;
pub(super) use linear::or_zero;

pub use linear::Linear;
pub use tree::{Child, Leaf, Split, Tree};
pub use trees::{Importance, Trees};

/// A fitted function of features.
#[derive(Debug, Clone, PartialEq)]
pub enum Scorer {
    /// A weighted sum.
    Linear(Linear),
    /// A sum of trees.
    Trees(Trees),
}

impl Scorer {
    /// The score of a row of normalised features.
    pub fn score(&self, row: &[f32]) -> f64 {
        match self {
            Scorer::Linear(linear) => linear.score(row),
            Scorer::Trees(trees) => trees.score(row),
        }
    }

    /// The score of every row of `table`.
    pub fn scores(&self, table: &FeatureTable) -> Vec<f64> {
        (0..table.n_rows()).into_par_iter().map(|row| self.score(table.row(row))).collect()
    }

    /// The contribution of each feature to the score of a row, then that of every row: they add up
    /// to the score.
    pub fn contributions(&self, row: &[f32]) -> Vec<f64> {
        match self {
            Scorer::Linear(linear) => linear.contributions(row),
            Scorer::Trees(trees) => trees.contributions(row),
        }
    }
}
