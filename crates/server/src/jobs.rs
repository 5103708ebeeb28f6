//! Jobs: work that takes longer than a request should. Each runs once in the background, shows its
//! progress, and its result is cached by key.

mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::problem::Problem;
pub use queue::JobQueue;

/// How far a job is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The current step, for people.
    pub stage: String,
    /// How much is done.
    pub done: u64,
    /// How much there is in all, where that is known.
    pub total: Option<u64>,
}

/// A job that was asked for.
pub enum Found<T> {
    /// Its result.
    Ready(Arc<T>),
    /// It waits or runs.
    Working(Progress),
}

/// Jobs of one kind, by key.
pub struct Jobs<T> {
    queue: JobQueue,
    most: usize,
    kept: Mutex<Vec<(String, Arc<Job<T>>)>>,
}

struct Job<T> {
    state: Mutex<JobState<T>>,
    changed: Condvar,
}

struct JobState<T> {
    progress: Progress,
    outcome: Option<Result<Arc<T>, Problem>>,
}

/// Takes the progress of a job.
pub struct Reporter<'a>(&'a (dyn Fn(Progress) + Sync));

impl Reporter<'_> {
    /// Reports progress.
    pub fn report(&self, stage: &str, done: u64, total: Option<u64>) {
        (self.0)(Progress { stage: stage.to_owned(), done, total });
    }

    /// Does `work` with a run whose progress is reported.
    pub fn run<R>(
        &self,
        work: impl FnOnce(&liken::Run<'_>) -> liken::Result<R>,
    ) -> liken::Result<R> {
        let report = |now: liken::Progress<'_>| self.report(now.stage, now.done, now.total);
        work(&liken::Run::new(&report, &|| false))
    }
}

/// The lock, also after a thread died with it: what it guards is whole at any moment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send + Sync + 'static> Jobs<T> {
    /// Jobs that run in `queue`; the results of the `most` last ones are kept.
    pub fn new(queue: JobQueue, most: usize) -> Self {
        Jobs { queue, most: most.max(1), kept: Mutex::default() }
    }

    /// The result of the job `key`: at once if it was done before, within `patience` if it is quick,
    /// else its progress. A job that fails says why, and runs again when it is asked for again; if
    /// the queue is full, it is refused.
    pub fn get(
        &self,
        key: &str,
        patience: Duration,
        work: impl FnOnce(&Reporter<'_>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Found<T>, Problem> {
        let job = self.find_or_start(key, work)?;
        let until = Instant::now() + patience;
        let mut state = locked(&job.state);
        loop {
            if let Some(outcome) = &state.outcome {
                let outcome = outcome.clone();
                drop(state);
                if outcome.is_err() {
                    self.forget(&job);
                }
                return outcome.map(Found::Ready);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Found::Working(state.progress.clone()));
            }
            state = job.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn find_or_start(
        &self,
        key: &str,
        work: impl FnOnce(&Reporter<'_>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Arc<Job<T>>, Problem> {
        let mut kept = locked(&self.kept);
        if let Some(at) = kept.iter().position(|(known, _)| known == key) {
            // The last that was asked for stands last.
            let found = kept.remove(at);
            let job = Arc::clone(&found.1);
            kept.push(found);
            return Ok(job);
        }
        let queued = Progress { stage: "queued".into(), done: 0, total: None };
        let job = Arc::new(Job {
            state: Mutex::new(JobState { progress: queued, outcome: None }),
            changed: Condvar::new(),
        });
        let ours = Arc::clone(&job);
        self.queue.submit(Box::new(move || {
            let report = |progress: Progress| locked(&ours.state).progress = progress;
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&Reporter(&report))));
            let outcome = outcome.unwrap_or_else(|_| {
                Err(Problem::internal("the job failed unexpectedly: try again"))
            });
            locked(&ours.state).outcome = Some(outcome.map(Arc::new));
            ours.changed.notify_all();
        }))?;
        kept.push((key.to_owned(), Arc::clone(&job)));
        let done = |job: &Job<T>| locked(&job.state).outcome.is_some();
        while kept.len() > self.most {
            let Some(oldest) = kept.iter().position(|(_, job)| done(job)) else { break };
            kept.remove(oldest);
        }
        Ok(job)
    }

    fn forget(&self, job: &Arc<Job<T>>) {
        locked(&self.kept).retain(|(_, known)| !Arc::ptr_eq(known, job));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::queue::{AT_ONCE, WAITING};
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn ready<T>(found: Result<Found<T>, Problem>) -> Arc<T> {
        match found {
            Ok(Found::Ready(value)) => value,
            Ok(Found::Working(progress)) => panic!("still {progress:?}"),
            Err(problem) => panic!("{problem}"),
        }
    }

    #[test]
    fn work_is_done_once_and_shows_how_far_it_is() {
        let jobs: Jobs<u32> = Jobs::new(JobQueue::default(), 4);
        let (go, wait) = mpsc::channel::<()>();
        let (told, heard) = mpsc::channel::<()>();
        let found = jobs.get("a", Duration::ZERO, move |reporter| {
            reporter.report("half", 1, Some(2));
            told.send(()).unwrap();
            wait.recv().unwrap();
            Ok(7)
        });
        assert!(matches!(found, Ok(Found::Working(_))));
        heard.recv().unwrap();
        let never = |_: &Reporter<'_>| -> Result<u32, Problem> { panic!("it is under way") };
        let Ok(Found::Working(progress)) = jobs.get("a", Duration::ZERO, never) else {
            panic!("it cannot be done")
        };
        assert_eq!(progress, Progress { stage: "half".into(), done: 1, total: Some(2) });
        go.send(()).unwrap();
        assert_eq!(*ready(jobs.get("a", LONG, never)), 7);
        assert_eq!(*ready(jobs.get("a", Duration::ZERO, never)), 7);
    }

    #[test]
    fn failures_and_panics_are_told_and_tried_again() {
        let jobs: Jobs<u32> = Jobs::new(JobQueue::default(), 4);
        assert_eq!(
            jobs.get("a", LONG, |_| Err(Problem::bad("no"))).err(),
            Some(Problem::bad("no"))
        );
        let broken = jobs.get("a", LONG, |_| panic!("on purpose"));
        assert_eq!(broken.err().map(|problem| problem.status), Some(500));
        assert_eq!(*ready(jobs.get("a", LONG, |_| Ok(1))), 1);
    }

    #[test]
    fn the_last_results_are_kept_and_only_so_many_are_worked_on_at_a_time() {
        let queue = JobQueue::default();
        let jobs: Jobs<usize> = Jobs::new(queue.clone(), 2);
        let others: Jobs<usize> = Jobs::new(queue, 9);
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        static NOW: AtomicUsize = AtomicUsize::new(0);
        let work = |_: &Reporter<'_>| {
            assert!(NOW.fetch_add(1, Ordering::SeqCst) < AT_ONCE, "too many at a time");
            std::thread::yield_now();
            NOW.fetch_sub(1, Ordering::SeqCst);
            Ok(RUNS.fetch_add(1, Ordering::SeqCst))
        };
        for key in ["x", "y", "z"] {
            others.get(key, Duration::ZERO, work).ok();
        }
        for key in ["a", "b", "a", "c", "a"] {
            ready(jobs.get(key, LONG, work));
        }
        // "b" was used least lately and had to go.
        let before = RUNS.load(Ordering::SeqCst);
        ready(jobs.get("a", LONG, work));
        assert_eq!(RUNS.load(Ordering::SeqCst), before);
        ready(jobs.get("b", LONG, work));
        for key in ["x", "y", "z"] {
            ready(others.get(key, LONG, work));
        }
        assert_eq!(RUNS.load(Ordering::SeqCst), 3 + 4);
    }

    #[test]
    fn who_comes_when_too_many_wait_is_told_to_come_back() {
        let jobs: Jobs<usize> = Jobs::new(JobQueue::default(), 2 * WAITING);
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let start = |n: usize| {
            let wait = Arc::clone(&wait);
            jobs.get(&n.to_string(), Duration::ZERO, move |_| {
                locked(&wait).recv().ok();
                Ok(n)
            })
        };
        for n in 0..AT_ONCE + WAITING {
            assert!(matches!(start(n), Ok(Found::Working(_))), "{n}");
        }
        let refused = start(AT_ONCE + WAITING).err();
        assert_eq!(refused.as_ref().map(|problem| problem.status), Some(503), "{refused:?}");
        // Those under way are found all the same, and once they are done there is room again.
        assert!(matches!(start(0), Ok(Found::Working(_))));
        drop(go);
        for n in 0..AT_ONCE + WAITING {
            assert_eq!(*ready(jobs.get(&n.to_string(), LONG, |_| Err(Problem::bad("lost")))), n);
        }
        assert_eq!(*ready(jobs.get("later", LONG, |_| Ok(7))), 7);
    }
}
