//! The service without HTTP: one index, its documents and models, and everything that can be
//! asked of them. All functions block; whoever calls them from asynchronous code hands them to a
//! thread.
//!
//! ```text
//! layout.rs     where things lie in the folder of an index
//! build.rs      from a dataset and models to an index
//! snapshot.rs   documents, text index and models of one moment, on which a request works
//! live.rs       changes that are on disk become the next snapshot
//! registry.rs   versions of models: load, activate, roll back
//! served.rs     a model as it is served;  view.rs fold_in.rs  with its unseen documents
//! search.rs     retrieve → match → fuse → re-rank → diversify: resolve.rs query.rs the request,
//!               candidates.rs retrieval, fuse.rs explain.rs docs.rs
//! ranking.rs    re-ranking of the candidates by a trained ranker;  rankers.rs opens rankers
//! rerank.rs     re-ranking of given documents;  embeddings.rs  embeddings and nearest neighbours
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
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use liken::data::{Dataset, Document};
use liken::text::Analyzer;
use serde_json::{Map, Value};

pub use build::{Building, Built, BuiltModel};
pub use layout::{IndexAbout, Layout, Reading, bytes_of};
pub use served::Served;
pub use snapshot::{Changed, Snapshot};

use crate::limits::Limits;
use crate::store::Store;
use crate::text::TextIndex;
use crate::types::{Event, Judgment, Scope, Status, Written};
use crate::{Error, checks};
use live::Changing;
use snapshot::IndexState;

/// How long an index without keys counts as such before the database is asked again: a first key
/// is asked for no later.
const MOMENT: Duration = Duration::from_millis(500);

/// Changes that search may be behind before writes wait for it, and how long they do.
const MOST_BEHIND: u64 = 50_000;
const BRAKE: Duration = Duration::from_secs(8);

/// How an index is served.
#[derive(Clone)]
pub struct Settings {
    /// The models of a search that names none; all fused. The first of the index if empty.
    pub models: Vec<String>,
    /// The ranker of a search that names none; nothing or `none` for no ranker.
    pub ranker: Option<String>,
    /// Candidates of each model where a search does not say.
    pub candidate_depth: usize,
    /// What requests are held to.
    pub limits: Limits,
    /// Below this many free bytes on the disk nothing is written.
    pub reserve: u64,
    /// Called for every incident: something failed and is retried, such as changes that wait for free
    /// space on the disk.
    pub on_incident: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            models: Vec::new(),
            ranker: None,
            candidate_depth: 200,
            limits: Limits::default(),
            reserve: 64 << 20,
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
    /// Whoever makes the next snapshot holds this.
    changing: Mutex<Changing>,
    /// The last change that search sees, for those who wait for it.
    applied: (Mutex<u64>, Condvar),
    /// Tells that there is something to apply. It ends with the engine, and the thread with it.
    wake: Sender<()>,
    /// When the index was last seen to have no keys.
    open_since: Mutex<Option<Instant>>,
}

impl Engine {
    /// Opens the index at `path`. What it missed when it was stopped is applied first.
    pub fn open(path: &Path, settings: Settings) -> Result<Arc<Self>, Error> {
        let limits = &settings.limits;
        limits.check()?;
        checks::models(&settings.models, limits)?;
        checks::number("candidate_depth", settings.candidate_depth, limits.candidate_depth)?;
        let layout = Layout::new(path);
        let about = layout.read()?;
        let analyzer = Analyzer::new(&about.reading.analyzer)?;
        let options = crate::store::Options { reserve: settings.reserve, ..Default::default() };
        let store = Store::open_with(&layout.store(), options)?;
        let text = TextIndex::open(&layout.text())?;
        let dataset = match Dataset::open(&layout.dataset()) {
            Ok(dataset) => Some(dataset),
            Err(error) => {
                (settings.on_incident)(&format!("pages cannot show the dataset: {error}"));
                None
            }
        };
        let (changing, state) = live::begin(&layout, &about, &store, &text, dataset.as_ref())?;
        let (wake, woken) = channel();
        let applied = (Mutex::new(state.applied), Condvar::new());
        let engine = Arc::new(Engine {
            layout,
            about,
            settings,
            analyzer,
            store,
            text,
            dataset,
            state: RwLock::new(Arc::new(state)),
            changing: Mutex::new(changing),
            applied,
            wake,
            open_since: Mutex::new(None),
        });
        for name in &engine.settings.models {
            engine.views(&engine.state(), std::slice::from_ref(name))?;
        }
        engine.state().rankers.find(engine.settings.ranker.as_deref())?;
        let failed = !engine.catch_up_all();
        live::start(Arc::downgrade(&engine), woken, failed);
        Ok(engine)
    }

    /// The current snapshot.
    pub(crate) fn state(&self) -> Arc<IndexState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The current snapshot, for callers that ask for several things which must fit together.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.state())
    }

    /// The document called `id`.
    pub fn document(&self, id: &str) -> Result<Document, Error> {
        let missing = || Error::not_found(format!("no document is called {id:?}"));
        let fields = self.store.fields(id)?.ok_or_else(missing)?;
        Ok(Document { id: id.to_owned(), fields })
    }

    /// The fields of documents by number; `None` for those that are gone for good.
    pub(crate) fn bodies(&self, numbers: &[u32]) -> Result<Vec<Option<Map<String, Value>>>, Error> {
        Ok(self.store.bodies(numbers)?)
    }

    /// The numbers of the documents called `ids`, as the snapshot of a request has them.
    pub(crate) fn numbers(
        &self,
        state: &IndexState,
        ids: &[String],
    ) -> Result<Vec<Option<u32>>, Error> {
        Ok(self.store.numbers_at(ids, state.applied, state.end)?)
    }

    /// Whether search finds any of the documents called `ids`.
    pub fn has_any(&self, Snapshot(state): &Snapshot, ids: &[String]) -> Result<bool, Error> {
        Ok(self.numbers(state, ids)?.iter().any(Option::is_some))
    }

    /// The number of the document called `id`, if the snapshot has it.
    pub(crate) fn standing(&self, state: &IndexState, id: &str) -> Result<u32, Error> {
        let number = self.numbers(state, &[id.to_owned()])?.pop().flatten();
        number.ok_or_else(|| Error::not_found(format!("no document is called {id:?}")))
    }

    /// Waits while search is far behind what is written: who writes faster than search can follow
    /// would make changes invisible for ever longer.
    fn brake(&self) -> Result<(), Error> {
        let target = self.store.last_change()?.saturating_sub(MOST_BEHIND);
        if self.wait_for(target, BRAKE) {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "search is more than {MOST_BEHIND} changes behind what is written: try again later"
        )))
    }

    /// Puts documents into the index; they are on disk when this returns, and found soon after.
    pub fn upsert(&self, documents: Vec<Document>) -> Result<Written, Error> {
        self.brake()?;
        let rows = documents.into_iter().map(|document| (document.id, document.fields)).collect();
        self.woken(self.store.upsert(rows)?)
    }

    /// Takes documents out of the index.
    pub fn delete(&self, ids: &[String]) -> Result<Written, Error> {
        self.woken(self.store.delete(ids)?)
    }

    fn woken(&self, written: Written) -> Result<Written, Error> {
        // Nobody listens only when the process ends; the change is on disk all the same.
        let _ = self.wake.send(());
        Ok(written)
    }

    /// Waits until search sees change number `sequence`, at most `patience`.
    pub fn wait_for(&self, sequence: u64, patience: Duration) -> bool {
        let (applied, changed) = &self.applied;
        let applied = applied.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = |applied: &mut u64| *applied < sequence;
        let waited = changed.wait_timeout_while(applied, patience, behind);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// What requests are held to.
    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Keeps clicks and impressions; they are on disk when this returns.
    pub fn record(&self, events: Vec<Event>) -> Result<Written, Error> {
        numbered("event", &events, |event| checks::event(event, self.limits()))?;
        Ok(self.store.record(events)?)
    }

    /// All events after number `after`, at most `most`, with their numbers.
    pub fn events(&self, after: u64, most: usize) -> Result<Vec<(u64, Event)>, Error> {
        Ok(self.store.events(after, most)?)
    }

    /// Keeps grades.
    pub fn judge(&self, judgments: Vec<Judgment>) -> Result<Written, Error> {
        numbered("judgment", &judgments, |judgment| checks::judgment(judgment, self.limits()))?;
        Ok(self.store.judge(judgments)?)
    }

    /// The grades that stand, of one query or of all.
    pub fn judgments(&self, query: Option<&str>) -> Result<Vec<Judgment>, Error> {
        Ok(self.store.judgments(query)?)
    }

    /// Documents, changes and models, and whether search is up to date.
    pub fn status(&self) -> Status {
        let state = self.state();
        let written = self.store.last_change().unwrap_or(state.applied);
        let status = match () {
            () if self.store.is_full() => "read only",
            () if written > state.applied => "catching up",
            () => "ok",
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

    /// The dataset that the index was made of, kept inside it: statistics, queries, judgments.
    pub fn dataset(&self) -> Option<&Dataset> {
        self.dataset.as_ref()
    }

    /// The folder of the index.
    pub fn folder(&self) -> &Path {
        &self.layout.root
    }

    /// The folder for runs of other engines.
    pub fn runs(&self) -> PathBuf {
        self.layout.runs()
    }

    /// The database, for exports.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether `key` may do what needs `scope`; always, where the index has no keys.
    pub fn allows(&self, key: Option<&str>, scope: Scope) -> Result<bool, Error> {
        if !self.store.has_keys()? {
            *self.open_since.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            return Ok(true);
        }
        Ok(match key {
            Some(key) => self.store.allows(key, scope)?,
            None => false,
        })
    }

    /// Whether the index had no keys a moment ago, so that nobody need ask the database.
    pub fn is_open(&self) -> bool {
        let since = *self.open_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() < MOMENT)
    }

    /// Whether the index has keys.
    pub fn has_keys(&self) -> Result<bool, Error> {
        Ok(self.store.has_keys()?)
    }
}

/// Checks all `items`; the error says which one is wrong, counted from one.
fn numbered<T>(
    what: &str,
    items: &[T],
    check: impl Fn(&T) -> Result<(), Error>,
) -> Result<(), Error> {
    let wrong = items.iter().enumerate().find_map(|(at, item)| Some((at, check(item).err()?)));
    match wrong {
        Some((at, error)) => Err(Error::invalid(format!("{what} {}: {error}", at + 1))),
        None => Ok(()),
    }
}

/// Milliseconds since `started`.
fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1e3
}
