//! The state that all handlers share, those of the API and those of the pages.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRef;
use axum::http::HeaderMap;
use liken_engine::Engine;
use liken_engine::types::{Scope, Status};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::incidents::Incidents;
use super::keys::{Allows, Keys};
use super::limits::Limits;
use super::log::Log;
use super::metrics::Metrics;
use super::worker_pools::{WorkerPool, WorkerPools};
use crate::problem::Problem;

/// The state of the service; copies share it.
#[derive(Clone)]
pub struct AppState {
    shared: Arc<Shared>,
    incidents: Incidents,
}

struct Shared {
    engine: Arc<Engine>,
    limits: Limits,
    workers: WorkerPools,
    metrics: Metrics,
    log: Log,
    keys: Keys,
    /// KiB that bodies may still take.
    bodies: Arc<Semaphore>,
    /// The change that search was seen to be at while others waited, and since when.
    behind: Mutex<Option<(u64, std::time::Instant)>>,
}

/// Pages that only need the engine take it out of the state.
impl FromRef<AppState> for Arc<Engine> {
    fn from_ref(state: &AppState) -> Self {
        state.engine().clone()
    }
}

impl AppState {
    /// What serves `engine` within `limits`.
    pub fn new(engine: Arc<Engine>, limits: Limits, log: Log) -> Self {
        let keys = engine.clone();
        let allows = move |key: Option<&str>, scope: Scope| Ok(keys.allows(key, scope)?);
        AppState::with_keys(engine, limits, log, Box::new(allows))
    }

    pub(super) fn with_keys(
        engine: Arc<Engine>,
        limits: Limits,
        log: Log,
        allows: Box<Allows>,
    ) -> Self {
        let workers = WorkerPools::new(&limits);
        let most = (limits.bodies_bytes >> 10).min(Semaphore::MAX_PERMITS);
        let bodies = Arc::new(Semaphore::new(most));
        let (metrics, keys) = (Metrics::default(), Keys::new(allows));
        let behind = Mutex::new(None);
        let shared = Shared { engine, limits, workers, metrics, log, keys, bodies, behind };
        AppState { shared: Arc::new(shared), incidents: Incidents::default() }
    }

    /// With the `incidents` that readiness takes account of.
    pub(super) fn with_incidents(self, incidents: Incidents) -> Self {
        AppState { incidents, ..self }
    }

    /// What failed lately and is retried.
    pub(crate) fn incidents(&self) -> &Incidents {
        &self.incidents
    }

    /// The index. Its functions block: call them through [`AppState::run`].
    pub fn engine(&self) -> &Arc<Engine> {
        &self.shared.engine
    }

    /// What requests are held to.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Counters and times of requests.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Where requests are logged.
    pub fn log(&self) -> &Log {
        &self.shared.log
    }

    /// Where blocking work runs.
    pub fn workers(&self) -> &WorkerPools {
        &self.shared.workers
    }

    pub(crate) fn bodies(&self) -> &Arc<Semaphore> {
        &self.shared.bodies
    }

    /// Asks the engine on a thread of `pool`, and waits as long as a request may take.
    pub async fn run<T: Send + 'static>(
        &self,
        pool: WorkerPool,
        work: impl FnOnce(&Engine) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_until(pool, self.deadline(), work).await
    }

    /// Like [`AppState::run`], but waits until `deadline`.
    pub async fn run_until<T: Send + 'static>(
        &self,
        pool: WorkerPool,
        deadline: Instant,
        work: impl FnOnce(&Engine) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let engine = self.engine().clone();
        self.workers().run(pool, deadline, move || work(&engine)).await
    }

    /// When a request that begins now is to be answered.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.limits().request()
    }

    /// How long search has been seen to make no progress although changes wait for it.
    pub(crate) fn stuck(&self, status: &Status) -> Option<Duration> {
        let mut behind = self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if status.applied >= status.written {
            *behind = None;
            return None;
        }
        match *behind {
            Some((applied, since)) if applied == status.applied => Some(since.elapsed()),
            _ => {
                *behind = Some((status.applied, std::time::Instant::now()));
                None
            }
        }
    }

    /// How long the next chunk of a body may take.
    pub(crate) fn next_chunk(&self) -> Duration {
        self.limits().request()
    }

    /// Whether the one who sends `headers` may do what needs `scope`; if not, the problem says
    /// why.
    pub async fn permit(&self, headers: &HeaderMap, scope: Scope) -> Result<(), Problem> {
        self.shared.keys.permit(self, headers, scope).await
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.shared.keys
    }
}
