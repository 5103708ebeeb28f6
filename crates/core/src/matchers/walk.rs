//! Backward random walk on the click graph (Craswell and Szummer, 2007).
//!
//! Nodes are queries and documents; A is row-stochastic: a walker stays with probability s, or moves
//! along an edge with a probability proportional to its clicks; at a node without clicks it stays.
//! With a uniform start, the score of document k for query j is the probability that a walk that is
//! at j after t steps began at k:
//!
//! ```text
//! P(began at k | at j after t steps) = [Aᵗ]_kj / Σ_i [Aᵗ]_ij
//! ```
//! The sum runs over all nodes. Column j of Aᵗ takes t sparse products; after each, entries below
//! `prune` times the sum of the column are dropped, so their share of the score is lost. A query
//! without clicks scores 0 everywhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::method::{Fitting, Matcher, Method, SavedState};
use super::space::Varied;
use super::sparse_vector::summed;
use super::{Contribution, FitReport, StepsReport};
use crate::Result;
use crate::features::{Counts, QueryTerms, check_clicks};
use crate::file::TensorsWriter;
use crate::params::check::{check_range, check_share_below_one};
use crate::sparse::Csr;

/// Parameters of the random walk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Walk {
    /// Steps of the walk.
    pub steps: usize,
    /// Probability of staying at a node.
    pub stay: f64,
    /// Entries below this share of a column are dropped after each step.
    pub prune: f64,
    /// Walk from every known query in training and store the scores, instead of walking for each request.
    pub precompute: bool,
}

impl Default for Walk {
    fn default() -> Self {
        Walk { steps: 5, stay: 0.9, prune: 1e-7, precompute: false }
    }
}

impl Method for Walk {
    fn check(&self) -> Result<()> {
        check_range("steps", self.steps, 1, 1000)?;
        check_share_below_one("stay", self.stay)?;
        check_share_below_one("prune", self.prune)
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, run, .. } = fitting;
        check_clicks(counts)?;
        let graph = ClickGraph::of(&counts.clicks)?;
        let mut walker = Walker { params: self.clone(), graph, scores: None };
        let mut notes = vec![format!(
            "{} steps, entries below {} of a column dropped; queries without training clicks score 0 everywhere",
            self.steps, self.prune
        )];
        if self.precompute {
            run.step("walking from every query", 0, None)?;
            let scores = Csr::by_rows(counts.n_docs(), counts.n_queries(), |query| {
                run.check()?;
                Ok(walker.walk(query as u32))
            })?;
            notes.push(format!("{} scores stored", scores.nnz()));
            walker.scores = Some(scores);
        }
        let report = StepsReport { notes, ..StepsReport::default() };
        Ok((Box::new(walker), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let graph = ClickGraph::of(&counts.clicks)?;
        let scores = if self.precompute { Some(state.tensors()?.csr("scores")?) } else { None };
        Ok(Box::new(Walker { params: self.clone(), graph, scores }))
    }

    fn learns(&self) -> bool {
        self.precompute
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![("steps", "{ min = 1, max = 10, int = true }")]
    }
}

/// The clicks above zero as a graph: edges from both sides, and the sum of each node's clicks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClickGraph {
    /// Queries × documents.
    pub clicks: Csr,
    /// Documents × queries.
    pub transposed: Csr,
    /// The clicks of each query.
    pub of_query: Vec<f64>,
    /// The clicks of each document.
    pub of_doc: Vec<f64>,
}

impl ClickGraph {
    pub fn of(clicks: &Csr) -> Result<Self> {
        let clicks = clicks.positive()?;
        let transposed = clicks.transpose();
        let (of_query, of_doc) = (clicks.row_sums(), transposed.row_sums());
        Ok(ClickGraph { clicks, transposed, of_query, of_doc })
    }
}

/// Nodes of one kind, sorted, each with its probability.
type Nodes = Vec<(u32, f64)>;

struct Walker {
    params: Walk,
    graph: ClickGraph,
    /// Queries × documents, if computed in training.
    scores: Option<Csr>,
}

/// A column of Aᵗ: its queries, its documents, and the sum over both.
#[derive(Debug, Clone, PartialEq)]
struct WalkColumn {
    queries: Nodes,
    docs: Nodes,
}

impl WalkColumn {
    fn sum(&self) -> f64 {
        self.queries.iter().chain(&self.docs).map(|&(_, share)| share).sum()
    }
}

impl Walker {
    /// Column `query` of Aᵗ for t = `steps`.
    fn column(&self, query: u32, steps: usize) -> WalkColumn {
        let mut column = WalkColumn { queries: vec![(query, 1.0)], docs: Vec::new() };
        if self.graph.of_query[query as usize] == 0.0 {
            return column;
        }
        let ClickGraph { clicks, transposed, of_query, of_doc } = &self.graph;
        for _ in 0..steps {
            let next = WalkColumn {
                queries: self.step(&column.queries, &column.docs, transposed, of_query),
                docs: self.step(&column.docs, &column.queries, clicks, of_doc),
            };
            let least = self.params.prune * next.sum();
            column = next;
            for nodes in [&mut column.queries, &mut column.docs] {
                nodes.retain(|&(_, share)| share >= least);
            }
        }
        column
    }

    /// s·here + (1 − s)·(the sum over edges from `others`): row i of A distributes 1 − s among its
    /// edges.
    fn step(&self, here: &Nodes, others: &Nodes, edges: &Csr, clicks_of: &[f64]) -> Nodes {
        let stay = self.params.stay;
        let mut parts: Nodes = here.iter().map(|&(node, share)| (node, stay * share)).collect();
        for &(other, share) in others {
            for (node, clicks) in edges.row(other as usize).iter() {
                let part = (1.0 - stay) * f64::from(clicks) / clicks_of[node as usize] * share;
                parts.push((node, part));
            }
        }
        summed(parts)
    }

    /// The documents of a known query with their scores.
    fn walk(&self, query: u32) -> (Vec<u32>, Vec<f32>) {
        let column = self.column(query, self.params.steps);
        let sum = column.sum();
        column.docs.iter().map(|&(doc, share)| (doc, (share / sum) as f32)).unzip()
    }

    /// Calls `take` with every document whose score for `query` is not 0.
    fn each(&self, query: &QueryTerms, mut take: impl FnMut(u32, f32)) {
        match (query.known, &self.scores) {
            (None, _) => {}
            (Some(query), Some(scores)) => {
                scores.row(query as usize).iter().for_each(|(doc, score)| take(doc, score));
            }
            (Some(query), None) => {
                let (docs, scores) = self.walk(query);
                docs.into_iter().zip(scores).for_each(|(doc, score)| take(doc, score));
            }
        }
    }
}

impl Matcher for Walker {
    fn score_all(&self, _: &Counts, query: &QueryTerms, out: &mut [f32]) {
        out.fill(0.0);
        self.each(query, |doc, score| out[doc as usize] = score);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let mut all = vec![0.0; counts.n_docs()];
        self.score_all(counts, query, &mut all);
        out.iter_mut().zip(docs).for_each(|(score, &doc)| *score = all[doc as usize]);
    }

    /// One contribution per position of the walker one step earlier.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let Some(known) = query.known else { return Vec::new() };
        let end = self.column(known, self.params.steps);
        if end.docs.binary_search_by_key(&doc, |&(doc, _)| doc).is_err() {
            return Vec::new();
        }
        let before = self.column(known, self.params.steps - 1);
        let text = |query: u32| format!("“{}”", counts.query_texts[query as usize]);
        let line = |from: String, share: f64| Contribution {
            query: text(known),
            doc: from,
            value: share / end.sum(),
        };
        let mut lines = Vec::new();
        if let Ok(at) = before.docs.binary_search_by_key(&doc, |&(doc, _)| doc) {
            lines.push(line("stays here".into(), self.params.stay * before.docs[at].1));
        }
        for &(other, share) in &before.queries {
            let clicks = f64::from(self.graph.clicks.row(other as usize).get(doc));
            if clicks > 0.0 {
                let part = (1.0 - self.params.stay) * clicks / self.graph.of_doc[doc as usize];
                lines.push(line(format!("clicked for {}", text(other)), part * share));
            }
        }
        lines
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        if let Some(scores) = &self.scores {
            tensors.csr("scores", scores);
        }
    }

    /// New documents have no clicks.
    fn with_documents(&self, counts: &Counts, _: usize) -> Result<Option<Box<dyn Matcher>>> {
        let Some(scores) = &self.scores else { return Ok(None) };
        let (params, graph) = (self.params.clone(), ClickGraph::of(&counts.clicks)?);
        let scores = Some(scores.widened(counts.n_docs())?);
        Ok(Some(Box::new(Walker { params, graph, scores })))
    }

    fn no_match(&self) -> &'static str {
        "the walk starts from queries with clicks in the log, and this one has none; walk+bm25 also uses words"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Run;
    use crate::data::fixture::Fixture;
    use crate::features::Preparation;
    use crate::matchers::Params;
    use crate::oracle::{Naive, sparse_triple};

    fn walker(clicks: &Csr, params: Walk) -> Walker {
        Walker { params, graph: ClickGraph::of(clicks).unwrap(), scores: None }
    }

    /// A of the head of this file, entry by entry: queries first, then documents.
    fn dense(clicks: &Csr, stay: f64) -> Naive {
        let (n, m) = (clicks.n_rows(), clicks.n_cols());
        let edge = |i: usize, j: usize| match (i < n, j < n) {
            (true, false) => f64::from(clicks.row(i).get((j - n) as u32)).max(0.0),
            (false, true) => f64::from(clicks.row(j).get((i - n) as u32)).max(0.0),
            _ => 0.0,
        };
        let degree = |i: usize| (0..n + m).map(|j| edge(i, j)).sum::<f64>();
        Naive::from_fn(n + m, n + m, |i, j| {
            let (degree, same) = (degree(i), f64::from(u8::from(i == j)));
            if degree == 0.0 { same } else { stay * same + (1.0 - stay) * edge(i, j) / degree }
        })
    }

    proptest! {
        #[test]
        fn the_walk_is_a_power_of_the_dense_matrix(
            (_, clicks, _) in sparse_triple(),
            steps in 1usize..8,
            stay in prop_oneof![Just(0.0), Just(0.5), Just(0.9)],
        ) {
            let walker = walker(&clicks, Walk { steps, stay, prune: 0.0, ..Walk::default() });
            let a = dense(&clicks, stay);
            let mut power = a.clone();
            for _ in 1..steps {
                power = power.times(&a);
            }
            let n = clicks.n_rows();
            for query in 0..n {
                let sum: f64 = (0..power.n_rows).map(|i| power.get(i, query)).sum();
                let (docs, scores) = walker.walk(query as u32);
                let mut found = vec![0.0; clicks.n_cols()];
                docs.iter().zip(scores).for_each(|(&doc, score)| found[doc as usize] = score);
                for (doc, found) in found.into_iter().enumerate() {
                    let expected = power.get(n + doc, query) / sum;
                    prop_assert!((f64::from(found) - expected).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn pruning_drops_little() {
        let clicks = crate::oracle::random_csr(60, 40, 4, 1);
        let exact = walker(&clicks, Walk { prune: 0.0, ..Walk::default() });
        let pruned = walker(&clicks, Walk { prune: 1e-3, ..Walk::default() });
        let (mut kept, mut all) = (0, 0);
        for query in 0..60 {
            let (docs, scores) = exact.walk(query);
            let (fewer, _) = pruned.walk(query);
            (kept, all) = (kept + fewer.len(), all + docs.len());
            let lost: f32 = docs
                .iter()
                .zip(&scores)
                .filter(|(doc, _)| !fewer.contains(doc))
                .map(|(_, score)| score)
                .sum();
            assert!(lost < 0.05, "{lost}");
        }
        assert!(kept < all, "{kept} {all}");
    }

    #[test]
    fn walking_in_training_changes_no_bit() {
        let documents = ["a", "b", "c"].map(|id| (id, serde_json::json!({ "title": id })));
        let queries = ["red", "green", "blue", "grey"];
        let clicks =
            [(0, 0, 5.0), (0, 1, 2.0), (1, 1, 4.0), (1, 2, 1.0), (2, 2, 3.0), (2, 0, -1.0)];
        let dir = tempfile::tempdir().unwrap();
        let fixture =
            Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] };
        let data = fixture.open(&dir.path().join("d"));
        let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
        let fit = |precompute: bool| {
            let params = Params::Walk(Walk { precompute, ..Walk::default() });
            params.fit(&counts, None, &Run::silent()).unwrap().0
        };
        let (asked, kept) = (fit(false), fit(true));
        for text in queries {
            let query = counts.read_query(text);
            let scores = asked.scores(&counts, &query, None);
            assert_eq!(scores, kept.scores(&counts, &query, None));
            assert_eq!(text == "grey", scores.iter().all(|&score| score == 0.0));
            for (doc, &score) in (0..).zip(&scores) {
                let lines = kept.contributions(&counts, &query, doc);
                let sum: f64 = lines.iter().map(|line| line.value).sum();
                assert!((sum - f64::from(score)).abs() < 1e-6, "{text}: {lines:?} {score}");
            }
        }
    }
}
