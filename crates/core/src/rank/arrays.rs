//! A ranker as arrays of numbers, which a folder keeps to the last bit.

use super::Scorer;
use super::linear::Linear;
use super::normalise::{Feature, Normalisation, Normaliser, Over, Scale};
use super::trees::{Leaf, Split, Tree, Trees};
use crate::file::{Tensors, TensorsWriter};
use crate::{Error, Result};

/// A ranker as arrays.
#[derive(Default)]
pub(super) struct Arrays {
    /// Weights and the bias; empty for trees.
    linear: Vec<f64>,
    base: f64,
    /// Splits and leaves of each tree.
    sizes: Vec<u32>,
    features: Vec<u32>,
    thresholds: Vec<f64>,
    children: Vec<i32>,
    /// Bits: missing goes left, zero is missing, categories.
    flags: Vec<u32>,
    gains: Vec<f64>,
    values: Vec<f64>,
    counts: Vec<u32>,
    category_starts: Vec<u32>,
    /// Starts and words of categories of each tree.
    category_sizes: Vec<u32>,
    categories: Vec<u32>,
    /// What is subtracted from features, and what they are divided by.
    scales: Vec<f64>,
    quantile_sizes: Vec<u32>,
    quantiles: Vec<f32>,
}

impl Arrays {
    /// What is to be kept of a ranker.
    pub fn of(scorer: &Scorer, normaliser: &Normaliser) -> Self {
        let mut arrays = Arrays::default();
        match scorer {
            Scorer::Linear(linear) => {
                arrays.linear = linear.weights.iter().copied().chain([linear.bias]).collect();
            }
            Scorer::Trees(trees) => {
                arrays.base = trees.base;
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

    /// Puts them where a folder keeps them.
    pub fn write<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.array("linear", &[self.linear.len()], &self.linear);
        tensors.array("base", &[1], std::slice::from_ref(&self.base));
        tensors.array("sizes", &[self.sizes.len()], &self.sizes);
        tensors.array("features", &[self.features.len()], &self.features);
        tensors.array("thresholds", &[self.thresholds.len()], &self.thresholds);
        tensors.array("children", &[self.children.len()], &self.children);
        tensors.array("flags", &[self.flags.len()], &self.flags);
        tensors.array("gains", &[self.gains.len()], &self.gains);
        tensors.array("values", &[self.values.len()], &self.values);
        tensors.array("counts", &[self.counts.len()], &self.counts);
        tensors.array("category_sizes", &[self.category_sizes.len()], &self.category_sizes);
        tensors.array("category_starts", &[self.category_starts.len()], &self.category_starts);
        tensors.array("categories", &[self.categories.len()], &self.categories);
        tensors.array("scales", &[self.scales.len()], &self.scales);
        tensors.array("quantile_sizes", &[self.quantile_sizes.len()], &self.quantile_sizes);
        tensors.array("quantiles", &[self.quantiles.len()], &self.quantiles);
    }

    /// Reads what [`Arrays::write`] wrote.
    pub fn read(tensors: &Tensors) -> Result<Self> {
        let base: Vec<f64> = tensors.array("base")?.1;
        Ok(Arrays {
            linear: tensors.array("linear")?.1,
            base: base.first().copied().unwrap_or(0.0),
            sizes: tensors.array("sizes")?.1,
            features: tensors.array("features")?.1,
            thresholds: tensors.array("thresholds")?.1,
            children: tensors.array("children")?.1,
            flags: tensors.array("flags")?.1,
            gains: tensors.array("gains")?.1,
            values: tensors.array("values")?.1,
            counts: tensors.array("counts")?.1,
            category_sizes: tensors.array("category_sizes")?.1,
            category_starts: tensors.array("category_starts")?.1,
            categories: tensors.array("categories")?.1,
            scales: tensors.array("scales")?.1,
            quantile_sizes: tensors.array("quantile_sizes")?.1,
            quantiles: tensors.array("quantiles")?.1,
        })
    }

    /// What was kept, put together again; an error if it does not fit together.
    pub fn restored(
        self,
        normalisation: Normalisation,
        n_features: usize,
    ) -> Result<(Scorer, Normaliser)> {
        let broken = |problem: &str| Error::Structure { problem: problem.to_owned() };
        let scorer = match self.linear.split_last() {
            Some((&bias, weights)) => {
                if weights.len() != n_features {
                    return Err(broken("not one weight a feature"));
                }
                Scorer::Linear(Linear { weights: weights.to_vec(), bias })
            }
            None => Scorer::Trees(self.trees()?),
        };
        let mut features = Vec::new();
        let mut quantiles = self.quantiles.as_slice();
        for (scale, &size) in self.scales.chunks_exact(2).zip(&self.quantile_sizes) {
            let (own, rest) =
                quantiles.split_at_checked(size as usize).ok_or_else(|| broken("quantiles"))?;
            quantiles = rest;
            features.push(Feature { from: scale[0], by: scale[1], quantiles: own.to_vec() });
        }
        let over_all = normalisation.over == Over::All && normalisation.scale != Scale::None;
        if features.len() != if over_all { n_features } else { 0 } {
            return Err(broken("not one scale a feature"));
        }
        Ok((scorer, Normaliser::restore(normalisation, features)))
    }

    fn trees(&self) -> Result<Trees> {
        let short = || Error::Structure { problem: "a tree that is cut short".into() };
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
        Ok(Trees { trees, base: self.base })
    }
}
