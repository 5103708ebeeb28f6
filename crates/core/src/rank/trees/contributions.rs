//! Exact contributions of features to what a tree says of a row.
//!
//! What the tree says when only the features in S are known is Σ over leaves of
//!
//! ```text
//! v_leaf · Π_{j ∈ S} o_j · Π_{j ∉ S} z_j
//! ```
//! over the features j on the way to the leaf: o_j is 1 if the row takes every turn at j, else 0;
//! z_j is the share of rows that took them. The Shapley value of i in this product game is
//!
//! ```text
//! v_leaf · (o_i − z_i) · Σ_{S ∌ i} |S|! (d − |S| − 1)! / d! · Π_{j ∈ S} o_j · Π_{j ∉ S, j ≠ i} z_j
//! ```
//! The inner sum is read off the weighted coefficients of Π_j (z_j + o_j t), built factor by factor
//! and with the factor of i taken out again: O(d²) for a leaf whose path has d features.

use super::{Child, Tree};

/// A feature on the way to a leaf.
#[derive(Clone, Copy)]
struct Turn {
    feature: u32,
    /// The share of rows that go on towards the leaf.
    share: f64,
    /// Whether the row goes on towards the leaf.
    taken: bool,
}

impl Tree {
    /// Adds to `sums` what each feature gives to the score of `row`; what every row has goes last,
    /// and so does what features give that the row does not have.
    pub(super) fn add_contributions(&self, row: &[f32], sums: &mut [f64]) {
        let Some(last) = sums.len().checked_sub(1) else { return };
        let ways = self.ways(row);
        let mut path: Vec<Turn> = Vec::new();
        let mut weights: Vec<f64> = Vec::new();
        for (leaf, end) in self.leaves().iter().enumerate() {
            path.clear();
            let mut reach = 1.0;
            let mut child: Child = !(leaf as Child);
            while let Some(way) = ways.above(child) {
                reach *= way.share;
                match path.iter_mut().find(|turn| turn.feature == way.feature) {
                    Some(turn) => {
                        turn.share *= way.share;
                        turn.taken &= way.taken;
                    }
                    None => {
                        path.push(Turn { feature: way.feature, share: way.share, taken: way.taken })
                    }
                }
                child = way.from;
            }
            sums[last] += end.value * reach;
            // Nobody came here, and nor does the row, whatever is known of it.
            if path.iter().any(|turn| turn.share == 0.0 && !turn.taken) {
                continue;
            }
            extend(&path, &mut weights);
            for turn in &path {
                let one = if turn.taken { 1.0 } else { 0.0 };
                let given = end.value * (one - turn.share) * without(&weights, *turn);
                sums[(turn.feature as usize).min(last)] += given;
            }
        }
    }

    /// For every split and leaf, how one comes to it.
    fn ways(&self, row: &[f32]) -> Ways {
        let mut counts: Vec<f64> = vec![0.0; self.splits().len()];
        let leaf_count = |leaf: usize| f64::from(self.leaves()[leaf].count);
        let count = |counts: &[f64], child: Child| match child {
            0.. => counts[child as usize],
            _ => leaf_count(!child as usize),
        };
        for (at, split) in self.splits().iter().enumerate().rev() {
            counts[at] = count(&counts, split.left) + count(&counts, split.right);
        }
        let nowhere = Way { from: 0, feature: 0, share: 0.0, taken: false };
        let mut ways = Ways {
            splits: vec![nowhere; self.splits().len()],
            leaves: vec![nowhere; self.leaves().len()],
            is_leaf: self.splits().is_empty(),
        };
        for (at, split) in self.splits().iter().enumerate() {
            let goes_left = self.goes_left(split, row);
            for (child, taken) in [(split.left, goes_left), (split.right, !goes_left)] {
                let share = match counts[at] {
                    0.0 => 0.5,
                    all => count(&counts, child) / all,
                };
                let way = Way { from: at as Child, feature: split.feature, share, taken };
                match child {
                    0.. => ways.splits[child as usize] = way,
                    _ => ways.leaves[!child as usize] = way,
                }
            }
        }
        ways
    }
}

/// How one comes to a node from the split above it.
#[derive(Clone, Copy)]
struct Way {
    from: Child,
    feature: u32,
    share: f64,
    taken: bool,
}

struct Ways {
    splits: Vec<Way>,
    leaves: Vec<Way>,
    /// Whether the tree is one leaf.
    is_leaf: bool,
}

impl Ways {
    /// How one comes to `child`; nothing at the top.
    fn above(&self, child: Child) -> Option<&Way> {
        match child {
            0 => None,
            1.. => Some(&self.splits[child as usize]),
            _ if self.is_leaf => None,
            _ => Some(&self.leaves[!child as usize]),
        }
    }
}

/// Puts into `weights` the sums over sets S of k features, for each k, of k! (d − k)! / (d + 1)! ·
/// Π_{S} o · Π_{not S} z, the features being those of `path`.
fn extend(path: &[Turn], weights: &mut Vec<f64>) {
    weights.clear();
    weights.push(1.0);
    for (d, turn) in (1..).zip(path) {
        let all = f64::from(d) + 1.0;
        weights.push(0.0);
        for k in (0..d as usize).rev() {
            let weight = weights[k];
            if turn.taken {
                weights[k + 1] += weight * (k + 1) as f64 / all;
            }
            weights[k] = turn.share * weight * (d as usize - k) as f64 / all;
        }
    }
}

/// The sum of the weights with the factor of one feature taken out.
fn without(weights: &[f64], turn: Turn) -> f64 {
    let d = weights.len() - 1;
    let all = d as f64 + 1.0;
    let mut total = 0.0;
    if turn.taken {
        let mut next = weights[d];
        for k in (0..d).rev() {
            let here = next * all / (k + 1) as f64;
            total += here;
            next = weights[k] - here * turn.share * (d - k) as f64 / all;
        }
    } else {
        for (k, weight) in weights[..d].iter().enumerate() {
            total += weight * all / (turn.share * (d - k) as f64);
        }
    }
    total
}

#[cfg(test)]
mod tests;
