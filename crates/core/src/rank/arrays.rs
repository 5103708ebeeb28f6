//! A ranker as arrays of numbers, which a folder stores bit by bit.

use super::normalise::{FeatureScale, Normalisation, Normaliser, Over, Scale};
use super::scorer::{Leaf, Split, Tree, Trees};
use super::{Linear, Scorer};
use crate::file::{Tensors, TensorsWriter};
use crate::{Error, Result};

/// A ranker as arrays.
#[derive(Default)]
pub(super) struct Arrays {
    /// Weights and the bias; empty for trees.
    linear: Vec<f64>,
    /// The score before the first tree; one number.
    base: Vec<f64>,
    /// The number of splits of each tree.
    sizes: Vec<u32>,
    features: Vec<u32>,
    thresholds: Vec<f64>,
    children: Vec<i32>,
    /// Bits: missing goes left, zero is missing, categories.
    flags: Vec<u32>,
    gains: Vec<f64>,
    values: Vec<f64>,
    counts: Vec<u32>,
    /// For each tree, the number of starts and of words of its categories.
    category_sizes: Vec<u32>,
    category_starts: Vec<u32>,
    categories: Vec<u32>,
    /// For each feature, what is subtracted and what it is divided by.
    scales: Vec<f64>,
    quantile_sizes: Vec<u32>,
    quantiles: Vec<f32>,
}

/// Writes and reads each array under its name.
macro_rules! stored {
    ($($name:ident)*) => {
        pub fn write<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
            $(tensors.array(stringify!($name), &[self.$name.len()], &self.$name);)*
        }

        /// Reads what [`Arrays::write`] wrote.
        pub fn read(tensors: &Tensors) -> Result<Self> {
            Ok(Arrays { $($name: tensors.array(stringify!($name))?.1,)* })
        }
    };
}

impl Arrays {
    stored! {
        linear base sizes features thresholds children flags gains values counts
        category_sizes category_starts categories scales quantile_sizes quantiles
    }

    pub fn of(scorer: &Scorer, normaliser: &Normaliser) -> Self {
        let mut arrays = Arrays { base: vec![0.0], ..Arrays::default() };
        match scorer {
            Scorer::Linear(linear) => {
                arrays.linear = linear.weights.iter().copied().chain([linear.bias]).collect();
            }
            Scorer::Trees(trees) => {
                arrays.base = vec![trees.base];
                trees.trees.iter().for_each(|tree| arrays.add(tree));
            }
        }
        for feature in normaliser.features() {
            arrays.scales.extend([feature.from, feature.by]);
            arrays.quantile_sizes.push(feature.quantiles.len() as u32);
            arrays.quantiles.extend(&feature.quantiles);
        }
        arrays
    }

    fn add(&mut self, tree: &Tree) {
        self.sizes.push(tree.splits().len() as u32);
        for split in tree.splits() {
            self.features.push(split.feature);
            self.thresholds.push(split.threshold);
            self.children.extend([split.left, split.right]);
            let flags = [split.missing_left, split.zero_is_missing, split.is_category];
            self.flags.push((0..).zip(flags).map(|(bit, is)| u32::from(is) << bit).sum());
            self.gains.push(split.gain);
        }
        for leaf in tree.leaves() {
            self.values.push(leaf.value);
            self.counts.push(leaf.count);
        }
        self.category_sizes
            .extend([tree.category_starts().len() as u32, tree.categories().len() as u32]);
        self.category_starts.extend(tree.category_starts());
        self.categories.extend(tree.categories());
    }

    /// The scorer and the normaliser; an error if the arrays do not fit together.
    pub fn restored(
        self,
        normalisation: Normalisation,
        n_features: usize,
    ) -> Result<(Scorer, Normaliser)> {
        let broken = |problem: &str| Error::Structure { problem: problem.to_owned() };
        let scorer = match self.linear.split_last() {
            Some((&bias, weights)) => {
                if weights.len() != n_features {
                    return Err(broken("not one weight per feature"));
                }
                Scorer::Linear(Linear { weights: weights.to_vec(), bias })
            }
            None => Scorer::Trees(self.trees()?),
        };
        let mut features = Vec::new();
        let mut quantiles = self.quantiles.as_slice();
        for (scale, &size) in self.scales.chunks_exact(2).zip(&self.quantile_sizes) {
            let (own, rest) = quantiles
                .split_at_checked(size as usize)
                .ok_or_else(|| broken("too few quantiles"))?;
            quantiles = rest;
            features.push(FeatureScale { from: scale[0], by: scale[1], quantiles: own.to_vec() });
        }
        let over_all = normalisation.over == Over::All && normalisation.scale != Scale::None;
        if features.len() != if over_all { n_features } else { 0 } {
            return Err(broken("not one scale per feature"));
        }
        Ok((scorer, Normaliser::restore(normalisation, features)))
    }

    fn trees(&self) -> Result<Trees> {
        let short = || Error::Structure { problem: "the arrays of a tree are too short".into() };
        let (mut split, mut leaf, mut start, mut word) = (0usize, 0usize, 0usize, 0usize);
        let mut trees = Vec::with_capacity(self.sizes.len());
        for (t, &size) in self.sizes.iter().enumerate() {
            let mut splits = Vec::new();
            for at in split..split + size as usize {
                let children = self.children.get(2 * at..2 * at + 2).ok_or_else(short)?;
                let flags = *self.flags.get(at).ok_or_else(short)?;
                splits.push(Split {
                    feature: *self.features.get(at).ok_or_else(short)?,
                    threshold: *self.thresholds.get(at).ok_or_else(short)?,
                    left: children[0],
                    right: children[1],
                    missing_left: flags & 1 == 1,
                    zero_is_missing: flags >> 1 & 1 == 1,
                    is_category: flags >> 2 & 1 == 1,
                    gain: *self.gains.get(at).ok_or_else(short)?,
                });
            }
            split += size as usize;
            let ends = leaf + size as usize + 1;
            let values = self.values.get(leaf..ends).ok_or_else(short)?;
            let counts = self.counts.get(leaf..ends).ok_or_else(short)?;
            leaf = ends;
            let leaves = values.iter().zip(counts).map(|(&value, &count)| Leaf { value, count });
            let sizes = self.category_sizes.get(2 * t..2 * t + 2).ok_or_else(short)?;
            let starts =
                self.category_starts.get(start..start + sizes[0] as usize).ok_or_else(short)?;
            let words = self.categories.get(word..word + sizes[1] as usize).ok_or_else(short)?;
            start += sizes[0] as usize;
            word += sizes[1] as usize;
            trees.push(Tree::with_categories(
                splits,
                leaves.collect(),
                starts.to_vec(),
                words.to_vec(),
            )?);
        }
        Ok(Trees { trees, base: self.base.first().copied().unwrap_or(0.0) })
    }
}
