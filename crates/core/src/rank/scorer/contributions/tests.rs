use proptest::prelude::*;

use crate::rank::trees::{Child, Leaf, Split, Tree, Trees};

/// What a tree says when only the features in the bits of `known` are known.
fn expected(tree: &Tree, child: Child, row: &[f32], known: u32) -> (f64, f64) {
    if child < 0 {
        let leaf = tree.leaves()[!child as usize];
        return (leaf.value, f64::from(leaf.count));
    }
    let split = &tree.splits()[child as usize];
    let (left, n_left) = expected(tree, split.left, row, known);
    let (right, n_right) = expected(tree, split.right, row, known);
    let value = match (known >> split.feature & 1, n_left + n_right) {
        (1, _) if tree.goes_left(split, row) => left,
        (1, _) => right,
        (_, 0.0) => 0.5 * (left + right),
        (_, all) => (left * n_left + right * n_right) / all,
    };
    (value, n_left + n_right)
}

/// Shapley values by their definition, over all subsets.
fn by_subsets(tree: &Tree, row: &[f32]) -> Vec<f64> {
    let d = row.len() as u32;
    let top: Child = if tree.splits().is_empty() { !0 } else { 0 };
    let value = |known: u32| expected(tree, top, row, known).0;
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let mut sums: Vec<f64> = (0..d)
        .map(|i| {
            let others = (0..1u32 << d).filter(|set| set >> i & 1 == 0);
            let terms = others.map(|set| {
                let n = set.count_ones();
                let weight = factorial(n) * factorial(d - n - 1) / factorial(d);
                weight * (value(set | 1 << i) - value(set))
            });
            terms.sum()
        })
        .collect();
    sums.push(value(0));
    sums
}

/// A tree grown by splitting leaves at will.
fn tree() -> impl Strategy<Value = Tree> {
    let splits = prop::collection::vec((any::<u16>(), 0u32..5, -2i8..2, any::<bool>()), 0..12);
    let leaves = prop::collection::vec((-9i8..9, 0u32..6), 13);
    (splits, leaves).prop_map(|(drawn, values)| {
        let mut splits: Vec<Split> = Vec::new();
        let mut open: Vec<Option<(usize, bool)>> = vec![None];
        for (which, feature, threshold, missing_left) in drawn {
            let place = which as usize % open.len();
            let at = splits.len();
            if let Some((above, left)) = open[place] {
                let child = if left { &mut splits[above].left } else { &mut splits[above].right };
                *child = at as Child;
            }
            let new = !(open.len() as Child);
            let stump = Tree::stump(feature, threshold.into(), 0.0, 0.0, missing_left);
            splits.push(Split { left: !(place as Child), right: new, ..stump.splits()[0] });
            open[place] = Some((at, true));
            open.push(Some((at, false)));
        }
        let leaves = values[..open.len()].iter();
        let leaves = leaves.map(|&(value, count)| Leaf { value: value.into(), count });
        Tree::new(splits, leaves.collect()).unwrap()
    })
}

proptest! {
    #[test]
    fn contributions_are_shapley_values(
        tree in tree(),
        row in prop::collection::vec(prop_oneof![(-3i8..3).prop_map(f32::from), Just(f32::NAN)], 5),
    ) {
        let found = Trees { trees: vec![tree.clone()], base: 0.0 }.contributions(&row);
        for (found, expected) in found.iter().zip(by_subsets(&tree, &row)) {
            prop_assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
        }
        prop_assert!((found.iter().sum::<f64>() - tree.score(&row)).abs() < 1e-9);
    }
}

#[test]
fn what_a_row_does_not_have_goes_to_what_every_row_has() {
    let trees = Trees { trees: vec![Tree::stump(3, 0.0, 1.0, 5.0, false)], base: 2.0 };
    assert_eq!(trees.contributions(&[0.0]), [0.0, 7.0]);
    assert_eq!(trees.contributions(&[0.0, 0.0, 0.0, -1.0]), [0.0, 0.0, 0.0, -2.0, 5.0]);
    let constant = Trees { trees: vec![Tree::constant(4.0)], base: 2.0 };
    assert_eq!(constant.contributions(&[]), [6.0]);
}

#[test]
fn a_tree_of_ten_thousand_levels_is_walked() {
    let n = 10_000;
    let splits = (0..n)
        .map(|at| {
            let right = if at + 1 < n { at + 1 } else { !n };
            let stump = Tree::stump((at % 3) as u32, f64::from(at), 0.0, 0.0, false);
            Split { left: !at, right, ..stump.splits()[0] }
        })
        .collect();
    let leaves = (0..=n).map(|at| Leaf { value: f64::from(at), count: 1 }).collect();
    let trees = Trees { trees: vec![Tree::new(splits, leaves).unwrap()], base: 0.0 };
    let row = [1e9; 3];
    assert_eq!(trees.score(&row), f64::from(n));
    let sum: f64 = trees.contributions(&row).iter().sum();
    assert!((sum - f64::from(n)).abs() < 1e-6 * f64::from(n));
}
