//! The background jobs of the pages: rankings of all judged queries, comparisons with thousands of
//! resamples, statistics of the dataset, summaries of topics. Results are cached.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use liken::eval::RunComparison;
use liken::eval::trec::TrecRun;
use liken::matchers::TopicsSummary;
use maud::{Markup, html};

use super::compare::JudgedQueries;
use super::data::Figures;
use super::layout::plot;
use crate::jobs::{JobQueue, Jobs, Progress};
use crate::runs::Runs;

/// How long a request waits for quick work.
pub const PATIENCE: Duration = Duration::from_millis(400);

/// The jobs of all pages, with one queue; one for each engine.
pub struct PageJobs {
    /// The runs that were uploaded.
    pub runs: Arc<Runs>,
    /// Judged queries of the dataset.
    pub(super) questions: Jobs<JudgedQueries>,
    /// Rankings of judged queries.
    pub(super) rankings: Jobs<TrecRun>,
    /// Tables of runs.
    pub(super) comparisons: Jobs<RunComparison>,
    /// Figures of the dataset.
    pub(super) figures: Jobs<Figures>,
    /// Topics of models.
    pub(super) topics: Jobs<TopicsSummary>,
}

impl PageJobs {
    /// No jobs yet; uploaded runs are in `folder`.
    pub fn new(folder: &Path) -> Self {
        let queue = JobQueue::default();
        PageJobs {
            runs: Arc::new(Runs::new(folder.join("runs"))),
            questions: Jobs::new(queue.clone(), 6),
            rankings: Jobs::new(queue.clone(), 32),
            comparisons: Jobs::new(queue.clone(), 32),
            figures: Jobs::new(queue.clone(), 2),
            topics: Jobs::new(queue, 8),
        }
    }
}

/// Shown while jobs run: their progress, and a link to look again. The script looks
/// again by itself.
pub fn waiting(title: &str, works: &[(String, Progress)], again: &str) -> Markup {
    html! {
        section.waiting data-reload="1000" aria-busy="true" {
            p { strong { (title) } " This is done once and kept; searches go on meanwhile." }
            ul {
                @for (name, progress) in works {
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
            p { a.button href=(again) { "Look again" } }
        }
    }
}

/// Plots beside each other where there is room, below each other on a phone.
pub fn plots(svgs: &[String]) -> Markup {
    html! { div.plots { @for svg in svgs { (plot(svg)) } } }
}
