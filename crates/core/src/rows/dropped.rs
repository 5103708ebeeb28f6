//! Dropped rows, counted by reason.

use serde::{Deserialize, Serialize};

use crate::counted;

/// Dropped rows or pairs of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// Reason for dropping the rows.
    pub why: String,
    /// Number of rows or pairs.
    pub count: u64,
    /// Messages about the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
}

impl Dropped {
    /// The number of samples per kind.
    pub(super) const SAMPLES: usize = 3;

    /// Counts one more in `all`, with its sample if it is one of the first few of its kind.
    pub(crate) fn count(all: &mut Vec<Dropped>, why: &str, sample: Option<&dyn Fn() -> String>) {
        Dropped::count_many(all, why, 1, sample.into_iter().map(|sample| sample()));
    }

    /// Counts several of a kind, with samples of the first few.
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

    /// The sentence of a report; with `samples` of bad rows, which may quote queries.
    pub(crate) fn sentence(&self, what: &str, samples: bool) -> String {
        let mut sentence = if what.is_empty() {
            format!("{} {}: dropped", self.count, self.why)
        } else {
            format!("{} dropped: {}", counted(self.count, what), self.why)
        };
        if let Some(first) = self.samples.first().filter(|_| samples) {
            sentence.push_str(&format!(", for example {first}"));
        }
        sentence
    }
}
