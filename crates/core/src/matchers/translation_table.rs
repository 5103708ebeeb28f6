//! The probabilities t(q|w) that word translation learns, looked up from either side.

use super::sparse_vector::keep_largest;
use crate::sparse::Csr;

/// A learnt translation table.
pub struct TranslationTable {
    /// Query words × document words: t(q|w).
    pub(super) t: Csr,
    /// t(q|null) of every term.
    pub(super) null: Vec<f64>,
    /// P(w|C): the share of every word in all text of training.
    pub(super) collection: Vec<f64>,
}

impl TranslationTable {
    /// The table t(q|w): query words × document words.
    pub fn table(&self) -> &Csr {
        &self.t
    }

    /// The `k` most probable query words of the document word `word`, with t(q|w).
    pub fn of_document_word(&self, word: u32, k: usize) -> Vec<(u32, f64)> {
        let found = (0u32..).zip(self.t.rows()).filter_map(|(query_word, row)| {
            let at = row.indices.binary_search(&word).ok()?;
            Some((query_word, f64::from(row.values[at])))
        });
        most_probable(found, k)
    }

    /// The `k` document words that the query word `word` most probably comes from, with
    /// P(w|q) ∝ t(q|w)·P(w|C).
    pub fn of_query_word(&self, word: u32, k: usize) -> Vec<(u32, f64)> {
        let joint = |(from, t): (u32, f32)| (from, f64::from(t) * self.collection[from as usize]);
        let joint: Vec<(u32, f64)> = self.t.row(word as usize).iter().map(joint).collect();
        let total: f64 = joint.iter().map(|&(_, p)| p).sum();
        most_probable(joint.into_iter().map(|(from, p)| (from, p / total)), k)
    }
}

/// The `k` most probable words, the most probable first.
fn most_probable(found: impl Iterator<Item = (u32, f64)>, k: usize) -> Vec<(u32, f64)> {
    let mut found = found.collect();
    keep_largest(&mut found, k);
    found
}
