//! Triples: a clicked pair of training, all alike, and a document that was not clicked for the
//! query. Every triple has a stream of random numbers of its own, so it depends on the seed and
//! on its number alone.

use rayon::prelude::*;

use super::sgd::Triple;
use super::{Negative, Ssi};
use crate::features::{Counts, no_training_clicks};
use crate::matchers::{Bm25, Matcher};
use crate::random::Random;
use crate::sparse::Csr;
use crate::{Result, Run};

/// Streams of random numbers from here on belong to triples.
const FIRST_STREAM: u64 = 1 << 41;
/// Draws before every document is looked at.
const TRIES: usize = 64;

/// Where triples come from.
pub(super) struct Draws<'a> {
    counts: &'a Counts,
    pairs: Vec<(u32, u32)>,
    /// Documents that may be drawn: those with words that are not held out.
    free: Vec<u32>,
    pool: Pool,
    seed: u64,
}

enum Pool {
    Uniform,
    /// The weights of the free documents, added up.
    Popularity(Vec<f64>),
    /// Documents by query.
    Hard(Vec<Vec<u32>>),
}

impl<'a> Draws<'a> {
    /// `x` and `y` are the words of queries and documents; where there are none, there is nothing
    /// to learn.
    pub fn of(params: &Ssi, counts: &'a Counts, x: &Csr, y: &Csr, run: &Run<'_>) -> Result<Self> {
        let held_out = |doc: u32| counts.held_out_documents.binary_search(&doc).is_ok();
        let pairs: Vec<(u32, u32)> = (0u32..)
            .zip(counts.clicks.rows())
            .filter(|&(query, _)| !x.row(query as usize).is_empty())
            .flat_map(|(query, row)| {
                row.iter().filter(|&(_, clicks)| clicks > 0.0).map(move |(doc, _)| (query, doc))
            })
            .filter(|&(_, doc)| !y.row(doc as usize).is_empty() && !held_out(doc))
            .collect();
        if pairs.is_empty() {
            return Err(no_training_clicks());
        }
        let free: Vec<u32> = (0..counts.n_docs() as u32)
            .filter(|&doc| !held_out(doc) && !y.row(doc as usize).is_empty())
            .collect();
        let mut draws = Draws { counts, pairs, free, pool: Pool::Uniform, seed: params.seed };
        match params.negative {
            Negative::Uniform => {}
            Negative::Popularity => draws.pool = draws.popular(params.alpha),
            Negative::Bm25 => draws.pool = draws.hard(params.hard, run)?,
        }
        Ok(draws)
    }

    /// The number of clicked pairs.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Triple number `number`; nothing if every document was clicked for its query.
    pub fn draw(&self, number: u64) -> Option<Triple> {
        let mut random = Random::new(self.seed, FIRST_STREAM + number);
        let (query, good) = self.pairs[random.below(self.pairs.len() as u64) as usize];
        let bad = self.negative(query, &mut random)?;
        Some(Triple { query, good, bad })
    }

    fn clicked(&self, query: u32, doc: u32) -> bool {
        self.counts.clicks.row(query as usize).get(doc) > 0.0
    }

    fn negative(&self, query: u32, random: &mut Random) -> Option<u32> {
        if let Pool::Hard(hard) = &self.pool
            && !hard[query as usize].is_empty()
        {
            let hard = &hard[query as usize];
            return Some(hard[random.below(hard.len() as u64) as usize]);
        }
        let n = self.free.len() as u64;
        for _ in 0..TRIES {
            let at = match &self.pool {
                Pool::Popularity(sums) => {
                    let point = random.uniform() * sums[sums.len() - 1];
                    sums.partition_point(|&sum| sum <= point).min(sums.len() - 1)
                }
                _ => random.below(n) as usize,
            };
            if !self.clicked(query, self.free[at]) {
                return Some(self.free[at]);
            }
        }
        let first = random.below(n) as usize;
        let mut all = self.free[first..].iter().chain(&self.free[..first]);
        all.find(|&&doc| !self.clicked(query, doc)).copied()
    }

    fn popular(&self, alpha: f64) -> Pool {
        let mut clicks = vec![0.0f64; self.counts.n_docs()];
        for (doc, n) in self.counts.clicks.rows().flat_map(|row| row.iter()) {
            clicks[doc as usize] += f64::from(n.max(0.0));
        }
        let mut sum = 0.0;
        let of = |&doc: &u32| {
            sum += clicks[doc as usize].powf(alpha);
            sum
        };
        Pool::Popularity(self.free.iter().map(of).collect())
    }

    /// The best documents by BM25 that were not clicked for the query.
    fn hard(&self, n: usize, run: &Run<'_>) -> Result<Pool> {
        run.step("negatives by BM25", 0, None)?;
        let bm25 = Bm25::default().fit(self.counts)?;
        let lists: Result<Vec<Vec<u32>>> = (0..self.counts.n_queries())
            .into_par_iter()
            .map(|query| {
                if self.counts.clicks.row(query).is_empty() {
                    return Ok(Vec::new());
                }
                run.check()?;
                let scores = bm25.scores(self.counts, &self.counts.query(query), None);
                let mut docs: Vec<u32> = self
                    .free
                    .iter()
                    .copied()
                    .filter(|&doc| scores[doc as usize] > 0.0 && !self.clicked(query as u32, doc))
                    .collect();
                let order = |a: &u32, b: &u32| {
                    scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b))
                };
                if docs.len() > n {
                    docs.select_nth_unstable_by(n - 1, order);
                    docs.truncate(n);
                }
                docs.sort_unstable_by(order);
                Ok(docs)
            })
            .collect();
        Ok(Pool::Hard(lists?))
    }
}
