//! A sum of regression trees.

use super::tree::Tree;

/// A sum of regression trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Trees {
    /// Trees, whose outputs are added in this order.
    pub trees: Vec<Tree>,
    /// The score before the first tree.
    pub base: f64,
}

/// The importance of a feature for the trees.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Importance {
    /// By how much its splits lowered the loss in total.
    pub gain: f64,
    /// The number of its splits.
    pub splits: usize,
}

impl Trees {
    /// The score of a row; a missing feature goes where the tree sends it.
    pub fn score(&self, row: &[f32]) -> f64 {
        self.trees.iter().fold(self.base, |sum, tree| sum + tree.score(row))
    }

    /// The contribution of each feature to the score of a row, then that of every row: the mean
    /// score of training. They add up to the score.
    ///
    /// These are the Shapley values of the features, where an unknown feature sends the row both
    /// ways in proportion to the rows of training (Lundberg and others, 2018: path-dependent
    /// TreeSHAP).
    pub fn contributions(&self, row: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; row.len() + 1];
        sums[row.len()] = self.base;
        for tree in &self.trees {
            tree.add_contributions(row, &mut sums);
        }
        sums
    }

    /// The importance of each of `n_features` features.
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
}
