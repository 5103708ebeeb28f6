//! Jobs: work that takes longer than a request should. Each runs once in the background and reports
//! its progress; its result is cached by key.

mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::problem::Problem;
pub use queue::JobQueue;

/// The progress of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The current step, in words.
    pub stage: String,
    /// The units of work done.
    pub done: u64,
    /// The units of work in all, where that is known.
    pub total: Option<u64>,
}

/// The answer to a request for a job.
pub enum JobStatus<T> {
    /// The job's result.
    Ready(Arc<T>),
    /// The job waits or runs.
    Running(Progress),
}

/// Jobs of one kind, by key.
pub struct Jobs<T> {
    queue: JobQueue,
    capacity: usize,
    /// The most recently used last.
    cached: Mutex<Vec<(String, Arc<Job<T>>)>>,
}

struct Job<T> {
    state: Mutex<JobState<T>>,
    done: Condvar,
}

struct JobState<T> {
    progress: Progress,
    outcome: Option<Result<Arc<T>, Problem>>,
}

/// Receives the progress of a job.
pub struct Reporter<'a>(&'a (dyn Fn(Progress) + Sync));

impl Reporter<'_> {
    /// Reports progress.
    pub fn report(&self, stage: &str, done: u64, total: Option<u64>) {
        (self.0)(Progress { stage: stage.to_owned(), done, total });
    }

    /// Calls `work` with a [`liken::Run`] that reports its progress here.
    pub fn run<R>(
        &self,
        work: impl FnOnce(&liken::Run<'_>) -> liken::Result<R>,
    ) -> liken::Result<R> {
        let report = |now: liken::Progress<'_>| self.report(now.stage, now.done, now.total);
        work(&liken::Run::new(&report, &|| false))
    }
}

/// Locks `mutex`, even after a panic elsewhere: no lock here is held over a half-made change.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send + Sync + 'static> Jobs<T> {
    /// Jobs that run in `queue`; the `capacity` most recently used results are cached.
    pub fn new(queue: JobQueue, capacity: usize) -> Self {
        Jobs { queue, capacity: capacity.max(1), cached: Mutex::default() }
    }

    /// The result of the job `key`, which is started unless it is cached. Waits at most `max_wait`
    /// for the result; after that, returns the progress. A failed job runs again with the next
    /// request for it; a job is refused if the queue is full.
    pub fn get(
        &self,
        key: &str,
        max_wait: Duration,
        work: impl FnOnce(&Reporter<'_>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<JobStatus<T>, Problem> {
        let job = self.find_or_start(key, work)?;
        let runs = |state: &mut JobState<T>| state.outcome.is_none();
        let waited = job.done.wait_timeout_while(locked(&job.state), max_wait, runs);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let Some(outcome) = state.outcome.clone() else {
            return Ok(JobStatus::Running(state.progress.clone()));
        };
        drop(state);
        if outcome.is_err() {
            locked(&self.cached).retain(|(_, known)| !Arc::ptr_eq(known, &job));
        }
        outcome.map(JobStatus::Ready)
    }

    fn find_or_start(
        &self,
        key: &str,
        work: impl FnOnce(&Reporter<'_>) -> Result<T, Problem> + Send + 'static,
    ) -> Result<Arc<Job<T>>, Problem> {
        let mut cached = locked(&self.cached);
        if let Some(at) = cached.iter().position(|(known, _)| known == key) {
            cached[at..].rotate_left(1);
            return Ok(Arc::clone(&cached[cached.len() - 1].1));
        }
        let progress = Progress { stage: "queued".into(), ..Progress::default() };
        let job = Arc::new(Job {
            state: Mutex::new(JobState { progress, outcome: None }),
            done: Condvar::new(),
        });
        let running = Arc::clone(&job);
        self.queue.submit(Box::new(move || {
            let report = |progress: Progress| locked(&running.state).progress = progress;
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&Reporter(&report))));
            let outcome = outcome.unwrap_or_else(|_| {
                Err(Problem::internal("the job failed unexpectedly: try again"))
            });
            locked(&running.state).outcome = Some(outcome.map(Arc::new));
            running.done.notify_all();
        }))?;
        cached.push((key.to_owned(), Arc::clone(&job)));
        let done = |job: &Job<T>| locked(&job.state).outcome.is_some();
        while cached.len() > self.capacity {
            let Some(oldest) = cached.iter().position(|(_, job)| done(job)) else { break };
            cached.remove(oldest);
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::queue::{AT_ONCE, WAITING};
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn ready<T>(found: Result<JobStatus<T>, Problem>) -> Arc<T> {
        match found {
            Ok(JobStatus::Ready(value)) => value,
            Ok(JobStatus::Running(progress)) => panic!("still {progress:?}"),
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
        assert!(matches!(found, Ok(JobStatus::Running(_))));
        heard.recv().unwrap();
        let never = |_: &Reporter<'_>| -> Result<u32, Problem> { panic!("it is under way") };
        let Ok(JobStatus::Running(progress)) = jobs.get("a", Duration::ZERO, never) else {
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
            assert!(matches!(start(n), Ok(JobStatus::Running(_))), "{n}");
        }
        let refused = start(AT_ONCE + WAITING).err();
        assert_eq!(refused.as_ref().map(|problem| problem.status), Some(503), "{refused:?}");
        // Those under way are found all the same, and once they are done there are free slots again.
        assert!(matches!(start(0), Ok(JobStatus::Running(_))));
        drop(go);
        for n in 0..AT_ONCE + WAITING {
            assert_eq!(*ready(jobs.get(&n.to_string(), LONG, |_| Err(Problem::bad("lost")))), n);
        }
        assert_eq!(*ready(jobs.get("later", LONG, |_| Ok(7))), 7);
    }
}
