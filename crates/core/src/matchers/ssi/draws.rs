//! Triples: a clicked pair of training, drawn uniformly, and a document that was not clicked for the
//! query. With negatives from impressions, one of the query's preferences is drawn instead, in
//! proportion to how often it was shown. Every triple has its own stream of random numbers, so it
//! depends only on the seed and on its number.

use rayon::prelude::*;

use super::data::Triple;
use super::params::{Negative, Ssi};
use crate::data::{ImpressionCounts, Preference};
use crate::features::{Counts, no_training_clicks};
use crate::matchers::unclicked::Unclicked;
use crate::matchers::{Bm25, Matcher};
use crate::random::Random;
use crate::sparse::Csr;
use crate::top_k::select_sorted;
use crate::{Error, Result, Run, counted};

/// The first of the streams of random numbers for triples.
const FIRST_STREAM: u64 = 1 << 41;

/// The source of triples.
pub(super) struct Draws<'a> {
    counts: &'a Counts,
    pairs: Vec<(u32, u32)>,
    unclicked: Unclicked<'a>,
    pool: Pool,
    seed: u64,
}

enum Pool {
    Uniform,
    /// Cumulative weights of the documents that may be drawn.
    Popularity(Vec<f64>),
    /// Documents by query.
    Hard(Vec<Vec<u32>>),
    /// Preferences from impressions.
    Shown(Shown),
}

/// Preferences by query, drawn in proportion to how often they were shown.
struct Shown {
    preferences: Vec<Preference>,
    /// Cumulative counts.
    sums: Vec<u64>,
    /// The index of the first preference of every query.
    starts: Vec<usize>,
}

impl Shown {
    fn new(preferences: Vec<Preference>, n_queries: usize) -> Self {
        let mut sum = 0;
        let sums = preferences.iter().map(|preference| {
            sum += preference.count;
            sum
        });
        let sums = sums.collect();
        let start = |query: u32| preferences.partition_point(|p| p.query < query);
        let starts = (0..=n_queries as u32).map(start).collect();
        Shown { preferences, sums, starts }
    }

    /// A preference of the query; `None` if it has none.
    fn draw(&self, query: u32, random: &mut Random) -> Option<Preference> {
        let (start, end) = (self.starts[query as usize], self.starts[query as usize + 1]);
        if start == end {
            return None;
        }
        let before = start.checked_sub(1).map_or(0, |last| self.sums[last]);
        let point = before + random.below(self.sums[end - 1] - before);
        let at = start + self.sums[start..end].partition_point(|&sum| sum <= point);
        Some(self.preferences[at])
    }
}

/// A triple with its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drawn {
    pub triple: Triple,
    /// Whether it is a preference from impressions.
    pub shown: bool,
}

impl<'a> Draws<'a> {
    /// `x` and `y` are the words of queries and documents; nothing can be learnt from those without
    /// any.
    pub fn of(params: &Ssi, counts: &'a Counts, x: &Csr, y: &Csr, run: &Run<'_>) -> Result<Self> {
        let unclicked = Unclicked::of(counts, y);
        let mut pairs: Vec<(u32, u32)> = (0u32..)
            .zip(counts.clicks.rows())
            .filter(|&(query, _)| !x.row(query as usize).is_empty())
            .flat_map(|(query, row)| {
                row.iter().filter(|&(_, clicks)| clicks > 0.0).map(move |(doc, _)| (query, doc))
            })
            .filter(|&(_, doc)| unclicked.is_free(doc))
            .collect();
        if pairs.is_empty() {
            return Err(no_training_clicks());
        }
        pairs.par_sort_unstable_by_key(|&(query, doc)| (query, unclicked.place(doc)));
        let mut draws = Draws { counts, pairs, unclicked, pool: Pool::Uniform, seed: params.seed };
        match params.negative {
            Negative::Uniform => {}
            Negative::Popularity => draws.pool = draws.popular(params.alpha),
            Negative::Bm25 => draws.pool = draws.hard(params.hard, run)?,
            Negative::Impressions => draws.pool = draws.shown(params.next, run)?,
        }
        Ok(draws)
    }

    /// The number of clicked pairs.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The queries that triples are drawn for, once for each of their pairs.
    pub fn queries(&self) -> impl Iterator<Item = u32> {
        self.unclicked.with_others(self.pairs.iter().map(|&(query, _)| query))
    }

    /// The documents that may be drawn.
    pub fn documents(&self) -> impl Iterator<Item = u32> {
        self.unclicked.free().iter().copied()
    }

    /// Triple number `number`; `None` if every document was clicked for its query.
    pub fn draw(&self, number: u64) -> Option<Drawn> {
        let mut random = Random::new(self.seed, FIRST_STREAM + number);
        let (query, good) = self.pairs[random.below(self.pairs.len() as u64) as usize];
        if let Pool::Shown(shown) = &self.pool
            && let Some(Preference { good, bad, .. }) = shown.draw(query, &mut random)
        {
            return Some(Drawn { triple: Triple { query, good, bad }, shown: true });
        }
        let bad = self.negative(query, &mut random)?;
        Some(Drawn { triple: Triple { query, good, bad }, shown: false })
    }

    /// A note on the source of negatives for the report.
    pub fn note(&self) -> Option<String> {
        let Pool::Shown(shown) = &self.pool else { return None };
        let queries = shown.starts.windows(2).filter(|both| both[0] < both[1]).count();
        Some(format!(
            "{} of {} from impressions, shown {}",
            counted(shown.preferences.len(), "preference pair"),
            counted(queries, "query"),
            counted(shown.sums.last().unwrap_or(&0), "time")
        ))
    }

    /// A note for the report on `all` triples, `shown` of which came from impressions.
    pub fn sources(&self, all: u64, shown: u64) -> Option<String> {
        matches!(self.pool, Pool::Shown(_)).then(|| {
            format!(
                "{shown} triples from impressions, {} from queries without preferences, with any unclicked document",
                all - shown
            )
        })
    }

    fn negative(&self, query: u32, random: &mut Random) -> Option<u32> {
        match &self.pool {
            Pool::Hard(hard) if !hard[query as usize].is_empty() => {
                let hard = &hard[query as usize];
                Some(hard[random.below(hard.len() as u64) as usize])
            }
            Pool::Popularity(sums) => self.unclicked.draw_by(query, random, |random| {
                let point = random.uniform() * sums[sums.len() - 1];
                sums.partition_point(|&sum| sum <= point).min(sums.len() - 1)
            }),
            _ => self.unclicked.draw(query, random),
        }
    }

    fn popular(&self, alpha: f64) -> Pool {
        let clicks = self.counts.clicks_by_document();
        let mut sum = 0.0;
        let of = |&doc: &u32| {
            sum += clicks[doc as usize].powf(alpha);
            sum
        };
        Pool::Popularity(self.unclicked.free().iter().map(of).collect())
    }

    /// The preferences whose clicks are in training and whose documents may be drawn.
    fn shown(&self, next: bool, run: &Run<'_>) -> Result<Pool> {
        run.step("preferences from impressions", 0, None)?;
        let impressions = self.counts.impressions.open()?;
        let missing = match (impressions.is_empty(), impressions.has_ranks()) {
            (true, _) => "no impressions: its log has clicks, but not the results that were shown",
            (_, false) => "impressions without ranks, from which no preferences follow",
            _ => "",
        };
        if !missing.is_empty() {
            return Err(Error::Empty {
                what: format!("negative = \"impressions\": the dataset has {missing}"),
                advice: "import a log with columns for `clicked` and `rank` (`events = FILE`), or take `negative = uniform`".into(),
            });
        }
        let mut preferences = impressions.preferences(next);
        // Clicks that the filter of the import dropped are still clicks.
        let clicked = ImpressionCounts::of(&impressions, self.counts.n_queries(), run)?.pairs;
        let unclicked = &self.unclicked;
        preferences.retain(|&Preference { query, good, bad, .. }| {
            let ordered = unclicked.clicked(query, good) && !unclicked.clicked(query, bad);
            ordered
                && unclicked.is_free(good)
                && unclicked.is_free(bad)
                && clicked.binary_search(&(query, bad)).is_err()
        });
        if preferences.is_empty() {
            return Err(Error::Empty {
                what: "negative = \"impressions\": no unclicked result is above a clicked one".into(),
                advice: match next {
                    true => "each impression seems to have one result: import with columns for results shown together (page, session, user or time), or set negative = \"uniform\"",
                    false => "set next = true, or negative = \"uniform\"",
                }
                .into(),
            });
        }
        let place = |doc: u32| unclicked.place(doc);
        preferences.par_sort_unstable_by_key(|p| (p.query, place(p.good), place(p.bad)));
        Ok(Pool::Shown(Shown::new(preferences, self.counts.n_queries())))
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
                let free = self.unclicked.free().iter().copied();
                let found = free.filter(|&doc| scores[doc as usize] > 0.0);
                let mut docs: Vec<u32> =
                    found.filter(|&doc| self.unclicked.is_other(query as u32, doc)).collect();
                let order = |a: &u32, b: &u32| {
                    let by_score = scores[*b as usize].total_cmp(&scores[*a as usize]);
                    by_score.then(self.unclicked.place(*a).cmp(&self.unclicked.place(*b)))
                };
                select_sorted(&mut docs, n, order);
                Ok(docs)
            })
            .collect();
        Ok(Pool::Hard(lists?))
    }
}
