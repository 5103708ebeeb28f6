//! Which features words become before W is learnt: the most frequent words alone, or for every
//! word those of the frequent ones that it occurs with most (correlated feature hashing):
//!
//! ```text
//! DICE(i, j) = 2·cooccur(i, j) / (occur(i) + occur(j))
//! ```
//! counted over training documents. A word among the frequent ones has DICE 1 with itself, so it
//! is its own first.

use super::Ssi;
use crate::features::Counts;
use crate::linalg::Dense;
use crate::matchers::dots::summed;
use crate::sparse::{Csr, csr_times_dense};
use crate::{Result, Run};

/// What becomes of every word.
pub(super) struct Bins {
    /// Words × features.
    to: Csr,
    /// The word of every feature, sorted.
    words: Vec<u32>,
}

impl Bins {
    /// What `params` asks for; nothing if words stay as they are.
    pub fn of(params: &Ssi, counts: &Counts, run: &Run<'_>) -> Result<Option<Self>> {
        if params.frequent == 0 {
            return Ok(None);
        }
        let words = most_frequent(&counts.document_frequency, params.frequent);
        let mut feature = vec![None; counts.n_terms()];
        (0u32..).zip(&words).for_each(|(f, &word)| feature[word as usize] = Some(f));
        let to = match params.bins {
            0 => Csr::by_rows(words.len(), counts.n_terms(), |word| {
                Ok(feature[word].map(|f| (f, 1.0)).into_iter().unzip())
            })?,
            k => correlated(counts, &feature, words.len(), k, run)?,
        };
        Ok(Some(Bins { to, words }))
    }

    pub fn n_features(&self) -> usize {
        self.words.len()
    }

    /// The word of a feature.
    pub fn word(&self, feature: usize) -> u32 {
        self.words[feature]
    }

    /// Rows of words as rows of features.
    pub fn apply(&self, rows: &Csr) -> Result<Csr> {
        Csr::by_rows(self.words.len(), rows.n_rows(), |i| {
            let parts = rows.row(i).iter().flat_map(|(word, value)| {
                self.to.row(word as usize).iter().map(move |(f, share)| (f, share * value))
            });
            Ok(summed(parts.collect()).into_iter().unzip())
        })
    }

    /// The image of every word.
    pub fn of_words(&self, map: &Dense) -> Dense {
        let mut images = Dense::zeros(self.to.n_rows(), map.n_cols());
        let all = 0..map.n_cols();
        csr_times_dense(&self.to, map.block(all.clone()), images.block_mut(all));
        images
    }
}

/// The `n` words that most documents have, sorted; of equally frequent ones those that come first.
fn most_frequent(document_frequency: &[u32], n: usize) -> Vec<u32> {
    let mut words: Vec<u32> = (0..document_frequency.len() as u32).collect();
    words.sort_by_key(|&word| std::cmp::Reverse(document_frequency[word as usize]));
    words.truncate(n);
    words.sort_unstable();
    words
}

/// Every word by the `k` features that it occurs with most, fewer where there are fewer.
fn correlated(
    counts: &Counts,
    feature: &[Option<u32>],
    n_features: usize,
    k: usize,
    run: &Run<'_>,
) -> Result<Csr> {
    run.step("correlated words", 0, None)?;
    let postings = counts.docs.transpose();
    let occur = |word: usize| f64::from(counts.document_frequency[word]);
    let mut of_feature = vec![0.0; n_features];
    for (word, f) in feature.iter().enumerate() {
        if let Some(f) = f {
            of_feature[*f as usize] = occur(word);
        }
    }
    Csr::by_rows(n_features, counts.n_terms(), |word| {
        run.check()?;
        let mut found: Vec<u32> = Vec::new();
        for &doc in postings.row(word).indices {
            if counts.held_out_documents.binary_search(&doc).is_err() {
                let words = counts.docs.row(doc as usize).indices;
                found.extend(words.iter().filter_map(|&other| feature[other as usize]));
            }
        }
        found.sort_unstable();
        let mut scored: Vec<(f64, u32)> = found
            .chunk_by(|a, b| a == b)
            .map(|same| {
                (2.0 * same.len() as f64 / (occur(word) + of_feature[same[0] as usize]), same[0])
            })
            .collect();
        let own = feature[word];
        // Words that always occur together have DICE 1 with each other, too.
        scored.sort_unstable_by(|a, b| {
            let first = (Some(b.1) == own).cmp(&(Some(a.1) == own));
            first.then(b.0.total_cmp(&a.0)).then(a.1.cmp(&b.1))
        });
        scored.truncate(k);
        let share = 1.0 / scored.len() as f32;
        let mut row: Vec<(u32, f32)> = scored.into_iter().map(|(_, f)| (f, share)).collect();
        row.sort_unstable_by_key(|&(f, _)| f);
        Ok(row.into_iter().unzip())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;

    #[test]
    fn words_become_those_they_occur_with_most() {
        let dir = tempfile::tempdir().unwrap();
        let texts = [
            "tensor manifold riemann",
            "manifold tensor",
            "tensor manifold",
            "crab shell",
            "crab sea",
        ];
        let documents: Vec<_> = texts
            .iter()
            .zip(["a", "b", "c", "d", "e"])
            .map(|(text, id)| (id, serde_json::json!({ "title": text })))
            .collect();
        let fixture = Fixture {
            documents: &documents,
            queries: &["crab"],
            clicks: &[(0, 3, 1.0)],
            held_out: &[],
        };
        let counts = Counts::of(
            &fixture.open(&dir.path().join("d")),
            &Preparation::default(),
            &Run::silent(),
        )
        .unwrap();
        let id = |word: &str| counts.read_query(word).indices[0];
        let bins = |frequent, bins| {
            let params = Ssi { frequent, bins, ..Ssi::default() };
            Bins::of(&params, &counts, &Run::silent()).unwrap().unwrap()
        };
        // The three most frequent: tensor and manifold in three documents, crab in two.
        let (tensor, manifold, crab) = (id("tensor"), id("manifold"), id("crab"));
        let mut frequent = vec![tensor, manifold, crab];
        frequent.sort_unstable();
        let alone = bins(3, 0);
        assert_eq!(alone.words, frequent);
        assert!(alone.to.row(id("riemann") as usize).is_empty());
        let of = |bins: &Bins, word: &str| -> Vec<(u32, f32)> {
            bins.to
                .row(id(word) as usize)
                .iter()
                .map(|(f, share)| (bins.word(f as usize), share))
                .collect()
        };
        let one = bins(3, 1);
        for word in ["tensor", "manifold", "crab"] {
            assert_eq!(of(&one, word), [(id(word), 1.0)]);
        }
        assert_eq!(of(&one, "shell"), [(crab, 1.0)]);
        let mut both = [(tensor, 0.5), (manifold, 0.5)];
        both.sort_by_key(|pair| pair.0);
        assert_eq!(of(&bins(3, 2), "riemann"), both);
    }
}
