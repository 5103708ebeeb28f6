//! The features of words in W: only the most frequent words, or for every word the frequent ones that
//! it co-occurs with most (correlated feature hashing):
//!
//! ```text
//! DICE(i, j) = 2·cooccur(i, j) / (occur(i) + occur(j))
//! ```
//! counted over training documents. A frequent word has DICE 1 with itself, so it is its own first
//! bin. Every term of the vocabulary has bins, n-grams too; bins themselves are words.
//!
//! With S_p(i) the p-th best bin of word i, the paper's eq. (6) is
//!
//! ```text
//! f(q, d) = 1/k Σ_p Σ_s Σ_t q_s·d_t·W[S_p(s), S_p(t)]
//! ```
//! and has a vector of features for each place p. Replacing words by all of their bins, each with
//! weight 1/k, as the paper goes on to say, also has W[S_p(s), S_r(t)] for p ≠ r.

use rayon::prelude::*;

use super::params::Ssi;
use crate::features::Counts;
use crate::linalg::Dense;
use crate::matchers::sparse_vector::summed;
use crate::sparse::{Csr, csr_times_dense};
use crate::{Error, Result, Run};

/// The features that replace every word.
pub(super) struct Bins {
    /// Words × features, for each place.
    pub to: Vec<Csr>,
    /// The word of every feature, sorted.
    pub words: Vec<u32>,
}

impl Bins {
    /// The bins of `params`, each for one view of the data; none if words are not replaced.
    pub fn of(params: &Ssi, counts: &Counts, run: &Run<'_>) -> Result<Vec<Self>> {
        if params.frequent == 0 {
            return Ok(Vec::new());
        }
        let words = most_frequent(counts, params.frequent, params.bins > 0);
        let mut feature = vec![None; counts.n_terms()];
        (0u32..).zip(&words).for_each(|(f, &word)| feature[word as usize] = Some(f));
        let alone = || -> Result<Bins> {
            let to = Csr::by_rows(words.len(), counts.n_terms(), |word| {
                Ok(feature[word].map(|f| (f, 1.0)).into_iter().unzip())
            })?;
            Ok(Bins { to: vec![to], words: words.clone() })
        };
        if params.bins == 0 {
            return Ok(vec![alone()?]);
        }
        let found = correlated(counts, &feature, words.len(), params.bins, run)?;
        let binned = |kept: &(dyn Fn(usize) -> bool + Sync)| -> Result<Bins> {
            let places = if params.exact { params.bins } else { 1 };
            let place = |p: usize| {
                Csr::by_rows(words.len(), counts.n_terms(), |word| {
                    let bins = if kept(word) { &found[word][..] } else { &[] };
                    let n = bins.len() as f32;
                    if params.exact {
                        // 1/√n on both sides: the product has the weight 1/n.
                        let own = bins.get(p).map(|&f| (f, 1.0 / n.sqrt()));
                        return Ok(own.into_iter().unzip());
                    }
                    let mut bins: Vec<(u32, f32)> = bins.iter().map(|&f| (f, 1.0 / n)).collect();
                    bins.sort_unstable_by_key(|&(f, _)| f);
                    Ok(bins.into_iter().unzip())
                })
            };
            Ok(Bins { to: (0..places).map(place).collect::<Result<_>>()?, words: words.clone() })
        };
        if !params.rare {
            return Ok(vec![binned(&|_| true)?]);
        }
        if words.len() == counts.n_terms() {
            return Err(Error::parameter(
                "rare",
                true,
                &format!("false, or `frequent` below {}, the size of the vocabulary", words.len()),
            ));
        }
        Ok(vec![alone()?, binned(&|word| feature[word].is_none())?])
    }

    pub fn n_features(&self) -> usize {
        self.words.len()
    }

    /// The number of vectors of every query and document.
    pub fn places(&self) -> usize {
        self.to.len()
    }

    /// The word of a feature.
    pub fn word(&self, feature: usize) -> u32 {
        self.words[feature]
    }

    /// Rows of words as rows of features, with one row per place for each.
    pub fn apply(&self, rows: &Csr) -> Result<Csr> {
        let places = self.places();
        Csr::by_rows(self.words.len(), rows.n_rows() * places, |at| {
            let to = &self.to[at % places];
            let parts = rows.row(at / places).iter().flat_map(|(word, value)| {
                to.row(word as usize).iter().map(move |(f, share)| (f, share * value))
            });
            Ok(summed(parts.collect()).into_iter().unzip())
        })
    }

    /// The embedding of every word, with the dimensions of all places.
    pub fn of_words(&self, map: &Dense) -> Dense {
        let dim = map.n_cols();
        let mut embeddings = Dense::zeros(self.to[0].n_rows(), dim * self.places());
        for (place, to) in self.to.iter().enumerate() {
            let columns = embeddings.block_mut(place * dim..(place + 1) * dim);
            csr_times_dense(to, map.block(0..dim), columns);
        }
        embeddings
    }
}

/// The `n` terms with the highest document frequencies, sorted; of equal ones the first. With `words`,
/// n-grams are left out.
fn most_frequent(counts: &Counts, n: usize, words: bool) -> Vec<u32> {
    let gram = |word: u32| {
        let term = counts.vocabulary.term(word);
        term.contains(' ')
            || (counts.preparation.analyzer.char_ngrams.is_some() && term.starts_with('~'))
    };
    let all = 0..counts.n_terms() as u32;
    let mut words: Vec<u32> = all.filter(|&word| !(words && gram(word))).collect();
    words.sort_by_key(|&word| std::cmp::Reverse(counts.document_frequency[word as usize]));
    words.truncate(n);
    words.sort_unstable();
    words
}

/// For every word the at most `k` features that it co-occurs with most, best first.
fn correlated(
    counts: &Counts,
    feature: &[Option<u32>],
    n_features: usize,
    k: usize,
    run: &Run<'_>,
) -> Result<Vec<Vec<u32>>> {
    run.step("correlated words", 0, None)?;
    let postings = counts.docs.transpose();
    let occur = |word: usize| f64::from(counts.document_frequency[word]);
    let mut of_feature = vec![0.0; n_features];
    for (word, f) in feature.iter().enumerate() {
        if let Some(f) = f {
            of_feature[*f as usize] = occur(word);
        }
    }
    // `together` counts the co-occurrences of each feature; those above 0 are in `found`.
    let best = |together: &mut Vec<u32>, word: usize| -> Result<Vec<u32>> {
        run.check()?;
        let mut found: Vec<u32> = Vec::new();
        for &doc in postings.row(word).indices {
            if counts.held_out_documents.binary_search(&doc).is_ok() {
                continue;
            }
            let words = counts.docs.row(doc as usize).indices;
            for f in words.iter().filter_map(|&other| feature[other as usize]) {
                let times = &mut together[f as usize];
                if *times == 0 {
                    found.push(f);
                }
                *times += 1;
            }
        }
        let dice = |f: u32| {
            let times = std::mem::take(&mut together[f as usize]);
            (2.0 * f64::from(times) / (occur(word) + of_feature[f as usize]), f)
        };
        let mut scored: Vec<(f64, u32)> = found.into_iter().map(dice).collect();
        let own = feature[word];
        // Words that always occur together also have DICE 1 with each other.
        scored.sort_unstable_by(|a, b| {
            let first = (Some(b.1) == own).cmp(&(Some(a.1) == own));
            first.then(b.0.total_cmp(&a.0)).then(a.1.cmp(&b.1))
        });
        scored.truncate(k);
        Ok(scored.into_iter().map(|(_, f)| f).collect())
    };
    let counters = || vec![0u32; n_features];
    (0..counts.n_terms()).into_par_iter().map_init(counters, best).collect()
}
