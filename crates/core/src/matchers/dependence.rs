//! The sequential dependence model (Metzler and Croft, 2005): query likelihood of the words, of
//! neighbouring words in their order, and of neighbouring words near each other.
//!
//! ```text
//! score = words·Σ_i ln P(q_i|d) + ordered·Σ_i ln P(#1(q_i q_i+1)|d) + unordered·Σ_i ln P(#uw(q_i q_i+1)|d)
//! P(f|d) = (f + μ·cf/|C|)/(|d| + μ)
//! ```
//! f is how often the word or the pair occurs in the document, cf how often in all training
//! documents, |C| their length; words and pairs with cf = 0 are dropped. As in `lm`, a constant of
//! the query is left out: Σ ln(1 + f/(μ·cf/|C|)) + n·ln(μ/(μ + |d|)). The weights 0.85, 0.10 and
//! 0.05 are the usual ones of this model and Anserini's defaults.
//!
//! Neighbours in order are no further apart than in the query, so stop words between them are
//! allowed where the query has them; neighbours near each other are counted as the largest number of
//! windows of `window` words that hold both and do not overlap. See [`crate::features::proximity`].

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::{Lexical, lengths, occurrences};
use super::method::{Matcher, Method, SavedState};
use super::space::Varied;
use super::{Contribution, Lm, Smoothing};
use crate::features::proximity::{Pair, ordered, pairs, unordered};
use crate::features::{Counts, QueryTerms};
use crate::params::check::{check_positive, check_range, check_weight};
use crate::sparse::Row;
use crate::{Error, Result};

/// Parameters of the sequential dependence model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dependence {
    /// Weight of the words.
    pub words: f64,
    /// Weight of neighbouring words in the query's order.
    pub ordered: f64,
    /// Weight of neighbouring words near each other.
    pub unordered: f64,
    /// Number of words in a window.
    pub window: usize,
    /// The weight of the collection in the probability of a word, in words.
    pub mu: f64,
    /// The same for pairs of words.
    pub mu_pairs: f64,
}

impl Default for Dependence {
    fn default() -> Self {
        Dependence {
            words: 0.85,
            ordered: 0.10,
            unordered: 0.05,
            window: 8,
            mu: 2000.0,
            mu_pairs: 2000.0,
        }
    }
}

impl Method for Dependence {
    fn check(&self) -> Result<()> {
        check_weight("words", self.words)?;
        check_weight("ordered", self.ordered)?;
        check_weight("unordered", self.unordered)?;
        check_range("window", self.window, 2, 1 << 30)?;
        check_positive("mu", self.mu)?;
        check_positive("mu_pairs", self.mu_pairs)
    }

    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Ok(Box::new(self.fit(counts)?))
    }

    fn learns(&self) -> bool {
        false
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn needs_positions(&self) -> bool {
        true
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            ("ordered", "{ min = 0.01, max = 0.5, log = true }"),
            ("unordered", "{ min = 0.01, max = 0.5, log = true }"),
            ("mu", "{ min = 50, max = 5000, log = true }"),
            ("mu_pairs", "{ min = 50, max = 5000, log = true }"),
            ("window", "{ min = 2, max = 32, log = true, int = true }"),
        ]
    }
}

impl Dependence {
    /// The matcher for `counts`, which must have positions.
    fn fit(&self, counts: &Counts) -> Result<Fitted> {
        self.check()?;
        if counts.positions.is_none() {
            return Err(Error::Empty {
                what: "dependence needs the positions of words, which were not counted".into(),
                advice: "set preparation.positions = true and count again".into(),
            });
        }
        let words = Lm { smoothing: Smoothing::Dirichlet, mu: self.mu, ..Lm::default() };
        let length = |length: f64| (self.mu_pairs / (self.mu_pairs + length)).ln();
        Ok(Fitted {
            params: self.clone(),
            words: words.fit(counts)?,
            total: occurrences(counts, &counts.docs).iter().sum(),
            lengths: lengths(&counts.docs).into_iter().map(length).collect(),
        })
    }
}

struct Fitted {
    params: Dependence,
    words: Lexical,
    /// |C|.
    total: f64,
    /// ln(μ/(μ + |d|)) of every document.
    lengths: Vec<f64>,
}

/// A pair of neighbouring query words with its documents.
struct PairPostings {
    pair: Pair,
    /// Documents with the pair, sorted; how often in its order, and how often near each other.
    docs: Vec<(u32, u32, u32)>,
    /// cf/|C| of both kinds; 0 if there is none.
    shares: [f64; 2],
}

impl PairPostings {
    /// How often `doc` has the pair in its order and near each other; `None` if never.
    fn occurrences(&self, doc: u32) -> Option<(u32, u32)> {
        let at = self.docs.binary_search_by_key(&doc, |found| found.0).ok()?;
        Some((self.docs[at].1, self.docs[at].2))
    }
}

impl Fitted {
    fn find(&self, counts: &Counts, pair: Pair) -> PairPostings {
        let (Some(positions), postings) = (&counts.positions, &self.words.rows.postings) else {
            return PairPostings { pair, docs: Vec::new(), shares: [0.0; 2] };
        };
        let both = shared(postings.row(pair.first as usize), postings.row(pair.second as usize));
        let words = [pair.first, pair.second];
        let window = self.params.window as u64;
        let docs: Vec<(u32, u32, u32)> = both
            .into_par_iter()
            .with_min_len(256)
            .map_init(Vec::new, |places, doc| {
                positions.places(doc as usize, &words, places);
                let near = unordered(&places[0], &places[1], window);
                (doc, ordered(&places[0], &places[1], pair.distance), near)
            })
            .filter(|&(_, in_order, near)| in_order + near > 0)
            .collect();
        let mut times = [0u64; 2];
        for &(doc, in_order, near) in &docs {
            if counts.held_out_documents.binary_search(&doc).is_err() {
                times[0] += u64::from(in_order);
                times[1] += u64::from(near);
            }
        }
        PairPostings { pair, docs, shares: times.map(|times| times as f64 / self.total.max(1.0)) }
    }

    /// The pairs of the query; none if their weights are 0.
    fn pairs(&self, counts: &Counts, query: &QueryTerms) -> Vec<PairPostings> {
        if self.params.ordered + self.params.unordered == 0.0 {
            return Vec::new();
        }
        pairs(&query.sequence).into_iter().map(|pair| self.find(counts, pair)).collect()
    }

    /// The contributions of a pair to a document, in order and near, without the length.
    fn of_pair(&self, found: &PairPostings, in_order: u32, near: u32) -> [f64; 2] {
        let log = |times: u32, share: f64| {
            if share > 0.0 {
                (f64::from(times) / (self.params.mu_pairs * share)).ln_1p()
            } else {
                0.0
            }
        };
        [
            self.params.ordered * log(in_order, found.shares[0]),
            self.params.unordered * log(near, found.shares[1]),
        ]
    }

    /// The weight of a document's length.
    fn of_length(&self, pairs: &[PairPostings]) -> f64 {
        let known =
            |kind: usize| pairs.iter().filter(|pair| pair.shares[kind] > 0.0).count() as f64;
        self.params.ordered * known(0) + self.params.unordered * known(1)
    }

    fn sum(&self, words: f32, pairs: f64, length: f64, doc: usize) -> f32 {
        (self.params.words * f64::from(words) + pairs + length * self.lengths[doc]) as f32
    }
}

impl Matcher for Fitted {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        self.words.score_all(counts, query, out);
        let pairs = self.pairs(counts, query);
        let mut sums = vec![0.0f64; out.len()];
        for pair in &pairs {
            for &(doc, in_order, near) in &pair.docs {
                let [a, b] = self.of_pair(pair, in_order, near);
                sums[doc as usize] += a + b;
            }
        }
        let length = self.of_length(&pairs);
        for (doc, (out, sum)) in out.iter_mut().zip(sums).enumerate() {
            *out = self.sum(*out, sum, length, doc);
        }
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        self.words.score_some(counts, query, docs, out);
        let pairs = self.pairs(counts, query);
        let length = self.of_length(&pairs);
        for (out, &doc) in out.iter_mut().zip(docs) {
            let mut sum = 0.0f64;
            for pair in &pairs {
                if let Some((in_order, near)) = pair.occurrences(doc) {
                    let [a, b] = self.of_pair(pair, in_order, near);
                    sum += a + b;
                }
            }
            *out = self.sum(*out, sum, length, doc as usize);
        }
    }

    /// The words, then the pairs in order, then those near each other.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let mut lines = self.words.contributions(counts, query, doc);
        lines.iter_mut().for_each(|line| line.value *= self.params.words);
        let pairs = self.pairs(counts, query);
        for found in &pairs {
            let Some((in_order, near)) = found.occurrences(doc) else { continue };
            let values = self.of_pair(found, in_order, near);
            let [first, second] =
                [found.pair.first, found.pair.second].map(|term| counts.vocabulary.term(term));
            let window = format!("within {} words", self.params.window);
            for (value, how) in values.into_iter().zip(["in this order", &window]) {
                lines.push(Contribution {
                    query: format!("{first} {second}"),
                    doc: how.to_owned(),
                    value,
                });
            }
        }
        lines.push(Contribution {
            query: "pairs of words".into(),
            doc: "the document's length".into(),
            value: self.of_length(&pairs) * self.lengths[doc as usize],
        });
        lines.retain(|line| line.value != 0.0);
        lines
    }

    fn no_match(&self) -> &'static str {
        self.words.no_match()
    }

    fn is_lexical(&self) -> bool {
        true
    }
}

/// The columns that both rows have.
fn shared(one: Row<'_>, other: Row<'_>) -> Vec<u32> {
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut rest = many.indices;
    let mut both = Vec::new();
    for &column in few.indices {
        rest = &rest[rest.partition_point(|&other| other < column)..];
        if rest.first() == Some(&column) {
            both.push(column);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Run;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;

    fn counts() -> Counts {
        counted(true)
    }

    fn counted(positions: bool) -> Counts {
        let dir = tempfile::tempdir().unwrap();
        let documents = [
            ("a", json!({ "title": "white house", "body": "the white house in washington" })),
            ("b", json!({ "title": "house painted white", "body": "paint a house" })),
            ("c", json!({ "title": "white", "body": "house" })),
            ("d", json!({ "title": "washington monument" })),
            ("held", json!({ "title": "white house washington white house" })),
        ];
        let fixture = Fixture {
            documents: &documents,
            queries: &["white house washington"],
            clicks: &[(0, 0, 1.0)],
            held_out: &[4],
        };
        let data = fixture.open(&dir.path().join("d"));
        let preparation = Preparation { positions, ..Preparation::default() };
        Counts::of(&data, &preparation, &Run::silent()).unwrap()
    }

    fn scores(params: &Dependence, counts: &Counts, text: &str) -> Vec<f32> {
        params.fit(counts).unwrap().scores(counts, &counts.read_query(text), None)
    }

    #[test]
    fn without_pairs_it_is_the_language_model() {
        let counts = counts();
        let params =
            Dependence { words: 1.0, ordered: 0.0, unordered: 0.0, ..Dependence::default() };
        let lm = Lm::default().fit(&counts).unwrap();
        for text in ["white house", "washington paint white", "house house"] {
            let expected = lm.scores(&counts, &counts.read_query(text), None);
            assert_eq!(scores(&params, &counts, text), expected);
        }
    }

    #[test]
    fn pairs_are_the_formula_by_hand() {
        let counts = counts();
        let text = "white house washington";
        let params = Dependence { words: 0.0, mu_pairs: 10.0, ..Dependence::default() };
        let total = 5.0 + 5.0 + 2.0 + 2.0;
        let log = |f: f64, cf: f64| (f / (10.0 * cf / total)).ln_1p();
        let length = |n: f64, words: f64| n * (10.0f64 / (10.0 + words)).ln();
        // In training "white house" stands twice in order and 3 times near each other; "house
        // washington" never in order (the query has no stop word between them), once near.
        let (o, u) = (0.10, 0.05);
        let n = o + 2.0 * u;
        let expected = [
            o * log(2.0, 2.0) + u * (log(2.0, 3.0) + log(1.0, 1.0)) + length(n, 5.0),
            u * log(1.0, 3.0) + length(n, 5.0),
            length(n, 2.0),
            length(n, 2.0),
            o * log(2.0, 2.0) + u * (log(2.0, 3.0) + log(1.0, 1.0)) + length(n, 5.0),
        ];
        let lengths = lengths(&counts.docs);
        assert_eq!(lengths, [5.0, 5.0, 2.0, 2.0, 5.0]);
        for (found, expected) in scores(&params, &counts, text).iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn one_by_one_in_a_batch_and_line_by_line_alike() {
        let counts = counts();
        let fitted = Dependence::default().fit(&counts).unwrap();
        for text in ["white house washington", "house white", "paint the white house", "house"] {
            let query = counts.read_query(text);
            let all = fitted.scores(&counts, &query, None);
            let some = fitted.scores(&counts, &query, Some(&[4, 0, 2]));
            assert_eq!(some, [all[4], all[0], all[2]]);
            for (doc, &score) in (0u32..).zip(&all) {
                let sum: f64 =
                    fitted.contributions(&counts, &query, doc).iter().map(|line| line.value).sum();
                assert!((sum - f64::from(score)).abs() < 1e-5);
            }
        }
        let query = counts.read_query("white house");
        let all = fitted.scores(&counts, &query, None);
        // The same two words: side by side, near each other, in two fields.
        assert!(all[0] > all[1]);
    }

    #[test]
    fn counts_without_positions_are_refused_with_advice() {
        let message =
            Dependence::default().fit(&counted(false)).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("preparation.positions = true"), "{message}");
    }
}
