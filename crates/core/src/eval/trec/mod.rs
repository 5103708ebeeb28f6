//! TREC's files: judgments (qrels) `qid iteration docno grade`, or by subtopic
//! `qid subtopic docno grade`, and runs `qid Q0 docno rank score tag`, one document per line.

mod numbered;
mod qrels;
mod query_lists;
mod read;
mod subtopics;
mod trec_run;
mod write;

pub(crate) use numbered::Numbered;
pub use qrels::{Judgments, Qrels};
pub use query_lists::{QueryList, QueryLists};
pub use read::{read_diversity_qrels, read_qrels, read_run};
pub use subtopics::SubtopicJudgments;
pub use trec_run::{Ranked, RunHit, TrecRun};
pub use write::write_run;
