//! The options of an evaluation.

/// The options of trec_eval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvalParams {
    /// The lowest relevant grade (`-l`).
    pub level: i32,
    /// Average over all judged queries, those without results as 0 (`-c`), and not only over
    /// those that have results.
    pub complete: bool,
    /// Documents per query that count (`-M`).
    pub max_results: usize,
    /// Remove documents that were not judged from the rankings (`-J`).
    pub judged_only: bool,
    /// Documents in the collection (`-N`), for utility alone.
    pub n_docs: u64,
}

impl Default for EvalParams {
    fn default() -> Self {
        let max_results = usize::MAX;
        EvalParams { level: 1, complete: false, max_results, judged_only: false, n_docs: 0 }
    }
}
