use proptest::prelude::*;

use super::*;
use crate::random::Random;
use crate::rank::trees::fixture;

fn shape(leaves: usize, depth: usize, min_leaf: usize) -> TreeShape {
    let limits = Limits { min_leaf, min_hessian: 1e-3, l2: 0.5, min_gain: 0.0 };
    TreeShape { leaves, depth, limits, trends: Vec::new() }
}

/// Gradients that depend on the rows and on chance, in steps and as they are.
fn gradients(n: usize, seed: u64) -> (Vec<[f64; 2]>, GradientScale, Vec<Sums>) {
    let mut random = Random::new(seed, 1);
    let pairs: Vec<[f64; 2]> = (0..n).map(|_| [random.normal(), 0.1 + random.uniform()]).collect();
    let most = |of: usize| pairs.iter().map(|pair| pair[of].abs()).fold(0.0, f64::max);
    let scale = GradientScale::new(n, most(0), most(1));
    let sums = pairs.iter().map(|pair| scale.row(pair[0], pair[1])).collect();
    (pairs, scale, sums)
}

/// Leaf-wise growth as anyone would write it: every split of every leaf is tried by adding up its
/// rows. The leaves as sorted rows, with their values.
fn slowly(binned: &Binned, shape: &TreeShape, pairs: &[[f64; 2]]) -> Vec<(Vec<u32>, f64)> {
    let l2 = shape.limits.l2;
    let add = |rows: &[u32]| {
        rows.iter().fold([0.0; 2], |sum, &row| {
            let pair = pairs[row as usize];
            [sum[0] + pair[0], sum[1] + pair[1]]
        })
    };
    let lowered = |rows: &[u32]| {
        let [g, h] = add(rows);
        g * g / (h + l2)
    };
    let split = |rows: &[u32], depth: usize| {
        let mut best: Option<(f64, Vec<u32>, Vec<u32>)> = None;
        if shape.depth > 0 && depth >= shape.depth {
            return best;
        }
        for (number, column) in binned.columns.iter().enumerate() {
            for bin in 0..column.n_values() {
                for missing_left in [false, true] {
                    let goes_left = |row: &&u32| {
                        let found = binned.blocks[number / WIDTH][**row as usize][number % WIDTH];
                        match usize::from(found) {
                            found if found == column.n_values() => missing_left,
                            found => found <= bin,
                        }
                    };
                    let (left, right): (Vec<&u32>, Vec<&u32>) = rows.iter().partition(goes_left);
                    let [left, right] =
                        [left, right].map(|side| side.into_iter().copied().collect::<Vec<u32>>());
                    if left.len().min(right.len()) < shape.limits.min_leaf {
                        continue;
                    }
                    let gain = lowered(&left) + lowered(&right) - lowered(rows);
                    if gain > best.as_ref().map_or(0.0, |best| best.0) + 1e-9 {
                        best = Some((gain, left, right));
                    }
                }
            }
        }
        best
    };
    let all: Vec<u32> = (0..binned.n_rows as u32).collect();
    let mut leaves = vec![(all.clone(), 0, split(&all, 0))];
    while leaves.len() < shape.leaves {
        let gain = |at: usize| leaves[at].2.as_ref().map_or(0.0, |best| best.0);
        let chosen = (0..leaves.len()).fold(0, |a, b| if gain(b) > gain(a) { b } else { a });
        let Some((_, left, right)) = leaves[chosen].2.take() else { break };
        let depth = leaves[chosen].1 + 1;
        leaves[chosen] = (left.clone(), depth, split(&left, depth));
        leaves.push((right.clone(), depth, split(&right, depth)));
    }
    let value = |rows: &[u32]| {
        let [g, h] = add(rows);
        -g / (h + l2)
    };
    let mut leaves: Vec<_> =
        leaves.into_iter().map(|(rows, ..)| (rows.clone(), value(&rows))).collect();
    leaves.sort_by(|a, b| a.0.cmp(&b.0));
    leaves
}

fn quickly(grower: &Grower<'_>, grown: &Grown) -> Vec<(Vec<u32>, f64)> {
    let leaves = grown.rows.iter().zip(grown.tree.leaves()).map(|(rows, leaf)| {
        assert_eq!(rows.len(), leaf.count as usize);
        (grower.rows()[rows.clone()].to_vec(), leaf.value)
    });
    let mut leaves: Vec<_> = leaves.collect();
    leaves.sort_by(|a, b| a.0.cmp(&b.0));
    leaves
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn trees_are_those_of_plain_sums(
        n in 10usize..120, n_features in 1usize..11, leaves in 2usize..9, depth in 0usize..4,
        min_leaf in 0usize..12, seed in 0u64..1000,
    ) {
        let table = fixture::table(1, n, n_features, seed);
        let binned = Binned::of(&table, 255);
        let shape = shape(leaves, depth, min_leaf.max(1));
        let (pairs, scale, sums) = gradients(n, seed);
        let mut grower = Grower::new(&binned, &shape);
        // The second tree finds histograms in use before.
        for _ in 0..2 {
            let grown = grower.grow(&sums, &scale, None, &Run::silent()).unwrap();
            let found = quickly(&grower, &grown);
            let expected = slowly(&binned, &shape, &pairs);
            prop_assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert_eq!(&found.0, &expected.0);
                prop_assert!((found.1 - expected.1).abs() < 1e-6 * expected.1.abs().max(1.0));
            }
            // The tree sends the values where growth sent the bins.
            for (leaf, rows) in grown.rows.iter().enumerate() {
                for &row in &grower.rows()[rows.clone()] {
                    prop_assert_eq!(grown.tree.leaf(table.row(row as usize)), leaf);
                }
            }
        }
    }

    #[test]
    fn parts_keep_their_order(n in 0usize..100_000, seed: u64) {
        let mut rows: Vec<u32> = (0..n as u32).collect();
        Random::new(seed, 0).shuffle(&mut rows);
        let goes_left = |row: u32| (u64::from(row) ^ seed) % 3 == 0;
        let (left, right): (Vec<u32>, Vec<u32>) = rows.iter().partition(|row| goes_left(**row));
        let mut aside = vec![0; n];
        let n_left = partition(&mut rows, &mut aside, |_| {}, goes_left);
        prop_assert_eq!(n_left, left.len());
        prop_assert_eq!(rows, [left, right].concat());
    }
}

#[test]
fn histograms_that_were_not_kept_are_filled_anew() {
    let table = fixture::table(20, 50, 9, 3);
    let binned = Binned::of(&table, 255);
    let (_, scale, sums) = gradients(table.n_rows(), 3);
    let shape = shape(31, 0, 5);
    let mut grower = Grower::new(&binned, &shape);
    let kept = grower.grow(&sums, &scale, None, &Run::silent()).unwrap();
    grower.most_bytes = 0;
    let anew = grower.grow(&sums, &scale, None, &Run::silent()).unwrap();
    assert_eq!(kept.tree, anew.tree);
}

#[test]
fn only_what_is_allowed_is_looked_at() {
    let table = fixture::table(5, 50, 20, 4);
    let binned = Binned::of(&table, 255);
    let (_, scale, sums) = gradients(table.n_rows(), 4);
    let shape = shape(16, 0, 5);
    let mut grower = Grower::new(&binned, &shape);
    grower.allow(|column| column == 3 || column == 17);
    let grown = grower.grow(&sums, &scale, Some(&[1, 5, 6, 9]), &Run::silent()).unwrap();
    assert!(grown.tree.splits().is_empty());
    assert_eq!(grown.tree.leaves()[0].count, 4);
    let grown = grower.grow(&sums, &scale, None, &Run::silent()).unwrap();
    assert!(grown.tree.splits().iter().all(|split| [3, 17].contains(&split.feature)));
    assert_eq!(grown.tree.leaves().len(), 16);
}
