//! Results that do not all say the same: the candidates of a query are put in an order in which
//! each document is relevant and unlike those before it.
//!
//! ```text
//! relevance      one or more numbers a candidate: an engine's scores     (gather.rs)
//! similarity     one or more numbers a pair: words, fields, embeddings      (relations.rs)
//!      │ Mmr       one of each, and how much of either                  (mmr.rs, tune.rs)
//!      │ RLtr      weights of all of them, learnt                       (r_ltr.rs, r_ltr/fit.rs)
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

/// The `k` candidates of `0..n` chosen one by one, then the others in their order. `state` says
/// what a candidate is worth after those chosen so far, and is told of every choice. Of several
/// that are worth most the first is taken; what is not a number is worth least.
fn one_by_one(n: usize, k: usize, state: &mut impl Choosing) -> Vec<usize> {
    let mut left: Vec<usize> = (0..n).collect();
    let mut order = Vec::with_capacity(n);
    while order.len() < k && !left.is_empty() {
        let mut best = (0, f64::NEG_INFINITY);
        for (at, &candidate) in left.iter().enumerate() {
            let worth = state.worth(candidate);
            if worth > best.1 {
                best = (at, worth);
            }
        }
        // Its place is given up in order, so that the first of equals stays the first.
        let next = left.remove(best.0);
        order.push(next);
        if order.len() < k {
            state.choose(next, &left);
        }
    }
    order.extend(left);
    order
}

/// What is known while candidates are chosen.
trait Choosing {
    /// What a candidate is worth now.
    fn worth(&self, candidate: usize) -> f64;
    /// `chosen` was chosen; `left` are those that can still be.
    fn choose(&mut self, chosen: usize, left: &[usize]);
}
