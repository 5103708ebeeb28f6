//! The background jobs of the pages: rankings of all judged queries, comparisons with thousands of
//! resamples, statistics of the dataset, summaries of topics. Results are cached.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use liken::eval::RunComparison;
use liken::eval::trec::TrecRun;
use liken::matchers::TopicsSummary;
use maud::{Markup, html};

use super::dataset_stats::DatasetStats;
use super::judged_queries::JudgedQueries;
use crate::jobs::{JobQueue, Jobs, Progress};
use crate::runs::Runs;

/// The longest time for which a request waits for the result of a job.
pub const MAX_WAIT: Duration = Duration::from_millis(400);

/// The jobs of all pages, in one queue.
pub struct PageJobs {
    /// The uploaded runs.
    pub runs: Arc<Runs>,
    /// Judged queries of the dataset.
    pub(super) judged_queries: Jobs<JudgedQueries>,
    /// Rankings of judged queries.
    pub(super) rankings: Jobs<TrecRun>,
    /// Comparisons of runs.
    pub(super) comparisons: Jobs<RunComparison>,
    /// Statistics of the dataset.
    pub(super) dataset_stats: Jobs<DatasetStats>,
    /// Summaries of topic models.
    pub(super) topics: Jobs<TopicsSummary>,
}

impl PageJobs {
    /// No jobs yet; the index is in `folder`.
    pub fn new(folder: &Path) -> Self {
        let queue = JobQueue::default();
        PageJobs {
            runs: Arc::new(Runs::new(folder.join("runs"))),
            judged_queries: Jobs::new(queue.clone(), 6),
            rankings: Jobs::new(queue.clone(), 32),
            comparisons: Jobs::new(queue.clone(), 32),
            dataset_stats: Jobs::new(queue.clone(), 2),
            topics: Jobs::new(queue, 8),
        }
    }
}

/// The progress of running jobs, with a link to reload the page. The script reloads it by itself.
pub fn waiting(title: &str, jobs: &[(String, Progress)], again: &str) -> Markup {
    html! {
        section.waiting data-reload="1000" aria-busy="true" {
            p { strong { (title) } " The result is cached; searches continue meanwhile." }
            ul {
                @for (name, progress) in jobs {
                    li {
                        (name) ": " (progress.stage)
                        @match progress.total {
                            Some(total) if total > 0 => {
                                " "
                                progress value=(progress.done.min(total)) max=(total)
                                    aria-label={ "progress of " (name) } {}
                                " " (progress.done) " of " (total)
                            }
                            _ => {}
                        }
                    }
                }
            }
            p { a.button href=(again) { "Reload" } }
        }
    }
}
