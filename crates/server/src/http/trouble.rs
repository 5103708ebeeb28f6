//! What the service could not do lately, for those who ask whether it is ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Trouble is tried to be mended every second; what was not heard of for so long is over.
const LATELY: Duration = Duration::from_secs(5);

/// The last trouble that somebody told of; copies share it.
#[derive(Debug, Clone, Default)]
pub struct Trouble {
    last: Arc<Mutex<Option<(Instant, String)>>>,
}

impl Trouble {
    /// Tells of trouble.
    pub fn note(&self, what: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Instant::now(), what.to_owned()));
    }

    /// What was told of lately.
    pub(crate) fn lately(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (when, what) = last.as_ref()?;
        (when.elapsed() < LATELY).then(|| what.clone())
    }
}
