//! A ranking task: the judged queries, the documents that are ranked for each, and their grades.

use std::borrow::Cow;
use std::collections::HashSet;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ideal, Measure, Variant};
use crate::data::{Dataset, SplitBy};
use crate::features::Counts;
use crate::matchers::Score;
use crate::params::as_text;
use crate::random::Random;
use crate::ranking::{Hit, top_k};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// The most queries of a validation score: enough to choose a sweep, and cheaper than the sweep.
const SCORED_QUERIES: usize = 1000;

/// Sampled documents are kept in memory up to this number (512 MiB); beyond, they are sampled again
/// on every use.
const MOST_KEPT: u64 = 1 << 27;

/// Seed of the sampled documents and queries, the same for all models.
const SEED: u64 = 1;

/// The documents that are ranked for a query. As text: `auto`, `all`, `judged`, `sampled:10000`,
/// `sampled:10000:1000`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Candidates {
    /// The judged documents if at least half of the queries have some judged not relevant, else all.
    #[default]
    Auto,
    /// All documents; those without a judgment count as not relevant.
    All,
    /// The judged documents of the query alone, as in the RMLS papers.
    Judged,
    /// The judged documents of the query and a sample of the others: cheaper than all.
    Sampled {
        /// The number of others, at most.
        docs: usize,
        /// The number of queries, if not all, which are sampled as well.
        queries: Option<usize>,
    },
}

impl std::fmt::Display for Candidates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Candidates::Auto => f.write_str("auto"),
            Candidates::All => f.write_str("all"),
            Candidates::Judged => f.write_str("judged"),
            Candidates::Sampled { docs, queries: None } => write!(f, "sampled:{docs}"),
            Candidates::Sampled { docs, queries: Some(n) } => write!(f, "sampled:{docs}:{n}"),
        }
    }
}

impl std::str::FromStr for Candidates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let expected = "auto, all, judged, sampled:DOCUMENTS or sampled:DOCUMENTS:QUERIES";
        let wrong = || Error::parameter("candidates", text, expected);
        let number = |text: &str| text.parse().ok().filter(|&n: &usize| n > 0).ok_or_else(wrong);
        match text {
            "auto" => Ok(Candidates::Auto),
            "all" => Ok(Candidates::All),
            "judged" => Ok(Candidates::Judged),
            _ => {
                let numbers = text.strip_prefix("sampled:").ok_or_else(wrong)?;
                let (docs, queries) = match numbers.split_once(':') {
                    None => (numbers, None),
                    Some((docs, queries)) => (docs, Some(number(queries)?)),
                };
                Ok(Candidates::Sampled { docs: number(docs)?, queries })
            }
        }
    }
}

as_text!(Candidates);

impl Candidates {
    /// Resolves `Auto` by the judgments.
    pub fn resolve(self, judged: &Csr) -> Candidates {
        if self != Candidates::Auto {
            return self;
        }
        let rows = || judged.rows().filter(|row| !row.is_empty());
        let with_bad = rows().filter(|row| row.values.iter().any(|&grade| grade <= 0.0)).count();
        if with_bad * 2 >= rows().count().max(1) { Candidates::Judged } else { Candidates::All }
    }
}

/// A held-out part of the split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HeldOut {
    /// For the choice of hyperparameters, of weights, and for early stopping.
    Validation,
    /// For reporting, after every choice.
    #[default]
    Test,
}

/// Refuses validation that cannot choose by `measure`: no query has a relevant document, so that every
/// choice would score the same. `what_for` ends the message.
pub fn check_choice(
    dataset: &Dataset,
    measure: Measure,
    variant: &Variant,
    what_for: &str,
    advice: &str,
) -> Result<()> {
    let from = variant.relevant_from;
    let (counts, grade): (&dyn Fn(f32) -> bool, String) = match measure {
        // These do not depend on relevance.
        Measure::Judged { .. } | Measure::RankLoss => return Ok(()),
        Measure::Ndcg { .. } | Measure::Err { .. } => (&|g| g > 0.0, "a grade above 0".into()),
        _ => (&|g| g >= from, format!("a grade of {from} or more")),
    };
    if dataset.validation.values().iter().any(|&grade| counts(grade)) {
        return Ok(());
    }
    let path = dataset.folder.path.display();
    Err(Error::Empty {
        what: format!("no validation query of {path} has a relevant document ({grade}){what_for}"),
        advice: advice.to_owned(),
    })
}

/// A held-out part of a dataset, ready to be ranked and measured.
pub struct Task<'a> {
    judged: &'a Csr,
    /// By place of the query, the documents that are not ranked for it, sorted.
    excluded: Vec<Cow<'a, [u32]>>,
    candidates: Candidates,
    queries: Vec<u32>,
    /// By place of the query, the stream of random numbers for its sample of documents.
    streams: Vec<u64>,
    /// By place of the query, the sampled candidates; empty unless they are kept.
    sampled: Vec<Vec<u32>>,
    tie_rank: Vec<u32>,
    variant: Variant,
}

impl<'a> Task<'a> {
    /// The part `held_out` of `dataset`; `counts` are those of its text.
    pub fn new(
        dataset: &'a Dataset,
        held_out: HeldOut,
        counts: &Counts,
        candidates: Candidates,
        variant: Variant,
    ) -> Self {
        let (judged, other) = match held_out {
            HeldOut::Validation => (&dataset.validation, &dataset.test),
            HeldOut::Test => (&dataset.test, &dataset.validation),
        };
        let is_task = dataset.about().task.is_some();
        let mut queries: Vec<u32> =
            (0..judged.n_rows() as u32).filter(|&i| !judged.row(i as usize).is_empty()).collect();
        // The numbers of a task's queries depend on its training links, and the sample must not: so
        // its stream is the query's place among the judged ones.
        let mut streams: Vec<u64> = match is_task {
            true => (0..queries.len() as u64).collect(),
            false => queries.iter().map(|&query| u64::from(query)).collect(),
        };
        let candidates = candidates.resolve(judged);
        if let Candidates::Sampled { queries: Some(most), .. } = candidates
            && most < queries.len()
        {
            let mut places: Vec<usize> = (0..queries.len()).collect();
            Random::new(SEED, u64::MAX).shuffle(&mut places);
            places.truncate(most);
            places.sort_unstable();
            queries = places.iter().map(|&place| queries[place]).collect();
            streams = places.iter().map(|&place| streams[place]).collect();
        }
        let excluded = queries.iter().map(|&query| {
            let clicks = dataset.clicks.row(query as usize).indices;
            if is_task {
                // Links of other parts of the split are known to be true.
                let more = [other, &dataset.set_aside].map(|links| links.row(query as usize));
                let own = counts.own_documents.get(query as usize).copied();
                let more = more.into_iter().flat_map(|row| row.indices).copied().chain(own);
                let mut known: Vec<u32> = clicks.iter().copied().chain(more).collect();
                known.sort_unstable();
                known.dedup();
                return Cow::Owned(known);
            }
            // In a split by pairs, a query's training documents are known.
            let by_pairs = dataset.about().split.by == SplitBy::Edges;
            Cow::Borrowed(if by_pairs { clicks } else { &[] })
        });
        let excluded = excluded.collect();
        let tie_rank = variant.ties.rank(&counts.doc_ids);
        // Every judged document is a candidate, so both ideals are equal; this one needs the best
        // documents alone.
        let variant = Variant { ideal: Ideal::Judgments, ..variant };
        let sampled = Vec::new();
        let mut task =
            Task { judged, excluded, candidates, queries, streams, sampled, tie_rank, variant };
        if let Candidates::Sampled { docs, .. } = candidates {
            let places = 0..task.queries.len();
            if places.clone().map(|place| task.n_docs(place) as u64).sum::<u64>() <= MOST_KEPT {
                task.sampled = places.into_par_iter().map(|at| task.sample(at, docs)).collect();
            }
        }
        task
    }

    /// The judged queries.
    pub fn queries(&self) -> &[u32] {
        &self.queries
    }

    /// The candidates: never [`Candidates::Auto`].
    pub fn candidates(&self) -> Candidates {
        self.candidates
    }

    /// The documents to be ranked for the query at `place`; `None` means all.
    pub fn docs(&self, place: usize) -> Option<Cow<'_, [u32]>> {
        match self.candidates {
            Candidates::Judged => Some(Cow::Borrowed(self.grades(place).indices)),
            Candidates::Sampled { docs, .. } => Some(match self.sampled.get(place) {
                Some(sampled) => Cow::Borrowed(sampled),
                None => Cow::Owned(self.sample(place, docs)),
            }),
            Candidates::All | Candidates::Auto => None,
        }
    }

    /// The judged documents of the query at `place` and `n` others, sorted.
    fn sample(&self, place: usize, n: usize) -> Vec<u32> {
        let judged = self.grades(place).indices;
        let mut excluded = [&*self.excluded[place], judged].concat();
        excluded.sort_unstable();
        excluded.dedup();
        let mut random = Random::new(SEED, self.streams[place]);
        let mut docs = judged.to_vec();
        docs.extend(sample(n, self.tie_rank.len(), &excluded, &mut random));
        docs.sort_unstable();
        docs
    }

    /// The number of documents that are ranked for the query at `place`.
    fn n_docs(&self, place: usize) -> usize {
        let (all, judged) = (self.tie_rank.len(), self.grades(place));
        match self.candidates {
            Candidates::Judged => judged.len(),
            Candidates::Sampled { docs, .. } => {
                let others = self.excluded[place].iter().filter(|&&doc| !judged.contains(doc));
                judged.len() + docs.min(all - judged.len() - others.count())
            }
            Candidates::All | Candidates::Auto => all,
        }
    }

    /// The grades of the query at `place`.
    pub fn grades(&self, place: usize) -> Row<'a> {
        self.judged.row(self.queries[place] as usize)
    }

    /// The documents that are not ranked for the query at `place`, sorted.
    pub fn excluded(&self, place: usize) -> &[u32] {
        &self.excluded[place]
    }

    /// Ranks the candidates `docs` of the query at `place` (see [`Task::docs`]) by their `scores`, and
    /// measures the ranking.
    pub fn measure(
        &self,
        measures: &[Measure],
        place: usize,
        docs: Option<&[u32]>,
        scores: &[f32],
    ) -> Vec<Option<f64>> {
        let depths = measures.iter().map(|measure| measure.depth().unwrap_or(usize::MAX));
        let k = depths.max().unwrap_or(usize::MAX);
        let hits = match docs {
            None => top_k(scores, k, &self.tie_rank, &self.excluded[place]),
            Some(docs) => {
                let ties: Vec<u32> = docs.iter().map(|&doc| self.tie_rank[doc as usize]).collect();
                let hits = top_k(scores, k, &ties, &[]);
                hits.into_iter().map(|hit| Hit { doc: docs[hit.doc as usize], ..hit }).collect()
            }
        };
        let judged = self.grades(place);
        measures.iter().map(|measure| measure.of(&hits, judged, &self.variant)).collect()
    }

    /// The places of the queries of a validation score.
    fn scored_places(&self) -> impl Iterator<Item = usize> + use<> {
        let n = self.queries.len();
        (0..n).step_by(n.div_ceil(SCORED_QUERIES).max(1))
    }

    /// The number of documents that a validation score ranks.
    pub(crate) fn n_scored(&self) -> u64 {
        self.scored_places().map(|place| self.n_docs(place) as u64).sum()
    }

    /// The validation scorer of a fit: the mean `measure`, over a part of the queries if there are very
    /// many. `None` without queries.
    pub fn validation_scorer(&self, measure: Measure) -> Option<impl Fn(&Score<'_>) -> f64> {
        let places: Vec<usize> = self.scored_places().collect();
        let scorer = move |score: &Score<'_>| {
            let values: Vec<Option<f64>> = places
                .par_iter()
                .map(|&place| {
                    let docs = self.docs(place);
                    let scores = score(self.queries[place], docs.as_deref());
                    self.measure(&[measure], place, docs.as_deref(), &scores)[0]
                })
                .collect();
            super::significance::mean(&values.into_iter().flatten().collect::<Vec<_>>())
        };
        (!self.queries.is_empty()).then_some(scorer)
    }
}

/// `n` distinct numbers below `all`, or as many as there are, none of them among the sorted `excluded`;
/// in ascending order (Floyd's sampling).
fn sample(n: usize, all: usize, excluded: &[u32], random: &mut Random) -> Vec<u32> {
    let left = all - excluded.len();
    let n = n.min(left);
    let mut taken: HashSet<usize> = HashSet::with_capacity(n);
    for last in left - n..left {
        let drawn = random.below(last as u64 + 1) as usize;
        if !taken.insert(drawn) {
            taken.insert(last);
        }
    }
    let mut drawn: Vec<usize> = taken.into_iter().collect();
    drawn.sort_unstable();
    // The i-th number that is not excluded is i plus the number of excluded ones before it.
    let mut before = 0;
    let placed = drawn.into_iter().map(|i| {
        while excluded.get(before).is_some_and(|&b| (b as usize) <= i + before) {
            before += 1;
        }
        (i + before) as u32
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_text_in_files() {
        for text in ["auto", "all", "judged", "sampled:10000", "sampled:10000:1000"] {
            let candidates: Candidates = text.parse().unwrap();
            assert_eq!(candidates.to_string(), text);
            let json = serde_json::to_string(&candidates).unwrap();
            assert_eq!(serde_json::from_str::<Candidates>(&json).unwrap(), candidates);
        }
        for text in ["", "All", "sampled", "sampled:", "sampled:0", "sampled:5:0", "sampled:5:x"] {
            let error = text.parse::<Candidates>().unwrap_err().to_string();
            assert!(error.contains("sampled:DOCUMENTS"), "{error}");
        }
    }

    #[test]
    fn samples_are_distinct_numbers_that_are_not_excluded() {
        let excluded = [0, 3, 4, 9];
        let free = [1, 2, 5, 6, 7, 8, 10, 11];
        let mut seen = [0u32; 12];
        for seed in 0..2000 {
            let drawn = sample(3, 12, &excluded, &mut Random::new(seed, 0));
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn.len() == 3);
            drawn.iter().for_each(|&doc| seen[doc as usize] += 1);
        }
        // Each of the eight in 3 of 8 draws.
        assert!(free.iter().all(|&doc| (650..850).contains(&seen[doc])), "{seen:?}");
        assert!(excluded.iter().all(|&doc| seen[doc as usize] == 0), "{seen:?}");
        let all = sample(99, 12, &excluded, &mut Random::new(1, 0));
        assert_eq!(all, free.map(|doc| doc as u32));
        assert!(sample(5, 4, &[0, 1, 2, 3], &mut Random::new(1, 0)).is_empty());
    }

    #[test]
    fn judged_candidates_are_chosen_when_bad_documents_are_judged() {
        let good = Csr::from_triplets(2, 2, vec![(0, 0, 1.0), (1, 1, 2.0)]).unwrap();
        let pooled = Csr::from_triplets(2, 2, vec![(0, 0, 1.0), (0, 1, 0.0)]).unwrap();
        assert_eq!(Candidates::Auto.resolve(&good), Candidates::All);
        assert_eq!(Candidates::Auto.resolve(&pooled), Candidates::Judged);
    }
}
