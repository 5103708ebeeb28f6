//! Exact contributions of features to the score that a tree gives to a row.
//!
//! The score when only the features in S are known is Σ over leaves of
//!
//! ```text
//! v_leaf · Π_{j ∈ S} o_j · Π_{j ∉ S} z_j
//! ```
//! over the features j on the path to the leaf: o_j is 1 if the row takes every edge at a split by j,
//! else 0; z_j is the share of rows that took them. The Shapley value of i in this product game is
//!
//! ```text
//! v_leaf · (o_i − z_i) · Σ_{S ∌ i} |S|! (d − |S| − 1)! / d! · Π_{j ∈ S} o_j · Π_{j ∉ S, j ≠ i} z_j
//! ```
//! The inner sum is read off the weighted coefficients of Π_j (z_j + o_j t), built factor by factor
//! and with the factor of i taken out again: O(d²) for a leaf whose path has d features.

use super::tree::{Child, Tree};

impl Tree {
    /// Adds to `sums` the contribution of each feature to the score of `row`, and to the last the
    /// mean score and the contributions of features that the row does not have.
    pub(super) fn add_contributions(&self, row: &[f32], sums: &mut [f64]) {
        let Some(last) = sums.len().checked_sub(1) else { return };
        let edges = self.edges(row);
        let mut path: Vec<Edge> = Vec::new();
        let mut weights: Vec<f64> = Vec::new();
        for (leaf, end) in self.leaves().iter().enumerate() {
            path.clear();
            let mut reach = 1.0;
            let mut child: Child = !(leaf as Child);
            while let Some(edge) = edges.above(child) {
                reach *= edge.share;
                match path.iter_mut().find(|other| other.feature == edge.feature) {
                    Some(other) => {
                        other.share *= edge.share;
                        other.taken &= edge.taken;
                    }
                    None => path.push(*edge),
                }
                child = edge.from;
            }
            sums[last] += end.value * reach;
            // No row of training reached the leaf, and nor does this one, whatever is known of it.
            if path.iter().any(|edge| edge.share == 0.0 && !edge.taken) {
                continue;
            }
            extend(&path, &mut weights);
            for edge in &path {
                let one = if edge.taken { 1.0 } else { 0.0 };
                let given = end.value * (one - edge.share) * without(&weights, *edge);
                sums[(edge.feature as usize).min(last)] += given;
            }
        }
    }

    /// The edge above every split and leaf.
    fn edges(&self, row: &[f32]) -> Edges {
        let mut counts: Vec<f64> = vec![0.0; self.splits().len()];
        let leaf_count = |leaf: usize| f64::from(self.leaves()[leaf].count);
        let count = |counts: &[f64], child: Child| match child {
            0.. => counts[child as usize],
            _ => leaf_count(!child as usize),
        };
        for (at, split) in self.splits().iter().enumerate().rev() {
            counts[at] = count(&counts, split.left) + count(&counts, split.right);
        }
        let none = Edge { from: 0, feature: 0, share: 0.0, taken: false };
        let mut edges = Edges {
            splits: vec![none; self.splits().len()],
            leaves: vec![none; self.leaves().len()],
            is_leaf: self.splits().is_empty(),
        };
        for (at, split) in self.splits().iter().enumerate() {
            let goes_left = self.goes_left(split, row);
            for (child, taken) in [(split.left, goes_left), (split.right, !goes_left)] {
                let share = match counts[at] {
                    0.0 => 0.5,
                    all => count(&counts, child) / all,
                };
                let edge = Edge { from: at as Child, feature: split.feature, share, taken };
                match child {
                    0.. => edges.splits[child as usize] = edge,
                    _ => edges.leaves[!child as usize] = edge,
                }
            }
        }
        edges
    }
}

/// The edge from a split to a node below it, or several edges of a path with the same feature.
#[derive(Clone, Copy)]
struct Edge {
    from: Child,
    feature: u32,
    /// The share of the rows at the split that take the edge.
    share: f64,
    /// Whether the row takes it.
    taken: bool,
}

struct Edges {
    splits: Vec<Edge>,
    leaves: Vec<Edge>,
    /// Whether the tree is one leaf.
    is_leaf: bool,
}

impl Edges {
    /// The edge above `child`; nothing at the root.
    fn above(&self, child: Child) -> Option<&Edge> {
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
fn extend(path: &[Edge], weights: &mut Vec<f64>) {
    weights.clear();
    weights.push(1.0);
    for (d, edge) in (1..).zip(path) {
        let all = f64::from(d) + 1.0;
        weights.push(0.0);
        for k in (0..d as usize).rev() {
            let weight = weights[k];
            if edge.taken {
                weights[k + 1] += weight * (k + 1) as f64 / all;
            }
            weights[k] = edge.share * weight * (d as usize - k) as f64 / all;
        }
    }
}

/// The sum of the weights with the factor of one feature taken out.
fn without(weights: &[f64], edge: Edge) -> f64 {
    let d = weights.len() - 1;
    let all = d as f64 + 1.0;
    let mut total = 0.0;
    if edge.taken {
        let mut next = weights[d];
        for k in (0..d).rev() {
            let here = next * all / (k + 1) as f64;
            total += here;
            next = weights[k] - here * edge.share * (d - k) as f64 / all;
        }
    } else {
        for (k, weight) in weights[..d].iter().enumerate() {
            total += weight * all / (edge.share * (d - k) as f64);
        }
    }
    total
}

#[cfg(test)]
mod tests;
