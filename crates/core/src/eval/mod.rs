//! How good a ranking is, and whether a difference between two is significant: measures as pure
//! functions of one query's ranking, tests paired over queries, comparison tables, and the run files
//! of other tools.
//!
//! ```
//! use liken::eval::{Measure, Variant};
//! use liken::ranking::{tie_rank, top_k};
//! use liken::sparse::Row;
//!
//! let ids = ["a", "b", "c"].map(String::from);
//! let hits = top_k(&[0.2, 0.9, 0.4], 10, &tie_rank(&ids), &[]);
//! let judged = Row { indices: &[0, 1], values: &[0.0, 2.0] };
//! let measure: Measure = "nDCG@10".parse()?;
//! assert_eq!(measure.of(&hits, judged, &Variant::default()), Some(1.0));
//! # Ok::<(), liken::Error>(())
//! ```

mod bound;
mod cells;
mod compare;
pub mod diversity;
mod measure;
mod name;
mod runs;
pub mod significance;
mod task;
pub mod trec;
pub mod trec_eval;
mod variant;

#[cfg(test)]
mod tests;

pub use bound::{Bound, Constants, Gap, RowNorms, Sample, bounds};
pub use cells::{Cell, PairedDifference, cells};
pub use compare::{
    CLICK_BINS, CompareParams, Comparison, ComparisonRow, System, Weights, check_comparable,
    check_tunable, click_bins, compare, tune_weights,
};
pub use measure::Measure;
pub use runs::{CAVEAT_CUT, RunCaveats, RunComparison, RunRow, compare_runs};
pub use task::{Candidates, HeldOut, Task, check_choice};
pub use variant::{Discount, Empty, Gain, GainTable, Ideal, Ties, Variant};
