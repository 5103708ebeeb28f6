//! The split into training, validation and test.
//!
//! Queries, pairs or documents are sorted by a seeded hash of their identity; the first are
//! validation, the next test. So the split depends on the seed and on the set of identities, never on
//! the order of the lines, and the splits have exactly the sizes asked for (at least one each, where a
//! share is above 0).

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::dataset::{RelevanceSource, SplitBy};
use super::interner::Interner;
use super::pairs::Edge;
use super::queries::Queries;
use super::split_name::SplitName::{self, Test, Train, Validation};
use crate::random::{GOLDEN, mix64};
use crate::rows::Dropped;

/// Why judgments of training are dropped.
const UNUSED: &str = "judgments in the training split, which learns from clicks and links";

impl SplitBy {
    /// Every way to split.
    pub const ALL: [SplitBy; 6] = [
        SplitBy::Queries,
        SplitBy::Edges,
        SplitBy::Documents,
        SplitBy::Judgments,
        SplitBy::Time,
        SplitBy::Given,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SplitBy::Queries => "queries",
            SplitBy::Edges => "edges",
            SplitBy::Documents => "documents",
            SplitBy::Judgments => "judgments",
            SplitBy::Time => "time",
            SplitBy::Given => "given",
        }
    }
}

/// A graded pair of query and document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judgment {
    pub query: u32,
    pub doc: u32,
    pub grade: f32,
    /// The split given in the source.
    pub part: Option<SplitName>,
}

/// Parameters of a split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    pub by: SplitBy,
    pub seed: u64,
    /// Shares of validation and test.
    pub shares: (f64, f64),
}

/// The pairs of a source by split.
#[derive(Default)]
pub(super) struct SplitPairs {
    pub train: Vec<Edge>,
    /// (query, document, grade)
    pub validation: Vec<(u32, u32, f32)>,
    /// (query, document, grade)
    pub test: Vec<(u32, u32, f32)>,
    /// Relevant pairs in none of the three, (query, document).
    pub set_aside: Vec<(u32, u32)>,
    pub held_out_documents: Vec<u32>,
    /// By query, whether all of it is held out; empty unless split by queries.
    pub held_out_queries: Vec<bool>,
    /// Sorted; empty unless split by pairs.
    pub held_out_pairs: Vec<(u32, u32)>,
    pub evidence: RelevanceSource,
    pub dropped: Vec<Dropped>,
    pub notes: Vec<String>,
}

impl Split {
    /// Splits the pairs of each given split (one split only, unless the split is given) and the
    /// judgments.
    pub(super) fn divide(
        &self,
        given: Vec<(SplitName, Vec<Edge>)>,
        judgments: &[Judgment],
        queries: &Queries,
        documents: &Interner,
    ) -> SplitPairs {
        let mut notes = Vec::new();
        let mut held_out_documents = Vec::new();
        let mut held_out_queries = Vec::new();
        let mut held_out_pairs = Vec::new();
        let edges = || given.iter().flat_map(|(_, edges)| edges);
        let as_given = || {
            given.iter().flat_map(|(part, edges)| std::iter::repeat_n(*part, edges.len())).collect()
        };
        // The split of every pair, given split after given split, and of every judgment.
        let (edge_parts, judged_parts): (Vec<SplitName>, Vec<SplitName>) = match self.by {
            SplitBy::Given => (as_given(), self.given(&given, judgments, queries, &mut notes)),
            // Judgments have no time.
            SplitBy::Time => {
                let halves = self.halve(judgments.iter().map(|j| j.query), &queries.names);
                (as_given(), judgments.iter().map(|j| halves[j.query as usize]).collect())
            }
            SplitBy::Judgments => {
                let halves = self.halve(judgments.iter().map(|j| j.query), &queries.names);
                let judged = judgments.iter().map(|j| halves[j.query as usize]).collect();
                (vec![Train; edges().count()], judged)
            }
            SplitBy::Queries => {
                let names = &queries.names;
                let split = edges().map(|e| e.query).chain(judgments.iter().map(|j| j.query));
                let parts = self.parts(b"query", split, names);
                held_out_queries = parts.iter().map(|&part| part != Train).collect();
                (
                    edges().map(|e| parts[e.query as usize]).collect(),
                    judgments.iter().map(|j| parts[j.query as usize]).collect(),
                )
            }
            SplitBy::Documents => {
                let split = edges().map(|e| e.doc).chain(judgments.iter().map(|j| j.doc));
                let parts = self.parts(b"document", split, documents);
                held_out_documents =
                    (0..).zip(&parts).filter(|(_, p)| **p != Train).map(|(d, _)| d).collect();
                (
                    edges().map(|e| parts[e.doc as usize]).collect(),
                    judgments.iter().map(|j| parts[j.doc as usize]).collect(),
                )
            }
            SplitBy::Edges => {
                let edges: Vec<Edge> = edges().copied().collect();
                let parts = self.edges(&edges, judgments, &queries.names, documents);
                let held_out = edges.iter().zip(&parts.0).filter(|(_, p)| **p != Train);
                held_out_pairs = held_out.map(|(edge, _)| (edge.query, edge.doc)).collect();
                parts
            }
        };

        let mut divided = SplitPairs {
            held_out_documents,
            held_out_queries,
            held_out_pairs,
            notes,
            ..SplitPairs::default()
        };
        if !judgments.is_empty() {
            divided.evidence = RelevanceSource::Judgments;
        }
        let mut replaced = 0;
        for (edge, part) in given.into_iter().flat_map(|(_, edges)| edges).zip(edge_parts) {
            let grade = if edge.weight > 0.0 { 1.0 } else { 0.0 };
            let held_out = (edge.query, edge.doc, grade);
            match part {
                Train => divided.train.push(edge),
                _ if divided.evidence == RelevanceSource::Judgments => replaced += 1,
                Validation => divided.validation.push(held_out),
                Test => divided.test.push(held_out),
            }
        }
        let mut unused = 0;
        for (judgment, part) in judgments.iter().zip(judged_parts) {
            let graded = (judgment.query, judgment.doc, judgment.grade);
            match part {
                Train => unused += 1,
                Validation => divided.validation.push(graded),
                Test => divided.test.push(graded),
            }
        }
        divided.drop("held-out pairs, replaced by judgments", replaced);
        divided.drop(UNUSED, unused);
        divided
    }

    /// The split of each judgment where the source gives it: in its row, for its query, or by the
    /// held-out clicks of its query; other queries are split into halves.
    fn given(
        &self,
        given: &[(SplitName, Vec<Edge>)],
        judgments: &[Judgment],
        queries: &Queries,
        notes: &mut Vec<String>,
    ) -> Vec<SplitName> {
        let mut clicked: Vec<Option<SplitName>> = vec![None; queries.names.len()];
        for (part, edges) in given.iter().filter(|(part, _)| *part != Train) {
            for edge in edges {
                clicked[edge.query as usize] = Some(*part);
            }
        }
        let said = |judgment: &Judgment| {
            let of_query = || queries.part(judgment.query);
            judgment.part.or_else(of_query).or(clicked[judgment.query as usize])
        };
        let open = judgments.iter().filter(|j| said(j).is_none()).map(|j| j.query);
        let halves = self.halve(open.clone(), &queries.names);
        let n_open = distinct(open).len();
        if n_open > 0 {
            notes.push(format!(
                "the source gives no split for {n_open} judged queries: split them into validation and test"
            ));
        }
        judgments.iter().map(|j| said(j).unwrap_or(halves[j.query as usize])).collect()
    }

    /// Splits pairs; every query keeps one in training.
    fn edges(
        &self,
        edges: &[Edge],
        judgments: &[Judgment],
        queries: &Interner,
        documents: &Interner,
    ) -> (Vec<SplitName>, Vec<SplitName>) {
        let query_keys = self.keys(b"query", queries);
        let document_keys = self.keys(b"document", documents);
        let key = |query: u32, doc: u32| {
            mix(query_keys[query as usize] ^ mix(document_keys[doc as usize]))
        };
        let mut order: Vec<(u64, usize)> = Vec::new();
        let mut at = 0;
        for of_query in edges.chunk_by(|a, b| a.query == b.query) {
            let keyed = (at..).zip(of_query).map(|(i, e)| (key(e.query, e.doc), i));
            let mut keyed: Vec<(u64, usize)> = keyed.collect();
            at += of_query.len();
            keyed.sort_unstable();
            keyed.pop();
            order.append(&mut keyed);
        }
        order.par_sort_unstable();
        let sizes = self.sizes(edges.len());
        let mut parts = vec![Train; edges.len()];
        assign(&mut parts, order.into_iter().map(|(_, edge)| edge), sizes);
        let judged = judgments.iter().map(|j| {
            match edges.binary_search_by_key(&(j.query, j.doc), |e| (e.query, e.doc)) {
                Ok(edge) => parts[edge],
                Err(_) => {
                    let uniform = key(j.query, j.doc) as f64 / 2f64.powi(64);
                    if uniform < self.shares.0 {
                        Validation
                    } else if uniform < self.shares.0 + self.shares.1 {
                        Test
                    } else {
                        Train
                    }
                }
            }
        });
        let judged = judged.collect();
        (parts, judged)
    }

    /// Splits the queries or documents numbered `split`; the others stay in training.
    pub(super) fn parts(
        &self,
        kind: &[u8],
        split: impl Iterator<Item = u32>,
        names: &Interner,
    ) -> Vec<SplitName> {
        let order = self.order(kind, split, names);
        let sizes = self.sizes(order.len());
        let mut parts = vec![Train; names.len()];
        assign(&mut parts, order.into_iter().map(|thing| thing as usize), sizes);
        parts
    }

    /// Splits judged queries into validation and test in the proportion of their shares.
    fn halve(&self, judged: impl Iterator<Item = u32>, names: &Interner) -> Vec<SplitName> {
        let mut parts = vec![Train; names.len()];
        let order = self.order(b"judged", judged, names);
        let sum = self.shares.0 + self.shares.1;
        if sum == 0.0 {
            return parts;
        }
        let share = self.shares.0 / sum;
        let most = if share < 1.0 { order.len().saturating_sub(1) } else { order.len() };
        let least = usize::from(share > 0.0).min(order.len());
        let validation = ((share * order.len() as f64).round() as usize).min(most).max(least);
        let sizes = (validation, order.len() - validation);
        assign(&mut parts, order.into_iter().map(|query| query as usize), sizes);
        parts
    }

    fn order(&self, kind: &[u8], things: impl Iterator<Item = u32>, names: &Interner) -> Vec<u32> {
        let mut order: Vec<(u64, u32)> = distinct(things)
            .into_par_iter()
            .map(|thing| (self.key(kind, names.name(thing)), thing))
            .collect();
        order.par_sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| names.name(a.1).cmp(names.name(b.1)))
        });
        order.into_iter().map(|(_, thing)| thing).collect()
    }

    pub(super) fn sizes(&self, n: usize) -> (usize, usize) {
        let size = |share: f64| {
            let least = usize::from(share > 0.0);
            ((share * n as f64).round() as usize).max(least)
        };
        (size(self.shares.0), size(self.shares.1))
    }

    pub(super) fn keys(&self, kind: &[u8], names: &Interner) -> Vec<u64> {
        (0..names.len() as u32).into_par_iter().map(|i| self.key(kind, names.name(i))).collect()
    }

    fn key(&self, kind: &[u8], name: &str) -> u64 {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update(kind);
        hash.update([0]);
        hash.update(name);
        let mut first = [0; 8];
        first.copy_from_slice(&hash.finalize()[..8]);
        u64::from_le_bytes(first)
    }
}

impl SplitPairs {
    /// Corrects the reason of dropped judgments where judged pairs are links, too.
    pub(super) fn judged_pairs_are_links(&mut self) {
        for dropped in self.dropped.iter_mut().filter(|dropped| dropped.why == UNUSED) {
            dropped.why =
                "judgments in the training split, where pairs of a grade above 0 are links".into();
        }
    }

    pub(super) fn drop(&mut self, why: &str, count: usize) {
        if count > 0 {
            let (why, count) = (why.to_owned(), count as u64);
            self.dropped.push(Dropped { why, count, samples: Vec::new() });
        }
    }
}

/// The first things of `order` are validation, the next are test.
fn assign(
    parts: &mut [SplitName],
    order: impl Iterator<Item = usize>,
    (validation, test): (usize, usize),
) {
    for (rank, thing) in order.enumerate().take(validation + test) {
        parts[thing] = if rank < validation { Validation } else { Test };
    }
}

/// Spreads the bits of a key.
pub(super) fn mix(key: u64) -> u64 {
    mix64(key.wrapping_add(GOLDEN))
}

fn distinct(things: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut things: Vec<u32> = things.collect();
    things.par_sort_unstable();
    things.dedup();
    things
}

#[cfg(test)]
mod tests;
