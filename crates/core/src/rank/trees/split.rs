//! The best split of a node, from its histogram.
//!
//! With G the sum of gradients and H that of second derivatives, the value of a leaf is −G / (H + λ),
//! and it lowers twice the loss by G² / (H + λ). The gain of a split is the sum of that over its two
//! sides, minus that of the node.

use super::bins::BinnedFeature;
use super::histogram::{GradientScale, Sums};

/// Limits of a split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    /// Minimum number of rows on a side.
    pub min_leaf: usize,
    /// Minimum sum of second derivatives on a side.
    pub min_hessian: f64,
    /// The ℓ2 penalty λ on leaf values.
    pub l2: f64,
    /// Minimum gain.
    pub min_gain: f64,
}

/// A possible split of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// By how much it lowers twice the loss.
    pub gain: f64,
    /// The column that is tested.
    pub column: usize,
    /// Bins up to this one go left.
    pub bin: usize,
    /// Whether missing values go left.
    pub missing_left: bool,
    /// The sums of the rows that go left.
    pub left: Sums,
}

/// Bounds of the value of a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub low: f64,
    pub high: f64,
}

impl Bounds {
    pub const NONE: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };
}

/// Finds the best split of one node.
pub(super) struct Finder<'a> {
    scale: &'a GradientScale,
    limits: &'a Limits,
    /// The sums of the rows of the node.
    total: Sums,
    /// Bounds of the values of leaves below the node.
    bounds: Bounds,
    /// Whether any feature has a monotone constraint.
    is_monotone: bool,
    /// By how much the unsplit node lowers twice the loss.
    own: f64,
}

/// A place to split, and the sums of the rows that go left.
#[derive(Clone, Copy)]
struct Place {
    bin: usize,
    left: Sums,
    with_missing: bool,
}

impl<'a> Finder<'a> {
    /// A finder for a node with the sums `total`, with `bounds` of the values of leaves below it.
    pub fn new(
        scale: &'a GradientScale,
        limits: &'a Limits,
        total: Sums,
        bounds: Bounds,
        is_monotone: bool,
    ) -> Self {
        let mut finder = Finder { scale, limits, total, bounds, is_monotone, own: 0.0 };
        finder.own = finder.lowered(total, finder.value(total));
        finder
    }

    /// The value of a leaf with `sums`.
    pub fn value(&self, sums: Sums) -> f64 {
        let below = self.scale.hessian(sums) + self.limits.l2;
        let value = if below > 0.0 { -self.scale.gradient(sums) / below } else { 0.0 };
        value.clamp(self.bounds.low, self.bounds.high)
    }

    /// By how much a leaf with this value lowers twice the loss of `sums`.
    fn lowered(&self, sums: Sums, value: f64) -> f64 {
        let below = self.scale.hessian(sums) + self.limits.l2;
        -(2.0 * self.scale.gradient(sums) * value + below * value * value)
    }

    /// The best split at one column, if it gains more than `least`. The score must rise with the
    /// feature if `trend` is above 0, fall if it is below.
    pub fn best(
        &self,
        cells: &[Sums; 256],
        column: &BinnedFeature,
        number: usize,
        trend: i8,
        least: f64,
    ) -> Option<Candidate> {
        let values = &cells[..column.n_values()];
        let missing = match column.has_missing {
            true => cells[values.len()],
            false => Sums::default(),
        };
        let is_missing = missing != Sums::default();
        let mut most = least.max(self.limits.min_gain) + self.own;
        let mut best: Option<Place> = None;
        for with_missing in [false, true] {
            if with_missing && !is_missing {
                break;
            }
            let start = if with_missing { missing } else { Sums::default() };
            let found = match self.is_monotone {
                true => self.scan_bounded(values, start, trend, &mut most),
                false => self.scan(values, start, &mut most),
            };
            best = found.map(|(bin, left)| Place { bin, left, with_missing }).or(best);
        }
        let Place { bin, left, with_missing } = best?;
        // Empty bins after the last on the left may go either way: the cut is in their middle.
        let next = (bin + 1..values.len()).find(|&next| values[next] != Sums::default());
        let bin = next.map_or(bin, |next| (bin + next - 1) / 2);
        // If training has no missing values, they go with the majority.
        let with_most = 2 * self.scale.count(left) >= self.scale.count(self.total);
        let missing_left = if is_missing { with_missing } else { with_most };
        Some(Candidate { gain: most - self.own, column: number, bin, missing_left, left })
    }

    /// The last bin that goes left and the sums on the left, for the split that lowers twice the loss
    /// the most, and by more than `most`. `start` goes left in any case.
    fn scan(&self, cells: &[Sums], start: Sums, most: &mut f64) -> Option<(usize, Sums)> {
        let scale = self.scale;
        // In steps of the sums, the reduction is larger by this factor.
        let unit = scale.hessian / (scale.gradient * scale.gradient);
        let l2 = self.limits.l2 * scale.hessian;
        let min_hessian = self.limits.min_hessian * scale.hessian + l2;
        let n_all = scale.count(self.total);
        let n_most = n_all.checked_sub(self.limits.min_leaf.max(1))?;
        let g_all = scale.gradient_steps(self.total);
        let h_all = scale.hessian_steps(self.total) + 2.0 * l2;
        let mut limit = *most / unit;
        let mut best = None;
        let mut left = start;
        for (bin, &cell) in cells.iter().enumerate() {
            left = left.plus(cell);
            let n_left = scale.count(left);
            if n_left < self.limits.min_leaf {
                continue;
            }
            if n_left > n_most {
                break;
            }
            let (g_left, h_left) = (scale.gradient_steps(left), scale.hessian_steps(left) + l2);
            let (g_right, h_right) = (g_all - g_left, h_all - h_left);
            // The same as G²/H left + G²/H right > limit, without dividing.
            let sides = g_left * g_left * h_right + g_right * g_right * h_left;
            let product = h_left * h_right;
            if sides > limit * product && h_left >= min_hessian && h_right >= min_hessian {
                limit = sides / product;
                best = Some((bin, left));
            }
        }
        if best.is_some() {
            *most = limit * unit;
        }
        best
    }

    /// The same with bounded values of leaves that must rise or fall with the feature.
    fn scan_bounded(
        &self,
        cells: &[Sums],
        start: Sums,
        trend: i8,
        most: &mut f64,
    ) -> Option<(usize, Sums)> {
        let mut best = None;
        let mut left = start;
        for (bin, &cell) in cells.iter().enumerate() {
            left = left.plus(cell);
            let right = self.total.minus(left);
            let suits = |side: Sums| {
                self.scale.count(side) >= self.limits.min_leaf.max(1)
                    && self.scale.hessian(side) >= self.limits.min_hessian
            };
            let (low, high) = (self.value(left), self.value(right));
            let against = (trend > 0 && low > high) || (trend < 0 && low < high);
            let lowered = self.lowered(left, low) + self.lowered(right, high);
            if lowered > *most && !against && suits(left) && suits(right) {
                *most = lowered;
                best = Some((bin, left));
            }
        }
        best
    }
}
