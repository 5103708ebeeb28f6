//! Sums over all pairs of rows of different grade, query by query, without listing the pairs.
//!
//! A pair of a better row i and a worse row j falls short of the margin by u = 1 − s_i + s_j, and
//! its loss is a function of u that is 0 up to 0, then a parabola, then from a width on a line.
//! With the rows in the order of their scores, the worse rows near enough to i are those above a
//! point that moves down with i: one pass adds up the sums that i needs, by level of the grades.
//! O(n log n) per query whatever the number of grades (Joachims 2006; Lee and Lin 2014).

mod level_sums;

#[cfg(test)]
mod tests;

use std::ops::Range;

use rayon::prelude::*;

use crate::rank::FeatureTable;
use level_sums::LevelSums;

/// The loss of a pair as a function of how far it falls short of the margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HingeShape {
    /// The second derivative between 0 and `width`.
    curvature: f64,
    /// Where the line begins.
    width: f64,
    /// The slope of the line.
    slope: f64,
}

impl HingeShape {
    /// max(0, u).
    pub const HINGE: HingeShape = HingeShape { curvature: 0.0, width: 0.0, slope: 1.0 };
    /// max(0, u)².
    pub const SQUARED: HingeShape = HingeShape { curvature: 2.0, width: f64::INFINITY, slope: 0.0 };

    /// max(0, u) with the corner rounded off by u²/(2·width); below it by width/2 at most.
    pub fn rounded(width: f64) -> HingeShape {
        HingeShape { curvature: width.recip(), width, slope: 1.0 }
    }
}

/// Costs of pairs, which multiply the weight of the better row.
pub(super) struct Costs {
    /// The different grades, rising.
    pub grades: Vec<f32>,
    /// By the better grade and the worse one.
    pub by_grades: Vec<f64>,
    /// By query.
    pub by_query: Vec<f64>,
}

impl Costs {
    /// The cost of a pair of these grades.
    pub fn of(&self, better: f32, worse: f32) -> f64 {
        let at = |grade: f32| self.grades.partition_point(|&other| other < grade);
        self.by_grades[at(better) * self.grades.len() + at(worse)]
    }
}

/// All pairs of a table.
pub(super) struct Pairs {
    queries: Vec<Query>,
    n_rows: usize,
}

/// The rows of a query by level.
pub(super) struct Query {
    pub rows: Range<usize>,
    pub n_levels: usize,
    /// The place of each row's grade among those of the query.
    pub levels: Vec<u32>,
    /// The weight of each row, that of the pairs of which it is the better one.
    pub weights: Vec<f64>,
    /// The cost of a pair of two levels, if it depends on them.
    costs: Option<Vec<f64>>,
}

/// Sums over pairs at some scores.
pub(super) struct Sums {
    /// Of the losses.
    pub value: f64,
    /// Of the derivatives by u.
    pub slope: f64,
    /// The derivative of the losses by each row's score.
    pub by_row: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Better,
    Worse,
}

impl Pairs {
    /// The pairs of `table`; the cost of a pair is the weight of its better row, times its `costs`.
    pub fn of(table: &FeatureTable, costs: Option<&Costs>) -> Self {
        let query = |(number, rows): (usize, Range<usize>)| {
            let (mut query, known) = Query::of(table, rows);
            if let Some(costs) = costs {
                let pairs = known.iter().flat_map(|&a| known.iter().map(move |&b| (a, b)));
                let cost = |(a, b)| if a > b { costs.of(a, b) } else { 0.0 };
                query.costs = Some(pairs.map(cost).collect());
                query.weights.iter_mut().for_each(|weight| *weight *= costs.by_query[number]);
            }
            query
        };
        let queries = table.by_query().enumerate().map(query);
        let queries = queries.filter(|query| query.n_levels > 1).collect();
        Pairs { queries, n_rows: table.n_rows() }
    }

    /// The rows of every query in the order of their numbers, the initial order to sort.
    pub fn first_order(&self) -> Vec<Vec<u32>> {
        self.queries.iter().map(|query| (0..query.rows.len() as u32).collect()).collect()
    }

    /// Sums of losses and slopes at `scores`. Sorts `order`, the rows of each query, by score.
    pub fn sums(&self, scores: &[f64], order: &mut [Vec<u32>], shape: HingeShape) -> Sums {
        let work = self.queries.par_iter().zip(order.par_iter_mut()).map(|(query, order)| {
            let scores = &scores[query.rows.clone()];
            sort(order, scores);
            query.sums(scores, order, shape)
        });
        let parts: Vec<(f64, f64, Vec<f64>)> = work.collect();
        let mut sums = Sums { value: 0.0, slope: 0.0, by_row: vec![0.0; self.n_rows] };
        for (query, (value, slope, by_row)) in self.queries.iter().zip(parts) {
            sums.value += value;
            sums.slope += slope;
            sums.by_row[query.rows.clone()].copy_from_slice(&by_row);
        }
        sums
    }

    /// The sum of losses, with the rows already in the order of the scores.
    pub fn value(&self, scores: &[f64], order: &[Vec<u32>], shape: HingeShape) -> f64 {
        let work = self.queries.par_iter().zip(order).map(|(query, order)| {
            query.value(&scores[query.rows.clone()], order, shape, &mut |_, _| {})
        });
        work.collect::<Vec<f64>>().iter().sum()
    }

    /// Adjacent queries in groups of about `n` rows.
    pub fn groups(&self, n: usize) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let (mut from, mut rows) = (0, 0);
        for (at, query) in self.queries.iter().enumerate() {
            rows += query.rows.len();
            if rows >= n || at + 1 == self.queries.len() {
                groups.push(from..at + 1);
                (from, rows) = (at + 1, 0);
            }
        }
        groups
    }

    /// The rows of a query.
    pub fn rows_of(&self, query: usize) -> Range<usize> {
        self.queries[query].rows.clone()
    }

    /// The second derivative of a query's losses by the scores of its rows, times `columns`, `K` − 1
    /// of them at a time. Columns and product are row-major with `width` columns.
    pub fn curvature_times<const K: usize>(
        &self,
        query: usize,
        (scores, order): (&[f64], &[u32]),
        shape: HingeShape,
        (columns, width): (&[f64], usize),
        product: &mut [f64],
    ) {
        let query = &self.queries[query];
        product.fill(0.0);
        for from in (0..width).step_by(K - 1) {
            let n = (K - 1).min(width - from);
            let take = |row: usize, count: f64| {
                let mut taken = [0.0; K];
                taken[0] = count;
                for k in 0..n {
                    taken[1 + k] = count * columns[row * width + from + k];
                }
                taken
            };
            for side in [Side::Better, Side::Worse] {
                let other_counts = |row: usize| match side {
                    Side::Better => 1.0,
                    Side::Worse => query.weights[row],
                };
                let channels = |row: usize| take(row, other_counts(row));
                query.walk(scores, order, shape.width, side, channels, &mut |row, near, far| {
                    let count = match side {
                        Side::Better => query.weights[row],
                        Side::Worse => 1.0,
                    } * shape.curvature;
                    let others = near[0] - far[0];
                    for k in 0..n {
                        let own = columns[row * width + from + k];
                        product[row * width + from + k] +=
                            count * (others * own - (near[1 + k] - far[1 + k]));
                    }
                });
            }
        }
    }
}

impl Query {
    /// The query with these rows, and its different grades, rising.
    pub fn of(table: &FeatureTable, rows: Range<usize>) -> (Self, Vec<f32>) {
        let grades = &table.grades()[rows.clone()];
        let known = distinct(grades);
        let level = |&grade: &f32| known.partition_point(|&other| other < grade) as u32;
        let query = Query {
            n_levels: known.len(),
            levels: grades.iter().map(level).collect(),
            weights: rows.clone().map(|row| table.weight(row)).collect(),
            costs: None,
            rows,
        };
        (query, known)
    }

    fn sums(&self, scores: &[f64], order: &[u32], shape: HingeShape) -> (f64, f64, Vec<f64>) {
        let mut by_row = vec![0.0; scores.len()];
        let mut total = 0.0;
        let value = self.value(scores, order, shape, &mut |row, slope| {
            by_row[row] -= slope;
            total += slope;
        });
        let channels = |row: usize| [self.weights[row], self.weights[row] * scores[row]];
        self.walk(scores, order, shape.width, Side::Worse, channels, &mut |row, near, far| {
            let (n, sum) = (near[0] - far[0], near[1] - far[1]);
            let short = (1.0 + scores[row]) * n - sum;
            by_row[row] += shape.curvature * short + shape.slope * far[0];
        });
        (value, total, by_row)
    }

    /// The sum of losses; `tell` gets each better row and the sum of its slopes.
    fn value(
        &self,
        scores: &[f64],
        order: &[u32],
        shape: HingeShape,
        tell: &mut impl FnMut(usize, f64),
    ) -> f64 {
        let channels = |row: usize| [1.0, scores[row], scores[row] * scores[row]];
        let mut value = 0.0;
        self.walk(scores, order, shape.width, Side::Better, channels, &mut |row, near, far| {
            let short = 1.0 - scores[row];
            let [n, sum, squares] = [near[0] - far[0], near[1] - far[1], near[2] - far[2]];
            let parabola = (n * short + 2.0 * sum) * short + squares;
            let beyond = far[0] * short + far[1];
            // With no pair beyond it, the width may be infinite.
            let corner = if far[0] == 0.0 { 0.0 } else { far[0] * shape.width / 2.0 };
            let count = self.weights[row];
            value += count * (shape.curvature / 2.0 * parabola + shape.slope * (beyond - corner));
            tell(row, count * (shape.curvature * (n * short + sum) + shape.slope * far[0]));
        });
        value
    }

    /// Visits the rows that can be on `side` of a pair and gives to `tell`, for each, the sums of
    /// `channels` over the other rows of its pairs that fall short of the margin, and over those
    /// that fall short by `width` or more.
    fn walk<const K: usize>(
        &self,
        scores: &[f64],
        order: &[u32],
        width: f64,
        side: Side,
        channels: impl Fn(usize) -> [f64; K],
        tell: &mut impl FnMut(usize, &[f64; K], &[f64; K]),
    ) {
        let n = order.len();
        let top = self.n_levels - 1;
        // The better side is visited from the highest score down, the worse side from the lowest
        // up with the levels reversed: so the other rows are always at lower levels.
        let at = |place: usize| match side {
            Side::Better => order[n - 1 - place] as usize,
            Side::Worse => order[place] as usize,
        };
        let level = |row: usize| match side {
            Side::Better => self.levels[row] as usize,
            Side::Worse => top - self.levels[row] as usize,
        };
        let short = |row: usize, other: usize| match side {
            Side::Better => (1.0 - scores[row]) + scores[other],
            Side::Worse => (1.0 - scores[other]) + scores[row],
        };
        let cost = |row: usize, other: usize| match (&self.costs, side) {
            (None, _) => 1.0,
            (Some(costs), Side::Better) => costs[row * self.n_levels + other],
            (Some(costs), Side::Worse) => costs[(top - other) * self.n_levels + top - row],
        };
        let many = self.costs.is_none();
        let (mut near, mut far) = (LevelSums::new(top, many), LevelSums::new(top, many));
        let (mut next_near, mut next_far) = (0, 0);
        for place in 0..n {
            let row = at(place);
            let own = level(row);
            if own == 0 {
                continue;
            }
            while next_near < n && short(row, at(next_near)) > 0.0 {
                let other = at(next_near);
                near.add(level(other), channels(other));
                next_near += 1;
            }
            while next_far < next_near && short(row, at(next_far)) >= width {
                let other = at(next_far);
                far.add(level(other), channels(other));
                next_far += 1;
            }
            let sums = |tally: &LevelSums<K>| match many {
                true => tally.below(own),
                false => tally.below_by(own, |other| cost(own, other)),
            };
            tell(row, &sums(&near), &sums(&far));
        }
    }
}

/// The different grades, rising; −0 is 0.
pub(super) fn distinct(grades: &[f32]) -> Vec<f32> {
    let mut known: Vec<f32> = grades.iter().map(|grade| grade + 0.0).collect();
    known.sort_unstable_by(f32::total_cmp);
    known.dedup();
    known
}

/// The number of pairs of different grade.
pub(super) fn n_pairs(grades: &[f32]) -> f64 {
    let mut sorted: Vec<f32> = grades.iter().map(|grade| grade + 0.0).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let (mut below, mut pairs) = (0.0, 0.0);
    for alike in sorted.chunk_by(|a, b| a == b) {
        pairs += below * alike.len() as f64;
        below += alike.len() as f64;
    }
    pairs
}

fn sort(order: &mut [u32], scores: &[f64]) {
    let key = |row: u32| scores[row as usize];
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
}
