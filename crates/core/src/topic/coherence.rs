//! Topic coherence: normalised pointwise mutual information (Bouma 2009), with documents as windows.
//!
//! ```text
//! p(w) = df(w)/N,  p(w,v) = documents with both/N
//! NPMI(w,v) = ln( p(w,v)/(p(w)·p(v)) ) / −ln p(w,v)
//! ```
//! It is 1 for words that always co-occur, 0 for independent words and −1, its limit, for words that
//! never co-occur. For two words that every document has it is 0/0; a word in every document has
//! NPMI 0 with all other words, so 0 is used here, too. The coherence of a topic is the mean over
//! all pairs of its heaviest words.
//!
//! gensim's `c_npmi` is the same mean, but by default counts in windows of ten words instead of
//! whole documents, and adds 1e-12 to p(w,v): words that never co-occur get more than −1 (at
//! p(w) = p(v) = 1 %: −0.67), and words in every document get −1.

use rayon::prelude::*;

use crate::sparse::Csr;
use crate::{Result, Run};

/// A list this many times as long as the other is searched instead of merged.
const LOOK_UP: usize = 16;

/// The coherence of every topic, given as its heaviest words: their mean NPMI over all pairs in
/// `docs` (documents × terms), without the documents `skipped` (sorted). `None` for a topic of fewer
/// than two words.
pub fn npmi(
    docs: &Csr,
    skipped: &[u32],
    topics: &[Vec<u32>],
    run: &Run<'_>,
) -> Result<Vec<Option<f64>>> {
    let postings = Postings::of(docs, skipped, topics);
    topics
        .par_iter()
        .map(|words| {
            run.check()?;
            Ok(postings.mean(words))
        })
        .collect()
}

/// The documents of the words of topics.
struct Postings {
    n_docs: usize,
    /// The list of each term in `docs`; `NONE` for terms that are in no topic.
    slots: Vec<u32>,
    /// Sorted lists of documents.
    docs: Vec<Vec<u32>>,
}

const NONE: u32 = u32::MAX;

impl Postings {
    fn of(docs: &Csr, skipped: &[u32], topics: &[Vec<u32>]) -> Self {
        let mut slots = vec![NONE; docs.n_cols()];
        let mut found = 0;
        for &term in topics.iter().flatten() {
            let slot = &mut slots[term as usize];
            if *slot == NONE {
                (*slot, found) = (found, found + 1);
            }
        }
        let mut lists = vec![Vec::new(); found as usize];
        let mut n_docs = 0;
        for (doc, row) in (0u32..).zip(docs.rows()) {
            if skipped.binary_search(&doc).is_ok() {
                continue;
            }
            n_docs += 1;
            for &term in row.indices {
                if slots[term as usize] != NONE {
                    lists[slots[term as usize] as usize].push(doc);
                }
            }
        }
        Postings { n_docs, slots, docs: lists }
    }

    /// The mean NPMI over all pairs, summed in the order of the words.
    fn mean(&self, words: &[u32]) -> Option<f64> {
        let list = |word: u32| &self.docs[self.slots[word as usize] as usize][..];
        let (mut sum, mut pairs) = (0.0, 0u32);
        for (at, &w) in words.iter().enumerate() {
            for &v in &words[at + 1..] {
                sum += self.pair(list(w), list(v));
                pairs += 1;
            }
        }
        (pairs > 0).then(|| sum / f64::from(pairs))
    }

    fn pair(&self, w: &[u32], v: &[u32]) -> f64 {
        let both = n_common(w, v);
        let share = |n: usize| n as f64 / self.n_docs as f64;
        match both {
            0 => -1.0,
            _ if both == self.n_docs => 0.0,
            _ => {
                let p = share(both);
                (p / (share(w.len()) * share(v.len()))).ln() / -p.ln()
            }
        }
    }
}

/// The number of common elements of two sorted lists.
fn n_common(a: &[u32], b: &[u32]) -> usize {
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() * LOOK_UP < long.len() {
        let mut found = 0;
        for wanted in short {
            match long.binary_search(wanted) {
                Ok(at) => {
                    found += 1;
                    long = &long[at + 1..];
                }
                Err(at) => long = &long[at..],
            }
        }
        return found;
    }
    let (mut i, mut j, mut found) = (0, 0, 0);
    while i < short.len() && j < long.len() {
        let (x, y) = (short[i], long[j]);
        found += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{random_csr, same_at_any_thread_count};

    fn docs(rows: &[&[u32]], n_terms: usize) -> Csr {
        let triplets = (0u32..)
            .zip(rows)
            .flat_map(|(doc, terms)| terms.iter().map(move |&term| (doc, term, 1.0)))
            .collect();
        Csr::from_triplets(rows.len(), n_terms, triplets).unwrap()
    }

    fn one(docs: &Csr, words: &[u32]) -> Option<f64> {
        npmi(docs, &[], &[words.to_vec()], &Run::silent()).unwrap()[0]
    }

    #[test]
    fn by_hand() {
        // 0 is everywhere, and so is 5; 1 and 2 are always together; 3 and 4 never.
        let docs = docs(&[&[0, 1, 2, 3, 5], &[0, 1, 2, 5], &[0, 3, 5], &[0, 4, 5]], 7);
        let close = |words: &[u32], expected: f64| {
            let found = one(&docs, words).unwrap();
            assert!((found - expected).abs() < 1e-12, "{words:?}: {found}, not {expected}");
        };
        close(&[1, 2], 1.0);
        close(&[3, 4], -1.0);
        close(&[0, 1], 0.0);
        close(&[0, 5], 0.0);
        // p(1,3) = 1/4 = p(1)·p(3): independent.
        close(&[1, 3], 0.0);
        close(&[1, 2, 4], (1.0 - 1.0 - 1.0) / 3.0);
        // A word that no document has never stands beside another.
        close(&[1, 6], -1.0);
        assert_eq!(one(&docs, &[1]), None);
        assert_eq!(one(&docs, &[]), None);
    }

    #[test]
    fn gensim_agrees_where_words_meet() {
        let texts = [
            "oil opec price",
            "oil opec barrel",
            "oil price barrel opec",
            "court judge trial",
            "court judge oil",
            "trial court price judge",
            "judge oil",
            "plane crash",
        ];
        let words = ["oil", "opec", "price", "barrel", "court", "judge", "trial", "plane", "crash"];
        let id = |word: &str| words.iter().position(|&known| known == word).unwrap() as u32;
        let rows: Vec<Vec<u32>> =
            texts.iter().map(|text| text.split(' ').map(id).collect()).collect();
        let docs = docs(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>(), words.len());
        // gensim 4.4: CoherenceModel(coherence='c_npmi', window_size=1000).
        for (topic, expected) in [
            ("oil opec price barrel", 0.3542804662409118),
            ("court judge trial", 0.6380712674215802),
            ("oil judge price court", 0.006393279132051999),
        ] {
            let topic: Vec<u32> = topic.split(' ').map(id).collect();
            let found = one(&docs, &topic).unwrap();
            assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
        // Words that never meet: −0.908 there.
        assert_eq!(one(&docs, &[id("oil"), id("plane")]), Some(-1.0));
    }

    #[test]
    fn documents_that_are_skipped_do_not_count() {
        let all = docs(&[&[0, 1], &[0], &[1], &[0, 1], &[2]], 3);
        let some = docs(&[&[0], &[1], &[0, 1]], 3);
        let found = npmi(&all, &[0, 4], &[vec![0, 1]], &Run::silent()).unwrap();
        assert_eq!(found[0], one(&some, &[0, 1]));
    }

    #[test]
    fn the_same_at_any_number_of_threads() {
        let docs = random_csr(300, 40, 8, 1);
        let topics: Vec<Vec<u32>> = (0..30).map(|k| (k..k + 10).collect()).collect();
        same_at_any_thread_count(|| npmi(&docs, &[3, 9], &topics, &Run::silent()).unwrap());
    }

    /// The formula, one pair and one document at a time.
    fn brute(docs: &Csr, words: &[u32]) -> f64 {
        let n = docs.n_rows() as f64;
        let share = |has: &dyn Fn(usize) -> bool| {
            (0..docs.n_rows()).filter(|&doc| has(doc)).count() as f64 / n
        };
        let mut values = Vec::new();
        for i in 0..words.len() {
            for j in 0..i {
                let w = |doc: usize| docs.row(doc).contains(words[i]);
                let v = |doc: usize| docs.row(doc).contains(words[j]);
                let (pw, pv, both) = (share(&w), share(&v), share(&|doc| w(doc) && v(doc)));
                values.push(if both == 0.0 {
                    -1.0
                } else if both == 1.0 {
                    0.0
                } else {
                    ((both.ln() - pw.ln()) - pv.ln()) / -both.ln()
                });
            }
        }
        values.iter().sum::<f64>() / values.len() as f64
    }

    proptest! {
        #[test]
        fn fast_is_slow(seed in 0u64..500, n_docs in 1usize..80, per_doc in 1usize..12) {
            let docs = random_csr(n_docs, 15, per_doc, seed);
            let words: Vec<u32> = (0..6).map(|at| (at * 2 + seed as u32) % 15).collect();
            let found = one(&docs, &words).unwrap();
            prop_assert!((found - brute(&docs, &words)).abs() < 1e-10);
            prop_assert!((-1.0 - 1e-12..=1.0 + 1e-12).contains(&found));
        }

        #[test]
        fn lists_of_any_lengths_are_intersected(
            a in prop::collection::btree_set(0u32..400, 0..12),
            b in prop::collection::btree_set(0u32..400, 0..390),
        ) {
            let (x, y): (Vec<u32>, Vec<u32>) = (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(n_common(&x, &y), a.intersection(&b).count());
            prop_assert_eq!(n_common(&y, &x), a.intersection(&b).count());
        }
    }
}
