//! The objective of a ranker: a measure in one of its variants, over the rows of a table.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::FeatureTable;
use crate::eval::{Measure, Ties, Variant};
use crate::ranking::{Hit, unsigned_zero};
use crate::sparse::Row;

/// A measure and its variant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The measure that validation maximises.
    pub measure: Measure,
    /// Gains, discounts and what is relevant.
    pub variant: Variant,
}

impl Default for Goal {
    fn default() -> Self {
        Goal { measure: Measure::Ndcg { k: Some(10) }, variant: Variant::default() }
    }
}

impl Goal {
    /// The value for each query of `table` at `scores` of its rows; nothing for a query that the
    /// measure leaves out.
    ///
    /// # Panics
    /// If there is not one score per row.
    pub fn values(&self, table: &FeatureTable, scores: &[f64]) -> Vec<Option<f64>> {
        assert_eq!(scores.len(), table.n_rows(), "one score per row");
        let query = |query: usize| {
            let rows = table.rows_of(query);
            let order =
                order(&scores[rows.clone()], &table.docs()[rows.clone()], self.variant.ties);
            let hits: Vec<Hit> = order
                .iter()
                .map(|&doc| Hit { doc, score: scores[rows.start + doc as usize] as f32 })
                .collect();
            let numbers: Vec<u32> = (0..rows.len() as u32).collect();
            let judged = Row { indices: &numbers, values: &table.grades()[rows] };
            self.measure.of(&hits, judged, &self.variant)
        };
        (0..table.n_queries()).into_par_iter().map(query).collect()
    }

    /// The mean over the queries; nothing if none has a value.
    pub fn mean(&self, table: &FeatureTable, scores: &[f64]) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0usize);
        for value in self.values(table, scores).into_iter().flatten() {
            sum += value;
            n += 1;
        }
        (n > 0).then(|| sum / n as f64)
    }

    /// The value with the sign for which higher is better; also the inverse of that.
    pub fn oriented(&self, value: f64) -> f64 {
        if self.measure.higher_is_better() { value } else { -value }
    }
}

/// The places of `scores`, best first; equal scores are ordered by `ties`, NaN is last.
pub fn order(scores: &[f64], docs: &[String], ties: Ties) -> Vec<u32> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    let key = |doc: u32| match unsigned_zero(scores[doc as usize]) {
        score if score.is_nan() => f64::NEG_INFINITY,
        score => score,
    };
    order.sort_by(|&a, &b| {
        let by_score = key(b).total_cmp(&key(a));
        by_score.then_with(|| match ties {
            Ties::DocnoDesc => docs[b as usize].as_bytes().cmp(docs[a as usize].as_bytes()),
            Ties::Stable => std::cmp::Ordering::Equal,
        })
    });
    order
}

#[cfg(test)]
mod tests {
    use super::super::TableBuilder;
    use super::*;

    #[test]
    fn the_mean_is_over_queries_that_count() {
        let mut builder = TableBuilder::new(vec![]);
        for (query, doc, grade) in [("x", "1", 0.0), ("x", "2", 1.0), ("y", "3", 0.0)] {
            builder.push(query, doc, grade, &[]).unwrap();
        }
        let table = builder.finish();
        let mut goal = Goal { measure: "RR".parse().unwrap(), variant: Variant::default() };
        assert_eq!(goal.values(&table, &[2.0, 1.0, 0.0]), [Some(0.5), Some(0.0)]);
        goal.variant = Variant::preset("web").unwrap();
        assert_eq!(goal.mean(&table, &[2.0, 1.0, 0.0]), Some(0.5));
        // The larger id comes first where scores are equal, and what is no number comes last.
        assert_eq!(goal.mean(&table, &[1.0, 1.0, 0.0]), Some(1.0));
        assert_eq!(goal.mean(&table, &[1.0, f64::NAN, 0.0]), Some(0.5));
    }
}
