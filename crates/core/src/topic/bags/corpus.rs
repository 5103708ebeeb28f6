//! The training counts of PLSI and LDA, by document and by word.

use rayon::prelude::*;

use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Bags of words by document and by word.
pub struct BagCorpus<'a> {
    /// Documents × terms.
    pub docs: &'a Csr,
    /// Terms × documents.
    pub postings: Csr,
    /// Tokens in all documents.
    pub n_words: f64,
}

impl<'a> BagCorpus<'a> {
    /// `docs` with its transpose; an error if they and `more` bytes take more than `most` bytes.
    pub fn new(docs: &'a Csr, more: u64, most: u64) -> Result<Self> {
        check_counts(docs)?;
        // Transposing takes twelve bytes per entry, the result eight.
        let bytes = (12 + 8) * docs.nnz() as u64 + 8 * docs.n_cols() as u64;
        let all = bytes.saturating_add(more);
        if all > most {
            return Err(Error::Memory {
                what: format!(
                    "topics of {} documents and {} words take {} MiB, with the words themselves, but only {} MiB are free",
                    docs.n_rows(),
                    docs.n_cols(),
                    all >> 20,
                    most >> 20
                ),
                advice: "take fewer topics (`dim`), drop rare words (`min_df`), or allow more (`max_memory = SIZE`)".into(),
            });
        }
        let lengths: Vec<f64> =
            (0..docs.n_rows()).into_par_iter().map(|d| length(docs.row(d))).collect();
        Ok(BagCorpus { docs, postings: docs.transpose(), n_words: lengths.iter().sum() })
    }
}

/// The number of tokens.
pub fn length(row: Row<'_>) -> f64 {
    row.values.iter().map(|&n| f64::from(n)).sum()
}

/// Refuses negative counts and documents that are all empty.
fn check_counts(docs: &Csr) -> Result<()> {
    let below = docs
        .rows()
        .enumerate()
        .find_map(|(d, row)| row.iter().find(|&(_, n)| n < 0.0).map(|(term, n)| (d, term, n)));
    if let Some((d, term, n)) = below {
        return Err(Error::Structure {
            problem: format!(
                "document {d} has the count {n} for word {term}, expected a count ≥ 0"
            ),
        });
    }
    if docs.values().iter().all(|&n| n == 0.0) {
        return Err(Error::Empty {
            what: "no document has a word to learn topics from".into(),
            advice: "check the fields and the language".into(),
        });
    }
    Ok(())
}
