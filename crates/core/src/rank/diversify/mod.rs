//! Search result diversification: an order of the candidates of a query in which each document is
//! relevant and unlike those before it.
//!
//! ```text
//! relevance      one or more scores per candidate, from runs             (gather.rs)
//! similarity     one or more numbers per pair: words, fields, embeddings (relations.rs)
//!      │ Mmr       one of each, with a weight λ                         (mmr.rs, tune.rs)
//!      │ RLtr      all of them, with learnt weights                     (r_ltr.rs, r_ltr/fit.rs)
//!      ▼
//! the order of the candidates
//! ```
//!
//! ```
//! use liken::rank::diversify::Mmr;
//!
//! // The second document says what the first one says.
//! let scores = [3.0, 2.9, 1.0];
//! let similarity = |a: usize, b: usize| if a + b == 1 { 1.0 } else { 0.0 };
//! let mmr = Mmr { lambda: 0.4, ..Mmr::default() };
//! assert_eq!(mmr.order(&scores, similarity, 3), [0, 2, 1]);
//! ```

mod candidates;
mod diversifier;
mod gather;
mod judged;
mod mmr;
mod r_ltr;
mod relations;
mod tune;

pub use candidates::{Candidates, Similarities};
pub use diversifier::{Diversifier, DiversifyMethod};
pub use gather::Gathered;
pub use judged::{JudgedCandidates, mean};
pub use mmr::Mmr;
pub use r_ltr::{RLtr, RLtrParams, Relational};
pub use relations::Relations;
pub use tune::{TunedMmr, tune_mmr};

/// The `k` candidates of `0..n` that are chosen greedily, then the others in their order. Of several
/// best candidates the first is chosen; NaN is the lowest value.
fn greedy_order(n: usize, k: usize, state: &mut impl GreedyState) -> Vec<usize> {
    let mut left: Vec<usize> = (0..n).collect();
    let mut order = Vec::with_capacity(n);
    while order.len() < k && !left.is_empty() {
        let mut best = (0, f64::NEG_INFINITY);
        for (at, &candidate) in left.iter().enumerate() {
            let value = state.value(candidate);
            if value > best.1 {
                best = (at, value);
            }
        }
        // Keeps the order of the others, so that the first of equal ones stays the first.
        let next = left.remove(best.0);
        order.push(next);
        if order.len() < k {
            state.choose(next, &left);
        }
    }
    order.extend(left);
    order
}

/// The objective of a greedy choice, and the candidates chosen so far.
trait GreedyState {
    /// The value of choosing `candidate` next.
    fn value(&self, candidate: usize) -> f64;
    /// Records that `chosen` was chosen; `left` are the remaining candidates.
    fn choose(&mut self, chosen: usize, left: &[usize]);
}
