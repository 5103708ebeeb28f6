//! Rows that were left out, counted by reason.

use serde::{Deserialize, Serialize};

/// Things of one kind that were dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// What they are and why they were dropped.
    pub why: String,
    /// How many.
    pub count: u64,
    /// The first few, as messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
}

impl Dropped {
    /// How many bad rows of a kind are quoted.
    pub(super) const SAMPLES: usize = 3;

    /// Counts one more in `all`, and keeps the sample of one of the first few of a kind.
    pub(crate) fn count(all: &mut Vec<Dropped>, why: &str, sample: Option<&dyn Fn() -> String>) {
        Dropped::count_many(all, why, 1, sample.into_iter().map(|sample| sample()));
    }

    /// The same for several of a kind, with samples of the first few.
    pub(super) fn count_many(
        all: &mut Vec<Dropped>,
        why: &str,
        count: u64,
        samples: impl Iterator<Item = String>,
    ) {
        let at = all.iter().position(|dropped| dropped.why == why).unwrap_or_else(|| {
            all.push(Dropped { why: why.to_owned(), count: 0, samples: Vec::new() });
            all.len() - 1
        });
        let dropped = &mut all[at];
        dropped.count += count;
        dropped.samples.extend(samples.take(Dropped::SAMPLES - dropped.samples.len()));
    }

    /// For a report; with `samples` of bad rows, which quote what somebody typed.
    pub(crate) fn sentence(&self, what: &str, samples: bool) -> String {
        let mut sentence = if what.is_empty() {
            format!("{} {}: dropped", self.count, self.why)
        } else {
            format!("{} {what} dropped: {}", self.count, self.why)
        };
        if let Some(first) = self.samples.first().filter(|_| samples) {
            sentence.push_str(&format!(", for example {first}"));
        }
        sentence
    }
}
