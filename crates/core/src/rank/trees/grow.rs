//! Leaf-wise growth of a tree: the leaf whose split gains the most is split next.
//!
//! The histogram of the smaller child is filled row by row, that of the larger is the parent's minus
//! the smaller's. Filling, subtracting and the search for splits go block by block, so that a block
//! stays in the L1 cache, with blocks in parallel.

use std::ops::Range;

use rayon::prelude::*;

use super::bins::{Binned, WIDTH};
use super::histogram::{self, GradientScale, Histogram, Sums};
use super::prefetch::{AHEAD, prefetch};
use super::split::{Bounds, Candidate, Finder, Limits};
use super::{Child, Leaf, Split, Tree};
use crate::{Result, Run};

/// Limits of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TreeShape {
    /// Maximum number of leaves.
    pub leaves: usize,
    /// Maximum number of splits on the way to a leaf; 0 for any number.
    pub depth: usize,
    /// Limits of every split.
    pub limits: Limits,
    /// For every column, whether the score must rise (1) or fall (−1) with it; empty without such
    /// constraints.
    pub trends: Vec<i8>,
}

/// Fewer rows than this are processed by one thread.
const FEW_ROWS: usize = 8192;

/// Less work than this (cells and rows times features) is done by one thread.
const LITTLE_WORK: usize = 30_000;

/// The maximum size of the histograms of leaves; those beyond it are filled again when needed.
const MOST_BYTES: usize = 1 << 30;

/// A leaf that may yet be split.
struct Node {
    rows: Range<usize>,
    depth: usize,
    sums: Sums,
    bounds: Bounds,
    /// The place of its histogram, if it was kept.
    histogram: Option<usize>,
    best: Option<Candidate>,
    /// The split above it, and whether it is on its left.
    above: Option<(usize, bool)>,
}

/// Grows trees on one table.
pub(super) struct Grower<'a> {
    binned: &'a Binned,
    shape: &'a TreeShape,
    /// The rows of the tree, those of a leaf adjacent.
    rows: Vec<u32>,
    /// Scratch for rows that go right.
    aside: Vec<u32>,
    /// The sums of the rows that a histogram is filled with.
    sums: Vec<Sums>,
    histograms: Vec<Histogram>,
    free: Vec<usize>,
    /// The columns that may be split, block by block, as bits.
    allowed: Vec<u8>,
    /// The maximum size of the histograms, in bytes.
    most_bytes: usize,
}

/// A tree and where the rows it was grown on ended.
pub(super) struct Grown {
    pub tree: Tree,
    /// For every leaf, its rows within [`Grower::rows`].
    pub rows: Vec<Range<usize>>,
}

impl<'a> Grower<'a> {
    pub fn new(binned: &'a Binned, shape: &'a TreeShape) -> Self {
        Grower {
            binned,
            shape,
            rows: Vec::new(),
            aside: Vec::new(),
            sums: Vec::new(),
            histograms: Vec::new(),
            free: Vec::new(),
            allowed: vec![u8::MAX; binned.blocks.len()],
            most_bytes: MOST_BYTES,
        }
    }

    /// The rows of the last tree, those of a leaf adjacent.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Sets the columns that the next trees may split.
    pub fn allow(&mut self, is_allowed: impl Fn(usize) -> bool) {
        for (block, bits) in self.allowed.iter_mut().enumerate() {
            let bit = |lane: usize| u8::from(is_allowed(block * WIDTH + lane)) << lane;
            *bits = (0..WIDTH).map(bit).fold(0, |bits, bit| bits | bit);
        }
    }

    /// A tree on the rows in `bag` (all, if there is none), whose gradients are in `sums`.
    pub fn grow(
        &mut self,
        sums: &[Sums],
        scale: &GradientScale,
        bag: Option<&[u32]>,
        run: &Run<'_>,
    ) -> Result<Grown> {
        self.rows.clear();
        match bag {
            Some(bag) => self.rows.extend_from_slice(bag),
            None => self.rows.extend(0..self.binned.n_rows as u32),
        }
        self.free = (0..self.histograms.len()).collect();
        let total =
            self.rows.iter().fold(Sums::default(), |all, &row| all.plus(sums[row as usize]));
        let mut nodes = vec![Node {
            rows: 0..self.rows.len(),
            depth: 0,
            sums: total,
            bounds: Bounds::NONE,
            histogram: None,
            best: None,
            above: None,
        }];
        if self.may_split(&nodes[0], 1) {
            self.search_root(&mut nodes[0], sums, scale);
        }
        let mut splits: Vec<Split> = Vec::new();
        while nodes.len() < self.shape.leaves {
            run.check()?;
            let gain = |node: usize| nodes[node].best.map_or(0.0, |best: Candidate| best.gain);
            // The first of those that gain the most.
            let chosen = (0..nodes.len()).fold(0, |a, b| if gain(b) > gain(a) { b } else { a });
            let Some(candidate) = nodes[chosen].best.take() else { break };
            let right = self.split_node(&mut nodes[chosen], &candidate, scale);
            self.push_split(&mut splits, &nodes, chosen, &candidate);
            nodes[chosen].above = Some((splits.len() - 1, true));
            nodes.push(Node { above: Some((splits.len() - 1, false)), ..right });
            let last = nodes.len() - 1;
            let (first, second) = nodes.split_at_mut(last);
            self.search_children(&mut first[chosen], &mut second[0], sums, scale, last + 1);
        }
        let leaf = |node: &Node| {
            let value = self.finder(node, scale).value(node.sums);
            Leaf { value, count: scale.count(node.sums) as u32 }
        };
        let leaves = nodes.iter().map(leaf).collect();
        let rows = nodes.into_iter().map(|node| node.rows).collect();
        Ok(Grown { tree: Tree::new(splits, leaves)?, rows })
    }

    /// Appends the split of the node `chosen`, whose left side keeps its place as a leaf.
    fn push_split(&self, splits: &mut Vec<Split>, nodes: &[Node], chosen: usize, best: &Candidate) {
        if let Some((above, is_left)) = nodes[chosen].above {
            let at = splits.len() as Child;
            let child = if is_left { &mut splits[above].left } else { &mut splits[above].right };
            *child = at;
        }
        let column = &self.binned.columns[best.column];
        splits.push(Split {
            feature: column.feature,
            // Only missing values are beyond the last bin.
            threshold: column.bounds.get(best.bin).copied().unwrap_or(f64::INFINITY),
            left: !(chosen as Child),
            right: !(nodes.len() as Child),
            missing_left: best.missing_left,
            zero_is_missing: false,
            is_category: false,
            gain: best.gain,
        });
    }

    /// Splits the rows of `node`, which becomes its left child; returns the right one.
    fn split_node(&mut self, node: &mut Node, best: &Candidate, scale: &GradientScale) -> Node {
        let column = &self.binned.columns[best.column];
        let mut goes_left = [false; 256];
        goes_left[..=best.bin].fill(true);
        if column.has_missing {
            goes_left[column.n_values()] = best.missing_left;
        }
        let bins = &self.binned.blocks[best.column / WIDTH];
        let lane = best.column % WIDTH;
        let rows = &mut self.rows[node.rows.clone()];
        self.aside.resize(rows.len().max(self.aside.len()), 0);
        let n_left = partition(
            rows,
            &mut self.aside,
            |row| prefetch(bins, row as usize),
            |row| goes_left[bins[row as usize][lane] as usize],
        );
        let middle = node.rows.start + n_left;
        let right_sums = node.sums.minus(best.left);
        let (mut low, mut high) = (node.bounds, node.bounds);
        let trend = self.trend(best.column);
        if trend != 0 {
            let finder = self.finder(node, scale);
            let between = 0.5 * (finder.value(best.left) + finder.value(right_sums));
            let (below, above) =
                if trend > 0 { (&mut low, &mut high) } else { (&mut high, &mut low) };
            below.high = between;
            above.low = between;
        }
        let right = Node {
            rows: middle..node.rows.end,
            depth: node.depth + 1,
            sums: right_sums,
            bounds: high,
            histogram: None,
            best: None,
            above: None,
        };
        node.rows.end = middle;
        node.depth += 1;
        node.sums = best.left;
        node.bounds = low;
        right
    }

    fn trend(&self, column: usize) -> i8 {
        self.shape.trends.get(column).copied().unwrap_or(0)
    }

    fn finder<'s>(&'s self, node: &Node, scale: &'s GradientScale) -> Finder<'s> {
        let is_monotone = !self.shape.trends.is_empty();
        Finder::new(scale, &self.shape.limits, node.sums, node.bounds, is_monotone)
    }

    /// Whether a node may be split in a tree that has `n_leaves` leaves.
    fn may_split(&self, node: &Node, n_leaves: usize) -> bool {
        let deep = self.shape.depth > 0 && node.depth >= self.shape.depth;
        let few = node.rows.len() < 2 * self.shape.limits.min_leaf.max(1);
        n_leaves < self.shape.leaves && !deep && !few && !self.binned.blocks.is_empty()
    }

    /// Finds the best split of the root.
    fn search_root(&mut self, node: &mut Node, sums: &[Sums], scale: &GradientScale) {
        let at = self.take_histogram();
        self.gather(node.rows.clone(), sums);
        let mut histogram = std::mem::take(&mut self.histograms[at]);
        let work = node.rows.len() * self.binned.columns.len();
        let this = &*self;
        let best = for_each_block(&mut histogram, work, |block, cells| {
            this.fill(cells, block, node.rows.clone());
            this.best_of(cells, block, node, scale)
        });
        node.best = best.into_iter().fold(None, better);
        self.histograms[at] = histogram;
        node.histogram = Some(at);
    }

    /// Finds the best splits of two children; the left one has their parent's histogram.
    fn search_children(
        &mut self,
        left: &mut Node,
        right: &mut Node,
        sums: &[Sums],
        scale: &GradientScale,
        n_leaves: usize,
    ) {
        let parent = left.histogram.take();
        let (for_left, for_right) =
            (self.may_split(left, n_leaves), self.may_split(right, n_leaves));
        if !for_left && !for_right {
            self.free.extend(parent);
            return;
        }
        let left_is_small = left.rows.len() <= right.rows.len();
        let (small, large) = if left_is_small { (left, right) } else { (right, left) };
        let (for_small, for_large) =
            if left_is_small { (for_left, for_right) } else { (for_right, for_left) };
        let at_small = self.take_histogram();
        let at_large = parent.unwrap_or_else(|| self.take_histogram());
        let mut small_cells = std::mem::take(&mut self.histograms[at_small]);
        let mut large_cells = std::mem::take(&mut self.histograms[at_large]);
        if parent.is_none() {
            self.gather(large.rows.clone(), sums);
            let this = &*self;
            let work = large.rows.len() * self.binned.columns.len();
            for_each_block(&mut large_cells, work, |block, cells| {
                this.fill(cells, block, large.rows.clone());
            });
        }
        self.gather(small.rows.clone(), sums);
        let this = &*self;
        let n_columns = this.binned.columns.len();
        let work = (small.rows.len() + 512) * n_columns;
        let mut both: Vec<_> = small_cells.iter_mut().zip(&mut large_cells).collect();
        let found = for_each_block(&mut both, work, |block, (small_cells, large_cells)| {
            this.fill(small_cells, block, small.rows.clone());
            if parent.is_some() {
                histogram::subtract(large_cells, small_cells, this.columns(block));
            }
            let best = |cells: &histogram::Block, node: &Node, wanted: bool| {
                if wanted { this.best_of(cells, block, node, scale) } else { None }
            };
            (best(small_cells, small, for_small), best(large_cells, large, for_large))
        });
        for (best_small, best_large) in found {
            small.best = better(small.best, best_small);
            large.best = better(large.best, best_large);
        }
        self.histograms[at_small] = small_cells;
        self.histograms[at_large] = large_cells;
        self.keep(small, at_small);
        self.keep(large, at_large);
    }

    /// Keeps the histogram of a node that may be split, if memory allows.
    fn keep(&mut self, node: &mut Node, at: usize) {
        let bytes =
            self.histograms.len() * self.binned.blocks.len() * size_of::<histogram::Block>();
        match node.best.is_some() && (bytes < self.most_bytes || self.free.len() > 1) {
            true => node.histogram = Some(at),
            false => self.free.push(at),
        }
    }

    fn take_histogram(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.histograms.push(histogram::empty(self.binned.blocks.len()));
            self.histograms.len() - 1
        })
    }

    fn columns(&self, block: usize) -> &[super::bins::BinnedFeature] {
        let columns = &self.binned.columns[block * WIDTH..];
        &columns[..columns.len().min(WIDTH)]
    }

    /// Copies the sums of rows next to each other.
    fn gather(&mut self, rows: Range<usize>, sums: &[Sums]) {
        let rows = &self.rows[rows];
        self.sums.resize(rows.len().max(self.sums.len()), Sums::default());
        let gathered = &mut self.sums[..rows.len()];
        let copy = |(rows, into): (&[u32], &mut [Sums])| {
            for (at, (&row, into)) in rows.iter().zip(into).enumerate() {
                if let Some(&coming) = rows.get(at + AHEAD) {
                    prefetch(sums, coming as usize);
                }
                *into = sums[row as usize];
            }
        };
        if rows.len() < FEW_ROWS {
            copy((rows, gathered));
        } else {
            rows.par_chunks(FEW_ROWS).zip(gathered.par_chunks_mut(FEW_ROWS)).for_each(copy);
        }
    }

    /// Fills a block with the rows whose sums were gathered.
    fn fill(&self, cells: &mut histogram::Block, block: usize, rows: Range<usize>) {
        let rows = &self.rows[rows];
        let bins = &self.binned.blocks[block];
        histogram::fill(cells, self.columns(block), bins, rows, &self.sums[..rows.len()]);
    }

    /// The best split of a node at the columns of a block.
    fn best_of(
        &self,
        cells: &histogram::Block,
        block: usize,
        node: &Node,
        scale: &GradientScale,
    ) -> Option<Candidate> {
        let finder = self.finder(node, scale);
        let mut best: Option<Candidate> = None;
        for (lane, column) in self.columns(block).iter().enumerate() {
            if self.allowed[block] >> lane & 1 == 0 {
                continue;
            }
            let number = block * WIDTH + lane;
            let least = best.map_or(0.0, |best| best.gain);
            let found = finder.best(&cells[lane], column, number, self.trend(number), least);
            best = better(best, found);
        }
        best
    }
}

/// The candidate with the larger gain; of equal ones the first.
fn better(a: Option<Candidate>, b: Option<Candidate>) -> Option<Candidate> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.gain > a.gain { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Does `work` on every item, in parallel if the amount is large.
fn for_each_block<T: Send, R: Send>(
    items: &mut [T],
    amount: usize,
    work: impl Fn(usize, &mut T) -> R + Sync,
) -> Vec<R> {
    if amount < LITTLE_WORK {
        return items.iter_mut().enumerate().map(|(at, item)| work(at, item)).collect();
    }
    items.par_iter_mut().enumerate().map(|(at, item)| work(at, item)).collect()
}

/// A stable partition that moves the rows that go left to the front; returns their number. `comes` is
/// called with a row some time before `goes_left` is.
fn partition(
    rows: &mut [u32],
    aside: &mut [u32],
    comes: impl Fn(u32) + Sync,
    goes_left: impl Fn(u32) -> bool + Sync,
) -> usize {
    let one = |rows: &mut [u32], aside: &mut [u32]| {
        let (mut n_left, mut n_right) = (0, 0);
        for at in 0..rows.len() {
            if let Some(&coming) = rows.get(at + AHEAD) {
                comes(coming);
            }
            let row = rows[at];
            let left = usize::from(goes_left(row));
            // Branchless: written to both sides, and the wrong one is overwritten.
            rows[n_left] = row;
            aside[n_right] = row;
            n_left += left;
            n_right += 1 - left;
        }
        n_left
    };
    if rows.len() < 4 * FEW_ROWS {
        let n_left = one(rows, aside);
        let n_right = rows.len() - n_left;
        rows[n_left..].copy_from_slice(&aside[..n_right]);
        return n_left;
    }
    let aside = &mut aside[..rows.len()];
    let chunks = rows.par_chunks_mut(FEW_ROWS).zip(aside.par_chunks_mut(FEW_ROWS));
    let lefts: Vec<usize> = chunks.map(|(rows, aside)| one(rows, aside)).collect();
    let (mut n_left, mut n_right) = (0, 0);
    for (chunk, &left) in lefts.iter().enumerate() {
        let start = chunk * FEW_ROWS;
        let len = FEW_ROWS.min(rows.len() - start);
        rows.copy_within(start..start + left, n_left);
        aside.copy_within(start..start + len - left, n_right);
        n_left += left;
        n_right += len - left;
    }
    rows[n_left..].copy_from_slice(&aside[..n_right]);
    n_left
}

#[cfg(test)]
mod tests;
