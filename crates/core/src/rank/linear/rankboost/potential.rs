//! What each row weighs in the pairs of its query.

use std::ops::Range;

use rayon::prelude::*;

use crate::Result;
use crate::rank::FeatureTable;
use crate::rank::linear::learnable::nothing;
use crate::rank::linear::pairs::distinct;

/// π(x) = Σ_j D(x, j) over worse rows − Σ_i D(i, x) over better ones.
pub struct Potentials {
    queries: Vec<Query>,
    /// π of every row; in all the pairs weigh 1.
    pub of_rows: Vec<f64>,
    /// What the pairs weigh to begin with.
    total: f64,
}

struct Query {
    rows: Range<usize>,
    n_levels: usize,
    levels: Vec<u32>,
    /// What a pair counts of which the row is the better one.
    counts: Vec<f64>,
}

impl Potentials {
    /// Of a table; `balanced` makes the pairs of each query weigh the same in all.
    pub fn new(table: &FeatureTable, balanced: bool) -> Result<Self> {
        let query = |rows: Range<usize>| {
            let grades = &table.grades()[rows.clone()];
            let known = distinct(grades);
            let level = |&grade: &f32| known.partition_point(|&other| other < grade) as u32;
            Query {
                n_levels: known.len(),
                levels: grades.iter().map(level).collect(),
                counts: rows.clone().map(|row| table.weight(row)).collect(),
                rows,
            }
        };
        let mut queries: Vec<Query> =
            table.by_query().map(query).filter(|query| query.n_levels > 1).collect();
        if balanced {
            for query in &mut queries {
                let (total, _) = query.potentials(&vec![0.0; query.rows.len()]);
                if total > 0.0 {
                    query.counts.iter_mut().for_each(|count| *count /= total);
                }
            }
        }
        let mut potentials = Potentials { queries, of_rows: vec![0.0; table.n_rows()], total: 1.0 };
        potentials.total = potentials.sum(&vec![0.0; table.n_rows()]);
        if potentials.total <= 0.0 {
            return Err(nothing("every pair counts 0"));
        }
        Ok(potentials)
    }

    /// Sets the potentials to those at `scores`.
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
    /// What the pairs weigh in all, and what each row does.
    fn potentials(&self, scores: &[f64]) -> (f64, Vec<f64>) {
        // A pair looks at a difference: taking the middle off keeps exponentials in range.
        let (low, high) = scores
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &s| (low.min(s), high.max(s)));
        let middle = (low + high) / 2.0;
        // By level: Σ exp s of the worse, Σ c·exp(−s) of the better.
        let (mut worse, mut better) = (vec![0.0; self.n_levels], vec![0.0; self.n_levels]);
        for (row, score) in scores.iter().enumerate() {
            let level = self.levels[row] as usize;
            worse[level] += (score - middle).exp();
            better[level] += self.counts[row] * (middle - score).exp();
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
            let as_better = self.counts[row] * (middle - score).exp() * worse[level];
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
