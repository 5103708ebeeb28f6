//! Evaluates a run against judgments by trec_eval's measures, equal to the last printed digit, and by
//! those of ir_measures.
//!
//! ```
//! use liken::eval::trec::{Qrels, TrecRun};
//! use liken::eval::trec_eval::{EvalParams, columns, evaluate};
//!
//! let qrels = Qrels::new([("q", "a", 1), ("q", "b", 0), ("q", "c", 1)]);
//! let run = TrecRun::new("mine", [("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.0)]);
//! let wanted = columns(&["map", "P.1,2", "nDCG@2"])?;
//! let evaluation = evaluate(&qrels, &run, &wanted, &EvalParams::default())?;
//! let mut out = Vec::new();
//! evaluation.write(&mut out, false, true)?;
//! assert_eq!(
//!     String::from_utf8(out)?,
//!     "map                   \tall\t0.8333\n\
//!      P_1                   \tall\t1.0000\n\
//!      P_2                   \tall\t0.5000\n\
//!      nDCG@2                \tall\t0.6131\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod binary;
mod by_subtopic;
mod evaluate;
mod families;
mod gains;
mod graded;
mod liken_measures;
mod params;
mod print;
mod spelling;
mod statistic;

#[cfg(test)]
mod tests;

pub use evaluate::{Evaluation, QueryValues, Value, evaluate};
pub use gains::Gains;
pub use params::EvalParams;
pub use spelling::{MeasureColumn, columns, columns_as};
pub use statistic::{Over, Statistic};
