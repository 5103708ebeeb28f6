//! The candidates of one query: their relevance scores and their similarities.

use crate::linalg::dot_f64;
use crate::sparse::Row;

/// The candidates of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    n: usize,
    /// Candidate by candidate, the same number of scores for each.
    relevance: Vec<f64>,
    similarities: Similarities,
}

impl Candidates {
    /// Candidates with these relevance scores, candidate by candidate, and similarities.
    ///
    /// # Panics
    /// If there is not the same number of relevance scores for each candidate.
    pub fn new(relevance: Vec<f64>, similarities: Similarities) -> Self {
        let n = similarities.n;
        assert!(
            relevance.len().is_multiple_of(n.max(1)),
            "the same number of scores for each candidate"
        );
        Candidates { n, relevance, similarities }
    }

    /// The number of candidates.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are no candidates.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The number of relevance scores of a candidate.
    pub fn n_relevance(&self) -> usize {
        self.relevance.len() / self.n.max(1)
    }

    /// The relevance scores of a candidate.
    pub fn relevance(&self, candidate: usize) -> &[f64] {
        let width = self.n_relevance();
        &self.relevance[candidate * width..(candidate + 1) * width]
    }

    /// The similarities of the candidates.
    pub fn similarities(&self) -> &Similarities {
        &self.similarities
    }
}

/// One or more similarities between the candidates of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Similarities {
    n: usize,
    kinds: Vec<Kind>,
}

/// A similarity between candidates.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// A matrix, row by row.
    Given(Vec<f64>),
    /// The cosine of sparse vectors of norm 1, or 0.
    Sparse(Vec<(Vec<u32>, Vec<f32>)>),
    /// The cosine of dense vectors of norm 1, or 0.
    Dense(Vec<Vec<f32>>),
    /// 1 if the numbers are equal.
    Same(Vec<Option<u32>>),
}

impl Similarities {
    /// No similarities yet between `n` candidates.
    pub fn new(n: usize) -> Self {
        Similarities { n, kinds: Vec::new() }
    }

    /// Adds a matrix of similarities, row by row.
    ///
    /// # Panics
    /// If there is not one for each pair.
    pub fn with_given(mut self, similarities: Vec<f64>) -> Self {
        assert_eq!(similarities.len(), self.n * self.n, "one similarity for each pair");
        self.kinds.push(Kind::Given(similarities));
        self
    }

    /// Adds the cosine of sparse vectors, which are normalised here. Indices are sorted.
    pub(super) fn with_sparse(mut self, mut rows: Vec<(Vec<u32>, Vec<f32>)>) -> Self {
        assert_eq!(rows.len(), self.n, "one vector for each candidate");
        for (indices, values) in &mut rows {
            let norm = Row { indices, values }.norm();
            scale(values, norm);
        }
        self.kinds.push(Kind::Sparse(rows));
        self
    }

    /// Adds the cosine of dense vectors, which are normalised here. A vector may be empty.
    pub(super) fn with_dense(mut self, mut rows: Vec<Vec<f32>>) -> Self {
        assert_eq!(rows.len(), self.n, "one vector for each candidate");
        for row in &mut rows {
            let norm = dot_f64(row, row).sqrt();
            scale(row, norm);
        }
        self.kinds.push(Kind::Dense(rows));
        self
    }

    /// Adds a similarity that is 1 if both candidates have the same number, else 0.
    pub(super) fn with_same(mut self, of: Vec<Option<u32>>) -> Self {
        assert_eq!(of.len(), self.n, "one class for each candidate");
        self.kinds.push(Kind::Same(of));
        self
    }

    /// The number of similarities.
    pub fn n_kinds(&self) -> usize {
        self.kinds.len()
    }

    /// The similarity `kind` between the candidates `a` and `b`; 0 if one of them has no vector or
    /// number.
    pub fn of(&self, kind: usize, a: usize, b: usize) -> f64 {
        match &self.kinds[kind] {
            Kind::Given(values) => values[a * self.n + b],
            Kind::Sparse(rows) => sparse_dot(&rows[a], &rows[b]),
            Kind::Dense(rows) if rows[a].len() == rows[b].len() => dot_f64(&rows[a], &rows[b]),
            Kind::Dense(_) => 0.0,
            Kind::Same(of) => f64::from(u8::from(of[a].is_some() && of[a] == of[b])),
        }
    }
}

fn scale(values: &mut [f32], norm: f64) {
    if norm > 0.0 {
        values.iter_mut().for_each(|value| *value = (f64::from(*value) / norm) as f32);
    }
}

fn sparse_dot((a, x): &(Vec<u32>, Vec<f32>), (b, y): &(Vec<u32>, Vec<f32>)) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += f64::from(x[i]) * f64::from(y[j]);
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_and_classes_by_hand() {
        let sparse = vec![
            (vec![0, 2, 5], vec![3.0, 1.0, 4.0]),
            (vec![1, 2, 5], vec![7.0, 1.0, 2.0]),
            (vec![], vec![]),
        ];
        let dense = vec![vec![3.0, 4.0], vec![4.0, -3.0], vec![]];
        let given = (0..9).map(f64::from).collect();
        let all = Similarities::new(3)
            .with_sparse(sparse)
            .with_dense(dense)
            .with_same(vec![Some(1), None, Some(1)])
            .with_given(given);
        assert_eq!(all.n_kinds(), 4);
        let cosine = 9.0 / (26f64 * 54.0).sqrt();
        assert!((all.of(0, 0, 1) - cosine).abs() < 1e-6 && (all.of(0, 0, 0) - 1.0).abs() < 1e-6);
        assert_eq!((all.of(0, 0, 2), all.of(0, 2, 2)), (0.0, 0.0));
        assert!(all.of(1, 0, 1).abs() < 1e-6 && (all.of(1, 1, 1) - 1.0).abs() < 1e-6);
        assert_eq!((all.of(1, 0, 2), all.of(2, 0, 2), all.of(2, 0, 1)), (0.0, 1.0, 0.0));
        assert_eq!((all.of(2, 1, 1), all.of(3, 1, 2)), (0.0, 5.0));
    }
}
