//! The counts that topics are learnt from, by document and by word.

use rayon::prelude::*;

use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// Bags of words by document and by word.
pub struct Corpus<'a> {
    /// Documents × terms.
    pub docs: &'a Csr,
    /// Terms × documents.
    pub postings: Csr,
    /// All words.
    pub n_words: f64,
}

impl<'a> Corpus<'a> {
    /// `docs` with its transpose, where `most` bytes hold both and `more` besides.
    pub fn new(docs: &'a Csr, more: u64, most: u64) -> Result<Self> {
        check_counts(docs)?;
        // Twelve bytes an entry for the time being, then eight.
        let bytes = (12 + 8) * docs.nnz() as u64 + 8 * docs.n_cols() as u64;
        let all = bytes.saturating_add(more);
        if all > most {
            return Err(Error::Memory {
                what: format!(
                    "the topics of {} documents and {} words take {} MiB with the words themselves, but only {} MiB are free",
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
        Ok(Corpus { docs, postings: docs.transpose(), n_words: lengths.iter().sum() })
    }
}

/// The words of a bag.
pub fn length(row: Row<'_>) -> f64 {
    row.values.iter().map(|&n| f64::from(n)).sum()
}

/// Refuses counts below zero, and bags that are all empty.
fn check_counts(docs: &Csr) -> Result<()> {
    let below = docs
        .rows()
        .enumerate()
        .find_map(|(d, row)| row.iter().find(|&(_, n)| n < 0.0).map(|(term, n)| (d, term, n)));
    if let Some((d, term, n)) = below {
        return Err(Error::Structure {
            problem: format!(
                "document {d} has {n} times the word {term}: topics are learnt from counts, which are 0 or more"
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
