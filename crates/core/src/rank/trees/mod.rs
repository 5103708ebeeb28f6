//! Rankers made of regression trees: gradient boosting, each tree grown leaf by leaf over
//! histograms of binned features.

mod bins;
mod boost;
mod contributions;
#[cfg(test)]
mod fixture;
mod grow;
mod histogram;
mod lambdamart;
mod lightgbm;
mod mart;
mod split;
mod tree;

pub use boost::Bag;
pub use lambdamart::{LambdaMart, Lambdas};
pub use lightgbm::LightGbm;
pub use mart::Mart;
pub use tree::{Child, Leaf, Split, Tree};

/// A sum of regression trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Trees {
    /// The trees.
    pub trees: Vec<Tree>,
    /// What every row has.
    pub base: f64,
}

/// What the trees make of one feature.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Importance {
    /// By how much its splits made the loss smaller, in all.
    pub gain: f64,
    /// How many splits look at it.
    pub splits: usize,
}

impl Trees {
    /// The score of a row; a missing feature goes where the tree sends it.
    pub fn score(&self, row: &[f32]) -> f64 {
        self.trees.iter().fold(self.base, |sum, tree| sum + tree.score(row))
    }

    /// What each feature adds to the score of a row, and last what every row has: the mean score
    /// of the rows learnt from. They add up to the score.
    ///
    /// These are the Shapley values of the features, where a feature that is not known sends the
    /// row both ways, as many parts of it as rows went there when the tree was grown (Lundberg
    /// and others, 2018: path-dependent TreeSHAP).
    pub fn contributions(&self, row: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; row.len() + 1];
        sums[row.len()] = self.base;
        for tree in &self.trees {
            tree.add_contributions(row, &mut sums);
        }
        sums
    }

    /// What the trees make of each of `n_features` features.
    pub fn importance(&self, n_features: usize) -> Vec<Importance> {
        let mut found = vec![Importance::default(); n_features];
        for split in self.trees.iter().flat_map(Tree::splits) {
            if let Some(feature) = found.get_mut(split.feature as usize) {
                feature.gain += split.gain;
                feature.splits += 1;
            }
        }
        found
    }

    /// One more than the largest feature that is looked at.
    pub fn n_features(&self) -> usize {
        let features = self.trees.iter().flat_map(Tree::splits).map(|split| split.feature);
        features.max().map_or(0, |last| last as usize + 1)
    }
}
