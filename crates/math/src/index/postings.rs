//! Search among sparse vectors of documents by dot product: an inverted index ordered by impact.
//!
//! Methods for queries of a few words skip documents that cannot be among the best (WAND, MaxScore).
//! A learnt query may have thousands of features, most of little weight, and then next to no document
//! can be skipped. So a search reads a limited number of postings, those that can add most to a score,
//! and returns the documents with the largest sums (score at a time; Anh and Moffat, 2006). The sums
//! lack what was not read: the caller scores the documents anew. [`PostingIndex::measure`] finds the
//! number of postings that reaches a wanted recall.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::DocSet;
use crate::sparse::{Csr, Row};
use crate::top_k::select;
use crate::{Result, Run};

/// A list is cut into this many levels of falling values; only whole levels are read.
const LEVELS: usize = 8;
/// The largest value in a level, as a share of the largest in the list.
const LARGEST: [f32; LEVELS] = [1.0, 0.5, 0.25, 0.125, 0.0625, 0.031_25, 0.015_625, 0.007_812_5];
/// Impacts are counted in buckets by their exponent and two bits of mantissa.
const BUCKETS: usize = 1 << 10;
/// The same for sums, which may be negative.
const ORDERED_BUCKETS: usize = 1 << 11;
/// Lists per task.
const LISTS_PER_TASK: usize = 1024;
/// The smallest number of postings that [`PostingIndex::measure`] tries.
const FEWEST: u64 = 1 << 12;

/// The inverted index.
pub struct PostingIndex {
    n_docs: usize,
    bounds: Vec<ListBound>,
    lists: Vec<ListRange>,
    docs: Vec<u32>,
    values: Vec<f32>,
    /// Workspaces that no search uses at the moment.
    free: Mutex<Vec<Workspace>>,
}

/// The upper bound of a list, which excludes most of the thousands of features of a query without
/// reading their lists.
#[derive(Clone, Copy)]
struct ListBound {
    /// The largest absolute value.
    largest: f32,
    /// The number of postings in the first level.
    first: u32,
}

/// Where the postings of a feature are, in one line of cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct ListRange {
    start: u64,
    /// Where the levels end, from the start.
    ends: [u32; LEVELS],
}

impl ListBound {
    /// The largest absolute value that a posting adds to the score of a query with this weight.
    fn impact(&self, weight: f32) -> f32 {
        let largest = weight.abs() * self.largest;
        if largest.is_finite() { largest } else { 0.0 }
    }
}

/// The features and the lowest bucket of impacts that a search reads.
struct Selection {
    /// Features that may have postings to read, with their weight and largest impact.
    features: Vec<(u32, f32, f32)>,
    /// The lowest bucket of impacts that is read.
    cut: usize,
    /// The number of postings in this bucket and above.
    read: u64,
}

/// The workspace of a search.
struct Workspace {
    /// The sum of every document, 0 between searches.
    sums: Vec<f32>,
    /// The documents found.
    docs: Vec<u32>,
}

impl Workspace {
    fn new(n_docs: usize) -> Self {
        Workspace { sums: vec![0.0; n_docs], docs: Vec::new() }
    }
}

/// The measured recall and cost of a [`PostingIndex`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostingReport {
    /// The most postings that a search reads.
    pub postings: u64,
    /// The share of the 10 best documents that are among the candidates.
    pub recall_at_10: f64,
    /// The same of the 100 best.
    pub recall_at_100: f64,
    /// The number of queries in the measurement.
    pub queries: usize,
}

impl PostingIndex {
    /// The index of `lists`, features × documents.
    pub fn new(lists: &Csr) -> Self {
        let n = lists.n_rows();
        let tasks: Vec<Vec<ListPostings>> = (0..n.div_ceil(LISTS_PER_TASK))
            .into_par_iter()
            .map(|task| {
                let first = task * LISTS_PER_TASK;
                let rows = first..(first + LISTS_PER_TASK).min(n);
                rows.map(|f| ListPostings::of(lists.row(f))).collect()
            })
            .collect();
        let mut index = PostingIndex {
            n_docs: lists.n_cols(),
            bounds: Vec::with_capacity(n),
            lists: Vec::with_capacity(n),
            docs: Vec::with_capacity(lists.nnz()),
            values: Vec::with_capacity(lists.nnz()),
            free: Mutex::default(),
        };
        for ListPostings { largest, ends, docs, values } in tasks.into_iter().flatten() {
            index.bounds.push(ListBound { largest, first: ends[0] });
            index.lists.push(ListRange { start: index.docs.len() as u64, ends });
            index.docs.extend(docs);
            index.values.extend(values);
        }
        index
    }

    /// The number of documents.
    pub fn n_docs(&self) -> usize {
        self.n_docs
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        let per_feature = size_of::<ListBound>() + size_of::<ListRange>();
        (per_feature * self.lists.len() + 8 * self.docs.len()) as u64
    }

    /// The `k` documents with the largest sums, in no order, from about `most` postings of the largest
    /// impact; only those in `allowed`, if it is given. All postings of documents are read if they
    /// are no more than `most`.
    ///
    /// # Panics
    /// If the query has a feature without a list.
    pub fn candidates(
        &self,
        query: Row<'_>,
        k: usize,
        most: u64,
        allowed: Option<&DocSet>,
    ) -> Vec<u32> {
        let Selection { features, cut, read } = self.select(query, most);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut search = free.unwrap_or_else(|| Workspace::new(self.n_docs));
        let Workspace { sums, docs } = &mut search;
        // One more than the postings, for what is written but not counted.
        docs.resize(docs.len().max(read as usize + 1), 0);
        let mut n = 0;
        for (feature, weight, largest) in features {
            let list = &self.lists[feature as usize];
            let levels = LARGEST.iter().take_while(|&&share| bucket(largest * share) >= cut);
            let Some(last) = levels.count().checked_sub(1) else { continue };
            let start = list.start as usize;
            let read = start..start + list.ends[last] as usize;
            for (&doc, &value) in self.docs[read.clone()].iter().zip(&self.values[read]) {
                let sum = &mut sums[doc as usize];
                docs[n] = doc;
                // A branch would be mispredicted half the time.
                n += usize::from(*sum == 0.0);
                *sum += weight * value;
            }
        }
        let mut found = Vec::with_capacity(n);
        let mut lengths = vec![0u32; ORDERED_BUCKETS];
        for &doc in &docs[..n] {
            // A sum that was 0 in between is found twice, and is 0 the second time.
            let sum = std::mem::take(&mut sums[doc as usize]);
            if sum != 0.0 && allowed.is_none_or(|allowed| allowed.contains(doc)) {
                lengths[ordered_bucket(sum)] += 1;
                found.push((doc, sum));
            }
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(search);
        // Those in buckets below that of the k-th are not among the best.
        let mut above = 0;
        let last = lengths.iter().rposition(|&length| {
            above += length as usize;
            above >= k
        });
        found.retain(|&(_, sum)| ordered_bucket(sum) >= last.unwrap_or(0));
        select(&mut found, k, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.into_iter().map(|(doc, _)| doc).collect()
    }

    /// Selects the postings that a search of `query` for about `most` postings reads.
    fn select(&self, query: Row<'_>, most: u64) -> Selection {
        // The first levels alone say which features are not read at all.
        let mut lengths = [0u64; BUCKETS];
        for (feature, weight) in query.iter() {
            let bound = &self.bounds[feature as usize];
            lengths[bucket(bound.impact(weight))] += u64::from(bound.first);
        }
        let (at_least, _) = cut(&lengths, most, 1);
        let mut features = Vec::new();
        let mut lengths = [0u64; BUCKETS];
        for (feature, weight) in query.iter() {
            let largest = self.bounds[feature as usize].impact(weight);
            if bucket(largest) < at_least {
                continue;
            }
            features.push((feature, weight, largest));
            let mut start = 0;
            for (&end, share) in self.lists[feature as usize].ends.iter().zip(LARGEST) {
                lengths[bucket(largest * share)] += u64::from(end - start);
                start = end;
            }
        }
        let (cut, read) = cut(&lengths, most, at_least);
        Selection { features, cut, read }
    }

    /// The smallest number of postings with which [`PostingIndex::candidates`] finds the share `wanted`
    /// of the best documents: `best` has the best hundred of each query, best first, and
    /// `candidates` the documents found for a query with a number of postings.
    pub fn measure(
        &self,
        wanted: f64,
        best: &[Vec<u32>],
        candidates: impl Fn(usize, u64) -> Vec<u32> + Sync,
        run: &Run<'_>,
    ) -> Result<PostingReport> {
        let all = self.docs.len() as u64;
        let mut postings = FEWEST;
        loop {
            run.step("recall of candidates", 0, None)?;
            let shares = best.par_iter().enumerate().map(|(query, best)| {
                let found: DocSet = candidates(query, postings).into_iter().collect();
                [10, 100].map(|k| {
                    let best = &best[..best.len().min(k)];
                    let there = best.iter().filter(|&&doc| found.contains(doc)).count();
                    if best.is_empty() { 1.0 } else { there as f64 / best.len() as f64 }
                })
            });
            let shares: Vec<[f64; 2]> = shares.collect();
            let mean = |k: usize| {
                shares.iter().map(|share| share[k]).sum::<f64>() / shares.len().max(1) as f64
            };
            let [recall_at_10, recall_at_100] = [mean(0), mean(1)];
            if postings >= all || recall_at_10.min(recall_at_100) >= wanted || shares.is_empty() {
                let queries = shares.len();
                return Ok(PostingReport { postings, recall_at_10, recall_at_100, queries });
            }
            postings = (postings + postings / 2).min(all);
        }
    }
}

/// The postings of one feature, by level.
struct ListPostings {
    largest: f32,
    ends: [u32; LEVELS],
    docs: Vec<u32>,
    values: Vec<f32>,
}

impl ListPostings {
    fn of(row: Row<'_>) -> Self {
        let largest = row.values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        let level_of = |value: f32| {
            let fits = |&&share: &&f32| value.abs() <= largest * share;
            LARGEST[1..].iter().take_while(fits).count()
        };
        let mut ends = [0u32; LEVELS];
        for &value in row.values {
            ends[level_of(value)] += 1;
        }
        let mut next = [0; LEVELS];
        for level in 1..LEVELS {
            next[level] = ends[level - 1] as usize;
            ends[level] += ends[level - 1];
        }
        let (mut docs, mut values) = (vec![0; row.len()], vec![0.0; row.len()]);
        for (doc, value) in row.iter() {
            let at = &mut next[level_of(value)];
            (docs[*at], values[*at]) = (doc, value);
            *at += 1;
        }
        ListPostings { largest, ends, docs, values }
    }
}

/// The lowest bucket of impacts with which no more than `most` postings are read, and their number:
/// however few are asked for, those of the largest impact are read, and none below `at_least`. Impacts of
/// zero, in the first bucket, add nothing.
fn cut(lengths: &[u64; BUCKETS], most: u64, at_least: usize) -> (usize, u64) {
    let mut read = 0;
    for at in (at_least..BUCKETS).rev() {
        if read > 0 && read + lengths[at] > most {
            return (at + 1, read);
        }
        read += lengths[at];
    }
    (at_least, read)
}

/// The bucket of an impact; larger ones are in later buckets, and 0 in the first.
fn bucket(impact: f32) -> usize {
    (impact.to_bits() >> 21) as usize
}

/// The bucket of a sum; larger ones are in later buckets or in the same.
fn ordered_bucket(sum: f32) -> usize {
    let bits = sum.to_bits();
    let ordered = if sum.is_sign_negative() { !bits } else { bits | 1 << 31 };
    (ordered >> 21) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{sparse, sparse_triple};

    /// The exact sums of all documents.
    fn sums(lists: &Csr, query: Row<'_>) -> Vec<f64> {
        let mut sums = vec![0.0; lists.n_cols()];
        for (feature, weight) in query.iter() {
            for (doc, value) in lists.row(feature as usize).iter() {
                sums[doc as usize] += f64::from(weight) * f64::from(value);
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn with_all_postings_the_candidates_are_the_best(
            (queries, _, lists) in sparse_triple(), k in 1usize..8, keep in 1u32..4,
        ) {
            let index = PostingIndex::new(&lists);
            let allowed: DocSet = (0..lists.n_cols() as u32).filter(|doc| doc % keep == 0).collect();
            for query in queries.rows() {
                let (indices, values): (Vec<u32>, Vec<f32>) =
                    query.iter().filter(|&(f, _)| (f as usize) < lists.n_rows()).unzip();
                let query = Row { indices: &indices, values: &values };
                let exact = sums(&lists, query);
                // Twice: the sums of the first search must not be left over.
                for _ in 0..2 {
                    let found = index.candidates(query, k, u64::MAX, Some(&allowed));
                    prop_assert!(found.len() <= k);
                    prop_assert!(found.iter().all(|&doc| allowed.contains(doc)));
                    let worst = found.iter().map(|&doc| exact[doc as usize]).fold(f64::INFINITY, f64::min);
                    for doc in allowed.iter().filter(|doc| !found.contains(doc)) {
                        let sum = exact[doc as usize];
                        let scale = 1e-4 * (1.0 + sum.abs());
                        prop_assert!(sum <= worst + scale || sum.abs() < scale, "{doc} is missing");
                    }
                }
            }
        }

        #[test]
        fn the_postings_read_are_those_of_the_largest_impact(
            lists in sparse(1..9, 1..40), weights in prop::collection::vec(-3.0f32..3.0, 8), most in 1u64..60,
        ) {
            let index = PostingIndex::new(&lists);
            let indices: Vec<u32> = (0..lists.n_rows() as u32).collect();
            let query = Row { indices: &indices, values: &weights[..indices.len()] };
            let Selection { features, cut, read: expected } = index.select(query, most);
            let selected: Vec<u32> = features.iter().map(|&(feature, ..)| feature).collect();
            // Every list is a permutation of its row, with its large values first.
            let (mut read, mut buckets) = (0, Vec::new());
            for (feature, weight) in query.iter() {
                let list = &index.lists[feature as usize];
                let bound = &index.bounds[feature as usize];
                let largest = bound.impact(weight);
                for (level, share) in LARGEST.into_iter().enumerate() {
                    let begin = if level == 0 { 0 } else { list.ends[level - 1] };
                    let span = [begin, list.ends[level]].map(|at| list.start as usize + at as usize);
                    let span = span[0]..span[1];
                    let within = bucket(largest * share) >= cut;
                    if within && !span.is_empty() {
                        prop_assert!(selected.contains(&feature));
                        read += span.len() as u64;
                        buckets.push(bucket(largest * share));
                    }
                    for &value in &index.values[span] {
                        prop_assert!(value.abs() <= bound.largest * share);
                        let skipped = bucket((weight * value).abs() * 0.999) >= cut;
                        prop_assert!(within || !skipped);
                    }
                }
                let span = list.start as usize..list.start as usize + list.ends[LEVELS - 1] as usize;
                let mut stored: Vec<(u32, f32)> =
                    index.docs[span.clone()].iter().copied().zip(index.values[span].iter().copied()).collect();
                stored.sort_by_key(|&(doc, _)| doc);
                prop_assert_eq!(stored, lists.row(feature as usize).iter().collect::<Vec<_>>());
            }
            prop_assert_eq!(read, expected);
            buckets.dedup();
            prop_assert!(read <= most || buckets.len() == 1, "{read} of {most}, {buckets:?}");
        }
    }

    #[test]
    fn a_small_limit_reads_little_and_measuring_raises_it_to_the_wanted_recall() {
        // Document d has the value 1/(1 + d) for feature d % 3, so that the best come first.
        let n = 60_000;
        let entries = (0..n).map(|doc| (doc % 3, doc, 1.0 / (1.0 + doc as f32)));
        let lists = Csr::from_triplets(3, n as usize, entries.collect()).unwrap();
        let index = PostingIndex::new(&lists);
        let query = Row { indices: &[0, 1, 2], values: &[1.0, 1.0, 1.0] };
        let few = index.candidates(query, n as usize, 1, None);
        assert!(few.contains(&0) && few.len() < 10, "{few:?}");
        let best: Vec<u32> = (0..100).collect();
        let find = |_: usize, postings| index.candidates(query, 200, postings, None);
        let report = index.measure(0.97, &[best], find, &Run::silent()).unwrap();
        assert_eq!((report.recall_at_10, report.recall_at_100, report.queries), (1.0, 1.0, 1));
        assert_eq!(report.postings, FEWEST);
        // Nothing that is found is ever enough: all postings are read.
        let nothing = index.measure(0.97, &[vec![1]], |_, _| Vec::new(), &Run::silent()).unwrap();
        assert_eq!((nothing.postings, nothing.recall_at_10), (u64::from(n), 0.0));
    }
}
