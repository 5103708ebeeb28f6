//! Blocking work runs in worker pools: each has a fixed number of threads and serves requests in the
//! order of arrival. All pools share one bounded queue; a request beyond it is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::limits::HttpLimits;
use crate::problem::Problem;

/// The detail of the problem where a handler panicked. The panic's message may hold anything: it is
/// not sent.
pub(super) const FAILED: &str = "the service failed on this request; the reason is in its log";

/// The pool by kind of work: searches do not queue behind writes, nor key lookups behind searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerPool {
    /// Lookups: keys, status.
    Light,
    /// Work that takes a core: searching, scoring, explaining.
    Search,
    /// Reads and writes of the database: documents, events, judgments.
    Store,
    /// Requests that wait until search sees a change.
    Wait,
    /// Loading models.
    Models,
    /// Rendering pages. Their long work runs in the job queue.
    Pages,
}

/// The free threads of every pool, and the length of the queue.
pub struct WorkerPools {
    free: [Arc<Semaphore>; 6],
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
}

/// Counts one request in the queue until it is dropped.
struct Queued(Arc<AtomicUsize>);

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WorkerPools {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if limits.threads == 0 { cores } else { limits.threads };
        let free = [16, threads, 4, 64, 1, 2 * threads].map(|n| Arc::new(Semaphore::new(n)));
        WorkerPools { free, waiting: Arc::default(), most_waiting: limits.waiting }
    }

    /// The number of requests that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a free thread of `pool`, at most half of the time until `deadline`: work that
    /// starts late would end too late, and take the time of others.
    pub(super) async fn acquire(
        &self,
        pool: WorkerPool,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        let semaphore = self.free[pool as usize].clone();
        if let Ok(permit) = semaphore.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _queued = Queued(self.waiting.clone());
        if before >= self.most_waiting {
            return Err(Problem::unavailable(format!(
                "{before} requests wait for a thread, the most that may: try again later"
            )));
        }
        let now = Instant::now();
        let half = now + deadline.saturating_duration_since(now) / 2;
        match timeout_at(half, semaphore.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(Problem::unavailable("the service is stopping")),
            Err(_) => Err(Problem::unavailable(
                "no thread became free within the time-out: try again later",
            )),
        }
    }

    /// Runs `work` on a thread of `pool` and waits for it until `deadline`. Work that has started
    /// runs to its end and occupies its thread until then, even after its request timed out.
    pub async fn run<T: Send + 'static>(
        &self,
        pool: WorkerPool,
        deadline: Instant,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = self.acquire(pool, deadline).await?;
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        join_until(task, deadline).await?
    }
}

/// The result of `task`, if it ends before `deadline`.
pub(super) async fn join_until<T>(task: JoinHandle<T>, deadline: Instant) -> Result<T, Problem> {
    match timeout_at(deadline, task).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(_)) => Err(Problem::internal(FAILED)),
        Err(_) => Err(Problem::unavailable(
            "there was no answer within the time-out: ask for less, or try again later",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn as_many_at_a_time_as_allowed_and_the_rest_is_refused() {
        let limits = HttpLimits { threads: 2, waiting: 3, ..HttpLimits::default() };
        let work = Arc::new(WorkerPools::new(&limits));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (open, gate) = mpsc::channel::<()>();
        let gate = Arc::new(std::sync::Mutex::new(gate));
        let tasks: Vec<_> = (0..5)
            .map(|_| {
                let (work, running, most) = (work.clone(), running.clone(), most.clone());
                let gate = gate.clone();
                tokio::spawn(async move {
                    work.run(WorkerPool::Search, later(), move || {
                        most.fetch_max(
                            running.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        gate.lock().unwrap().recv().unwrap();
                        running.fetch_sub(1, Ordering::SeqCst);
                        Ok(())
                    })
                    .await
                })
            })
            .collect();
        while work.waiting() < 3 {
            tokio::task::yield_now().await;
        }
        let refused = work.run(WorkerPool::Search, later(), || Ok(())).await.unwrap_err();
        assert_eq!(refused.status, 503);
        // Another pool is not held up.
        assert_eq!(work.run(WorkerPool::Light, later(), || Ok(7)).await, Ok(7));
        for _ in 0..5 {
            open.send(()).unwrap();
        }
        for task in tasks {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(work.waiting(), 0);
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_and_frees_its_thread() {
        let work = WorkerPools::new(&HttpLimits { threads: 1, ..HttpLimits::default() });
        for _ in 0..3 {
            let failed = work.run::<()>(WorkerPool::Search, later(), || panic!("by intent")).await;
            assert_eq!(failed.unwrap_err().status, 500);
        }
        assert_eq!(work.run(WorkerPool::Search, later(), || Ok(1)).await, Ok(1));
    }

    #[tokio::test]
    async fn work_that_takes_too_long_keeps_its_thread_until_it_ends() {
        let work = WorkerPools::new(&HttpLimits { threads: 1, ..HttpLimits::default() });
        let (open, gate) = mpsc::channel::<()>();
        let soon = Instant::now() + Duration::from_millis(20);
        let blocked = move || gate.recv().map_err(|_| Problem::internal("no gate"));
        assert_eq!(work.run(WorkerPool::Search, soon, blocked).await.unwrap_err().status, 503);
        let soon = Instant::now() + Duration::from_millis(20);
        assert_eq!(work.run(WorkerPool::Search, soon, || Ok(())).await.unwrap_err().status, 503);
        open.send(()).unwrap();
        assert_eq!(work.run(WorkerPool::Search, later(), || Ok(2)).await, Ok(2));
    }
}
