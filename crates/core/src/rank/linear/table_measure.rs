//! A measure of a table for many orders of its rows: what does not depend on the order is computed
//! once. Its direction is such that 1 is best.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use super::checks::all_equal;
use crate::eval::{Measure, Ties};
use crate::rank::{FeatureTable, Goal};
use crate::ranking::Hit;
use crate::sparse::Row;

/// A measure of a table.
pub(super) struct TableMeasure<'a> {
    table: &'a FeatureTable,
    goal: Goal,
    queries: Vec<QueryMeasure>,
    /// The discount of each rank, 1 for the first.
    discounts: Vec<f64>,
}

struct QueryMeasure {
    rows: Range<usize>,
    /// Of two rows with equal scores, the one with the smaller number comes first.
    ties: Vec<u32>,
    kind: Kind,
}

enum Kind {
    /// The value, or none, for any order.
    Fixed(Option<f64>),
    /// The gain of each row over the ideal DCG.
    Ndcg(Vec<f64>),
    /// Relevant rows, and their number.
    Ap(Vec<bool>, f64),
    Other,
}

impl<'a> TableMeasure<'a> {
    /// The measure of `goal` on `table`.
    pub fn new(table: &'a FeatureTable, goal: Goal) -> Self {
        let longest = table.by_query().map(|rows| rows.len()).max().unwrap_or(0);
        let mut measure = TableMeasure {
            table,
            goal,
            queries: Vec::new(),
            discounts: (1..=longest).map(|rank| goal.variant.discount.factor(rank)).collect(),
        };
        measure.queries = table.by_query().map(|rows| measure.of_query(rows)).collect();
        measure
    }

    fn of_query(&self, rows: Range<usize>) -> QueryMeasure {
        let grades = &self.table.grades()[rows.clone()];
        let n = grades.len() as u32;
        let mut first: Vec<u32> = (0..n).collect();
        if self.goal.variant.ties == Ties::DocnoDesc {
            let docs = &self.table.docs()[rows.clone()];
            first.sort_by(|&a, &b| docs[b as usize].as_bytes().cmp(docs[a as usize].as_bytes()));
        }
        let mut ties = vec![0; n as usize];
        for (place, &row) in (0..).zip(&first) {
            ties[row as usize] = place;
        }
        let fixed = || Kind::Fixed(self.plain(&rows, &first));
        let kind = match self.goal.measure {
            Measure::Ndcg { k } => match self.gains(grades, k) {
                Some(gains) if !all_equal(&gains) => Kind::Ndcg(gains),
                _ => fixed(),
            },
            Measure::Ap { .. } => {
                let from = self.goal.variant.relevant_from;
                let relevant: Vec<bool> = grades.iter().map(|&grade| grade >= from).collect();
                match relevant.iter().filter(|&&relevant| relevant).count() {
                    n_relevant if n_relevant == 0 || n_relevant == grades.len() => fixed(),
                    n_relevant => Kind::Ap(relevant, n_relevant as f64),
                }
            }
            _ if all_equal(grades) => fixed(),
            _ => Kind::Other,
        };
        QueryMeasure { rows, ties, kind }
    }

    /// Gains over the ideal DCG; nothing if that is 0.
    fn gains(&self, grades: &[f32], k: Option<usize>) -> Option<Vec<f64>> {
        let highest = grades.iter().copied().fold(0.0, f32::max);
        let gain = self.goal.variant.gain;
        let gains: Vec<f64> = grades.iter().map(|&grade| gain.scaled(grade, highest)).collect();
        let mut ideal = gains.clone();
        ideal.sort_unstable_by(|a, b| b.total_cmp(a));
        let ideal = ideal.iter().zip(&self.discounts).take(k.unwrap_or(usize::MAX));
        let best: f64 = ideal.map(|(gain, discount)| gain * discount).sum();
        (best > 0.0).then(|| gains.iter().map(|gain| gain / best).collect())
    }

    pub fn n_queries(&self) -> usize {
        self.queries.len()
    }

    /// The rows of a query.
    pub fn rows_of(&self, query: usize) -> Range<usize> {
        self.queries[query].rows.clone()
    }

    /// Whether the value of the query depends on the order of its rows.
    pub fn counts(&self, query: usize) -> bool {
        !matches!(self.queries[query].kind, Kind::Fixed(_))
    }

    /// Sorts `order`, the rows of a query counted from its first, by `scores`: all of it, or only
    /// its top if the measure has a cut-off far above the end.
    pub fn sort(&self, query: usize, scores: &[f64], order: &mut [u32]) {
        let ties = &self.queries[query].ties;
        let by_score = |&a: &u32, &b: &u32| {
            let (first, second) = (scores[a as usize], scores[b as usize]);
            match second.partial_cmp(&first) {
                Some(Ordering::Equal) | None => ties[a as usize].cmp(&ties[b as usize]),
                Some(order) => order,
            }
        };
        match self.goal.measure.depth() {
            Some(depth) if depth < order.len() / 4 => {
                let (top, _, _) = order.select_nth_unstable_by(depth, by_score);
                top.sort_by(by_score);
            }
            _ => order.sort_by(by_score),
        }
    }

    /// The value of a query whose rows, counted from its first, are in `order`, sorted by `scores`;
    /// nothing if the measure leaves the query out.
    pub fn value(&self, query: usize, scores: &[f64], order: &[u32]) -> Option<f64> {
        let measured = &self.queries[query];
        let cut = &order[..self.goal.measure.depth().unwrap_or(usize::MAX).min(order.len())];
        match &measured.kind {
            Kind::Fixed(value) => *value,
            Kind::Ndcg(gains) => {
                let found = cut.iter().zip(&self.discounts);
                let found = found.map(|(&row, discount)| gains[row as usize] * discount);
                Some(found.fold(0.0, |sum, gain| sum + gain).min(1.0))
            }
            Kind::Ap(relevant, n_relevant) => {
                let (mut found, mut sum) = (0.0, 0.0);
                for (rank, &row) in (1..).zip(cut) {
                    if relevant[row as usize] {
                        found += 1.0;
                        sum += found / f64::from(rank);
                        if found == *n_relevant {
                            break;
                        }
                    }
                }
                Some(sum / n_relevant)
            }
            Kind::Other => {
                let hit = |&doc: &u32| Hit { doc, score: scores[doc as usize] as f32 };
                let hits: Vec<Hit> = order.iter().map(hit).collect();
                self.measured(&measured.rows, &hits)
            }
        }
    }

    /// The values of all queries at `scores` of the rows.
    pub fn values(&self, scores: &[f64]) -> Vec<Option<f64>> {
        let value = |order: &mut Vec<u32>, query: usize| {
            let scores = &scores[self.rows_of(query)];
            if self.counts(query) {
                order.clear();
                order.extend(0..scores.len() as u32);
                self.sort(query, scores, order);
            }
            self.value(query, scores, order)
        };
        (0..self.queries.len()).into_par_iter().map_init(Vec::new, value).collect()
    }

    fn plain(&self, rows: &Range<usize>, order: &[u32]) -> Option<f64> {
        let hits: Vec<Hit> = order.iter().map(|&doc| Hit { doc, score: 0.0 }).collect();
        self.measured(rows, &hits)
    }

    fn measured(&self, rows: &Range<usize>, hits: &[Hit]) -> Option<f64> {
        let numbers: Vec<u32> = (0..hits.len() as u32).collect();
        let judged = Row { indices: &numbers, values: &self.table.grades()[rows.clone()] };
        let value = self.goal.measure.of(hits, judged, &self.goal.variant)?;
        Some(if self.goal.measure.higher_is_better() { value } else { 1.0 - value })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::eval::Variant;
    use crate::random::Random;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_plain_measure(
            grades in proptest::collection::vec((0u8..3, -1i8..5), 1..80),
            seed in 0u64..1000,
        ) {
            let names = ["a", "b", "c"];
            let rows: Vec<(&str, f32)> = grades
                .iter()
                .map(|&(query, grade)| (names[query as usize], f32::from(grade)))
                .collect();
            let table = fixture::graded(&rows);
            let mut random = Random::new(seed, 0);
            let scores: Vec<f64> = rows.iter().map(|_| random.below(6) as f64).collect();
            for measure in ["nDCG@3", "nDCG", "AP", "AP@4", "RR", "P@2", "ERR", "RankLoss", "Rprec"] {
                for preset in Variant::PRESET_NAMES {
                    let goal = Goal {
                        measure: measure.parse().unwrap(),
                        variant: Variant::preset(preset).unwrap(),
                    };
                    let found = TableMeasure::new(&table, goal).values(&scores);
                    for (found, plain) in found.into_iter().zip(goal.values(&table, &scores)) {
                        prop_assert_eq!(found.is_some(), plain.is_some());
                        let plain = plain.unwrap_or(0.0);
                        let turned =
                            if goal.measure.higher_is_better() { plain } else { 1.0 - plain };
                        let near = (found.unwrap_or(turned) - turned).abs() < 1e-12;
                        let none = found.is_none();
                        prop_assert!(near || none, "{} {} {:?} {}", measure, preset, found, plain);
                    }
                }
            }
        }
    }
}
