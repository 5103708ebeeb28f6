//! One regression tree: splits that send a row left or right, and leaves with values.

use std::ops::Range;

use crate::{Error, Result};

/// A node below a split: the number of a split if it is 0 or more, else the leaf `!child`.
pub type Child = i32;

/// An inner node of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The feature that is tested.
    pub feature: u32,
    /// A value up to this one goes left; for a test of categories, the number of their list.
    pub threshold: f64,
    /// The node on the left.
    pub left: Child,
    /// The node on the right.
    pub right: Child,
    /// Whether a missing value goes left.
    pub missing_left: bool,
    /// Whether zero counts as missing.
    pub zero_is_missing: bool,
    /// Whether the value is a category; those that go left are in a list.
    pub is_category: bool,
    /// By how much the split lowered the loss.
    pub gain: f64,
}

/// A leaf of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaf {
    /// The score of a row that ends here.
    pub value: f64,
    /// Training rows that reached the leaf.
    pub count: u32,
}

/// A regression tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    splits: Vec<Split>,
    leaves: Vec<Leaf>,
    /// Where each list of categories begins in `categories`, and where the last ends.
    category_starts: Vec<u32>,
    /// Categories as bits: the category c is the bit c % 32 of the word c / 32 of its list.
    categories: Vec<u32>,
}

/// Up to this size LightGBM takes a number for zero.
const ZERO: f64 = 1e-35f32 as f64;

impl Tree {
    /// A tree of these splits and leaves. An error unless every split but the first, and every
    /// leaf, is below exactly one split, and every split comes before those below it, so that there
    /// are no cycles.
    pub fn new(splits: Vec<Split>, leaves: Vec<Leaf>) -> Result<Self> {
        Tree::with_categories(splits, leaves, vec![0], Vec::new())
    }

    /// The same, with lists of categories: list i lies from `category_starts[i]` on, as bits, and
    /// the threshold of a split is the number of its list.
    pub fn with_categories(
        splits: Vec<Split>,
        leaves: Vec<Leaf>,
        category_starts: Vec<u32>,
        categories: Vec<u32>,
    ) -> Result<Self> {
        let tree = Tree { splits, leaves, category_starts, categories };
        tree.check()?;
        Ok(tree)
    }

    /// A tree of one leaf.
    #[cfg(test)]
    pub fn constant(value: f64) -> Self {
        Tree {
            splits: Vec::new(),
            leaves: vec![Leaf { value, count: 1 }],
            category_starts: vec![0],
            categories: Vec::new(),
        }
    }

    /// A tree of one split: `below` up to the threshold, `above` beyond it, one row on each side.
    #[cfg(test)]
    pub fn stump(feature: u32, threshold: f64, below: f64, above: f64, missing_left: bool) -> Self {
        let split = Split {
            feature,
            threshold,
            left: !0,
            right: !1,
            missing_left,
            zero_is_missing: false,
            is_category: false,
            gain: 0.0,
        };
        let leaves = [below, above].map(|value| Leaf { value, count: 1 });
        Tree {
            splits: vec![split],
            leaves: leaves.to_vec(),
            category_starts: vec![0],
            categories: Vec::new(),
        }
    }

    /// The splits; the first is the root.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// The leaves.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Where each list of categories begins in [`Tree::categories`], and where the last ends.
    pub fn category_starts(&self) -> &[u32] {
        &self.category_starts
    }

    /// The lists of categories, as bits.
    pub fn categories(&self) -> &[u32] {
        &self.categories
    }

    /// Multiplies the values of the leaves by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.leaves.iter_mut().for_each(|leaf| leaf.value *= factor);
    }

    /// The number of the leaf where the row ends. A feature that the row does not have is missing.
    pub fn leaf(&self, row: &[f32]) -> usize {
        let mut child: Child = if self.splits.is_empty() { !0 } else { 0 };
        while child >= 0 {
            let split = &self.splits[child as usize];
            child = if self.goes_left(split, row) { split.left } else { split.right };
        }
        !child as usize
    }

    /// The value of the leaf where the row ends.
    pub fn score(&self, row: &[f32]) -> f64 {
        self.leaves[self.leaf(row)].value
    }

    /// Whether the row goes left at a split.
    pub fn goes_left(&self, split: &Split, row: &[f32]) -> bool {
        let value = row.get(split.feature as usize).map_or(f64::NAN, |&value| f64::from(value));
        if split.is_category {
            return self.has_category(split.threshold as usize, value);
        }
        if value.is_nan() || (split.zero_is_missing && value.abs() <= ZERO) {
            return split.missing_left;
        }
        value <= split.threshold
    }

    /// Whether the list has the category; a value that is no category (0 or more) is in no list.
    fn has_category(&self, list: usize, value: f64) -> bool {
        let end = f64::from(i32::MAX);
        if !(value > -1.0 && value < end) {
            return false;
        }
        let category = value as u32;
        let words = &self.categories[self.list(list)];
        words.get(category as usize / 32).is_some_and(|word| word >> (category % 32) & 1 == 1)
    }

    fn list(&self, list: usize) -> Range<usize> {
        self.category_starts[list] as usize..self.category_starts[list + 1] as usize
    }

    fn check(&self) -> Result<()> {
        let broken = |what: String, expected: &str| Err(Error::parameter("tree", what, expected));
        let (n_splits, n_leaves) = (self.splits.len(), self.leaves.len());
        if n_leaves != n_splits + 1 || i32::try_from(n_leaves).is_err() {
            let what = format!("{n_splits} splits and {n_leaves} leaves");
            return broken(what, "one leaf more than splits");
        }
        if let Some(leaf) = self.leaves.iter().position(|leaf| !leaf.value.is_finite()) {
            return broken(
                format!("{} in leaf {leaf}", self.leaves[leaf].value),
                "a finite number",
            );
        }
        let starts = &self.category_starts;
        let ends = starts.last().is_some_and(|&end| end as usize == self.categories.len());
        if starts.first() != Some(&0) || !starts.is_sorted() || !ends {
            return broken(
                "lists of categories".into(),
                "starts that rise from 0 to the end of the lists",
            );
        }
        let n_lists = (starts.len() - 1) as f64;
        let mut split_is_below = vec![false; n_splits];
        let mut leaf_is_below = vec![false; n_leaves];
        for (at, split) in self.splits.iter().enumerate() {
            // A node that is below no split leaves another one below two, as their numbers agree.
            for child in [split.left, split.right] {
                let place = match child {
                    0.. if child as usize > at => split_is_below.get_mut(child as usize),
                    0.. => None,
                    _ => leaf_is_below.get_mut(!child as usize),
                };
                match place {
                    Some(taken) if !*taken => *taken = true,
                    _ => {
                        let expected = "a split further down or a leaf, each below one split";
                        return broken(format!("{child} below split {at}"), expected);
                    }
                }
            }
            let threshold = split.threshold;
            if split.is_category {
                if !(threshold >= 0.0 && threshold < n_lists && threshold.fract() == 0.0) {
                    let what = format!("{threshold} as list of categories of split {at}");
                    return broken(what, &format!("one of {n_lists} lists"));
                }
            } else if threshold.is_nan() {
                return broken(format!("NaN at split {at}"), "a threshold that is a number");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(feature: u32, threshold: f64, left: Child, right: Child) -> Split {
        Split { left, right, ..Tree::stump(feature, threshold, 0.0, 0.0, false).splits[0] }
    }

    fn leaves(n: usize) -> Vec<Leaf> {
        (0..n).map(|leaf| Leaf { value: leaf as f64, count: 1 }).collect()
    }

    #[test]
    fn a_value_up_to_the_threshold_goes_left() {
        let tree = Tree::stump(1, 0.5, -1.0, 2.0, true);
        assert_eq!(tree.score(&[9.0, 0.5]), -1.0);
        assert_eq!(tree.score(&[9.0, 0.6]), 2.0);
        assert_eq!(tree.score(&[9.0, f32::NAN]), -1.0);
        assert_eq!(tree.score(&[9.0]), -1.0);
        assert_eq!(Tree::stump(1, 0.5, -1.0, 2.0, false).score(&[0.0, f32::NAN]), 2.0);
        assert_eq!(Tree::constant(3.0).score(&[]), 3.0);
    }

    #[test]
    fn zero_may_be_missing_and_categories_are_in_a_list() {
        let mut zero = split(0, -1.0, !0, !1);
        zero.zero_is_missing = true;
        zero.missing_left = true;
        let tree = Tree::new(vec![zero], leaves(2)).unwrap();
        assert_eq!([0.0, -0.0, 1.0, -2.0, f32::NAN].map(|x| tree.leaf(&[x])), [0, 0, 1, 0, 0]);
        let mut category = split(0, 0.0, !0, !1);
        category.is_category = true;
        let tree = Tree::with_categories(vec![category], leaves(2), vec![0, 2], vec![4, 1]);
        let tree = tree.unwrap();
        let values = [2.0, 2.9, 32.0, 3.0, -1.0, -0.5, f32::NAN, 1e30, 64.0];
        assert_eq!(values.map(|x| tree.leaf(&[x])), [0, 0, 0, 1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let good = vec![split(0, 0.0, 1, !0), split(1, 0.0, !1, !2)];
        assert!(Tree::new(good.clone(), leaves(3)).is_ok());
        assert!(Tree::new(good.clone(), leaves(2)).is_err());
        assert!(Tree::new(vec![], vec![]).is_err());
        for (at, left) in [(0, 0), (0, 2), (1, 0), (1, 1), (0, !1), (0, !3), (1, i32::MIN)] {
            let mut bad = good.clone();
            bad[at].left = left;
            assert!(Tree::new(bad, leaves(3)).is_err(), "split {at}: {left}");
        }
        let mut bad = good.clone();
        bad[0].threshold = f64::NAN;
        assert!(Tree::new(bad, leaves(3)).is_err());
        let mut bad = good.clone();
        bad[0].is_category = true;
        assert!(Tree::new(bad.clone(), leaves(3)).is_err());
        assert!(Tree::with_categories(bad.clone(), leaves(3), vec![0, 1], vec![1]).is_ok());
        assert!(Tree::with_categories(bad, leaves(3), vec![0, 2], vec![1]).is_err());
        let mut infinite = leaves(3);
        infinite[2].value = f64::INFINITY;
        assert!(Tree::new(good, infinite).is_err());
    }
}
