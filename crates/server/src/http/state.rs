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
use super::keys::{Allows, check, key_of};
use super::limits::HttpLimits;
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
    limits: HttpLimits,
    workers: WorkerPools,
    metrics: Metrics,
    log: Log,
    allows: Arc<Allows>,
    /// KiB that bodies may still take.
    bodies: Arc<Semaphore>,
    /// While search is behind: the last change it had applied, and since when.
    behind: Mutex<Option<(u64, std::time::Instant)>>,
}

/// Pages need nothing of the state but the engine.
impl FromRef<AppState> for Arc<Engine> {
    fn from_ref(state: &AppState) -> Self {
        state.engine().clone()
    }
}

impl AppState {
    /// The state that serves `engine` within `limits`.
    pub fn new(engine: Arc<Engine>, limits: HttpLimits, log: Log) -> Self {
        let keys = engine.clone();
        let allows = move |key: Option<&str>, scope: Scope| Ok(keys.allows(key, scope)?);
        AppState::with_keys(engine, limits, log, Box::new(allows))
    }

    pub(super) fn with_keys(
        engine: Arc<Engine>,
        limits: HttpLimits,
        log: Log,
        allows: Box<Allows>,
    ) -> Self {
        let most = (limits.bodies_bytes >> 10).min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            engine,
            workers: WorkerPools::new(&limits),
            limits,
            metrics: Metrics::default(),
            log,
            allows: allows.into(),
            bodies: Arc::new(Semaphore::new(most)),
            behind: Mutex::new(None),
        };
        AppState { shared: Arc::new(shared), incidents: Incidents::default() }
    }

    pub(super) fn with_incidents(self, incidents: Incidents) -> Self {
        AppState { incidents, ..self }
    }

    /// Recent failures that are retried.
    pub(crate) fn incidents(&self) -> &Incidents {
        &self.incidents
    }

    /// The index. Its functions block: call them through [`AppState::run`].
    pub fn engine(&self) -> &Arc<Engine> {
        &self.shared.engine
    }

    /// The limits of requests.
    pub fn limits(&self) -> &HttpLimits {
        &self.shared.limits
    }

    /// The metrics of requests.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// The log of requests.
    pub fn log(&self) -> &Log {
        &self.shared.log
    }

    /// The worker pools, where blocking work runs.
    pub fn workers(&self) -> &WorkerPools {
        &self.shared.workers
    }

    pub(crate) fn bodies(&self) -> &Arc<Semaphore> {
        &self.shared.bodies
    }

    /// Runs `work` on a thread of `pool`, and waits for it as long as a request may take.
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

    /// The deadline of a request that starts now.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.limits().request()
    }

    /// The time for which search has made no progress although changes wait for it.
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

    /// The problem with the key in `headers`, unless it has `scope`.
    pub async fn permit(&self, headers: &HeaderMap, scope: Scope) -> Result<(), Problem> {
        self.permit_key(key_of(headers)?, scope).await
    }

    /// The problem with `key`, unless it has `scope`.
    pub(super) async fn permit_key(
        &self,
        key: Option<String>,
        scope: Scope,
    ) -> Result<(), Problem> {
        if self.engine().is_open() {
            return Ok(());
        }
        let allows = self.shared.allows.clone();
        let work = move |_: &Engine| check(&*allows, key.as_deref(), scope);
        self.run(WorkerPool::Light, work).await
    }

    /// Whether everybody may do everything, because the index has no keys.
    pub(super) fn needs_no_key(&self) -> Result<bool, Problem> {
        (self.shared.allows)(None, Scope::Admin)
    }
}
