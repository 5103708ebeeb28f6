//! Changes that are on disk become the next snapshot: the text index takes them in, every model
//! folds the new documents in, and one pointer is exchanged. What a crash interrupted
//! is replayed from the database when the index is opened.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use liken::Run;
use liken::data::Dataset;
use liken::index::DocSet;
use liken::text::Analyzer;
use serde_json::{Map, Value};

use super::docs::{CHUNK, Chunk, Ids, merged};
use super::fold_in::fold_in;
use super::layout::{IndexAbout, Layout};
use super::rankers::Rankers;
use super::served::Served;
use super::snapshot::IndexState;
use super::view::View;
use super::{Engine, registry};
use crate::Error;
use crate::store::{Change, Store};
use crate::text::{TextIndex, Tokens, Writer};

/// Changes that come together are applied together: the first waits so long for others.
const GATHER: Duration = Duration::from_millis(40);
/// How soon it is tried again after something went wrong.
const RETRY: Duration = Duration::from_secs(1);
/// The most changes applied at once.
const BATCH: usize = 20_000;
/// The most text applied at once: a few times as much is held in memory meanwhile.
const BATCH_BYTES: u64 = 32 << 20;

/// What only the maker of the next snapshot touches.
pub(super) struct Changing {
    /// Opened anew after something went wrong: whatever it had not committed is then forgotten.
    pub writer: Option<Writer>,
    /// Models at hand, by name and version: the active ones and those before them.
    pub loaded: HashMap<(String, String), Arc<Served>>,
    /// Snapshots that a request may still see.
    pub in_use: Vec<Weak<IndexState>>,
}

/// Opens the snapshot of the text index's last commit.
pub(super) fn begin(
    layout: &Layout,
    about: &IndexAbout,
    store: &Store,
    text: &TextIndex,
    dataset: Option<&Dataset>,
) -> Result<(Changing, IndexState), Error> {
    let applied = text.applied()?;
    let written = store.last_change()?;
    if applied > written {
        return Err(Error::internal(format!(
            "{}: the text index has seen change {applied}, but the database ends with {written}: \
             one of them was put back from an older copy; put back both, or build the index anew",
            layout.root.display()
        )));
    }
    let (mut base, mut chunks, mut alive) = (Ids::default(), Vec::<Chunk>::new(), 0);
    let end = store.ids_at(applied, |no, id| {
        alive += 1;
        if no < about.documents {
            // Those that are gone have no name any more.
            base.extend_to(no);
            base.push(id);
            return;
        }
        if chunks.last().is_none_or(|last| last.len() >= CHUNK) {
            chunks.push(Chunk::default());
        }
        if let Some(last) = chunks.last_mut() {
            last.push(no, id);
        }
    })?;
    base.extend_to(about.documents);
    let chunks: Vec<Arc<Chunk>> = chunks.into_iter().map(Arc::new).collect();
    let mut loaded = HashMap::new();
    let mut models = Vec::new();
    for entry in store.active_models()? {
        let served = Arc::new(registry::open(layout, about, dataset, &entry)?);
        loaded.insert((entry.name.clone(), entry.version.clone()), Arc::clone(&served));
        let unseen = fold_in(&served, None, &chunks, store)?;
        models.push(View { served, unseen });
    }
    let opened: Vec<Arc<Served>> = loaded.values().cloned().collect();
    let rankers = Rankers::open(layout, about, dataset, &store.models()?, &opened, &Run::silent())?;
    let state = IndexState {
        base: Arc::new(base),
        chunks,
        dead: store.gone_at(applied)?.into_iter().collect(),
        alive,
        end,
        text: text.searcher(),
        models,
        rankers: Arc::new(rankers),
        applied,
    };
    Ok((Changing { writer: None, loaded, in_use: Vec::new() }, state))
}

/// Applies changes as they come, until the engine ends; `failed` says that some are left.
pub(super) fn start(engine: Weak<Engine>, woken: Receiver<()>, mut failed: bool) {
    std::thread::spawn(move || {
        loop {
            match if failed { woken.recv_timeout(RETRY) } else { woken.recv().map_err(Into::into) }
            {
                Ok(()) => {
                    std::thread::sleep(GATHER);
                    while woken.try_recv().is_ok() {}
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(engine) = engine.upgrade() else { return };
            failed = !engine.catch_up_all();
        }
    });
}

impl Engine {
    /// Applies all that is on disk and not yet seen; whether that could be done. Where it cannot,
    /// as on a full disk, searches go on with what they have.
    pub(super) fn catch_up_all(&self) -> bool {
        loop {
            // Whatever goes wrong, later changes must not wait for ever.
            let caught = catch_unwind(AssertUnwindSafe(|| self.catch_up()));
            match caught
                .unwrap_or_else(|_| Err(Error::internal("applying changes failed unexpectedly")))
            {
                Ok(true) => {}
                Ok(false) => return true,
                Err(problem) => {
                    self.report(&problem);
                    return false;
                }
            }
        }
    }

    /// Applies what is on disk and not yet seen; whether there was anything.
    fn catch_up(&self) -> Result<bool, Error> {
        let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state();
        let changes = self.store.changes_after(state.applied, BATCH, BATCH_BYTES)?;
        let Some(last) = changes.last().map(|change| change.seq) else { return Ok(false) };
        // It is put back when all went well: else the next try begins where the last commit ended.
        let mut writer = match changing.writer.take() {
            Some(writer) => writer,
            None => self.text.writer()?,
        };
        let added = change_text(&mut writer, &changes, &self.store, &self.about, &self.analyzer)?;
        writer.commit(last)?;
        changing.writer = Some(writer);
        let mut dead = state.dead.clone();
        let (mut alive, mut end) = (state.alive, state.end);
        for change in &changes {
            if change.added {
                alive += 1;
                end = end.max(change.no + 1);
            } else {
                alive -= 1;
                dead.insert(change.no);
            }
        }
        let chunks = self.with_chunk(&state, added, &dead);
        let mut models = Vec::with_capacity(state.models.len());
        for view in &state.models {
            models.push(View {
                served: Arc::clone(&view.served),
                unseen: fold_in(&view.served, Some(&view.unseen), &chunks, &self.store)?,
            });
        }
        let next = IndexState {
            base: Arc::clone(&state.base),
            chunks,
            dead,
            alive,
            end,
            text: self.text.searcher(),
            models,
            rankers: Arc::clone(&state.rankers),
            applied: last,
        };
        self.publish(&mut changing, next);
        drop(state);
        // Searches that began before may still ask for a text that is gone: only what no snapshot
        // in use has is given up. It is no harm if there is no room for it now.
        changing.in_use.retain(|seen| seen.strong_count() > 0);
        let oldest = changing.in_use.iter().filter_map(|seen| Some(seen.upgrade()?.applied)).min();
        if let Err(error) = self.store.clear_gone(oldest.unwrap_or(last)) {
            (self.settings.on_incident)(&format!(
                "the space of deleted texts is not yet freed: {error}"
            ));
        }
        Ok(true)
    }

    /// Lets requests see a new snapshot.
    pub(super) fn publish(&self, changing: &mut Changing, state: IndexState) {
        let applied = state.applied;
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, Arc::new(state));
        drop(current);
        changing.in_use.push(Arc::downgrade(&before));
        let (seen, changed) = &self.applied;
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = applied;
        changed.notify_all();
    }

    /// The chunks of `state` and one more of the documents `added`, with the last ones merged.
    fn with_chunk(
        &self,
        state: &IndexState,
        added: Vec<(u32, String)>,
        dead: &DocSet,
    ) -> Vec<Arc<Chunk>> {
        let mut chunks = state.chunks.clone();
        let standing: Vec<(u32, String)> =
            added.into_iter().filter(|(no, _)| !dead.contains(*no)).collect();
        for group in standing.chunks(CHUNK) {
            let mut chunk = Chunk::default();
            group.iter().for_each(|(no, id)| chunk.push(*no, id));
            chunks.push(Arc::new(chunk));
        }
        merged(chunks, dead)
    }

    /// Reports that changes cannot be applied now. Reads go on, and it is retried.
    fn report(&self, error: &Error) {
        (self.settings.on_incident)(&format!("changes wait to be applied: {error}"));
    }
}

/// Gives changes to the text index; returns the documents that were added, by number.
fn change_text(
    writer: &mut Writer,
    changes: &[Change],
    store: &Store,
    about: &IndexAbout,
    analyzer: &Analyzer,
) -> Result<Vec<(u32, String)>, Error> {
    let numbers: Vec<u32> =
        changes.iter().filter(|change| change.added).map(|change| change.no).collect();
    let mut added = Vec::with_capacity(numbers.len());
    let mut found = store.ids_of(&numbers)?.into_iter().zip(store.bodies(&numbers)?);
    for change in changes {
        if !change.added {
            writer.remove(change.no);
            continue;
        }
        // One that is gone for good already needs no place.
        let Some((Some(id), Some(fields))) = found.next() else { continue };
        // Adding twice would find it twice: after a crash it may be there already.
        writer.remove(change.no);
        writer.add(change.no, &tokens(about, analyzer, &fields), &fields)?;
        added.push((change.no, id));
    }
    Ok(added)
}

/// The words of a document, for the text index.
pub(super) fn tokens(
    about: &IndexAbout,
    analyzer: &Analyzer,
    fields: &Map<String, Value>,
) -> Tokens {
    let mut tokens = Tokens::new();
    for name in &about.reading.fields {
        if let Some(value) = fields.get(name) {
            tokens.field(analyzer, name, value);
        }
    }
    tokens
}
