//! The training documents as one text: statistics that new documents are weighted by, however
//! often some come.

use crate::sparse::Csr;

/// The training documents as one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// Training documents with at least one word.
    pub n_docs: usize,
    /// The words in all of them together.
    pub length: f64,
    /// Occurrences of each term.
    pub occurrences: Vec<f64>,
}

impl Collection {
    /// Counts `docs`, documents × terms, but those `held_out`, which are sorted.
    pub(super) fn of(docs: &Csr, held_out: &[u32]) -> Self {
        let mut all = Collection { n_docs: 0, length: 0.0, occurrences: vec![0.0; docs.n_cols()] };
        for (j, row) in docs.rows().enumerate() {
            if row.is_empty() || held_out.binary_search(&(j as u32)).is_ok() {
                continue;
            }
            all.n_docs += 1;
            all.length += row.values.iter().map(|&f| f64::from(f)).sum::<f64>();
            row.iter().for_each(|(term, f)| all.occurrences[term as usize] += f64::from(f));
        }
        all
    }
}
