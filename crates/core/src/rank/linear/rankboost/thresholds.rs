//! The thresholds of every feature, and the one that separates rows best.

use rayon::prelude::*;

use crate::rank::FeatureTable;

/// Every value as the number of thresholds below it, feature by feature.
pub struct ThresholdBins {
    features: Vec<Feature>,
}

struct Feature {
    thresholds: Vec<f64>,
    /// One per row: how many thresholds are below the value, or [`MISSING`].
    bins: Vec<u16>,
}

const MISSING: u16 = u16::MAX;

/// A weak ranker: a threshold on a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeakRanker {
    pub feature: u32,
    pub threshold: f64,
    /// How many thresholds of the feature are below it.
    pub place: u16,
    /// Whether missing values count as below.
    pub missing_left: bool,
    /// Σ of the potentials above.
    pub r: f64,
}

impl ThresholdBins {
    /// The maximum number of thresholds of a feature.
    pub const MOST: usize = 65_000;

    /// Bins with at most `most` thresholds per feature.
    pub fn new(table: &FeatureTable, most: usize) -> Self {
        let feature = |k: usize| {
            let column = || (0..table.n_rows()).map(|row| table.row(row)[k]);
            let thresholds = thresholds(column().filter(|value| !value.is_nan()).collect(), most);
            let bin = |value: f32| match value.is_nan() {
                true => MISSING,
                false => thresholds.partition_point(|&other| other < f64::from(value)) as u16,
            };
            Feature { bins: column().map(bin).collect(), thresholds }
        };
        ThresholdBins { features: (0..table.n_features()).into_par_iter().map(feature).collect() }
    }

    /// The threshold with the largest |r|, the first of equal ones; nothing if every feature is
    /// constant.
    pub fn best(&self, potentials: &[f64]) -> Option<WeakRanker> {
        let features = self.features.par_iter().enumerate();
        let found: Vec<Option<WeakRanker>> =
            features.map(|(k, feature)| feature.best(k as u32, potentials)).collect();
        found.into_iter().flatten().reduce(stronger)
    }

    /// How many rows are below the threshold, and above it.
    pub fn counts(&self, weak: &WeakRanker) -> [u32; 2] {
        let bins = &self.features[weak.feature as usize].bins;
        let below = |&bin: &u16| match bin {
            MISSING => weak.missing_left,
            bin => bin <= weak.place,
        };
        let n_below = bins.iter().filter(|bin| below(bin)).count() as u32;
        [n_below, bins.len() as u32 - n_below]
    }
}

fn stronger(best: WeakRanker, other: WeakRanker) -> WeakRanker {
    if other.r.abs() > best.r.abs() { other } else { best }
}

impl Feature {
    fn best(&self, feature: u32, potentials: &[f64]) -> Option<WeakRanker> {
        let mut sums = vec![0.0; self.thresholds.len() + 1];
        let mut missing = None;
        for (&bin, potential) in self.bins.iter().zip(potentials) {
            match bin {
                MISSING => missing = Some(missing.unwrap_or(0.0) + potential),
                bin => sums[bin as usize] += potential,
            }
        }
        let mut best: Option<WeakRanker> = None;
        let mut above = 0.0;
        for (place, &threshold) in self.thresholds.iter().enumerate().rev() {
            above += sums[place + 1];
            let place = place as u16;
            let left = WeakRanker { feature, threshold, place, missing_left: true, r: above };
            let right = missing.map(|missing| WeakRanker {
                missing_left: false,
                r: above + missing,
                ..left
            });
            for weak in [Some(left), right].into_iter().flatten() {
                best = Some(best.map_or(weak, |best| stronger(best, weak)));
            }
        }
        best
    }
}

/// Thresholds half way between adjacent values, or between `most` + 1 groups of about equal size if
/// there are more values.
fn thresholds(mut values: Vec<f32>, most: usize) -> Vec<f64> {
    values.sort_unstable_by(f32::total_cmp);
    let n = values.len();
    let between = |low: f32, high: f32| (f64::from(low) + f64::from(high)) / 2.0;
    // −0 is 0.
    let edges: Vec<usize> = (1..n).filter(|&at| values[at - 1] != values[at]).collect();
    let edge = |&at: &usize| between(values[at - 1], values[at]);
    if edges.len() <= most {
        return edges.iter().map(edge).collect();
    }
    // The edges nearest to the quantiles.
    let mut chosen: Vec<usize> = (1..=most)
        .map(|part| {
            let wanted = part * n / (most + 1);
            let next = edges.partition_point(|&at| at < wanted).min(edges.len() - 1);
            let before = next.saturating_sub(1);
            match wanted.abs_diff(edges[before]) < wanted.abs_diff(edges[next]) {
                true => before,
                false => next,
            }
        })
        .collect();
    chosen.dedup();
    chosen.iter().map(|&at| edge(&edges[at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_lie_between_values() {
        assert_eq!(thresholds(vec![1.0, 0.0, 1.0, -0.0, 3.0], 9), [0.5, 2.0]);
        assert_eq!(thresholds(vec![2.0, 2.0], 9), [0.0; 0]);
        assert_eq!(thresholds(vec![], 9), [0.0; 0]);
        let many = thresholds((0..1000).map(|value| value as f32).collect(), 3);
        assert_eq!(many, [249.5, 499.5, 749.5]);
        // Most rows at one value: the rest still gets thresholds.
        let mut skewed = vec![0.0; 900];
        skewed.extend((1..=100).map(|value| value as f32));
        let few = thresholds(skewed, 10);
        assert!(!few.is_empty() && few.is_sorted() && few.len() <= 10, "{few:?}");
    }
}
