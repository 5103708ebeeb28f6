//! TREC's files: judgments (qrels) `qid iteration docno grade`, or by subtopic
//! `qid subtopic docno grade`, and runs `qid Q0 docno rank score tag`, one document a line.

mod gathered;
mod lists;
mod numbered;
mod read;
mod subtopics;
mod write;

pub use lists::{Judgments, Qrels, Ranked, RunHit, TrecRun};
pub(crate) use numbered::Numbered;
pub use read::{read_diversity_qrels, read_qrels, read_run};
pub use subtopics::SubtopicJudgments;
pub use write::write_run;
