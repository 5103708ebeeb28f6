//! The weight of each row in the pairs of its query.

use rayon::prelude::*;

use crate::Result;
use crate::rank::FeatureTable;
use crate::rank::linear::checks::nothing;
use crate::rank::linear::pairs::Query;

/// π(x) = Σ_j D(x, j) over worse rows − Σ_i D(i, x) over better ones.
pub struct Potentials {
    queries: Vec<Query>,
    /// π of every row, for weights of pairs that sum to 1.
    pub of_rows: Vec<f64>,
    /// The initial sum of the weights of pairs.
    total: f64,
}

impl Potentials {
    /// The potentials of a table; with `balanced`, the pairs of each query have the same total weight.
    pub fn new(table: &FeatureTable, balanced: bool) -> Result<Self> {
        let queries = table.by_query().map(|rows| Query::of(table, rows).0);
        let mut queries: Vec<Query> = queries.filter(|query| query.n_levels > 1).collect();
        if balanced {
            for query in &mut queries {
                let (total, _) = query.potentials(&vec![0.0; query.rows.len()]);
                if total > 0.0 {
                    query.weights.iter_mut().for_each(|weight| *weight /= total);
                }
            }
        }
        let mut potentials = Potentials { queries, of_rows: vec![0.0; table.n_rows()], total: 1.0 };
        potentials.total = potentials.sum(&vec![0.0; table.n_rows()]);
        if potentials.total <= 0.0 {
            return Err(nothing("every pair has weight 0"));
        }
        Ok(potentials)
    }

    /// Computes the potentials at `scores`.
    pub fn update(&mut self, scores: &[f64]) {
        let parts: Vec<(f64, Vec<f64>)> = self
            .queries
            .par_iter()
            .map(|query| query.potentials(&scores[query.rows.clone()]))
            .collect();
        let total: f64 = parts.iter().map(|(total, _)| total).sum();
        for (query, (_, part)) in self.queries.iter().zip(parts) {
            for (row, potential) in query.rows.clone().zip(part) {
                self.of_rows[row] = potential / total;
            }
        }
    }

    /// The exponential loss at `scores`, as a share of that at 0.
    pub fn loss(&self, scores: &[f64]) -> f64 {
        self.sum(scores) / self.total
    }

    fn sum(&self, scores: &[f64]) -> f64 {
        let query = |query: &Query| query.potentials(&scores[query.rows.clone()]).0;
        self.queries.par_iter().map(query).collect::<Vec<f64>>().iter().sum()
    }
}

impl Query {
    /// The sum of the weights of pairs, and the potential of each row.
    fn potentials(&self, scores: &[f64]) -> (f64, Vec<f64>) {
        // Pairs depend on differences only: subtracting the middle keeps exponentials in range.
        let (low, high) = scores
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &s| (low.min(s), high.max(s)));
        let middle = (low + high) / 2.0;
        // By level: Σ exp s of the worse, Σ c·exp(−s) of the better.
        let (mut worse, mut better) = (vec![0.0; self.n_levels], vec![0.0; self.n_levels]);
        for (row, score) in scores.iter().enumerate() {
            let level = self.levels[row] as usize;
            worse[level] += (score - middle).exp();
            better[level] += self.weights[row] * (middle - score).exp();
        }
        // Then over all levels below, and above.
        let (mut below, mut above) = (0.0, 0.0);
        for worse in &mut worse {
            (*worse, below) = (below, below + *worse);
        }
        for better in better.iter_mut().rev() {
            (*better, above) = (above, above + *better);
        }
        let mut total = 0.0;
        let potential = |(row, score): (usize, &f64)| {
            let level = self.levels[row] as usize;
            let as_better = self.weights[row] * (middle - score).exp() * worse[level];
            total += as_better;
            as_better - (score - middle).exp() * better[level]
        };
        let potentials = scores.iter().enumerate().map(potential).collect();
        (total, potentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::rank::linear::fixture::{self, close};

    #[test]
    fn potentials_are_sums_over_pairs() {
        let table = fixture::weighted(fixture::random(4, 15, 2, 4));
        let mut random = Random::new(1, 0);
        let scores: Vec<f64> = (0..table.n_rows()).map(|_| 2.0 * random.normal()).collect();
        let mut potentials = Potentials::new(&table, false).unwrap();
        let (mut total, mut first) = (0.0, 0.0);
        let mut expected = vec![0.0; table.n_rows()];
        for rows in table.by_query() {
            for i in rows.clone() {
                for j in rows.clone() {
                    if table.grades()[i] > table.grades()[j] {
                        let weight = table.weight(i) * (scores[j] - scores[i]).exp();
                        expected[i] += weight;
                        expected[j] -= weight;
                        total += weight;
                        first += table.weight(i);
                    }
                }
            }
        }
        expected.iter_mut().for_each(|potential| *potential /= total);
        potentials.update(&scores);
        close(&potentials.of_rows, &expected, 1e-12);
        close(&[potentials.loss(&scores)], &[total / first], 1e-12);
    }
}
