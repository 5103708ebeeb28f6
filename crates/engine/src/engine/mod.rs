//! The service without HTTP: one index, its documents and models, and all requests to them. All
//! functions block; asynchronous code calls them in a thread.
//!
//! ```text
//! layout.rs     the folder of an index;  build.rs builds it;  open.rs opens it
//! snapshot.rs   documents, text index and models of one moment, for a request
//! live.rs       changes that are on disk become the next snapshot
//! registry.rs   versions of models: load, activate, roll back
//! served.rs     a loaded model;  view.rs fold_in.rs  with its unseen documents
//! search.rs     retrieve → match → fuse → re-rank → diversify: resolve.rs query.rs the request,
//!               candidates.rs retrieval, fuse.rs explain.rs docs.rs
//! ranking.rs    re-ranking of the candidates by a trained ranker;  rankers.rs opens rankers
//! rerank.rs     re-ranking of given documents;  embeddings.rs  embeddings and nearest neighbours
//! ```
//! Requests are validated by `checks.rs`: searches, events and judgments here, documents by the server.
//!
//! The path of a written document (`PUT /documents` and its variants):
//! ```text
//! server  api/routes/writing.rs → api/documents.rs   key, size, JSON and id, per document
//! engine  upsert                 waits while search is far behind the writes (503)
//! store   documents.rs           new number, change of the old and the new version
//!         writer.rs              group commit: many requests, one transaction, one fsync
//!                                → the answer: on disk, with the number of the change
//! engine  live.rs (own thread)   text index, fold_in.rs for every model, next snapshot
//!                                → searchable; ?wait=true answers here
//! ```

mod build;
mod candidates;
mod docs;
mod embeddings;
mod explain;
mod fold_in;
mod fuse;
mod layout;
mod live;
mod open;
mod postings;
mod query;
mod rankers;
mod ranking;
mod registry;
mod rerank;
mod resolve;
mod search;
mod served;
mod snapshot;
#[cfg(test)]
mod tests;
mod view;

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use liken::data::{Dataset, Document};
use liken::text::Analyzer;

pub use build::{BuildReport, BuiltModel, IndexBuilder};
pub use layout::{IndexAbout, Layout, TextReading, bytes_of};
pub use served::ServedModel;
pub use snapshot::{Changed, Snapshot};

use crate::limits::Limits;
use crate::store::{RESERVE, Store};
use crate::text::TextIndex;
use crate::types::{Event, Judgment, Scope, Status, Written};
use crate::{Error, checks};
use snapshot::{IndexState, SnapshotMaker};

/// The time for which an index without keys counts as open before the database is asked again: a first
/// key is required after this time at most.
const OPEN_FOR: Duration = Duration::from_millis(500);

/// Changes that search may be behind before writes wait for it.
const MOST_BEHIND: u64 = 50_000;
/// The longest time for which a write waits for search.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Options of a served index.
#[derive(Clone)]
pub struct Settings {
    /// The models of a search that names none, all fused; if empty, the first of the index.
    pub models: Vec<String>,
    /// The ranker of a search that names none; no ranker if missing or `none`.
    pub ranker: Option<String>,
    /// Candidates of each model by default.
    pub candidate_depth: usize,
    /// The limits of requests.
    pub limits: Limits,
    /// The bytes of the disk that writes leave free.
    pub reserve: u64,
    /// Called for every incident: something failed and is retried, such as changes that wait for disk
    /// space.
    pub on_incident: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            models: Vec::new(),
            ranker: None,
            candidate_depth: 200,
            limits: Limits::default(),
            reserve: RESERVE,
            on_incident: Arc::new(|_| {}),
        }
    }
}

/// An open index.
pub struct Engine {
    layout: Layout,
    about: IndexAbout,
    settings: Settings,
    analyzer: Analyzer,
    store: Store,
    text: TextIndex,
    dataset: Option<Dataset>,
    state: RwLock<Arc<IndexState>>,
    /// Locked while the next snapshot is made.
    maker: Mutex<SnapshotMaker>,
    /// The last change that search sees, and a signal when it changes.
    applied: (Mutex<u64>, Condvar),
    /// Wakes the thread that applies changes, which ends when this is dropped.
    wake: Sender<()>,
    /// The last time at which the index had no keys.
    open_since: Mutex<Option<Instant>>,
}

impl Engine {
    /// The current snapshot.
    pub(crate) fn state(&self) -> Arc<IndexState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The current snapshot, for callers whose several requests must agree.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.state())
    }

    /// The document called `id`.
    pub fn document(&self, id: &str) -> Result<Document, Error> {
        let missing = || Error::not_found(format!("no document is called {id:?}"));
        let fields = self.store.fields(id)?.ok_or_else(missing)?;
        Ok(Document { id: id.to_owned(), fields })
    }

    /// The numbers of the documents called `ids` in a snapshot.
    pub(crate) fn numbers(
        &self,
        state: &IndexState,
        ids: &[String],
    ) -> Result<Vec<Option<u32>>, Error> {
        Ok(self.store.numbers_at(ids, state.applied, state.end)?)
    }

    /// Whether the snapshot has any of the documents called `ids`.
    pub fn has_any(&self, Snapshot(state): &Snapshot, ids: &[String]) -> Result<bool, Error> {
        Ok(self.numbers(state, ids)?.iter().any(Option::is_some))
    }

    /// The number of the document called `id` in a snapshot.
    pub(crate) fn number_of(&self, state: &IndexState, id: &str) -> Result<u32, Error> {
        let number = self.numbers(state, &[id.to_owned()])?.pop().flatten();
        number.ok_or_else(|| Error::not_found(format!("no document is called {id:?}")))
    }

    /// Waits while search is far behind the writes: else it could fall behind without end.
    fn throttle(&self) -> Result<(), Error> {
        let target = self.store.last_change()?.saturating_sub(MOST_BEHIND);
        if self.wait_for(target, LONGEST_WAIT) {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "search is more than {MOST_BEHIND} changes behind the writes: try again later"
        )))
    }

    /// Adds or replaces documents, whose ids the store checks; they are on disk when this returns, and
    /// found soon after.
    pub fn upsert(&self, documents: Vec<Document>) -> Result<Written, Error> {
        self.throttle()?;
        let rows = documents.into_iter().map(|document| (document.id, document.fields)).collect();
        Ok(self.notify(self.store.upsert(rows)?))
    }

    /// Removes documents.
    pub fn delete(&self, ids: &[String]) -> Result<Written, Error> {
        Ok(self.notify(self.store.delete(ids)?))
    }

    fn notify(&self, written: Written) -> Written {
        // Without a receiver the process is ending, and the change is on disk.
        let _ = self.wake.send(());
        written
    }

    /// Waits at most `max_wait` until search sees change number `sequence`; returns whether it does.
    pub fn wait_for(&self, sequence: u64, max_wait: Duration) -> bool {
        let (applied, changed) = &self.applied;
        let applied = applied.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = |applied: &mut u64| *applied < sequence;
        let waited = changed.wait_timeout_while(applied, max_wait, behind);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// The limits of requests.
    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Stores clicks and impressions; they are on disk when this returns.
    pub fn record(&self, events: Vec<Event>) -> Result<Written, Error> {
        check_all("event", &events, |event| checks::event(event, self.limits()))?;
        Ok(self.store.record(events)?)
    }

    /// At most `most` events after number `after`, with their numbers.
    pub fn events(&self, after: u64, most: usize) -> Result<Vec<(u64, Event)>, Error> {
        Ok(self.store.events(after, most)?)
    }

    /// Stores grades; they are on disk when this returns.
    pub fn judge(&self, judgments: Vec<Judgment>) -> Result<Written, Error> {
        check_all("judgment", &judgments, |judgment| checks::judgment(judgment, self.limits()))?;
        Ok(self.store.judge(judgments)?)
    }

    /// The current grades, of one query or of all.
    pub fn judgments(&self, query: Option<&str>) -> Result<Vec<Judgment>, Error> {
        Ok(self.store.judgments(query)?)
    }

    /// The state of the index: documents, changes, models, and whether search is up to date.
    pub fn status(&self) -> Status {
        let state = self.state();
        let written = self.store.last_change().unwrap_or(state.applied);
        let status = if self.store.is_full() {
            "read only"
        } else if written > state.applied {
            "catching up"
        } else {
            "ok"
        };
        Status {
            status: status.into(),
            documents: state.alive,
            written,
            applied: state.applied,
            models: state.models.iter().map(|view| view.served.about.model.clone()).collect(),
            rankers: state.rankers.names(),
            liken: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The dataset that the index was built from, which it contains: statistics, queries, judgments.
    pub fn dataset(&self) -> Option<&Dataset> {
        self.dataset.as_ref()
    }

    /// The folder of the index.
    pub fn folder(&self) -> &Path {
        &self.layout.root
    }

    /// The folder of runs of other engines.
    pub fn runs(&self) -> PathBuf {
        self.layout.runs()
    }

    /// The database, for exports.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether `key` includes `scope`; always true if the index has no keys.
    pub fn allows(&self, key: Option<&str>, scope: Scope) -> Result<bool, Error> {
        if !self.store.has_keys()? {
            *self.open_since.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            return Ok(true);
        }
        key.map_or(Ok(false), |key| Ok(self.store.allows(key, scope)?))
    }

    /// Whether the index had no keys a moment ago; does not read the database.
    pub fn is_open(&self) -> bool {
        let since = *self.open_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() < OPEN_FOR)
    }

    /// Whether the index has keys.
    pub fn has_keys(&self) -> Result<bool, Error> {
        Ok(self.store.has_keys()?)
    }
}

/// Checks all `items`; the error names the first bad one by its number, from one.
fn check_all<T>(
    what: &str,
    items: &[T],
    check: impl Fn(&T) -> Result<(), Error>,
) -> Result<(), Error> {
    (1..).zip(items).try_for_each(|(n, item)| {
        check(item).map_err(|error| Error::invalid(format!("{what} {n}: {error}")))
    })
}

/// Milliseconds since `started`.
fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}
