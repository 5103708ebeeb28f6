//! Binning of features, so that the search for splits goes over bins instead of values.
//!
//! As in LightGBM: at most 255 bins with about the same number of rows, none with fewer than three;
//! zero and very frequent values have bins of their own; one more bin is for missing values. The
//! bounds are half-way between values that occur. They come from a sample of rows if the table is
//! large.
//!
//! Eight features form a block, whose bins are adjacent: one load fetches eight, and eight
//! histograms fit into the L1 cache.

use rayon::prelude::*;

use super::prefetch::{AHEAD, prefetch};
use crate::rank::FeatureTable;
use crate::ranking::unsigned_zero;

/// The number of features in a block.
pub(super) const WIDTH: usize = 8;

/// The minimum number of rows in a bin.
const MIN_ROWS: usize = 3;

/// The maximum number of rows that bounds are chosen from.
const SAMPLE: usize = 200_000;

/// The bins of one feature.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BinnedFeature {
    /// The number of the feature in the table.
    pub feature: u32,
    /// The largest value of each bin but the last.
    pub bounds: Vec<f64>,
    /// Whether values are missing; they have the bin after the last.
    pub has_missing: bool,
}

impl BinnedFeature {
    /// The number of bins of values.
    pub fn n_values(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The number of bins, with that of missing values.
    pub fn n_bins(&self) -> usize {
        self.n_values() + usize::from(self.has_missing)
    }
}

/// A binned table. Features with one bin are left out: they cannot be split.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Binned {
    /// The features, [`WIDTH`] to a block.
    pub columns: Vec<BinnedFeature>,
    /// Block by block, the bins of every row.
    pub blocks: Vec<Vec<[u8; WIDTH]>>,
    pub n_rows: usize,
}

impl Binned {
    /// Bins the table, with at most `bins` bins per feature and at most 255.
    pub fn of(table: &FeatureTable, bins: usize) -> Self {
        let features: Vec<u32> = (0..table.n_features() as u32).collect();
        // As many features of a row as fit into a cache line.
        let groups = features.par_chunks(16);
        let found = groups.map(|group| columns_of(table, group, bins.clamp(2, 255)));
        let columns = found.collect::<Vec<_>>().into_iter().flatten();
        let columns: Vec<BinnedFeature> = columns.filter(|column| column.n_bins() > 1).collect();
        let blocks = encode(table, &columns);
        Binned { columns, blocks, n_rows: table.n_rows() }
    }
}

/// The number of rows per task.
const ROWS: usize = 4096;

/// The bins of every row, block by block. The table is read row by row, once.
fn encode(table: &FeatureTable, columns: &[BinnedFeature]) -> Vec<Vec<[u8; WIDTH]>> {
    let finders: Vec<Finder> = columns.iter().map(Finder::of).collect();
    let n_blocks = columns.len().div_ceil(WIDTH);
    let mut blocks = vec![vec![[0; WIDTH]; table.n_rows()]; n_blocks];
    let mut parts: Vec<_> = blocks.iter_mut().map(|block| block.chunks_mut(ROWS)).collect();
    let starts = (0..table.n_rows()).step_by(ROWS);
    let chunks: Vec<(usize, Vec<&mut [[u8; WIDTH]]>)> = starts
        .map(|start| (start, parts.iter_mut().filter_map(Iterator::next).collect()))
        .collect();
    chunks.into_par_iter().for_each(|(start, mut chunk)| {
        for at in 0..ROWS.min(table.n_rows() - start) {
            let values = table.row(start + at);
            for (block, finders) in chunk.iter_mut().zip(finders.chunks(WIDTH)) {
                for (bin, finder) in block[at].iter_mut().zip(finders) {
                    *bin = finder.bin(values[finder.feature]);
                }
            }
        }
    });
    blocks
}

/// Finds the bin of a value.
struct Finder {
    feature: usize,
    /// The bounds in the precision of the values, padded with infinities.
    bounds: Vec<f32>,
    /// By the highest bits of a value, the number of bounds with lower ones.
    lower: Vec<u8>,
    /// The number of halvings that find the place among bounds with the same highest bits.
    steps: u32,
    missing: u8,
}

/// The number of highest bits of a value for the first lookup.
const BITS: u32 = 14;

impl Finder {
    fn of(column: &BinnedFeature) -> Self {
        let mut bounds: Vec<f32> = column.bounds.iter().map(|&bound| below(bound)).collect();
        let mut lower = Vec::with_capacity(1 << BITS);
        let mut n = 0;
        for bits in 0..1 << BITS {
            while n < bounds.len() && highest(bounds[n]) < bits {
                n += 1;
            }
            lower.push(n as u8);
        }
        let same = bounds.chunk_by(|&a, &b| highest(a) == highest(b)).map(<[f32]>::len).max();
        let steps = same.map_or(0, |same| usize::BITS - same.leading_zeros());
        bounds.resize(bounds.len() + (1 << steps), f32::INFINITY);
        let missing = column.n_values().min(255) as u8;
        Finder { feature: column.feature as usize, bounds, lower, steps, missing }
    }

    fn bin(&self, value: f32) -> u8 {
        if value.is_nan() {
            return self.missing;
        }
        // A branchless binary search for the number of bounds below the value.
        let mut bin = self.lower[highest(value)] as usize;
        for step in (0..self.steps).rev() {
            let half = 1 << step;
            bin += if self.bounds[bin + half - 1] < value { half } else { 0 };
        }
        bin as u8
    }
}

/// The highest bits of a value, in the order of values.
fn highest(value: f32) -> usize {
    let bits = unsigned_zero(value).to_bits();
    let ascending = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    (ascending >> (32 - BITS)) as usize
}

/// The largest f32 that is not above `bound`.
fn below(bound: f64) -> f32 {
    let near = bound as f32;
    if f64::from(near) > bound { near.next_down() } else { near }
}

/// The bins of adjacent features.
fn columns_of(table: &FeatureTable, features: &[u32], bins: usize) -> Vec<BinnedFeature> {
    let n = table.n_rows();
    let n_sample = n.min(SAMPLE);
    let mut values = vec![Vec::with_capacity(n_sample); features.len()];
    let mut has_missing = vec![false; features.len()];
    let first = features[0] as usize;
    let mut drawn = 0;
    for row in 0..n {
        prefetch(table.values(), (row + AHEAD) * table.n_features() + first);
        let found = &table.row(row)[first..first + features.len()];
        for (has_missing, value) in has_missing.iter_mut().zip(found) {
            *has_missing |= value.is_nan();
        }
        // Rows at equal distances.
        if row as u128 == drawn as u128 * n as u128 / n_sample as u128 {
            drawn += 1;
            for (values, value) in values.iter_mut().zip(found) {
                if !value.is_nan() {
                    values.push(unsigned_zero(*value));
                }
            }
        }
    }
    let columns = values.into_iter().zip(has_missing).zip(features);
    columns
        .map(|((values, has_missing), &feature)| column(feature, values, has_missing, bins))
        .collect()
}

fn column(feature: u32, mut values: Vec<f32>, has_missing: bool, bins: usize) -> BinnedFeature {
    values.sort_unstable_by(f32::total_cmp);
    let mut distinct: Vec<(f32, usize)> = Vec::new();
    for value in values {
        match distinct.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => distinct.push((value, 1)),
        }
    }
    // If all values are missing there is nothing to split.
    let has_missing = has_missing && !distinct.is_empty();
    BinnedFeature { feature, bounds: bounds(&distinct, bins), has_missing }
}

/// The bounds between at most `bins` bins of `distinct` values, ascending, with their counts.
fn bounds(distinct: &[(f32, usize)], bins: usize) -> Vec<f64> {
    let negative = distinct.partition_point(|&(value, _)| value < 0.0);
    let positive = distinct.partition_point(|&(value, _)| value <= 0.0);
    let (below, above) = (&distinct[..negative], &distinct[positive..]);
    let count = |part: &[(f32, usize)]| part.iter().map(|&(_, count)| count).sum::<usize>();
    let others = bins - usize::from(negative < positive);
    let (n_below, n_above) = (count(below), count(above));
    let share = others as f64 * n_below as f64 / (n_below + n_above).max(1) as f64;
    let mut for_below = share.round() as usize;
    if n_below > 0 && n_above > 0 {
        for_below = for_below.clamp(1, others.max(2) - 1);
    }
    let mut cuts = Vec::new();
    cut(below, for_below, 0, &mut cuts);
    // Zero has a bin of its own.
    cuts.extend([negative, positive].into_iter().filter(|&at| 0 < at && at < distinct.len()));
    cut(above, others - for_below.min(others), positive, &mut cuts);
    cuts.dedup();
    cuts.truncate(bins - 1);
    let between = |&at: &usize| 0.5 * (f64::from(distinct[at - 1].0) + f64::from(distinct[at].0));
    cuts.iter().map(between).collect()
}

/// Appends to `cuts` the places, counted from `offset` on, that cut `distinct` into at most `bins`
/// bins.
fn cut(distinct: &[(f32, usize)], bins: usize, offset: usize, cuts: &mut Vec<usize>) {
    let total: usize = distinct.iter().map(|&(_, count)| count).sum();
    let many = distinct.len() > bins;
    let mut left = bins.min(total / MIN_ROWS).max(1);
    if left < 2 {
        return;
    }
    // A value as frequent as the mean bin has a bin of its own; the others share the rest.
    let mean = total as f64 / left as f64;
    let heavy = |at: usize| many && distinct[at].1 as f64 >= mean;
    let mut rows = total;
    for at in (0..distinct.len()).filter(|&at| heavy(at)) {
        rows -= distinct[at].1;
        left = left.saturating_sub(1);
    }
    let size = |rows: usize, left: usize| match many {
        true => rows as f64 / left.max(1) as f64,
        false => MIN_ROWS as f64,
    };
    let mut wanted = size(rows, left);
    let (mut here, mut made) = (0, 1);
    for (at, &(_, count)) in distinct.iter().enumerate().take(distinct.len().saturating_sub(1)) {
        here += count;
        if !heavy(at) {
            rows -= count;
        }
        let before_heavy = heavy(at + 1) && here as f64 >= (0.5 * wanted).max(1.0);
        if heavy(at) || here as f64 >= wanted || before_heavy {
            cuts.push(offset + at + 1);
            made += 1;
            if made == bins {
                return;
            }
            here = 0;
            if !heavy(at) {
                left = left.saturating_sub(1);
                wanted = size(rows, left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::TableBuilder;

    fn table(values: &[f32]) -> FeatureTable {
        let mut builder = TableBuilder::new(vec!["a".into()]);
        for (row, &value) in values.iter().enumerate() {
            builder.push("q", &row.to_string(), 0.0, &[value]).unwrap();
        }
        builder.finish()
    }

    #[test]
    fn few_values_have_a_bin_each_and_missing_ones_one_more() {
        let nan = f32::NAN;
        let values = [1.0, 1.0, 1.0, 0.0, 0.0, 3.0, 3.0, 3.0, nan, -2.0];
        let binned = Binned::of(&table(&values), 255);
        assert_eq!(binned.columns[0].bounds, [-1.0, 0.5, 2.0]);
        assert!(binned.columns[0].has_missing);
        let bins: Vec<u8> = binned.blocks[0].iter().map(|bins| bins[0]).collect();
        assert_eq!(bins, [2, 2, 2, 1, 1, 3, 3, 3, 4, 0]);
    }

    #[test]
    fn what_is_constant_is_left_out() {
        assert!(Binned::of(&table(&[2.0; 9]), 255).columns.is_empty());
        assert!(Binned::of(&table(&[f32::NAN; 9]), 255).columns.is_empty());
        // Missing or not is something to split on.
        let binned = Binned::of(&table(&[2.0, 2.0, f32::NAN]), 255);
        assert_eq!(binned.columns[0].n_bins(), 2);
    }

    #[test]
    fn bins_hold_about_equally_many_rows() {
        // Squares, so that bins of equal width would not do.
        let values: Vec<f32> = (0..10_000).map(|i| (i as f32).powi(2)).collect();
        let binned = Binned::of(&table(&values), 100);
        assert!((99..=100).contains(&binned.columns[0].n_values()));
        let mut counts = [0; 256];
        binned.blocks[0].iter().for_each(|bins| counts[bins[0] as usize] += 1);
        assert!(counts[1..99].iter().all(|count| (90..=115).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_frequent_value_has_a_bin_of_its_own() {
        let values: Vec<f32> = (0..4000)
            .map(|i| if i % 2 == 0 { 7.0 } else { 1.0 + (i % 999) as f32 / 77.0 })
            .collect();
        let column = &Binned::of(&table(&values), 16).columns[0];
        let at = column.bounds.partition_point(|&bound| bound < 7.0);
        let (low, high) = (column.bounds[at - 1] as f32, column.bounds[at] as f32);
        let inside = values.iter().filter(|&&v| v > low && v <= high);
        assert!(inside.clone().filter(|&&v| v != 7.0).count() < 250);
    }

    proptest! {
        #[test]
        fn bins_are_in_the_order_of_values(
            values in prop::collection::vec(
                prop_oneof![(-9i8..9).prop_map(f32::from), -1e3f32..1e3, Just(f32::NAN)], 1..400),
            bins in 2usize..260,
        ) {
            let binned = Binned::of(&table(&values), bins);
            let Some(column) = binned.columns.first() else { return Ok(()) };
            prop_assert!(column.n_values() <= bins.min(255));
            prop_assert!(column.bounds.is_sorted_by(|a, b| a < b));
            for (value, found) in values.iter().zip(&binned.blocks[0]) {
                let expected = match value.is_nan() {
                    true => column.n_values(),
                    false => column.bounds.partition_point(|&bound| bound < f64::from(*value)),
                };
                prop_assert_eq!(usize::from(found[0]), expected);
            }
        }
    }
}
