//! Incidents: recent failures that are retried, such as changes that cannot be applied on a full
//! disk. Readiness considers them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures are retried every second; an incident that was not reported for so long is over.
const RECENT: Duration = Duration::from_secs(5);

/// The last incident; copies share it.
#[derive(Debug, Clone, Default)]
pub struct Incidents {
    last: Arc<Mutex<Option<(Instant, String)>>>,
}

impl Incidents {
    /// Records an incident.
    pub fn report(&self, what: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), what.to_owned()));
    }

    /// The last incident, unless it is over.
    pub(crate) fn recent(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (when, what) = last.as_ref()?;
        (when.elapsed() < RECENT).then(|| what.clone())
    }
}
